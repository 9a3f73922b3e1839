// The trunk stays in sight: whoever has scrolled away from the line that everything here parts from sees it below the numbers.

import { part, shape } from './dom.js';

/** @import { Drawing, Row } from './tree-drawing.js' */

/**
 * @param {Drawing} drawing
 * @param {HTMLElement} canvas
 */
export function trunked(drawing, canvas) {
    const trunk = part('#trunk', SVGElement);
    /** @type {Row | undefined} */
    let shown;
    let asked = false;

    function draw(/** @type {Row} */ root) {
        const [begin, end] = [drawing.x(root.from ?? 0), drawing.x(root.end)];
        trunk.setAttribute('width', drawing.svg.getAttribute('width') ?? '0');
        trunk.setAttribute('class', `trunk ${/c\d/.exec(root.element.getAttribute('class') ?? '')?.[0] ?? 'c0'}`);
        const name = shape('text', { x: Math.max(begin, canvas.scrollLeft + 8), y: 12 });
        name.textContent = part('.label text', SVGTextElement, root.element).firstChild?.textContent ?? '';
        const forks = drawing.rows.filter(({ parent, from }) => parent === root.index && from !== null);
        const places = new Set(forks.map(({ from }) => Math.round(drawing.x(from ?? 0))));
        trunk.replaceChildren(shape('path', { d: `M${begin} 18H${Math.max(end, begin + 4)}` }),
            ...[...places].map((place) => shape('circle', { cx: place, cy: 18, r: 2 })), name);
    }
    function look() {
        asked = false;
        const top = canvas.scrollTop;
        let row = drawing.rows.find(({ shown, y }) => shown && y > top + 30);
        while (row && row.parent !== null) {
            row = drawing.rows[row.parent];
        }
        shown = row && row.below > 0 && row.y < top + 4 ? row : undefined;
        trunk.toggleAttribute('hidden', !shown);
        if (shown) {
            draw(shown);
        }
    }
    const soon = () => {
        if (!asked) {
            asked = true;
            requestAnimationFrame(look);
        }
    };
    canvas.addEventListener('scroll', soon, { passive: true });
    drawing.whenPlaced(soon);
    trunk.addEventListener('click', () => shown && canvas.scrollTo({ top: Math.max(0, shown.y - 40) }));
}
