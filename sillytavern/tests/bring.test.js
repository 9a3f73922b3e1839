// Bringing branches together inside SillyTavern: from the panel and from the list of chats; what two branches do not agree on waits without
// holding the chat, and is answered there.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, LAST, MAIN, STORY } from './lib/bench.js';
import { becomes } from './lib/tavern.js';

const at = bench();
const nameOf = (address) => address.slice(STORY.length + 1);
const words = (tavern, chat, comment) => Object.values(tavern.book(tavern.header(chat).world_info).entries).find((entry) => entry.comment === comment)?.content;

// What a person writes into the open chat's lorebook, saved.
async function writes(comment, content) {
    const { tavern, visit } = at;
    const chat = await visit.here();
    await visit.page.run(async (comment, content) => {
        const context = SillyTavern.getContext();
        const name = context.chatMetadata.world_info;
        const book = await context.loadWorldInfo(name);
        const known = Object.values(book.entries).find((entry) => entry.comment === comment);
        if (known) {
            known.content = content;
        } else {
            const uid = Math.max(...Object.keys(book.entries).map(Number)) + 1;
            const [like] = Object.values(book.entries);
            book.entries[uid] = { ...structuredClone(like), uid, comment, content, key: [comment], displayIndex: uid, disable: false };
        }
        await context.saveWorldInfo(name, book, true);
    }, comment, content);
    await becomes(`${comment} is written`, () => words(tavern, chat, comment) === content);
}

async function says(text) {
    const { tavern, visit } = at;
    const chat = await visit.here();
    await visit.slash(`/send ${text}`);
    await becomes('it is saved', () => tavern.chat(chat).some(({ mes }) => mes === text));
}

let fork;
let both;
let someone;

test('"Bring along…" in the panel: a new branch knows both, and what they do not agree on waits', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    someone = Object.values(tavern.book(tavern.header(MAIN).world_info).entries).find(({ comment }) => comment.startsWith('character-')).comment;
    await visit.message(LAST, '.mes_create_branch');
    fork = await visit.away(MAIN);
    await says('It went on over there.');
    await writes(someone, 'Over there this is a smuggler.');
    await writes('item-Brass whistle', 'It calls the ferry.');
    await visit.open(MAIN);
    await says('It went on here.');
    await writes(someone, 'Here this is a captain.');

    await visit.slash('/forklore-panel');
    await visit.page.click(`.forklore-row[data-chat="${fork}"] [aria-label="Bring along what happened there"]`);
    const asked = await visit.dialog('Bring all of it along');
    assert.match(asked, /Brass whistle/);
    assert.match(asked, /1 question waits for you/);
    await at.picture('bring');
    await visit.choose('lore');
    both = await visit.away(MAIN);
    assert.notEqual(both, fork);
    assert.equal(words(tavern, both, 'item-Brass whistle'), 'It calls the ferry.');
    assert.equal(words(tavern, both, someone), 'Here this is a captain.', 'the words of the chat that goes on, until somebody answers');
    assert.match(await visit.notice('1 question waits'), /Play on/);
    const told = tavern.forklore('tree', STORY).stories[0].chats.find(({ chat }) => chat === both);
    assert.deepEqual([told.parent, told.learnt.chat, told.learnt.conflicts], [MAIN, fork, 1]);
});

test('a question that waits holds nothing, and is answered when somebody likes', async () => {
    const { tavern, visit } = at;
    await visit.settled(both);
    const { hold, entered } = await visit.state();
    assert.ok(!hold && !entered.hold, 'nothing is held');
    assert.deepEqual(await visit.dialogs(), [], 'and nothing is asked');
    await says('And on it goes.');

    await visit.slash('/forklore-panel');
    await visit.page.click(`.forklore-row[data-chat="${both}"] [aria-label^="Answer"]`);
    const asked = await visit.dialog('Keep ours');
    assert.match(asked, /Here this is a captain\.[^]*Over there this is a smuggler\./);
    await at.picture('question');
    await visit.choose('theirs');
    await becomes('it is answered', () => words(tavern, both, someone) === 'Over there this is a smuggler.');
    assert.ok(!tavern.forklore('check', both).findings.some(({ code }) => code === 'CONFLICT_OPEN'));
    await visit.notice('Nothing is open any more');
    // The page goes on with the new lorebook, and with everything that was said.
    const seen = await visit.page.run(async (comment) => {
        const context = SillyTavern.getContext();
        const { entries } = await context.loadWorldInfo(context.chatMetadata.world_info);
        return [Object.values(entries).find((entry) => entry.comment === comment).content, context.chat.at(-1).mes];
    }, someone);
    assert.deepEqual(seen, ['Over there this is a smuggler.', 'And on it goes.']);
});

test('on a branch in SillyTavern\'s own list of chats: one thing is taken over into the open chat', async () => {
    const { tavern, visit } = at;
    await visit.reload();
    await visit.open(MAIN);
    await visit.page.click('#options_button');
    await visit.page.click('#option_select_chat');
    const button = `#select_chat_div .select_chat_block[file_name^="${nameOf(fork)}"] .forklore-bring`;
    await visit.page.until('it is offered', (button) => document.querySelector(button)?.checkVisibility(), button);
    assert.equal(await visit.page.run((name) => document.querySelectorAll(`#select_chat_div .select_chat_block[file_name="${name}"] .forklore-bring, #select_chat_div .select_chat_block[file_name="${name}.jsonl"] .forklore-bring`).length, nameOf(MAIN)), 0, 'not for the open one');
    await at.picture('bring-list');
    await visit.page.click(button);
    await visit.dialog('Bring all of it along');
    await visit.choose('one');
    const uid = Object.values(tavern.book(tavern.header(fork).world_info).entries).find(({ comment }) => comment === 'item-Brass whistle').uid;
    await visit.dialog('Take one thing over');
    await visit.choose(String(uid));
    await becomes('it is here', () => words(tavern, MAIN, 'item-Brass whistle') === 'It calls the ferry.');
    // The page has loaded the chat anew by then.
    await visit.notice('is in this chat');
    assert.equal(words(tavern, MAIN, someone), 'Here this is a captain.', 'and nothing else');
    await says('Nothing is lost.');
    assert.ok(!tavern.forklore('check', MAIN).findings.some(({ code }) => code === 'BOOK_FOREIGN'));
});
