// Saves that SillyTavern's page makes in the wrong moment: a chat that is being read is never emptied, and nothing that somebody wants saved
// is kept from being saved.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { bench, GROUP, MAIN, STORY } from './lib/bench.js';
import { pause } from './lib/tavern.js';

const at = bench();
const OTHER = `${STORY}/The Lighthouse Road`;

function bytes(address) {
    const [folder, name] = address.split('/');
    const parts = folder.startsWith('group:') ? ['group chats'] : ['chats', folder];
    return fs.readFileSync(path.join(at.tavern.vault, ...parts, `${name}.jsonl`), 'utf8');
}

// Sends a save as the page does, with these lines. Gives the status.
function save(address, chat, force = false) {
    const [folder, name] = address.split('/');
    const [route, body] = folder.startsWith('group:')
        ? ['/api/chats/group/save', { id: name, chat, force }]
        : ['/api/chats/save', { ch_name: folder, file_name: name, avatar_url: `${folder}.png`, chat, force }];
    return at.visit.page.run(async (route, body) => {
        const response = await fetch(route, { method: 'POST', headers: SillyTavern.getContext().getRequestHeaders(), body: JSON.stringify(body) });
        return response.status;
    }, route, body);
}

const header = (chat_metadata) => ({ chat_metadata, user_name: 'unused', character_name: 'unused' });
const greeting = { name: STORY, is_user: false, is_system: false, mes: 'Welcome.', extra: {} };

test('regression: what is saved while a chat is being read does not empty it, and nobody is alarmed', async () => {
    const { visit } = at;
    await visit.open(OTHER);
    await visit.page.until('it is adopted', () => Forklore.state().entered?.findings.every(({ code }) => code !== 'UNRECORDED_FORK'));
    await visit.open(MAIN);
    await visit.clearNotices();
    const was = bytes(OTHER);
    await visit.page.run(async (name) => {
        // The chat is read slowly; meanwhile a save comes that somebody has asked for before.
        const { fetch } = window;
        const query = /** @type {any} */ ($);
        const { ajax } = query;
        let reading = () => {};
        const read = new Promise((resolve) => { reading = () => resolve(null); });
        const slowly = async (address, send) => {
            if (String(address).includes('/api/chats/get')) {
                reading();
                await new Promise((resolve) => { setTimeout(resolve, 1500); });
            }
            return send();
        };
        window.fetch = (address, init) => slowly(address, () => fetch(address, init));
        query.ajax = (options) => slowly(options.url, () => ajax(options));
        try {
            const opened = SillyTavern.getContext().openCharacterChat(name);
            await read;
            await SillyTavern.getContext().saveMetadata();
            await opened;
        } finally {
            window.fetch = fetch;
            query.ajax = ajax;
        }
    }, OTHER.slice(STORY.length + 1));
    await visit.settled(OTHER);
    assert.ok(bytes(OTHER) === was, 'the file is as it was');
    assert.equal(await visit.messages(), at.tavern.chat(OTHER).length - 1, 'and the page shows all of it');
    assert.deepEqual(await visit.dialogs(), []);
    assert.deepEqual((await visit.notices()).filter((text) => /saved|lost/i.test(text)), []);
});

test('a chat that could not be read is not replaced by its greeting', async () => {
    const { visit } = at;
    await visit.open(MAIN);
    const was = bytes(OTHER);
    assert.equal(await save(OTHER, [header({}), greeting]), 200);
    assert.ok(bytes(OTHER) === was);
});

test('whatever somebody wants saved is saved: an emptied chat, one without a slug, a confirmed overwrite, a new one', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    // All messages deleted: the page knows the chat, and its slug.
    const { integrity } = tavern.header(OTHER);
    assert.ok(integrity);
    const emptied = `${STORY}/Emptied`;
    assert.equal(await save(emptied, [header({ integrity: 'its-own' }), greeting, greeting]), 200);
    assert.equal(await save(emptied, [header({ integrity: 'its-own' })]), 200);
    assert.equal(tavern.chat(emptied).length, 1);
    // It has messages: whoever sends them means them.
    assert.equal(await save(emptied, [header({ integrity: 'its-own' }), greeting, greeting]), 200);
    const played = [greeting, { ...greeting, is_user: true, mes: 'Hello.' }];
    if (!tavern.version.startsWith('1.13.')) {
        assert.equal(await save(emptied, [header({}), ...played]), 200);
        assert.deepEqual(tavern.chat(emptied).slice(1), played);
    }
    assert.equal(await save(emptied, [header({})], true), 200);
    assert.equal(tavern.chat(emptied).length, 1, 'confirmed');
    const old = `${STORY}/From before slugs`;
    assert.equal(await save(old, [header({}), ...played]), 200);
    assert.equal(await save(old, [header({})]), 200);
    assert.equal(tavern.chat(old).length, 1, 'such a chat has nothing to go by');
    [emptied, old].forEach((chat) => tavern.forklore('delete', chat));
});

test('groups: one that is being read is not emptied, one without a header is saved as it comes', async () => {
    const was = bytes(GROUP);
    if (JSON.parse(was.split('\n')[0]).chat_metadata?.integrity) {
        await save(GROUP, [header({})]);
        await pause(200);
        assert.ok(bytes(GROUP) === was);
    }
    const bare = 'group:1794704887331/1794704887999';
    await save(bare, [greeting, greeting]);
    await save(bare, []);
    assert.equal(bytes(bare), '');
});
