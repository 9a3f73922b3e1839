// What can be done with a line: behind the mark that appears beside the name under the pointer, by the right mouse button, or by M.

import { address } from './address.js';
import { part, shape, target } from './dom.js';

/** @import { Cursor } from './tree-cursor.js' */
/** @import { Drawing, Row } from './tree-drawing.js' */

/**
 * @param {Drawing} drawing
 * @param {HTMLElement} canvas
 * @param {Cursor} cursor
 * @param {(way: 'bring' | 'compare', row: Row, at: number) => void} pair begins to choose a second one
 */
export function choosable(drawing, canvas, cursor, pair) {
    const menu = part('#rowmenu', HTMLElement);
    const items = [.../** @type {NodeListOf<HTMLAnchorElement>} */ (menu.querySelectorAll('a'))];
    const mark = shape('g', { class: 'more' });
    const dots = shape('text', { x: 8, y: 4, 'text-anchor': 'middle' });
    dots.textContent = '⋯';
    mark.append(shape('rect', { x: -2, y: -9, width: 20, height: 18, rx: 5 }), dots);
    /** @type {Row | undefined} */
    let over;
    /** @type {Row | undefined} */
    let shown;

    function open(/** @type {Row} */ row, /** @type {number} */ left, /** @type {number} */ top, focus = false) {
        if (!row.chat) {
            return;
        }
        const { chat } = row;
        const at = cursor.here?.row === row ? cursor.here.at : null;
        const to = {
            open: address('moment', { chat, at }), branch: address('act', { kind: 'branch', chat, at }),
            checkpoint: address('act', { kind: 'checkpoint', chat, at }), compare: address('compare', { a: chat, a_at: at }), bring: address('bring', { a: chat }),
            rename: address('act', { kind: 'rename', chat }), history: address('past', { chat }), export: address('export', { what: chat }), health: address('health', { chat }), delete: address('act', { kind: 'delete', chat }),
            tavern: `../../../#${new URLSearchParams({ 'forklore-open': chat })}`,
        };
        shown = row;
        items.forEach((item) => { item.href = to[/** @type {keyof typeof to} */ (item.dataset.act)]; });
        menu.hidden = false;
        const stage = canvas.getBoundingClientRect();
        menu.style.left = `${Math.max(4, Math.min(left - stage.left, stage.width - menu.offsetWidth - 4))}px`;
        menu.style.top = `${Math.max(4, Math.min(top - stage.top, stage.height - menu.offsetHeight - 4))}px`;
        if (focus) {
            items[0].focus();
        }
    }
    const close = () => { menu.hidden = true; };
    // The second one is chosen in the drawing, where both are to be seen.
    items.filter(({ dataset }) => dataset.act === 'bring' || dataset.act === 'compare').forEach((item) => item.addEventListener('click', (event) => {
        if (shown && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
            event.preventDefault();
            close();
            canvas.focus({ preventScroll: true });
            pair(item.dataset.act === 'bring' ? 'bring' : 'compare', shown, cursor.here?.row === shown ? cursor.here.at : shown.end);
        }
    }));

    // The mark goes with the pointer from line to line.
    canvas.addEventListener('pointerover', (event) => {
        const row = target(event) && drawing.rowOf(/** @type {Element} */ (target(event)));
        if (row?.chat && row !== over) {
            over = row;
            const name = part('.label text', SVGTextElement, row.element);
            const fold = row.element.querySelector('.fold');
            mark.setAttribute('transform', `translate(${name.getComputedTextLength() + (fold ? 30 : 10)} -14)`);
            part('.label', SVGElement, row.element).append(mark);
        }
    });
    mark.addEventListener('click', (event) => {
        event.preventDefault();
        event.stopPropagation();
        if (over && event instanceof MouseEvent) {
            open(over, event.clientX, event.clientY + 8);
        }
    });
    canvas.addEventListener('contextmenu', (event) => {
        const row = target(event) && drawing.rowOf(/** @type {Element} */ (target(event)));
        if (row?.chat) {
            event.preventDefault();
            open(row, event.clientX, event.clientY);
        }
    });
    canvas.addEventListener('keydown', (event) => {
        if (event.key.toLowerCase() === 'm' && !event.ctrlKey && !event.metaKey && cursor.here) {
            event.preventDefault();
            const { left, top } = drawing.svg.getBoundingClientRect();
            open(cursor.here.row, left + drawing.x(cursor.here.at), top + cursor.here.row.y + 10, true);
        }
    });
    menu.addEventListener('keydown', (event) => {
        const shown = items.filter((item) => item.checkVisibility());
        const at = shown.findIndex((item) => item === document.activeElement);
        if (event.key === 'Escape') {
            close();
            canvas.focus();
        } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
            event.preventDefault();
            shown[(at + (event.key === 'ArrowDown' ? 1 : -1) + shown.length) % shown.length].focus();
        }
    });
    menu.addEventListener('focusout', (event) => {
        if (event.relatedTarget instanceof Node && !menu.contains(event.relatedTarget)) {
            close();
        }
    });
    document.addEventListener('pointerdown', (event) => {
        if (!target(event)?.closest('#rowmenu, .more')) {
            close();
        }
    });
}
