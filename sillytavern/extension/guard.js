// Other extensions bind books of their own to a fresh fork: one rebuilds it from fewer entries, another copies it on entry. In the
// first moments of a fork the book that it was made with is put back, and the other one goes to the trash. What the user binds with
// SillyTavern's own button stays.

import * as api from './api.js';
import * as notices from './notices.js';
import { setting } from './settings.js';
import * as st from './st.js';

const FRESH = 60_000;
const EVERY = 500;

// Address of a fork to its book and the time until which it is watched.
const fresh = new Map();
let byHand = 0;

// What the engine reported of a fork goes before what the chat happens to be bound to when it is opened (`seen`).
export function expect(chat, book, seen = false) {
    if (book && !(seen && fresh.has(chat))) {
        fresh.set(chat, { book, until: Date.now() + FRESH });
    }
}

export function start() {
    document.addEventListener('pointerdown', (event) => {
        const pressed = st.target(event);
        const choosing = pressed?.closest('dialog')?.querySelector('.chat_world_info_selector');
        if (choosing || pressed?.closest('.chat_lorebook_button, #WorldInfo')) {
            byHand = Date.now();
        }
    }, true);
    setInterval(() => look().catch((error) => console.warn('[Forklore]', error)), EVERY);
}

let looking = false;

async function look() {
    const open = st.here();
    const expected = open && fresh.get(open.address);
    const bound = st.boundBook();
    if (looking || !expected || !st.isLoaded() || expected.book === bound || !setting('guard')) {
        return;
    }
    if (Date.now() > expected.until || Date.now() - byHand < 10_000) {
        fresh.delete(open.address);
        return;
    }
    looking = true;
    try {
        if (!await st.bind(expected.book)) {
            return;
        }
        notices.warning('Another extension changed the lorebook of this fork', [
            bound ? `It bound "${bound}". The right one, "${expected.book}", is back.` : `It took it away. "${expected.book}" is back.`,
            bound && await discard(bound, open),
        ]);
        expected.until = Date.now() + FRESH;
    } finally {
        looking = false;
    }
}

// The other book goes to the trash if nothing needs it: the engine decides.
async function discard(book, { story }) {
    const { stories } = await api.get('api/tree', { story }).catch(() => ({ stories: [] }));
    if (stories.flatMap(({ chats }) => chats).some((chat) => chat.book.name === book)) {
        return null;
    }
    try {
        const { books } = await api.post('api/gc', { book });
        if (!books.includes(book)) {
            return null;
        }
        await st.refreshBooks([book]);
        return `"${book}" is in Forklore's trash.`;
    } catch {
        return `"${book}" is still there; nothing uses it. Delete it in World Info if you do not want it.`;
    }
}
