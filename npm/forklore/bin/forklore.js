#!/usr/bin/env node
// `npx forklore`: finds the program for this system and runs it. Only what the program cannot do for itself is done here: `install` keeps a
// copy of it in a place that stays, `uninstall` takes that away, and without arguments it tells what it is and what to do.

import process from 'node:process';
import { install, uninstall } from '../lib/install.js';
import { NoProgram, program, run } from '../lib/program.js';
import { welcome } from '../lib/welcome.js';

const args = process.argv.slice(2);
const own = { install, uninstall };

async function main() {
    const engine = program();
    if (args.length === 0) {
        return welcome(engine);
    }
    // What only asks is answered by the program alone.
    const asks = args.some((arg) => ['--dry-run', '--help', '-h'].includes(arg));
    const act = Object.hasOwn(own, args[0]) && !asks ? own[args[0]] : run;
    return act(engine, args);
}

try {
    process.exitCode = await main();
} catch (error) {
    if (!(error instanceof NoProgram) && !error.code) {
        throw error;
    }
    console.error(`error: ${error.message}`);
    if (error.hint) {
        console.error(`hint: ${error.hint}`);
    }
    process.exitCode = 1;
}
