// What is told of a fork and what can be done from there: one notice with undo and rename, the sign of where one is, the trash, and the
// settings that decide about names and warnings.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { bench, LAST, MAIN, STORY } from './lib/bench.js';
import { before, newFork } from './lib/forks.js';
import { only, press } from './lib/toasts.js';
import { Visit } from './lib/visit.js';

const at = bench();
const PHONE = { width: 390, height: 780 };
const nameOf = (chat) => chat.slice(STORY.length + 1);
// Without its character, which everybody knows here.
const SHORT = nameOf(MAIN).slice(`${STORY} - `.length);

async function typed(visit, name) {
    await visit.page.run((name) => { [...document.querySelectorAll('dialog[open] .popup-input')].at(-1).value = name; }, name);
    await visit.page.click('dialog[open]:last-of-type .popup-button-ok');
}

test('on a phone the notice is small; the rest is behind a click, with the same number of entries everywhere', async () => {
    const { tavern, browser } = at;
    const visit = await Visit.start(browser, tavern, PHONE);
    try {
        await visit.open(MAIN);
        await visit.clearNotices();
        await visit.message(28, '.forklore_here');
        const story = await visit.dialog('The story at message 28');
        const entries = /Lorebook: (\d+ entr\w+)/.exec(story)[1];
        await visit.choose('checkpoint');
        await visit.dialog('Create Checkpoint');
        await typed(visit, 'Seen on a phone');
        await only(visit);
        await at.picture('one-notice-phone', visit);
        const height = await visit.page.run(() => document.querySelector('.forklore-toast').getBoundingClientRect().height);
        assert.ok(height < 150, `${height} pixels`);
        await press(visit, 'Details');
        const details = await visit.dialog('from message 28 of');
        assert.ok(details.includes(entries), `${entries} in ${details}`);
        assert.match(details, /does not end a scene/);
        await at.picture('details-phone', visit);
        await visit.page.click('dialog[open] .popup-button-ok');
        // The panel, too.
        await visit.page.click('#forklore_badge');
        await visit.page.place('.forklore-row');
        await at.picture('panel-phone', visit);
        await visit.page.key('Escape');
    } finally {
        await visit.close();
    }
});

test('a checkpoint: SillyTavern\'s dialog has the name by the settings, and the notice gives it another', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    await visit.clearNotices();
    tavern.forklore('config', 'checkpoint.name_template', 'After scene {scene_number}');
    const was = before(tavern, MAIN);
    await visit.message(40, '.mes_create_bookmark');
    await visit.dialog('Create Checkpoint');
    const suggested = await visit.page.until('a name is suggested', () => [...document.querySelectorAll('dialog[open] textarea.popup-input')].at(-1)?.value);
    assert.match(suggested, /^After scene \d+$/);
    await at.picture('suggested');
    await visit.page.click('dialog[open] .popup-button-ok');
    const fork = await newFork(tavern, was);
    assert.equal(nameOf(fork), suggested);
    await only(visit);
    await press(visit, 'Rename');
    await visit.dialog('The new name');
    await typed(visit, 'Called otherwise');
    await visit.page.until('the flag follows', () => SillyTavern.getContext().chat[40].extra.bookmark_link === 'Called otherwise');
    assert.ok(tavern.header(`${STORY}/Called otherwise`));
    tavern.forklore('config', 'checkpoint.name_template', '--unset');
    // Who wants to name every checkpoint is asked until there is a name.
    tavern.forklore('config', 'checkpoint.auto_name', 'false');
    tavern.forklore('config', 'checkpoint.show_warnings', 'false');
    await visit.clearNotices();
    await visit.message(41, '.mes_create_bookmark');
    await visit.dialog('The settings ask for one');
    await typed(visit, '');
    await visit.page.until('it asks again', () => [...document.querySelectorAll('dialog[open]:not([closing])')].some((dialog) => dialog.innerText.includes('The settings ask for one')));
    await typed(visit, 'Named by hand');
    assert.match(await only(visit), /^Checkpoint created from message 41\nNamed by hand/);
    await press(visit, 'Details');
    assert.doesNotMatch(await visit.dialog('from message 41 of'), /does not end a scene/, 'who wants no warnings gets none');
    await visit.page.click('dialog[open] .popup-button-ok');
    ['auto_name', 'show_warnings'].forEach((name) => tavern.forklore('config', `checkpoint.${name}`, '--unset'));
});

test('the sign above the messages tells where one is, and leads to the parent, the siblings and the page', async () => {
    const { tavern, visit } = at;
    const chat = `${STORY}/Named by hand`;
    await visit.open(MAIN);
    await visit.clearNotices();
    await visit.open(chat);
    assert.match(await visit.notice('loaded'), /^Checkpoint loaded: Named by hand\nFrom message 41 of/);
    const sign = await visit.page.until('the sign', () => document.querySelector('#forklore_place')?.innerText);
    assert.match(sign.replace(/\s+/g, ' '), new RegExp(`Checkpoint of ${SHORT} at 41`));
    const { siblings } = (await visit.state()).entered.place;
    assert.ok(siblings.some((one) => one.chat === `${STORY}/Called otherwise` && one.message === 40), JSON.stringify(siblings));
    await visit.page.run(() => toastr.remove());
    await at.picture('sign');
    const link = await visit.page.run(() => document.querySelector('#forklore_place a').href);
    assert.deepEqual(Object.fromEntries(new URL(link).searchParams), { chat: MAIN, at: '41' });
    await visit.page.click('#forklore_place button', { text: 'sibling' });
    await visit.dialog('Other forks of the same chat');
    await visit.choose(`${STORY}/Called otherwise`);
    await visit.settled(`${STORY}/Called otherwise`);
    await visit.page.click('#forklore_place button', { text: 'Parent' });
    await visit.settled(MAIN);
    assert.equal(await visit.page.run(() => document.querySelector('#forklore_place')), null, 'the main chat has none');
    tavern.forklore('delete', chat);
});

test('the panel: what went to the trash comes back from there, with its lorebook', async () => {
    const { tavern, visit } = at;
    const chat = `${STORY}/Called otherwise`;
    const { world_info: book } = tavern.header(chat);
    tavern.forklore('delete', chat);
    assert.ok(!tavern.books().includes(book));
    await visit.clearNotices();
    await visit.slash('/forklore-panel');
    await visit.page.click('.forklore-bar .menu_button', { text: 'Trash' });
    await visit.dialog('Choose what is to come back');
    await at.picture('trash');
    await visit.choose(`chats/${chat}.jsonl`);
    await visit.notice('It is back');
    assert.equal(tavern.header(chat).world_info, book);
    assert.ok(tavern.books().includes(book));
    await visit.page.until('it is listed', (chat) => document.querySelector(`.forklore-row[data-chat="${chat}"]`), chat);
    const text = await visit.page.run(() => document.querySelector('.forklore-panel').innerText);
    assert.doesNotMatch(text, /\b1 versions|--[a-z]|[A-Z]+_[A-Z]+/);
    assert.ok(!(/Ready to fork/.test(text) && /open[\s\S]{0,80}needs care/.test(text)), text);
    const titles = await visit.page.run(() => [...document.querySelectorAll('.forklore-panel [title]')].map((part) => part.title).join('\n'));
    assert.doesNotMatch(titles, /[A-Z]+_[A-Z]+|\b1 versions/);
    await visit.page.key('Escape');
});

test('the panel makes a branch when the queue is empty, as the buttons of messages do', async () => {
    const { tavern, visit } = at;
    const queue = (work) => visit.page.run(async (work) => {
        const { chatMetadata: { world_info: name }, loadWorldInfo, saveWorldInfo } = SillyTavern.getContext();
        const book = await loadWorldInfo(name);
        const entry = Object.values(book.entries).find(({ comment }) => comment === '__operation_queue');
        const state = JSON.parse(entry.content);
        state.queue = work.map((status, n) => ({ id: `op_${n}`, type: 'generate_scene_recap', params: { index: 60 }, status, created_at: 1, retries: 0, priority: 9, dependencies: [], metadata: {}, queueVersion: 0 }));
        entry.content = JSON.stringify(state, null, 2);
        await saveWorldInfo(name, book, true);
    }, work);
    await visit.open(MAIN);
    await queue(['in_progress', 'pending', 'pending']);
    await visit.page.until('what runs and what waits', () => Forklore.state().text.includes('1 running, 2 waiting'));
    await visit.slash('/forklore-panel');
    await visit.page.click('.forklore-bar .menu_button', { text: 'Branch here' });
    await visit.dialog('cannot be made now');
    await visit.choose('wait');
    await visit.notice('Waiting for the queue');
    await visit.clearNotices();
    await queue([]);
    const fork = await visit.away(MAIN);
    assert.equal(tavern.chat(fork).length, LAST + 2);
    assert.match(await only(visit), /^Branch created/);
});

test('SillyTavern\'s own list of chats is a tree', async () => {
    const { visit } = at;
    await visit.open(MAIN);
    await visit.clearNotices();
    await visit.page.click('#options_button');
    await visit.page.click('#option_select_chat');
    const lineage = await visit.page.until('the list is a tree', (name) => {
        const row = document.querySelector(`.forklore-chats .select_chat_block[file_name^="${name}"]`)?.closest('.select_chat_block_wrapper');
        return row?.querySelector('.forklore-lineage')?.textContent;
    }, 'Seen on a phone');
    assert.equal(lineage, `Checkpoint of ${SHORT} at 28`);
    await at.picture('chats');
    const [parent, fork] = await visit.page.run((names) => names.map((name) => document.querySelector(`#select_chat_div .select_chat_block[file_name^="${name}"]`).getBoundingClientRect().y), [nameOf(MAIN), 'Seen on a phone']);
    assert.ok(parent < fork, 'a fork stands below its parent');
    await visit.page.size(PHONE.width, PHONE.height);
    const [wide, screen] = await visit.page.until('it has the width of a phone', () => {
        const list = document.querySelector('#select_chat_popup');
        return list.clientWidth < 400 && [list.scrollWidth, list.clientWidth];
    });
    await at.picture('chats-phone');
    assert.ok(wide <= screen, `the list is ${wide} wide on a phone of ${screen}`);
    await visit.page.size(1280, 900);
    await visit.page.click('#select_chat_cross');
});

test('a fork whose lorebook is gone: the dialog leads back to the parent', async () => {
    const { tavern, visit } = at;
    const chat = `${STORY}/Called otherwise`;
    fs.rmSync(path.join(tavern.vault, 'worlds', `${tavern.header(chat).world_info}.json`));
    await visit.open(chat);
    assert.match(await visit.dialog('is not right'), new RegExp(`Back to ${nameOf(MAIN)}`));
    await at.picture('back');
    await visit.choose('parent');
    await visit.settled(MAIN);
});

test('the drawer speaks of the vault in words', async () => {
    const { visit } = at;
    await visit.page.until('the settings', () => document.querySelectorAll('#forklore_settings .forklore-engine label').length > 10);
    const text = await visit.page.run(() => document.querySelector('#forklore_settings').textContent);
    assert.doesNotMatch(text, /history\.dir|false:|fork\.[a-z]|checkpoint\.[a-z]/);
});
