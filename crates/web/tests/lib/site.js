// Forklore's own pages in a real browser. `Site` is a `forklore serve` on a copy of a vault; `Visit` is a tab on it, which remembers
// whatever a page must not do: throw, complain, break its policy, ask another machine.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before } from 'node:test';
import url from 'node:url';
import { Browser } from '../../../../sillytavern/tests/lib/chromium.js';

export { Browser };
export const REPOSITORY = path.resolve(path.dirname(url.fileURLToPath(import.meta.url)), '../../../..');
export const FORKLORE = process.env.FORKLORE_BIN || path.join(REPOSITORY, 'target/debug/forklore');
export const HARBOR = path.join(REPOSITORY, 'crates/testkit/fixtures/harbor');
const MODULES = process.env.FORKLORE_NODE_MODULES || path.join(REPOSITORY, '.tools/node_modules');
// So many milliseconds pass before anything comes, as on a machine that is busy: a test that does not wait for what it needs fails then.
const LATENCY = Number(process.env.FORKLORE_LATENCY || 0);
export const PHONE = { width: 390, height: 780 };

// A folder of its own with the demo story in it.
export function demo() {
    const vault = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'forklore-web-')), 'demo');
    execFileSync(FORKLORE, ['demo', vault], { stdio: 'ignore' });
    return vault;
}

// A copy of the vault that the real software made.
export function harbor() {
    const vault = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'forklore-web-')), 'harbor');
    fs.cpSync(HARBOR, vault, { recursive: true });
    return vault;
}

// An empty vault: `chats/` and `worlds/`.
export function empty() {
    const vault = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'forklore-web-')), 'empty');
    for (const folder of ['chats', 'worlds', 'characters', 'groups', 'group chats']) {
        fs.mkdirSync(path.join(vault, folder), { recursive: true });
    }
    return vault;
}

// Writes a chat as SillyTavern does. Messages are texts, or whole objects.
export function writeChat(vault, folder, name, messages, metadata = {}) {
    const header = { user_name: 'You', character_name: folder, create_date: '2026-01-01@00h00m00s', chat_metadata: { integrity: `${folder}-${name}`, ...metadata } };
    const lines = messages.map((message, i) => (typeof message === 'string'
        ? { name: i % 2 ? 'You' : folder, is_user: i % 2 === 1, send_date: `2026-01-01T00:${String(i % 60).padStart(2, '0')}:00Z`, mes: message } : message));
    const file = path.join(vault, 'chats', folder, `${name}.jsonl`);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, [header, ...lines].map((line) => JSON.stringify(line)).join('\n'));
}

// What most files of tests begin with: a browser and the demo story, served; both end with the tests. `there` gets them.
export function stage(there) {
    let browser;
    let site;
    before(async () => {
        browser = await Browser.start();
        site = await Site.start(demo());
        there(browser, site);
    });
    after(async () => {
        await browser?.stop();
        await site?.stop();
    });
}

export class Site {
    /** @type {string | null} */
    vault;
    /** @type {import('node:child_process').ChildProcess} */
    child;
    // What `forklore serve` says of itself.
    url = '';
    token = '';
    code = '';

    // `vault`: a folder that is served as it is; none if null. `args`: more arguments of `forklore serve`.
    static async start(vault, args = [], options = {}) {
        const site = new Site();
        site.vault = vault;
        const named = vault ? ['--vault', vault] : [];
        site.child = spawn(FORKLORE, ['serve', '--json', ...(args.includes('--port') ? [] : ['--port', '0']), ...named, ...args], { stdio: ['ignore', 'pipe', 'inherit'], ...options });
        const line = await new Promise((resolve, reject) => {
            let text = '';
            site.child.once('exit', (code) => reject(new Error(`forklore serve ended with ${code}`)));
            site.child.stdout.setEncoding('utf8').on('data', (more) => {
                text += more;
                if (text.includes('\n')) {
                    resolve(text);
                }
            });
        });
        Object.assign(site, JSON.parse(line));
        // A test that fails leaves its site behind: that must neither keep the others from ending nor outlive them.
        site.child.unref();
        /** @type {import('node:net').Socket} */ (site.child.stdout).unref();
        process.on('exit', () => site.child.kill('SIGKILL'));
        return site;
    }

    // A call of the API, as another program makes it.
    async api(call, args = {}, body = undefined) {
        const address = new URL(`api/${call}`, this.url);
        Object.entries(args).forEach(([name, value]) => address.searchParams.set(name, value));
        const headers = { Authorization: `Bearer ${this.token}`, ...(body && { 'Content-Type': 'application/json' }) };
        const response = await fetch(address, { method: body ? 'POST' : 'GET', headers, body: body && JSON.stringify(body) });
        return response.json();
    }

    async stop() {
        const over = new Promise((resolve) => this.child.once('exit', resolve));
        this.child.ref();
        this.child.kill('SIGINT');
        await over;
        if (this.vault?.startsWith(os.tmpdir())) {
            fs.rmSync(path.dirname(this.vault), { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
        }
    }
}

export class Visit {
    /** @type {Site} */
    site;
    /** @type {import('../../../../sillytavern/tests/lib/chromium.js').Page} */
    page;
    // Where this browser was let in.
    base = '';

    // An empty tab for a site. `dark`: at night.
    static async tab(browser, site, { width = 1280, height = 900, dark = false } = {}) {
        const visit = new Visit();
        visit.site = site;
        visit.page = await browser.open('about:blank', { width, height });
        await visit.page.send('Network.enable');
        if (LATENCY) {
            await visit.page.send('Network.emulateNetworkConditions', { offline: false, latency: LATENCY, downloadThroughput: -1, uploadThroughput: -1 });
        }
        await visit.page.send('Emulation.setEmulatedMedia', { features: [
            { name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }, { name: 'prefers-reduced-motion', value: 'reduce' },
        ] });
        return visit;
    }

    // Opens a page with the address that `forklore serve` prints, and waits until it is there.
    static async start(browser, site, address = '', options = {}) {
        const visit = await Visit.tab(browser, site, options);
        await visit.enter();
        if (address) {
            await visit.go(address);
        }
        return visit;
    }

    // With an address as `forklore serve` prints it: each works once. Waits until the page can be used.
    async enter() {
        await this.knock();
        await this.ready();
    }

    // As `enter`, until the page can be seen: its scripts may still be on their way.
    async knock() {
        const { code } = await this.site.api('code', {}, {});
        await this.page.send('Page.navigate', { url: `${this.site.url}#code=${code}` });
        await this.page.until('let in', () => document.querySelector('.top nav') !== null && location.pathname.includes('/~'));
        this.base = await this.run(() => location.href);
    }

    // An address of this site, as this browser has it.
    at(address) {
        return new URL(address, this.base || this.site.url).href;
    }

    // Goes to another page, relative to the base.
    async go(address) {
        await this.page.send('Page.navigate', { url: this.at(address) });
        await this.ready();
    }

    // Waits until the page and its scripts are there, and not the one that is seen meanwhile.
    async ready() {
        await this.page.until('loaded', () => document.readyState === 'complete' && location.href !== 'about:blank' && !document.querySelector('.waiting'));
    }

    run(code, ...args) {
        return this.page.run(code, ...args);
    }

    until(what, code, ...args) {
        return this.page.until(what, code, ...args);
    }

    // Nobody sees where to click before the styles are there: until then everything is elsewhere.
    async click(selector, options) {
        await this.until('the styles', () => [...document.querySelectorAll('link[rel=stylesheet]')].every(({ sheet }) => sheet));
        return this.page.click(selector, options);
    }

    // Presses a key once: `press('ArrowRight')`, `press('Tab')`, `press('Tab', { shift: true })`, `press('k', { ctrl: true })`.
    async press(key, { shift = false, ctrl = false } = {}) {
        const codes = { Enter: 13, Escape: 27, Tab: 9, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40, Home: 36, End: 35, ' ': 32, PageUp: 33, PageDown: 34 };
        const text = key === 'Enter' ? '\r' : key.length === 1 && !ctrl ? key : undefined;
        const event = { key, code: key === ' ' ? 'Space' : key, windowsVirtualKeyCode: codes[key] ?? key.toUpperCase().charCodeAt(0), modifiers: (shift ? 8 : 0) + (ctrl ? 2 : 0) };
        await this.page.send('Input.dispatchKeyEvent', { type: 'keyDown', text, ...event });
        await this.page.send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
    }

    async type(text) {
        await this.page.type(text);
    }

    // Nothing went wrong on any page so far, and nothing was asked of another machine.
    clean() {
        assert.deepEqual(this.page.errors, [], 'no page throws or complains');
        // The browser notes that the first page was not answered, as it should.
        const first = (log) => /status of 401/.test(log) && log.includes(` ${this.site.url}#code=`);
        assert.deepEqual(this.page.logs.filter((log) => !first(log)), [], 'no page breaks its policy or misses a file');
        const own = new URL(this.site.url).origin;
        const foreign = this.page.requests.filter((address) => !address.startsWith(own) && !/^(about|data|blob):/.test(address));
        assert.deepEqual(foreign, [], 'no page asks another machine');
    }

    // The page can be used by people who do not see it, or use no mouse: axe-core has no serious finding.
    async accessible(what) {
        const axe = fs.readFileSync(path.join(MODULES, 'axe-core/axe.min.js'), 'utf8');
        await this.page.send('Runtime.evaluate', { expression: axe });
        const found = await this.run(async () => {
            const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
            return violations.filter(({ impact }) => ['serious', 'critical'].includes(impact))
                .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 3).map((node) => `${node.html} (${node.failureSummary})`).join(' | ')}`);
        });
        assert.deepEqual(found, [], `${what} is accessible`);
        assert.doesNotMatch(await this.run(() => document.querySelector('main').innerText), /\b(?!FORKLORE)[A-Z]{3,}_[A-Z]{3,}\b/, `${what} has no codes`);
    }

    // Nothing hangs over the edge of the screen.
    async fits(what) {
        const look = () => this.run(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
        let [wide, screen] = await look();
        // A page that has just got its width is laid out once more.
        for (let tries = 0; tries < 30 && wide > screen; tries += 1) {
            await new Promise((done) => { setTimeout(done, 100); });
            [wide, screen] = await look();
        }
        assert.ok(wide <= screen, `${what} is ${wide} pixels wide on a screen of ${screen}`);
    }

    // A picture for the guide, or for looking at: into the folder FORKLORE_PICTURES, if it is set.
    async picture(name) {
        if (process.env.FORKLORE_PICTURES) {
            await this.page.picture(path.join(process.env.FORKLORE_PICTURES, `web-${name}.png`));
        }
    }

    async close() {
        await this.page.close();
    }
}
