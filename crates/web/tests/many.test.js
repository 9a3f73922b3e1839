// A tree of many chats: names that differ, colours that stay, filters, the map, pictures to keep.

import assert from 'node:assert/strict';
import { test } from 'node:test';
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
    await visit.until('the map', () => !document.getElementById('map').hidden);
    await visit.accessible('a tree of hundreds');
    await visit.picture('tree-hundreds');
    const shown = () => visit.run(() => document.querySelectorAll('.row:not(.folded)').length);
    assert.equal(await shown(), 301);
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
