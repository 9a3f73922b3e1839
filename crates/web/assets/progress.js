// How far long work is: a line for each, until it is over.

import { element, part } from './dom.js';

/** @typedef {{ element: HTMLElement, text: HTMLElement, meter: HTMLProgressElement, end?: ReturnType<typeof setTimeout> }} Bar */

/** @type {Map<string, Bar>} */
const bars = new Map();

/** @param {{ request?: string | null, what: string, done: number, total: number }} event */
export function progress({ request, what, done, total }) {
    const key = request ?? what;
    const bar = bars.get(key) ?? begun(key);
    bar.text.textContent = what;
    bar.meter.max = Math.max(total, 1);
    bar.meter.value = done;
    clearTimeout(bar.end);
    // Work can have several parts: it is over when none follows.
    bar.end = setTimeout(() => { bar.element.remove(); bars.delete(key); }, done >= total ? 700 : 8000);
}

/** @param {string} key */
function begun(key) {
    /** @type {Bar} */
    const bar = { element: element('div', 'notice work'), text: element('span'), meter: element('progress') };
    bar.text.id = `work-${bars.size}`;
    bar.meter.setAttribute('aria-labelledby', bar.text.id);
    bar.element.append(bar.text, bar.meter);
    part('#notices', HTMLElement).append(bar.element);
    bars.set(key, bar);
    return bar;
}
