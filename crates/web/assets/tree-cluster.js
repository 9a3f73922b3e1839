// Where rows stand close to each other, lines that part near each other and that nothing parts from stand as one: a cluster. A click on its
// count opens it, and F does.

import { part, shape } from './dom.js';

/** @import { Drawing, Row } from './tree-drawing.js' */
/** @typedef {{ rows: Row[], open: boolean, mark: SVGElement }} Cluster */

// Fewer lines are no cluster.
const FEWEST = 4;
// So much room there is for what tells how many more there are.
export const ROOM = 84;
// So near to each other lines part that stand in one, as a part of the longest line.
const NEAR = 1 / 24;

/**
 * Gives a function that opens or closes the cluster of a row. Gives whether there is one.
 * @param {Drawing} drawing
 */
export function clustered(drawing) {
    /** @type {Cluster[]} */
    const clusters = runs(drawing).map((rows) => ({ rows, open: false, mark: marked(rows[0]) }));
    for (const cluster of clusters) {
        cluster.rows.forEach((row) => { row.inside = cluster; });
        cluster.mark.addEventListener('click', (event) => {
            event.preventDefault();
            event.stopPropagation();
            toggle(cluster.rows[0]);
        });
    }

    function toggle(/** @type {Row} */ row) {
        if (!row.inside || !drawing.dense) {
            return false;
        }
        row.inside.open = !row.inside.open;
        drawing.place();
        return true;
    }

    drawing.whenDrawn((row) => {
        if (row.inside?.rows[0] !== row) {
            return;
        }
        const { rows, open, mark } = row.inside;
        const label = part('.label', SVGElement, row.element);
        if (!drawing.dense || drawing.filtered) {
            mark.remove();
        } else if (!label.contains(mark)) {
            label.append(mark);
            const wide = part('text', SVGTextElement, label).getComputedTextLength();
            mark.setAttribute('transform', `translate(${wide + 8} -16)`);
        }
        const text = part('text', SVGTextElement, mark);
        const says = open ? '− close' : `+ ${rows.length - 1} more`;
        if (text.textContent !== says) {
            text.textContent = says;
            part('rect', SVGElement, mark).setAttribute('width', String(text.getComputedTextLength() + 12));
        }
    });
    return toggle;
}

/**
 * Lines that could stand as one: those of the same parent, one after the other, from which nothing parts.
 * @param {Drawing} drawing
 */
function runs({ rows, size }) {
    const far = Math.max(2, size.last * NEAR);
    /** @type {Row[][]} */
    const found = [];
    /** @type {Row[]} */
    let run = [];
    for (const row of rows) {
        const single = row.below === 0 && row.chat !== null && row.from !== null && !row.element.matches('.latest, .open');
        const joins = single && run.length && row.parent === run[0].parent && Math.abs((row.from ?? 0) - (run[0].from ?? 0)) <= far;
        if (!joins) {
            found.push(run);
            run = [];
        }
        if (single) {
            run.push(row);
        }
    }
    found.push(run);
    return found.filter(({ length }) => length >= FEWEST);
}

/** @param {Row} row */
function marked(row) {
    const mark = shape('g', { class: 'cluster' });
    const text = shape('text', { x: 6, y: 11 });
    text.textContent = '';
    mark.append(shape('rect', { height: 15, rx: 7 }), text);
    mark.dataset.of = row.chat ?? '';
    return mark;
}
