// Memory of the open chat, as far as the page knows of it: how it stands, and what is decided about it. Whoever shows it subscribes.

import { absorbing } from './absorb.js';
import * as api from './api.js';
import { touch } from './settle.js';
import * as st from './st.js';
import { opened, state as page } from './state.js';

/**
 * @typedef {object} Remembering
 * @property {any} status how memory stands in the open chat, see `GET api/memory`; null where it is off, or not known yet
 * @property {any} asking the question that is being asked
 * @property {number} asked how many were answered since the chat was opened
 * @property {string | null} problem why nothing is asked although something is missing
 */

/** @type {Remembering} */
export const memory = { status: null, asking: null, asked: 0, problem: null };

/** @type {Set<() => void>} */
const listeners = new Set();
// Several changes in a row are looked at once.
const SOON = 700;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let looking;

export function subscribe(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
}

/** @param {Partial<Remembering>} changes */
export function update(changes) {
    Object.assign(memory, changes);
    listeners.forEach((listener) => listener());
}

// Scenes that were written and whose messages have changed since: somebody decides about them, and nothing is asked before.
export function stale() {
    return memory.status?.scenes.filter(({ state }) => state === 'stale') ?? [];
}

// Whether there is anything to say of memory in the open chat. Most chats have none, and cost nothing.
export function isOn() {
    return Boolean(st.context().chatMetadata?.forklore_memory?.on);
}

// A file of the vault has changed.
export function heard({ what, chat }) {
    const concerns = ['chat', 'book', 'vault'].includes(what) && (!chat || chat === st.here()?.address);
    if (concerns && isOn() && !memory.asking) {
        clearTimeout(looking);
        looking = setTimeout(look, SOON);
    }
}

export async function look() {
    const open = st.here();
    if (!open || !isOn() || !['ready', 'unhooked'].includes(page.mode)) {
        update({ status: null });
        return;
    }
    const status = await api.get('api/memory', { chat: open.address }).catch(() => null);
    if (st.here()?.address === open.address && !memory.asking) {
        update({ status: status?.on ? status : null });
    }
}

// What it would cost to turn it on.
export function preview() {
    return api.get('api/memory', { chat: opened().address });
}

// Turns it on or off. The header says so, so the chat is loaded again.
export async function turn(on, takeOver = false) {
    const { address } = opened();
    await st.flush();
    await api.post('api/memory/switch', { chat: address, on, take_over: takeOver || undefined });
    await st.reload([]);
}

// Something is decided: where a scene ends, what is kept, approved or left as it is.
export async function decide(...choices) {
    const { address } = opened();
    await st.flush();
    const report = await absorbing(() => api.post('api/memory/decide', { chat: address, choices }));
    update({ status: report.status });
    touch();
}
