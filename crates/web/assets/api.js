// Asking Forklore, from any page: `look` and `send` give the document, or throw a `Failure` with a sentence and a next step.
// Everything is relative to the page, so it works below any path prefix.

import { address } from './address.js';
import { element, part } from './dom.js';

export class Failure extends Error {
    /** @param {{ code?: string, message: string, to_do: string, details?: any }} failure */
    constructor({ code, message, to_do, details }) {
        super(message);
        this.code = code;
        this.to_do = to_do;
        this.details = details;
    }
}

const through = document.body.dataset.through;
/** @type {Promise<string> | null} */
let csrf = null;

/**
 * Looks: `look('show', { chat, at })`. Arguments that are null or undefined are left out.
 * @param {string} call
 * @param {Record<string, string | number | null | undefined>} args
 * @param {RequestInit} options
 */
export async function look(call, args = {}, options = {}) {
    return ask(address(`api/${call}`, args), { ...options, headers: { ...options.headers, ...await guard() } });
}

/**
 * Sends something to any address of Forklore's. `request` is repeated by progress events.
 * @param {string} address
 * @param {object} body
 * @param {RequestInit & { request?: string }} options
 */
export async function send(address, body, { request, ...options } = {}) {
    /** @type {Record<string, string>} */
    const headers = { Accept: 'application/json', 'Content-Type': 'application/json' };
    if (request) {
        headers['X-Forklore-Request'] = request;
    }
    return ask(address, { method: 'POST', headers: { ...headers, ...await guard() }, body: JSON.stringify(body), ...options });
}

/**
 * Sends a file, as it is.
 * @param {string} address
 * @param {File} file
 */
export async function sendFile(address, file) {
    const headers = { Accept: 'application/json', 'Content-Type': 'application/octet-stream', ...await guard() };
    return ask(address, { method: 'POST', headers, body: file });
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
        throw new Failure({ code: 'UNREACHABLE', message: 'Forklore does not answer.', to_do: 'Look whether it still runs, then try again.' });
    }
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) {
        throw new Failure(answer.error ?? { code: 'UNKNOWN', message: `Forklore answered ${response.status}.`, to_do: 'Try again.' });
    }
    return answer;
}

// A short notice that goes away by itself; screen readers read it.
export function notice(text, kind = 'info') {
    const made = element('p', `notice ${kind}`, text);
    part('#notices', HTMLElement).append(made);
    setTimeout(() => made.remove(), kind === 'error' ? 12_000 : 6000);
    return made;
}

// Something that failed, as a notice.
export function tell(failure) {
    notice([failure.message, failure.to_do].filter(Boolean).join(' '), 'error');
}
