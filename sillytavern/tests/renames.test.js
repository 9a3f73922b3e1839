// What gets another name in SillyTavern: chats and lorebooks. Flags lead on, and nobody gets what belongs to another.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, MAIN, STORY } from './lib/bench.js';
import { entries } from './lib/forks.js';
import { Visit } from './lib/visit.js';

const at = bench();

// Makes a checkpoint with SillyTavern's own command, and gives its address.
async function checkpoint(message, name) {
    const { visit } = at;
    await visit.open(MAIN);
    await visit.clearNotices();
    await visit.slash(`/checkpoint-create mesId=${message} ${name}`);
    await visit.notice('Checkpoint created');
    return `${STORY}/${name.replace(/["?:]/g, '')}`;
}

// Clicks the flag of a message, and gives the chat that it opens.
async function flag(visit, message) {
    await visit.message(message, '.mes_bookmark');
    return visit.away(MAIN);
}

async function renamed(visit, name) {
    await visit.slash(`/renamechat ${name}`);
    await visit.settled(`${STORY}/${name}`);
    return `${STORY}/${name}`;
}

test('a checkpoint that is renamed: its flag leads to it', async () => {
    const { tavern, visit } = at;
    await visit.open(await checkpoint(40, 'Kept: "odd" name?'));
    const now = await renamed(visit, 'Kept under a new name');
    await visit.open(MAIN);
    assert.equal(await flag(visit, 40), now);
    assert.equal(await visit.messages(), 41);
    assert.ok(!tavern.chats(STORY).includes('Kept odd name'), 'nothing was made under the old name');
});

test('regression: a checkpoint that another tab renames: the flag of this tab leads to it', async () => {
    const { tavern, browser, visit } = at;
    const was = await checkpoint(41, 'Kept for another tab');
    const second = await Visit.start(browser, tavern);
    try {
        await second.open(was);
        const now = await renamed(second, 'Renamed in another tab');
        await visit.page.until('this tab has heard of it', (name) => SillyTavern.getContext().chat[41].extra.bookmark_link === name, 'Renamed in another tab');
        assert.equal(await flag(visit, 41), now);
        assert.ok(!tavern.chats(STORY).includes('Kept for another tab'), 'nothing was made under the old name');
    } finally {
        await second.close();
    }
});

test('regression: a new chat with the old name of a fork does not get the fork\'s lorebook', async () => {
    const { tavern, visit } = at;
    const was = await checkpoint(42, 'Kept for a stranger');
    await visit.open(was);
    const book = tavern.header(was).world_info;
    await visit.page.until('the fork is guarded', () => Forklore.state().guarded);
    await renamed(visit, 'Kept by its owner');
    await visit.open(MAIN);
    // As an old link does it: SillyTavern makes a chat of a name that it does not have.
    await visit.open(was);
    assert.equal(await visit.messages(), 1, 'a greeting and nothing else');
    await visit.page.until('the guard has let go', () => !Forklore.state().guarded);
    assert.equal(await visit.page.run(() => SillyTavern.getContext().chatMetadata.world_info ?? null), null);
    assert.equal(tavern.header(`${STORY}/Kept by its owner`).world_info, book);
});

test('regression: a lorebook that is renamed from another chat: the chat that had it is offered the renamed one', async () => {
    const { tavern, visit } = at;
    const kept = await checkpoint(43, 'Kept with a lorebook');
    const book = tavern.header(kept).world_info;
    const text = entries(tavern.book(book));
    await visit.open(kept);
    await visit.open(MAIN);
    // As SillyTavern's World Info does it: saved anew, and the old one deleted.
    await visit.page.run(async (book) => {
        const context = SillyTavern.getContext();
        await context.updateWorldInfoList();
        await context.saveWorldInfo('Renamed from elsewhere', await context.loadWorldInfo(book), true);
        await (await import('/scripts/world-info.js')).deleteWorldInfo(book);
    }, book);
    assert.ok(!tavern.books().includes(book));
    await visit.open(kept);
    assert.match(await visit.dialog('The lorebook of this chat is not right'), /called "Renamed from elsewhere" now/);
    await visit.choose('follow');
    await visit.page.until('it is bound', () => Forklore.state().entered?.hold === false && SillyTavern.getContext().chatMetadata.world_info === 'Renamed from elsewhere');
    assert.equal(tavern.header(kept).world_info, 'Renamed from elsewhere');
    assert.deepEqual(entries(tavern.book('Renamed from elsewhere')), text);
});
