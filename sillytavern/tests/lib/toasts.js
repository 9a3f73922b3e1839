// Notices with buttons.

import assert from 'node:assert/strict';
import { pause } from './tavern.js';

// The one notice that there is, as text. Others would have come by then. (SillyTavern has one of its own about the settings of the test.)
export async function only(visit) {
    await visit.notice('created');
    await pause(2000);
    const all = await visit.page.run(() => [...document.querySelectorAll('.toast')].map((/** @type {any} */ toast) => [...toast.children].map((part) => part.innerText).join('\n')));
    const told = all.filter((text) => !text.startsWith('Story String'));
    assert.equal(told.length, 1, told.join('\n\n'));
    return told[0];
}

export async function press(visit, label) {
    // SillyTavern carries notices over to another place when a dialog closes: a click in that moment hits nothing.
    await visit.page.until('no dialog is in the way', () => !document.querySelector('dialog[open]'));
    await visit.page.click('.forklore-toast-actions button', { text: label });
}
