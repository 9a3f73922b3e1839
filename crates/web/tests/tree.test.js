// The tree of a story: lines and where they part, what is under the pointer, the keyboard, folding, zoom, search, a phone, many chats.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { empty, harbor, PHONE, Site, stage, Visit, writeChat } from './lib/site.js';

const TREE = 'tree?story=Ottilie+Crake';
const MAIN = 'Ottilie Crake/Heard Once';

let browser;
let site;
stage((...there) => { [browser, site] = there; });

async function visitTree(options = {}, of = site, address = TREE) {
    const visit = await Visit.start(browser, of, '', options);
    await visit.go(address);
    await visit.until('the tree is ready', () => document.getElementById('tree')?.dataset.ready === 'true');
    return visit;
}

test('every chat of the demo is a line or a flag, and parts from its parent at its fork message', async () => {
    const { stories: [{ chats }] } = await site.api('tree', { story: 'Ottilie Crake' });
    const visit = await visitTree();
    await visit.until('what forks gained', () => document.getElementById('tree').dataset.gained !== undefined);
    const drawn = await visit.run(() => [...document.querySelectorAll('.row[data-chat]')].map((row) => ({ chat: row.dataset.chat, from: row.dataset.from, parent: row.dataset.parent })));
    const flags = await visit.run(() => [...document.querySelectorAll('.flag')].map((flag) => flag.dataset.flag));
    assert.deepEqual([...drawn.map(({ chat }) => chat), ...flags].sort(), chats.map(({ chat }) => chat).sort());
    const rows = await visit.run(() => [...document.querySelectorAll('.row')].map((row) => row.dataset.chat));
    for (const { chat, parent, fork_message: at } of chats.filter(({ parent, chat }) => parent && !flags.includes(chat))) {
        const line = drawn.find((line) => line.chat === chat);
        assert.equal(Number(line.from), at, chat);
        assert.equal(rows[Number(line.parent)], parent, chat);
    }
    // The line really begins on its parent's line.
    const gaps = await visit.run(() => {
        const rows = [...document.querySelectorAll('.row')];
        return rows.filter((row) => row.dataset.from).map((row) => {
            const start = row.querySelector('.stem').getPointAtLength(0);
            const parent = rows[Number(row.dataset.parent)];
            const y = (element) => element.transform.baseVal.consolidate().matrix.f;
            return Math.abs(y(row) + start.y - y(parent));
        });
    });
    assert.ok(gaps.every((gap) => gap < 0.5), gaps.join());
    const text = await visit.run(() => document.getElementById('tree').textContent);
    assert.match(text, /recap \d/);
    assert.match(text, /shared book/);
    assert.match(text, /\+\d+ entr/);
    await visit.accessible('tree');
    await visit.picture('tree');
    visit.clean();
    await visit.close();
});

test('the message under the pointer is shown, and a click opens that moment', async () => {
    const visit = await visitTree();
    const place = await visit.run(() => {
        const svg = document.getElementById('tree');
        const row = [...svg.querySelectorAll('.row')].find((row) => row.dataset.chat === 'Ottilie Crake/Heard Once');
        const { x } = svg.getBoundingClientRect();
        const end = row.querySelector('.badges').getBoundingClientRect().x - x - 10;
        const left = Number(svg.dataset.left);
        const each = (end - left) / Number(row.dataset.end);
        return { x: x + left + each * 12, y: row.querySelector('.start').getBoundingClientRect().y + 4 };
    });
    await visit.page.send('Input.dispatchMouseEvent', { type: 'mouseMoved', ...place });
    const { text } = await site.api('show', { chat: MAIN, at: 12 });
    const told = await visit.until('what is said', () => !document.getElementById('tip').hidden && document.getElementById('tip').textContent);
    assert.match(told, /message 12 of/);
    assert.ok(told.includes(text.slice(0, 60)));
    for (const type of ['mousePressed', 'mouseReleased']) {
        await visit.page.send('Input.dispatchMouseEvent', { type, ...place, button: 'left', clickCount: 1 });
    }
    const gone = await visit.until('the moment', () => location.pathname.endsWith('/moment') && location.search);
    assert.deepEqual(Object.fromEntries(new URLSearchParams(gone)), { chat: MAIN, at: '12' });
    await visit.close();
});

test('the keyboard walks along lines and forks, and opens', async () => {
    const visit = await visitTree();
    await visit.run(() => document.getElementById('canvas').focus());
    const spot = (what, pattern) => visit.until(what, (pattern) => new RegExp(pattern).test(document.getElementById('spot').textContent) && document.getElementById('spot').textContent, pattern);
    await visit.press('ArrowRight');
    await spot('the first message', 'message 0 of');
    await visit.press('ArrowRight');
    await spot('the next message', 'message 1 of');
    await visit.press('End');
    await visit.press('ArrowDown');
    const line = await visit.run(() => document.querySelector('.row.here').dataset.chat);
    assert.notEqual(line, MAIN);
    await visit.press('Home');
    await visit.press('ArrowLeft');
    assert.equal(await visit.run(() => document.querySelector('.row.here').dataset.chat), MAIN, 'back on the line that it parted from');
    await visit.press('ArrowRight', { shift: true });
    const heard = await visit.run(() => document.querySelector('#tree .cursor').getAttribute('transform'));
    assert.ok(heard);
    await visit.press('Home');
    await visit.press('ArrowRight');
    await visit.press('Enter');
    const gone = await visit.until('the moment', () => location.pathname.endsWith('/moment') && location.search);
    assert.deepEqual(Object.fromEntries(new URLSearchParams(gone)), { chat: MAIN, at: '1' });
    await visit.close();
});

test('folding hides what is below, zoom keeps what is in the middle', async () => {
    const visit = await visitTree();
    const shown = () => visit.run(() => document.querySelectorAll('.row:not(.folded)').length);
    const all = await shown();
    await visit.click('#foldall');
    const folded = await shown();
    assert.ok(folded < all && folded >= 1);
    assert.match(await visit.run(() => document.querySelector('.fold text').textContent), /\d+ folded/);
    await visit.click('#foldall');
    assert.equal(await shown(), all);
    const wide = () => visit.run(() => Number(document.getElementById('tree').getAttribute('width')));
    const before = await wide();
    await visit.click('[data-zoom="in"]');
    assert.ok(await wide() > before);
    await visit.click('[data-zoom="fit"]');
    assert.ok(await visit.run(() => document.getElementById('canvas').scrollWidth <= document.getElementById('canvas').clientWidth + 1), 'all messages are in sight');
    visit.clean();
    await visit.close();
});

test('regression: whoever stands on a line that is folded stands on one line, then and afterwards', async () => {
    const visit = await visitTree();
    await visit.run(() => document.getElementById('canvas').focus());
    const here = () => visit.run(() => [...document.querySelectorAll('.row.here')].map((row) => row.dataset.chat));
    for (const key of ['ArrowRight', 'ArrowDown']) {
        await visit.press(key);
    }
    assert.notDeepEqual(await here(), [MAIN]);
    await visit.click('#foldall');
    assert.deepEqual(await here(), [MAIN]);
    await visit.click('#foldall');
    assert.deepEqual(await here(), [MAIN]);
    visit.clean();
    await visit.close();
});

test('searching finds messages, entries and chats, and shows where they are', async () => {
    const visit = await visitTree();
    await visit.click('#search input');
    await visit.type('lamp');
    await visit.until('results', () => !document.getElementById('results').hidden);
    const found = await site.api('search', { story: 'Ottilie Crake', text: 'lamp' });
    assert.ok(found.messages.length + found.entries.length > 0, 'the demo story has a lamp');
    assert.equal(await visit.run(() => document.querySelectorAll('#tree .marks circle').length), found.messages.length);
    assert.match(await visit.run(() => document.querySelector('#results mark').textContent), /lamp/i);
    await visit.press('ArrowDown');
    assert.equal(await visit.run(() => document.activeElement.closest('#results') !== null), true);
    await visit.accessible('tree with results');
    await visit.picture('tree-search');
    await visit.press('Enter');
    await visit.until('the moment', () => location.pathname.endsWith('/moment'));
    await visit.close();
});

test('at night, and on a phone', async () => {
    const night = await visitTree({ dark: true });
    await night.accessible('tree at night');
    await night.picture('tree-dark');
    night.clean();
    await night.close();
    const phone = await visitTree(PHONE);
    await phone.fits('tree');
    await phone.accessible('tree on a phone');
    await phone.picture('tree-phone');
    phone.clean();
    await phone.close();
});

test('the fixture vault, with lost parents and copies, is drawn whole', async () => {
    const other = await Site.start(harbor());
    const { stories } = await other.api('tree');
    for (const { name, folder, kind, chats } of stories) {
        const story = kind === 'group' ? `group:${folder}` : folder;
        const visit = await visitTree({}, other, `tree?${new URLSearchParams({ story })}`);
        const drawn = await visit.run(() => document.querySelectorAll('.row[data-chat], .flag').length);
        assert.equal(drawn, chats.length, name);
        const ghosts = new Set(chats.filter(({ parent, lost_parent: lost }) => !parent && lost).map(({ lost_parent: lost }) => lost));
        assert.equal(await visit.run(() => document.querySelectorAll('.row.ghost').length), ghosts.size, name);
        assert.equal(await visit.run(() => document.querySelectorAll('.list li').length), chats.length, name);
        visit.clean();
        await visit.close();
    }
    await other.stop();
});

test('names that want to be more than names stay names', async () => {
    const vault = empty();
    const text = '"><script>document.title="owned"</script><b>\u202e';
    writeChat(vault, 'Ana', 'Main', [text, 'two', 'three', 'four', 'word'.repeat(50_000)]);
    writeChat(vault, 'Ana', '\'"><img src=x onerror=alert(1)>', [text, 'two', 'three'], { main_chat: 'Main' });
    writeChat(vault, 'Ana', '\u202eeman', [text, 'two', 'other'], { main_chat: '<i>gone</i>' });
    const other = await Site.start(vault);
    const visit = await visitTree({}, other, 'tree?story=Ana');
    await visit.run(() => document.getElementById('canvas').focus());
    await visit.press('ArrowRight');
    await visit.until('what is said', () => !document.getElementById('tip').hidden);
    assert.ok((await visit.run(() => document.getElementById('tip').textContent)).includes('<script>document.title'));
    await visit.press('End');
    await visit.until('a long word', () => document.getElementById('tip').textContent.includes('wordword'));
    await visit.fits('tree');
    await visit.click('#search input');
    await visit.type('<script>');
    await visit.until('results', () => !document.getElementById('results').hidden);
    assert.equal(await visit.run(() => document.querySelectorAll('main script, img[src="x"], main b, main i').length), 0);
    assert.notEqual(await visit.run(() => document.title), 'owned');
    visit.clean();
    await visit.close();
    await other.stop();
});

test('three hundred chats are drawn, less than half a megabyte, and can be walked', async () => {
    const vault = empty();
    const main = Array.from({ length: 400 }, (_, i) => `Message ${i} of the long story.`);
    writeChat(vault, 'Ana', 'Main', main);
    for (let i = 0; i < 299; i += 1) {
        const at = (i * 7) % 380 + 5;
        writeChat(vault, 'Ana', `Fork ${i} of many`, [...main.slice(0, at + 1), ...Array.from({ length: 20 }, (_, k) => `Fork ${i} goes on, ${k}`)], { main_chat: 'Main' });
    }
    const other = await Site.start(vault);
    const visit = await visitTree({}, other, 'tree?story=Ana');
    assert.equal(await visit.run(() => document.querySelectorAll('.row[data-chat]').length), 300);
    const page = await fetch(`${other.url}tree?story=Ana`, { headers: { Authorization: `Bearer ${other.token}` } });
    const { length } = await page.text();
    assert.ok(length < 500_000, `${length} bytes`);
    await visit.run(() => document.getElementById('canvas').focus());
    for (let i = 0; i < 5; i += 1) {
        await visit.press('ArrowDown');
    }
    await visit.until('the fifth line', () => document.querySelector('.row.here'));
    await visit.picture('tree-many');
    visit.clean();
    await visit.close();
    await other.stop();
});
