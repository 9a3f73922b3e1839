// Finding anything, from any page: Ctrl-K or `/` asks all stories for messages, entries, recaps and names of chats.

import { address } from './address.js';
import { look } from './api.js';
import { element, target } from './dom.js';

const LATER = 200;
/** @typedef {{ before: string, found: string, after: string }} Excerpt */

const dialog = element('dialog', 'finder');
const [form, input, results] = [element('form'), element('input'), element('div', 'results')];
dialog.setAttribute('aria-label', 'Find in all stories');
Object.assign(input, { type: 'search', placeholder: 'Find in all stories', autocomplete: 'off', maxLength: 200 });
input.setAttribute('aria-label', 'What to find in all stories');
results.setAttribute('aria-live', 'polite');
form.append(input);
dialog.append(form, results);
document.body.append(dialog);

/** @type {AbortController | null} */
let asked = null;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let later;
let known = 0;

function open() {
    if (!dialog.open) {
        dialog.showModal();
        input.select();
    }
}

async function find(from = 0) {
    const text = input.value.trim();
    asked?.abort();
    if (!text) {
        results.replaceChildren();
        return;
    }
    asked = new AbortController();
    if (!from) {
        results.replaceChildren(element('p', 'quiet', 'Looking …'));
    }
    dialog.setAttribute('aria-busy', 'true');
    try {
        show(await look('search', { text, from }, { signal: asked.signal }), from);
    } catch (failure) {
        if (failure.name === 'AbortError') {
            return;
        }
        results.replaceChildren(element('p', 'error', `${failure.message} ${failure.to_do}`));
    }
    dialog.removeAttribute('aria-busy');
}

function show(/** @type {any} */ found, /** @type {number} */ from) {
    const name = (/** @type {string} */ chat) => chat.replace('/', ' · ');
    const parts = [
        ...list('Chats', found.chats.length, found.chats.map((chat) => result(chat, null, name(chat), null))),
        ...list('Messages', found.all_messages, found.messages.map((hit) => result(hit.chat, hit.at, `${hit.speaker} · ${name(hit.chat)} · message ${hit.at}`, hit.excerpt))),
        ...list('Lore', found.all_entries, found.entries.map((hit) => result(hit.chat, null, `${hit.comment} · ${hit.book}${hit.key ? ` · key “${hit.key}”` : ''}`, hit.excerpt))),
        ...list('Notes', found.notes.length, found.notes.map((hit) => result(hit.chat, hit.at, `${name(hit.chat)} · message ${hit.at}`, hit.excerpt))),
        ...list('Recaps', found.recaps.length, found.recaps.map((hit) => result(hit.chat, null, name(hit.chat), hit.excerpt))),
    ];
    const more = results.querySelector('.more');
    if (from) {
        results.append(...parts);
        // Whoever asked for more goes on with the first of it.
        if (more === document.activeElement) {
            parts.find((element) => element.matches('a'))?.focus();
        }
        more?.remove();
    } else {
        results.replaceChildren(...(parts.length ? parts : [element('p', 'quiet', 'Nothing says that.')]));
    }
    known = from + 100;
    if (found.more) {
        const more = element('button', 'more', 'Show more');
        more.type = 'button';
        more.addEventListener('click', () => find(known));
        results.append(more);
    }
}

/**
 * @param {string} title
 * @param {number} all
 * @param {HTMLElement[]} links
 */
function list(title, all, links) {
    return links.length ? [element('h2', '', `${title} (${all.toLocaleString()})`), ...links] : [];
}

/**
 * @param {string} chat
 * @param {number | null} at
 * @param {string} where
 * @param {Excerpt | null} excerpt
 */
function result(chat, at, where, excerpt) {
    const link = element('a');
    link.href = address('moment', { chat, at });
    link.append(element('span', 'where', where));
    if (excerpt) {
        const text = element('span');
        text.dir = 'auto';
        text.append(excerpt.before, element('mark', '', excerpt.found), excerpt.after);
        link.append(text);
    }
    return link;
}

input.addEventListener('input', () => { clearTimeout(later); later = setTimeout(find, LATER); });
form.addEventListener('submit', (event) => { event.preventDefault(); clearTimeout(later); find(); });
dialog.addEventListener('click', (event) => { if (event.target === dialog) { dialog.close(); } });
dialog.addEventListener('keydown', (event) => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') {
        return;
    }
    event.preventDefault();
    const links = [...results.querySelectorAll('a')];
    const at = links.findIndex((link) => link === document.activeElement);
    (links[at + (event.key === 'ArrowDown' ? 1 : -1)] ?? input).focus();
});
document.addEventListener('keydown', (event) => {
    const typing = target(event)?.closest('input, textarea, select, [contenteditable]');
    const asks = (event.key === 'k' && (event.ctrlKey || event.metaKey)) || (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey);
    if (asks) {
        event.preventDefault();
        open();
    }
});
document.querySelector('#finder')?.addEventListener('click', open);
