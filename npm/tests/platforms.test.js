// Who installs `forklore` gets the program for their system, and no other: npm chooses among the optional dependencies. The packages in the folder
// `FORKLORE_PACKAGES` are served by a registry on this machine, and npm is told to be on each of the systems.
//
// The package of another system cannot be named to npm: what is named is not optional, and npm 11 holds that against the system that it runs on,
// whatever `--os` says. It ends with EBADPLATFORM, and says nothing where it is `--silent`. Nobody needs it: people name `forklore`.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { registry } from './lib/registry.js';

const packages = process.env.FORKLORE_PACKAGES;
const skip = packages ? false : 'FORKLORE_PACKAGES names no folder with packages; cargo xtask dist makes them';
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'forklore npm '));

after(() => fs.rmSync(scratch, { recursive: true, force: true }));

/** Not waited for as others are: the registry answers in this very process. */
async function run(program, args, cwd) {
    const env = { ...process.env, HOME: scratch, npm_config_cache: path.join(scratch, 'cache') };
    delete env.FORKLORE_BIN;
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let [out, err] = ['', ''];
    child.stdout.on('data', (part) => { out += part; });
    child.stderr.on('data', (part) => { err += part; });
    const code = await new Promise((resolve, reject) => { child.on('close', resolve); child.on('error', reject); });
    return { code, out, err };
}

/** What npm installs for somebody on this system. */
async function installed(url, what, [system, cpu]) {
    const dir = fs.mkdtempSync(path.join(scratch, `${system}-${cpu}-`));
    fs.writeFileSync(path.join(dir, 'package.json'), '{}');
    const told = ['--registry', url, '--no-audit', '--no-fund', '--fetch-retries', '0', '--os', system, '--cpu', cpu];
    return { dir, ...await run('npm', ['install', ...told, what], dir) };
}

/** What the launcher says there, as if it ran on this system. */
async function program(dir, [system, cpu]) {
    const launcher = pathToFileURL(path.join(dir, 'node_modules/forklore/lib/program.js')).href;
    const script = `
        Object.defineProperty(process, 'platform', { value: ${JSON.stringify(system)} });
        Object.defineProperty(process, 'arch', { value: ${JSON.stringify(cpu)} });
        const { program } = await import(${JSON.stringify(launcher)});
        try { console.log(program()); } catch (error) { console.log(error.message); }`;
    return (await run(process.execPath, ['--input-type=module', '--eval', script], dir)).out.trim();
}

const engines = (dir) => {
    const folder = path.join(dir, 'node_modules/@forklore');
    return fs.existsSync(folder) ? fs.readdirSync(folder) : [];
};

test('npm chooses the program for the system', { skip }, async (t) => {
    const served = await registry(packages ?? '');
    try {
        const launcher = served.manifests.find(({ name }) => name === 'forklore');
        const programs = served.manifests.filter(({ name }) => name.startsWith('@forklore/'));
        assert.ok(launcher && programs.length > 0, `${packages} has the launcher and programs`);
        for (const { name, version, os: [system], cpu: [cpu] } of programs) {
            await t.test(`${system} on ${cpu}`, async () => {
                assert.equal(name, `@forklore/${system}-${cpu}`);
                assert.equal(launcher.optionalDependencies[name], version);
                const { dir, code, err } = await installed(served.url, 'forklore', [system, cpu]);
                assert.equal(code, 0, err);
                assert.deepEqual(engines(dir), [`${system}-${cpu}`]);
                const file = path.join(dir, 'node_modules', name, system === 'win32' ? 'forklore.exe' : 'forklore');
                assert.equal(await program(dir, [system, cpu]), fs.realpathSync(file));
                assert.equal(fs.statSync(file).mode & 0o555, 0o555, 'it can be run');
            });
        }
        await t.test('a system for which there is none is told so by the launcher, not by npm', async () => {
            const { dir, code, err } = await installed(served.url, 'forklore', ['sunos', 'x64']);
            assert.equal(code, 0, err);
            assert.deepEqual(engines(dir), []);
            assert.equal(await program(dir, ['sunos', 'x64']), 'There is no Forklore for sunos-x64 yet.');
        });
    } finally {
        await served.close();
    }
});
