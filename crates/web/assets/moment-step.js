// Asking for a step: what becomes another when one goes to a message. Whoever goes along the line, message by message, has the next one asked
// for while he reads.

import { address } from './address.js';
import { Failure } from './api.js';

// An address can have so many names of what is known, and no more.
const MOST = 400;
// So long somebody rests at a message before the next one is asked for: nobody reads where the slider only passes.
const RESTS = 80;

/**
 * What the server answers: parts of the page and lists of entries that are others now, by their names.
 * @typedef {object} Step
 * @property {number} at
 * @property {number} last
 * @property {string} title
 * @property {string} said
 * @property {Record<string, string>} parts
 * @property {Record<string, string>} versions
 * @property {Record<string, string[]>} lists
 * @property {Record<string, string>} entries
 * @property {(number | null)[]} steps
 */

export class Steps {
    /** @type {{ at: number, from: number, answer: Promise<Step | null> } | null} */
    #next = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    #rests;

    /**
     * @param {HTMLElement} page
     * @param {string | undefined} chat
     */
    constructor(page, chat) {
        this.page = page;
        this.chat = chat;
    }

    // What the page has already: nothing of it is sent again.
    #known() {
        const versions = [.../** @type {NodeListOf<HTMLElement>} */ (this.page.querySelectorAll('[data-v]'))].map(({ dataset }) => dataset.v);
        return versions.slice(0, MOST).join(',');
    }

    /**
     * @param {number} at
     * @param {number | null} from
     * @returns {Promise<Step>}
     */
    async #fetched(at, from) {
        const response = await fetch(address('step', { chat: this.chat, at, from, known: this.#known() })).catch(() => null);
        if (!response) {
            throw new Failure({ message: 'Forklore does not answer.', to_do: 'Look whether it still runs, then try again.' });
        }
        const answer = await response.json().catch(() => ({}));
        if (!response.ok) {
            throw new Failure(answer.error ?? { message: `Forklore answered ${response.status}.`, to_do: 'Try again.' });
        }
        return answer;
    }

    /**
     * The step to a message. `from`: where the page is; null to have all of it again.
     * @param {number} at
     * @param {number | null} from
     */
    async step(at, from) {
        const next = this.#next;
        this.forget();
        const kept = next && next.at === at && next.from === from ? await next.answer : null;
        return kept ?? this.#fetched(at, from);
    }

    /**
     * The page rests at a message, and `to` may follow.
     * @param {number} from
     * @param {number} to
     * @param {number} last
     */
    expect(from, to, last) {
        this.forget();
        if (to !== from && to >= 0 && to <= last) {
            this.#rests = setTimeout(() => {
                // What cannot be had now is asked for when it is wanted, and told then.
                this.#next = { at: to, from, answer: this.#fetched(to, from).catch(() => null) };
            }, RESTS);
        }
    }

    // What was asked for may have changed.
    forget() {
        clearTimeout(this.#rests);
        this.#next = null;
    }
}
