// Finding something: in a story's tree, and in all stories from every page.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { empty, Site, stage, Visit, writeChat } from './lib/site.js';

let browser;
let site;
stage((...there) => { [browser, site] = there; });

async function visitTree(options = {}, of = site, address = '') {
    const visit = await Visit.start(browser, of, address, options);
    await visit.until('the tree is ready', () => document.getElementById('tree')?.dataset.ready === 'true');
    return visit;
}

test('regression: one sign of a script without letters is found, and so are the keys of entries', async () => {
    const vault = empty();
    writeChat(vault, 'Ana', 'Main', ['海邊的燈', 'two'], { world_info: 'Lore' });
    fs.writeFileSync(path.join(vault, 'worlds/Lore.json'), JSON.stringify({ entries: { 0: { uid: 0, key: ['windlass'], comment: 'The crane', content: 'It lifts.', disable: false } } }));
    const other = await Site.start(vault);
    const visit = await visitTree({}, other, 'tree?story=Ana');
    await visit.click('#search input');
    await visit.type('燈');
    await visit.until('the message', () => document.querySelector('#results mark')?.textContent === '燈');
    await visit.run(() => { document.querySelector('#search input').value = ''; });
    await visit.type('windl');
    await visit.until('the entry', () => /The crane · Lore · key “windlass”/.test(document.getElementById('results').textContent));
    visit.clean();
    await visit.close();
    await other.stop();
});

test('from every page all stories are searched, with the keyboard alone; light and dark are the reader\'s choice', async () => {
    const visit = await Visit.start(browser, site, 'health');
    await visit.press('/');
    await visit.until('the sheet', () => document.querySelector('dialog.finder').open);
    await visit.type('lamp');
    await visit.until('what was found', () => document.querySelector('.finder mark') !== null);
    await visit.accessible('finding');
    await visit.picture('find');
    await visit.press('ArrowDown');
    await visit.press('Enter');
    await visit.until('there', () => location.pathname.endsWith('/moment'));
    await visit.ready();
    const paper = () => visit.run(() => getComputedStyle(document.body).backgroundColor);
    const light = await paper();
    await visit.click('#theme');
    await visit.click('#theme');
    assert.notEqual(await paper(), light);
    await visit.go('');
    assert.notEqual(await paper(), light, 'the next page knows');
    await visit.accessible('dark by choice');
    await visit.run(() => localStorage.removeItem('forklore-theme'));
    visit.clean();
    await visit.close();
});
