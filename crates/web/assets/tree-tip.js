// What is said at a message, in a box beside it: asked for in parts, and remembered.

import { look } from './api.js';
import { element } from './dom.js';

const PART = 20;
// A pointer that passes by asks nothing.
const REST = 50;

/** @typedef {{ speaker: string, text: string, scene?: string | null, ends_scene?: boolean }} Said */

export class Tip {
    /** @type {Map<string, Promise<{ messages: Said[] }>>} */
    #parts = new Map();
    #wanted = 0;

    /**
     * @param {HTMLElement} box
     * @param {HTMLElement} canvas
     */
    constructor(box, canvas) {
        this.box = box;
        this.canvas = canvas;
        canvas.addEventListener('blur', () => this.hide());
    }

    /**
     * Shows what is said, beside a place on the screen. Gives it; nothing if something else was asked for since.
     * @param {{ chat: string, name: string, end: number }} line
     * @param {number} message
     * @param {number} left
     * @param {number} top
     * @returns {Promise<Said | null>}
     */
    async show({ chat, name, end }, message, left, top) {
        const turn = this.#wanted += 1;
        await new Promise((resolve) => { setTimeout(resolve, REST); });
        if (turn !== this.#wanted) {
            return null;
        }
        const said = await this.#said(chat, message).catch((failure) => ({ speaker: '', text: failure.message }));
        if (turn !== this.#wanted || !said) {
            return null;
        }
        this.#fill(said, `${name} · message ${message} of ${end}`);
        this.#put(left, top);
        return said;
    }

    hide() {
        this.#wanted += 1;
        this.box.hidden = true;
    }

    /**
     * @param {string} chat
     * @param {number} message
     */
    async #said(chat, message) {
        const from = message - (message % PART);
        const key = `${from} ${chat}`;
        const asked = this.#parts.get(key) ?? look('messages', { chat, from, to: from + PART - 1 });
        this.#parts.set(key, asked);
        asked.catch(() => this.#parts.delete(key));
        return (await asked).messages[message - from];
    }

    /**
     * @param {Said} said
     * @param {string} where
     */
    #fill({ speaker, text, scene, ends_scene: ends }, where) {
        const body = element('p', '', text.slice(0, 600));
        body.dir = 'auto';
        this.box.replaceChildren(element('span', 'where', where), element('strong', '', speaker), body);
        if (ends) {
            this.box.append(element('span', 'ends', scene ? `Scene ends: ${scene}` : 'A scene ends here'));
        }
        this.box.hidden = false;
    }

    // Beside a place on the screen: below it, or above it where there is no room.
    #put(/** @type {number} */ left, /** @type {number} */ top) {
        const { box } = this;
        const stage = this.canvas.getBoundingClientRect();
        const beside = Math.max(4, Math.min(left - stage.left + 14, stage.width - box.offsetWidth - 4));
        const below = top - stage.top + 18;
        const above = Math.max(4, top - stage.top - box.offsetHeight - 14);
        box.style.left = `${beside}px`;
        box.style.top = `${below + box.offsetHeight > stage.height + 60 ? above : below}px`;
    }
}
