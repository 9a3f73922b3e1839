// Bringing two lines together: chosen in the tree by mouse, keyboard and finger; three columns; one thing taken over, all of it brought along,
// questions answered; a branch that is to be healed first.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Browser, empty, FORKLORE, PHONE, REPOSITORY, Site, Visit, writeChat } from './lib/site.js';

const MAIN = 'Ana - 2026-01-01@10h00m00s';
const LEFT = `${MAIN} - Branch #1`;
const bring = (a, b) => `bring?${new URLSearchParams({ a: `Ana/${a}`, b: `Ana/${b}` })}`;

let browser;
before(async () => { browser = await Browser.start(); });
after(() => browser?.stop());

const entry = (uid, comment, content) => ({ uid, comment, content, key: [comment], order: 100, disable: false, depth: 4 });
const book = (vault, name) => path.join(vault, 'worlds', `${name}.json`);

function write(vault, name, change) {
    const value = JSON.parse(fs.readFileSync(book(vault, name), 'utf8'));
    change(value.entries);
    fs.writeFileSync(book(vault, name), JSON.stringify(value));
}

function say(vault, chat, texts) {
    const file = path.join(vault, 'chats/Ana', `${chat}.jsonl`);
    const lines = texts.map((mes) => JSON.stringify({ name: 'Ana', is_user: false, send_date: mes, mes, extra: {} }));
    fs.writeFileSync(file, [fs.readFileSync(file, 'utf8'), ...lines].join('\n'));
}

// Two lines that parted after message 2, each with a story of its own since.
async function parted() {
    const vault = empty();
    writeChat(vault, 'Ana', MAIN, ['Hello.', 'Who is there?', 'The rain.'], { world_info: 'Lore' });
    const entries = { 0: entry(0, 'location-The sea', 'It is cold.'), 1: entry(1, 'character-Ned', 'Ned is a sailor.\nHe owes Ada.') };
    fs.writeFileSync(book(vault, 'Lore'), JSON.stringify({ entries, name: 'Lore' }));
    execFileSync(FORKLORE, ['--vault', vault, 'branch', MAIN], { stdio: 'ignore' });
    say(vault, MAIN, ['A one.', 'A two.']);
    say(vault, LEFT, ['B one.', 'B two.', 'B three.']);
    const lore = fs.readdirSync(path.join(vault, 'worlds')).map((file) => file.replace(/\.json$/, '')).find((name) => name !== 'Lore');
    write(vault, lore, (all) => {
        all[1].content = 'Ned is a smuggler.\nHe owes Ada.\n- hides in the mill';
        all[3] = entry(3, 'character-Bo', 'Bo is a thief.');
    });
    write(vault, 'Lore', (all) => { all[1].content = 'Ned is a captain.\nHe owes Ada.'; });
    return Site.start(vault);
}

async function tree(site, options = {}) {
    const visit = await Visit.start(browser, site, '', options);
    await visit.go('tree?story=Ana');
    await visit.until('the tree is ready', () => document.getElementById('tree')?.dataset.ready === 'true');
    return visit;
}

const told = (visit) => visit.until('both lines', () => location.pathname.endsWith('/bring') && document.querySelector('.lines') && Object.fromEntries(new URLSearchParams(location.search)));
// A click, or a tap, on a line, near its end: elsewhere others part from it.
async function line(visit, chat) {
    const place = await visit.run((chat) => {
        const path = document.querySelector(`#tree .row[data-chat="Ana/${chat}"] .hit path`);
        path.scrollIntoView({ block: 'center', behavior: 'instant' });
        const { x, y } = path.getPointAtLength(path.getTotalLength() * 0.9).matrixTransform(path.getScreenCTM());
        return { x, y };
    }, chat);
    for (const type of ['mouseMoved', 'mousePressed', 'mouseReleased']) {
        await visit.page.send('Input.dispatchMouseEvent', { type, ...place, button: 'left', clickCount: 1 });
    }
}

const pair = { a: `Ana/${MAIN}`, b: `Ana/${LEFT}` };

test('two lines are chosen in the tree: with the mouse, with keys, on a phone', async () => {
    const site = await parted();
    const mouse = await tree(site);
    await mouse.click('#pair');
    assert.match(await mouse.run(() => document.getElementById('pairing').textContent), /line that goes on/);
    await mouse.picture('pair');
    await line(mouse, MAIN);
    await mouse.until('the first is chosen', () => document.querySelectorAll('#tree .row.first').length === 1);
    await line(mouse, LEFT);
    assert.deepEqual(await told(mouse), pair);
    mouse.clean();
    await mouse.close();

    // From the menu of a line.
    const menu = await tree(site);
    await menu.run(() => document.getElementById('canvas').focus());
    await menu.press('ArrowRight');
    await menu.press('m');
    await menu.click('#rowmenu [data-act=bring]');
    await menu.until('the first is chosen', () => document.querySelectorAll('#tree .row.first').length === 1);
    await line(menu, LEFT);
    assert.deepEqual(await told(menu), pair);
    menu.clean();
    await menu.close();

    const keys = await tree(site);
    await keys.run(() => document.getElementById('canvas').focus());
    await keys.press('ArrowRight');
    await keys.press('b');
    await keys.press('Escape');
    assert.ok(await keys.run(() => document.getElementById('pairing').hidden), 'Escape leaves it');
    await keys.press('b');
    assert.match(await keys.run(() => document.getElementById('pairing').textContent), /goes on\. Now choose/);
    await keys.press('ArrowDown');
    await keys.press('b');
    assert.deepEqual(await told(keys), pair);
    keys.clean();
    await keys.close();

    const phone = await tree(site, PHONE);
    await phone.click('#pair');
    await line(phone, MAIN);
    await phone.picture('pair-phone');
    await line(phone, LEFT);
    assert.deepEqual(await told(phone), pair);
    await phone.fits('two lines on a phone');
    await phone.picture('bring-phone');
    const label = await phone.run(() => {
        const [word, input] = [document.querySelector('.all .name span'), document.querySelector('.all .name input')].map((part) => part.getBoundingClientRect());
        return { beside: Math.abs((word.top + word.bottom) / 2 - (input.top + input.bottom) / 2), wide: input.width };
    });
    assert.ok(label.beside < 8 && label.wide > 150, JSON.stringify(label));
    phone.clean();
    await phone.close();
    await site.stop();
});

test('what both knew and what each learnt; one thing is taken over, all of it is brought along, a question is answered', async () => {
    const site = await parted();
    const visit = await Visit.start(browser, site, bring(MAIN, LEFT));
    const page = () => visit.run(() => ({
        heads: [...document.querySelectorAll('.lines h2')].map((head) => head.textContent),
        theirs: [...document.querySelectorAll('[data-side=B] .entry h3')].map((head) => head.textContent),
        lead: document.querySelector('.lead').textContent,
    }));
    const first = await page();
    // Nobody reads the same long name twice.
    assert.deepEqual(first.heads, ['What both knew', 'What 1 January 2026, 10:00 learnt', 'What Branch #1 learnt']);
    assert.match(first.lead, /parted after message 2/);
    assert.ok(first.theirs.some((title) => title.includes('Bo')), first.theirs.join());
    await visit.accessible('bring');
    await visit.picture('bring');

    // By keyboard: to the first thing, and its button.
    await visit.press('k');
    const at = await visit.run(() => document.activeElement.className);
    assert.match(at, /entry|question/);
    const bo = await visit.run(() => [...document.querySelectorAll('[data-side=B] .entry')].findIndex((one) => one.textContent.includes('Bo is a thief')));
    await visit.click(`[data-side=B] .entry:nth-of-type(${bo + 1}) form button`);
    await visit.until('both know it', () => document.getElementById('both')?.parentElement?.textContent.includes('Bo'));
    assert.ok(!(await page()).theirs.some((title) => title.includes('Bo')), 'it is not offered any more');
    const has = () => site.api('show', { chat: `Ana/${MAIN}` }).then(({ book: { entries } }) => entries.map(({ comment }) => comment));
    assert.ok((await has()).includes('character-Bo'), 'it is in the chat that goes on');

    await visit.go(bring(MAIN, LEFT));
    await visit.click('.all .name input');
    await visit.type('Both');
    await visit.click('.all form:first-of-type button.main');
    await visit.until('it is made, and its question is there', () => new URLSearchParams(location.search).get('a') === 'Ana/Both' && document.querySelector('.questions'));
    const chats = (await site.api('tree', { story: 'Ana' })).stories[0].chats;
    const both = chats.find(({ chat }) => chat === 'Ana/Both');
    assert.equal(both?.learnt.conflicts, 1, JSON.stringify(chats.map(({ chat }) => chat)));

    await visit.go(bring('Both', LEFT));
    const asked = await visit.run(() => document.querySelector('.questions').innerText);
    assert.match(asked, /Ned is a captain[^]*Ned is a smuggler/);
    await visit.picture('bring-question');
    await visit.click('.questions button[value=theirs]');
    await visit.until('it is answered', () => !document.querySelector('.questions'));
    const now = (await site.api('tree', { story: 'Ana' })).stories[0].chats.find(({ chat }) => chat === 'Ana/Both');
    assert.equal(now.learnt.conflicts, 0);
    const ned = (await site.api('show', { chat: 'Ana/Both' })).book.entries.find(({ comment }) => comment === 'character-Ned');
    assert.match(ned.content, /smuggler/);
    visit.clean();
    await visit.close();
    await site.stop();
});

test('a branch whose lorebook is not all its own is to be healed first', async () => {
    const vault = path.join(path.dirname(empty()), 'lantern');
    fs.cpSync(path.join(REPOSITORY, 'crates/testkit/fixtures/lantern'), vault, { recursive: true });
    const site = await Site.start(vault);
    const main = '月見 灯 🏮/月見 灯 🏮 - 2026-11-15@01h10m55s192ms';
    const address = `bring?${new URLSearchParams({ a: main, b: `${main} - Checkpoint #1` })}`;
    const visit = await Visit.start(browser, site, address);
    const ill = await visit.run(() => document.querySelector('.say.warning')?.innerText);
    assert.match(ill, /Heal Checkpoint #1 first/);
    assert.doesNotMatch(await visit.run(() => document.querySelector('[data-side=B]').innerText), /鏡 Mirror/);
    await visit.accessible('bring, ill');
    await visit.picture('bring-ill');
    await visit.click('.say.warning a');
    await visit.until('what healing does', () => location.pathname.endsWith('/heal') && document.querySelector('#cure button.main'));
    await visit.picture('bring-heal');
    await visit.click('#cure button.main');
    await visit.until('it is healed', () => !location.pathname.endsWith('/heal'));
    await visit.go(address);
    assert.equal(await visit.run(() => document.querySelector('.say.warning')), null);
    visit.clean();
    await visit.close();
    await site.stop();
});
