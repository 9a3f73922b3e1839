// The keyboard alone does everything: every page is walked through with Tab, and everything that can be done is done without a mouse.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { enter, tabTo, walk } from './lib/keys.js';
import { PAGES } from './lib/pages.js';
import { demo, PHONE, Site, stage, Visit } from './lib/site.js';

const STORY = 'tree?story=Ottilie+Crake';
const MAIN = 'Ottilie Crake/Heard Once';
const moment = (chat, at) => `moment?${new URLSearchParams({ chat, at })}`;
const arrived = (at) => document.querySelector('.message.here .number')?.dataset.at === String(at) && document.querySelector('.state').ariaBusy !== 'true';
const title = (visit, text) => visit.until(text, (text) => document.readyState === 'complete' && document.querySelector('h1')?.textContent === text, text);
const focused = (visit) => visit.run(() => document.activeElement?.textContent.trim());

let browser;
let site;
stage((...there) => { [browser, site] = there; });

async function elsewhere(address, does, options) {
    const other = await Site.start(demo());
    const visit = await Visit.start(browser, other, address, options);
    await does(visit, other);
    visit.clean();
    await visit.close();
    await other.stop();
}

// The drawing has the focus, and the cursor is on its first line.
async function inTree(visit) {
    await visit.until('the tree', () => document.getElementById('tree')?.dataset.ready === 'true');
    await tabTo(visit, '#canvas');
    await visit.press('ArrowRight');
}

test('Tab comes to everything on every page, and shows where it is', async () => {
    const visit = await Visit.start(browser, site);
    for (const [name, address] of Object.entries(PAGES)) {
        await visit.go(address);
        await visit.until(`styles of ${name}`, () => [...document.querySelectorAll('link[rel=stylesheet]')].every(({ sheet }) => sheet));
        if (name === 'tree') {
            await visit.until('the tree', () => document.getElementById('tree')?.dataset.ready === 'true');
        }
        const { missed, dim } = await walk(visit);
        assert.deepEqual(missed, [], `${name}: all of it can be reached`);
        assert.deepEqual(dim, [], `${name}: the focus can be seen`);
    }
    assert.deepEqual(visit.page.errors, []);
    await visit.close();
});

test('a story, its lines, and what can be done with each', () => elsewhere('', async (visit) => {
    await enter(visit, '.story a');
    await visit.until('the tree', () => document.getElementById('tree')?.dataset.ready === 'true');
    await inTree(visit);
    // Every item of a line's menu can be gone to, and Escape leads back.
    await visit.press('m');
    const items = await visit.run(() => [...document.querySelectorAll('#rowmenu a')].filter((item) => item.checkVisibility()).map((item) => item.textContent));
    for (const item of items) {
        assert.equal(await focused(visit), item);
        await visit.press('ArrowDown');
    }
    await visit.press('Escape');
    assert.equal(await visit.run(() => document.activeElement?.id), 'canvas');
    // Two points to compare, and two lines to bring together.
    await visit.press('c');
    await visit.press('ArrowDown');
    await visit.press('c');
    await title(visit, 'Compare');
    await visit.go(STORY);
    await inTree(visit);
    await visit.press('b');
    await visit.press('ArrowDown');
    await visit.press('b');
    await title(visit, 'Bring along');
    await visit.go(STORY);
    // Folding, zooming, dense rows, and a picture.
    await inTree(visit);
    await visit.press('f');
    await visit.until('folded', () => document.querySelectorAll('#tree .row.folded').length > 0);
    await visit.press('f');
    const wide = await visit.run(() => document.getElementById('tree').getBoundingClientRect().width);
    await visit.press('+');
    await visit.until('wider', (wide) => document.getElementById('tree').getBoundingClientRect().width > wide, wide);
    await tabTo(visit, '#dense', { back: true });
    await visit.press(' ');
    assert.equal(await visit.run(() => document.activeElement.getAttribute('aria-pressed')), 'true');
    const downloads = fs.mkdtempSync(path.join(os.tmpdir(), 'forklore-picture-'));
    await visit.page.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: downloads });
    await enter(visit, '.save summary');
    await visit.press('ArrowDown');
    await visit.press('Enter');
    for (let i = 0; i < 100 && !fs.readdirSync(downloads).some((file) => file.endsWith('.svg')); i += 1) {
        await new Promise((done) => { setTimeout(done, 100); });
    }
    assert.match(fs.readdirSync(downloads).join(), /\.svg/);
    fs.rmSync(downloads, { recursive: true });
    // What it finds: with the arrow keys, and opened.
    await visit.go(STORY);
    await visit.until('the tree', () => document.getElementById('tree')?.dataset.ready === 'true');
    await tabTo(visit, '#search input');
    await visit.type('slate');
    await visit.until('found', () => document.querySelector('#results a') !== null);
    await visit.press('ArrowDown');
    await visit.press('Enter');
    await visit.until('there', () => location.pathname.endsWith('/moment'));
}));

test('a chat is renamed, branched, deleted and brought back', () => elsewhere(moment(MAIN, 12), async (visit) => {
    await enter(visit, '.titled .menu summary');
    for (let i = 0; i < 20 && await focused(visit) !== 'Rename'; i += 1) {
        await visit.press('ArrowDown');
    }
    await visit.press('Enter');
    await title(visit, 'Rename');
    await tabTo(visit, 'input[name=name]');
    await visit.type('Told Twice');
    await visit.until('the plan', () => document.querySelector('.plan button.main') !== null);
    await enter(visit, '.plan button.main');
    await title(visit, 'Renamed');
    await visit.go(moment('Ottilie Crake/Told Twice', 12));
    await enter(visit, '.doing a', { text: 'Branch here' });
    await title(visit, 'Branch here');
    await enter(visit, '.plan button.main');
    await title(visit, 'The branch is made');
    await enter(visit, '.go button', { text: 'Undo' });
    await title(visit, 'Undone');
    await visit.go('act?kind=delete&chat=Ottilie+Crake%2FThe+tally+book+is+found');
    await enter(visit, '.plan button, .go button', { text: 'Move to the trash' });
    await title(visit, 'It is in the trash');
    await visit.go('log');
    await enter(visit, '.trash button', { text: 'Restore' });
    await title(visit, 'Undone');
    await visit.go('log');
    await enter(visit, '.actions button', { text: 'Undo' });
    await visit.until('undone, or why not', () => document.querySelector('h1')?.textContent === 'Undone' || document.getElementById('refusal') !== null);
}));

test('regression: a moment is travelled, starred and noted, and the focus is never lost', () => elsewhere(moment(MAIN, 19), async (visit) => {
    const stays = async (what) => assert.notEqual(await visit.run(() => document.activeElement?.tagName), 'BODY', `${what}: the focus is somewhere`);
    await tabTo(visit, '[data-step=next]');
    for (const at of [20, 21]) {
        await visit.press('Enter');
        await visit.until('ahead', arrived, at);
        assert.equal(await visit.run(() => document.activeElement?.dataset.step), 'next');
    }
    await enter(visit, '.marks summary');
    await enter(visit, '.marks a', { text: '30' });
    await visit.until('the scene', arrived, 30);
    await stays('a mark');
    await tabTo(visit, '.star');
    await visit.press(' ');
    await visit.until('a star', () => document.querySelector('.star').getAttribute('aria-pressed') === 'true');
    assert.equal(await visit.run(() => document.activeElement?.className), 'star', 'the button is another one, and has the focus');
    const write = async (text) => {
        await enter(visit, '.write summary');
        await tabTo(visit, '.write textarea');
        await visit.run(() => document.activeElement.select());
        await visit.type(text);
        await enter(visit, '.write button');
        await visit.until(text, (text) => document.querySelector('.jotting')?.textContent === text, text);
        await stays('a note that was saved');
    };
    await write('Here she lies.');
    await write('Here she tells the truth.');
    await tabTo(visit, '.earlier button', { text: 'Here she lies.' });
    await visit.press('Enter');
    await visit.until('what was', () => document.querySelector('.jotting')?.textContent === 'Here she lies.' && document.querySelector('.earlier')?.textContent.includes('truth'));
    await stays('a note that is back');
    assert.equal(await visit.run(() => document.querySelector('.star').getAttribute('aria-pressed')), 'true', 'the star stays');
    // A message of the story: the focus goes along with it.
    await tabTo(visit, '.message .number', { text: '28' });
    await visit.press('Enter');
    await visit.until('back', arrived, 28);
    assert.equal(await visit.run(() => document.activeElement?.dataset.at), '28');
    await visit.until('the note is in the log', async () => (await (await fetch('log')).text()).includes('Bring back'));
    await visit.go('log');
    await enter(visit, '#notes button', { text: 'truth' });
    await visit.until('there', arrived, 30);
    assert.equal(await visit.run(() => document.querySelector('.jotting')?.textContent), 'Here she tells the truth.');
    await visit.go(STORY);
    assert.match(await visit.run(() => document.querySelector('#tree .noted title')?.textContent), /Noted: Here she tells the truth\./);
    await visit.press('k', { ctrl: true });
    await visit.until('the sheet', () => document.querySelector('dialog.finder')?.open);
    await visit.type('tells the truth');
    await visit.until('the note', () => /Notes \(1\)/.test(document.querySelector('.finder').textContent));
}));

test('an entry comes back from its timeline, and tabs of a phone are walked', async () => {
    await elsewhere(moment(MAIN, 30), async (visit) => {
        await enter(visit, '.entry .timeline', { text: 'Emlyn Post' });
        await visit.until('the timeline', () => document.querySelector('ol.timeline') !== null);
        await enter(visit, 'ol.timeline .button');
        await visit.until('the plan', () => document.querySelector('.plan button.main') !== null);
        await enter(visit, '.plan button.main');
        await title(visit, 'It is back');
        await enter(visit, '.go button', { text: 'Undo' });
        await title(visit, 'Undone');
    });
    const phone = await Visit.start(browser, site, moment(MAIN, 30), PHONE);
    await tabTo(phone, '[role=tab]');
    await phone.press('ArrowRight');
    assert.equal(await phone.run(() => document.querySelector('.travel').dataset.tab), 'lore');
    await phone.press('End');
    assert.equal(await phone.run(() => [document.querySelector('.travel').dataset.tab, document.activeElement.getAttribute('aria-selected')].join()), 'recap,true');
    phone.clean();
    await phone.close();
});

test('a vault is healed, a setting saved, a story exported and imported, light and dark chosen', () => elsewhere('health', async (visit, other) => {
    await enter(visit, 'main a.button, main a', { text: 'See what healing would change' });
    await title(visit, 'Heal');
    await enter(visit, 'main button', { text: 'Heal' });
    await visit.until('healed', () => !location.pathname.endsWith('/heal') && document.querySelector('.go button') !== null);
    await enter(visit, '.go button', { text: 'Undo' });
    await title(visit, 'Undone');
    await visit.go('settings');
    await tabTo(visit, 'main select');
    await visit.press('ArrowDown');
    await visit.press('Tab');
    await visit.press('Enter');
    await visit.until('saved', () => new URLSearchParams(location.search).has('saved'));
    await visit.go('export?what=Ottilie+Crake');
    const downloads = fs.mkdtempSync(path.join(os.tmpdir(), 'forklore-export-'));
    await visit.page.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: downloads });
    await enter(visit, 'main a.button', { text: 'Download' });
    for (let i = 0; i < 200 && !fs.readdirSync(downloads).some((file) => !file.endsWith('.crdownload')); i += 1) {
        await new Promise((done) => { setTimeout(done, 100); });
    }
    const [file] = fs.readdirSync(downloads);
    assert.ok(file);
    await visit.go('import');
    await tabTo(visit, 'input[type=file]');
    // What the dialog of the system would do.
    const { root } = await visit.page.send('DOM.getDocument');
    const { nodeId } = await visit.page.send('DOM.querySelector', { nodeId: root.nodeId, selector: 'input[type=file]' });
    await visit.page.send('DOM.setFileInputFiles', { nodeId, files: [path.join(downloads, file)] });
    await enter(visit, 'main button', { text: 'Look into the file' });
    await visit.until('what is in it', () => document.querySelector('.plan, .card h2') !== null && /chats?/i.test(document.querySelector('main').innerText));
    fs.rmSync(downloads, { recursive: true });
    const scheme = () => visit.run(() => getComputedStyle(document.documentElement).colorScheme);
    const was = await scheme();
    await enter(visit, '#theme', { back: true });
    await visit.press('Enter');
    assert.notEqual(await scheme(), was);
    await visit.run(() => localStorage.removeItem('forklore-theme'));
    assert.ok(other.vault);
}));
