// All stories: what is shown of each, finding one, the keyboard, a phone, and names that want to be more than names.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Browser, empty, harbor, PHONE, Site, Visit, writeChat } from './lib/site.js';

const HOSTILE = '<img src=x onerror=alert(1)>&"\'';

let browser;
let site;
before(async () => {
    browser = await Browser.start();
    const vault = harbor();
    for (const name of ['Älva', 'Bryn', 'Corvin', HOSTILE.replaceAll('/', ''), '\u202egnp.live', 'x'.repeat(200)]) {
        writeChat(vault, name, 'First', [`<script>document.title = "owned"</script>${'long '.repeat(3000)}`, 'two']);
    }
    site = await Site.start(vault);
});
after(async () => {
    await browser?.stop();
    await site?.stop();
});

const shown = (visit) => visit.run(() => [...document.querySelectorAll('.story')].filter((card) => !card.hidden).map((card) => card.querySelector('.name').textContent));

// Waits until exactly these are shown: a page follows what is typed in its own time.
const shows = (visit, ...names) => visit.until(`${names.join() || 'nothing'} is shown`, (names) => {
    const cards = [...document.querySelectorAll('.story')].filter((card) => !card.hidden);
    return cards.map((card) => card.querySelector('.name').textContent).join('\n') === names.join('\n');
}, names);

test('every story is there with its numbers, and what was played last comes first', async () => {
    const { stories } = await site.api('stories');
    const visit = await Visit.start(browser, site);
    const cards = await visit.run(() => [...document.querySelectorAll('.story')].map((card) => card.textContent));
    assert.equal(cards.length, stories.length);
    for (const story of stories.filter(({ forks }) => forks > 0)) {
        const card = cards.find((text) => text.includes(story.name));
        assert.match(card, new RegExp(`${story.chats} chats?\\s*${story.forks} forks?`));
    }
    const dates = await visit.run(() => [...document.querySelectorAll('.story')].map((card) => card.dataset.changed));
    assert.deepEqual(dates, dates.toSorted().reverse());
    await visit.accessible('stories');
    await visit.picture('stories-fixture');
    visit.clean();
    await visit.close();
});

test('a story is found while its name is typed, without its accents, and Enter opens it', async () => {
    const visit = await Visit.start(browser, site);
    await visit.click('#filter input');
    await visit.type('alv');
    await shows(visit, 'Älva');
    await visit.type('zzz');
    await shows(visit);
    await visit.click('#all');
    await visit.until('all are shown', () => document.querySelectorAll('.story:not([hidden])').length > 5);
    await visit.type('bryn');
    await shows(visit, 'Bryn');
    await visit.press('Enter');
    await visit.until('the tree of Bryn', () => location.search === '?story=Bryn' && document.getElementById('tree'));
    visit.clean();
    await visit.close();
});

test('regression: what is typed before the page can hear it counts when it can, also Enter', async () => {
    const visit = await Visit.tab(browser, site);
    let come = await visit.page.withhold('*/stories*.js*');
    await visit.knock();
    await visit.click('#filter input');
    await visit.type('alv');
    assert.ok((await shown(visit)).length > 5, 'nobody hears it yet');
    await come();
    await shows(visit, 'Älva');

    come = await visit.page.withhold('*/stories*.js*');
    await visit.page.send('Page.reload', { ignoreCache: true });
    await visit.until('the page is new', () => document.readyState === 'loading' || document.readyState === 'interactive');
    await visit.click('#filter input');
    await visit.run(() => { document.querySelector('#filter input').value = ''; });
    await visit.type('bryn');
    await visit.press('Enter');
    await come();
    await shows(visit, 'Bryn');
    assert.equal(await visit.run(() => document.querySelector('#filter input').value), 'bryn');
    assert.equal(await visit.run(() => location.search), '');
    visit.clean();
    await visit.close();
});

test('names and texts stay texts', async () => {
    const visit = await Visit.start(browser, site);
    const names = await shown(visit);
    assert.ok(names.includes(HOSTILE.replaceAll('/', '')), names.join());
    assert.equal(await visit.run(() => document.querySelectorAll('.story img[src="x"], main script').length), 0);
    assert.ok(names.every((name) => !/[\u202a-\u202e]/.test(name)), 'nothing turns the text around it');
    assert.ok(names.every((name) => name.length <= 121));
    await visit.fits('stories');
    visit.clean();
    await visit.close();
});

test('pictures come from the cards, and nothing else does', async () => {
    const vault = empty();
    const card = fs.readFileSync(picture(site.vault));
    fs.writeFileSync(path.join(vault, 'characters/Ana.png'), card);
    fs.writeFileSync(path.join(vault, 'characters/Evil.png'), '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>');
    fs.writeFileSync(path.join(vault, 'secret.png'), card);
    ['Ana', 'Evil'].forEach((name) => writeChat(vault, name, 'First', ['one', 'two']));
    fs.writeFileSync(path.join(vault, 'groups/7.json'), JSON.stringify({ id: '7', name: 'All', members: ['../secret.png', 'Evil.png', 'Ana.png'], chats: [] }));
    const other = await Site.start(vault);
    const ask = (story, headers = {}) => fetch(`${other.url}picture?${new URLSearchParams({ story })}`, { headers: { Authorization: `Bearer ${other.token}`, ...headers } });
    const found = await ask('Ana');
    assert.equal(found.headers.get('content-type'), 'image/png');
    const bytes = Buffer.from(await found.arrayBuffer());
    assert.ok(!bytes.includes('chara') && !bytes.includes('tEXt'), 'without the character');
    assert.equal((await ask('Ana', { 'If-None-Match': found.headers.get('etag') })).status, 304);
    const ofGroup = await ask('group:7');
    assert.ok(Buffer.from(await ofGroup.arrayBuffer()).equals(bytes), 'a group has the picture of its first member who has one');
    for (const name of ['Evil', 'Nobody', '../secret', '..', 'group:1', '/etc/passwd']) {
        const none = await ask(name);
        assert.deepEqual([none.headers.get('content-type'), (await none.arrayBuffer()).byteLength < 50], ['image/gif', true], name);
    }
    assert.equal((await fetch(`${other.url}picture?story=Ana`)).status, 401);
    await other.stop();
});

test('on a phone nothing hangs over the edge', async () => {
    const visit = await Visit.start(browser, site, '', PHONE);
    await visit.fits('stories');
    await visit.accessible('stories on a phone');
    await visit.picture('stories-phone');
    visit.clean();
    await visit.close();
});

test('an empty vault says what to do', async () => {
    const other = await Site.start(empty());
    const visit = await Visit.start(browser, other);
    assert.match(await visit.run(() => document.body.textContent), /There is no story here yet/);
    visit.clean();
    await visit.close();
    await other.stop();
});

function picture(vault) {
    const folder = path.join(vault, 'characters');
    return path.join(folder, fs.readdirSync(folder).find((name) => name.endsWith('.png')));
}
