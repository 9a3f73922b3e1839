// The page's own requests: the one place that stands around `window.fetch`. Who wants to see some of them says which, by path and method,
// and sees them before they are sent and when they are answered, however the caller has written the address down. All others pass
// untouched, and nothing that goes wrong in here keeps a request of SillyTavern's from being sent.

/** @typedef {(answer: { ok: boolean, status: number, refusal: Promise<string> | null }) => any} After */
/** @typedef {(sent: Sent) => After | void | Promise<After | void>} Before */

/** @type {{ paths: Set<string>, method: string, before: Before }[]} */
const watchers = [];

/**
 * `before` gets each request with one of these paths: `text()` gives what is sent, unpacked, and `replace(text)` sends something else
 * instead. The request waits for it. If it gives a function, that is called with the answer's `ok` and `status`, and with the text of a
 * `refusal`, and nobody waits.
 * @param {string[]} paths
 * @param {Before} before
 */
export function watch(paths, before, method = 'POST') {
    if (!watchers.length) {
        surround();
    }
    watchers.push({ paths: new Set(paths), method, before });
}

function surround() {
    const { fetch } = window;
    window.fetch = function (address, init) {
        const concerned = interested(address, init);
        return concerned.length ? accompany(concerned, fetch, address, init) : fetch.call(this, address, init);
    };
}

function interested(address, init) {
    try {
        const asked = address instanceof Request ? address : null;
        const method = (init?.method ?? asked?.method ?? 'GET').toUpperCase();
        const { origin, pathname } = new URL(asked?.url ?? String(address), document.baseURI);
        return origin === location.origin ? watchers.filter((one) => one.method === method && one.paths.has(pathname)) : [];
    } catch {
        // No address: whoever asked is told so by the browser.
        return [];
    }
}

async function accompany(concerned, fetch, address, init) {
    const sent = new Sent(address, init);
    /** @type {(After | void)[]} */
    const afterwards = [];
    for (const { before } of concerned) {
        try {
            afterwards.push(await before(sent));
        } catch (error) {
            complain(error);
        }
    }
    const response = await fetch.call(window, sent.address, sent.init);
    const { ok, status } = response;
    const wanted = afterwards.filter((one) => typeof one === 'function');
    const refusal = ok || !wanted.length ? null : response.clone().text().catch(() => '');
    for (const after of wanted) {
        Promise.resolve({ ok, status, refusal }).then(after).catch(complain);
    }
    return response;
}

function complain(error) {
    console.error('[Forklore]', error);
}

// A request that is about to be sent. SillyTavern packs long ones.
export class Sent {
    /**
     * @param {RequestInfo | URL} address
     * @param {RequestInit | undefined} init
     */
    constructor(address, init) {
        this.address = address;
        this.init = init;
    }

    #headers() {
        return new Headers(this.init?.headers ?? (this.address instanceof Request ? this.address.headers : undefined));
    }

    async text() {
        const own = this.init?.body ?? null;
        if (typeof own === 'string') {
            return own;
        }
        if (own instanceof ReadableStream) {
            throw new Error('what is sent as a stream can be read only once');
        }
        const body = own === null && this.address instanceof Request ? this.address.clone() : new Response(own);
        const packed = this.#headers().get('Content-Encoding') === 'gzip';
        return packed && body.body ? new Response(body.body.pipeThrough(new DecompressionStream('gzip'))).text() : body.text();
    }

    /** @param {string} text */
    replace(text) {
        const headers = this.#headers();
        headers.delete('Content-Encoding');
        this.init = { ...this.init, headers, body: text };
    }
}
