// The keyboard: along lines, and from line to line where they part. Each step is told to those who do not see the drawing.

import { address } from './address.js';

/** @import { Cursor } from './tree-cursor.js' */
/** @import { Drawing, Row } from './tree-drawing.js' */
/** @import { Tip } from './tree-tip.js' */

/**
 * @param {Drawing} drawing
 * @param {HTMLElement} canvas
 * @param {{ cursor: Cursor, tip: Tip, spot: HTMLElement, zoom: (way: 'in' | 'out', middle?: number) => void, toggle: (row: Row) => void }} parts
 */
export function walkable(drawing, canvas, { cursor, tip, spot, zoom, toggle }) {
    async function walk(/** @type {Row} */ row, /** @type {number} */ message) {
        cursor.show(row, message);
        if (!row.chat) {
            tip.hide();
            spot.textContent = `${row.name}, a chat that is gone`;
            return;
        }
        const { left, top } = drawing.svg.getBoundingClientRect();
        const said = await tip.show({ ...row, chat: row.chat }, message, left + drawing.x(message), top + row.y);
        if (said && document.activeElement === canvas && cursor.isAt(row, message)) {
            const others = row.inside && !row.inside.open && drawing.dense ? ` ${row.inside.rows.length - 1} more lines part near here; F opens them.` : '';
            spot.textContent = `${row.name}, message ${message} of ${row.end}${said.scene ? `, scene ${said.scene}` : ''}. ${said.speaker}: ${said.text.slice(0, 160)}${others}`;
        }
    }

    // Where a key leads from a message; null if it leads nowhere.
    function next(/** @type {KeyboardEvent} */ { key, shiftKey }, /** @type {Row} */ row, /** @type {number} */ message) {
        const first = row.from ?? 0;
        switch (key) {
            case 'ArrowRight':
                return { row, message: shiftKey ? stops(drawing, row).find((stop) => stop > message) ?? row.end : Math.min(row.end, message + 1) };
            case 'ArrowLeft':
                if (message <= first && row.from !== null && row.parent !== null) {
                    return { row: drawing.rows[row.parent], message: row.from };
                }
                return { row, message: shiftKey ? stops(drawing, row).findLast((stop) => stop < message) ?? first : Math.max(first, message - 1) };
            case 'ArrowDown':
                return beside(drawing, row, message, 1);
            case 'ArrowUp':
                return beside(drawing, row, message, -1);
            case 'Home':
                return { row, message: first };
            case 'End':
                return { row, message: row.end };
            default:
                return null;
        }
    }

    canvas.addEventListener('keydown', (event) => {
        const { here } = cursor;
        const { row, at: message } = here ?? { row: drawing.shown()[0], at: 0 };
        const to = next(event, row, message);
        if (to) {
            event.preventDefault();
            // The first key only shows where one is.
            walk(here ? to.row : row, here ? to.message : message);
        } else if (event.key === 'Enter' && here?.row.chat) {
            location.assign(address('moment', { chat: here.row.chat, at: message }));
        } else if (['+', '=', '-'].includes(event.key)) {
            zoom(event.key === '-' ? 'out' : 'in', here ? drawing.x(message) - canvas.scrollLeft : undefined);
        } else if (event.key.toLowerCase() === 'f' && !event.ctrlKey && !event.metaKey) {
            toggle(row);
            cursor.show(row, Math.min(message, row.end));
        } else if (event.key === 'Escape') {
            tip.hide();
        }
    });
}

/**
 * Where a line has something: its ends, its scenes, its notes, and where others part from it.
 * @param {Drawing} drawing
 * @param {Row} row
 */
function stops(drawing, row) {
    const forks = drawing.shown().flatMap(({ parent, from }) => (parent === row.index && from !== null ? [from] : []));
    const flags = [.../** @type {NodeListOf<SVGElement>} */ (row.element.querySelectorAll('.flag, .noted'))];
    const marked = [...row.scenes, ...flags].map(({ dataset }) => Number(dataset.m));
    return [...new Set([row.from ?? 0, ...marked, ...forks, row.end])].sort((a, b) => a - b);
}

/**
 * The same message of the row below or above.
 * @param {Drawing} drawing
 * @param {Row} row
 * @param {number} message
 * @param {number} step
 */
function beside(drawing, row, message, step) {
    const shown = drawing.shown();
    const other = shown[shown.indexOf(row) + step] ?? row;
    return { row: other, message: Math.max(other.from ?? 0, Math.min(other.end, message)) };
}
