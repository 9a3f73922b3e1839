// `npx forklore` alone: what it is, where SillyTavern is, what there is of Forklore in it, and what to do next.

import process from 'node:process';
import readline from 'node:readline/promises';
import { install } from './install.js';
import { installs, note } from './keep.js';
import { ask, run, version } from './program.js';

const say = (text = '') => console.log(text);

/** @param {string} engine */
export async function welcome(engine) {
    say(`Forklore ${version}: fork your story, keep its lore.`);
    say('Branches and checkpoints of SillyTavern chats that take along everything that the story had by then, and nothing that came later.');
    say();
    const found = find(engine);
    const there = found && note(found.sillytavern);
    if (!found) {
        say('SillyTavern was not found from here. Tell where it is, the folder with server.js in it:');
        say();
        say('  npx forklore install --sillytavern DIR');
        say();
        others();
        return 0;
    }
    const { sillytavern: dir, sillytavern_version: tavern } = found;
    say(`SillyTavern ${tavern ?? ''} is in ${dir}`);
    if (!there) {
        say('Forklore is not in it yet. Looking changes nothing, and `npx forklore uninstall` takes everything back.');
    } else if (there.version === version) {
        say('Forklore is in it.');
    } else {
        say(`Forklore ${there.version} is in it; this is ${version}.`);
    }
    say();
    say(`  npx forklore install        ${there ? 'puts it there again' : 'puts it into SillyTavern'}; restart SillyTavern then`);
    others();
    if (!process.stdin.isTTY || !process.stdout.isTTY) {
        return 0;
    }
    if (there?.version !== version && await agrees(there ? `Update it to ${version} now?` : 'Install it now?')) {
        return install(engine, ['install', '--sillytavern', dir]);
    }
    if (await agrees('Show your stories in the browser?')) {
        return run(engine, ['serve', '--vault', dir]);
    }
    return 0;
}

function others() {
    say('  npx forklore serve          shows your stories in the browser');
    say('  npx forklore check          tells what is wrong with the forks that you have');
    say('  npx forklore demo           builds a small story to try it on');
    say('  npx forklore --help         everything else');
}

/** The install that is near, or the one that Forklore was put into from here. */
function find(engine) {
    const near = ask(engine, ['install', '--dry-run']);
    const known = () => installs().map((dir) => ask(engine, ['install', '--dry-run', '--sillytavern', dir])).find(Boolean);
    return near ?? known() ?? null;
}

async function agrees(question) {
    const asking = readline.createInterface({ input: process.stdin, output: process.stdout });
    try {
        const answer = await asking.question(`\n${question} [y/N] `);
        return /^\s*(y|yes)\s*$/i.test(answer);
    } catch {
        return false;
    } finally {
        asking.close();
    }
}
