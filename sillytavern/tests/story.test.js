// What happens around a fork: two timelines, a busy queue, wrong books on entry, the panel.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { bench, LAST, MAIN, STORY } from './lib/bench.js';
import { before, entries, isWhole } from './lib/forks.js';
import { pause } from './lib/tavern.js';

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

test('regression: a command that needs a chat says so where none is open', async () => {
    const { visit } = at;
    assert.equal(await visit.here(), null);
    assert.equal(await visit.slash('/forklore-heal'), '');
    await visit.notice('No chat is open.');
});

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

test('regression: the panel says beforehand that a flag will lead to the new checkpoint', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    await visit.slash(`/checkpoint-create mesId=${LAST} Flagged before`);
    await visit.notice('Checkpoint created');
    await visit.idle();
    await visit.slash('/forklore-panel');
    await visit.clearNotices();
    await visit.page.click('.forklore-bar .menu_button', { text: 'Checkpoint here' });
    await visit.dialog('will be unlinked and replaced');
    await at.picture('flag');
    await visit.page.run(() => { [...document.querySelectorAll('dialog[open] .popup-input')].at(-1).value = 'Flagged now'; });
    await visit.page.click('dialog[open]:last-of-type .popup-button-ok');
    await visit.notice('Checkpoint created');
    await visit.idle();
    assert.ok(tavern.header(`${STORY}/Flagged before`), 'the other one stays');
    assert.equal(tavern.chat(MAIN)[LAST + 1].extra.bookmark_link, 'Flagged now');
    ['Flagged before', 'Flagged now'].forEach((name) => tavern.forklore('delete', `${STORY}/${name}`));
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
    const said = await visit.page.run(() => [...document.querySelectorAll('.forklore .menu_button')].map((/** @type {any} */ button) => [button.innerText.trim(), button.title]));
    assert.ok(said.length > 5 && said.every(([label, title]) => label && !/[A-Z]{3}_/.test(title)), `every button has a label, none a code: ${JSON.stringify(said)}`);
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
