// A tree of many chats: names that differ, colours that stay, filters, the map, pictures to keep.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import zlib from 'node:zlib';
import { empty, Site, stage, Visit, writeChat } from './lib/site.js';

const moment = (chat) => `moment?${new URLSearchParams({ chat })}`;

let browser;
let site;
stage((...there) => { [browser, site] = there; });

async function visitTree(options = {}, of = site, address = '') {
    const visit = await Visit.start(browser, of, address, options);
    await visit.until('the tree is ready', () => document.getElementById('tree')?.dataset.ready === 'true');
    return visit;
}

// A story whose chats are called as SillyTavern calls them.
function manyForks(forks) {
    const vault = empty();
    const main = Array.from({ length: 60 }, (_, i) => `Message ${i} of the long story.`);
    const first = 'Ana - 2026-01-02@10h11m12s';
    writeChat(vault, 'Ana', first, main);
    for (let i = 0; i < forks; i += 1) {
        const at = (i * 7) % 50 + 5;
        writeChat(vault, 'Ana', `${first} - Branch #${i}`, [...main.slice(0, at + 1), ...Array.from({ length: 8 }, (_, k) => `Fork ${i} goes on, ${k}`)], { main_chat: first });
    }
    return vault;
}

test('chats are called by what tells them apart, and a name leads to its chat', async () => {
    const other = await Site.start(manyForks(2));
    const visit = await visitTree({}, other, 'tree?story=Ana');
    const names = await visit.run(() => [...document.querySelectorAll('.label a text')].map((text) => text.firstChild.textContent));
    assert.deepEqual(names.toSorted(), ['2 January 2026, 10:11', 'Branch #0', 'Branch #1']);
    await visit.click('.label a.name');
    await visit.until('the chat', () => /^2 January 2026, 10:11/.test(document.querySelector('h1')?.textContent ?? ''));
    await visit.go(moment('Ana/Ana - 2026-01-02@10h11m12s'));
    assert.match(await visit.run(() => document.querySelector('.marks').textContent), /branch Branch #0/);
    visit.clean();
    await visit.close();
    await other.stop();
});

test('regression: a fork that appears changes no other line\'s colour', async () => {
    const vault = manyForks(12);
    const other = await Site.start(vault);
    const colours = async () => {
        const visit = await visitTree({}, other, 'tree?story=Ana');
        const found = await visit.run(() => Object.fromEntries([...document.querySelectorAll('.row')].map((row) => [row.dataset.chat, /c\d/.exec(row.getAttribute('class'))[0]])));
        await visit.close();
        return found;
    };
    const before = await colours();
    await other.api('branch', {}, { chat: 'Ana/Ana - 2026-01-02@10h11m12s', at: 58, name: 'Another' });
    const after = await colours();
    assert.equal(Object.keys(after).length, Object.keys(before).length + 1);
    assert.deepEqual(Object.fromEntries(Object.keys(before).map((chat) => [chat, after[chat]])), before);
    await other.stop();
});

test('a tree of hundreds: filters, a map, rows close together, and pictures to keep', async () => {
    const vault = manyForks(300);
    const other = await Site.start(vault);
    const visit = await visitTree({ width: 1440, height: 900 }, other, 'tree?story=Ana');
    assert.equal(await visit.run(() => document.getElementById('dense').getAttribute('aria-pressed')), 'true');
    await visit.accessible('a tree of hundreds');
    await visit.picture('tree-hundreds');
    const shown = () => visit.run(() => document.querySelectorAll('.row:not(.folded)').length);
    // Lines that part near each other stand as one, which opens by a click, and by F.
    const clusters = await visit.run(() => document.querySelectorAll('.cluster').length);
    const few = await shown();
    assert.ok(clusters > 5 && few < 100, `${few} rows with ${clusters} clusters`);
    const stands = await visit.run(() => [...document.querySelectorAll('.cluster text')].reduce((sum, { textContent }) => sum + Number(/\d+/.exec(textContent)[0]), 0));
    assert.equal(few + stands, 301, 'each line is there, or is counted');
    await visit.click('.row:not(.folded) .cluster');
    await visit.until('it is open', (few) => document.querySelectorAll('.row:not(.folded)').length > few, few);
    await visit.run(() => document.querySelector('#canvas').focus());
    await visit.press('ArrowDown');
    for (let i = 0; i < 60 && !await visit.run(() => document.querySelector('.row.here .cluster')); i += 1) {
        await visit.press('ArrowDown');
    }
    const before = await shown();
    await visit.press('f');
    assert.notEqual(await shown(), before, 'F opens it, or closes it');
    // Who is led to a line in it sees it.
    await visit.run(() => { location.hash = ''; });
    await visit.click('#dense');
    assert.equal(await shown(), 301, 'apart from each other all of them stand');
    await visit.until('the map', () => !document.getElementById('map').hidden);
    // The trunk stays in sight.
    await visit.run(() => { document.getElementById('canvas').scrollTop = 4000; });
    await visit.until('the trunk', () => !document.getElementById('trunk').hasAttribute('hidden') && /2 January 2026/.test(document.getElementById('trunk').textContent));
    const [trunk, stage] = await visit.run(() => ['trunk', 'canvas'].map((id) => document.getElementById(id).getBoundingClientRect().top));
    assert.ok(Math.abs(trunk - stage - 25) < 6, `${trunk} ${stage}`);
    await visit.picture('tree-trunk');
    // What is in sight is drawn, wherever that is, and not much besides.
    await visit.until('rows where one looks', () => {
        const canvas = document.getElementById('canvas').getBoundingClientRect();
        const drawn = [...document.querySelectorAll('#tree .row')].filter((row) => getComputedStyle(row).display !== 'none');
        const seen = drawn.map((row) => row.querySelector('.line').getBoundingClientRect().top).filter((top) => top > canvas.top && top < canvas.bottom);
        return seen.length >= Math.floor(canvas.height / 54) - 1 && drawn.length < 60;
    });
    assert.match(await visit.run(() => document.querySelector('#tree .passing').getAttribute('d')), /^M[\d.]+ [\d.]+V/, 'lines pass by to those below');
    await visit.run(() => { document.getElementById('canvas').scrollTop = 0; });
    await visit.until('no trunk', () => document.getElementById('trunk').hasAttribute('hidden'));
    await visit.run(() => {
        const scenes = document.querySelector('#filters [name=scenes]');
        scenes.checked = true;
        scenes.dispatchEvent(new Event('input', { bubbles: true }));
    });
    assert.equal(await shown(), 0, 'no line has a scene');
    assert.match(await visit.run(() => document.getElementById('filtered').textContent), /0 of 301/);
    await visit.run(() => {
        document.querySelector('#filters [name=scenes]').checked = false;
        const kind = document.querySelector('#filters [name=kind]');
        kind.value = 'main';
        kind.dispatchEvent(new Event('input', { bubbles: true }));
    });
    assert.equal(await shown(), 1);
    // The numbers stay above the drawing.
    await visit.run(() => { document.querySelector('#filters [name=kind]').value = ''; document.getElementById('filters').dispatchEvent(new Event('input')); });
    await visit.run(() => { document.getElementById('canvas').scrollTop = 3000; });
    const [axis, canvas] = await visit.run(() => ['axis', 'canvas'].map((id) => document.getElementById(id).getBoundingClientRect().top));
    assert.ok(Math.abs(axis - canvas) < 4, `${axis} ${canvas}`);
    // What is saved is a picture of its own.
    await visit.run(() => {
        window.saved = [];
        URL.createObjectURL = (blob) => { window.saved.push(blob); return 'about:blank#saved'; };
        HTMLAnchorElement.prototype.click = () => {};
    });
    await visit.run(() => document.querySelectorAll('[data-save]').forEach((button) => button.dispatchEvent(new MouseEvent('click', { bubbles: true }))));
    await visit.until('both pictures', () => window.saved.length === 2);
    const saved = await visit.run(async () => Promise.all(window.saved.map(async (blob) => ({ type: blob.type, size: blob.size, text: blob.type.includes('svg') ? await blob.text() : '' }))));
    const svg = saved.find(({ type }) => type === 'image/svg+xml');
    assert.match(svg.text, /Branch #299/);
    assert.doesNotMatch(svg.text, /var\(--(?!tint)|light-dark|href=/);
    assert.ok(saved.find(({ type }) => type === 'image/png').size > 10_000);
    visit.clean();
    await visit.close();
    await other.stop();
});

test('the chat that is open in SillyTavern is marked, and whoever comes from a chat sees where it is', async () => {
    const vault = manyForks(80);
    const chat = 'Ana/Ana - 2026-01-02@10h11m12s - Branch #33';
    // A card as SillyTavern writes it: a picture with the character in a text chunk.
    const character = Buffer.from(JSON.stringify({ name: 'Ana', chat: 'Ana - 2026-01-02@10h11m12s - Branch #7', data: { name: 'Ana' } })).toString('base64');
    fs.writeFileSync(path.join(vault, 'characters/Ana.png'), png([['tEXt', Buffer.concat([Buffer.from('chara\0'), Buffer.from(character)])]]));
    const other = await Site.start(vault);
    const visit = await visitTree({}, other, 'tree?story=Ana');
    assert.deepEqual(await visit.run(() => [...document.querySelectorAll('.row.open')].map(({ dataset }) => dataset.chat)), ['Ana/Ana - 2026-01-02@10h11m12s - Branch #7']);
    assert.match(await visit.run(() => document.querySelector('.row.open .badges').textContent), /open in SillyTavern/);
    await visit.go(moment(chat));
    await visit.click('.doing a', { text: 'See the tree' });
    await visit.until('where it is', (chat) => document.querySelector('.row.here')?.dataset.chat === chat, chat);
    assert.ok(await visit.run(() => document.querySelector('.row.here').checkVisibility()), 'although it stood in a cluster');
    assert.ok(await visit.run(() => document.querySelectorAll('.row.path').length === 2), 'the way to it is marked');
    await visit.picture('tree-here');
    visit.clean();
    await visit.close();
    await other.stop();
});

test('two points are chosen in the tree and compared, by clicks and by keys', async () => {
    const visit = await visitTree({}, site, 'tree?story=Ottilie+Crake');
    await visit.click('#points');
    assert.match(await visit.run(() => document.getElementById('pairing').textContent), /Choose a point/);
    await visit.run(() => document.getElementById('canvas').focus());
    await visit.press('ArrowRight');
    await visit.press('End');
    await visit.press('Enter');
    assert.match(await visit.run(() => document.getElementById('pairing').textContent), /From message 42 of “Heard Once”/);
    await visit.accessible('choosing two points');
    await visit.picture('points');
    await visit.press('ArrowDown');
    await visit.press('End');
    await visit.press('c');
    await visit.until('both', () => /compare/.test(location.pathname) && document.querySelector('.heads') !== null);
    const asked = new URLSearchParams(await visit.run(() => location.search));
    assert.deepEqual([asked.get('a'), asked.get('a_at')], ['Ottilie Crake/Heard Once', '42']);
    assert.ok(asked.get('b') !== asked.get('a') && Number(asked.get('b_at')) > 0);
    const turns = await visit.run(() => [...document.querySelectorAll('.part .sides > .side')].map((side) => side.querySelectorAll('.turn').length));
    assert.ok(turns.every((count) => count > 1), `several messages of each side: ${turns}`);
    visit.clean();
    await visit.close();
});

// The smallest picture, with these chunks in it.
function png(chunks) {
    const chunk = (kind, data) => {
        const length = Buffer.alloc(4);
        length.writeUInt32BE(data.length);
        const sum = Buffer.alloc(4);
        sum.writeUInt32BE(zlib.crc32 ? zlib.crc32(Buffer.concat([Buffer.from(kind), data])) : 0);
        return Buffer.concat([length, Buffer.from(kind), data, sum]);
    };
    const head = Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0]);
    return Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]), chunk('IHDR', head), ...chunks.map(([kind, data]) => chunk(kind, data)),
        chunk('IDAT', zlib.deflateSync(Buffer.from([0, 0]))), chunk('IEND', Buffer.alloc(0))]);
}
