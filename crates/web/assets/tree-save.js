// The drawing as a picture to show others: as it is now, with the colours of now, and nothing that is needed from elsewhere.

import { tell } from './api.js';
import { element, shape } from './dom.js';

/** @import { Drawing } from './tree-drawing.js' */

// Larger than this no browser draws.
const LARGEST = 12_000;
const SPACE = 24;

/**
 * @param {Drawing} drawing
 * @param {string} name
 */
export function savable(drawing, name) {
    /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-save]')).forEach((button) => button.addEventListener('click', () => {
        const kind = button.dataset.save;
        button.closest('details')?.removeAttribute('open');
        (kind === 'svg' ? svg(drawing, name) : png(drawing, name)).catch(tell);
    }));
}

// A variable of the styles as it is now: by day or by night.
function value(/** @type {string} */ name) {
    const root = getComputedStyle(document.documentElement);
    const dark = root.colorScheme === 'dark' || (root.colorScheme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
    return root.getPropertyValue(name).trim().replace(/light-dark\(([^,]+),\s*([^)]+)\)/g, dark ? '$2' : '$1');
}

// What the styles say of the drawing, with every variable put in.
function styles() {
    const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).map((rule) => rule.cssText);
    const ours = rules.filter((rule) => /^(#tree|\.c\d )/.test(rule)).join('\n');
    return ours.replace(/var\((--(?!tint)[\w-]+)\)/g, (_, name) => value(name));
}

/**
 * @param {Drawing} drawing
 * @param {string} name
 */
function picture(drawing, name) {
    drawing.reveal(true);
    const copy = /** @type {SVGSVGElement} */ (drawing.svg.cloneNode(true));
    drawing.reveal();
    copy.querySelectorAll('.folded, .hit, .cursor, .fold, .grid, .passing').forEach((part) => part.remove());
    copy.querySelectorAll('[href]').forEach((link) => link.removeAttribute('href'));
    copy.querySelectorAll('.here, .path').forEach((row) => row.classList.remove('here', 'path'));
    const [wide, high] = ['width', 'height'].map((side) => Math.ceil(Number(copy.getAttribute(side))));
    const [whole, tall] = [wide + 2 * SPACE, high + 2 * SPACE + 40];
    const out = shape('svg', { width: whole, height: tall, viewBox: `0 0 ${whole} ${tall}` });
    const [style, title, group] = [shape('style', {}), shape('text', { x: SPACE, y: SPACE + 16, fill: value('--ink'), 'font-family': 'Georgia, serif', 'font-size': 22 }), shape('g', { id: 'tree', transform: `translate(${SPACE} ${SPACE + 32})` })];
    style.textContent = styles();
    title.textContent = name;
    group.setAttribute('class', copy.getAttribute('class') ?? '');
    group.append(...copy.childNodes);
    out.append(style, shape('rect', { width: whole, height: tall, fill: value('--sheet') }), title, group);
    return { text: new XMLSerializer().serializeToString(out), wide: whole, high: tall };
}

/**
 * @param {Blob} blob
 * @param {string} file
 */
function give(blob, file) {
    const link = element('a');
    link.href = URL.createObjectURL(blob);
    link.download = file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/**
 * @param {Drawing} drawing
 * @param {string} name
 */
async function svg(drawing, name) {
    give(new Blob([picture(drawing, name).text], { type: 'image/svg+xml' }), `${name} - tree.svg`);
}

/**
 * @param {Drawing} drawing
 * @param {string} name
 */
async function png(drawing, name) {
    const { text, wide, high } = picture(drawing, name);
    const scale = Math.min(2, LARGEST / Math.max(wide, high));
    const image = new Image(wide, high);
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await image.decode();
    const canvas = element('canvas');
    [canvas.width, canvas.height] = [Math.ceil(wide * scale), Math.ceil(high * scale)];
    canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise((resolve) => { canvas.toBlob(resolve, 'image/png'); });
    if (!blob) {
        throw new Error('This browser cannot draw a picture that large: save it as SVG.');
    }
    give(blob, `${name} - tree.png`);
}
