// The bar at the top of the page: what is wrong with all of it, and a button if there is something to do.

import { element, part } from './dom.js';

/**
 * Shows a text in place of the last one; none takes the bar away.
 * @param {string | null} text
 * @param {string | null} label
 * @param {() => void} act
 */
export function note(text, label = null, act = () => {}) {
    const shown = document.getElementById('live-note');
    if (text && shown?.firstChild?.textContent === text) {
        return;
    }
    shown?.remove();
    if (!text) {
        return;
    }
    const bar = element('div');
    bar.id = 'live-note';
    bar.setAttribute('role', 'status');
    bar.append(element('span', '', text));
    if (label) {
        const button = element('button', '', label);
        button.addEventListener('click', () => { bar.remove(); act(); });
        bar.append(button);
    }
    part('.top', HTMLElement).after(bar);
}
