// Choosing moments: a message must be one of the chat that is chosen.

import { part } from './dom.js';

for (const side of document.querySelectorAll('.choose fieldset')) {
    const select = part('select', HTMLSelectElement, side);
    const number = part('input[type=number]', HTMLInputElement, side);
    select.addEventListener('change', () => {
        const { last } = select.selectedOptions[0].dataset;
        number.max = last ?? '';
        if (number.value !== '' && Number(number.value) > Number(last)) {
            number.value = '';
        }
    });
}
