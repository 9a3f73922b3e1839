// Bring along: what another branch has learnt since it and the open chat parted, and a new branch that knows both. Questions that the
// two do not agree on wait; nothing holds the chat.

import * as api from './api.js';
import { choose, make } from './dialogs.js';
import { listed } from './manage.js';
import * as notices from './notices.js';
import * as st from './st.js';
import { count } from './words.js';

const DID = { added: 'added', changed: 'changed', removed: 'removed' };

// Shows both sides and asks; gives the address of the branch that was made.
export async function bring(mine, theirs) {
    const told = await api.get('api/together', { chat: mine, from: theirs });
    const [here, there] = [mine, theirs].map((chat) => st.nameOf(chat));
    if (told.theirs.length === 0) {
        notices.info('Bring along', [`"${there}" has learnt nothing that "${here}" does not know.`]);
        return null;
    }
    const chosen = await choose('Bring along', [
        make('p', `A new branch of "${here}" that also knows what happened in "${there}". Both chats stay as they are.`),
        part(`What both knew: ${told.both.length}`, told.both, false),
        part(`What "${here}" learnt: ${told.ours.length}`, told.ours, false),
        part(`What "${there}" learnt: ${told.theirs.length}`, told.theirs, true),
        told.conflicts.length
            ? part(`${count(told.conflicts.length, 'question waits', 'questions wait')} for you; until you answer, "${here}" is right`, told.conflicts.map(question), false) : null,
    ], [['lore', 'Bring all of it along', 'A branch of this chat, with a lorebook of its own.'], ['scenes', 'With its scenes', 'The recaps of its scenes come along as entries, too.']]);
    if (!chosen) {
        return null;
    }
    const report = await api.post('api/learn', { chat: mine, from: theirs, all_scenes: chosen === 'scenes' });
    if (!report.chat) {
        return null;
    }
    await listed(report.chat);
    const waits = report.conflicts.length ? [`${count(report.conflicts.length, 'question waits', 'questions wait')}: "Bring along" on Forklore's page has both sides.`] : [];
    notices.info(`Made "${st.nameOf(report.chat)}"`, waits);
    return report.chat;
}

function question({ title, ours, theirs }) {
    return { title, did: 'changed', text: `Here: ${ours ?? 'deleted'}\nThere: ${theirs ?? 'deleted'}` };
}

function part(label, entries, open) {
    const list = make('details', make('summary', label), entries.map(({ title, did, text }) => make(`div.forklore-pair${did ? `.forklore-${DID[did]}` : ''}`,
        make('b', title || 'Without a title'), make('pre', text))));
    list.toggleAttribute('open', open);
    return entries.length ? list : make('p.forklore-quiet', label);
}
