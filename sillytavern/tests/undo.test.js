// A fork is taken back from the notice that tells of it, as long as nobody has played on.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, MAIN, STORY } from './lib/bench.js';
import { before, isWhole } from './lib/forks.js';
import { pause } from './lib/tavern.js';
import { only, press } from './lib/toasts.js';

const at = bench();
const nameOf = (chat) => chat.slice(STORY.length + 1);

test('regression: a branch is told of once, in two lines, and can be undone from there', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    await visit.clearNotices();
    const was = before(tavern, MAIN);
    await visit.message(60, '.mes_create_branch');
    const fork = await visit.away(MAIN);
    isWhole(tavern, was, fork, 60);
    const [title, name, ...actions] = (await only(visit)).split('\n');
    assert.deepEqual([title, name], ['Branch created from message 60', nameOf(fork)]);
    assert.deepEqual(actions.filter(Boolean), ['Undo', 'Rename', 'Details'], 'that no scene ends there is nothing to do about');
    await at.picture('one-notice');
    const { world_info: book } = tavern.header(fork);
    await press(visit, 'Undo');
    await visit.notice('Undone');
    await visit.settled(MAIN);
    assert.ok(!tavern.books().includes(book), 'its book is gone');
    assert.deepEqual(before(tavern, MAIN).chats, was.chats);
    assert.equal(await visit.page.run((name) => SillyTavern.getContext().chat.some(({ extra }) => extra?.branches?.includes(name)), nameOf(fork)), false, 'and the page does not lead there');
});

test('a branch that was played on meanwhile is not undone: what was played stays, or goes to the trash and comes back', async () => {
    const { tavern, visit } = at;
    const played = 'What nobody wants to lose.';
    for (const choice of ['keep', 'trash']) {
        await visit.open(MAIN);
        await visit.clearNotices();
        const was = before(tavern, MAIN);
        await visit.message(60, '.mes_create_branch');
        const fork = await visit.away(MAIN);
        await visit.notice('Branch created');
        await visit.slash(`/send ${played}`);
        await press(visit, 'Undo');
        await visit.dialog('It was played on since');
        assert.equal(await visit.here(), fork, 'who is asked stays where he is');
        await at.picture('undo-played-on');
        if (choice === 'keep') {
            await visit.page.click('dialog[open] .popup-button-ok', { text: 'Keep it' });
            await pause(1500);
            assert.equal(await visit.here(), fork);
        } else {
            await visit.choose('trash');
            await visit.notice('In the trash');
            await visit.settled(MAIN);
            assert.deepEqual(before(tavern, MAIN).chats, was.chats);
            assert.equal(await visit.page.run((name) => SillyTavern.getContext().chat.some(({ extra }) => extra?.branches?.includes(name)), nameOf(fork)), false, 'the page does not lead there');
            tavern.forklore('trash', 'restore', `chats/${fork}.jsonl`);
        }
        assert.equal(tavern.chat(fork).at(-1).mes, played, 'nothing is lost');
    }
});
