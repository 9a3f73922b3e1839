// Two moments side by side: where they part, words that differ, and choosing others.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { harbor, PHONE, Site, stage, Visit } from './lib/site.js';

const MAIN = 'Ottilie Crake/Heard Once';
const compare = (args) => `compare?${new URLSearchParams(args)}`;

let browser;
let site;
stage((...there) => { [browser, site] = there; });

test('a fork and its parent: where they part, and what each has for itself', async () => {
    const args = { a: MAIN, b: `${MAIN} - Branch #1` };
    const visit = await Visit.start(browser, site, compare(args));
    const report = await site.api('diff', args);
    const page = await visit.run(() => ({
        text: document.querySelector('main').textContent,
        lead: document.querySelector('.lead').textContent,
        only: [...document.querySelectorAll('.only')].map((entry) => `${entry.dataset.side} ${entry.querySelector('h3 bdi').textContent}`),
        changed: document.querySelectorAll('.entry[data-change=changed]').length,
        marks: [document.querySelectorAll('del').length, document.querySelectorAll('ins').length],
    }));
    assert.match(page.lead, /^They part after message 22:/);
    for (const side of ['a', 'b']) {
        assert.ok(page.text.includes(report.transcript.next[side].text.slice(0, 60)), `what ${side} says next`);
    }
    const name = ({ comment }) => comment.replace(/^[a-z]+-/, '');
    assert.deepEqual(page.only, [...report.book.removed.map((entry) => `A ${name(entry)}`), ...report.book.added.map((entry) => `B ${name(entry)}`)]);
    assert.equal(page.changed, report.book.changed.filter(({ quiet }) => !quiet).length);
    assert.ok(page.marks[0] > 0 && page.marks[1] > 0, 'words are marked');
    await visit.accessible('compare');
    await visit.picture('compare');
    visit.clean();
    await visit.close();
});

test('sides are swapped, and others chosen, by keys alone', async () => {
    const visit = await Visit.start(browser, site, compare({ a: MAIN, a_at: 10, b: MAIN, b_at: 20 }));
    assert.match(await visit.run(() => document.querySelector('.lead').textContent), /B is 10 messages later/);
    const order = await visit.run(() => document.querySelectorAll('.only[data-side=B]').length);
    assert.ok(order > 0);
    for (let i = 0; i < 30 && !await visit.run(() => document.activeElement.matches('.swap')); i += 1) {
        await visit.press('Tab');
    }
    await visit.press('Enter');
    await visit.until('swapped', () => /a_at=20/.test(location.search) && document.readyState === 'complete');
    assert.match(await visit.run(() => document.querySelector('.lead').textContent), /B is 10 messages earlier/);
    assert.equal(await visit.run(() => document.querySelectorAll('.only[data-side=A]').length), order);
    // Another chat for B, at its last message.
    for (let i = 0; i < 30 && !await visit.run(() => document.activeElement.name === 'b_at'); i += 1) {
        await visit.press('Tab');
    }
    await visit.run(() => { document.querySelector('[name=b]').value = 'Ottilie Crake/Heard Once - Branch #3'; document.querySelector('[name=b_at]').value = ''; });
    await visit.press('Enter');
    await visit.until('compared', () => /Branch/.test(decodeURIComponent(location.search)) && document.querySelector('.heads') !== null);
    assert.match(await visit.run(() => document.querySelector('.lead').textContent), /part after message 15/);
    visit.clean();
    await visit.close();
});

test('from a moment, and with nothing to compare yet', async () => {
    const visit = await Visit.start(browser, site, `moment?${new URLSearchParams({ chat: MAIN, at: '30' })}`);
    await visit.click('.doing a[href^=compare]');
    await visit.until('compared with the last message', () => location.pathname.endsWith('/compare') && document.querySelector('.heads') !== null);
    assert.match(await visit.run(() => document.querySelector('.lead').textContent), /B is 12 messages later/);
    await visit.go(compare({ a: MAIN }));
    assert.match(await visit.run(() => document.querySelector('.lead').textContent), /Choose two moments/);
    await visit.accessible('choosing');
    await visit.click('.choose button');
    await visit.until('compared', () => document.querySelector('.heads') !== null);
    visit.clean();
    await visit.close();
});

test('on a phone one is below the other', async () => {
    const visit = await Visit.start(browser, site, compare({ a: `${MAIN} - Branch #1`, b: MAIN }), { ...PHONE, dark: true });
    await visit.fits('compare on a phone');
    const [a, b] = await visit.run(() => [...document.querySelectorAll('.heads .side')].map((side) => side.getBoundingClientRect().top));
    assert.ok(b > a);
    await visit.accessible('compare on a phone');
    await visit.picture('compare-phone-dark');
    visit.clean();
    await visit.close();
});

test('real chats: every fork can be compared with its parent', async () => {
    const real = await Site.start(harbor());
    const visit = await Visit.start(browser, real);
    const { stories } = await real.api('tree');
    for (const { chat, parent } of stories.flatMap((story) => story.chats).filter((fork) => fork.parent)) {
        await visit.go(compare({ a: parent, b: chat }));
        assert.ok(await visit.run(() => document.querySelector('.heads') !== null), chat);
    }
    await visit.accessible('compare of real chats');
    await visit.fits('compare of real chats');
    visit.clean();
    await visit.close();
    await real.stop();
});
