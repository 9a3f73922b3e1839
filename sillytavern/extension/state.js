// What is known about the plugin and about the open chat. Whoever shows it subscribes.

import * as api from './api.js';
import { here } from './st.js';
import { work } from './words.js';

/**
 * @typedef {object} State
 * @property {'ready' | 'down' | 'unhooked' | 'absent'} mode ready; no engine; the engine is there, but not in front of SillyTavern's
 *     saves; no plugin
 * @property {any} plugin what the plugin says of itself
 * @property {string | null} problem
 * @property {boolean} listening whether it hears of changes
 * @property {string | null} version
 * @property {string | null} recording why history is not being recorded; nothing if it is
 * @property {any} entered what the engine says of the open chat, see `GET api/enter`
 * @property {any} queue
 * @property {string | null} held address of the chat in which generating waits for a decision
 * @property {boolean} busy whether a fork is being made
 */

/** @type {State} */
export const state = {
    mode: 'absent',
    plugin: null,
    problem: null,
    listening: false,
    version: null,
    recording: null,
    entered: null,
    queue: null,
    held: null,
    busy: false,
};

const listeners = new Set();

export function subscribe(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
}

/** @param {Partial<State>} changes */
export function update(changes) {
    Object.assign(state, changes);
    listeners.forEach((listener) => listener(state));
}

// The open chat, for what makes no sense without one.
export function opened() {
    const open = here();
    if (!open) {
        throw new api.Refusal(0, { code: 'CHAT_NOT_FOUND', message: 'No chat is open.', to_do: 'Open the chat first.' });
    }
    return open;
}

// Asks the plugin how it is.
export async function lookAtPlugin() {
    try {
        const plugin = await api.get('plugin');
        const running = plugin.engine.state === 'running';
        const mode = !running ? 'down' : plugin.hooks.chats ? 'ready' : 'unhooked';
        update({ plugin, mode, problem: running ? null : plugin.engine.message });
    } catch (error) {
        update({ plugin: null, mode: error.code === 'NO_PLUGIN' ? 'absent' : 'down', problem: `${error.message} ${error.hint}` });
    }
    return state.mode;
}

export async function lookAtQueue() {
    const open = here();
    if (!open || !['ready', 'unhooked'].includes(state.mode)) {
        return update({ queue: null });
    }
    const queue = await api.get('api/queue', { chat: open.address }).catch(() => null);
    if (here()?.address === open.address) {
        update({ queue });
    }
}

// Versions that do not belong together, as a sentence with what to do; null if they do.
export function mismatch() {
    const { plugin, version } = state;
    const versions = plugin && [['extension', version], ['plugin', plugin.version], ['engine', plugin.engine.version]].filter(([, v]) => v);
    if (!versions || new Set(versions.map(([, v]) => v)).size < 2) {
        return null;
    }
    const told = versions.map(([what, v]) => `${what} ${v}`).join(', ');
    return `The parts of Forklore are of different versions: ${told}. Run \`forklore install\`, restart SillyTavern and reload this page.`;
}

// One sentence about how things are, and a word for its colour.
export function summary() {
    const { mode, held, queue, busy, problem, recording, entered } = state;
    if (mode === 'absent') {
        return { tone: 'error', text: 'Forks are not protected: Forklore\'s server plugin is not running.' };
    }
    if (mode === 'down') {
        return { tone: 'error', text: problem ?? 'Forklore\'s engine is not running.' };
    }
    if (!here()) {
        return { tone: 'ok', text: 'No chat is open.' };
    }
    if (busy) {
        return { tone: 'busy', text: 'A fork is being made.' };
    }
    if (held) {
        return { tone: 'error', text: 'The lorebook of this chat needs a decision.' };
    }
    if (queue && !queue.idle) {
        return { tone: 'busy', text: `Queue active: ${work(queue)}.` };
    }
    if (recording) {
        return { tone: 'warning', text: `History is not being recorded: ${recording} “forklore doctor” tells what to do.` };
    }
    if (mode === 'unhooked') {
        return { tone: 'warning', text: 'Ready, but forks get their lorebook only after they were saved: this SillyTavern is not known to the plugin.' };
    }
    if (entered && !entered.ok) {
        return { tone: 'error', text: 'This chat needs care.' };
    }
    return { tone: 'ok', text: 'Ready to fork.' };
}
