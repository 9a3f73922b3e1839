// Forms, quicker than without scripts: a plan follows what is typed, and what is done needs no second page to fail on.

import { notice, send } from './api.js';
import { hold, show } from './live.js';

const LATER = 300;
let typing = null;

function address(form, submitter = null) {
    const said = [...new FormData(form, submitter)].filter(([, value]) => value !== '');
    return `${form.getAttribute('action')}?${new URLSearchParams(said)}`;
}

async function plan(form) {
    const result = document.querySelector('.plan');
    result?.setAttribute('aria-busy', 'true');
    await show(address(form)).catch((error) => { if (error.name !== 'AbortError') { throw error; } });
    result?.removeAttribute('aria-busy');
}

document.addEventListener('input', ({ target }) => {
    const form = target.form;
    if (target.closest('main')) {
        target.dataset.typed = 'true';
    }
    if (form?.hasAttribute('data-preview')) {
        clearTimeout(typing);
        typing = setTimeout(() => plan(form), LATER);
    }
});

document.addEventListener('submit', (event) => {
    const [form, submitter] = [event.target, event.submitter];
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

async function perform(form, submitter) {
    if (form.dataset.busy) {
        return;
    }
    clearTimeout(typing);
    form.dataset.busy = 'true';
    const body = Object.fromEntries(new FormData(form, submitter));
    const release = hold();
    submitter?.setAttribute('aria-disabled', 'true');
    submitter?.classList.add('working');
    try {
        const { to } = await send('act', body, { request: `act-${Date.now().toString(36)}` });
        location.assign(to);
    } catch (failure) {
        release();
        refused(form, submitter, failure);
    }
    delete form.dataset.busy;
    submitter?.removeAttribute('aria-disabled');
    submitter?.classList.remove('working');
}

// Says beside the button why it was not done, and what to do.
function refused(form, submitter, failure) {
    const box = document.createElement('div');
    box.className = 'say error';
    box.setAttribute('role', 'alert');
    box.id = 'refusal';
    const lines = [['strong', failure.message], ['span', failure.hint], ['code', failure.code]];
    for (const [name, text] of lines.filter(([, text]) => text)) {
        const line = document.createElement('p');
        const element = document.createElement(name);
        element.textContent = text;
        line.append(element);
        box.append(line);
    }
    document.getElementById('refusal')?.remove();
    const near = submitter?.closest('.deed, .trash > li, .card') ?? form;
    if (near.matches('li')) {
        near.append(box);
    } else {
        (submitter?.closest('.go') ?? near.lastElementChild ?? near).before(box);
    }
    if (!box.isConnected) {
        notice(`${failure.message} ${failure.hint}`, 'error');
    }
    submitter?.focus();
}
