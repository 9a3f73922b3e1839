// The first visit: no vault is named and none is found.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Browser, demo, PHONE, Site, Visit } from './lib/site.js';

let browser;
let home;
// Not below the home: a vault is looked for from here upwards.
let here;
before(async () => {
    browser = await Browser.start();
    home = fs.mkdtempSync(path.join(os.tmpdir(), 'forklore-home-'));
    const vault = path.join(home, 'SillyTavern/data/default-user');
    fs.mkdirSync(path.dirname(vault), { recursive: true });
    fs.renameSync(demo(), vault);
    here = fs.mkdtempSync(path.join(os.tmpdir(), 'forklore-here-'));
});
after(async () => {
    await browser?.stop();
    [home, here].forEach((folder) => fs.rmSync(folder, { recursive: true, force: true }));
});

async function first(options = {}) {
    const site = await Site.start(null, [], { cwd: here, env: { ...process.env, HOME: home, FORKLORE_VAULT: '' } });
    const visit = new Visit();
    visit.site = site;
    visit.page = await browser.open(`${site.url}#code=${site.code}`, options);
    await visit.until('the welcome', () => document.getElementById('first')?.hidden === false);
    return { site, visit };
}

const stories = (visit) => visit.until('the stories', () => document.querySelector('.story .name')?.textContent);

test('the folder of SillyTavern is found, and one click opens it', async () => {
    const { site, visit } = await first();
    await visit.accessible('welcome');
    await visit.picture('welcome');
    const offered = await visit.run(() => document.querySelector('#folders button').textContent);
    assert.equal(offered, fs.realpathSync(path.join(home, 'SillyTavern/data/default-user')));
    await visit.click('#folders button');
    assert.equal(await stories(visit), 'Ottilie Crake');
    assert.equal(await visit.run(() => location.hash), '');
    await visit.close();
    await site.stop();
});

test('a folder can be typed, and a wrong one is told', async () => {
    const { site, visit } = await first(PHONE);
    await visit.fits('welcome');
    await visit.click('#path');
    await visit.type(here);
    await visit.press('Enter');
    await visit.until('why not', () => /holds no SillyTavern chats/.test(document.getElementById('problem').textContent));
    await visit.run(() => { document.getElementById('path').value = ''; document.getElementById('path').focus(); });
    await visit.type(path.join(home, 'SillyTavern'));
    await visit.press('Enter');
    assert.equal(await stories(visit), 'Ottilie Crake');
    await visit.close();
    await site.stop();
});

test('without the key nothing is told and nothing is opened', async () => {
    const { site, visit } = await first();
    for (const headers of [{}, { Authorization: 'Bearer wrong' }]) {
        assert.equal((await fetch(`${site.url}api/setup`, { headers })).status, 401);
        const asked = { method: 'POST', headers: { ...headers, 'Content-Type': 'application/json' }, body: '{"demo": true}' };
        assert.equal((await fetch(`${site.url}api/setup`, asked)).status, 401);
    }
    await visit.close();
    await site.stop();
});

// The last one: from then on there is a vault here.
test('the demo story is made, and shown', async () => {
    const { site, visit } = await first();
    await visit.click('#demo');
    assert.equal(await stories(visit), 'Ottilie Crake');
    assert.ok(fs.existsSync(path.join(here, 'forklore-demo/chats')));
    await visit.close();
    await site.stop();
});
