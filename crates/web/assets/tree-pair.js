// Two of the drawing are chosen, by a click, a tap or a key: two lines to bring together (B), or two points to compare (C). Then both are
// shown side by side.

import { address } from './address.js';
import { part, shape, target } from './dom.js';
import { shift } from './tree-drawing.js';

/** @import { Cursor } from './tree-cursor.js' */
/** @import { Drawing, Row } from './tree-drawing.js' */

/** @typedef {'bring' | 'compare'} Way */
/** @typedef {{ row: Row, at: number }} Point */

/** @type {Record<Way, { button: string, key: string, first: string, second: (name: string, at: number) => string }>} */
const WAYS = {
    bring: { button: 'pair', key: 'b', first: 'Choose the line that goes on.', second: (name) => `“${name}” goes on. Now choose the line that it learns from.` },
    compare: { button: 'points', key: 'c', first: 'Choose a point on any line.', second: (name, at) => `From message ${at} of “${name}”. Now choose the point to compare it with.` },
};

/**
 * Gives a function that begins with a line, as the menu of a line does.
 * @param {Drawing} drawing
 * @param {HTMLElement} canvas
 * @param {Cursor} cursor
 * @returns {(way: Way, row: Row, at: number) => void}
 */
export function pairable(drawing, canvas, cursor) {
    const said = part('#pairing', HTMLElement);
    const point = shape('circle', { class: 'point', r: 7 });
    /** @type {Way | null} */
    let choosing = null;
    /** @type {Point | null} */
    let first = null;

    function show() {
        for (const [way, { button }] of Object.entries(WAYS)) {
            document.getElementById(button)?.setAttribute('aria-pressed', String(choosing === way));
        }
        canvas.classList.toggle('pairs', choosing !== null);
        drawing.rows.forEach((row) => row.element.classList.toggle('first', row === first?.row));
        mark();
        said.hidden = choosing === null;
        if (choosing) {
            const way = WAYS[choosing];
            said.textContent = first ? way.second(part('.label text', SVGTextElement, first.row.element).textContent ?? '', first.at) : way.first;
            said.append(' To leave it, press the button again.');
        }
    }
    // Where the first point is.
    function mark() {
        if (first && choosing === 'compare') {
            point.setAttribute('transform', shift(drawing.x(first.at), first.row.y));
            part('.marks', SVGElement, drawing.svg).append(point);
        } else {
            point.remove();
        }
    }
    function stop() {
        [choosing, first] = [null, null];
        show();
    }
    function choose(/** @type {Way} */ way, /** @type {Row} */ row, /** @type {number} */ at) {
        if (!row.chat || (first && way === 'bring' && row === first.row) || (first?.row === row && first.at === at)) {
            return;
        }
        if (first && choosing === way) {
            location.assign(way === 'bring' ? address('bring', { a: first.row.chat, b: row.chat })
                : address('compare', { a: first.row.chat, a_at: first.at, b: row.chat, b_at: at }));
            return;
        }
        [choosing, first] = [way, { row, at }];
        show();
    }

    for (const [name, { button }] of Object.entries(WAYS)) {
        const way = /** @type {Way} */ (name);
        document.getElementById(button)?.addEventListener('click', () => {
            if (choosing === way) {
                stop();
                return;
            }
            [choosing, first] = [way, null];
            show();
            // Nobody should have to look for it on a small page.
            said.scrollIntoView({ block: 'nearest' });
            canvas.focus({ preventScroll: true });
        });
    }
    // Before whatever else a click on a line does.
    canvas.addEventListener('click', (event) => {
        const row = choosing && target(event) && drawing.rowOf(/** @type {Element} */ (target(event)));
        if (choosing && row && row.chat && !target(event)?.closest('.fold, .cluster, .more')) {
            event.preventDefault();
            event.stopPropagation();
            choose(choosing, row, drawing.meant(row, event));
        }
    }, true);
    canvas.addEventListener('keydown', (event) => {
        const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
        const pressed = Object.entries(WAYS).find(([, { key }]) => key === event.key.toLowerCase())?.[0];
        const way = /** @type {Way | null | undefined} */ (pressed ?? (event.key === 'Enter' ? choosing : null));
        if (way && plain && cursor.here) {
            event.preventDefault();
            event.stopImmediatePropagation();
            choose(way, cursor.here.row, cursor.here.at);
        } else if (event.key === 'Escape' && choosing) {
            event.stopImmediatePropagation();
            stop();
        }
    }, true);
    drawing.whenPlaced(mark);
    return choose;
}
