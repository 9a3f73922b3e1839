// Chromium, driven over its own protocol through a pipe: no driver, no package. `Browser` starts one, `Page` is a tab: it clicks and
// types with real input events, and runs functions in the page.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pause } from './tavern.js';

const CHROMIUM = process.env.FORKLORE_CHROMIUM || 'chromium';
const PATIENCE = Number(process.env.FORKLORE_PATIENCE || 60_000);
const FLAGS = [
    '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync', '--disable-extensions', '--mute-audio', '--hide-scrollbars', '--disable-dev-shm-usage',
    '--remote-debugging-pipe',
];

export class Browser {
    profile = '';
    /** @type {any} two more pipes than node's types know of */
    child;
    #last = 0;
    #calls = new Map();
    #sessions = new Map();

    static async start() {
        const browser = new Browser();
        browser.profile = fs.mkdtempSync(path.join(os.tmpdir(), 'forklore-chromium-'));
        browser.child = spawn(CHROMIUM, [...FLAGS, `--user-data-dir=${browser.profile}`], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
        let rest = '';
        browser.child.stdio[4].setEncoding('utf8').on('data', (text) => {
            const parts = (rest + text).split('\0');
            rest = parts.pop();
            parts.forEach((part) => browser.#hear(JSON.parse(part)));
        });
        await browser.send('Browser.getVersion');
        return browser;
    }

    send(method, params = {}, sessionId) {
        const id = ++this.#last;
        this.child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
        return new Promise((resolve, reject) => this.#calls.set(id, { resolve, reject, method }));
    }

    #hear({ id, result, error, method, params, sessionId }) {
        if (id === undefined) {
            this.#sessions.get(sessionId)?.(method, params);
            return;
        }
        const call = this.#calls.get(id);
        this.#calls.delete(id);
        if (error) {
            call.reject(new Error(`${call.method}: ${error.message}`));
        } else {
            call.resolve(result);
        }
    }

    // A tab at an address; `width` 390 for a phone.
    async open(address, { width = 1280, height = 900 } = {}) {
        const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
        const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
        const page = new Page(this, sessionId, targetId);
        this.#sessions.set(sessionId, (method, params) => page.hear(method, params));
        for (const domain of ['Page', 'Runtime', 'Log']) {
            await page.send(`${domain}.enable`);
        }
        await page.size(width, height);
        await page.send('Page.navigate', { url: address });
        return page;
    }

    async stop() {
        const over = new Promise((resolve) => this.child.once('exit', resolve));
        // Its other processes end with it; they may still be writing when it is gone.
        this.send('Browser.close').catch(() => {});
        const late = setTimeout(() => this.child.kill('SIGKILL'), 5000);
        await over;
        clearTimeout(late);
        fs.rm(this.profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 300 }, () => {});
    }
}

export class Page {
    // What the page threw or complained about, what the browser complained about, and, with the domain Network enabled, what was asked for.
    /** @type {string[]} */
    errors = [];
    /** @type {string[]} */
    logs = [];
    /** @type {string[]} */
    requests = [];

    constructor(browser, session, target) {
        this.browser = browser;
        this.session = session;
        this.target = target;
    }

    send(method, params) {
        return this.browser.send(method, params, this.session);
    }

    hear(method, params) {
        if (method === 'Runtime.exceptionThrown') {
            this.errors.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
        } else if (method === 'Runtime.consoleAPICalled' && params.type === 'error') {
            this.errors.push(params.args.map((arg) => arg.value ?? arg.description).join(' '));
        } else if (method === 'Log.entryAdded' && params.entry.level === 'error') {
            this.logs.push(`${params.entry.source}: ${params.entry.text} ${params.entry.url ?? ''}`);
        } else if (method === 'Network.requestWillBeSent') {
            this.requests.push(params.request.url);
        } else if (method === 'Page.javascriptDialogOpening') {
            this.send('Page.handleJavaScriptDialog', { accept: true });
        }
    }

    // Keeps what the page asks for from coming, by its address (`*` stands for anything). Gives a function that lets it come.
    async withhold(address) {
        // What the browser has kept would come without being asked for.
        await this.send('Network.setCacheDisabled', { cacheDisabled: true });
        await this.send('Fetch.enable', { patterns: [{ urlPattern: address }] });
        return () => this.send('Fetch.disable');
    }

    async size(width, height) {
        await this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: width < 600 ? 2 : 1, mobile: width < 600 });
    }

    // Runs a function in the page and gives what it returns. Arguments must be plain data.
    async run(code, ...args) {
        const expression = `(${code})(...${JSON.stringify(args)})`;
        const answer = await this.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true, userGesture: true });
        if (answer.exceptionDetails) {
            throw new Error(answer.exceptionDetails.exception?.description ?? answer.exceptionDetails.text);
        }
        return answer.result.value;
    }

    // Waits until a function in the page returns something true, and gives it.
    async until(what, code, ...args) {
        const start = Date.now();
        for (;;) {
            const found = await this.run(code, ...args).catch((error) => (/context|navigat|undefined|null/i.test(error.message) ? null : Promise.reject(error)));
            if (found) {
                return found;
            }
            if (Date.now() - start > PATIENCE) {
                await this.#witness(what);
                throw new Error(`never: ${what}. The page said: ${this.errors.slice(-5).join('\n')}`);
            }
            await pause(100);
        }
    }

    // What the page looked like when something never came, where pictures are taken.
    async #witness(what) {
        if (process.env.FORKLORE_PICTURES) {
            const name = what.replace(/[^a-z0-9]+/gi, '-').slice(0, 60);
            await this.picture(path.join(process.env.FORKLORE_PICTURES, `never-${name}.png`)).catch(() => {});
        }
    }

    // Waits for an element that can be seen, and gives the middle of it.
    place(selector, text = null) {
        return this.until(`${selector}${text ? ` with ${text}` : ''} can be seen`, (selector, text) => {
            const fits = (element) => element.checkVisibility({ visibilityProperty: true }) && (!text || element.textContent.includes(text));
            const element = [...document.querySelectorAll(selector)].filter(fits).at(-1);
            if (!element) {
                return null;
            }
            element.scrollIntoView({ block: 'center', behavior: 'instant' });
            const { x, y, width, height } = element.getBoundingClientRect();
            const [left, top] = [x + width / 2, y + height / 2];
            // Whatever lies above it would get the click.
            const hit = document.elementFromPoint(left, top);
            return width && height && element.contains(hit) ? { x: left, y: top } : null;
        }, selector, text);
    }

    // Clicks with the mouse on an element that has come to rest. `shift`: with the key held.
    async click(selector, { text = null, shift = false } = {}) {
        let [was, now] = [null, await this.place(selector, text)];
        while (was?.x !== now.x || was?.y !== now.y) {
            await pause(120);
            [was, now] = [now, await this.place(selector, text)];
        }
        const mouse = { x: now.x, y: now.y, button: 'left', clickCount: 1, modifiers: shift ? 8 : 0 };
        for (const type of ['mouseMoved', 'mousePressed', 'mouseReleased']) {
            await this.send('Input.dispatchMouseEvent', { type, ...mouse });
        }
    }

    async type(text) {
        await this.send('Input.insertText', { text });
    }

    async key(key, code = key, windowsVirtualKeyCode = { Enter: 13, Escape: 27 }[key]) {
        const text = key === 'Enter' ? '\r' : undefined;
        await this.send('Input.dispatchKeyEvent', { type: 'keyDown', key, code, windowsVirtualKeyCode, text });
        await this.send('Input.dispatchKeyEvent', { type: 'keyUp', key, code, windowsVirtualKeyCode });
    }

    async reload() {
        await this.send('Page.reload');
        await pause(500);
    }

    async picture(file) {
        const { data } = await this.send('Page.captureScreenshot', { format: 'png' });
        fs.mkdirSync(path.dirname(file), { recursive: true });
        fs.writeFileSync(file, Buffer.from(data, 'base64'));
    }

    async close() {
        await this.browser.send('Target.closeTarget', { targetId: this.target });
    }
}
