// `npx forklore install` and `uninstall`: the program does it; here its copy is kept and taken away.

import { forget, installs, keep, remember, tidy } from './keep.js';
import { ask, run } from './program.js';

/**
 * @param {string} engine
 * @param {string[]} args
 */
export async function install(engine, args) {
    // First what would be done: where nothing can be installed, nothing is kept, and the program says why.
    const planned = ask(engine, [...args, '--dry-run']);
    if (!planned) {
        return run(engine, args);
    }
    const code = await run(keep(engine), args);
    if (code === 0) {
        remember(planned.sillytavern);
    }
    tidy();
    return code;
}

/**
 * @param {string} engine
 * @param {string[]} args
 */
export async function uninstall(engine, args) {
    let asked = args;
    let planned = ask(engine, [...asked, '--dry-run']);
    if (!planned && !args.includes('--sillytavern') && installs().length === 1) {
        // Not near, but there is only one that it can be.
        asked = [...args, '--sillytavern', installs()[0]];
        planned = ask(engine, [...asked, '--dry-run']);
    }
    const code = await run(engine, asked);
    if (code === 0 && planned) {
        forget(planned.sillytavern);
        tidy();
    }
    return code;
}
