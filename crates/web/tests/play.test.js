// Playing with the past: the slider plays, its marks have names, moments get stars and notes, an entry has a timeline, and what was comes back.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { demo, PHONE, Site, stage, Visit } from './lib/site.js';

const MAIN = 'Ottilie Crake/Heard Once';
const moment = (chat, at) => `moment?${new URLSearchParams({ chat, ...(at === undefined ? {} : { at }) })}`;
const arrived = (at) => document.querySelector('.message.here .number')?.dataset.at === String(at) && document.querySelector('.state').ariaBusy !== 'true';

let browser;
let site;
stage((...there) => { [browser, site] = there; });

async function tabTo(visit, selector) {
    for (let i = 0; i < 60 && !await visit.run((selector) => document.activeElement.matches(selector), selector); i += 1) {
        await visit.press('Tab');
    }
    assert.ok(await visit.run((selector) => document.activeElement.matches(selector), selector), `${selector} can be reached`);
}

test('the slider plays to the end by itself, and stops when it is told to', async () => {
    const visit = await Visit.start(browser, site, moment(MAIN, 38));
    await visit.until('the button', () => !document.getElementById('play').hidden);
    await visit.run(() => { document.getElementById('pace').value = '500'; });
    await tabTo(visit, '#play');
    await visit.press('Enter');
    assert.equal(await visit.run(() => document.getElementById('play').getAttribute('aria-pressed')), 'true');
    await visit.until('it goes on', arrived, 40);
    await visit.picture('play');
    await visit.until('the end', () => document.querySelector('.message.here .number').dataset.at === '42' && document.getElementById('play').getAttribute('aria-pressed') === 'false');
    // From the end it begins anew, and whoever takes the slider has it.
    await visit.press('Enter');
    await visit.until('from the start', () => Number(document.querySelector('.message.here .number').dataset.at) < 10 && document.getElementById('play').getAttribute('aria-pressed') === 'true');
    await visit.press('Escape');
    assert.equal(await visit.run(() => document.getElementById('play').getAttribute('aria-pressed')), 'false');
    await visit.accessible('a slider that plays');
    visit.clean();
    await visit.close();
});

test('marks have names where there is room, and none stands on another; a phone shows fewer', async () => {
    const names = (visit) => visit.run(() => [...document.querySelectorAll('.names a')].filter((name) => name.checkVisibility())
        .map((name) => ({ text: name.textContent, ...name.getBoundingClientRect().toJSON() })).sort((a, b) => a.left - b.left));
    const visit = await Visit.start(browser, site, moment(MAIN, 20));
    const wide = await names(visit);
    assert.ok(wide.length >= 3, JSON.stringify(wide));
    wide.slice(1).forEach((name, i) => assert.ok(name.left >= wide[i].right, `${wide[i].text} | ${name.text}`));
    await visit.click('.names a:nth-child(2)');
    await visit.until('there', (was) => Number(document.querySelector('.message.here .number').dataset.at) !== was, 20);
    await visit.close();
    const phone = await Visit.start(browser, site, moment(MAIN, 20), PHONE);
    const few = await names(phone);
    assert.ok(few.length >= 1 && few.length < wide.length);
    few.slice(1).forEach((name, i) => assert.ok(name.left >= few[i].right, `${few[i].text} | ${name.text}`));
    await phone.fits('a slider with names');
    await phone.picture('marks-phone');
    phone.clean();
    await phone.close();
});

test('a star and a note stay at their moment, in every fork that has it, and no chat is touched', async () => {
    const other = await Site.start(demo());
    const chats = path.join(other.vault, 'chats');
    const bytes = () => fs.readdirSync(chats, { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
        .map((file) => fs.readFileSync(path.join(file.parentPath, file.name), 'utf8')).join('\n');
    const before = bytes();
    const visit = await Visit.start(browser, other, moment(MAIN, 12));
    await tabTo(visit, '.star');
    await visit.press('Enter');
    await visit.until('a star', () => document.querySelector('.star').getAttribute('aria-pressed') === 'true' && document.querySelector('.ticks .note') !== null);
    await visit.click('.write summary');
    await visit.click('.write textarea');
    await visit.type('Here she lies.');
    await visit.click('.write button');
    await visit.until('the note', () => document.querySelector('.jotting')?.textContent === 'Here she lies.');
    assert.equal(await visit.run(() => document.querySelector('.star').getAttribute('aria-pressed')), 'true', 'the star stays');
    assert.match(await visit.run(() => document.querySelector('.marks').textContent), /12 noted Here she lies\./);
    await visit.accessible('a note');
    await visit.picture('note');
    // On, and back.
    await visit.click('[data-step=next]');
    await visit.until('on', arrived, 13);
    assert.equal(await visit.run(() => document.querySelector('.jotting')), null);
    // A fork that parted later has the same moment; one that parted before has not.
    const { notes } = await other.api('notes', { chat: `${MAIN} - Branch #1` });
    assert.deepEqual(notes.map(({ message, text, star }) => [message, text, star]), [[12, 'Here she lies.', true]]);
    const { stories: [{ chats: all }] } = await other.api('tree');
    const early = all.find(({ fork_message: at }) => at !== null && at < 12);
    assert.deepEqual((await other.api('notes', { chat: early.chat })).notes, [], 'not where the story was another');
    // Away with it.
    await visit.go(moment(MAIN, 12));
    await visit.click('.write summary');
    await visit.run(() => { document.querySelector('.write textarea').value = ''; });
    await visit.click('.write button');
    await visit.until('no text', () => document.querySelector('.jotting') === null);
    await visit.click('.star');
    await visit.until('no star', () => document.querySelector('.star').getAttribute('aria-pressed') === 'false');
    assert.deepEqual((await other.api('notes')).notes, []);
    assert.equal(bytes(), before);
    // A file that makes no sense is left as it is, and that is told.
    fs.writeFileSync(path.join(other.vault, '.forklore/notes.json'), 'not mine');
    const { error } = await other.api('note', {}, { chat: MAIN, at: 1, star: true });
    assert.equal(error.code, 'NOTES_UNREADABLE');
    assert.equal(fs.readFileSync(path.join(other.vault, '.forklore/notes.json'), 'utf8'), 'not mine');
    visit.clean();
    await visit.close();
    await other.stop();
});

test('an entry has a timeline: where each line comes from, and the way back', async () => {
    const other = await Site.start(demo());
    const visit = await Visit.start(browser, other, moment(MAIN, 30), PHONE);
    await visit.click('#tab-lore');
    await visit.click('.entry .timeline', { text: 'Timeline of character-Emlyn Post' });
    await visit.until('the timeline', () => document.querySelector('ol.timeline') !== null);
    const page = await visit.run(() => ({
        title: document.querySelector('h1').textContent,
        steps: [...document.querySelectorAll('ol.timeline .when')].map((step) => step.textContent),
        lines: document.querySelectorAll('.blamed li').length,
        at: new URLSearchParams(location.search).get('at'),
    }));
    assert.match(page.title, /Emlyn Post/);
    assert.equal(page.at, '30', 'as of where one was');
    assert.ok(page.steps.join() === 'message 10,message 20,message 30', JSON.stringify(page.steps));
    assert.ok(page.lines >= 1);
    const { entries: [blamed] } = await other.api('blame', { chat: MAIN, at: 30, entry: 'character-Emlyn Post' });
    assert.equal(page.lines, blamed.lines.length, 'each line has its origin');
    await visit.fits('a timeline');
    await visit.accessible('a timeline');
    await visit.picture('timeline-phone');
    const was = await other.api('show', { chat: MAIN, at: 10 });
    await visit.click('ol.timeline li:first-child .button');
    await visit.until('the plan', () => document.querySelector('.plan button.main') !== null);
    await visit.accessible('what would come back');
    await visit.picture('bring-back-phone');
    await visit.click('.plan button.main');
    await visit.until('back', () => document.querySelector('h1')?.textContent === 'It is back');
    const text = ({ book }) => book.entries.find(({ comment }) => comment === 'character-Emlyn Post').content;
    assert.equal(text(await other.api('show', { chat: MAIN })), text(was));
    await visit.click('.go button', { text: 'Undo' });
    await visit.until('undone', () => document.querySelector('h1')?.textContent === 'Undone');
    visit.clean();
    await visit.close();
    await other.stop();
});

test('history tells by time what happened, and a chat comes back as it was', async () => {
    const other = await Site.start(demo());
    const file = path.join(other.vault, 'chats/Ottilie Crake/Heard Once.jsonl');
    const visit = await Visit.start(browser, other, `past?${new URLSearchParams({ chat: MAIN })}`);
    await visit.until('seen', () => /seen for the first time/.test(document.querySelector('main').innerText));
    const lines = fs.readFileSync(file, 'utf8').split('\n');
    fs.writeFileSync(file, lines.slice(0, -5).join('\n'));
    await visit.until('the loss', () => /deleted/.test(document.querySelector('.past')?.innerText ?? ''));
    await visit.accessible('history');
    await visit.picture('history');
    await visit.run(() => {
        const first = [...document.querySelectorAll('.past > li')].find((line) => /seen for the first time, with/.test(line.innerText) && line.querySelector('a.button')?.textContent.includes('chat'));
        location.assign(first.querySelector('a.button').href);
    });
    await visit.until('the plan', () => document.querySelector('.plan button.main') !== null);
    await visit.click('.plan button.main');
    await visit.until('back', () => document.querySelector('h1')?.textContent === 'It is back');
    const { stories } = await other.api('tree');
    const whole = stories.flatMap(({ chats }) => chats).filter(({ messages }) => messages === lines.length - 1);
    assert.ok(whole.length >= 1, 'a chat with all of its messages is there again');
    visit.clean();
    await visit.close();
    await other.stop();
});
