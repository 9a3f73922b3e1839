// What is remembered, on Forklore's page: the scene of a moment, where each line of an entry comes from, what has changed since, and
// the bill. The model is a script behind a real server, asked by the real command.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { ModelServer } from '../../../sillytavern/tests/lib/model.js';
import { Browser, empty, FORKLORE, PHONE, Site, Visit, writeChat } from './lib/site.js';

const CHAT = 'Mara/Long road';
const NAMES = ['Tolan', 'Ilse', 'Bren'];
let browser;
let model;
let site;
const forklore = (...args) => promisify(execFile)(FORKLORE, ['--vault', site.vault, '--json', ...args]);
const page = (at) => `memory?${new URLSearchParams({ chat: CHAT, at })}`;
const text = (visit, selector = 'main') => visit.run((selector) => document.querySelector(selector)?.innerText.replace(/\s+/g, ' ') ?? '', selector);

before(async () => {
    browser = await Browser.start();
    model = await ModelServer.start();
    const vault = empty();
    writeChat(vault, 'Mara', 'Long road', Array.from({ length: 60 }, (_, i) => (i % 12 === 0 && i > 0 ? `Later they came upon ${NAMES[(i / 12) % 3]} at the mill.`
        : i % 12 === 3 ? `It is said that ${NAMES[Math.floor(i / 12) % 3]} lives in house ${i}.` : `Nothing new, ${i}.`)));
    site = await Site.start(vault);
});

after(async () => {
    await browser?.stop();
    await site?.stop();
    model?.stop();
});

test('before it is on, the page says how it is turned on; then a moment leads to its scene, its facts and where they come from', async () => {
    const visit = await Visit.start(browser, site, page(40));
    assert.match(await text(visit), /Memory is off for this chat[\s\S]*Nothing was asked in this vault yet/);
    await visit.accessible('memory that is off');
    await forklore('memory', 'on', 'Long road');
    await forklore('config', 'memory.price_in', '1000');
    await forklore('memory', 'run', 'Long road', '--url', model.url);
    await visit.go(`moment?${new URLSearchParams({ chat: CHAT, at: '14' })}`);
    // In its place: the scene, and with each entry where its lines come from.
    await visit.until('the scene is told', () => document.querySelector('.remembered .told')?.textContent.includes('What was learnt'));
    await visit.click('.remembered summary');
    assert.match(await text(visit, '.remembered'), /Later they came \(messages 12 to 23\) remembered .*What happened.*What was learnt Ilse.*One question, which scripted answered: 100 tokens read, 10 written/);
    await visit.go(`moment?${new URLSearchParams({ chat: CHAT, at: '30' })}`);
    await visit.until('where it comes from', () => document.querySelectorAll('.entry .from').length === 2);
    await visit.click('[data-title="character-Ilse"] .from summary');
    assert.match(await text(visit, '[data-title="character-Ilse"] .from'), /Where it comes from .*It is said that Ilse lives in house 15 from Later they came/);
    await visit.accessible('a moment that is remembered');
    await visit.picture('memory-moment');
    // Travelling takes it along.
    await visit.click('[data-step=back]');
    await visit.until('it is asked for again', () => new URL(document.querySelector('.remembered .told > p:last-child a').href).searchParams.get('at') === '29');
    assert.ok(await visit.run(() => document.querySelector('[data-title="character-Ilse"] .from').open), 'what is open stays open');
    await visit.go(`moment?${new URLSearchParams({ chat: CHAT, at: '14' })}`);
    await visit.click('.scene a', { text: 'What Forklore remembers here' });
    await visit.until('the page', () => document.querySelector('h1')?.textContent === 'What is remembered');
    assert.match(await text(visit, '.memory > section'), /^At message 14 Later they came \(messages 12 to 23\) remembered .*What happened.*What was learnt Ilse/);
    const known = await text(visit, '.memory > section:last-child');
    assert.match(known, /character-Tolan/);
    assert.doesNotMatch(known, /character-Ilse/, 'what is learnt later is not known yet');
    await visit.go(page(30));
    assert.match(await text(visit, '.memory > section:last-child'), /It is said that Ilse lives in house 15 from Later they came/);
    assert.match(await text(visit, '#bill'), new RegExp(`Altogether ${model.calls} ${model.calls * 100} ${model.calls * 10} \\d`));
    await visit.accessible('what is remembered');
    await visit.picture('memory');
    visit.clean();
    await visit.close();
});

test('a scene that was edited is kept with a click; nothing is asked', async () => {
    const file = path.join(site.vault, 'chats/Mara/Long road.jsonl');
    fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('Nothing new, 16.', 'Nothing newer, 16.'));
    const calls = model.calls;
    const visit = await Visit.start(browser, site, page(16), PHONE);
    assert.match(await text(visit, '.say.warning'), /messages 12 to 23.*other words than it has now.*Or ask again: in SillyTavern/);
    await visit.accessible('a scene that has changed');
    await visit.picture('memory-stale-phone');
    await visit.click('.say.warning button', { text: 'Keep' });
    await visit.until('it is kept', () => !document.querySelector('.say.warning') && document.querySelector('h1'));
    assert.match(await text(visit, 'p.lead'), /Nothing has to be asked/);
    assert.equal(model.calls, calls);
    visit.clean();
    await visit.close();
});
