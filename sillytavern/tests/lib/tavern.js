// A real SillyTavern server with Forklore in it, on a copy of a vault. Each has a folder of its own below `.tools/`: SillyTavern's files
// as links to the ones that npm installed, and a data folder with the vault. Only the libraries that its page needs are put together
// once and kept, because that takes a minute.

import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import url from 'node:url';

export const REPOSITORY = path.resolve(path.dirname(url.fileURLToPath(import.meta.url)), '../../..');
export const TOOLS = path.join(REPOSITORY, '.tools');
// Where npm has put SillyTavern, in `sillytavern-VERSION/`.
export const INSTALLED = process.env.FORKLORE_SILLYTAVERN || TOOLS;
export const FORKLORE = process.env.FORKLORE_BIN || path.join(REPOSITORY, 'target/debug/forklore');
const PATIENCE = 600_000;

// Tests that run beside each other have servers beside each other.
export const LANE = process.env.FORKLORE_LANE ? `-${process.env.FORKLORE_LANE}` : '';
export const VERSION = process.env.FORKLORE_SILLYTAVERN_VERSION || '1.19.0';
export const HARBOR = path.join(REPOSITORY, 'crates/testkit/fixtures/harbor');

export class Tavern {
    version = VERSION;
    // Everything of this server's, its own files, the folder of all users, and that of the only one.
    dir = '';
    tree = '';
    data = '';
    vault = '';
    port = 0;
    url = '';
    /** @type {import('node:child_process').ChildProcess} */
    child;

    // `vault`: a folder that is copied. `extensions`: folders of further extensions. `plugin: false`: without the server plugin.
    static async start({ vault, extensions = [], plugin = true, version = VERSION, prepare = (/** @type {Tavern} */ _tavern) => {} }) {
        const tavern = new Tavern();
        tavern.version = version;
        const npm = fs.realpathSync(path.join(INSTALLED, `sillytavern-${version}/node_modules`));
        fs.mkdirSync(TOOLS, { recursive: true });
        // The same place every time: the libraries are put together for it. So there is one server of a version at a time in each lane.
        tavern.dir = path.join(TOOLS, `run-${version}${LANE}`);
        fs.rmSync(tavern.dir, { recursive: true, force: true });
        fs.mkdirSync(tavern.dir);
        tavern.tree = path.join(tavern.dir, 'SillyTavern');
        tavern.data = path.join(tavern.dir, 'data');
        tavern.vault = path.join(tavern.data, 'default-user');
        linkTree(path.join(npm, 'sillytavern'), tavern.tree);
        fs.symlinkSync(npm, path.join(tavern.tree, 'node_modules'));
        fs.mkdirSync(tavern.data);
        fs.cpSync(vault, tavern.vault, { recursive: true });
        prepare(tavern);
        const libraries = path.join(TOOLS, `libraries-${path.basename(tavern.dir)}`);
        fs.mkdirSync(libraries, { recursive: true });
        fs.symlinkSync(libraries, path.join(tavern.data, '_webpack'));
        // In a container SillyTavern looks here.
        fs.mkdirSync(path.join(tavern.tree, 'dist'), { recursive: true });
        // A server that ran where npm has put it has left its own there.
        fs.rmSync(path.join(tavern.tree, 'dist/_webpack'), { recursive: true, force: true });
        fs.symlinkSync(libraries, path.join(tavern.tree, 'dist/_webpack'));
        install(tavern.tree, plugin);
        for (const extension of extensions) {
            const folder = path.join(tavern.tree, 'public/scripts/extensions/third-party', path.basename(extension));
            fs.cpSync(extension, folder, { recursive: true });
        }
        await tavern.#run();
        return tavern;
    }

    async #run() {
        this.port = await freePort();
        this.url = `http://127.0.0.1:${this.port}/`;
        const log = fs.openSync(path.join(this.dir, 'server.log'), 'a');
        // Older ones read their packages only below their own folder, where these are links.
        const links = this.version.startsWith('1.13.') ? ['--preserve-symlinks'] : [];
        const args = [...links, 'server.js', '--listen', 'false', '--browserLaunchEnabled', 'false', '--port', String(this.port), '--dataRoot', this.data];
        this.child = spawn(process.execPath, args, {
            cwd: this.tree, stdio: ['ignore', log, log], // It would take this repository for its own.
            env: { ...process.env, FORKLORE_BIN: FORKLORE, GIT_DIR: '/dev/null' },
        });
        fs.closeSync(log);
        const start = Date.now();
        while (!(await answers(this.url))) {
            if (this.child.exitCode !== null || Date.now() - start > PATIENCE) {
                throw new Error(`SillyTavern ${this.version} did not start:\n${this.log()}`);
            }
            await pause(200);
        }
    }

    log() {
        return fs.readFileSync(path.join(this.dir, 'server.log'), 'utf8');
    }

    async stop() {
        if (this.child.exitCode === null) {
            const over = new Promise((resolve) => this.child.once('exit', resolve));
            this.child.kill('SIGTERM');
            const late = setTimeout(() => this.child.kill('SIGKILL'), 10_000);
            await over;
            clearTimeout(late);
        }
        if (!process.env.FORKLORE_KEEP) {
            fs.rmSync(this.dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
        }
    }

    // Process ids of the engine that the plugin started.
    engines() {
        const children = fs.readFileSync(`/proc/${this.child.pid}/task/${this.child.pid}/children`, 'utf8').trim().split(/\s+/);
        return children.filter((pid) => pid && fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--managed')).map(Number);
    }

    // The lines of a chat: its header, then its messages.
    chat(address) {
        const [folder, ...name] = address.split('/');
        const file = folder.startsWith('group:')
            ? path.join(this.vault, 'group chats', `${name.join('/')}.jsonl`)
            : path.join(this.vault, 'chats', folder, `${name.join('/')}.jsonl`);
        return fs.readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
    }

    header(address) {
        return this.chat(address)[0].chat_metadata;
    }

    chats(folder) {
        return fs.readdirSync(path.join(this.vault, 'chats', folder)).filter((file) => file.endsWith('.jsonl')).map((file) => file.replace(/\.jsonl$/, '')).sort();
    }

    book(name) {
        return JSON.parse(fs.readFileSync(path.join(this.vault, 'worlds', `${name}.json`), 'utf8'));
    }

    books() {
        return fs.readdirSync(path.join(this.vault, 'worlds')).filter((file) => file.endsWith('.json')).map((file) => file.replace(/\.json$/, '')).sort();
    }

    // What the command line says, as JSON.
    forklore(...args) {
        try {
            return JSON.parse(execFileSync(FORKLORE, ['--vault', this.vault, '--json', ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
        } catch (error) {
            return JSON.parse(error.stdout);
        }
    }
}

// As `forklore install` does it. With FORKLORE_SOURCES=1, for working on the extension, the files are this repository's and not the
// ones in the program.
function install(tree, plugin) {
    if (!process.env.FORKLORE_SOURCES) {
        execFileSync(FORKLORE, ['install', '--sillytavern', tree], { stdio: ['ignore', 'ignore', 'inherit'] });
    } else {
        fs.cpSync(path.join(REPOSITORY, 'sillytavern/plugin'), path.join(tree, 'plugins/forklore'), { recursive: true });
        const extension = path.join(tree, 'public/scripts/extensions/third-party/forklore');
        fs.mkdirSync(path.dirname(extension), { recursive: true });
        fs.symlinkSync(path.join(REPOSITORY, 'sillytavern/extension'), extension);
        const config = fs.readFileSync(path.join(tree, 'default/config.yaml'), 'utf8');
        fs.writeFileSync(path.join(tree, 'config.yaml'), config.replace('enableServerPlugins: false', 'enableServerPlugins: true'));
    }
    if (!plugin) {
        fs.rmSync(path.join(tree, 'plugins/forklore'), { recursive: true });
    }
}

export function linkTree(from, to) {
    fs.mkdirSync(to, { recursive: true });
    for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
        const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
        if (entry.isDirectory()) {
            if (entry.name !== 'node_modules') {
                linkTree(source, target);
            }
        } else {
            try {
                fs.linkSync(source, target);
            } catch {
                fs.copyFileSync(source, target);
            }
        }
    }
}

export async function freePort() {
    const server = net.createServer();
    const port = await listening(server);
    await new Promise((resolve) => { server.close(resolve); });
    return port;
}

/**
 * Lets a server listen on this machine. Gives its port.
 * @param {net.Server} server
 * @returns {Promise<number>}
 */
export function listening(server) {
    return new Promise((resolve) => {
        server.listen(0, '127.0.0.1', () => resolve(/** @type {net.AddressInfo} */ (server.address()).port));
    });
}

export async function answers(address) {
    try {
        return (await fetch(new URL('csrf-token', address))).ok;
    } catch {
        return false;
    }
}

export function pause(milliseconds) {
    return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

// Waits until something is so, and gives it. A file that is not there is one that is about to come, or that has just become another.
export async function becomes(what, so) {
    for (let tries = 0; tries < 150; tries += 1) {
        const is = await (async () => so())().catch((error) => { if (error.code !== 'ENOENT') { throw error; } });
        if (is) {
            return is;
        }
        await pause(100);
    }
    throw new Error(`never: ${what}`);
}
