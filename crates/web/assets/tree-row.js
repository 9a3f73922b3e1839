// A line of the drawing, as the server has drawn it.

/**
 * A line of the drawing: a chat, or one that is gone (`chat` is null then).
 * @typedef {object} Row
 * @property {SVGElement} element
 * @property {number} index
 * @property {string | null} chat
 * @property {string} name
 * @property {number | null} parent the row that it parted from, and `from`, the message
 * @property {number | null} from
 * @property {number} end its last message
 * @property {number} below how many rows stand below it and belong to it
 * @property {SVGElement[]} parts
 * @property {Element[]} lines
 * @property {Element | null} stem
 * @property {SVGElement[]} scenes
 * @property {number} wide how much room its name takes
 * @property {boolean} folded
 * @property {boolean} out whether a filter leaves it out
 * @property {import('./tree-cluster.js').Cluster | null} inside the cluster that it stands in
 * @property {boolean} shown
 * @property {number} y
 * @property {number} drawn which of all placings it was drawn for
 */

/**
 * @param {SVGElement} element
 * @param {number} index
 * @param {number} letter
 * @returns {Row}
 */
export function read(element, index, letter) {
    const number = (/** @type {string | undefined} */ text) => (text === undefined ? null : Number(text));
    const inside = (/** @type {string} */ selector) => [.../** @type {NodeListOf<SVGElement>} */ (element.querySelectorAll(selector))];
    // Looked for when the row is drawn: most of thousands never are.
    /** @type {Record<string, SVGElement[]>} */
    const found = {};
    const once = (/** @type {string} */ selector) => (found[selector] ??= inside(selector));
    const { chat = null, parent, from, end, below } = element.dataset;
    const written = element.querySelector('.label text')?.firstChild;
    return {
        element, index, chat,
        name: (element.querySelector('.label title') ?? written)?.textContent ?? '',
        parent: number(parent), from: number(from), end: Number(end), below: number(below) ?? 0,
        get parts() { return once('[data-m]'); },
        get lines() { return once('path.line, .hit path'); },
        get stem() { return once('.stem')[0] ?? null; },
        get scenes() { return once('.scene'); },
        wide: (written?.textContent?.length ?? 0) * letter * 1.3 + 37,
        folded: false, out: false, inside: null, shown: true, y: 0, drawn: 0,
    };
}

/** @param {number} value */
export function round(value) {
    return String(Math.round(value * 10) / 10);
}

/**
 * @param {number} left
 * @param {number} top
 */
export function shift(left, top) {
    return `translate(${round(left)} ${round(top)})`;
}
