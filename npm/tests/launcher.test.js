// `npx forklore` as people get it: packed tarballs in a folder, installed by npm without a registry, on the real SillyTavern's files.
// Without a program or SillyTavern it is skipped.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { after, test } from 'node:test';
import { FIRST, at, engineOf, files, install, packed, scratch, skip, tavern } from './lib/packages.js';

after(() => fs.rmSync(scratch, { recursive: true, force: true }));

function installed(version) {
    const cache = at(version, 'npx');
    const packages = packed(version);
    fs.mkdirSync(cache);
    fs.writeFileSync(path.join(cache, 'package.json'), '{}');
    return install(packages, cache);
}

function forklore(cache, args, cwd = scratch) {
    const env = { ...process.env, HOME: at('home'), FORKLORE_HOME: at('kept'), XDG_DATA_HOME: at('home/.local/share') };
    fs.mkdirSync(at('home'), { recursive: true });
    const done = spawnSync(path.join(cache, 'node_modules/.bin/forklore'), args, { encoding: 'utf8', env, cwd });
    return { code: done.status, out: done.stdout, err: done.stderr };
}

test('npx forklore', { skip }, async (t) => {
    const first = installed(FIRST);
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

    const second = installed('98.0.0');
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
        const third = installed('99.0.0');
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
