// Chats that share a lorebook without being forks: imported ones, one that became a group's, and books that are kept by hand. One click
// gives each its own copy.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { bench, MAIN, STORY } from './lib/bench.js';
import { before, entries } from './lib/forks.js';
import { becomes } from './lib/tavern.js';

const BY_HAND = 'Kept by hand';
const STRANGER = `${STORY}/Another beginning`;
const at = bench({
    prepare({ vault }) {
        fs.writeFileSync(path.join(vault, 'worlds', `${BY_HAND}.json`), JSON.stringify({ entries: { 0: { uid: 0, key: ['x'], comment: 'Mine', content: 'Written by me.' } } }));
        const [line] = fs.readFileSync(path.join(vault, 'chats', `${MAIN}.jsonl`), 'utf8').split('\n');
        const { world_info: kept } = JSON.parse(line).chat_metadata;
        for (const [name, book] of [['First by hand', BY_HAND], ['Second by hand', BY_HAND], ['Another beginning', kept], ['Bare', undefined]]) {
            const header = { chat_metadata: { integrity: name, world_info: book }, user_name: 'unused', character_name: 'unused' };
            const message = { name: STORY, is_user: false, mes: `${name} begins.`, send_date: '2026-11-15T01:00:00.000Z', extra: {} };
            fs.writeFileSync(path.join(vault, 'chats', STORY, `${name}.jsonl`), [header, message].map((line) => JSON.stringify(line)).join('\n'));
        }
    },
});

// A lorebook of its own, and the others keep theirs.
async function hasItsOwn(chat, book, bytes) {
    const { tavern, visit } = at;
    await visit.page.until('the page has it', (book) => Forklore.state().entered && SillyTavern.getContext().chatMetadata.world_info !== book, book);
    const { world_info: own } = tavern.header(chat);
    assert.ok(own && own !== book, `${own}`);
    assert.equal(fs.readFileSync(path.join(tavern.vault, 'worlds', `${book}.json`), 'utf8'), bytes, 'the others\' is untouched');
    return entries(tavern.book(own));
}

test('a chat that becomes a group\'s gets a lorebook of its own, and so does an imported one', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    const was = before(tavern, MAIN);
    await visit.page.click('#options_button');
    await visit.page.click('#option_convert_to_group');
    await visit.page.click('dialog[open] .popup-button-ok');
    const chat = await visit.away(MAIN);
    await visit.notice('Adopted');
    await hasItsOwn(chat, was.book, was.bytes);
    await visit.open(MAIN);
    await visit.page.run(async (text) => {
        const context = SillyTavern.getContext();
        const character = context.characters[context.characterId];
        const form = new FormData();
        const fields = { file_type: 'jsonl', avatar_url: character.avatar, character_name: character.name, user_name: context.name1 };
        form.append('avatar', new Blob([text], { type: 'application/json' }), 'Imported.jsonl');
        Object.entries(fields).forEach(([name, value]) => form.append(name, value));
        const { 'Content-Type': _, ...headers } = context.getRequestHeaders();
        await fetch('/api/chats/import', { method: 'POST', headers, body: form });
    }, fs.readFileSync(path.join(tavern.vault, 'chats', `${MAIN}.jsonl`), 'utf8'));
    const name = await becomes('the import is there', () => tavern.chats(STORY).find((name) => !was.chats.includes(name)));
    await visit.open(`${STORY}/${name}`);
    await hasItsOwn(`${STORY}/${name}`, was.book, was.bytes);
    assert.equal(tavern.header(MAIN).world_info, was.book);
    assert.deepEqual(await visit.dialogs(), []);
});

test('regression: a chat that shares the memory of a stranger is offered its own copy, not a command', async () => {
    const { tavern, visit } = at;
    const was = before(tavern, MAIN);
    await visit.clearNotices();
    await visit.open(STRANGER);
    await visit.notice('About this chat');
    await visit.page.run(() => [...document.querySelectorAll('.toast')].find((toast) => toast.textContent.includes('About this chat')).click());
    const text = await visit.dialog('Give this chat its own copy');
    assert.doesNotMatch(text, /forklore heal|parent/);
    await at.picture('shared');
    await visit.choose('copy');
    assert.deepEqual(await hasItsOwn(STRANGER, was.book, was.bytes), entries(JSON.parse(was.bytes)));
    assert.equal(tavern.header(MAIN).world_info, was.book);
});

// What the notice of a fork has to press.
async function offered() {
    const { visit } = at;
    await visit.notice('Branch created');
    return visit.page.run(() => [...document.querySelectorAll('.forklore-toast-actions button')].map((button) => button.textContent));
}

test('the notice of a fork asks for a look only where there is something to do', async () => {
    const { tavern, visit } = at;
    await visit.open(`${STORY}/Bare`);
    await visit.clearNotices();
    await visit.message(0, '.mes_create_branch');
    await visit.away(`${STORY}/Bare`);
    assert.deepEqual(await offered(), ['Undo', 'Rename', 'Details'], 'that a chat without a lorebook has a fork without one is normal');
    const chat = `${STORY}/Second by hand`;
    const bytes = fs.readFileSync(path.join(tavern.vault, 'worlds', `${BY_HAND}.json`), 'utf8');
    await visit.open(chat);
    await visit.clearNotices();
    await visit.message(0, '.mes_create_branch');
    const fork = await visit.away(chat);
    assert.deepEqual(await offered(), ['Undo', 'Rename', '1 thing to look at']);
    await at.picture('to-look-at');
    await visit.page.click('.forklore-toast-actions button', { text: 'to look at' });
    assert.doesNotMatch(await visit.dialog('goes on using'), /--copy-book/);
    await visit.choose('copy');
    await hasItsOwn(fork, BY_HAND, bytes);
});

test('regression: who edits the lorebook of a fork is not warned of it', async () => {
    const { tavern, visit } = at;
    await visit.open(`${STORY}/First by hand`);
    await visit.slash('/forklore-branch at=0');
    const fork = await visit.away(`${STORY}/First by hand`);
    await visit.page.run(async () => { await Forklore.validate(); });
    if (tavern.header(fork).world_info === BY_HAND) {
        await visit.slash('/forklore-heal choose=copy');
        await visit.page.until('it has its own', (book) => SillyTavern.getContext().chatMetadata.world_info !== book, BY_HAND);
    }
    await visit.edit(0, 'Written by me, and better.');
    await becomes('it is saved', () => Object.values(entries(tavern.book(tavern.header(fork).world_info))).includes('Written by me, and better.'));
    const [finding] = tavern.forklore('check', fork).findings.filter(({ code }) => code === 'BASELINE_CHANGED');
    assert.equal(finding?.severity, 'info', 'it is known');
    await visit.open(MAIN);
    await visit.clearNotices();
    await visit.open(fork);
    await visit.notice('Branch loaded');
    assert.deepEqual((await visit.notices()).filter((text) => /About this chat|changed/.test(text)), []);
    assert.equal((await visit.state()).text, 'Ready to fork.');
});

test('a lorebook that is kept by hand and shared: the panel gives a chat its own copy by one click', async () => {
    const { tavern, visit } = at;
    const [chat, other] = [`${STORY}/First by hand`, `${STORY}/Second by hand`];
    const bytes = fs.readFileSync(path.join(tavern.vault, 'worlds', `${BY_HAND}.json`), 'utf8');
    await visit.open(chat);
    await visit.slash('/forklore-panel');
    await visit.page.click(`.forklore-row[data-chat="${chat}"] .menu_button`, { text: 'Own copy' });
    assert.deepEqual(await hasItsOwn(chat, BY_HAND, bytes), entries(JSON.parse(bytes)));
    assert.equal(tavern.header(other).world_info, BY_HAND);
});
