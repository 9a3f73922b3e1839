// The program for this system: where npm has put it, and how it is run.

import { spawn, spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import process from 'node:process';

const require = createRequire(import.meta.url);

export class NoProgram extends Error {
    constructor(message, hint) {
        super(message);
        this.hint = hint;
    }
}

/** The version of this package; the program has the same. */
export const version = require('../package.json').version;

/** The file name of the program. */
export const fileName = process.platform === 'win32' ? 'forklore.exe' : 'forklore';

/** Where the program is: the one that is named in the environment, or the one that came with this package. */
export function program() {
    if (process.env.FORKLORE_BIN) {
        return process.env.FORKLORE_BIN;
    }
    const system = `${process.platform}-${process.arch}`;
    try {
        return require.resolve(`@forklore/${system}/${fileName}`);
    } catch {
        const known = Object.keys(require('../package.json').optionalDependencies ?? {});
        if (known.includes(`@forklore/${system}`)) {
            throw new NoProgram(
                `npm did not install the program for ${system}.`,
                'It is an optional dependency: run it again without --omit=optional or --no-optional, or install @forklore/' + system + '.',
            );
        }
        throw new NoProgram(
            `There is no Forklore for ${system} yet.`,
            'It can be built with Rust: see "For those who build" in the README.',
        );
    }
}

/**
 * Runs the program in this terminal; resolves with its exit code.
 * @param {string} engine
 * @param {string[]} args
 * @returns {Promise<number>}
 */
export function run(engine, args) {
    return new Promise((resolve, reject) => {
        const child = spawn(engine, args, { stdio: 'inherit' });
        // The terminal tells both of us; the program decides when it is over.
        const wait = () => {};
        process.on('SIGINT', wait);
        const end = () => child.kill('SIGTERM');
        process.on('SIGTERM', end);
        child.on('error', (error) => reject(new NoProgram(`${engine} cannot be run: ${error.message}`,
            'On Android it must be in Termux\'s own folder, not on the shared storage, from which nothing can be run.')));
        child.on('exit', (code, signal) => {
            process.off('SIGINT', wait);
            process.off('SIGTERM', end);
            resolve(signal ? 128 : code ?? 1);
        });
    });
}

/**
 * Asks the program something; the answer is what it prints as JSON, or nothing if it fails.
 * @param {string} engine
 * @param {string[]} args
 */
export function ask(engine, args) {
    const asked = spawnSync(engine, [...args, '--json'], { encoding: 'utf8', windowsHide: true, maxBuffer: 64 << 20 });
    try {
        return asked.status === 0 ? JSON.parse(asked.stdout) : null;
    } catch {
        return null;
    }
}
