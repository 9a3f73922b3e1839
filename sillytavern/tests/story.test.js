// What happens around a fork: two timelines, a busy queue, wrong books on entry, other extensions, a dead engine.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { bench, LAST, MAIN, STORY } from './lib/bench.js';
import { before, entries, isWhole, newFork } from './lib/forks.js';
import { pause } from './lib/tavern.js';
import { Visit } from './lib/visit.js';

const LOST = `${STORY}/Blue door`;
const CHOICES = ['rebuild', 'empty', 'detach', 'accept'];

// Copies of the chat whose book is missing, one for every choice.
const at = bench({
    prepare({ vault }) {
        const folder = path.join(vault, 'chats', STORY);
        const [header, ...messages] = fs.readFileSync(path.join(folder, 'Blue door.jsonl'), 'utf8').split('\n');
        for (const choice of [...CHOICES, 'continue']) {
            const own = JSON.parse(header);
            own.chat_metadata.integrity = `lost-${choice}`;
            fs.writeFileSync(path.join(folder, `Lost ${choice}.jsonl`), [JSON.stringify(own), ...messages].join('\n'));
        }
    },
});

function character(tavern, chat) {
    const { entries } = tavern.book(tavern.header(chat).world_info);
    return Object.entries(entries).find(([, { comment }]) => comment.startsWith('character-'))[0];
}

// Waits for the delayed save of a book.
async function written(tavern, chat, uid, content) {
    for (let tries = 0; tries < 100; tries += 1) {
        if (tavern.book(tavern.header(chat).world_info).entries[uid].content === content) {
            return;
        }
        await pause(100);
    }
    assert.fail(`${chat} never had ${content}`);
}

test('two timelines, ten switches and a reload', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    await visit.message(60, '.mes_create_branch');
    const fork = await visit.away(MAIN);
    const uid = character(tavern, fork);
    const told = { [MAIN]: await (async () => { await visit.open(MAIN); return visit.entry(uid); })(), [fork]: null };
    await visit.open(fork);
    told[fork] = await visit.entry(uid);
    for (let turn = 0; turn < 10; turn += 1) {
        const chat = turn % 2 ? MAIN : fork;
        await visit.open(chat);
        assert.equal(await visit.entry(uid), told[chat], `turn ${turn}: as it was left`);
        told[chat] = `Turn ${turn} in ${chat}`;
        await visit.edit(uid, told[chat]);
        await written(tavern, chat, uid, told[chat]);
        if (turn === 5) {
            await visit.reload();
        }
    }
    for (const chat of [MAIN, fork]) {
        await visit.open(chat);
        assert.equal(await visit.entry(uid), told[chat]);
        assert.equal(tavern.book(tavern.header(chat).world_info).entries[uid].content, told[chat]);
    }
    assert.notEqual(tavern.header(MAIN).world_info, tavern.header(fork).world_info);
    assert.equal(tavern.header(fork).world_info, await visit.page.run(async (name) => { await SillyTavern.getContext().openCharacterChat(name); return SillyTavern.getContext().chatMetadata.world_info; }, fork.slice(STORY.length + 1)));
});

// Puts work into the queue of the open chat, or takes it out, as the memory extension does.
function queue(visit, work) {
    return visit.page.run(async (work) => {
        const context = SillyTavern.getContext();
        const name = context.chatMetadata.world_info;
        const book = await context.loadWorldInfo(name);
        const entry = Object.values(book.entries).find(({ comment }) => comment === '__operation_queue');
        const state = JSON.parse(entry.content);
        state.queue = work.map((type, n) => ({ id: `op_${n}`, type, params: { index: 60 }, status: 'pending', created_at: 1, retries: 0, priority: 9, dependencies: [], metadata: {}, queueVersion: 0 }));
        entry.content = JSON.stringify(state, null, 2);
        await context.saveWorldInfo(name, book, true);
    }, work);
}

test('a busy queue: the reason and the count, nothing is made; then it is made when the queue is empty', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    await queue(visit, ['generate_scene_recap', 'lorebook_entry_lookup']);
    await visit.page.until('the queue is shown', () => Forklore.state().text.includes('2 operations'));
    const was = before(tavern, MAIN);
    await visit.message(LAST, '.mes_create_branch');
    const text = await visit.dialog('cannot be made now');
    assert.match(text, /2 operations still to be done \(.*generate scene recap/);
    await at.picture('queue');
    await pause(500);
    assert.deepEqual(before(tavern, MAIN), was, 'nothing was made');
    await visit.choose('wait');
    await visit.notice('Waiting for the queue');
    await at.picture('waiting');
    await pause(1500);
    assert.equal(await visit.here(), MAIN);
    assert.deepEqual(before(tavern, MAIN).chats, was.chats);
    await queue(visit, []);
    const emptied = before(tavern, MAIN);
    const fork = await visit.away(MAIN);
    isWhole(tavern, emptied.chats.length === was.chats.length ? emptied : { ...was, bytes: emptied.bytes }, fork, LAST);
    await visit.notice('Branch created');
});

test('work that is left behind is told of, and a click leads back to it', async () => {
    const { tavern, visit } = at;
    const made = await visit.slash('/forklore-checkpoint at=30 Elsewhere');
    assert.equal(made, 'Elsewhere', (await visit.notices()).join('\n'));
    await visit.open(MAIN);
    await queue(visit, ['generate_scene_recap']);
    await visit.page.until('the queue is shown', () => Forklore.state().text.includes('1 operation'));
    await visit.clearNotices();
    await visit.open(`${STORY}/Elsewhere`);
    await visit.notice('Work was left behind');
    await at.picture('left-behind');
    await visit.page.run(() => [...document.querySelectorAll('.toast')].find((toast) => toast.innerText.includes('left behind')).click());
    await visit.settled(MAIN);
    await queue(visit, []);
    await visit.page.until('the queue is empty', () => !Forklore.state().text.includes('operation'));
    tavern.forklore('delete', `${STORY}/Elsewhere`);
});

test('a missing book: the dialog appears, generating waits, and every choice works', async () => {
    const { tavern, visit } = at;
    for (const choice of CHOICES) {
        const chat = `${STORY}/Lost ${choice}`;
        const books = tavern.books();
        await visit.open(chat);
        await visit.dialog('The lorebook of this chat is not right');
        await at.picture('missing-book');
        assert.equal((await visit.state()).held, true);
        await visit.choose(choice);
        await visit.page.until(`${choice} is done`, () => !Forklore.state().held && Forklore.state().entered?.hold === false);
        const bound = tavern.header(chat).world_info;
        if (choice === 'rebuild') {
            assert.ok(Object.keys(entries(tavern.book(bound))).length > 3, 'what the scenes tell');
        } else if (choice === 'empty') {
            assert.ok(!books.includes(bound));
            assert.deepEqual(Object.keys(entries(tavern.book(bound))).filter((comment) => !comment.startsWith('_registry')), []);
        } else if (choice === 'detach') {
            assert.ok(!bound);
        } else {
            assert.equal(bound, tavern.header(LOST).world_info);
        }
        assert.equal(await visit.page.run(() => SillyTavern.getContext().chatMetadata.world_info ?? null), bound ?? null, 'the page knows');
    }
});

test('generating is held until somebody decides, and can be continued anyway', async () => {
    const { visit } = at;
    await visit.open(`${STORY}/Lost continue`);
    await visit.dialog('The lorebook of this chat is not right');
    await visit.page.click('dialog[open] .popup-button-ok');
    await visit.page.until('the dialog is closed', () => !document.querySelector('dialog[open]'));
    const count = await visit.messages();
    await visit.page.click('#send_textarea');
    await visit.page.type('Hello?');
    await visit.page.key('Enter');
    await visit.dialog('Nothing is generated until you decide');
    assert.equal(await visit.messages(), count);
    assert.equal(await visit.page.run(() => document.querySelector('#send_textarea').value), 'Hello?', 'what was typed is still there');
    const aborted = await visit.page.run(async () => { let aborted = false; await globalThis.forkloreHold([], 0, () => { aborted = true; }, 'normal'); return aborted; });
    assert.equal(aborted, true, 'whoever asks for a reply');
    await visit.choose('continue');
    await visit.page.until('released', () => !Forklore.state().held);
    const passes = await visit.page.run(async () => { let aborted = false; await globalThis.forkloreHold([], 0, () => { aborted = true; }, 'normal'); return !aborted; });
    assert.equal(passes, true);
    await visit.page.run(() => { document.querySelector('#send_textarea').value = ''; });
});

test('a fork that was made without Forklore is adopted on entry', async () => {
    const { tavern, visit } = at;
    const chat = `${STORY}/Loft night`;
    const shared = tavern.header(chat).world_info;
    assert.equal(shared, tavern.header(MAIN).world_info, 'it shares its parent\'s book');
    await visit.open(MAIN);
    await visit.clearNotices();
    await visit.page.run(async (name) => { await SillyTavern.getContext().openCharacterChat(name); }, 'Loft night');
    await visit.notice('Adopted');
    await at.picture('adopted');
    await visit.settled(chat);
    const bound = tavern.header(chat).world_info;
    assert.notEqual(bound, shared);
    assert.equal(await visit.page.run(() => SillyTavern.getContext().chatMetadata.world_info), bound);
    assert.ok(await visit.page.run((book) => SillyTavern.getContext().getWorldInfoNames().includes(book), bound), 'the page lists its book');
    assert.equal(tavern.header(MAIN).world_info, shared);
    const findings = tavern.forklore('check', chat).findings.filter(({ severity }) => severity === 'error');
    assert.deepEqual(findings, []);
});

test('an extension that behaves like Auto-Recap: its handler does not see the buttons, and the right book wins when it runs', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    await visit.page.run(() => { likeAutoRecap.on = true; });
    const was = before(tavern, MAIN);
    await visit.message(45, '.mes_create_branch');
    const fork = await visit.away(MAIN);
    isWhole(tavern, was, fork, 45);
    assert.equal(await visit.page.run(() => likeAutoRecap.caught), 0);
    // Its own way, as from its menu or an older page.
    await visit.open(MAIN);
    await visit.clearNotices();
    const again = before(tavern, MAIN);
    await visit.page.run(() => { likeAutoRecap.fork(30, false); });
    const other = await newFork(tavern, again);
    await visit.notice('Another extension changed the lorebook');
    await at.picture('rebound');
    await visit.settled(other);
    const [theirs] = await visit.page.until('it bound a book', () => likeAutoRecap.bound);
    const bound = await visit.page.until('the right one is back', (theirs) => { const { world_info: book } = SillyTavern.getContext().chatMetadata; return book !== theirs && book; }, theirs);
    await visit.page.run(() => { likeAutoRecap.on = false; });
    for (let tries = 0; tries < 50 && tavern.header(other).world_info !== bound; tries += 1) {
        await pause(100);
    }
    isWhole(tavern, again, other, 30);
});

test('an extension that copies books on entry: the right book wins', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    await visit.clearNotices();
    await visit.page.run(() => { copiesBooks.on = true; });
    const was = before(tavern, MAIN);
    await visit.message(30, '.mes_create_branch');
    const fork = await newFork(tavern, was);
    await visit.notice('Another extension changed the lorebook');
    await visit.page.run(() => { copiesBooks.on = false; });
    const theirs = await visit.page.run(() => copiesBooks.bound);
    for (let tries = 0; tries < 100 && theirs.includes(tavern.header(fork).world_info); tries += 1) {
        await pause(100);
    }
    isWhole(tavern, was, fork, 30);
    // Their copy is of no use to anybody: it is in the trash, not lost.
    const inTrash = () => tavern.forklore('trash').items.map(({ path }) => path);
    for (let tries = 0; tries < 50 && !inTrash().includes(`worlds/${theirs.at(-1)}.json`); tries += 1) {
        await pause(100);
    }
    assert.ok(inTrash().includes(`worlds/${theirs.at(-1)}.json`), `${theirs} in ${inTrash()}`);
});

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

test('the panel: forks with their state, compare, rename, open, delete', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    const made = await visit.slash('/forklore-checkpoint at=30 Panel test');
    assert.equal(made, 'Panel test', (await visit.notices()).join('\n'));
    await visit.page.run(() => toastr.remove());
    await visit.page.click('#forklore_badge');
    const row = `.forklore-row[data-chat="${STORY}/Panel test"]`;
    await visit.page.place(row);
    await at.picture('panel');
    await visit.page.click(`${row} [title^="Compare"]`);
    const text = await visit.dialog('Compared');
    assert.match(text, /Only in the open chat: \d+/);
    await at.picture('compare');
    await visit.page.click('dialog[open] .popup-button-ok', { text: 'Close' });
    await visit.page.click(`${row} [title="Rename"]`);
    await visit.dialog('The new name');
    await visit.page.run(() => { [...document.querySelectorAll('dialog[open] .popup-input')].at(-1).value = 'Panel renamed'; });
    await visit.page.click('dialog[open]:last-of-type .popup-button-ok');
    const renamed = `.forklore-row[data-chat="${STORY}/Panel renamed"]`;
    await visit.page.place(renamed);
    const book = tavern.header(`${STORY}/Panel renamed`).world_info;
    await visit.page.click(`${renamed} [title="Move to the trash"]`);
    await visit.dialog('It can be brought back');
    await visit.choose('yes');
    await visit.page.until('it is gone', (row) => !document.querySelector(row), renamed);
    assert.ok(!tavern.books().includes(book), 'its book went with it');
    await visit.page.click(`.forklore-row[data-chat="${MAIN} - Branch #2"] [title="Open"]`);
    await visit.page.until('it is open', (chat) => Forklore.state().chat === chat, `${MAIN} - Branch #2`);
});
