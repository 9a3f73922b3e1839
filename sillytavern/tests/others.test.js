// Other extensions that bind books of their own to a fork: the right book wins. What people bind stays.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, MAIN } from './lib/bench.js';
import { before, entries, isWhole, newFork } from './lib/forks.js';
import { pause } from './lib/tavern.js';

const at = bench();

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
    assert.ok(tavern.books().includes(theirs.at(-1)), 'and what they made is theirs: it is not deleted');
});

// Makes a branch, and gives it with its book.
async function branched(message) {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    await visit.clearNotices();
    await visit.message(message, '.mes_create_branch');
    const fork = await visit.away(MAIN);
    await visit.notice('Branch created');
    return { fork, book: tavern.header(fork).world_info };
}

const released = () => at.visit.page.until('the guard has let go', () => !Forklore.state().guarded);

async function bound(fork, book) {
    for (let tries = 0; tries < 100 && at.tavern.header(fork).world_info !== book; tries += 1) {
        await pause(100);
    }
    assert.equal(at.tavern.header(fork).world_info, book);
}

test('regression: a lorebook that is renamed right after the fork keeps its new name', async () => {
    const { tavern, visit } = at;
    const { fork, book } = await branched(45);
    const text = entries(tavern.book(book));
    await visit.page.click('#WIDrawerIcon');
    await visit.page.run((book) => {
        const list = document.querySelector('#world_editor_select');
        list.value = [...list.options].find((option) => option.textContent === book).value;
        list.dispatchEvent(new Event('change', { bubbles: true }));
    }, book);
    await visit.page.click('#world_popup_name_button');
    await visit.dialog('Enter a new name');
    // Typing takes its time: here it passes at once.
    await visit.page.run(() => {
        const { now } = Date;
        Date.now = () => now() + 11_000;
        document.querySelector('dialog[open] .popup-input').value = 'A name of my own';
    });
    await visit.page.click('dialog[open] .popup-button-ok');
    await bound(fork, 'A name of my own');
    await released();
    await bound(fork, 'A name of my own');
    assert.deepEqual(entries(tavern.book('A name of my own')), text);
    assert.deepEqual(tavern.forklore('trash').items.filter(({ path }) => path.startsWith('worlds/')), []);
    assert.ok(!(await visit.notices()).some((notice) => notice.includes('Another extension')), 'nobody is accused');
    await visit.reload();
});

test('regression: a lorebook that somebody chooses right after the fork stays, without a word', async () => {
    const { tavern, visit } = at;
    const { fork, book } = await branched(46);
    const chosen = tavern.books().find((name) => name !== book);
    await visit.clearNotices();
    await visit.page.click('#rightNavDrawerIcon');
    await visit.page.click('.form_create_bottom_buttons_block .chat_lorebook_button', { shift: true });
    await visit.page.place('dialog[open] .chat_world_info_selector');
    // The mouse opens the list; what is chosen there comes as an event.
    await visit.page.run((name) => {
        const list = document.querySelector('dialog[open] .chat_world_info_selector');
        list.value = name;
        list.dispatchEvent(new Event('change', { bubbles: true }));
    }, chosen);
    await visit.page.click('dialog[open] .popup-button-ok');
    await bound(fork, chosen);
    await released();
    await bound(fork, chosen);
    assert.ok(tavern.books().includes(book), 'its own is still there');
    assert.deepEqual((await visit.notices()).filter((text) => /lorebook/.test(text)), []);
    await visit.reload();
});

test('regression: a lorebook that a script binds right after the fork stays bound, and one click goes back', async () => {
    const { tavern, visit } = at;
    const { fork, book } = await branched(44);
    await visit.page.run(async () => {
        const context = SillyTavern.getContext();
        await context.saveWorldInfo('Made by a script', { entries: {} }, true);
        context.chatMetadata.world_info = 'Made by a script';
        await context.saveMetadata();
    });
    await visit.notice('This fork has another lorebook now');
    await released();
    await bound(fork, 'Made by a script');
    assert.ok(tavern.books().includes('Made by a script'));
    await visit.page.run(() => [...document.querySelectorAll('.toast')].find((toast) => toast.textContent.includes('another lorebook now')).click());
    await bound(fork, book);
});
