// A file is looked into, and then imported: it is sent twice, so that nothing of it has to be kept in between.

import { address } from './address.js';
import { notice, sendFile, tell } from './api.js';
import { part } from './dom.js';
import { hold } from './live.js';

const form = part('#arrival', HTMLFormElement);
const input = part('#file', HTMLInputElement);
const place = part('#arriving', HTMLElement);

/** @param {boolean} dry */
async function send(dry) {
    const file = input.files?.[0];
    if (!file) {
        return null;
    }
    const release = hold();
    place.setAttribute('aria-busy', 'true');
    try {
        return await sendFile(address('import', dry ? { dry_run: 'true' } : {}), file);
    } catch (failure) {
        tell(failure);
        return null;
    } finally {
        place.removeAttribute('aria-busy');
        release();
    }
}

form.addEventListener('submit', async (event) => {
    event.preventDefault();
    place.replaceChildren();
    const shown = await send(true);
    if (shown?.html) {
        const template = document.createElement('template');
        // Text of the server, which escapes all that a story says.
        template.innerHTML = shown.html;
        place.replaceChildren(template.content);
        place.scrollIntoView({ block: 'nearest' });
    }
});
input.addEventListener('change', () => place.replaceChildren());
place.addEventListener('click', async (event) => {
    const button = event.target instanceof Element ? event.target.closest('#bring-in') : null;
    if (button instanceof HTMLButtonElement) {
        button.disabled = true;
        const done = await send(false);
        if (done?.to) {
            location.assign(done.to);
        } else {
            button.disabled = false;
            notice('Nothing was imported.', 'error');
        }
    }
});
