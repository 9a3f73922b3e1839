// Folding: what belongs to a line is hidden, and its line says how much that is.

import { part, shape } from './dom.js';
import { shift } from './tree-drawing.js';

/** @import { Drawing, Row } from './tree-drawing.js' */

const OPEN = 'M4 5.5l3 3 3-3';
const FOLDED = 'M5.5 4l3 3-3 3';

/**
 * Gives a function that folds a row, or unfolds it.
 * @param {Drawing} drawing
 */
export function foldable(drawing) {
    /** @type {Map<Row, ReturnType<typeof mark>>} */
    const marks = new Map();

    function toggle(/** @type {Row} */ row, folded = !row.folded, place = true) {
        if (!row.below) {
            return;
        }
        row.folded = folded;
        if (place) {
            drawing.place();
        }
    }

    drawing.whenDrawn((row) => {
        if (row.below) {
            const { arrow, count } = marks.get(row) ?? mark(row, () => toggle(row));
            marks.set(row, { arrow, count });
            arrow.setAttribute('d', row.folded ? FOLDED : OPEN);
            count.textContent = row.folded ? `${row.below} folded` : '';
        }
    });

    const all = document.getElementById('foldall');
    all?.addEventListener('click', () => {
        const folded = all.getAttribute('aria-pressed') !== 'true';
        all.setAttribute('aria-pressed', String(folded));
        all.textContent = folded ? 'Unfold all' : 'Fold all';
        drawing.rows.forEach((row) => toggle(row, folded, false));
        drawing.place();
    });
    return toggle;
}

/**
 * What is clicked on, behind the name of a row.
 * @param {Row} row
 * @param {() => void} act
 */
function mark(row, act) {
    const label = part('.label', SVGElement, row.element);
    const wide = part('text', SVGTextElement, label).getComputedTextLength();
    const fold = shape('g', { class: 'fold', transform: shift(wide + 8, -22) });
    const [arrow, count] = [shape('path', { d: OPEN }), shape('text', { x: 18, y: 11 })];
    fold.append(shape('rect', { width: 14, height: 14, rx: 4 }), arrow, count);
    fold.addEventListener('click', (event) => { event.preventDefault(); act(); });
    label.append(fold);
    return { arrow, count };
}
