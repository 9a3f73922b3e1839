// What the tests of npm's packages share: the packages as `cargo xtask dist` makes them, packed and installed by npm without a registry, and a
// SillyTavern of their own. `FORKLORE_PROGRAM` is the program, `FORKLORE_SILLYTAVERN` the folder that `cargo xtask tools` fills; `FORKLORE_PACKAGES` can
// name a folder with packages that are packed already.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const repository = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');
const program = process.env.FORKLORE_PROGRAM ?? path.resolve(repository, process.env.CARGO_TARGET_DIR ?? 'target', 'debug/forklore');
const taverns = process.env.FORKLORE_SILLYTAVERN ?? path.join(repository, '.tools');
const system = `${process.platform}-${process.arch}`;

/** The real SillyTavern, as npm installed it. */
export const source = path.join(taverns, 'sillytavern-1.19.0/node_modules/sillytavern');
/** Why nothing can be tried. */
export const skip = [program, source].filter((file) => !fs.existsSync(file)).map((file) => `there is no ${file}`)[0] ?? false;

/** A folder with a space in its name, as people have them. */
export const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'forklore npm '));
/** @param {string[]} parts */
export const at = (...parts) => path.join(scratch, ...parts);

const packages = process.env.FORKLORE_PACKAGES;

/** The version that is installed first: that of the packages which are there, else any. */
export const FIRST = packages ? versionIn(packages) : '0.1.0';

/** The version of the packages in a folder. One that has none for this system is a mistake: nothing of it would be tried. */
function versionIn(dir) {
    const versions = fs.readdirSync(dir).map((name) => /^forklore-(\d[^-]*)\.tgz$/.exec(name)?.[1]);
    const version = versions.find((version) => version && fs.existsSync(path.join(dir, `forklore-${system}-${version}.tgz`)));
    if (!version) {
        throw new Error(`${dir} has no packages for ${system}: cargo xtask dist makes them`);
    }
    return version;
}

/**
 * One version of both packages, packed: files that npm installs.
 * @param {string} version
 */
export function packed(version) {
    if (packages && version === FIRST) {
        return given(packages);
    }
    const launcher = at(version, 'launcher/package');
    fs.cpSync(path.join(repository, 'npm/forklore'), launcher, { recursive: true });
    const manifest = JSON.parse(fs.readFileSync(path.join(launcher, 'package.json'), 'utf8'));
    Object.assign(manifest, { version, optionalDependencies: { [`@forklore/${system}`]: version } });
    fs.writeFileSync(path.join(launcher, 'package.json'), JSON.stringify(manifest));
    const engine = at(version, 'engine/package');
    fs.mkdirSync(engine, { recursive: true });
    fs.copyFileSync(program, path.join(engine, 'forklore'));
    // Another version has other bytes.
    fs.appendFileSync(path.join(engine, 'forklore'), version);
    const [name, cpu] = system.split('-');
    fs.writeFileSync(path.join(engine, 'package.json'), JSON.stringify({ name: `@forklore/${system}`, version, os: [name], cpu: [cpu] }));
    // As `cargo xtask dist` packs them; not compressed, because nobody sends them anywhere.
    return [launcher, engine].map((dir) => {
        const file = `${path.dirname(dir)}.tgz`;
        execFileSync('tar', ['--create', '--file', file, '--directory', path.dirname(dir), 'package']);
        return file;
    });
}

/** Those that `cargo xtask dist` has made: what people get. */
function given(dir) {
    return [`forklore-${FIRST}.tgz`, `forklore-${system}-${FIRST}.tgz`].map((name) => {
        const file = at(FIRST, name);
        fs.mkdirSync(path.dirname(file), { recursive: true });
        fs.copyFileSync(path.join(dir, name), file);
        return file;
    });
}

/**
 * Packages installed into a folder of its own, as npx does into its cache.
 * @param {string[]} packages
 * @param {string} cache
 * @param {import('node:child_process').ExecFileSyncOptions} [how]
 */
export function install(packages, cache, how = {}) {
    execFileSync('npm', ['install', '--silent', '--offline', '--no-audit', '--no-fund', '--prefix', cache, ...packages], { ...how, cwd: cache });
    return cache;
}

/**
 * A SillyTavern of its own: copies of the real one's files.
 * @param {string} name
 */
export function tavern(name) {
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

/**
 * All names below a folder.
 * @param {string} dir
 */
export const files = (dir) => fs.readdirSync(dir, { recursive: true }).map(String).sort();

/**
 * The program that a SillyTavern was told of.
 * @param {string} dir
 */
export const engineOf = (dir) => JSON.parse(fs.readFileSync(path.join(dir, 'plugins/forklore/engine.json'), 'utf8')).engine;
