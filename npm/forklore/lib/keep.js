// A place that stays. npx empties its cache when it likes, and SillyTavern's plugin starts the program by its path: so `install` keeps a copy
// of it, each version in a folder of its own. One that is running is never written over; it goes when no SillyTavern names it any more.

import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileName, version } from './program.js';

/** The folder in which everything is kept. */
export function home() {
    const { FORKLORE_HOME, LOCALAPPDATA, XDG_DATA_HOME } = process.env;
    if (FORKLORE_HOME) {
        return path.resolve(FORKLORE_HOME);
    }
    if (process.platform === 'win32') {
        return path.join(LOCALAPPDATA || path.join(os.homedir(), 'AppData', 'Local'), 'Forklore');
    }
    if (process.platform === 'darwin') {
        return path.join(os.homedir(), 'Library', 'Application Support', 'Forklore');
    }
    return path.join(XDG_DATA_HOME || path.join(os.homedir(), '.local', 'share'), 'forklore');
}

const engines = () => path.join(home(), 'engine');
const list = () => path.join(home(), 'installs.json');

/**
 * Keeps a copy of the program, whole or not at all; returns where it is.
 * @param {string} engine
 */
export function keep(engine) {
    const bytes = fs.readFileSync(engine);
    const hash = crypto.createHash('sha256').update(bytes).digest('hex');
    const dir = path.join(engines(), `${version}-${hash.slice(0, 12)}`);
    const kept = path.join(dir, fileName);
    if (!isSame(kept, bytes)) {
        put(kept, bytes, 0o755);
    }
    return kept;
}

function isSame(file, bytes) {
    try {
        return fs.readFileSync(file).equals(bytes);
    } catch {
        return false;
    }
}

/** Writes a file beside its place and moves it there, so that it is never half of it. */
function put(file, bytes, mode) {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    const fresh = `${file}.${process.pid}.new`;
    const handle = fs.openSync(fresh, 'w', mode);
    try {
        // All of it: writing once may write less, where the disk is full.
        fs.writeFileSync(handle, bytes);
        fs.fsyncSync(handle);
    } finally {
        fs.closeSync(handle);
    }
    fs.chmodSync(fresh, mode);
    fs.renameSync(fresh, file);
}

/** The SillyTavern folders that Forklore was put into from here. */
export function installs() {
    try {
        const known = JSON.parse(fs.readFileSync(list(), 'utf8'));
        return Array.isArray(known) ? known.filter((dir) => typeof dir === 'string') : [];
    } catch {
        return [];
    }
}

/** @param {string} tavern */
export function remember(tavern) {
    write([...new Set([...installs(), tavern])]);
}

/** @param {string} tavern */
export function forget(tavern) {
    write(installs().filter((dir) => dir !== tavern));
}

function write(dirs) {
    put(list(), Buffer.from(`${JSON.stringify(dirs, null, 2)}\n`), 0o644);
}

/**
 * What was written down in a SillyTavern folder when Forklore was put there; nothing if it was not.
 * @param {string} tavern
 */
export function note(tavern) {
    try {
        return JSON.parse(fs.readFileSync(path.join(tavern, 'plugins', 'forklore', 'engine.json'), 'utf8'));
    } catch {
        return null;
    }
}

/** Removes copies that no SillyTavern names; with the last one the folders go, too. One that still runs may refuse: the next time, then. */
export function tidy() {
    const used = new Set(installs().map((dir) => note(dir)?.engine).filter(Boolean).map((engine) => path.dirname(path.resolve(engine))));
    for (const name of names(engines())) {
        const dir = path.join(engines(), name);
        if (!used.has(dir)) {
            quietly(() => fs.rmSync(dir, { recursive: true }));
        }
    }
    if (installs().length === 0) {
        quietly(() => fs.rmSync(list()));
    }
    quietly(() => fs.rmdirSync(engines()));
    quietly(() => fs.rmdirSync(home()));
}

function names(dir) {
    try {
        return fs.readdirSync(dir);
    } catch {
        return [];
    }
}

function quietly(act) {
    try {
        act();
    } catch {
        // It is not there, something else is in it, or it is in use.
    }
}
