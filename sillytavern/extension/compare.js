// What two chats of a story have in common and in what their lorebooks and recaps differ, each at its last message.

import * as api from './api.js';
import { choose, make } from './dialogs.js';
import { nameOf } from './st.js';
import { count, facts } from './words.js';

export async function compare(mine, theirs) {
    const [a, b] = await Promise.all([mine, theirs].map((chat) => api.get('api/show', { chat })));
    // Lists that a memory extension keeps of its entries say the same once more.
    const [left, right] = [a, b].map(({ book }) => facts(book.entries));
    const { onlyA, onlyB, differ, same } = difference(left, right);
    const recap = (show) => (show.running_recap.current_version === null ? 'none' : `v${show.running_recap.current_version}`);
    await choose('Compared', [
        make('table.forklore-compare',
            line('', nameOf(mine), nameOf(theirs), 'th'),
            line('Messages', a.messages, b.messages),
            line('Scene', a.scene?.name ?? 'none', b.scene?.name ?? 'none'),
            line('Running recap', recap(a), recap(b)),
            line('Lorebook', a.book.name ?? 'none', b.book.name ?? 'none'),
            line('Entries', left.length, right.length)),
        make('p', `${count(same, 'entry is', 'entries are')} the same.`),
        part('Only in the open chat', onlyA, 'added'),
        part('Only in the other', onlyB, 'removed'),
        differ.length ? make('details', make('summary', `Different: ${differ.length}`), differ.map(([left, right]) => make('div.forklore-pair',
            make('b', left.comment), make('pre.forklore-added', left.content), make('pre.forklore-removed', right.content)))) : null,
    ], [], 'Close');
}

// By uid and title: uids are used again, and titles are changed.
export function difference(left, right) {
    const key = ({ uid, comment }) => `${uid}\n${comment}`;
    const others = new Map(right.map((entry) => [key(entry), entry]));
    /** @type {{ onlyA: any[], onlyB: any[], differ: [any, any][], same: number }} */
    const result = { onlyA: [], onlyB: [], differ: [], same: 0 };
    for (const entry of left) {
        const other = others.get(key(entry));
        others.delete(key(entry));
        if (!other) {
            result.onlyA.push(entry);
        } else if (other.content !== entry.content || other.disable !== entry.disable) {
            result.differ.push([entry, other]);
        } else {
            result.same += 1;
        }
    }
    result.onlyB = [...others.values()];
    return result;
}

function line(label, a, b, tag = 'td') {
    return make('tr', make('th', label), make(tag, String(a)), make(tag, String(b)));
}

function part(title, entries, tone) {
    return entries.length ? make('details', make('summary', `${title}: ${entries.length}`), make('ul', entries.map((entry) => make(`li.forklore-${tone}`, entry.comment || `entry ${entry.uid}`)))) : null;
}
