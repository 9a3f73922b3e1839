// The engine, through the plugin. Every call gives the engine's document, or throws a `Refusal` with its code, message and what to do here.

import { context } from './st.js';

const BASE = '/api/plugins/forklore/';
const AGAIN = 1000;
const LONGEST = 15_000;

export const PAGE = BASE;

export class Refusal extends Error {
    /**
     * @param {number} status
     * @param {{ code?: string, message?: string, to_do?: string, details?: any }} error
     */
    constructor(status, { code, message, to_do: hint, details } = {}) {
        super(message ?? 'Forklore did not answer.');
        this.status = status;
        this.code = code ?? 'NO_ANSWER';
        this.hint = hint ?? '';
        this.details = details ?? null;
    }
}

async function call(path, init) {
    let response;
    try {
        response = await fetch(BASE + path, init);
    } catch (error) {
        throw new Refusal(0, { code: 'NO_ANSWER', message: `SillyTavern's server did not answer (${error.message}).`, to_do: 'Look whether it is still running.' });
    }
    const text = await response.text();
    let answer;
    try {
        answer = JSON.parse(text);
    } catch {
        // A page instead of an answer: SillyTavern's own, because there is no plugin.
        throw new Refusal(response.status, { code: 'NO_PLUGIN', message: 'Forklore\'s server plugin is not running.', to_do: 'Run `forklore install`, restart SillyTavern and reload this page.' });
    }
    if (!response.ok) {
        throw new Refusal(response.status, answer.error);
    }
    return answer;
}

export function get(path, args = {}) {
    const query = new URLSearchParams(Object.entries(args).filter(([, value]) => value !== undefined && value !== null && value !== ''));
    const { 'Content-Type': _, ...headers } = context().getRequestHeaders();
    return call(`${path}?${query}`, { headers });
}

export function post(path, body = {}) {
    const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined && value !== null));
    return call(path, { method: 'POST', headers: context().getRequestHeaders(), body: JSON.stringify(given) });
}

// Whether there is a page at the plugin's address.
export async function hasPage() {
    const response = await fetch(BASE, { headers: { Accept: 'text/html' } }).catch(() => null);
    return Boolean(response?.ok && response.headers.get('content-type')?.startsWith('text/html'));
}

// Hears of everything that changes. `handlers` has a function for every event it is interested in, and `error` for a connection that
// broke. A browser takes that up by itself, but gives up where the answer is no: a plugin whose engine is away. Then it is tried again
// here, less and less often.
export function listen({ error, ...handlers }, wait = AGAIN) {
    const source = new EventSource(`${BASE}api/events`);
    for (const [event, handle] of Object.entries(handlers)) {
        source.addEventListener(event, (message) => handle(JSON.parse(message.data)));
    }
    let next = Math.min(wait * 2, LONGEST);
    source.addEventListener('open', () => { next = AGAIN; });
    source.addEventListener('error', () => {
        error?.();
        if (source.readyState === EventSource.CLOSED) {
            setTimeout(() => listen({ error, ...handlers }, next), wait);
        }
    });
}
