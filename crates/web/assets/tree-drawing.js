// The drawing of a story: the server has drawn it, and here the same parts are moved by the same rules. Whatever has `data-m` stands at
// that message, every row below the rows above it. Of thousands of rows only those are drawn that are in sight.

import { part, shape } from './dom.js';
import { ROOM } from './tree-cluster.js';
import { read, round, shift } from './tree-row.js';

// Between ticks there is room for a number.
const APART = 56;
// How high rows are, close to each other and apart.
const [CLOSE, APART_ROWS] = [22, 54];
// More rows than this, and those out of sight are not drawn; so far around what is in sight they are.
const MANY = 200;
const AROUND = 500;
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000];

/** @typedef {import('./tree-row.js').Row} Row */

export { shift };

export class Drawing {
    /** @type {(() => void)[]} */
    #placed = [];
    /** @type {((row: Row) => void)[]} */
    #drawn = [];
    #placing = 0;
    // What is in sight, from top to bottom.
    #sight = [0, 1200];

    /** @param {SVGSVGElement} svg */
    constructor(svg) {
        this.svg = svg;
        const size = (/** @type {string} */ name) => Number(svg.dataset[name]);
        this.size = {
            left: size('left'), right: size('right'), top: size('top'), row: size('row'), round: size('round'),
            letter: size('letter'), lift: size('lift'), last: size('last'), scale: size('scale'),
        };
        // Whether some lines are left out.
        this.filtered = false;
        // How many pixels a message takes.
        this.scale = this.size.scale;
        /** @type {SVGElement[]} */
        const elements = [...svg.querySelectorAll('.row')].filter((element) => element instanceof SVGElement);
        this.rows = elements.map((element, index) => read(element, index, this.size.letter));
        this.byChat = new Map(this.rows.map((row) => [row.chat, row]));
        this.byChat.delete(null);
        // Lines that pass by on their way to rows that are not drawn.
        this.passing = shape('path', { class: 'passing' });
        part('.grid', SVGElement, svg).after(this.passing);
    }

    get dense() {
        return this.svg.classList.contains('dense');
    }

    // Rows close to each other have no room for the names of scenes.
    set dense(/** @type {boolean} */ dense) {
        this.svg.classList.toggle('dense', dense);
        this.size.row = dense ? CLOSE : APART_ROWS;
    }

    /** @param {number} message */
    x(message) {
        return this.size.left + message * this.scale;
    }

    /**
     * Which message is at a place.
     * @param {number} place
     */
    at(place) {
        return Math.round((place - this.size.left) / this.scale);
    }

    /**
     * Which message of a row is meant by a place: one of its own.
     * @param {Row} row
     * @param {MouseEvent} event
     */
    meant(row, event) {
        const own = row.from === null ? 0 : row.from + 1;
        const place = event.clientX - this.svg.getBoundingClientRect().left;
        return Math.max(Math.min(own, row.end), Math.min(row.end, this.at(place)));
    }

    /**
     * The row that a part belongs to.
     * @param {Element} inside
     */
    rowOf(inside) {
        const element = inside.closest('.row');
        return this.rows.find((row) => row.element === element);
    }

    shown() {
        return this.rows.filter((row) => row.shown);
    }

    /**
     * Is called whenever everything has got another place.
     * @param {() => void} then
     */
    whenPlaced(then) {
        this.#placed.push(then);
    }

    /**
     * Is called for a row whenever it is drawn at another place, or for the first time.
     * @param {(row: Row) => void} then
     */
    whenDrawn(then) {
        this.#drawn.push(then);
    }

    /**
     * Another part of the drawing is in sight.
     * @param {number} top
     * @param {number} bottom
     */
    look(top, bottom) {
        this.#sight = [top, bottom];
        this.reveal();
    }

    // Draws what is in sight, or all of it.
    reveal(all = false) {
        const shown = this.shown();
        const [top, bottom] = [this.#sight[0] - AROUND, this.#sight[1] + AROUND];
        const whole = all || shown.length <= MANY;
        /** @type {Map<string, [number, number]>} */
        const passing = new Map();
        for (const row of shown) {
            const away = !whole && (row.y < top || row.y > bottom);
            row.element.classList.toggle('away', away);
            if (!away && row.drawn !== this.#placing) {
                row.drawn = this.#placing;
                row.element.classList.remove('later');
                this.#draw(row);
                this.#drawn.forEach((then) => then(row));
            }
            const parent = away && row.from !== null && row.parent !== null ? this.rows[row.parent] : null;
            if (parent && parent.y < bottom && row.y > top) {
                const x = round(this.x(row.from ?? 0));
                const [from, to] = passing.get(x) ?? [Infinity, -Infinity];
                passing.set(x, [Math.min(from, Math.max(parent.y, top)), Math.max(to, Math.min(row.y, bottom))]);
            }
        }
        this.passing.setAttribute('d', [...passing].map(([x, [from, to]]) => `M${x} ${round(from)}V${round(to)}`).join(''));
    }

    // Whether another line stands for this one.
    #stands(/** @type {Row} */ { inside, index }) {
        return this.dense && !this.filtered && inside !== null && !inside.open && inside.rows[0].index !== index;
    }

    place() {
        const { size, svg } = this;
        let next = 0;
        let hidden = -1;
        for (const row of this.rows) {
            row.shown = row.index > hidden && !row.out && !this.#stands(row);
            row.element.classList.toggle('folded', !row.shown);
            if (!row.shown) {
                continue;
            }
            row.y = size.top + size.row * (next + 0.62);
            next += 1;
            if (row.folded) {
                hidden = row.index + row.below;
            }
        }
        this.#placing += 1;
        this.reveal();
        const height = size.top + size.row * (next + 0.62);
        svg.setAttribute('width', round(this.x(size.last) + size.right));
        svg.setAttribute('height', round(height));
        this.#axis(height);
        this.#placed.forEach((then) => then());
    }

    /** @param {Row} row */
    #draw(row) {
        const { size } = this;
        row.element.setAttribute('transform', shift(0, row.y));
        const parent = row.from === null || row.parent === null ? null : this.rows[row.parent];
        const begin = row.from === null ? size.left : this.x(row.from);
        const up = parent ? parent.y - row.y : 0;
        const end = this.x(row.end);
        const bend = begin + size.round;
        const first = row.from === null ? begin : bend;
        row.stem?.classList.toggle('far', -up > 12 * size.row);
        row.stem?.setAttribute('d', `M${round(begin)} ${round(up)}V-${size.round}Q${round(begin)} 0 ${round(bend)} 0`);
        row.lines.forEach((path) => path.setAttribute('d', `M${round(first)} 0H${round(Math.max(end, first + 4))}`));
        const label = row.from === null ? begin : bend + 5;
        for (const part of row.parts) {
            let [left, top] = [this.x(Number(part.dataset.m)), Number(part.dataset.dy ?? 0)];
            if (part.classList.contains('label')) {
                left = label;
            } else if (part.classList.contains('badges')) {
                // Close rows have no room for both above each other.
                const counted = this.dense && !this.filtered && row.inside?.rows[0] === row ? ROOM : 0;
                left = Math.max(end, this.dense ? label + (row.wide - 37) * 0.9 + counted : label) + 10;
            } else if (part.classList.contains('fork')) {
                top = up;
            } else if (part.classList.contains('flag')) {
                // Nobody sees one behind the name of its line.
                const lift = !this.dense && left + 11 > label && left < label + row.wide ? size.lift : 0;
                part.querySelector('.pole')?.setAttribute('d', `M0 ${lift}V-17`);
                top -= lift;
            }
            part.setAttribute('transform', shift(left, top));
        }
        this.#scenes(row, label + row.wide);
    }

    /**
     * Names of scenes, where there is room for them.
     * @param {Row} row
     * @param {number} free
     */
    #scenes(row, free) {
        const flags = row.parts.filter((part) => part.classList.contains('flag')).map(({ dataset }) => Number(dataset.m));
        for (const scene of row.scenes) {
            const text = scene.querySelector('text');
            const message = Number(scene.dataset.m);
            const place = this.x(message);
            const end = text ? place + Number(text.getAttribute('x')) + text.textContent.length * this.size.letter + 10 : place;
            const shy = place < free || flags.some((flag) => flag > message && this.x(flag) < end);
            scene.classList.toggle('shy', shy);
            if (text && !shy) {
                free = end;
            }
        }
    }

    /** @param {number} height */
    #axis(height) {
        const step = STEPS.find((step) => step * this.scale >= APART) ?? 1_000_000;
        const [grid, axis] = [part('.grid', SVGElement, this.svg), part('#axis', SVGElement)];
        grid.replaceChildren();
        axis.replaceChildren();
        axis.setAttribute('width', this.svg.getAttribute('width') ?? '0');
        for (let message = 0; message <= this.size.last; message += step) {
            const text = shape('text', { x: round(this.x(message)), y: 16 });
            text.textContent = String(message);
            grid.append(shape('path', { d: `M${round(this.x(message))} 0V${round(height)}` }));
            axis.append(text);
        }
    }
}
