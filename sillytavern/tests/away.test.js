// What others do meanwhile: an engine that dies and comes back, and pages that save over each other. Nothing is lost, and nothing stays half
// made.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { bench, MAIN, STORY } from './lib/bench.js';
import { before, isWhole, newFork } from './lib/forks.js';
import { pause } from './lib/tavern.js';
import { Visit } from './lib/visit.js';

const at = bench();

test('the engine dies: the fork is saved unbound, the user hears of it, and it is finished when the engine is back', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    await visit.clearNotices();
    const was = before(tavern, MAIN);
    const [engine] = tavern.engines();
    process.kill(engine, 'SIGKILL');
    const fork = await visit.page.run(async () => {
        const { createBranch } = await import('/scripts/bookmarks.js');
        return createBranch(45);
    });
    assert.notEqual(tavern.header(`${STORY}/${fork}`).world_info, was.book, 'never its parent\'s book');
    await visit.page.until('the engine is back', async () => (await (await fetch('/api/plugins/forklore/plugin', { headers: SillyTavern.getContext().getRequestHeaders() })).json()).engine.state === 'running');
    await visit.open(`${STORY}/${fork}`);
    await visit.page.until('it has its book', () => Forklore.state().entered?.hold === false && Forklore.state().entered.book.state === 'own');
    isWhole(tavern, was, `${STORY}/${fork}`, 45);
    assert.equal(tavern.child.exitCode, null, 'SillyTavern is still up');
});

test('regression: the engine dies while a branch is made with its button: the open fork is finished by itself', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    await visit.clearNotices();
    const was = before(tavern, MAIN);
    // SillyTavern is about to save the fork when the engine goes.
    await visit.page.run(() => {
        const { fetch } = window;
        window.fetch = async (address, init) => {
            if (String(address).endsWith('/api/chats/save') && document.body.classList.contains('forklore-forking')) {
                window.fetch = fetch;
                globalThis.saving = true;
                while (globalThis.saving) {
                    await new Promise((resolve) => { setTimeout(resolve, 20); });
                }
            }
            return fetch(address, init);
        };
    });
    await visit.message(43, '.mes_create_branch');
    await visit.page.until('it is about to be saved', () => globalThis.saving);
    const kill = () => tavern.engines().forEach((engine) => process.kill(engine, 'SIGKILL'));
    kill();
    const killing = setInterval(kill, 50);
    let fork;
    try {
        await visit.page.run(() => { globalThis.saving = false; });
        fork = await newFork(tavern, was);
        await visit.page.until('it is open', (fork) => Forklore.state().chat === fork && SillyTavern.getContext().chat.length === 44, fork);
        assert.equal(tavern.header(fork).world_info, undefined, 'never its parent\'s book');
    } finally {
        clearInterval(killing);
    }
    await visit.page.until('it has its book', (fork) => {
        const { entered } = Forklore.state();
        return entered?.chat === fork && entered.hold === false && entered.book.state === 'own';
    }, fork);
    await visit.notice('The fork has its lorebook now');
    assert.deepEqual(await visit.dialogs(), []);
    isWhole(tavern, was, fork, 43);
});

// Kills a process when one of its threads is about to rename a file for the `nth` time. Gives what it had renamed before, or null if it
// did not come to that; nothing at all where processes may not be watched.
async function killAtRename(pid, nth, log) {
    const strace = spawn(process.env.FORKLORE_STRACE, ['-f', '-p', String(pid), '-o', log, '-e', 'trace=renameat2', '-e', `inject=renameat2:signal=KILL:when=${nth}`], { stdio: ['ignore', 'ignore', 'pipe'] });
    const over = new Promise((resolve) => { strace.once('exit', resolve); });
    const watches = await Promise.race([new Promise((resolve) => { strace.stderr.on('data', (text) => /attached/.test(text) && resolve(true)); }), over.then(() => false)]);
    return watches && (async () => {
        const late = await Promise.race([over.then(() => false), pause(3000).then(() => true)]);
        if (late) {
            process.kill(pid, 'SIGKILL');
            await over;
        }
        return late ? null : fs.readFileSync(log, 'utf8').split('\n').filter((line) => / = 0$/.test(line));
    });
}

const strace = process.env.FORKLORE_STRACE ? false : 'strace is not there';
test('the engine is killed in the middle of a fork, before and after there is a way back: nothing stays half made', { skip: strace }, async (t) => {
    const { tavern, visit } = at;
    const sealed = [];
    for (const nth of [1, 2, 3]) {
        await visit.open(MAIN);
        await visit.clearNotices();
        const was = before(tavern, MAIN);
        const [engine] = tavern.engines();
        const renamed = await killAtRename(engine, nth, path.join(tavern.dir, `strace-${nth}.log`));
        if (!renamed) {
            t.skip('strace may not watch other processes here');
            return;
        }
        const fork = await visit.page.run(async () => {
            const { createBranch } = await import('/scripts/bookmarks.js');
            return createBranch(45);
        });
        sealed.push((await renamed())?.some((line) => line.includes('.intent"')));
        assert.notEqual(tavern.header(`${STORY}/${fork}`).world_info, was.book, 'never its parent\'s book');
        assert.equal(tavern.child.exitCode, null, 'SillyTavern is still up');
        await visit.page.until('another engine is there', async () => (await (await fetch('/api/plugins/forklore/plugin', { headers: SillyTavern.getContext().getRequestHeaders() })).json()).engine.state === 'running');
        assert.notEqual(tavern.engines()[0], engine);
        await visit.open(`${STORY}/${fork}`);
        await visit.page.until('it has its book', () => Forklore.state().entered?.hold === false && Forklore.state().entered.book.state === 'own');
        isWhole(tavern, was, `${STORY}/${fork}`, 45);
        assert.deepEqual(fs.readdirSync(path.join(tavern.vault, '.forklore/tx')), [], 'nothing is left to do');
        assert.equal(tavern.books().filter((book) => !was.books.includes(book)).length, 1, 'one book, and no remains of another');
    }
    assert.ok(sealed.includes(false) && sealed.includes(true), `killed on both sides: ${sealed}`);
});

// A link that only the file has, and that the page saves over, comes back through the page.
async function linkComesBack(tavern, visit) {
    const { chat: fork } = tavern.forklore('branch', MAIN, '--at', '30');
    const name = fork.slice(fork.indexOf('/') + 1);
    const linked = () => (tavern.chat(MAIN)[31].extra?.branches ?? []).includes(name);
    assert.ok(linked(), 'the file has it');
    // The page saves the chat as it has it in its memory.
    await visit.page.run(() => SillyTavern.getContext().saveChat());
    await visit.page.until('the page has it', (name) => (SillyTavern.getContext().chat[30].extra?.branches ?? []).includes(name), name);
    await visit.page.run(() => SillyTavern.getContext().saveChat());
    assert.ok(linked(), 'and keeps it');
}

test('a link that the open page does not know is made again in the page, and is there after its next save', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    await linkComesBack(tavern, visit);
});

test('regression: a page hears of changes again after the engine was away for long', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    // Every engine that comes is killed, until the pauses are longer than a browser waits.
    const until = Date.now() + 8000;
    while (Date.now() < until) {
        tavern.engines().forEach((engine) => process.kill(engine, 'SIGKILL'));
        await pause(100);
    }
    await visit.page.until('the engine is back', async () => (await (await fetch('/api/plugins/forklore/plugin', { headers: SillyTavern.getContext().getRequestHeaders() })).json()).engine.state === 'running');
    await visit.page.until('the page listens again', () => Forklore.state().listening && Forklore.state().mode !== 'down');
    await visit.clearNotices();
    const other = await Visit.start(at.browser, tavern);
    try {
        await other.open(MAIN);
        const fork = await other.page.run(async () => (await import('/scripts/bookmarks.js')).createBranch(40));
        await visit.notice(fork);
    } finally {
        await other.close();
    }
});

test('regression: a page that has not saved leaves the newer messages of another alone', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    const other = await Visit.start(at.browser, tavern);
    const say = 'Said in the other tab.';
    try {
        await other.open(MAIN);
        tavern.forklore('branch', MAIN, '--at', '20');
        // The other page plays on, and saves over the link. It writes a reply then, so that it does not mend the link itself. The first
        // page has neither the message nor the link, and hears of it all; then its engine is away for a moment.
        await other.page.run(async (say) => {
            const context = SillyTavern.getContext();
            context.chat.push({ name: context.name1, is_user: true, send_date: new Date().toISOString(), mes: say, extra: {} });
            await context.saveChat();
            await new Promise((resolve) => { setTimeout(resolve, 300); });
            context.chat.push({ name: context.name2, is_user: false, send_date: new Date().toISOString(), mes: 'Not saved yet.', extra: {} });
        }, say);
        await pause(2500);
        process.kill(tavern.engines()[0], 'SIGKILL');
        await visit.page.until('the first page has lost its engine', () => !Forklore.state().listening);
        await visit.page.until('and has it again', () => Forklore.state().listening && Forklore.state().entered);
        await pause(2500);
        assert.equal(tavern.chat(MAIN).at(-1).mes, say);
        await other.page.run(async () => {
            SillyTavern.getContext().chat.splice(-2);
            await SillyTavern.getContext().saveChat();
        });
    } finally {
        await other.close();
    }
});

test('regression: a fork that is finished late keeps what another page has written in it meanwhile', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    const was = before(tavern, MAIN);
    const kill = () => tavern.engines().forEach((engine) => process.kill(engine, 'SIGKILL'));
    kill();
    const killing = setInterval(kill, 50);
    const say = 'Said on another device.';
    let fork;
    try {
        fork = `${STORY}/${await visit.page.run(async () => (await import('/scripts/bookmarks.js')).createBranch(44))}`;
        await visit.page.run((name) => SillyTavern.getContext().openCharacterChat(name), fork.slice(STORY.length + 1));
        await visit.page.until('it is open', () => SillyTavern.getContext().chat.length === 45);
        fs.appendFileSync(path.join(tavern.vault, `chats/${fork}.jsonl`), `\n${JSON.stringify({ name: 'You', is_user: true, send_date: new Date().toISOString(), mes: say, extra: {} })}`);
    } finally {
        clearInterval(killing);
    }
    await visit.page.until('it has its book', () => Forklore.state().entered?.hold === false && Forklore.state().entered.book.state === 'own');
    assert.equal(tavern.chat(fork).at(-1).mes, say);
    await visit.page.until('the page has it, too', (say) => SillyTavern.getContext().chat.at(-1).mes === say, say);
    assert.notEqual(tavern.header(fork).world_info, was.book);
});
