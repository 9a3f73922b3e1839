// On a phone one thing is seen at a time: the story, the lore or the recap.

import { part, target } from './dom.js';

/**
 * @param {HTMLElement} page
 * @param {() => void} settle is called when another one is seen
 */
export function tabbed(page, settle) {
    const stage = part('.travel', HTMLElement, page);
    const tabs = [.../** @type {NodeListOf<HTMLElement>} */ (stage.querySelectorAll('[role=tab]'))];
    function choose(/** @type {HTMLElement} */ tab) {
        stage.dataset.tab = tab.dataset.tab;
        tabs.forEach((other) => {
            other.setAttribute('aria-selected', String(other === tab));
            other.tabIndex = other === tab ? 0 : -1;
        });
        settle();
    }
    tabs.forEach((tab, i) => {
        tab.tabIndex = i ? -1 : 0;
        tab.addEventListener('click', () => choose(tab));
        tab.addEventListener('keydown', ({ key }) => {
            const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[key];
            if (to !== undefined) {
                const next = tabs[(to + tabs.length) % tabs.length];
                next.focus();
                choose(next);
            }
        });
    });
    // A link to an entry that is behind another tab shows that tab.
    page.addEventListener('click', (event) => {
        if (target(event)?.closest('.changes a')) {
            choose(part('#tab-lore', HTMLElement));
        }
    });
}
