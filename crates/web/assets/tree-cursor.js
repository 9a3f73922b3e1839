// Where the reader stands in the drawing: on a message of a row, or nowhere yet.

import { part } from './dom.js';
import { shift } from './tree-drawing.js';

/** @import { Drawing, Row } from './tree-drawing.js' */

export class Cursor {
    /** @type {{ row: Row, at: number } | null} */
    here = null;

    /**
     * @param {Drawing} drawing
     * @param {HTMLElement} canvas
     */
    constructor(drawing, canvas) {
        this.drawing = drawing;
        this.canvas = canvas;
        this.mark = part('.cursor', SVGElement, drawing.svg);
        drawing.whenPlaced(() => this.#follow());
    }

    /**
     * @param {Row} row
     * @param {number} message
     */
    show(row, message, scroll = true) {
        if (!row.shown && row.inside && !row.inside.open) {
            // Another line stands for it: who is led to it wants to see it.
            row.inside.open = true;
            this.drawing.place();
        }
        this.here?.row.element.classList.remove('here');
        this.#path(row);
        this.here = { row, at: message };
        row.element.classList.add('here');
        this.mark.removeAttribute('hidden');
        const [left, top] = [this.drawing.x(message), row.y];
        this.mark.setAttribute('transform', shift(left, top));
        if (scroll) {
            this.#bring(left, top);
        }
    }

    // The lines that a row comes from, up to the first.
    #path(/** @type {Row} */ row) {
        this.drawing.svg.querySelectorAll('.path').forEach((old) => old.classList.remove('path'));
        for (let above = row.parent; above !== null; above = this.drawing.rows[above].parent) {
            this.drawing.rows[above].element.classList.add('path');
        }
        row.element.classList.add('path');
    }

    /**
     * @param {Row} row
     * @param {number} message
     */
    isAt(row, message) {
        return this.here?.row === row && this.here.at === message;
    }

    // Into sight, if it is not there.
    #bring(/** @type {number} */ left, /** @type {number} */ top) {
        const { canvas } = this;
        const margin = Math.min(120, canvas.clientWidth / 4);
        if (left < canvas.scrollLeft + margin || left > canvas.scrollLeft + canvas.clientWidth - margin) {
            canvas.scrollLeft = left - canvas.clientWidth / 2;
        }
        if (top < canvas.scrollTop + 60 || top > canvas.scrollTop + canvas.clientHeight - 60) {
            canvas.scrollTop = top - canvas.clientHeight / 2;
        }
    }

    // Everything has another place. Whoever stood on a row that is folded now stands on the one that it is folded into.
    #follow() {
        if (!this.here) {
            return;
        }
        const { row, at } = this.here;
        const head = row.inside?.rows[0];
        const into = row.shown ? row : head?.shown ? head : this.drawing.rows.find((above) => above.shown && above.folded && above.index < row.index && row.index <= above.index + above.below);
        if (into) {
            this.show(into, Math.min(at, into.end), false);
        }
    }
}
