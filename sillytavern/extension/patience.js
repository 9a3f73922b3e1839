// Generating waits until what is remembered is up to date, where somebody has asked for that. It says so, one can go on without, and it
// goes on by itself where waiting would be for nothing: memory is paused, has a problem, another tab is at it, or somebody has to decide
// something first.

import { isWanted, isWorking, work } from './asking.js';
import { isOn, look, memory } from './memory.js';
import * as notices from './notices.js';
import { told } from './remembered.js';
import { setting } from './settings.js';
import { hold } from './settle.js';
import * as st from './st.js';

const EVERY = 300;
const TITLE = 'Waiting for memory';

/**
 * How the wait that is on has ended: whoever was stopped does not generate.
 * @type {{ end: 'without' | 'stopped' | null } | null}
 */
let waiting = null;

export function start() {
    const { eventSource, eventTypes } = st.context();
    eventSource.on(eventTypes.GENERATION_STOPPED, () => end('stopped'));
}

function end(how) {
    if (waiting) {
        waiting.end = how;
    }
}

/**
 * SillyTavern is about to ask for a reply, and looks into lorebooks after this.
 * @param {(immediately: boolean) => void} abort
 * @param {string} type
 */
export async function patience(abort, type) {
    const open = st.here();
    // What extensions generate by themselves is none of the story's.
    if (!setting('patience') || !open || !isOn() || type === 'quiet') {
        return;
    }
    const mine = { end: /** @type {any} */ (null) };
    waiting = mine;
    hold(type ?? 'normal');
    const notice = new Notice();
    let looked = Boolean(memory.status);
    let elsewhere = false;
    if (!looked) {
        look().catch(() => {}).finally(() => { looked = true; });
    }
    const isWaiting = () => (!looked || isBehind()) && !mine.end && !elsewhere && st.here()?.address === open.address;
    try {
        while (isWaiting()) {
            if (looked) {
                work(true).then((isOurs) => { elsewhere ||= isOurs === false; });
            }
            await st.pause(EVERY);
            if (isWaiting()) {
                notice.show();
            }
        }
    } finally {
        hold(null);
        waiting = null;
        notice.remove();
    }
    if (mine.end === 'stopped' || st.here()?.address !== open.address) {
        abort(true);
    } else if (elsewhere && !mine.end) {
        notices.warning('Memory is not up to date', 'Another tab is asking. This reply did not wait for it.');
    } else if (notice.shown && !mine.end && memory.problem) {
        notices.warning('Memory is not up to date', memory.problem);
    }
}

// Whoever has just begun to ask does not know yet whether anything is missing.
function isBehind() {
    return isWanted() || isWorking();
}

// What is seen of it: nothing, if it was a moment.
class Notice {
    /** @type {any} */
    #element = null;

    get shown() {
        return this.#element !== null;
    }

    show() {
        const text = memory.status && memory.asking ? told(memory.status) : 'Looking what is to be asked…';
        this.#element ??= notices.withActions('info', TITLE, text, [['Go on without', () => end('without')]], { timeOut: 0, extendedTimeOut: 0, tapToDismiss: false, toastClass: 'forklore-waiting' });
        this.#element?.find('.toast-message').text(text);
    }

    remove() {
        if (this.#element) {
            toastr.clear(this.#element, { force: true });
        }
    }
}
