// Asking Forklore, from any page: `look` and `change` give the document, or throw a `Failure` with a sentence and a next step.
// Everything is relative to the page, so it works below any path prefix.

export class Failure extends Error {
    constructor({ code, message, hint, details }) {
        super(message);
        Object.assign(this, { code, hint, details });
    }
}

const through = document.body.dataset.through;
let csrf = null;

// Looks: `look('show', { chat, at })`. Arguments that are null or undefined are left out.
export async function look(call, args = {}, options = {}) {
    const said = Object.entries(args).filter(([, value]) => value !== null && value !== undefined);
    return ask(`api/${call}?${new URLSearchParams(said)}`, { ...options, headers: { ...options.headers, ...await guard() } });
}

// Changes something: `change('branch', { chat, at, dry_run: true })`. `request` is repeated by progress events.
export function change(call, body, options) {
    return send(`api/${call}`, body, options);
}

// Sends something to any address of Forklore's.
export async function send(address, body, { request, ...options } = {}) {
    const headers = { Accept: 'application/json', 'Content-Type': 'application/json' };
    if (request) {
        headers['X-Forklore-Request'] = request;
    }
    return ask(address, { method: 'POST', headers: { ...headers, ...await guard() }, body: JSON.stringify(body), ...options });
}

// SillyTavern's token against forged requests, where it stands in between.
async function guard() {
    if (through !== 'sillytavern') {
        return {};
    }
    csrf ??= fetch('../../../csrf-token').then((response) => response.json()).then(({ token }) => token);
    return { 'X-CSRF-Token': await csrf.catch(() => { csrf = null; return ''; }) };
}

async function ask(address, options) {
    let response;
    try {
        response = await fetch(address, options);
    } catch (error) {
        if (error.name === 'AbortError') {
            throw error;
        }
        throw new Failure({ code: 'UNREACHABLE', message: 'Forklore does not answer.', hint: 'Look whether it still runs, then try again.' });
    }
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) {
        throw new Failure(answer.error ?? { code: 'UNKNOWN', message: `Forklore answered ${response.status}.`, hint: 'Try again.' });
    }
    return answer;
}

// A short notice that goes away by itself; screen readers read it.
export function notice(text, kind = 'info') {
    const element = document.createElement('p');
    element.className = `notice ${kind}`;
    element.textContent = text;
    document.getElementById('notices').append(element);
    setTimeout(() => element.remove(), kind === 'error' ? 12_000 : 6000);
    return element;
}

// Something that failed, as a notice.
export function tell(failure) {
    notice([failure.message, failure.hint].filter(Boolean).join(' '), 'error');
}
