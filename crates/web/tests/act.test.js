// Doing something: the plan first, refusals with what to do, the result, and the way back.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Browser, demo, PHONE, Site, Visit } from './lib/site.js';

const HEARD = 'Ottilie Crake/Heard Once';
let browser;
before(async () => { browser = await Browser.start(); });
after(async () => { await browser?.stop(); });

const act = (kind, chat, more = {}) => `act?${new URLSearchParams({ kind, chat, ...more })}`;
const text = (visit, selector = 'main') => visit.run((selector) => document.querySelector(selector)?.innerText ?? '', selector);
const there = (site, chat) => fs.existsSync(path.join(site.vault, 'chats', `${chat}.jsonl`));

// The test's own visit, without the 401 that the browser notes before it is let in.
async function visiting(site, address, options) {
    const visit = await Visit.start(browser, site, address, options);
    return visit;
}

async function arrived(visit, title) {
    await visit.until(title, (title) => document.querySelector('h1')?.textContent === title, title);
}

test('a branch: the plan, then the branch, undone and done again', async () => {
    const site = await Site.start(demo());
    const visit = await visiting(site, act('branch', HEARD, { at: 16 }));
    const plan = await text(visit, '.plan');
    assert.match(plan, /Heard Once - Branch #5/);
    assert.match(plan, /z-AutoLB-Ottilie Crake-Heard Once - Branch #5/);
    assert.match(plan, /with 5 entries/);
    assert.match(plan, /left out/i);
    assert.match(plan, /does not end a scene/);
    assert.equal(there(site, 'Ottilie Crake/Heard Once - Branch #5'), false, 'a plan changes nothing');
    await visit.accessible('a plan');
    await visit.picture('plan');

    await visit.click('#wish-name');
    await visit.type('The other telling');
    await visit.until('the plan follows', () => document.querySelector('.plan dd strong')?.textContent === 'The other telling');
    assert.equal(await visit.run(() => document.activeElement.id), 'wish-name', 'whoever types is not disturbed');
    assert.equal(await visit.run(() => document.activeElement.value), 'The other telling');

    await visit.click('.plan button.main');
    await arrived(visit, 'The branch is made');
    assert.ok(there(site, 'Ottilie Crake/The other telling'));
    assert.match(await text(visit), /1 lorebook new: z-AutoLB-Ottilie Crake-The other telling/);
    assert.match(await text(visit), /Open in SillyTavern/);
    assert.equal(await visit.run(() => document.querySelector('.go a.main').getAttribute('href')), 'moment?chat=Ottilie+Crake%2FThe+other+telling');
    await visit.accessible('a result');
    await visit.picture('done');

    await visit.click('.go button', { text: 'Undo' });
    await arrived(visit, 'Undone');
    assert.equal(there(site, 'Ottilie Crake/The other telling'), false);
    await visit.click('.go button', { text: 'Redo' });
    await arrived(visit, 'Done again');
    assert.ok(there(site, 'Ottilie Crake/The other telling'));
    visit.clean();
    await visit.close();
    await site.stop();
});

test('what cannot be made is refused with a reason and what to do, in words', async () => {
    const site = await Site.start(demo());
    const visit = await visiting(site, act('checkpoint', HEARD, { at: 999 }));
    assert.match(await text(visit, '.plan'), /Message 999 does not exist[^]*The last message is 42[^]*Nothing was changed/);
    await visit.go(act('checkpoint', HEARD, { at: 20, name: 'The tally book is found' }));
    assert.match(await text(visit, '.plan'), /There is already a chat[^]*Choose another name/);
    await visit.go(act('branch', HEARD, { at: 16, strict: 'true' }));
    assert.match(await text(visit, '.plan'), /does not end a scene/);
    assert.equal(await visit.run(() => document.querySelector('.plan button.main')), null, 'there is nothing to press');
    await visit.accessible('a refusal');
    await visit.picture('refusal');
    await visit.go(act('rename', HEARD, { name: 'The tally book is found' }));
    assert.match(await text(visit, '.plan'), /There is already a chat[^]*Choose another name/);
    // What the settings ask for, one fork may do without.
    await site.api('config', {}, { key: 'fork.strict', value: 'true' });
    await visit.go(act('branch', HEARD, { at: 16 }));
    assert.match(await text(visit, '.plan'), /does not end a scene/);
    await visit.go(act('branch', HEARD, { at: 16, strict: 'false' }));
    await visit.until('the plan', () => document.querySelector('.plan button.main') !== null);
    await visit.accessible('a fork that may be less exact');
    await visit.picture('loose');
    assert.match(await text(visit, '.plan'), /does not end a scene/);
    await site.api('config', {}, { key: 'checkpoint.show_warnings', value: false });
    await visit.go(act('branch', HEARD, { at: 16, strict: 'false' }));
    await visit.until('the plan', () => document.querySelector('.plan button.main') !== null);
    assert.doesNotMatch(await text(visit, '.plan'), /does not end a scene/, 'the settings ask for no warnings');
    visit.clean();
    // A chat that is not there is a page that says so.
    await visit.go(act('delete', 'Ottilie Crake/Never'));
    assert.match(await text(visit), /There is no chat/);
    await visit.close();
    await site.stop();
});

test('between the plan and the deed somebody takes the name: refused beside the button, nothing lost', async () => {
    const site = await Site.start(demo());
    const visit = await visiting(site, act('rename', 'Ottilie Crake/Before the first telling', { name: 'Beginnings' }));
    await visit.until('the plan', () => document.querySelector('.plan button.main') !== null);
    // The page does not hear of it: it is asked to keep still, as while something is done.
    await visit.run(async () => { (await import(document.querySelector('script[src*="app.js"]').src.replace('app.js', 'live.js'))).hold(); });
    await site.api('rename', {}, { chat: 'Ottilie Crake/The tally book is found', name: 'Beginnings' });
    await visit.click('.plan button.main');
    await visit.until('a refusal', () => /There is already a chat[^]*Choose another name/.test(document.querySelector('#refusal[role=alert]')?.innerText));
    assert.ok(there(site, 'Ottilie Crake/Before the first telling'));
    await visit.close();
    await site.stop();
});

test('rename, delete, restore from the trash: only with the keyboard', async () => {
    const site = await Site.start(demo());
    const visit = await visiting(site, act('rename', 'Ottilie Crake/Before the first telling'));
    const tabTo = async (what, matches) => {
        for (let i = 0; i < 60; i += 1) {
            await visit.press('Tab');
            if (await visit.run(matches)) {
                return;
            }
        }
        assert.fail(`the keyboard never reaches ${what}`);
    };
    await tabTo('the name', () => document.activeElement.id === 'wish-name');
    await visit.type('At the very start');
    await visit.press('Enter');
    await visit.until('the plan', () => /becomes At the very start/.test(document.querySelector('.plan')?.innerText));
    await tabTo('the button', () => document.activeElement.matches('.plan button.main'));
    await visit.press('Enter');
    await arrived(visit, 'Renamed');
    assert.ok(there(site, 'Ottilie Crake/At the very start'));

    await visit.go(act('delete', 'Ottilie Crake/At the very start'));
    assert.match(await text(visit, '.plan'), /z-AutoLB-Ottilie Crake/);
    await tabTo('the button', () => document.activeElement.matches('button.danger'));
    await visit.press('Enter');
    await arrived(visit, 'It is in the trash');
    assert.equal(there(site, 'Ottilie Crake/At the very start'), false);

    await visit.go('log');
    await visit.accessible('the log');
    await visit.picture('log');
    await tabTo('what is in the trash', () => /^Restore.*At the very start/.test(document.activeElement.textContent));
    await visit.press('Enter');
    await arrived(visit, 'Undone');
    assert.ok(there(site, 'Ottilie Crake/At the very start'));
    visit.clean();
    await visit.close();
    await site.stop();
});

test('the log undoes what nobody has played on, and says why it does not undo the rest', async () => {
    const site = await Site.start(demo());
    const { chat } = await site.api('branch', {}, { chat: HEARD, at: 16, name: 'Played on' });
    fs.appendFileSync(path.join(site.vault, 'chats', `${chat}.jsonl`), `\n${JSON.stringify({ name: 'You', is_user: true, mes: 'And then?' })}`);
    const visit = await visiting(site, 'log');
    assert.match(await text(visit, '.action:first-child'), /Stays: 1 new message since\./);
    assert.equal(await visit.run(() => document.querySelector('.action:first-child button')), null, 'what cannot be undone is not offered');
    assert.ok(there(site, chat));
    await visit.close();
    await site.stop();
});

test('work in the queue: refused, with the choice to wait for it', async () => {
    const site = await Site.start(demo());
    const book = path.join(site.vault, 'worlds', 'z-AutoLB-Ottilie Crake-Heard Once.json');
    const world = JSON.parse(fs.readFileSync(book, 'utf8'));
    const quiet = JSON.stringify(world);
    const work = { id: 'op_1', type: 'combine_scene', status: 'pending', params: { index: 1 }, created_at: 0, retries: 0, priority: 9, dependencies: [], metadata: {} };
    const queue = Object.values(world.entries).find((entry) => entry.comment === '__operation_queue');
    queue.content = JSON.stringify({ queue: [work], current_operation_id: null, paused: false, version: 1, queueVersion: 0 });
    fs.writeFileSync(book, JSON.stringify(world));
    const visit = await visiting(site, act('branch', HEARD, { at: 42 }));
    assert.match(await text(visit, '.plan'), /Wait until the extension is done[^]*combine_scene/);
    await visit.click('.plan button', { text: 'Make it when that is finished' });
    await visit.until('it waits', () => /waits until the memory extension has finished/.test(document.querySelector('main').innerText));
    fs.writeFileSync(book, quiet);
    await visit.until('it is made, and the page knows', () => !/waits until/.test(document.querySelector('main').innerText));
    assert.ok(there(site, 'Ottilie Crake/Heard Once - Branch #5'));
    visit.clean();
    await visit.close();
    await site.stop();
});

test('without scripts the forms work the same', async () => {
    const site = await Site.start(demo());
    const visit = await visiting(site, '');
    await visit.page.send('Emulation.setScriptExecutionDisabled', { value: true });
    await visit.page.send('Page.navigate', { url: visit.at(act('branch', HEARD, { at: 20, name: 'Without scripts' })) });
    await visit.until('the plan', () => document.querySelector('.plan button.main') !== null);
    await visit.click('.plan button.main');
    await arrived(visit, 'The branch is made');
    assert.ok(there(site, 'Ottilie Crake/Without scripts'));
    await visit.click('.go button', { text: 'Undo' });
    await arrived(visit, 'Undone');
    assert.equal(there(site, 'Ottilie Crake/Without scripts'), false);
    await visit.close();
    await site.stop();
});

test('a form from another page changes nothing', async () => {
    const site = await Site.start(demo());
    const entered = await fetch(new URL('api/session', site.url), { method: 'POST', headers: { Authorization: `Bearer ${site.token}` } });
    const cookie = entered.headers.get('set-cookie').split(';')[0];
    const { to } = await entered.json();
    const body = new URLSearchParams({ kind: 'delete', chat: HEARD });
    for (const Origin of [undefined, 'http://127.0.0.1:1', 'null']) {
        const response = await fetch(new URL(`${to}act`, site.url), { method: 'POST', body, headers: { cookie, ...(Origin && { Origin }) }, redirect: 'manual' });
        assert.equal(response.status, 403, `from ${Origin}`);
    }
    assert.ok(there(site, HEARD));
    await site.stop();
});

test('hostile names stay text, and a phone shows it all', async () => {
    const site = await Site.start(demo());
    const visit = await visiting(site, act('branch', HEARD, { at: 20, name: '<img src=x onerror=alert(1)>\u202e"' }), PHONE);
    assert.match(await text(visit, '.plan'), /img src=x onerror=alert/);
    assert.equal(await visit.run(() => document.querySelectorAll('main img').length), 0);
    await visit.fits('a plan');
    await visit.picture('plan-phone');
    await site.api('branch', {}, { chat: HEARD, at: 20, name: "<b onclick='x'>bold" });
    for (const page of ['log', 'health', 'heal', 'keep', act('rename', HEARD), act('delete', HEARD)]) {
        await visit.go(page);
        await visit.fits(page);
        assert.equal(await visit.run(() => document.querySelectorAll('main b').length), 0, page);
    }
    visit.clean();
    await visit.close();
    await site.stop();
});
