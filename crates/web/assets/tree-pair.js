// Two lines are chosen in the drawing, by a click, a tap or B: the one that goes on, then the one that it learns from. Then both are shown
// side by side.

import { address } from './address.js';
import { part, target } from './dom.js';

/** @import { Cursor } from './tree-cursor.js' */
/** @import { Drawing, Row } from './tree-drawing.js' */

/**
 * Gives a function that begins with a line, as the menu of a line does.
 * @param {Drawing} drawing
 * @param {HTMLElement} canvas
 * @param {Cursor} cursor
 * @returns {(row: Row) => void}
 */
export function pairable(drawing, canvas, cursor) {
    const button = document.getElementById('pair');
    const said = part('#pairing', HTMLElement);
    let choosing = false;
    /** @type {Row | null} */
    let first = null;

    function show() {
        button?.setAttribute('aria-pressed', String(choosing));
        canvas.classList.toggle('pairs', choosing);
        drawing.rows.forEach((row) => row.element.classList.toggle('first', row === first));
        said.hidden = !choosing;
        said.textContent = first ? `“${part('.label text', SVGTextElement, first.element).textContent}” goes on. Now choose the line that it learns from.` : 'Choose the line that goes on.';
        said.append(' To leave it, press the button again.');
    }
    function stop() {
        [choosing, first] = [false, null];
        show();
    }
    function choose(/** @type {Row} */ row) {
        if (!row.chat || row === first) {
            return;
        }
        if (first) {
            location.assign(address('bring', { a: first.chat, b: row.chat }));
            return;
        }
        [choosing, first] = [true, row];
        show();
    }

    button?.addEventListener('click', () => {
        if (choosing) {
            stop();
            return;
        }
        choosing = true;
        show();
        // Nobody should have to look for it on a small page.
        said.scrollIntoView({ block: 'nearest' });
        canvas.focus({ preventScroll: true });
    });
    // Before whatever else a click on a line does.
    canvas.addEventListener('click', (event) => {
        const row = choosing && target(event) && drawing.rowOf(/** @type {Element} */ (target(event)));
        if (row && row.chat && !target(event)?.closest('.fold, .more')) {
            event.preventDefault();
            event.stopPropagation();
            choose(row);
        }
    }, true);
    canvas.addEventListener('keydown', (event) => {
        const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
        const chosen = event.key.toLowerCase() === 'b' || (event.key === 'Enter' && choosing);
        if (chosen && plain && cursor.here) {
            event.preventDefault();
            event.stopImmediatePropagation();
            choose(cursor.here.row);
        } else if (event.key === 'Escape' && choosing) {
            event.stopImmediatePropagation();
            stop();
        }
    }, true);
    return choose;
}
