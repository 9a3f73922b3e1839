// All of it as somebody without rights: npm installs from a folder, `npx forklore install`, the real SillyTavern runs with the plugin, a newer
// Forklore takes the old one's place, `uninstall` takes everything back. Where the tests are run by root, it is done as `nobody`.

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import process from 'node:process';
import { after, test } from 'node:test';
import { FIRST, at, engineOf, files, install, packed, scratch, skip, source, tavern } from './lib/packages.js';

const NOBODY = 65534;
const isRoot = process.getuid?.() === 0;
const home = at('home');
const { FORKLORE_HOME: _home, FORKLORE_BIN: _bin, XDG_DATA_HOME: _data, ...rest } = process.env;
const who = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
const how = { ...who, env: { ...rest, HOME: home, npm_config_cache: path.join(home, 'npm') } };
const kept = path.join(home, '.local/share/forklore');
/** @type {import('node:child_process').ChildProcess | null} */
let server = null;

after(async () => {
    await stop();
    fs.rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

async function stop() {
    if (server && server.exitCode === null) {
        const over = new Promise((resolve) => server?.once('exit', resolve));
        server.kill('SIGKILL');
        await over;
    }
    server = null;
}

const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

/** A port that nobody listens on. */
async function freePort() {
    const listening = net.createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => listening.once('listening', resolve));
    const { port } = /** @type {import('node:net').AddressInfo} */ (listening.address());
    await new Promise((resolve) => listening.close(resolve));
    return port;
}

/** Gives everything to whom it is done as. */
function give(dir) {
    if (isRoot) {
        execFileSync('chown', ['-R', '-h', `${NOBODY}:${NOBODY}`, dir]);
    }
}

function cache(version) {
    const dir = at('home', `npx-${version}`);
    const packages = packed(version);
    fs.mkdirSync(dir, { recursive: true });
    fs.writeFileSync(path.join(dir, 'package.json'), '{}');
    give(home);
    return install(packages, dir, how);
}

// As npx runs what is in a folder.
function npx(dir, args) {
    const done = spawnSync('npm', ['exec', '--offline', '--prefix', dir, '--', 'forklore', ...args], { ...how, cwd: dir, encoding: 'utf8' });
    return { code: done.status, out: done.stdout, err: done.stderr };
}

// As SillyTavern's page asks: with its token and its session.
async function asPage(server, what) {
    const begun = await fetch(`${server}csrf-token`);
    const { token } = /** @type {{ token: string }} */ (await begun.json());
    const cookie = begun.headers.getSetCookie().map((set) => set.split(';')[0]).join('; ');
    return fetch(server + what, { headers: { 'X-CSRF-Token': token, cookie } });
}

// SillyTavern, until the plugin says that its engine runs.
async function plugin(st) {
    const port = await freePort();
    const log = fs.openSync(at('server.log'), 'a');
    const args = ['server.js', '--listen', 'false', '--browserLaunchEnabled', 'false', '--port', String(port), '--dataRoot', path.join(st, 'data')];
    const running = spawn(process.execPath, args, { ...how, cwd: st, stdio: ['ignore', log, log] });
    fs.closeSync(log);
    server = running;
    for (let tries = 0; ; tries += 1) {
        assert.ok(running.exitCode === null && tries < 1500, fs.readFileSync(at('server.log'), 'utf8'));
        try {
            const answer = await asPage(`http://127.0.0.1:${port}/`, 'api/plugins/forklore/plugin');
            const told = answer.ok ? await answer.json() : null;
            if (told?.engine.state === 'running') {
                return told;
            }
        } catch {
            // It does not listen yet.
        }
        await pause(200);
    }
}

const readable = spawnSync('test', ['-r', path.join(source, 'server.js')], who).status === 0;
const why = skip || (!readable && `${source} is closed to others than root`);

test('npx forklore, as a plain user, on the real SillyTavern', { skip: why }, async () => {
    fs.chmodSync(scratch, 0o755);
    fs.mkdirSync(home);
    const st = tavern('home/SillyTavern');
    fs.cpSync(path.join(source, 'public'), path.join(st, 'public'), { recursive: true });
    // Nobody opens the page: what it would need is not put together.
    fs.writeFileSync(path.join(st, 'public/lib.js'), 'export {};\n');
    fs.symlinkSync(path.join(source, '..'), path.join(st, 'node_modules'));
    give(home);
    const first = cache(FIRST);
    const before = files(st);

    assert.match(npx(first, []).out, /fork your story, keep its lore/);
    const done = npx(first, ['install', '--sillytavern', st]);
    assert.equal(done.code, 0, done.err);
    assert.match(done.out, /[Rr]estart/);
    const old = engineOf(st);
    assert.ok(old.startsWith(kept), `a folder of the user's own: ${old}`);
    assert.equal(fs.statSync(old).uid, isRoot ? NOBODY : process.getuid?.());
    // npx may empty its cache.
    fs.rmSync(first, { recursive: true });
    assert.equal((await plugin(st)).sillytavern, '1.19.0');

    // A newer one, while the older one runs: that one is not written over, and goes when it is not named any more.
    const second = cache('98.0.0');
    assert.equal(npx(second, ['install', '--sillytavern', st]).code, 0);
    assert.notEqual(engineOf(st), old);
    assert.ok(server?.exitCode === null, 'SillyTavern goes on');
    await stop();
    await plugin(st);
    await stop();
    assert.ok(!fs.existsSync(old), 'the old one is gone');

    assert.equal(npx(second, ['uninstall', '--sillytavern', st]).code, 0);
    assert.ok(!fs.existsSync(kept), 'nothing is kept');
    const ours = files(st).filter((name) => !before.includes(name) && !name.startsWith('data') && /forklore/i.test(name));
    assert.deepEqual(ours, [], 'nothing of ours is left');
    // There were no settings; SillyTavern makes its own again.
    assert.ok(!fs.existsSync(path.join(st, 'config.yaml')));
});
