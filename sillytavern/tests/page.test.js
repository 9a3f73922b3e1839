// Forklore's own pages from inside SillyTavern: through the plugin, below its path, with SillyTavern's token against forged requests.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PHONE, Visit as Reader } from '../../crates/web/tests/lib/site.js';
import { bench, GROUP, LAST, MAIN, STORY } from './lib/bench.js';
import { before, isWhole, newFork } from './lib/forks.js';

const at = bench();
const site = { get url() { return `${at.tavern.url}api/plugins/forklore/`; } };
const query = (said) => new URLSearchParams(said);

async function read(address, options) {
    const reader = await Reader.tab(at.browser, site, options);
    await reader.go(address);
    return reader;
}

test('the panel leads to the page, and all of it works below the plugin\'s path', async () => {
    const { visit } = at;
    await visit.open(MAIN);
    await visit.slash('/forklore-panel');
    const link = await visit.page.until('a link to the page', () => [...document.querySelectorAll('dialog[open] a')].find((link) => link.textContent.includes('Full page'))?.href);
    assert.equal(link, site.url);
    await visit.page.key('Escape');

    const reader = await read('');
    await reader.until('the story', (story) => [...document.querySelectorAll('main a')].some((link) => link.textContent.includes(story)), STORY);
    for (const [name, address] of Object.entries({
        tree: `tree?${query({ story: STORY })}`,
        moment: `moment?${query({ chat: MAIN, at: 45 })}`,
        compare: `compare?${query({ a: MAIN, a_at: 20, b: MAIN, b_at: 60 })}`,
        branch: `act?${query({ kind: 'branch', chat: MAIN, at: 45 })}`,
        health: 'health', log: 'log', kept: 'keep',
    })) {
        await reader.go(address);
        await reader.until(`${name} is there`, () => document.querySelector('main h1, main h2') !== null && document.body.dataset.through === 'sillytavern');
        reader.clean();
    }
    await reader.close();
});

test('the slider travels', async () => {
    const reader = await read(`moment?${query({ chat: MAIN, at: 45 })}`);
    const book = () => reader.run(() => document.querySelector('section.book').textContent);
    await reader.until('the slider works', () => document.querySelector('input[type=range]')?.max > 0);
    const was = await book();
    await reader.run(() => document.querySelector('input[type=range]').focus());
    await reader.press('Home');
    await reader.until('the first message', () => /at=0/.test(location.search));
    await reader.until('another book', (was) => document.querySelector('section.book').textContent !== was, was);
    reader.clean();
    await reader.close();
});

test('a branch made on the page is whole, opens in SillyTavern with one click, and is undone from the log', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    const was = before(tavern, MAIN);
    const reader = await read(`act?${query({ kind: 'branch', chat: MAIN, at: 60 })}`);
    await reader.click('.go button.main');
    await reader.until('it is made', () => location.pathname.endsWith('/done') && document.querySelector('.in-tavern') !== null);
    const operation = await reader.run(() => new URLSearchParams(location.search).get('operation'));
    const fork = await newFork(tavern, was);
    isWhole(tavern, was, fork, 60);
    reader.clean();
    await at.picture('page-in-sillytavern', reader);

    await reader.click('.in-tavern');
    await reader.until('it is open in SillyTavern', (fork) => globalThis.Forklore?.state().chat === fork && globalThis.Forklore.state().entered?.chat === fork, fork);
    assert.equal(await reader.run(() => location.pathname + location.hash), '/', 'a reload would not open it again');
    assert.equal(await reader.run(() => SillyTavern.getContext().chat.length), 61);
    await reader.run((chat) => { location.hash = `forklore-open=${encodeURIComponent(chat)}`; }, GROUP);
    await reader.until('a group chat opens the same way', (chat) => Forklore.state().chat === chat, GROUP);
    await reader.run((chat) => { location.hash = `forklore-open=${encodeURIComponent(chat)}`; }, `${STORY}/Nobody wrote this`);
    await reader.until('a chat that is not there is told', () => /cannot be opened/.test(document.querySelector('#toast-container')?.textContent));
    assert.ok(!tavern.forklore('tree', STORY).stories[0].chats.some(({ chat }) => chat.endsWith('Nobody wrote this')), 'and not made');
    await reader.close();

    const log = await read('log');
    await log.click(`.action:has(a[href*="${operation}"]) button`, { text: 'Undo' });
    await log.until('undone', () => location.pathname.endsWith('/done') && /Undone/.test(document.querySelector('h1').textContent));
    assert.ok(!tavern.forklore('tree', STORY).stories[0].chats.some(({ chat }) => chat === fork));
    log.clean();
    await log.close();
});

test('what is forked in SillyTavern appears on the open page, on a phone too', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    const reader = await read(`tree?${query({ story: STORY })}`, PHONE);
    await reader.until('drawn', () => document.getElementById('tree')?.dataset.ready);
    await reader.fits('the tree');
    const was = before(tavern, MAIN);
    await visit.message(LAST, '.mes_create_branch');
    const fork = await visit.away(MAIN);
    isWhole(tavern, was, fork, LAST);
    await reader.until('it is drawn', (fork) => [...document.querySelectorAll('[data-chat]')].some((row) => row.dataset.chat === fork), fork);
    reader.clean();
    await reader.close();
});

test('a request without SillyTavern\'s token changes nothing', async () => {
    const { tavern } = at;
    const chats = () => tavern.forklore('tree', STORY).stories[0].chats.length;
    const was = chats();
    const reader = await read('');
    const status = await reader.run(async (chat) => {
        const body = JSON.stringify({ kind: 'branch', chat, at: '60' });
        return (await fetch('act', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })).status;
    }, MAIN);
    assert.equal(status, 403);
    assert.equal(chats(), was);
    await reader.close();
});
