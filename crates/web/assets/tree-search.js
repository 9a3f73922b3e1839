// Searching a story: what is found stands in a list, and messages are marked in the drawing.

import { address } from './address.js';
import { look, tell } from './api.js';
import { element, part, shape } from './dom.js';
import { shift } from './tree-drawing.js';

/** @import { Cursor } from './tree-cursor.js' */
/** @import { Drawing } from './tree-drawing.js' */

/** @typedef {{ before: string, found: string, after: string }} Excerpt */

const LATER = 250;
// So many of each kind are given at once.
const MOST = 100;

/**
 * @param {Drawing} drawing
 * @param {string | undefined} story
 * @param {Cursor} cursor
 */
export function searchable(drawing, story, cursor) {
    const form = part('#search', HTMLFormElement);
    const input = part('[name=text]', HTMLInputElement, form);
    const results = part('#results', HTMLElement);
    const marks = part('.marks', SVGElement, drawing.svg);
    /** @type {AbortController | null} */
    let asked = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let later;

    async function search() {
        const text = input.value.trim();
        asked?.abort();
        marks.replaceChildren();
        // One letter says nothing; one sign of a script without letters is a word.
        if (!text || /^[\x20-\u024f]$/.test(text)) {
            results.hidden = true;
            return;
        }
        asked = new AbortController();
        results.replaceChildren(element('p', 'quiet', 'Looking …'));
        results.hidden = false;
        try {
            show(text, await look('search', { story, text }, { signal: asked.signal }));
        } catch (failure) {
            if (failure.name !== 'AbortError') {
                tell(failure);
            }
        }
    }

    function show(/** @type {string} */ text, /** @type {any} */ found) {
        const plain = text.toLowerCase();
        const names = drawing.rows.filter((row) => row.chat && row.name.toLowerCase().includes(plain));
        results.replaceChildren(
            ...list('Chats', names.map((row) => result(row.chat, row.end, row.name, null, row.from ?? 0))),
            ...list('Messages', found.messages.map((hit) => result(hit.chat, hit.at, `${hit.speaker} · ${short(hit.chat)} · message ${hit.at}`, hit.excerpt))),
            ...list('Notes', found.notes.map((hit) => result(hit.chat, hit.at, `${short(hit.chat)} · message ${hit.at}`, hit.excerpt))),
            ...list('Recaps', found.recaps.map((hit) => result(hit.chat, null, short(hit.chat), hit.excerpt))),
            ...list('Entries', found.entries.map((hit) => result(hit.chat, null, `${hit.comment} · ${hit.book}${hit.key ? ` · key “${hit.key}”` : ''}`, hit.excerpt))),
        );
        if (!results.children.length) {
            results.append(element('p', '', 'Nothing in this story says that.'));
        } else if (found.more) {
            results.append(more(text, MOST));
        }
        results.hidden = false;
        marks.replaceChildren(...found.messages.map((hit) => {
            const mark = shape('circle', { r: 5 });
            Object.assign(mark.dataset, { chat: hit.chat, m: hit.at });
            return mark;
        }));
        place();
    }

    // What is not shown yet.
    function more(/** @type {string} */ text, /** @type {number} */ from) {
        const button = element('button', 'more', 'Show more');
        button.type = 'button';
        button.addEventListener('click', async () => {
            const found = await look('search', { story, text, from }).catch(tell);
            if (found) {
                const links = [
                    ...found.messages.map((hit) => result(hit.chat, hit.at, `${hit.speaker} · ${short(hit.chat)} · message ${hit.at}`, hit.excerpt)),
                    ...found.entries.map((hit) => result(hit.chat, null, `${hit.comment} · ${hit.book}`, hit.excerpt)),
                ];
                button.replaceWith(...links, ...(found.more ? [more(text, from + MOST)] : []));
                // Whoever asked for more goes on with the first of it.
                links[0]?.focus();
            }
        });
        return button;
    }

    // Marks stand at their messages, wherever those are now.
    function place() {
        for (const mark of /** @type {HTMLCollectionOf<SVGElement>} */ (marks.children)) {
            const row = drawing.byChat.get(mark.dataset.chat ?? '');
            mark.classList.toggle('folded', !row?.shown);
            if (row) {
                mark.setAttribute('transform', shift(drawing.x(Number(mark.dataset.m)), row.y));
            }
        }
    }

    const short = (/** @type {string} */ chat) => drawing.byChat.get(chat)?.name ?? chat.slice(chat.indexOf('/') + 1);

    /**
     * A link to a message of a chat; without one, to the chat. Looking at it shows `spot`; opening it goes there.
     * @param {string | null} chat
     * @param {number | null} message
     * @param {string} where
     * @param {Excerpt | null} excerpt
     */
    function result(chat, message, where, excerpt, spot = message) {
        const link = element('a');
        link.href = address('moment', { chat, at: message });
        link.append(element('span', 'where', where));
        if (excerpt) {
            const text = element('span');
            text.dir = 'auto';
            text.append(excerpt.before, element('mark', '', excerpt.found), excerpt.after);
            link.append(text);
        }
        const jump = () => {
            const row = drawing.byChat.get(chat);
            if (row?.shown) {
                cursor.show(row, Math.min(spot ?? row.end, row.end));
            }
        };
        link.addEventListener('focus', jump);
        link.addEventListener('pointerenter', jump);
        return link;
    }

    drawing.whenPlaced(place);
    form.addEventListener('submit', (event) => { event.preventDefault(); clearTimeout(later); search(); });
    input.addEventListener('input', () => { clearTimeout(later); later = setTimeout(search, LATER); });
    input.addEventListener('keydown', (event) => {
        if (event.key === 'ArrowDown') {
            event.preventDefault();
            results.querySelector('a')?.focus();
        }
    });
    results.addEventListener('keydown', (event) => {
        if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
            event.preventDefault();
            const links = [...results.querySelectorAll('a')];
            const at = links.findIndex((link) => link === document.activeElement);
            (links[at + (event.key === 'ArrowDown' ? 1 : -1)] ?? input).focus();
        }
    });
}

/**
 * @param {string} title
 * @param {HTMLElement[]} links
 */
function list(title, links) {
    return links.length ? [element('h2', '', `${title} (${links.length})`), ...links] : [];
}
