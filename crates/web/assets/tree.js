// The tree of a story: the server has drawn it, and here it is put together with what can be done with it. It is started anew whenever the
// page has got another drawing, so none of its parts keeps anything outside of itself.

import { look } from './api.js';
import { part } from './dom.js';
import { clustered } from './tree-cluster.js';
import { Cursor } from './tree-cursor.js';
import { Drawing } from './tree-drawing.js';
import { filterable } from './tree-filter.js';
import { foldable } from './tree-fold.js';
import { walkable } from './tree-keys.js';
import { mapped } from './tree-map.js';
import { choosable } from './tree-menu.js';
import { pairable } from './tree-pair.js';
import { pointable } from './tree-pointer.js';
import { savable } from './tree-save.js';
import { searchable } from './tree-search.js';
import { Tip } from './tree-tip.js';
import { trunked } from './tree-trunk.js';
import { zoomable } from './tree-zoom.js';

// Less than this is a phone.
const NARROW = 700;

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
    const [cluster, fold] = [clustered(drawing), foldable(drawing)];
    const toggle = (/** @type {import('./tree-drawing.js').Row} */ row) => cluster(row) || fold(row);
    const cursor = new Cursor(drawing, canvas);
    const zoom = zoomable(drawing, canvas);
    pointable(drawing, canvas, tip);
    walkable(drawing, canvas, { cursor, tip, spot: part('#spot', HTMLElement), zoom, toggle });
    searchable(drawing, story, cursor);
    choosable(drawing, canvas, cursor, pairable(drawing, canvas, cursor));
    filterable(drawing);
    mapped(drawing, canvas);
    trunked(drawing, canvas);
    sighted(drawing, canvas);
    savable(drawing, document.querySelector('h1')?.textContent ?? 'Story');
    closer(drawing);
    gains(drawing, story);
    drawing.place();
    begin(drawing, canvas);
    arrive(drawing, cursor);
    svg.dataset.ready = 'true';
}

/**
 * The drawing knows what is in sight of it.
 * @param {Drawing} drawing
 * @param {HTMLElement} canvas
 */
function sighted(drawing, canvas) {
    const look = () => drawing.look(canvas.scrollTop, canvas.scrollTop + canvas.clientHeight);
    let asked = false;
    canvas.addEventListener('scroll', () => {
        if (!asked) {
            asked = true;
            requestAnimationFrame(() => { asked = false; look(); });
        }
    }, { passive: true });
    new ResizeObserver(look).observe(canvas);
}

/**
 * Where not much is seen at once, what was played last is what one looks for.
 * @param {Drawing} drawing
 * @param {HTMLElement} canvas
 */
function begin(drawing, canvas) {
    const latest = drawing.rows.find(({ element }) => element.classList.contains('latest'));
    if (latest && canvas.clientWidth < NARROW && drawing.x(latest.from ?? 0) > canvas.clientWidth / 2) {
        canvas.scrollTo(drawing.x(latest.from ?? 0) - 60, Math.max(0, latest.y - canvas.clientHeight / 2));
    }
}

/**
 * Whoever comes from a chat sees where it is, and the way to it.
 * @param {Drawing} drawing
 * @param {Cursor} cursor
 */
function arrive(drawing, cursor) {
    const said = new URLSearchParams(location.hash.slice(1));
    const row = drawing.byChat.get(said.get('chat'));
    if (row) {
        cursor.show(row, Math.min(row.end, Number(said.get('at') ?? row.end)));
    }
}

/**
 * Rows that stand close to each other, or apart.
 * @param {Drawing} drawing
 */
function closer(drawing) {
    const button = part('#dense', HTMLElement);
    const told = () => button.setAttribute('aria-pressed', String(drawing.dense));
    button.addEventListener('click', () => {
        drawing.dense = !drawing.dense;
        told();
        drawing.place();
    });
    told();
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
