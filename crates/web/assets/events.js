// What the server tells while the page is open (docs/formats/http.md, "Events"). If the connection breaks, it is taken up again, and the
// page says so meanwhile.

import { look } from './api.js';
import { note } from './note.js';

const FIRST = 1000;
const LONGEST = 15_000;
// So long a connection may be away without a word.
const UNSAID = 2000;

/** @type {EventSource | null} */
let source = null;
let patience = FIRST;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let lost;
/** @type {[string, (event: MessageEvent) => void][]} */
const heard = [];

/**
 * Hears the events of a name.
 * @param {string} name
 * @param {(data: any) => void} tell
 */
export function hear(name, tell) {
    const told = (/** @type {MessageEvent} */ event) => tell(JSON.parse(event.data));
    heard.push([name, told]);
    source?.addEventListener(name, told);
}

export function listen() {
    const opened = source = new EventSource('api/events');
    heard.forEach(([name, told]) => opened.addEventListener(name, told));
    opened.addEventListener('open', () => {
        patience = FIRST;
        clearTimeout(lost);
        lost = undefined;
        note(null);
    });
    opened.addEventListener('error', () => {
        lost ??= setTimeout(gone, UNSAID);
        // A browser tries again by itself where nobody answers, and gives up where the answer is no: a plugin without its engine.
        if (source?.readyState === EventSource.CLOSED) {
            source = null;
            setTimeout(() => source ?? listen(), patience);
            patience = Math.min(patience * 2, LONGEST);
        }
    });
}

export function leave() {
    source?.close();
    source = null;
}

// Why there is no connection.
async function gone() {
    lost = undefined;
    const failure = await look('hello').then(() => null, (failure) => failure);
    if (failure?.code === 'NO_TOKEN') {
        note('Forklore was started anew since. Open the address that it prints now.');
    } else if (failure) {
        note('Forklore does not answer. This page shows what was last known, and tries again by itself.');
    }
}
