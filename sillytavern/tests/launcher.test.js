// SillyTavern as npm installs it, started by its own launcher (`sillytavern`): settings and data are in the user's folder, not where the
// program is. No browser.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, test } from 'node:test';
import { answers, FORKLORE, freePort, HARBOR, INSTALLED, LANE, linkTree, pause, TOOLS, VERSION } from './lib/tavern.js';

const dir = path.join(TOOLS, `launched-${VERSION}`);
const tree = path.join(dir, 'lib/node_modules/sillytavern');
const home = path.join(dir, 'home');
const own = path.join(home, '.local/share/SillyTavern');
const { XDG_DATA_HOME: _, ...rest } = process.env;
const env = { ...rest, HOME: home, FORKLORE_BIN: '', GIT_DIR: '/dev/null' };
/** @type {import('node:child_process').ChildProcess | null} */
let running = null;

afterEach(async () => {
    await stop();
    fs.rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

function set() {
    const npm = fs.realpathSync(path.join(INSTALLED, `sillytavern-${VERSION}/node_modules`));
    fs.rmSync(dir, { recursive: true, force: true });
    linkTree(path.join(npm, 'sillytavern'), tree);
    fs.symlinkSync(npm, path.join(tree, 'node_modules'));
    fs.mkdirSync(path.join(own, 'data'), { recursive: true });
    fs.cpSync(HARBOR, path.join(own, 'data/default-user'), { recursive: true });
    // What its page needs is put together once, by the tests of the page.
    for (const place of [path.join(own, 'data'), path.join(tree, 'dist')]) {
        const libraries = path.join(TOOLS, `libraries-run-${VERSION}${LANE}`);
        fs.mkdirSync(libraries, { recursive: true });
        fs.mkdirSync(place, { recursive: true });
        fs.rmSync(path.join(place, '_webpack'), { recursive: true, force: true });
        fs.symlinkSync(libraries, path.join(place, '_webpack'));
    }
}

// As somebody types it, anywhere.
async function launch(port) {
    const log = fs.openSync(path.join(dir, 'server.log'), 'a');
    const args = [path.join(tree, 'src/server-global.js'), '--listen', 'false', '--browserLaunchEnabled', 'false', '--port', String(port)];
    const child = spawn(process.execPath, args, { cwd: home, env, stdio: ['ignore', log, log] });
    fs.closeSync(log);
    running = child;
    const said = () => fs.readFileSync(path.join(dir, 'server.log'), 'utf8');
    for (let tries = 0; !await answers(`http://127.0.0.1:${port}/`); tries += 1) {
        assert.ok(child.exitCode === null && tries < 1500, said());
        await pause(200);
    }
}

async function stop() {
    if (running && running.exitCode === null) {
        const over = new Promise((resolve) => running?.once('exit', resolve));
        running.kill('SIGTERM');
        await over;
    }
    running = null;
}

function forklore(...args) {
    try {
        return JSON.parse(execFileSync(FORKLORE, ['--json', ...args], { cwd: home, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
    } catch (error) {
        return JSON.parse(error.stdout);
    }
}

// What doctor says of the plugin in the SillyTavern that runs.
function plugin(port) {
    const { points } = forklore('doctor', '--sillytavern', tree, '--vault', path.join(own, 'data/default-user'), '--port', String(port));
    return points.find(({ about }) => about === 'plugin');
}

for (const first of ['SillyTavern ran before', 'Forklore is there first']) {
    test(`regression: the launcher's SillyTavern loads the plugin: ${first}`, async () => {
        set();
        const port = await freePort();
        const config = path.join(own, 'config.yaml');
        if (first === 'SillyTavern ran before') {
            await launch(port);
            assert.match(fs.readFileSync(config, 'utf8'), /^enableServerPlugins: false/m, 'its own settings');
            await stop();
        }
        const { written } = forklore('install', '--sillytavern', tree);
        assert.ok(written.includes(config), written.join('\n'));
        assert.match(fs.readFileSync(config, 'utf8'), /^enableServerPlugins: true/m);
        await launch(port);
        assert.match(fs.readFileSync(config, 'utf8'), /^enableServerPlugins: true/m, 'and SillyTavern leaves it so');
        const found = plugin(port);
        assert.equal(found.health, 'ok', JSON.stringify(found));
        assert.match(found.message, new RegExp(`answers at port ${port}`));
        // Somebody turns plugins off: the one that runs is told apart from the one that is installed.
        await stop();
        fs.writeFileSync(config, fs.readFileSync(config, 'utf8').replace('enableServerPlugins: true', 'enableServerPlugins: false'));
        await launch(port);
        const off = plugin(port);
        assert.equal(off.health, 'error', JSON.stringify(off));
        assert.match(`${off.message} ${off.remedy}`, /plugins?.*forklore install/s);
        await stop();
        forklore('uninstall', '--sillytavern', tree);
        assert.equal(fs.existsSync(path.join(tree, 'plugins/forklore')), false);
    });
}
