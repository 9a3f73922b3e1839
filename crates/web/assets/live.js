// What happens while the page is open. `on('change', (data) => …)` hears events of the server (docs/formats/http.md, "Events").
//
// The page keeps itself up to date. One whose script hears `change` does so on its own, and is told of everything that way. Any other
// is asked for again when something changes: what differs is taken over, or all of it if a script has worked on it, which then starts
// anew. Long work shows how far it is. If the connection breaks, it is taken up again.

import { look } from './api.js';
import { morph } from './morph.js';

const FIRST = 1000;
const LONGEST = 15_000;
const SOON = 250;

let source = null;
let patience = FIRST;
let lost = null;
const heard = [];
const keepers = [];

export function on(name, hear) {
    if (name === 'change') {
        keepers.push(hear);
    }
    attend(name, hear);
}

function attend(name, hear) {
    heard.push([name, hear]);
    source?.addEventListener(name, tell(hear));
}

function tell(hear) {
    return (event) => hear(JSON.parse(event.data));
}

function listen() {
    source = new EventSource('api/events');
    heard.forEach(([name, hear]) => source.addEventListener(name, tell(hear)));
    source.addEventListener('open', () => {
        patience = FIRST;
        clearTimeout(lost);
        lost = null;
        note(null);
    });
    source.addEventListener('error', () => {
        lost ??= setTimeout(gone, 2000);
        // A browser tries again by itself where nobody answers, and gives up where the answer is no: a plugin without its engine.
        if (source?.readyState === EventSource.CLOSED) {
            source = null;
            setTimeout(() => source ?? listen(), patience);
            patience = Math.min(patience * 2, LONGEST);
        }
    });
}

// Why there is no connection.
async function gone() {
    lost = null;
    const failure = await look('hello').then(() => null, (failure) => failure);
    if (failure?.code === 'NO_TOKEN') {
        note('Forklore was started anew since. Open the address that it prints now.');
    } else if (failure) {
        note('Forklore does not answer. This page shows what was last known, and tries again by itself.');
    }
}

// A bar at the top of the page, with a button if there is something to do; nothing if there is no text.
function note(text, button = null, act = null) {
    const shown = document.getElementById('live-note');
    if (text && shown?.firstChild.textContent === text) {
        return;
    }
    shown?.remove();
    if (!text) {
        return;
    }
    const bar = document.createElement('div');
    bar.id = 'live-note';
    bar.setAttribute('role', 'status');
    const said = document.createElement('span');
    said.textContent = text;
    bar.append(said);
    if (button) {
        const element = document.createElement('button');
        element.textContent = button;
        element.addEventListener('click', () => { bar.remove(); act(); });
        bar.append(element);
    }
    document.querySelector('.top').after(bar);
}

let busy = 0;
let waiting = null;
let running = false;
let stale = false;

// While something is done, the page is left alone: another one follows.
export function hold() {
    busy += 1;
    return () => { busy -= 1; };
}

// Something may have changed: the page asks for itself again, soon, and once for all that happens until then.
export function refresh() {
    stale = true;
    waiting ??= setTimeout(() => { waiting = null; update(); }, SOON);
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

async function ask(address, options) {
    const response = await fetch(address, { headers: { Accept: 'text/html' }, ...options }).catch(() => null);
    if (!response || response.status === 401 || response.status >= 500) {
        return null;
    }
    return new DOMParser().parseFromString(await response.text(), 'text/html');
}

// What the server said last. The scripts of pages come after this one: nothing has touched it yet.
let said = document.querySelector('main').innerHTML;
let runs = 0;

function take(fresh) {
    const [main, next] = [document.querySelector('main'), fresh.querySelector('main')];
    if (next.innerHTML === said) {
        return;
    }
    const scripts = [...document.querySelectorAll('head script[type=module]')].filter(({ src }) => !src.endsWith('/app.js'));
    if (scripts.length && document.activeElement?.matches('main input, main textarea, main select')) {
        note('Something changed since this page was opened.', 'Show it', () => location.reload());
        return;
    }
    said = next.innerHTML;
    if (scripts.length) {
        const [left, top, focus] = [scrollX, scrollY, document.activeElement?.id];
        main.replaceChildren(...document.adoptNode(next).childNodes);
        runs += 1;
        scripts.forEach(({ src }) => import(`${src}?again=${runs}`));
        scrollTo(left, top);
        if (focus) {
            document.getElementById(focus)?.focus({ preventScroll: true });
        }
    } else {
        morph(main, next);
    }
    document.title = fresh.title;
    times();
}

// Shows another state of this page, without leaving it. Gives whether it could.
let last = null;
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

// How far long work is, by what it is: a line for each, until it is over.
const bars = new Map();

export function progress({ request, what, done, total }) {
    const key = request ?? what;
    let bar = bars.get(key);
    if (!bar) {
        const element = document.createElement('div');
        element.className = 'notice work';
        const [text, meter] = [document.createElement('span'), document.createElement('progress')];
        text.id = `work-${bars.size}`;
        meter.setAttribute('aria-labelledby', text.id);
        element.append(text, meter);
        document.getElementById('notices').append(element);
        bar = { element, text, meter };
        bars.set(key, bar);
    }
    bar.text.textContent = what;
    bar.meter.max = Math.max(total, 1);
    bar.meter.value = done;
    clearTimeout(bar.end);
    // Work can have several parts: it is over when none follows.
    bar.end = setTimeout(() => { bar.element.remove(); bars.delete(key); }, done >= total ? 700 : 8000);
}

// Times in the reader's own words.
function times() {
    document.querySelectorAll('main time[datetime]').forEach((element) => {
        const time = new Date(element.dateTime);
        if (!Number.isNaN(time.getTime())) {
            element.textContent = time.toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
            element.title = element.dateTime;
        }
    });
}

// Something is not what it was, and nobody knows what.
function anything() {
    keepers.forEach((hear) => hear({ what: 'vault', act: 'saved', chat: null, book: null, from: null, operation: null, by: null }));
    refresh();
}

// History that stops is told: what is played meanwhile cannot be brought back.
function recorded(why) {
    note(why ? `History is not being recorded: ${why} “forklore doctor” tells what to do.` : null);
}
attend('recording', ({ message }) => recorded(message));

let first = true;
attend('hello', ({ recording }) => {
    if (recording) {
        recorded(recording);
    }
    // What was shown before the connection broke may be old.
    if (!first) {
        anything();
    }
    first = false;
});
attend('change', refresh);
for (const name of ['files', 'fork', 'wait', 'lagged']) {
    attend(name, anything);
}
attend('progress', progress);
document.addEventListener('visibilitychange', () => update());
times();
listen();

addEventListener('pagehide', () => { source?.close(); source = null; });
addEventListener('pageshow', (event) => {
    if (event.persisted) {
        listen();
        refresh();
    }
});
