// The engine has written into the file of the open chat: this page's own copy gets the same, so that its next save says it, too. Nothing
// is drawn anew and nobody is disturbed. A save that is on its way just then gets it as well.

import { fileOf, set, SAVES } from './edits.js';
import { watch } from './requests.js';
import { cut, isHeld, quiet } from './settle.js';
import * as st from './st.js';

// A save waits no longer than this for what is being written.
const LONGEST = 5000;
const BETWEEN = 300;

/** @type {Promise<any> | null} */
let writing = null;

export function start() {
    watch(SAVES, async (sent) => {
        const report = writing && await Promise.race([writing.catch(() => null), st.pause(LONGEST)]);
        const open = st.here();
        const edits = report?.edits?.filter(({ file }) => open && file === fileOf(open)) ?? [];
        if (!edits.length) {
            return;
        }
        const body = JSON.parse(await sent.text());
        if (Array.isArray(body.chat) && body.chat[0]?.chat_metadata) {
            const [header, ...messages] = body.chat;
            make(edits, header.chat_metadata, messages);
            sent.replace(JSON.stringify(body));
        }
    });
}

/**
 * Lets the engine write, and brings what it wrote into this page. `work` gives its report, with `edits`, `operations` and `book`.
 * @param {() => Promise<any>} work
 */
export async function absorbing(work) {
    const open = st.here();
    const was = cut();
    writing = work();
    try {
        const report = await writing;
        if (report.operations.length && open && st.here()?.address === open.address) {
            await absorb(report, open, was);
        }
        return report;
    } finally {
        writing = null;
    }
}

async function absorb({ edits, book }, open, was) {
    const own = edits?.filter(({ file }) => file === fileOf(open));
    if (!own || own.length < edits.length) {
        // The headers of groups are in a file of the group's in older versions; and an older engine does not tell.
        const reloaded = loadAgain(open, book);
        // Where generating waits for this, it is over first.
        await (isHeld() ? null : reloaded);
        return;
    }
    const { chat, chatMetadata } = st.context();
    // Where messages went in between, only the header is certain; the rest is written again.
    make(was === cut() ? own : own.filter(({ message }) => message === null), chatMetadata, chat);
    await st.refreshBooks([book]);
}

async function loadAgain(open, book) {
    while (st.isGenerating() && st.here()) {
        await st.pause(BETWEEN);
    }
    await quiet();
    if (st.here()?.address === open.address) {
        await st.reload([book]);
    }
}

function make(edits, metadata, messages) {
    for (const { message, changes } of edits) {
        const target = message === null ? { chat_metadata: metadata } : messages[message];
        if (target) {
            changes.forEach((change) => set(target, change));
        }
    }
}
