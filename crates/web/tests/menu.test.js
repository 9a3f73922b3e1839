// What can be done with a chat is where the chat is; what was deleted comes back; names that cannot be.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, test } from 'node:test';
import { Browser, demo, Site, Visit } from './lib/site.js';

const HEARD = 'Ottilie Crake/Heard Once';
let browser;
before(async () => { browser = await Browser.start(); });
after(async () => { await browser?.stop(); });

const act = (kind, chat, more = {}) => `act?${new URLSearchParams({ kind, chat, ...more })}`;
const text = (visit, selector = 'main') => visit.run((selector) => document.querySelector(selector)?.innerText ?? '', selector);
const visiting = (site, address, options) => Visit.start(browser, site, address, options);

async function arrived(visit, title) {
    await visit.until(title, (title) => document.querySelector('h1')?.textContent === title, title);
}

test('regression: what was deleted together comes back together, once, and leaves the trash', async () => {
    const site = await Site.start(demo());
    const fork = 'Ottilie Crake/Heard Once - Branch #1';
    const files = () => fs.readdirSync(site.vault, { recursive: true }).filter((file) => !String(file).startsWith('.forklore') && /Branch #1/.test(String(file))).sort();
    const before = files();
    await site.api('delete', {}, { chat: fork });
    const visit = await visiting(site, 'log');
    assert.equal(await visit.run(() => document.querySelectorAll('.trash > li').length), 1, 'one thing was deleted');
    assert.match(await text(visit, '.trash'), /Chat[^]*Lorebook/);
    await visit.accessible('the trash');
    await visit.picture('trash');
    await visit.click('.trash button');
    await arrived(visit, 'Undone');
    assert.deepEqual(files(), before);
    await visit.go('log');
    assert.match(await text(visit, '#trash'), /It is empty/);

    // One file alone, as the command can bring it: the rest comes with the operation, and nothing comes twice.
    await site.api('delete', {}, { chat: fork });
    await site.api('trash/restore', {}, { item: `chats/${fork}.jsonl` });
    await visit.go('log');
    assert.doesNotMatch(await text(visit, '#trash .files'), /Chat/);
    await visit.click('.trash button');
    await arrived(visit, 'It is back');
    assert.deepEqual(files(), before);
    visit.clean();
    await visit.close();
    await site.stop();
});

test('regression: rename and delete are behind every chat, on its page and on its line in the tree', async () => {
    const site = await Site.start(demo());
    const visit = await visiting(site, `moment?${new URLSearchParams({ chat: HEARD })}`);
    await visit.click('.titled .menu summary');
    const acts = await visit.run(() => [...document.querySelectorAll('.titled .menu a')].filter((link) => link.checkVisibility()).map((link) => link.textContent));
    assert.deepEqual(acts, ['Open', 'Branch', 'Checkpoint', 'Compare', 'Bring along …', 'Rename', 'History', 'Export …', 'Health', 'Delete']);
    await visit.accessible('a chat with its menu');
    await visit.picture('menu');
    await visit.press('Escape');
    assert.equal(await visit.run(() => document.querySelector('.titled .menu').open), false);
    await visit.click('.titled .menu summary');
    await visit.click('.titled .menu a', { text: 'Rename' });
    await arrived(visit, 'Rename');

    await visit.go('tree?story=Ottilie+Crake');
    await visit.until('the tree', () => document.getElementById('tree')?.dataset.ready === 'true');
    await visit.run(() => document.getElementById('canvas').focus());
    for (const key of ['ArrowRight', 'ArrowDown', 'm']) {
        await visit.press(key);
    }
    await visit.until('the menu', () => !document.getElementById('rowmenu').hidden);
    assert.equal(await visit.run(() => document.activeElement.textContent), 'Open');
    await visit.accessible('a line with its menu');
    const chat = await visit.run(() => document.querySelector('.row.here').dataset.chat);
    const to = await visit.run(() => document.querySelector('#rowmenu [data-act=delete]').getAttribute('href'));
    assert.deepEqual(Object.fromEntries(new URLSearchParams(to.split('?')[1])), { kind: 'delete', chat });
    visit.clean();
    await visit.close();
    await site.stop();
});

test('a name that files cannot have is told before it is taken', async () => {
    const site = await Site.start(demo());
    const visit = await visiting(site, act('branch', HEARD, { at: 20, name: 'What? Now: never' }));
    assert.match(await text(visit, '.plan'), /not quite what you typed/);
    await visit.go(act('rename', HEARD, { name: 'Why?' }));
    assert.match(await text(visit, '.plan'), /not quite what you typed/);
    await visit.go(act('rename', HEARD, { name: 'Why' }));
    assert.doesNotMatch(await text(visit, '.plan'), /not quite/);
    // An address that leads nowhere is a page, too.
    await visit.go('nowhere');
    assert.match(await text(visit), /There is no such page/);
    await visit.close();
    await site.stop();
});
