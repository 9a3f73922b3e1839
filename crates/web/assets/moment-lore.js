// More entries of a long lorebook, or those in which something is said: the same page with others in its list.

import { address } from './address.js';
import { part, target } from './dom.js';
import { keepingFocus } from './focus.js';

/**
 * @param {HTMLElement} page
 * @param {string | undefined} chat
 * @param {() => number} at the message that one is at
 * @param {() => void} changed is called when the list is another
 */
export function searchable(page, chat, at, changed) {
    async function lore(/** @type {string} */ asked) {
        const response = await fetch(asked, { headers: { Accept: 'text/html' } }).catch(() => null);
        if (!response?.ok) {
            location.assign(asked);
            return;
        }
        const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
        keepingFocus(page, () => {
            for (const selector of ['[data-list=facts]', '[data-part=more]']) {
                part(selector, HTMLElement, page).replaceChildren(...document.adoptNode(part(selector, HTMLElement, fresh)).childNodes);
            }
        }, part('#find-entry', HTMLElement, page));
        changed();
        const [count, next] = [page, fresh].map((root) => root.querySelector('.find .quiet'));
        if (count && next) {
            count.textContent = next.textContent;
        }
    }
    page.addEventListener('click', (event) => {
        const link = target(event)?.closest('a.more');
        if (link instanceof HTMLAnchorElement && event.button === 0 && !event.metaKey && !event.ctrlKey) {
            event.preventDefault();
            lore(link.href);
        }
    });
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let finding;
    const find = (/** @type {HTMLInputElement} */ input) => lore(address('moment', { chat, at: at(), find: input.value.trim() || null }));
    page.addEventListener('input', (event) => {
        const input = target(event);
        if (input instanceof HTMLInputElement && input.name === 'find') {
            clearTimeout(finding);
            finding = setTimeout(() => find(input), 200);
        }
    });
    page.addEventListener('submit', (event) => {
        const form = target(event);
        if (form instanceof HTMLFormElement && form.matches('.find')) {
            event.preventDefault();
            clearTimeout(finding);
            find(part('input[name=find]', HTMLInputElement, form));
        }
    });
}
