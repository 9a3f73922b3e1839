// All of the drawing, small, in a corner: what is in sight has a frame, and a click goes there. Only where it does not all fit.

import { part } from './dom.js';

/** @import { Drawing } from './tree-drawing.js' */

const [WIDE, HIGH] = [180, 120];

/**
 * @param {Drawing} drawing
 * @param {HTMLElement} canvas
 */
export function mapped(drawing, canvas) {
    const map = part('#map', HTMLCanvasElement);
    const pen = map.getContext('2d');
    if (!pen) {
        return;
    }
    const dots = window.devicePixelRatio || 1;
    let asked = false;

    function draw() {
        asked = false;
        const { scrollWidth, scrollHeight, clientWidth, clientHeight } = canvas;
        map.hidden = scrollHeight <= clientHeight * 1.6 || clientWidth < 640;
        if (map.hidden || !pen) {
            return;
        }
        const [across, down] = [WIDE / scrollWidth, HIGH / scrollHeight];
        [map.width, map.height] = [WIDE * dots, HIGH * dots];
        pen.setTransform(dots, 0, 0, dots, 0, 0);
        pen.clearRect(0, 0, WIDE, HIGH);
        const tint = new Map();
        for (const row of drawing.shown()) {
            const name = /c\d/.exec(row.element.getAttribute('class') ?? '')?.[0] ?? 'c0';
            if (!tint.has(name)) {
                tint.set(name, getComputedStyle(row.lines[0]).stroke);
            }
            pen.fillStyle = tint.get(name);
            const left = drawing.x(row.from ?? 0) * across;
            pen.fillRect(left, row.y * down, Math.max(1, drawing.x(row.end) * across - left), Math.max(0.6, Math.min(2, drawing.size.row * down * 0.5)));
        }
        pen.strokeStyle = getComputedStyle(map).outlineColor;
        pen.lineWidth = 1.5;
        pen.strokeRect(canvas.scrollLeft * across + 1, canvas.scrollTop * down + 1, Math.min(WIDE, clientWidth * across) - 2, Math.max(6, clientHeight * down) - 2);
    }
    const soon = () => {
        if (!asked) {
            asked = true;
            requestAnimationFrame(draw);
        }
    };
    const go = (/** @type {PointerEvent} */ event) => {
        canvas.scrollTo(event.offsetX / WIDE * canvas.scrollWidth - canvas.clientWidth / 2, event.offsetY / HIGH * canvas.scrollHeight - canvas.clientHeight / 2);
    };
    map.addEventListener('pointerdown', (event) => { map.setPointerCapture(event.pointerId); go(event); });
    map.addEventListener('pointermove', (event) => { if (event.buttons) { go(event); } });
    canvas.addEventListener('scroll', soon, { passive: true });
    drawing.whenPlaced(soon);
    new ResizeObserver(soon).observe(canvas);
}
