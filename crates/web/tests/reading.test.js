// Reading at a moment: the message stays in sight, new ones come, swipes, long lorebooks, tabs on a phone.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { empty, PHONE, Site, stage, Visit, writeChat } from './lib/site.js';

const MAIN = 'Ottilie Crake/Heard Once';
const moment = (chat, at) => `moment?${new URLSearchParams({ chat, ...(at === undefined ? {} : { at }) })}`;

let browser;
let site;
stage((...there) => { [browser, site] = there; });

const arrived = (at) => Number(new URLSearchParams(location.search).get('at')) === at && document.querySelector('.message.here .number').dataset.at === String(at);

test('regression: the message that one travelled to is in sight below the slider, and stays where it is', async () => {
    for (const size of [{ width: 1440, height: 900 }, { width: 390, height: 844 }]) {
        const visit = await Visit.start(browser, site, moment(MAIN, 42), size);
        const place = () => visit.run(() => {
            const box = (selector) => document.querySelector(selector).getBoundingClientRect();
            return { top: Math.round(box('.message.here').top), below: box('.slider').bottom };
        });
        const first = await place();
        assert.ok(first.top >= first.below && first.top < size.height - 100, `at ${first.top} of ${size.height}`);
        for (const at of [41, 20, 3]) {
            await visit.run((to) => {
                const range = document.querySelector('.slider input[type=range]');
                range.value = to;
                range.dispatchEvent(new Event('input', { bubbles: true }));
            }, at);
            await visit.until(`message ${at}`, arrived, at);
            const { top } = await place();
            assert.ok(Math.abs(top - first.top) <= 3, `message ${at} is at ${top}, and 42 was at ${first.top}`);
        }
        await visit.close();
    }
});

test('regression: new messages come into the slider while one looks, and whoever is at the end goes on with them', async () => {
    const vault = empty();
    writeChat(vault, 'Ana', 'Rain', ['one', 'two', 'three']);
    const other = await Site.start(vault);
    const visit = await Visit.start(browser, other, moment('Ana/Rain'));
    const more = (text) => fs.appendFileSync(path.join(vault, 'chats/Ana/Rain.jsonl'), `\n${JSON.stringify({ name: 'You', is_user: true, send_date: '2026-01-01T01:00:00Z', mes: text })}`);
    more('four');
    await visit.until('the fourth message', () => document.querySelector('.slider input[type=range]').max === '3' && /four/.test(document.querySelector('.message.here').textContent));
    assert.match(await visit.run(() => document.querySelector('.lineage').textContent), /4 messages/);
    await visit.click('[data-step=back]');
    await visit.until('back', arrived, 2);
    more('five');
    await visit.until('it can be gone to', () => document.querySelector('.slider input[type=range]').max === '4' && document.querySelector('.last').textContent === '4');
    assert.equal(await visit.run(() => document.querySelector('.slider output').textContent), '2', 'whoever looks at the past stays there');
    await visit.click('[data-step=next]');
    await visit.until('ahead', arrived, 3);
    visit.clean();
    await visit.close();
    await other.stop();
});

test('swipes can be read, and a branch can go on from one', async () => {
    const vault = empty();
    const swiped = { name: 'Ana', is_user: false, send_date: '2026-01-01T00:05:00Z', mes: '*She nods.* "Yes."', swipes: ['*She nods.* "Yes."', 'She says **no**.'], swipe_id: 0, swipe_info: [{}, {}] };
    writeChat(vault, 'Ana', 'Rain', ['one', 'two', swiped]);
    const other = await Site.start(vault);
    const visit = await Visit.start(browser, other, moment('Ana/Rain', 2));
    assert.deepEqual(await visit.run(() => ['em', '.quote'].map((mark) => document.querySelector(`.message.here > .said ${mark}`)?.textContent)), ['She nods.', '"Yes."'], 'emphasis and quotes as in the chat');
    await visit.click('.swipes summary');
    assert.match(await visit.run(() => document.querySelector('.swipes').innerText), /1 of 2\s+shown[^]*2 of 2[^]*She says no\./);
    await visit.accessible('swipes');
    await visit.picture('swipes');
    await visit.click('.swipes a');
    await visit.until('the plan', () => document.querySelector('.plan button.main') !== null);
    await visit.click('.plan button.main');
    await visit.until('made', () => document.querySelector('h1')?.textContent === 'The branch is made');
    const { stories: [{ chats }] } = await other.api('tree');
    const fork = chats.find(({ kind }) => kind === 'branch').chat;
    const { messages } = await other.api('messages', { chat: fork, from: 2, to: 2 });
    assert.equal(messages[0].text, 'She says **no**.');
    visit.clean();
    await visit.close();
    await other.stop();
});

test('a lorebook of two thousand entries is a small page: what changed first, the rest a word or a step away', async () => {
    const vault = empty();
    writeChat(vault, 'Ana', 'Rain', ['one', 'two', 'three'], { world_info: 'Long' });
    const entries = Array.from({ length: 2000 }, (_, uid) => ({ uid, key: [`key ${uid}`], comment: `Person ${uid}`, content: `What is known of person ${uid}. `.repeat(20), disable: false }));
    fs.writeFileSync(path.join(vault, 'worlds/Long.json'), JSON.stringify({ entries: Object.fromEntries(entries.map((entry) => [entry.uid, entry])) }));
    const other = await Site.start(vault);
    const page = await fetch(`${other.url}${moment('Ana/Rain', 2)}`, { headers: { Authorization: `Bearer ${other.token}` } });
    const { length } = await page.text();
    assert.ok(length < 150_000, `${length} bytes`);
    const visit = await Visit.start(browser, other, moment('Ana/Rain', 2));
    const count = () => visit.run(() => document.querySelectorAll('[data-list=facts] > .entry').length);
    const first = await count();
    assert.ok(first > 10 && first < 100, `${first} entries`);
    assert.match(await visit.run(() => document.querySelector('.find').innerText), /of 2,000 shown/);
    await visit.click('a.more');
    await visit.until('more of them', (first) => document.querySelectorAll('[data-list=facts] > .entry').length > first, first);
    await visit.click('#find-entry');
    await visit.type('key 1234');
    await visit.until('the one', () => document.querySelectorAll('[data-list=facts] > .entry').length === 1);
    assert.match(await visit.run(() => document.querySelector('[data-list=facts]').innerText), /Person 1234/);
    await visit.accessible('a long lorebook');
    visit.clean();
    await visit.close();
    await other.stop();
});

test('on a phone the story, the lore and the recap are behind tabs', async () => {
    const visit = await Visit.start(browser, site, moment(MAIN, 20), PHONE);
    const seen = () => visit.run(() => ['.transcript', '.book', '.recap'].map((part) => document.querySelector(part).checkVisibility()));
    assert.deepEqual(await seen(), [true, false, false]);
    await visit.click('#tab-lore');
    assert.deepEqual(await seen(), [false, true, false]);
    await visit.accessible('the lore on a phone');
    await visit.picture('moment-phone-lore');
    await visit.press('ArrowRight');
    assert.deepEqual(await seen(), [false, false, true], 'arrows go from tab to tab');
    await visit.fits('the recap on a phone');
    visit.clean();
    await visit.close();
});
