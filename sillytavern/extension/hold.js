// Generating waits while the lorebook of the chat is wrong: a reply would be written from another story's memory.

import { patience } from './patience.js';
import { setting } from './settings.js';
import * as st from './st.js';
import { state, update } from './state.js';

// Chats in which the user has decided to go on as it is, until the page is loaded again.
const waived = new Set();
/**
 * Being looked at.
 * @type {Promise<void> | null}
 */
let checking = null;
let ask = async () => {};

// `decide` asks the user what to do about the open chat.
export function start(decide) {
    ask = decide;
    // SillyTavern calls this before every request to a model.
    globalThis.forkloreHold = async (_chat, _size, abort, type) => {
        await Promise.race([checking, st.pause(8000)]);
        if (isHeld()) {
            abort(true);
            // What extensions generate by themselves is held as well, but nobody is asked in the middle of something else.
            if (type !== 'quiet') {
                ask();
            }
        } else {
            await patience(abort, type);
        }
    };
    // Earlier, so that what was typed stays in its field.
    window.addEventListener('click', (event) => {
        if (isHeld() && st.target(event)?.closest('#send_but, #option_regenerate, #option_continue, #mes_continue, #mes_impersonate, .swipe_right')) {
            stop(event);
        }
    }, true);
    window.addEventListener('keydown', (event) => {
        const field = st.target(event);
        const sends = event.key === 'Enter' && !event.shiftKey && field instanceof HTMLTextAreaElement && field.id === 'send_textarea';
        if (sends && isHeld() && !field.value.startsWith('/')) {
            stop(event);
        }
    }, true);
}

function stop(event) {
    event.stopImmediatePropagation();
    event.preventDefault();
    ask();
}

export function isHeld() {
    return Boolean(state.held) && state.held === st.here()?.address && setting('hold');
}

export function during(promise) {
    checking = promise;
}

export function hold(chat) {
    update({ held: waived.has(chat) ? null : chat });
}

export function release() {
    update({ held: null });
}

export function waive(chat) {
    waived.add(chat);
    release();
}
