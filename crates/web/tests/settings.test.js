// Settings, a story that goes to another SillyTavern, and one that takes long to look at.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { demo, empty, PHONE, Site, stage, Visit } from './lib/site.js';

let browser;
let site;
stage((...there) => { [browser, site] = there; });

test('settings are questions with answers, saved one by one, by keys alone, and go back to what they were', async () => {
    const visit = await Visit.start(browser, site, 'settings', PHONE);
    await visit.fits('settings');
    await visit.accessible('settings');
    await visit.picture('settings-phone');
    for (let i = 0; i < 60 && !await visit.run(() => document.activeElement.closest('#fork-strict') && document.activeElement.matches('select')); i += 1) {
        await visit.press('Tab');
    }
    await visit.press('ArrowUp');
    await visit.press('Tab');
    await visit.press('Enter');
    await visit.until('saved', () => document.querySelector('#fork-strict .saved') !== null);
    assert.equal((await site.api('config', { key: 'fork.strict' })).value, true);
    await visit.run(() => { document.querySelector('#books-shared textarea').value = 'Eldoria\n\n  The Harbour \n'; });
    await visit.click('#books-shared button');
    await visit.until('the list is saved', () => document.querySelector('#books-shared .saved') !== null);
    assert.deepEqual((await site.api('config', { key: 'books.shared' })).value, ['Eldoria', 'The Harbour']);
    await visit.click('#fork-strict button[name=unset]');
    await visit.until('as it was', () => document.querySelector('#fork-strict .saved') !== null && document.querySelector('#fork-strict select').value === 'false');
    assert.equal((await site.api('config', { key: 'fork.strict' })).is_default, true);
    visit.clean();
    // What cannot be is told beside it.
    await visit.run(() => { document.querySelector('#checkpoint-name_template [name=value]').value = '{nonsense}'; });
    await visit.click('#checkpoint-name_template button');
    await visit.until('refused', () => document.querySelector('#refusal') !== null);
    assert.match(await visit.run(() => document.querySelector('#refusal').innerText), /with \{scene_number\} or \{scene_name\} in it/);
    await visit.close();
});

test('a story goes into a file and out of it, into another SillyTavern', async () => {
    const visit = await Visit.start(browser, site, `tree?${new URLSearchParams({ story: 'Ottilie Crake' })}`);
    await visit.click('.save summary');
    await visit.click('.save a');
    await visit.until('the plan', () => /What will be in the file/.test(document.querySelector('.plan')?.innerText ?? ''));
    assert.match(await visit.run(() => document.querySelector('.plan').innerText), /Chats\s+7/);
    await visit.accessible('export');
    await visit.picture('export');
    const address = await visit.run(() => document.querySelector('.plan a.main').href);
    const answer = await visit.run(async (address) => {
        const response = await fetch(address);
        const bytes = new Uint8Array(await response.arrayBuffer());
        return { named: response.headers.get('content-disposition'), bytes: [...bytes] };
    }, address);
    assert.match(answer.named, /Ottilie%20Crake\.forklore/);
    const folder = fs.mkdtempSync(path.join(path.dirname(/** @type {string} */ (site.vault)), 'export-'));
    const file = path.join(folder, 'story.forklore');
    fs.writeFileSync(file, Buffer.from(answer.bytes));
    visit.clean();
    await visit.close();

    const other = await Site.start(empty());
    const there = await Visit.start(browser, other, 'import', PHONE);
    await there.fits('import');
    await there.page.send('DOM.enable');
    const { root } = await there.page.send('DOM.getDocument');
    const { nodeId } = await there.page.send('DOM.querySelector', { nodeId: root.nodeId, selector: '#file' });
    await there.page.send('DOM.setFileInputFiles', { nodeId, files: [file] });
    await there.click('#arrival button');
    await there.until('what is in it', () => /What will come in/.test(document.querySelector('#arriving').innerText));
    assert.deepEqual(fs.readdirSync(path.join(other.vault, 'chats')), [], 'nothing is changed by looking');
    await there.accessible('import');
    await there.fits('what is in a file');
    await there.picture('import-phone');
    await there.click('#bring-in');
    await there.until('imported', () => location.pathname.endsWith('/done'));
    const { stories } = await other.api('tree');
    assert.equal(stories[0].chats.length, 7);
    assert.deepEqual(stories[0].chats.map(({ fork_message: at }) => at).toSorted(), (await site.api('tree')).stories[0].chats.map(({ fork_message: at }) => at).toSorted());
    // What is no such file is told, and changes nothing.
    fs.writeFileSync(file, 'no story');
    await there.go('import');
    const { root: again } = await there.page.send('DOM.getDocument');
    const { nodeId: field } = await there.page.send('DOM.querySelector', { nodeId: again.nodeId, selector: '#file' });
    await there.page.send('DOM.setFileInputFiles', { nodeId: field, files: [file] });
    await there.click('#arrival button');
    await there.until('refused', () => document.querySelector('#arriving .say.error, #notices .error') !== null);
    there.clean();
    await there.close();
    await other.stop();
    fs.rmSync(folder, { recursive: true });
});

test('what takes long says so, and is there when it is made', async () => {
    const other = await Site.start(demo());
    const visit = await Visit.start(browser, other);
    // Another program is at work on the vault, and is waited for: nobody may look meanwhile.
    const left = path.join(other.vault, '.forklore/tx/busy');
    fs.mkdirSync(path.dirname(left), { recursive: true });
    fs.writeFileSync(left, '');
    const busy = spawn('flock', [path.join(other.vault, '.forklore/lock'), 'sleep', '6'], { stdio: 'ignore' });
    const over = new Promise((resolve) => { busy.once('exit', resolve); });
    await new Promise((resolve) => { setTimeout(resolve, 300); });
    await visit.page.send('Page.navigate', { url: visit.at('health') });
    await visit.until('a word', () => document.querySelector('.waiting progress') !== null);
    assert.match(await visit.run(() => document.querySelector('#how-far').innerText), /\w/);
    await visit.accessible('a page that waits');
    await visit.picture('waiting');
    await over;
    fs.rmSync(left, { force: true });
    await visit.until('what was asked for', () => /^Health/.test(document.querySelector('h1')?.textContent ?? ''));
    visit.clean();
    await visit.close();
    await other.stop();
});
