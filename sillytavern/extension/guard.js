// Other extensions bind books of their own to a fresh fork: one rebuilds it from fewer entries, another copies it on entry. What is proved
// to be such a copy is replaced by the book that the fork was made with. What a person did is never undone; where nobody can tell, it is
// said, and one click puts it back. Their books stay where they are.

import * as notices from './notices.js';
import { watch } from './requests.js';
import { setting } from './settings.js';
import * as st from './st.js';

const FRESH = 60_000;
const EVERY = 500;

// Address of a fork to the time since which it is watched.
const fresh = new Map();
// Books that this page has made: its scripts did, if nobody has touched anything.
const made = new Set();
// When somebody last touched the page, and when where books are chosen and renamed.
let touched = 0;
let chose = 0;

// A fork was made: its first minute begins, unless it has begun.
export function expect(chat) {
    if (!fresh.has(chat)) {
        fresh.set(chat, Date.now());
    }
}

export function start() {
    const touch = (event) => {
        if (event.isTrusted) {
            const pressed = st.target(event);
            const choosing = pressed?.closest('dialog')?.querySelector('.chat_world_info_selector');
            touched = Date.now();
            chose = choosing || pressed?.closest('.chat_lorebook_button, #WorldInfo') ? touched : chose;
        }
    };
    window.addEventListener('pointerdown', touch, true);
    window.addEventListener('keydown', touch, true);
    watch(['/api/worldinfo/edit'], async (request) => {
        const book = st.bookOf(await request.text());
        if (book && !st.bookNames().includes(book)) {
            made.add(book);
        }
    });
    setInterval(() => look().catch((error) => console.warn('[Forklore]', error)), EVERY);
}

// Whether the book of a chat is still watched.
export function watches(chat) {
    return fresh.has(chat);
}

let looking = false;

async function look() {
    fresh.forEach((since, chat) => Date.now() - since > FRESH && fresh.delete(chat));
    const open = st.here();
    if (!looking && open && fresh.has(open.address) && st.isLoaded() && setting('guard') && st.ownBook() !== st.boundBook()) {
        looking = true;
        await judge(open.address).finally(() => { looking = false; });
    }
}

async function judge(chat) {
    const [own, bound, since] = [st.ownBook(), st.boundBook(), fresh.get(chat)];
    await st.refreshBooks();
    if (!own || !st.bookNames().includes(own) || chose > since) {
        // No fork at all, but a chat with the name of one; or there is nothing to go back to; or somebody chose this.
        fresh.delete(chat);
    } else if (touched > since || !await copied(bound, own)) {
        fresh.delete(chat);
        tell(own, bound, chat);
    } else if (st.here()?.address === chat && await st.bind(own)) {
        fresh.set(chat, Date.now());
        notices.warning('Another extension changed the lorebook of this fork', [
            `It bound a copy, "${bound}". The right one, "${own}", is back.`, 'Their copy is still in World Info; delete it there if you do not want it.',
        ]);
    }
}

// Whether a book was made by this page from the fork's own.
async function copied(book, own) {
    if (!book || !made.has(book)) {
        return false;
    }
    const titles = async (name) => Object.values((await st.context().loadWorldInfo(name))?.entries ?? {}).flatMap(({ comment }) => comment || []);
    const ours = new Set(await titles(own));
    return (await titles(book)).some((title) => ours.has(title));
}

function tell(own, bound, chat) {
    notices.warning('This fork has another lorebook now', [
        `It was made with "${own}". ${bound ? `Now "${bound}" is bound to it.` : 'Now none is bound to it.'}`, 'Click to go back to its own. If this is what you want, there is nothing to do.',
    ], { onclick: () => st.here()?.address === chat && st.bind(own) });
}
