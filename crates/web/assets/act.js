// Forms, quicker than without scripts: a plan follows what is typed, and what is done needs no second page to fail on.

import { notice, send } from './api.js';
import { element, target } from './dom.js';
import { hold, show } from './live.js';

const LATER = 300;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let typing;

/** @param {HTMLFormElement} form */
function address(form) {
    const said = [...new FormData(form)].filter(([, value]) => value !== '').map(([name, value]) => [name, String(value)]);
    return `${form.getAttribute('action')}?${new URLSearchParams(said)}`;
}

/** @param {HTMLFormElement} form */
async function plan(form) {
    const result = document.querySelector('.plan');
    result?.setAttribute('aria-busy', 'true');
    await show(address(form)).catch((error) => { if (error.name !== 'AbortError') { throw error; } });
    result?.removeAttribute('aria-busy');
}

document.addEventListener('input', (event) => {
    const field = target(event);
    if (field instanceof HTMLElement && field.closest('main')) {
        field.dataset.typed = 'true';
    }
    const form = field && 'form' in field ? field.form : null;
    if (form instanceof HTMLFormElement && form.hasAttribute('data-preview')) {
        clearTimeout(typing);
        typing = setTimeout(() => plan(form), LATER);
    }
});

document.addEventListener('submit', (event) => {
    const [form, submitter] = [target(event), event.submitter];
    if (!(form instanceof HTMLFormElement)) {
        return;
    }
    const method = submitter?.getAttribute('formmethod') ?? form.getAttribute('method');
    if (method === 'post') {
        event.preventDefault();
        perform(form, submitter);
    } else if (form.hasAttribute('data-preview')) {
        event.preventDefault();
        clearTimeout(typing);
        plan(form);
    }
});

/**
 * @param {HTMLFormElement} form
 * @param {HTMLElement | null} submitter
 */
async function perform(form, submitter) {
    if (form.dataset.busy) {
        return;
    }
    clearTimeout(typing);
    form.dataset.busy = 'true';
    const body = Object.fromEntries(new FormData(form, submitter));
    const stays = form.hasAttribute('data-stay');
    if (stays) {
        // What was typed is said by now: the page may show what becomes of it, and hears of that by itself.
        form.querySelectorAll('[data-typed]').forEach((field) => field.removeAttribute('data-typed'));
        for (const details of form.querySelectorAll('details[open]')) {
            // Whoever has the keyboard in it is not left nowhere.
            if (details.contains(document.activeElement)) {
                details.querySelector('summary')?.focus();
            }
            details.removeAttribute('open');
        }
    }
    const release = hold();
    submitter?.setAttribute('aria-disabled', 'true');
    submitter?.classList.add('working');
    try {
        const { to } = await send('act', body, { request: `act-${Date.now().toString(36)}` });
        if (stays) {
            release();
        } else {
            location.assign(to);
        }
    } catch (failure) {
        release();
        refused(form, submitter, failure);
    }
    delete form.dataset.busy;
    submitter?.removeAttribute('aria-disabled');
    submitter?.classList.remove('working');
}

/**
 * Says beside the button why it was not done, and what to do.
 * @param {HTMLFormElement} form
 * @param {HTMLElement | null} submitter
 * @param {import('./api.js').Failure} failure
 */
function refused(form, submitter, failure) {
    const box = element('div', 'say error');
    box.setAttribute('role', 'alert');
    box.id = 'refusal';
    const lines = [element('strong', '', failure.message), element('span', '', failure.to_do)];
    for (const said of lines.filter(({ textContent }) => textContent)) {
        const line = element('p');
        line.append(said);
        box.append(line);
    }
    document.getElementById('refusal')?.remove();
    const near = submitter?.closest('.action, .trash > li, .card') ?? form;
    if (near.matches('li')) {
        near.append(box);
    } else {
        (submitter?.closest('.go') ?? near.lastElementChild ?? near).before(box);
    }
    if (!box.isConnected) {
        notice(`${failure.message} ${failure.to_do}`, 'error');
    }
    submitter?.focus();
}
