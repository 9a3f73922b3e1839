// What others change appears without a reload: the command line, SillyTavern's files, another page. A restart is survived.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Browser, demo, empty, FORKLORE, Site, Visit, writeChat } from './lib/site.js';

const HEARD = 'Ottilie Crake/Heard Once';
let browser;
before(async () => { browser = await Browser.start(); });
after(async () => { await browser?.stop(); });

async function visiting(site, address, options) {
    const visit = await Visit.start(browser, site, address, options);
    // Gone after a reload.
    await visit.run(() => { window.same = true; });
    return visit;
}

test('what the command line does appears, and whoever reads is not disturbed', async () => {
    const site = await Site.start(demo());
    const visit = await visiting(site, 'log');
    await visit.run(() => { document.querySelector('.action details').open = true; document.querySelector('.action summary').focus(); });
    execFileSync(FORKLORE, ['--vault', site.vault, 'branch', HEARD, '--at', '16', '--name', 'From the terminal'], { stdio: 'ignore' });
    await visit.until('it appears', () => /From the terminal/.test(document.querySelector('.actions').innerText));
    const seen = await visit.run(() => ({
        same: window.same,
        open: document.activeElement.parentElement.open,
        focus: document.activeElement.matches('.action:nth-child(2) summary'),
    }));
    assert.deepEqual(seen, { same: true, open: true, focus: true });
    execFileSync(FORKLORE, ['--vault', site.vault, 'undo'], { stdio: 'ignore' });
    await visit.until('undone', () => document.querySelector('.action.undone') !== null);
    assert.equal(await visit.run(() => window.same), true);
    visit.clean();
    await visit.close();
    await site.stop();
});

test('the tree grows while it is looked at', async () => {
    const site = await Site.start(demo());
    const visit = await visiting(site, 'tree?story=Ottilie+Crake');
    execFileSync(FORKLORE, ['--vault', site.vault, 'branch', HEARD, '--at', '16', '--name', 'A new shoot'], { stdio: 'ignore' });
    await visit.until('it is drawn, and its script works on it', () => /A new shoot/.test(document.querySelector('main').textContent)
        && document.getElementById('tree').dataset.ready === 'true');
    assert.equal(await visit.run(() => window.same), true);
    visit.clean();
    await visit.close();
    await site.stop();
});

test('a file that changes on disk: findings come and go', async () => {
    const site = await Site.start(demo());
    const visit = await visiting(site, 'health');
    const book = path.join(site.vault, 'worlds/z-AutoLB-Ottilie Crake-Heard Once - Branch #3.json');
    const content = fs.readFileSync(book);
    fs.rmSync(book);
    await visit.until('it is missed', () => /lorebook is gone/.test(document.querySelector('main').textContent));
    fs.writeFileSync(book, content);
    await visit.until('all is as before', () => !/lorebook is gone/.test(document.querySelector('main').textContent));
    assert.equal(await visit.run(() => window.same), true);
    visit.clean();
    await visit.close();
    await site.stop();
});

test('looking changes nothing: a page that nobody disturbs asks once', async () => {
    const site = await Site.start(demo());
    const visit = await visiting(site, 'health');
    await site.api('recent');
    await new Promise((resolve) => { setTimeout(resolve, 2500); });
    visit.page.requests.length = 0;
    await site.api('check');
    await site.api('tree');
    await new Promise((resolve) => { setTimeout(resolve, 2500); });
    assert.deepEqual(visit.page.requests.filter((address) => /health$/.test(address)), []);
    await visit.close();
    await site.stop();
});

test('while somebody types, the name stays and the plan follows', async () => {
    const site = await Site.start(demo());
    const visit = await visiting(site, `act?${new URLSearchParams({ kind: 'rename', chat: HEARD })}`);
    await visit.click('#wish-name');
    await visit.type('Half a na');
    await visit.until('the plan', () => /becomes Half a na/.test(document.querySelector('.plan').innerText));
    await site.api('rename', {}, { chat: 'Ottilie Crake/Before the first telling', name: 'Half a na' });
    await visit.until('the refusal appears', () => /Choose another name/.test(document.querySelector('.plan').innerText));
    const seen = await visit.run(() => [document.activeElement.id, document.activeElement.value, window.same]);
    assert.deepEqual(seen, ['wish-name', 'Half a na', true]);
    visit.clean();
    await visit.close();
    await site.stop();
});

test('regression: a late answer does not take back what the reader has chosen since', async () => {
    const site = await Site.start(demo());
    const visit = await visiting(site, `act?${new URLSearchParams({ kind: 'rename', chat: HEARD })}`);
    await visit.run(() => {
        const { fetch } = window;
        window.fetch = async (address, options) => {
            const late = !window.asked && address === location.href;
            window.asked ||= late;
            const answer = await fetch(address, options);
            if (late) {
                await new Promise((done) => { setTimeout(done, 2000); });
                window.answered = true;
            }
            return answer;
        };
    });
    fs.appendFileSync(path.join(site.vault, 'chats', `${HEARD}.jsonl`), `\n${JSON.stringify({ name: 'You', is_user: true, mes: 'And on.' })}`);
    await visit.until('the page asks for itself', () => window.asked);
    await visit.run(() => {
        const name = document.querySelector('main input[name=name]');
        name.value = 'Heard twice';
        name.dispatchEvent(new Event('input', { bubbles: true }));
    });
    await visit.until('the plan', () => /becomes Heard twice/.test(document.querySelector('.plan')?.innerText));
    await visit.until('the late answer', () => window.answered);
    await new Promise((done) => { setTimeout(done, 1000); });
    assert.match(await visit.run(() => document.querySelector('.plan').innerText), /becomes Heard twice/);
    visit.clean();
    await visit.close();
    await site.stop();
});

test('a restart: the page says so, and goes on with the new address', async () => {
    const vault = demo();
    let site = await Site.start(vault);
    const { port } = new URL(site.url);
    const visit = await visiting(site, 'log');
    const over = new Promise((resolve) => site.child.once('exit', resolve));
    site.child.kill('SIGINT');
    await over;
    await visit.until('it is told', () => /does not answer/.test(document.getElementById('live-note')?.innerText));
    await visit.picture('gone');
    // The token is another one now: what was open stays shut until somebody shows it.
    site = await Site.start(vault, ['--port', port]);
    await visit.until('it is told', () => /started anew/.test(document.getElementById('live-note')?.innerText));
    await visit.page.send('Page.navigate', { url: 'about:blank' });
    visit.site = site;
    await visit.enter();
    await visit.until('let in again', () => document.querySelector('.story') !== null);
    assert.equal(await visit.run(() => document.getElementById('live-note')), null);
    await visit.close();
    await site.stop();
});

test('history that is not recorded is told, and told no more when it is', async () => {
    const vault = demo();
    execFileSync(FORKLORE, ['--vault', vault, 'watch', '--once'], { stdio: 'ignore' });
    const owner = path.join(vault, '.forklore/history/vault');
    const ours = fs.readFileSync(owner);
    fs.writeFileSync(owner, '0123456789abcdef0123456789abcdef\n');
    const site = await Site.start(vault);
    const visit = await visiting(site, 'log');
    await visit.until('it is told', () => /History is not being recorded: .*another vault/.test(document.getElementById('live-note')?.innerText));
    await visit.picture('not-recorded');
    fs.writeFileSync(owner, ours);
    fs.appendFileSync(path.join(vault, `chats/${HEARD}.jsonl`), `\n${JSON.stringify({ name: 'Ottilie Crake', is_user: false, mes: 'Remembered.' })}`);
    await visit.until('it is over', () => !/not being recorded/.test(document.getElementById('live-note')?.innerText ?? ''));
    await visit.close();
    await site.stop();
});

test('long work shows how far it is', async () => {
    const vault = empty();
    const long = Array.from({ length: 1000 }, (_, i) => `Message ${i}. ${'The tide came in, and with it the boats, one after the other. '.repeat(64)}`);
    let chats = 0;
    const grow = (by) => {
        for (const end = chats + by; chats < end; chats += 1) {
            writeChat(vault, 'Ana', `Chat ${chats}`, [`Chat ${chats} begins.`, ...long]);
        }
    };
    grow(40);
    const site = await Site.start(vault);
    const visit = await visiting(site, 'log');
    const meter = () => visit.run(() => {
        const meter = document.querySelector('.notice.work progress');
        return meter && { text: document.querySelector('.notice.work').innerText, value: meter.value, max: meter.max };
    });
    // All chats are played on, and another program asks for something: everything must be read again. Only work that takes a while is
    // told of; where a machine is done too soon, it gets twice as much to do.
    let [bar, asked] = [null, null];
    while (!bar) {
        assert.ok(chats <= 640, 'nothing is told of reading 2.5 GB');
        for (let i = 0; i < chats; i += 1) {
            fs.appendFileSync(path.join(vault, `chats/Ana/Chat ${i}.jsonl`), `\n${JSON.stringify({ name: 'You', is_user: true, mes: 'And on.' })}`);
        }
        let over = false;
        asked = site.api('check').finally(() => {
            over = true;
        });
        while (!bar && !over) {
            bar = await meter();
        }
        if (!bar) {
            grow(chats);
        }
    }
    assert.match(bar.text, /chats/);
    assert.ok(bar.value > 0 && bar.value <= bar.max, JSON.stringify(bar));
    await visit.picture('work');
    await asked;
    await visit.until('it goes when the work is over', () => document.querySelector('.notice.work') === null);
    visit.clean();
    await visit.close();
    await site.stop();
});
