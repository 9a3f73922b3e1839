// The tree of a story: the server has drawn it, and here it is put together with what can be done with it. It is started anew whenever the
// page has got another drawing, so none of its parts keeps anything outside of itself.

import { look } from './api.js';
import { part } from './dom.js';
import { Cursor } from './tree-cursor.js';
import { Drawing } from './tree-drawing.js';
import { foldable } from './tree-fold.js';
import { walkable } from './tree-keys.js';
import { pointable } from './tree-pointer.js';
import { searchable } from './tree-search.js';
import { Tip } from './tree-tip.js';
import { zoomable } from './tree-zoom.js';

const canvas = document.getElementById('canvas');
const svg = document.querySelector('#tree');
if (canvas && svg instanceof SVGSVGElement) {
    start(canvas, svg);
}

/**
 * @param {HTMLElement} canvas
 * @param {SVGSVGElement} svg
 */
function start(canvas, svg) {
    const { story } = canvas.dataset;
    const drawing = new Drawing(svg);
    const tip = new Tip(part('#tip', HTMLElement), canvas);
    const toggle = foldable(drawing);
    const cursor = new Cursor(drawing, canvas);
    const zoom = zoomable(drawing, canvas);
    pointable(drawing, canvas, tip);
    walkable(drawing, canvas, { cursor, tip, spot: part('#spot', HTMLElement), zoom, toggle });
    searchable(drawing, story, cursor);
    gains(drawing, story);
    drawing.place();
    svg.dataset.ready = 'true';
}

/**
 * What forks gained, which takes a moment to work out. A tree without it is one all the same.
 * @param {Drawing} drawing
 * @param {string | undefined} story
 */
async function gains(drawing, story) {
    const answer = await look('gained', { story }).catch(() => null);
    for (const { chat, gained } of answer?.chats ?? []) {
        const badge = drawing.byChat.get(chat)?.element.querySelector('.gained');
        if (badge && gained) {
            badge.setAttribute('dx', '7');
            badge.textContent = `+${gained} ${gained === 1 ? 'entry' : 'entries'}`;
        }
    }
    if (answer) {
        drawing.svg.dataset.gained = String(answer.chats.length);
    }
}
