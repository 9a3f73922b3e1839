// Questions that wait since another branch was brought along: both sides, one after the other, for as long as somebody likes. What is not
// answered goes on waiting.

import * as api from './api.js';
import { choose, make } from './dialogs.js';
import * as notices from './notices.js';
import * as st from './st.js';
import { count } from './words.js';

const WORDS = { content: 'text', comment: 'title', key: 'keys' };

export async function answer(chat) {
    const { open: waiting, from } = await api.post('api/resolve', { chat });
    let [open, answered] = [waiting, 0];
    while (open.length) {
        const keep = await ask(open[0], from, open.length);
        if (!keep) {
            break;
        }
        // What this page has not saved yet is part of what is answered.
        await st.flush();
        const report = await api.post('api/resolve', { chat, id: open[0].id, keep, yes: true });
        answered += 1;
        ({ open } = report);
        if (st.here()?.address === chat) {
            await st.reload([report.book]);
        } else {
            await st.refreshBooks([report.book]);
        }
    }
    if (answered) {
        notices.info('Answered', [open.length ? `${count(open.length, 'question waits', 'questions wait')} still.` : 'Nothing is open any more.']);
    }
}

function ask({ title, field, base, ours, theirs }, from, left) {
    const side = (label, text) => make('div.forklore-pair', make('b', label), make('pre', text));
    const what = field === null ? 'one side deleted it, the other went on with it' : `the ${WORDS[field] ?? field} was changed on both sides`;
    return choose(title || 'Without a title', [
        make('p', `${count(left, 'question')}: ${what}. The lorebook has the words of this chat until you answer; nothing waits for it.`),
        side('Before', base ?? 'Not known.'), side('Here', ours ?? 'Deleted.'), side(`In "${from}"`, theirs ?? 'Deleted.'),
    ], [
        ['ours', 'Keep ours'], ['theirs', 'Take theirs'],
        ...(field === 'content' ? [['both', 'Both', 'Ours first.']] : []),
    ], 'Not now');
}
