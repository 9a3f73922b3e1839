// The keyboard alone: going to something with Tab, as people without a mouse do, and what is seen of where one is.

import assert from 'node:assert/strict';

// Whether the focus is on something, by selector and text.
const at = (selector, text) => {
    const element = document.activeElement;
    return element !== null && element.matches(selector) && (!text || element.textContent.includes(text));
};

/**
 * Goes on with Tab until the focus is there. `text`: what it says. `back`: with Shift.
 * @param {import('./site.js').Visit} visit
 * @param {string} selector
 */
export async function tabTo(visit, selector, { text = '', back = false, most = 160 } = {}) {
    await visit.until(`${selector} ${text}`, (selector, text) => [...document.querySelectorAll(selector)].some((element) => element.checkVisibility() && element.textContent.includes(text)), selector, text);
    for (let i = 0; i < most && !await visit.run(at, selector, text); i += 1) {
        await visit.press('Tab', { shift: back });
    }
    assert.ok(await visit.run(at, selector, text), `${selector} ${text} can be reached with Tab; the focus is on ${await visit.run(() => document.activeElement?.outerHTML.slice(0, 200))}`);
}

/**
 * Goes there and presses Enter.
 * @param {import('./site.js').Visit} visit
 * @param {string} selector
 * @param {{ text?: string, back?: boolean, most?: number }} options
 */
export async function enter(visit, selector, options = {}) {
    await tabTo(visit, selector, options);
    await visit.press('Enter');
}

/**
 * Goes through a whole page with Tab. Gives what could not be reached, and what does not show that it was.
 * @param {import('./site.js').Visit} visit
 */
export async function walk(visit) {
    await visit.run(() => {
        const one = (element) => { const { outlineStyle, outlineWidth, boxShadow, borderColor, backgroundColor } = getComputedStyle(element); return [outlineStyle === 'none' ? '' : outlineWidth, boxShadow, borderColor, backgroundColor]; };
        // A card can show it for the link that is all of it.
        const style = (element) => JSON.stringify([element, element.parentElement, element.parentElement.parentElement].map(one));
        const can = [...document.querySelectorAll('a[href], button, summary, input, select, textarea')].filter((element) => element.checkVisibility({ visibilityProperty: true })
            // Walked by arrow keys: the drawing, tabs, one of several to choose from. Names above the slider are in the list below it.
            && !element.closest('#canvas, [role=menu], .names') && !element.matches('[type=hidden], [role=tab][tabindex="-1"], [disabled]')
            && !(element.matches('[type=radio]') && !element.checked));
        document.activeElement?.blur();
        window.walked = { can: new Map(can.map((element) => [element, style(element)])), reached: new Set(), dim: [], style };
    });
    // So many that the focus comes round again.
    const many = await visit.run(() => window.walked.can.size) + 40;
    for (let i = 0; i < many; i += 1) {
        await visit.press('Tab');
        const again = await visit.run(() => {
            const { can, reached, dim, style } = window.walked;
            const element = document.activeElement;
            if (!element || element === document.body) {
                return reached.size > 0;
            }
            // The knob of a slider shows it, which no script can ask for.
            if (can.has(element) && !reached.has(element) && !element.matches('[type=range]') && style(element) === can.get(element)) {
                dim.push(element.outerHTML.slice(0, 160));
            }
            const seen = reached.has(element) && can.has(element);
            reached.add(element);
            return seen;
        });
        if (again) {
            break;
        }
    }
    return visit.run(() => {
        const { can, reached, dim } = window.walked;
        return { missed: [...can.keys()].filter((element) => element.isConnected && !reached.has(element)).map((element) => element.outerHTML.slice(0, 160)), dim };
    });
}
