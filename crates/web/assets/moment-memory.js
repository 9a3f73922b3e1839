// What Forklore remembers at a moment, in its place: the scene with what it tells, and with each entry of memory's where its lines come
// from. It is taken from the page that has all of it, once one has come to rest.

import { address } from './address.js';

const REST = 300;

/**
 * Gives what is to be called when one has gone elsewhere.
 * @param {HTMLElement} page
 * @param {string | undefined} chat
 * @param {() => number} at the message that one is at
 */
export function remembering(page, chat, at) {
    const place = page.querySelector('[data-remembered] .told');
    if (!place) {
        return () => {};
    }
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let resting;
    async function ask() {
        const asked = at();
        const response = await fetch(address('memory', { chat, at: asked }), { headers: { Accept: 'text/html' } }).catch(() => null);
        const text = response?.ok ? await response.text().catch(() => null) : null;
        // Without an answer the way to it stays.
        if (text !== null && asked === at()) {
            show(new DOMParser().parseFromString(text, 'text/html'));
        }
    }
    /** @param {Document} told */
    function show(told) {
        const scene = told.querySelector('section[aria-labelledby=scene]');
        scene?.querySelectorAll('h2, .scenes').forEach((part) => part.remove());
        const all = document.createElement('p');
        const link = document.createElement('a');
        link.href = address('memory', { chat, at: at() });
        link.textContent = 'All that is remembered, and what it has cost';
        all.append(link);
        place?.replaceChildren(...(scene ? document.adoptNode(scene).childNodes : []), all);
        /** @type {Map<string | undefined, Element | null>} */
        const known = new Map([.../** @type {NodeListOf<HTMLElement>} */ (told.querySelectorAll('details.known'))].map((entry) => [entry.dataset.title, entry.querySelector('ul')]));
        for (const entry of /** @type {NodeListOf<HTMLElement>} */ (page.querySelectorAll('[data-list=facts] > .entry'))) {
            const open = entry.querySelector('details.from')?.hasAttribute('open');
            entry.querySelector('details.from')?.remove();
            const lines = known.get(entry.dataset.title);
            if (lines) {
                entry.append(from(lines, Boolean(open)));
            }
        }
    }
    const soon = () => {
        clearTimeout(resting);
        resting = setTimeout(ask, REST);
    };
    soon();
    return soon;
}

/**
 * @param {Element} lines
 * @param {boolean} open
 */
function from(lines, open) {
    const details = document.createElement('details');
    details.className = 'from';
    details.open = open;
    const summary = document.createElement('summary');
    summary.textContent = 'Where it comes from';
    details.append(summary, document.adoptNode(lines));
    return details;
}
