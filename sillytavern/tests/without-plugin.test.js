// Without the server plugin: the page says so, and forks that it makes do not share their parent's book all the same.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, MAIN } from './lib/bench.js';
import { before, newFork } from './lib/forks.js';

const at = bench({ plugin: false });

// Nobody looks at the chat here: it is only opened.
async function open(visit, address) {
    await visit.page.run(async (story, name) => {
        const { characters, selectCharacterById } = SillyTavern.getContext();
        await selectCharacterById(characters.findIndex(({ avatar }) => avatar === `${story}.png`));
        await SillyTavern.getContext().openCharacterChat(name);
    }, ...address.split('/'));
    await visit.page.until('it is open', (address) => Forklore.state().chat === address, address);
}

test('the page says what is not protected', async () => {
    const { mode, text } = await at.visit.state();
    assert.equal(mode, 'absent');
    assert.match(text, /not protected/);
    await open(at.visit, MAIN);
    await at.visit.page.click('#forklore_badge');
    await at.visit.dialog('Run `forklore install`');
    await at.picture('no-plugin');
    await at.visit.page.click('dialog[open] .popup-button-ok');
});

test('a fork is asked about once, and gets a copy of the book', async () => {
    const { tavern, visit } = at;
    await open(visit, MAIN);
    let was = before(tavern, MAIN);
    await visit.message(30, '.mes_create_branch');
    await visit.dialog('cannot look after this branch');
    await visit.choose('yes');
    const fork = await newFork(tavern, was);
    await visit.notice('copy of the lorebook as it is now');
    assert.ok(tavern.books().includes(tavern.header(fork).world_info));
    assert.notEqual(tavern.header(fork).world_info, was.book);
    await open(visit, MAIN);
    was = before(tavern, MAIN);
    await visit.slash('/branch-create 14');
    const second = await newFork(tavern, was);
    assert.notEqual(tavern.header(second).world_info, was.book);
    assert.equal(before(tavern, MAIN).bytes, was.bytes);
});

test('a fork by another extension does not share either', async () => {
    const { tavern, visit } = at;
    await open(visit, MAIN);
    const was = before(tavern, MAIN);
    await visit.page.run(async () => { await (await import('/scripts/bookmarks.js')).createBranch(45); });
    const fork = await newFork(tavern, was);
    assert.notEqual(tavern.header(fork).world_info, was.book);
    assert.ok(tavern.books().includes(tavern.header(fork).world_info));
});

test('regression: nor one that is saved by a whole request instead of an address', async () => {
    const { tavern, visit } = at;
    await open(visit, MAIN);
    const was = before(tavern, MAIN);
    await visit.page.run(async () => {
        const { fetch } = window;
        window.fetch = (address, init) => fetch(new Request(address, init));
        try {
            await (await import('/scripts/bookmarks.js')).createBranch(20);
        } finally {
            window.fetch = fetch;
        }
    });
    const fork = await newFork(tavern, was);
    assert.notEqual(tavern.header(fork).world_info, was.book);
    assert.ok(tavern.books().includes(tavern.header(fork).world_info));
});
