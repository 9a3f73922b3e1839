// What SillyTavern has done and the engine is to hear of. Nobody waits for it: what happens meanwhile is told together, and what could not
// be followed is told again, less and less often.

// Events that wait for an engine; older ones are forgotten, and the engine looks at the disk for what followed from them.
const MOST_EVENTS = 500;
const MOST_AT_ONCE = 100;
// How often one is told again that could not be followed, how soon for the first time, and how late at most.
const TRIES = 20;
const SOON = 1000;
const LATEST = 30_000;

export class Reports {
    #listens;
    #tell;
    // Each user's folder has its own.
    #queues = new Map();

    // `listens`: whether there is an engine. `tell` tells it, and gives its answer.
    constructor(listens, tell) {
        this.#listens = listens;
        this.#tell = tell;
    }

    add(root, event) {
        const queue = this.#queues.get(root) ?? { events: [], busy: false, lost: false, pause: 0 };
        this.#queues.set(root, queue);
        queue.events.push({ event, tries: 0 });
        shorten(queue);
        this.#flush(root, queue);
    }

    // There is an engine again.
    resume() {
        this.#queues.forEach((queue, root) => this.#flush(root, queue));
    }

    async #flush(root, queue) {
        if (!this.#listens() || queue.busy || !(queue.events.length || queue.lost)) {
            return;
        }
        queue.busy = true;
        const left = await this.#told(root, queue);
        left.forEach((one) => { one.tries += 1; });
        const again = left.filter(({ tries }) => tries < TRIES);
        queue.lost ||= again.length < left.length;
        queue.busy = false;
        queue.events.unshift(...again);
        shorten(queue);
        queue.pause = left.length ? Math.min(queue.pause * 2 || SOON, LATEST) : 0;
        setTimeout(() => this.#flush(root, queue), queue.pause).unref();
    }

    // Tells the oldest ones. Gives those that are to be told again.
    async #told(root, queue) {
        const [told, lost] = [queue.events.splice(0, MOST_AT_ONCE), queue.lost];
        queue.lost = false;
        try {
            const { failed = [] } = await this.#tell(root, { events: told.map(({ event }) => event), lost });
            failed.forEach(({ error }) => console.error(`[Forklore] what SillyTavern did is not followed yet: ${error?.message}`));
            return failed.filter(({ again }) => again).map(({ event }) => told[event]).filter(Boolean);
        } catch (error) {
            console.error(`[Forklore] could not tell the engine what was saved: ${error?.message}`);
            // One that does not understand it would not understand it again: it looks at the disk instead.
            const useless = [400, 413].includes(error?.status);
            queue.lost ||= useless ? !lost : lost;
            return useless ? [] : told;
        }
    }
}

function shorten(queue) {
    if (queue.events.length > MOST_EVENTS) {
        queue.events.splice(0, queue.events.length - MOST_EVENTS);
        queue.lost = true;
    }
}
