// Without the plugin: what can be done from the page alone. A fork that this page saves gets a copy of the parent's book as it is now,
// so that the two do not share one. It cannot be the book as it was at an earlier message, and forks of other pages and devices are
// not seen. That is said, and it is asked once.

import * as dialogs from './dialogs.js';
import * as notices from './notices.js';
import { watch } from './requests.js';
import * as st from './st.js';
import { state } from './state.js';

let agreed = false;
const copied = new Map();

export async function consent(kind) {
    if (agreed) {
        return true;
    }
    const text = [
        dialogs.make('p', state.problem ?? 'Forklore\'s engine is not running.'),
        dialogs.make('p', state.mode === 'absent'
            ? 'The fork can be made all the same. It gets a copy of the lorebook as it is now, not as it was at that message; recaps of later messages stay in it.'
            : 'The fork can be made all the same. It is saved without a lorebook, and gets its own when the engine is back.'),
    ];
    agreed = await dialogs.choose(`Forklore cannot look after this ${kind}`, text, [['yes', 'Create it all the same']]) === 'yes';
    return agreed;
}

export function told(name) {
    const book = copied.get(name);
    notices.warning('Fork made without Forklore', book
        ? `It has a copy of the lorebook as it is now: "${book}".`
        : 'It has no lorebook of its own yet. Open it when Forklore is running again.');
}

// Stands in front of the page's own requests. Only for want of the plugin.
export function start() {
    watch(['/api/chats/save', '/api/chats/group/save'], async (request) => {
        if (state.mode === 'absent') {
            await isolate(request);
        }
    });
}

async function isolate(request) {
    const body = JSON.parse(await request.text());
    const metadata = body.chat?.[0]?.chat_metadata;
    const name = String(body.file_name ?? body.id);
    const open = st.here();
    // A fork: its parent is the open chat, and it is another chat. Everything else passes.
    if (!metadata?.main_chat || !open || metadata.main_chat !== open.name || name === open.name) {
        return;
    }
    const book = metadata.world_info;
    if (book) {
        // Of a fork's own copy the first lorebook's name is enough: names do not grow with every fork of a fork.
        const first = book.endsWith(` - ${open.name}`) ? book.slice(0, -` - ${open.name}`.length) : book;
        const copy = await unused(`${first} - ${name}`.slice(0, 200));
        await st.context().saveWorldInfo(copy, { ...await st.context().loadWorldInfo(book), name: copy }, true);
        metadata.world_info = copy;
        copied.set(name, copy);
    }
    delete metadata.forklore;
    request.replace(JSON.stringify(body));
}

async function unused(wanted) {
    const taken = new Set(st.bookNames().map((name) => name.toLowerCase()));
    const stem = await st.fileName(wanted, '.json');
    let name = stem;
    for (let n = 2; taken.has(name.toLowerCase()); n += 1) {
        name = `${stem} (${n})`;
    }
    return name;
}
