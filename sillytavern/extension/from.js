// Where a chat comes from, in a line that may be narrow: "Branch of X at 41".

import { icon, make } from './dialogs.js';
import { context, nameOf } from './st.js';

const KIND = { branch: ['code-branch', 'Branch'], checkpoint: ['flag', 'Checkpoint'], copy: ['clone', 'Copy'] };

export function isFork({ kind, parent }) {
    return Boolean(KIND[kind] && parent);
}

// The parts of the line. Where there is no room, the middle of the name goes: how it begins and the number of a branch tell most.
export function origin(kind, parent, at) {
    const [symbol, word] = KIND[kind];
    const [, head, tail] = /^(.+?)((?: - (?:Branch|Checkpoint) #\d+)?)$/s.exec(short(nameOf(parent))) ?? [];
    const name = make('span.forklore-from', `${word} of ${head}`);
    name.title = nameOf(parent);
    return [icon(symbol), name, tail && make('span.forklore-tail', tail), at === null ? null : make('span.forklore-at', ` at ${at}`)].filter(Boolean);
}

// SillyTavern calls a chat by its character and the time: here it is known whose it is.
function short(name) {
    const character = `${context().name2} - `;
    return name.startsWith(character) && name.length > character.length ? name.slice(character.length) : name;
}
