// Which lines are drawn: by kind, by when they were played, only those that need attention or have scenes. The lines that they come from
// stay, faint, so that one sees where they part.

import { part } from './dom.js';

/** @import { Drawing, Row } from './tree-drawing.js' */

const DAY = 86_400_000;

/** @param {Drawing} drawing */
export function filterable(drawing) {
    const form = document.getElementById('filters');
    if (!(form instanceof HTMLFormElement)) {
        return;
    }
    const told = part('#filtered', HTMLElement, form);
    const wanted = () => {
        const said = new FormData(form);
        const [kind, days] = [String(said.get('kind')), Number(said.get('played'))];
        return (/** @type {Row} */ { element }) => {
            const { health, played, scenes } = element.dataset;
            return (!kind || element.classList.contains(kind) || (kind === 'checkpoint' && element.querySelector('.flag') !== null))
                && (!days || (played !== undefined && Date.now() - Date.parse(played) < days * DAY))
                && (!said.has('ill') || health !== undefined) && (!said.has('scenes') || scenes !== undefined);
        };
    };
    form.addEventListener('input', () => {
        const fits = drawing.rows.map(wanted());
        const needed = new Set();
        drawing.rows.forEach((row) => {
            for (let above = fits[row.index] ? row : undefined; above && !needed.has(above.index); above = above.parent === null ? undefined : drawing.rows[above.parent]) {
                needed.add(above.index);
            }
        });
        drawing.rows.forEach((row) => {
            row.out = !needed.has(row.index);
            row.element.classList.toggle('faint', !fits[row.index]);
        });
        const count = fits.filter(Boolean).length;
        drawing.filtered = count !== fits.length;
        told.textContent = count === fits.length ? '' : `${count} of ${fits.length} lines`;
        drawing.place();
    });
    form.addEventListener('submit', (event) => event.preventDefault());
    form.hidden = false;
}
