// What is wrong, healing it with a preview and a way back; how much is kept.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Browser, demo, harbor, PHONE, Site, Visit } from './lib/site.js';

let browser;
before(async () => { browser = await Browser.start(); });
after(async () => { await browser?.stop(); });

async function visiting(site, address, options) {
    const visit = await Visit.start(browser, site, address, options);
    return visit;
}

const text = (visit, selector = 'main') => visit.run((selector) => document.querySelector(selector)?.innerText ?? '', selector);

function tree(folder) {
    const files = fs.readdirSync(folder, { recursive: true, withFileTypes: true }).filter((node) => node.isFile());
    const all = files.map((node) => path.join(node.parentPath, node.name)).filter((file) => !file.includes('.forklore'));
    return Object.fromEntries(all.sort().map((file) => [path.relative(folder, file), fs.readFileSync(file, 'base64')]));
}

test('findings are told story by story, in plain words, with what to do', async () => {
    const site = await Site.start(harbor());
    const visit = await visiting(site, 'health');
    const said = await text(visit);
    assert.match(said, /Maren Voss/);
    assert.match(said, /Harbor Watch/, 'a group by its name, not its number');
    assert.match(said, /A fork writes into another chat's lorebook/);
    assert.match(said, /What to do: /);
    const { findings } = await site.api('check');
    const shown = await visit.run(() => [...document.querySelectorAll('.finding .badge')].reduce((sum, badge) => sum + Number(badge.textContent), 0));
    assert.equal(shown, findings.length, 'none is left out');
    await visit.accessible('health');
    await visit.picture('health');
    visit.clean();
    await visit.close();
    await site.stop();
});

test('regression: the health of a story is of that story, and findings name their book', async () => {
    const site = await Site.start(harbor());
    const visit = await visiting(site, 'tree?story=Maren+Voss');
    await visit.click('.storyhead a');
    await visit.until('its health', () => /^Health of/.test(document.querySelector('h1')?.textContent ?? ''));
    const chats = await visit.run(() => [...document.querySelectorAll('.finding li > p:first-child a')].map((link) => new URL(link.href).searchParams.get('chat')));
    assert.ok(chats.length > 0 && chats.every((chat) => chat.startsWith('Maren Voss/')), chats.join());
    await visit.accessible('the health of a story');
    await visit.go('health');
    const { findings } = await site.api('check');
    const said = await text(visit);
    for (const { book } of findings.filter(({ chat, book, severity }) => !chat && book && severity !== 'info')) {
        assert.ok(said.includes(book), book);
    }
    visit.clean();
    await visit.close();
    await site.stop();
});

test('healing: a preview that changes nothing, choices, the result, and undo', async () => {
    const site = await Site.start(harbor());
    const before = tree(site.vault);
    const visit = await visiting(site, 'health');
    await visit.click('a.main');
    await visit.until('the preview', () => document.querySelector('h1')?.textContent === 'Heal');
    assert.match(await text(visit, '.plan'), /What will change/);
    assert.match(await text(visit), /What you decide/);
    await visit.accessible('the preview');
    await visit.picture('heal');
    assert.deepEqual(tree(site.vault), before, 'a preview changes nothing');

    const field = 'choose/Maren Voss/Blue door';
    await visit.run((field) => {
        const select = document.getElementById(field);
        select.value = 'detach';
        select.dispatchEvent(new Event('input', { bubbles: true }));
    }, field);
    await visit.until('the plan follows the choice', () => [...document.querySelectorAll('.plan h3')].some((h) => /Blue door/.test(h.textContent) && /no lorebook|unbound|without a lorebook|detach/i.test(h.nextElementSibling.innerText)));
    assert.equal(await visit.run((field) => document.getElementById(field).value, field), 'detach');

    await visit.click('.plan button.main');
    await visit.until('the result', () => document.querySelector('h1')?.textContent === 'Healed');
    const after = await site.api('check');
    assert.equal(after.findings.filter(({ code }) => code === 'BOOK_SHARED').length, 0);
    assert.equal((await site.api('show', { chat: 'Maren Voss/Blue door' })).book.name, null);
    await visit.accessible('what was healed');
    await visit.picture('healed');

    await visit.click('.go button', { text: 'Undo' });
    await visit.until('undone', () => document.querySelector('h1')?.textContent === 'Undone');
    const now = await site.api('check');
    assert.ok(now.findings.some(({ code }) => code === 'BOOK_SHARED'));
    visit.clean();
    await visit.close();
    await site.stop();
});

test('one chat alone, at night, on a phone', async () => {
    const site = await Site.start(harbor());
    const visit = await visiting(site, `heal?${new URLSearchParams({ chat: 'Maren Voss/Loft night' })}`, { ...PHONE, dark: true });
    const chats = await visit.run(() => [...document.querySelectorAll('.plan h3')].map((h) => h.textContent));
    assert.deepEqual(chats, ['Loft night']);
    assert.match(await visit.run(() => document.querySelector('.cure p').innerText), /^It gets a lorebook of its own with what its own line has earned: 14 entries; .*recorded\.$/, 'one sentence');
    await visit.fits('the preview');
    await visit.accessible('the preview at night');
    await visit.picture('heal-phone-dark');
    await visit.go('health');
    await visit.fits('health');
    await visit.accessible('health at night');
    await visit.picture('health-phone-dark');
    visit.clean();
    await visit.close();
    await site.stop();
});

test('history: its size by story, rules with a preview, forgetting and freeing', async () => {
    const site = await Site.start(demo());
    const visit = await visiting(site, 'keep');
    await visit.until('history is there', async () => {
        if (/Ottilie Crake/.test(document.querySelector('.usage').innerText)) {
            return true;
        }
        location.reload();
        return false;
    });
    const file = path.join(site.vault, 'chats/Ottilie Crake/Heard Once.jsonl');
    for (let i = 0; i < 3; i += 1) {
        const { saves } = await site.api('forget', {}, { dry_run: true });
        fs.appendFileSync(file, `\n${JSON.stringify({ name: 'You', is_user: true, send_date: '2026-01-01T00:00:00Z', mes: `More ${i}` })}`);
        for (let n = 0; n < 200 && (await site.api('forget', {}, { dry_run: true })).saves === saves; n += 1) {
            await new Promise((resolve) => { setTimeout(resolve, 100); });
        }
    }
    await visit.go('keep');
    for (const [id, value] of [['rule-last', '1'], ['rule-daily', '0'], ['rule-weekly', '0']]) {
        await visit.run((id, value) => {
            document.getElementById(id).value = value;
            document.getElementById(id).dispatchEvent(new Event('input', { bubbles: true }));
        }, id, value);
    }
    await visit.until('what would go', () => /cannot be undone/.test(document.querySelector('.verdict').innerText));
    await visit.accessible('history');
    await visit.picture('keep');
    await visit.click('button.danger');
    await visit.until('forgotten', () => /forgotten/.test(document.querySelector('.say.good')?.innerText));
    await visit.click('button', { text: 'Free the space' });
    await visit.until('freed', () => /History takes/.test(document.querySelector('.say.good')?.innerText));
    await visit.run(() => { document.getElementById('trash-days').value = '90'; });
    await visit.click('.days button');
    await visit.until('saved', () => /Saved/.test(document.querySelector('.say.good')?.innerText));
    assert.equal((await site.api('config', { key: 'trash.days' })).value, 90);
    visit.clean();
    await visit.close();
    await site.stop();
});
