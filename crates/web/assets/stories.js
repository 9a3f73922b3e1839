// Finding a story by its name, and putting them in order: at once, without asking the server.

import { part } from './dom.js';

const form = document.getElementById('filter');
const list = document.getElementById('stories');

if (form && list) {
    const cards = [.../** @type {HTMLCollectionOf<HTMLElement>} */ (list.children)].map((card) => {
        const { name = '', changed = '', health = '', chats, forks, bytes } = card.dataset;
        return { card, name, changed, health, chats: Number(chats), forks: Number(forks), bytes: Number(bytes) };
    });
    const text = part('[name=text]', HTMLInputElement, form);
    const order = part('[name=order]', HTMLSelectElement, form);
    const ranks = { error: 2, warning: 1, ok: 0 };
    const by = {
        changed: (a, b) => compare(b.changed, a.changed),
        name: (a, b) => a.name.localeCompare(b.name),
        chats: (a, b) => b.chats - a.chats,
        forks: (a, b) => b.forks - a.forks,
        bytes: (a, b) => b.bytes - a.bytes,
        health: (a, b) => ranks[b.health] - ranks[a.health],
    };

    const show = () => {
        const words = plain(text.value).split(/\s+/).filter(Boolean);
        for (const { card, name } of cards) {
            card.hidden = !words.every((word) => plain(name).includes(word));
        }
        const shown = cards.filter(({ card }) => !card.hidden).length;
        part('#nothing', HTMLElement).hidden = shown > 0;
        part('#found', HTMLElement).textContent = words.length ? `${shown} of ${cards.length} stories` : '';
    };
    const sort = () => list.append(...cards.sort(by[order.value]).map(({ card }) => card));

    text.addEventListener('input', show);
    order.addEventListener('change', sort);
    form.addEventListener('submit', (event) => {
        event.preventDefault();
        // Enter goes to the first one that is left.
        [...list.children].find((card) => card instanceof HTMLElement && !card.hidden)?.querySelector('a')?.click();
    });
    part('#all', HTMLElement).addEventListener('click', () => { text.value = ''; show(); text.focus(); });
    // Somebody was faster than this script: the browser took Enter for a question to the server.
    const asked = new URLSearchParams(location.search);
    if (asked.has(text.name)) {
        text.value ||= asked.get(text.name) ?? '';
        history.replaceState(history.state, '', location.pathname);
        text.focus();
    }
    // The browser may have kept what was typed.
    show();
    if (order.value !== 'changed') {
        sort();
    }
}

/** @param {string} text */
function plain(text) {
    return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}

/**
 * @param {string} a
 * @param {string} b
 */
function compare(a, b) {
    return a < b ? -1 : a > b ? 1 : 0;
}
