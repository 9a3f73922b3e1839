// `npx forklore` as people get it: packed tarballs in a folder, installed by npm without a registry, on the real SillyTavern's files.
// `FORKLORE_PROGRAM` is the program, `FORKLORE_SILLYTAVERN` the folder that `cargo xtask tools` fills. Without them it is skipped.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const repository = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const program = process.env.FORKLORE_PROGRAM ?? path.resolve(repository, process.env.CARGO_TARGET_DIR ?? 'target', 'debug/forklore');
const taverns = process.env.FORKLORE_SILLYTAVERN ?? path.join(repository, '.tools');
const source = path.join(taverns, 'sillytavern-1.19.0/node_modules/sillytavern');
const system = `${process.platform}-${process.arch}`;
const skip = [program, source].filter((file) => !fs.existsSync(file)).map((file) => `there is no ${file}`)[0] ?? false;

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'forklore npm '));
after(() => fs.rmSync(scratch, { recursive: true, force: true }));
const at = (...parts) => path.join(scratch, ...parts);

// One version of both packages, as `cargo xtask dist` makes them, installed into a folder of its own as npx does into its cache.
function installed(version) {
    const launcher = at(version, 'src/launcher');
    fs.cpSync(path.join(repository, 'npm/forklore'), launcher, { recursive: true });
    const manifest = JSON.parse(fs.readFileSync(path.join(launcher, 'package.json'), 'utf8'));
    Object.assign(manifest, { version, optionalDependencies: { [`@forklore/${system}`]: version } });
    fs.writeFileSync(path.join(launcher, 'package.json'), JSON.stringify(manifest));
    const engine = at(version, 'src/engine');
    fs.mkdirSync(engine, { recursive: true });
    fs.copyFileSync(program, path.join(engine, 'forklore'));
    // Another version has other bytes.
    fs.appendFileSync(path.join(engine, 'forklore'), version);
    const [name, cpu] = system.split('-');
    fs.writeFileSync(path.join(engine, 'package.json'), JSON.stringify({ name: `@forklore/${system}`, version, os: [name], cpu: [cpu] }));
    const packed = [launcher, engine].map((dir) => {
        const output = execFileSync('npm', ['pack', '--silent', '--pack-destination', at(version), dir], { encoding: 'utf8', cwd: scratch });
        return at(version, output.trim());
    });
    const cache = at(version, 'npx');
    fs.mkdirSync(cache);
    fs.writeFileSync(path.join(cache, 'package.json'), '{}');
    execFileSync('npm', ['install', '--silent', '--offline', '--no-audit', '--no-fund', '--prefix', cache, ...packed], { cwd: cache });
    return cache;
}

// A SillyTavern of its own: links to the real one's files.
function tavern(name) {
    const dir = at(name);
    fs.mkdirSync(dir, { recursive: true });
    for (const entry of fs.readdirSync(source)) {
        if (!['plugins', 'public', 'config.yaml', 'data'].includes(entry)) {
            fs.cpSync(path.join(source, entry), path.join(dir, entry), { recursive: true });
        }
    }
    fs.mkdirSync(path.join(dir, 'plugins'));
    fs.mkdirSync(path.join(dir, 'public/scripts/extensions/third-party'), { recursive: true });
    return dir;
}

function forklore(cache, args, cwd = scratch) {
    const env = { ...process.env, HOME: at('home'), FORKLORE_HOME: at('kept'), XDG_DATA_HOME: at('home/.local/share') };
    fs.mkdirSync(at('home'), { recursive: true });
    const done = spawnSync(path.join(cache, 'node_modules/.bin/forklore'), args, { encoding: 'utf8', env, cwd });
    return { code: done.status, out: done.stdout, err: done.stderr };
}

const files = (dir) => fs.readdirSync(dir, { recursive: true }).map(String).sort();
const engineOf = (dir) => JSON.parse(fs.readFileSync(path.join(dir, 'plugins/forklore/engine.json'), 'utf8')).engine;

test('npx forklore', { skip }, async (t) => {
    const first = installed('0.1.0');
    const st = tavern('SillyTavern');
    const before = files(st);
    const config = path.join(st, 'config.yaml');

    await t.test('alone it tells what it is, where SillyTavern is, and what to do; it changes nothing', () => {
        const { code, out } = forklore(first, [], st);
        assert.equal(code, 0);
        assert.match(out, /fork your story, keep its lore/);
        assert.ok(out.includes(`is in ${fs.realpathSync(st)}`), out);
        assert.match(out, /Forklore is not in it yet/);
        assert.match(out, /npx forklore install/);
        assert.deepEqual(files(st), before);
        assert.ok(!fs.existsSync(at('kept')));
    });

    await t.test('where there is no SillyTavern it asks for the folder', () => {
        fs.mkdirSync(at('nowhere'));
        const { code, out } = forklore(first, [], at('nowhere'));
        // One that is beside is found from the folder around it; here only the hint counts.
        assert.equal(code, 0);
        assert.match(out, /npx forklore install/);
        assert.notEqual(forklore(first, ['install', '--sillytavern', at('nowhere')]).code, 0);
        assert.ok(!fs.existsSync(at('kept')), 'nothing is kept where nothing is installed');
    });

    await t.test('--dry-run keeps nothing', () => {
        assert.equal(forklore(first, ['install', '--dry-run'], st).code, 0);
        assert.ok(!fs.existsSync(at('kept')));
        assert.deepEqual(files(st), before);
    });

    await t.test('install keeps the program where npx does not reach, and SillyTavern is told of that one', () => {
        const { code, out, err } = forklore(first, ['install'], st);
        assert.equal(code, 0, err);
        assert.match(out, /[Rr]estart/);
        const engine = engineOf(st);
        assert.ok(engine.startsWith(fs.realpathSync(at('kept'))), engine);
        fs.rmSync(first, { recursive: true });
        assert.match(execFileSync(engine, ['--version'], { encoding: 'utf8' }), /forklore/);
        assert.match(fs.readFileSync(config, 'utf8'), /enableServerPlugins: true/);
    });

    const second = installed('0.2.0');
    await t.test('a newer one takes its place, and the old one goes', () => {
        const old = engineOf(st);
        assert.match(forklore(second, [], st).out, /Forklore is in it|Forklore \S+ is in it/);
        assert.equal(forklore(second, ['install'], st).code, 0);
        assert.notEqual(engineOf(st), old);
        assert.ok(!fs.existsSync(old));
        assert.ok(fs.existsSync(engineOf(st)));
    });

    await t.test('an engine that another SillyTavern still names stays', () => {
        const other = tavern('other/SillyTavern');
        assert.equal(forklore(second, ['install'], other).code, 0);
        const shared = engineOf(other);
        const third = installed('0.3.0');
        assert.equal(forklore(third, ['install'], st).code, 0);
        assert.ok(fs.existsSync(shared));
        assert.equal(forklore(third, ['uninstall'], other).code, 0);
        assert.ok(!fs.existsSync(shared));
        assert.ok(fs.existsSync(engineOf(st)));
    });

    await t.test('what is not known here is the program\'s, with its exit code', () => {
        assert.match(forklore(second, ['--version']).out, /^forklore \d/);
        assert.equal(forklore(second, ['no-such-command']).code, 2);
    });

    await t.test('uninstall takes everything back', () => {
        assert.equal(forklore(second, ['uninstall'], st).code, 0);
        assert.deepEqual(files(st), before);
        assert.ok(!fs.existsSync(at('kept')), 'nothing is kept');
    });
});
