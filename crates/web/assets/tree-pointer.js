// The pointer: it shows what is said at the message below it, opens that, and drags the drawing.

import { address } from './address.js';
import { target } from './dom.js';

/** @import { Drawing, Row } from './tree-drawing.js' */
/** @import { Tip } from './tree-tip.js' */

/**
 * @param {Drawing} drawing
 * @param {HTMLElement} canvas
 * @param {Tip} tip
 */
export function pointable(drawing, canvas, tip) {
    /** @type {{ x: number, y: number } | null} */
    let drag = null;

    // Where a click on a row leads. Gives the message.
    const lead = (/** @type {Element} */ hit, /** @type {Row} */ row, /** @type {MouseEvent} */ event) => {
        const message = drawing.meant(row, event);
        hit.setAttribute('href', address('moment', { chat: row.chat, at: message }));
        return message;
    };

    canvas.addEventListener('pointermove', (event) => {
        if (drag) {
            tip.hide();
            canvas.scrollTo(drag.x - event.clientX, drag.y - event.clientY);
            return;
        }
        const hit = target(event)?.closest('.hit, .flag');
        const row = hit && drawing.rowOf(hit);
        if (!(hit instanceof SVGElement) || !row?.chat || event.pointerType === 'touch') {
            tip.hide();
            return;
        }
        const { flag, m } = hit.dataset;
        if (flag) {
            const name = hit.querySelector('title')?.textContent ?? '';
            tip.show({ chat: flag, name, end: Number(m) }, Number(m), event.clientX, event.clientY);
        } else {
            tip.show({ ...row, chat: row.chat }, lead(hit, row, event), event.clientX, event.clientY);
        }
    });
    canvas.addEventListener('pointerleave', () => tip.hide());
    canvas.addEventListener('click', (event) => {
        const hit = target(event)?.closest('.hit');
        const row = hit && drawing.rowOf(hit);
        if (hit && row?.chat) {
            lead(hit, row, event);
        }
    });

    canvas.addEventListener('pointerdown', (event) => {
        if (event.pointerType === 'mouse' && event.button === 0 && !target(event)?.closest('a, .fold, .cluster, .more')) {
            drag = { x: event.clientX + canvas.scrollLeft, y: event.clientY + canvas.scrollTop };
            canvas.setPointerCapture(event.pointerId);
            canvas.classList.add('drags');
        }
    });
    for (const over of ['pointerup', 'pointercancel']) {
        canvas.addEventListener(over, () => { drag = null; canvas.classList.remove('drags'); });
    }
}
