// The engine: a `forklore serve` that this process starts, and starts again whenever it dies. It listens on this machine only, knows
// a key that nobody else knows, and ends with this process because its standard input does.

import { spawn } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { Reports } from './reports.js';
import { defined, lines, whole } from './wire.js';

// Nothing that SillyTavern waits for takes longer than this, in milliseconds.
export const LIMIT = 10_000;
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 30_000;
// An engine that lived this long did not die of its start.
const HEALTHY = 60_000;
// One that has not said by then that it listens never will.
const START = 20_000;

export class EngineDown extends Error {}

export class Engine {
    #own;
    /** @type {import('node:child_process').ChildProcessWithoutNullStreams | null} */
    #child = null;
    /** @type {URL | null} */
    #base = null;
    #version = null;
    #expected;
    /** @type {string | null} */
    #key = null;
    // The engine hangs up after ten seconds of silence; who hangs up first is never surprised by it.
    #agent = new http.Agent({ keepAlive: true, timeout: 5000 });
    /** @type {Map<string, Promise<string>>} */
    #tokens = new Map();
    #pause = FIRST_PAUSE;
    #restarts = 0;
    #message = 'Forklore\'s engine is being started.';
    #stopped = false;
    /** @type {(() => void)[]} */
    #waiting = [];
    #reports;

    // `version`: the one that the engine must have, too.
    constructor(own, version) {
        this.#own = own;
        this.#expected = version;
        this.#reports = new Reports(() => this.#base !== null, (root, seen) => this.ask(root, '/api/seen', seen, LIMIT * 3));
    }

    state() {
        const state = this.#base ? 'running' : this.#child ? 'starting' : 'down';
        return { state, version: this.#version, restarts: this.#restarts, message: this.#base ? null : this.#message };
    }

    // The program: the one that is named in the environment, the one that was written down at the installation, or the one on the PATH.
    #program() {
        let installed;
        try {
            installed = JSON.parse(fs.readFileSync(path.join(this.#own, 'engine.json'), 'utf8')).engine;
        } catch {
            // Installed by hand.
        }
        return process.env.FORKLORE_BIN || installed || 'forklore';
    }

    start() {
        if (this.#stopped) {
            return;
        }
        const program = this.#program();
        const begun = Date.now();
        let over = false;
        let child = null;
        const stop = (why) => {
            ended(why);
            child?.kill('SIGKILL');
        };
        const late = setTimeout(() => this.#base || stop(`it did not say within ${START / 1000} seconds that it listens`), START);
        late.unref();
        const ended = (why) => {
            if (over) {
                return;
            }
            over = true;
            clearTimeout(late);
            this.#child = this.#base = this.#key = null;
            this.#tokens.clear();
            if (this.#stopped) {
                return;
            }
            this.#message = `Forklore's engine (${program}) is not running: ${why}.`;
            console.error(`[Forklore] ${this.#message}`);
            this.#pause = Date.now() - begun > HEALTHY ? FIRST_PAUSE : Math.min(this.#pause * 2, LONGEST_PAUSE);
            this.#restarts += 1;
            setTimeout(() => this.start(), this.#pause).unref();
        };
        try {
            // Whoever had the key of another engine has nothing.
            this.#key = crypto.randomBytes(32).toString('hex');
            child = spawn(program, ['serve', '--managed', '--port', '0'], { stdio: ['pipe', 'pipe', 'pipe'], windowsHide: true });
            this.#child = child;
            child.on('error', (/** @type {NodeJS.ErrnoException} */ error) => ended(error.code === 'ENOENT' ? 'there is no such program; run `forklore install` again' : error.message));
            child.on('exit', (code, signal) => ended(signal ? `it was ended by ${signal}` : `it ended with ${code}`));
            for (const stream of [child.stdin, child.stdout, child.stderr]) {
                stream.on('error', () => {});
            }
            lines(child.stderr, (line) => console.error(`[Forklore] ${line}`));
            lines(child.stdout, (line) => this.#listens(line, stop));
            child.stdin.write(`${JSON.stringify({ key: this.#key })}\n`);
        } catch (error) {
            ended(error.message);
        }
    }

    #listens(line, stop) {
        try {
            const { url, version } = JSON.parse(line);
            const base = new URL(url);
            this.#version = version;
            if (version !== this.#expected) {
                stop(`it is version ${version}, and the plugin is ${this.#expected}; run \`forklore install\` again and restart SillyTavern`);
                return;
            }
            this.#base = base;
            console.log(`[Forklore] engine ${version} is ready`);
            this.#waiting.splice(0).forEach((ready) => ready());
            this.#reports.resume();
        } catch {
            // Whatever else it says is not for us.
        }
    }

    stop() {
        this.#stopped = true;
        this.#child?.stdin.end();
        this.#agent.destroy();
    }

    // Waits for an engine that is just being started, but not long: the first page opens while it starts.
    async #ready(deadline) {
        if (!this.#base && this.#child) {
            await new Promise((/** @type {(value?: unknown) => void} */ resolve) => {
                const timer = setTimeout(resolve, Math.max(0, Math.min(2000, deadline - Date.now())));
                this.#waiting.push(() => { clearTimeout(timer); resolve(); });
            });
        }
        if (!this.#base) {
            throw new EngineDown(this.#message);
        }
        return this.#base;
    }

    /**
     * One request to the engine; resolves with the response as soon as its headers are there.
     * @param {string} method
     * @param {string} address
     * @param {string | null} token
     * @param {string | undefined} body
     * @param {Record<string, any>} headers
     * @param {number} deadline
     * @returns {Promise<http.IncomingMessage>}
     */
    async #request(method, address, token, body, headers, deadline) {
        const base = await this.#ready(deadline);
        return new Promise((resolve, reject) => {
            const options = {
                host: base.hostname, port: base.port, path: address, method, agent: this.#agent,
                headers: { authorization: `Bearer ${token}`, ...defined(headers) },
            };
            if (body !== undefined) {
                options.headers['content-type'] = 'application/json';
                options.headers['content-length'] = Buffer.byteLength(body);
            }
            const request = http.request(options, (response) => { clearTimeout(timer); resolve(response); });
            const timer = setTimeout(() => request.destroy(new Error('it takes too long')), Math.max(1, deadline - Date.now()));
            request.on('error', (error) => { clearTimeout(timer); reject(error); });
            request.end(body);
        });
    }

    // The token of a user's folder. Another engine gives another one.
    #token(root, deadline) {
        const known = this.#tokens.get(root);
        if (known) {
            return known;
        }
        const opened = this.#request('POST', '/api/vaults', this.#key, JSON.stringify({ path: root }), {}, deadline)
            .then((response) => whole(response, deadline))
            .then(({ token, error }) => token ?? Promise.reject(new Error(error?.message ?? 'it does not open the folder')));
        this.#tokens.set(root, opened);
        opened.catch(() => this.#tokens.delete(root));
        return opened;
    }

    // Makes the engine look at a folder before anybody needs it.
    greet(root) {
        if (this.#base && !this.#tokens.has(root)) {
            this.#token(root, Date.now() + LIMIT).catch(() => {});
        }
    }

    // A request for a user's folder, as a stream.
    async open(root, method, address, body, headers = {}, limit = LIMIT * 30) {
        const deadline = Date.now() + limit;
        return this.#request(method, address, await this.#token(root, deadline), body, headers, deadline);
    }

    // A question for a user's folder; the answer within the limit, or an error. Without a body it only looks.
    async ask(root, address, body, limit = LIMIT) {
        const deadline = Date.now() + limit;
        const token = await this.#token(root, deadline);
        const [method, text] = body === undefined ? ['GET', undefined] : ['POST', JSON.stringify(body)];
        const response = await this.#request(method, address, token, text, {}, deadline);
        const answer = await whole(response, deadline);
        const { statusCode: status = 500 } = response;
        if (status >= 400) {
            throw Object.assign(new Error(answer?.error?.message ?? `it answered ${status}`), { status });
        }
        return answer;
    }

    // Tells what SillyTavern has done. Nobody waits for it.
    report(root, event) {
        this.#reports.add(root, event);
    }
}
