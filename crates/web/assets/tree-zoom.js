// Zoom: of the messages alone, so that names stay as large as they are. What is under the pointer stays there.

/** @import { Drawing } from './tree-drawing.js' */

const STEP = 1.6;
const WIDEST = 60;
// Narrower than this the whole of it is a phone's: messages get a width that a finger can meet, and the rest is seen by moving.
const PHONE = 700;
const FINGER = 14;

/**
 * Gives a function that zooms, in or out.
 * @param {Drawing} drawing
 * @param {HTMLElement} canvas
 */
export function zoomable(drawing, canvas) {
    const { size } = drawing;
    const fit = () => {
        const room = canvas.clientWidth - size.left - Math.min(size.right, canvas.clientWidth / 3);
        return Math.min(26, Math.max(0.02, room / Math.max(1, size.last)));
    };
    const by = (/** @type {number} */ factor, middle = canvas.clientWidth / 2) => {
        const message = (canvas.scrollLeft + middle - size.left) / drawing.scale;
        drawing.scale = Math.min(WIDEST, Math.max(Math.min(fit(), size.scale), drawing.scale * factor));
        drawing.place();
        canvas.scrollLeft = drawing.x(message) - middle;
    };
    const zoom = (/** @type {'in' | 'out'} */ way, /** @type {number | undefined} */ middle = undefined) => by(way === 'in' ? STEP : 1 / STEP, middle);

    /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-zoom]')).forEach((button) => button.addEventListener('click', () => {
        if (button.dataset.zoom === 'fit') {
            drawing.scale = fit();
            drawing.place();
            canvas.scrollTo(0, 0);
        } else {
            zoom(button.dataset.zoom === 'in' ? 'in' : 'out');
        }
    }));
    canvas.addEventListener('wheel', (event) => {
        if (event.ctrlKey || event.metaKey) {
            event.preventDefault();
            by(Math.exp(-event.deltaY / 240), event.clientX - canvas.getBoundingClientRect().left);
        }
    }, { passive: false });

    drawing.scale = Math.max(fit(), Math.min(size.scale, canvas.clientWidth < PHONE ? FINGER : fit() * 1.2));
    return zoom;
}
