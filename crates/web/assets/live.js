// The page keeps itself up to date. One whose script hears `change` does so on its own, and is told of everything that way:
// `on('change', (data) => …)`. Any other is asked for again when something changes: what differs is taken over, or all of it if a
// script has worked on it, which then starts anew.

import { part } from './dom.js';
import { hear, leave, listen } from './events.js';
import { keepingFocus } from './focus.js';
import { morph } from './morph.js';
import { note } from './note.js';
import { progress } from './progress.js';

const SOON = 250;

/** @type {((data: any) => void)[]} */
const keepers = [];

/**
 * Hears events of the server.
 * @param {string} name
 * @param {(data: any) => void} tell
 */
export function on(name, tell) {
    if (name === 'change') {
        keepers.push(tell);
    }
    hear(name, tell);
}

let busy = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let waiting;
let running = false;
let stale = false;

// While something is done, the page is left alone: another one follows.
export function hold() {
    busy += 1;
    return () => { busy -= 1; };
}

// Something may have changed: the page asks for itself again, soon, and once for all that happens until then.
function refresh() {
    stale = true;
    waiting ??= setTimeout(() => { waiting = undefined; update(); }, SOON);
}

async function update() {
    if (!stale || running || busy || keepers.length || document.hidden) {
        return;
    }
    [stale, running] = [false, true];
    try {
        const address = location.href;
        const fresh = await ask(address);
        if (location.href !== address) {
            // The reader has gone on meanwhile: this is not what the page shows by now.
            stale = true;
        } else if (fresh && !busy) {
            take(fresh);
        }
    } finally {
        running = false;
        if (stale) {
            refresh();
        }
    }
}

/**
 * @param {string} address
 * @param {RequestInit} options
 */
async function ask(address, options = {}) {
    const response = await fetch(address, { headers: { Accept: 'text/html' }, ...options }).catch(() => null);
    if (!response || response.status === 401 || response.status >= 500) {
        return null;
    }
    return new DOMParser().parseFromString(await response.text(), 'text/html');
}

// What the server said last. The scripts of pages come after this one: nothing has touched it yet.
let said = part('main', HTMLElement).innerHTML;
let runs = 0;

/** @param {Document} fresh */
function take(fresh) {
    const [main, next] = [part('main', HTMLElement), part('main', HTMLElement, fresh)];
    if (next.innerHTML === said) {
        return;
    }
    const all = [.../** @type {NodeListOf<HTMLScriptElement>} */ (document.querySelectorAll('head script[type=module]'))];
    const scripts = all.filter(({ src }) => !src.endsWith('/app.js'));
    if (scripts.length && document.activeElement?.matches('main input, main textarea, main select')) {
        note('Something changed since this page was opened.', 'Show it', () => location.reload());
        return;
    }
    said = next.innerHTML;
    if (scripts.length) {
        const [left, top] = [scrollX, scrollY];
        keepingFocus(main, () => main.replaceChildren(...document.adoptNode(next).childNodes), main);
        runs += 1;
        scripts.forEach(({ src }) => import(`${src}?again=${runs}`));
        scrollTo(left, top);
    } else {
        keepingFocus(main, () => morph(main, next), main);
    }
    document.title = fresh.title;
    times();
}

/** @type {AbortController | null} */
let last = null;

/**
 * Shows another state of this page, without leaving it. Gives whether it could.
 * @param {string} address
 */
export async function show(address) {
    last?.abort();
    last = new AbortController();
    const fresh = await ask(address, { signal: last.signal });
    if (fresh) {
        history.replaceState(history.state, '', address);
        take(fresh);
    }
    return Boolean(fresh);
}

// A time as people say it: "today, 10:09", "yesterday, 22:40", "Tuesday, 9:15", "12 July", "12 July 2024".
function spoken(/** @type {Date} */ time) {
    const day = (/** @type {Date} */ of) => new Date(of.getFullYear(), of.getMonth(), of.getDate()).getTime();
    const [ago, clock] = [Math.round((day(new Date()) - day(time)) / 86_400_000), time.toLocaleTimeString([], { timeStyle: 'short' })];
    if (ago === 0 || ago === 1) {
        return `${ago ? 'yesterday' : 'today'}, ${clock}`;
    }
    if (ago > 1 && ago < 7) {
        return `${time.toLocaleDateString('en', { weekday: 'long' })}, ${clock}`;
    }
    const year = time.getFullYear() === new Date().getFullYear() ? undefined : 'numeric';
    return time.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year });
}

// Times in the reader's own words.
function times() {
    /** @type {NodeListOf<HTMLTimeElement>} */ (document.querySelectorAll('main time[datetime]')).forEach((element) => {
        const time = new Date(element.dateTime);
        if (!Number.isNaN(time.getTime())) {
            element.textContent = spoken(time);
            element.title = time.toLocaleString([], { dateStyle: 'full', timeStyle: 'short' });
        }
    });
}

// Something is not what it was, and nobody knows what.
function anything() {
    keepers.forEach((tell) => tell({ what: 'vault', act: 'saved', chat: null, book: null, from: null, operation: null, by: null }));
    refresh();
}

/**
 * History that stops is told: what is played meanwhile cannot be brought back.
 * @param {string | null} why
 */
function recorded(why) {
    note(why ? `History is not being recorded: ${why} Look at the disk that Forklore keeps it on.` : null);
}
hear('recording', ({ message }) => recorded(message));

let first = true;
hear('hello', ({ recording }) => {
    if (recording) {
        recorded(recording);
    }
    // What was shown before the connection broke may be old.
    if (!first) {
        anything();
    }
    first = false;
});
hear('change', refresh);
for (const name of ['files', 'fork', 'wait', 'lagged']) {
    hear(name, anything);
}
hear('progress', progress);
document.addEventListener('visibilitychange', () => update());
times();
listen();

addEventListener('pagehide', leave);
addEventListener('pageshow', (event) => {
    if (event.persisted) {
        listen();
        refresh();
    }
});
