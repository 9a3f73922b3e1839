// SillyTavern's own list of chats ("Manage chat files") as a tree: forks stand below what they were forked from, and say so. Families keep
// SillyTavern's order, the one that was played last first. Only the look changes: the list itself is SillyTavern's.

import * as api from './api.js';
import { bringHere } from './bring.js';
import { make } from './dialogs.js';
import { isFork, origin } from './from.js';
import * as notices from './notices.js';
import { setting } from './settings.js';
import * as st from './st.js';
import { state } from './state.js';

let turn = 0;

export function start() {
    const list = document.querySelector('#select_chat_div');
    if (list) {
        // Signs inside of rows are Forklore's own: only rows that come and go count.
        new MutationObserver(() => draw(list).catch((error) => console.warn('[Forklore]', error))).observe(list, { childList: true });
    }
}

async function draw(list) {
    const mine = ++turn;
    const open = st.here();
    const rows = [...list.querySelectorAll('.select_chat_block_wrapper')];
    list.classList.remove('forklore-chats');
    if (!setting('chats') || !open || !rows.length || !['ready', 'unhooked'].includes(state.mode)) {
        return;
    }
    const { stories } = await api.get('api/tree', { story: open.story });
    if (mine !== turn) {
        return;
    }
    const chats = stories[0]?.chats ?? [];
    const shown = new Map(rows.map((row, place) => [row.querySelector('.select_chat_block')?.getAttribute('file_name')?.replace(/\.jsonl$/, ''), { row, place }]));
    const order = families(chats, shown);
    for (const [position, chat] of order.entries()) {
        const { row } = shown.get(st.nameOf(chat.chat)) ?? {};
        if (row instanceof HTMLElement) {
            row.style.setProperty('order', String(position));
            row.style.setProperty('--depth', String(Math.min(chat.depth, 6)));
            tell(row, chat);
            offer(row, chat, open);
        }
    }
    list.classList.add('forklore-chats');
}

// Chats in the order of their trees, a tree where its newest chat stands. What Forklore does not know of goes where it was: last.
function families(chats, shown) {
    /** @type {{ newest: number, members: any[] }[]} */
    const trees = [];
    for (const chat of chats) {
        if (chat.depth === 0 || !trees.length) {
            trees.push({ newest: Number.MAX_SAFE_INTEGER, members: [] });
        }
        const tree = trees[trees.length - 1];
        tree.members.push(chat);
        tree.newest = Math.min(tree.newest, shown.get(st.nameOf(chat.chat))?.place ?? Number.MAX_SAFE_INTEGER);
    }
    return trees.sort((a, b) => a.newest - b.newest).flatMap(({ members }) => members);
}

function tell(row, chat) {
    row.querySelector('.forklore-lineage')?.remove();
    if (isFork(chat)) {
        row.querySelector('.select_chat_block_mes')?.before(make('small.forklore-lineage', origin(chat.kind, chat.parent, chat.fork_message)));
    }
}

// Beside SillyTavern's own buttons of a chat: what happened there can be brought along into the open one.
function offer(row, chat, open) {
    row.querySelector('.forklore-bring')?.remove();
    if (chat.chat === open.address) {
        return;
    }
    // It looks as SillyTavern's own beside it.
    const button = make('div.forklore-bring.opacity50p.hoverglow.fa-solid.fa-code-merge.interactable');
    Object.assign(button, { title: 'Bring along what happened there…', tabIndex: 0, role: 'button', ariaLabel: 'Bring along what happened there' });
    button.addEventListener('click', (event) => {
        // A click on the row opens the chat.
        event.stopPropagation();
        const close = async () => { /** @type {HTMLElement | null} */ (document.querySelector('#select_chat_cross'))?.click(); };
        bringHere(chat.chat, close).catch((error) => notices.refusal('Bring along', error));
    });
    row.querySelector('.exportRawChatButton')?.before(button);
}
