// Memory inside SillyTavern: a connection profile of the user's is asked, through SillyTavern's own server, by a page that waits until the
// line has settled. The model is a script behind a real server.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { bench, STORY } from './lib/bench.js';
import { ModelServer } from './lib/model.js';
import { becomes } from './lib/tavern.js';

const model = await ModelServer.start();
const CHAT = `${STORY}/Long road`;
const NAMES = ['Tolan', 'Ilse', 'Bren'];
const PROFILE = 'a0b1c2d3-0000-4000-8000-000000000001';
const at = bench({ prepare });
after(() => model.stop());

// A chat of three scenes of twelve messages and what came then, and a connection as SillyTavern's connection manager saves it.
function prepare({ vault }) {
    const text = (i) => (i % 12 === 0 && i > 0 ? `Later they came upon ${NAMES[(i / 12) % 3]} at the mill.`
        : i % 12 === 3 ? `It is said that ${NAMES[Math.floor(i / 12) % 3]} lives in house ${i}.` : `Nothing new, ${i}.`);
    const messages = Array.from({ length: 46 }, (_, i) => ({
        name: i % 2 ? 'Corin' : STORY, is_user: i % 2 === 1, is_system: false, send_date: `2026-11-17T10:${String(i).padStart(2, '0')}:00.000Z`, mes: text(i), extra: {},
    }));
    const last = messages.at(-1);
    Object.assign(last, { is_user: false, name: STORY, mes: 'Nothing new, 45.', swipe_id: 0, swipes: ['Nothing new, 45.', 'Nothing new at all.', 'Not a thing.'], swipe_info: [{}, {}, {}] });
    const header = { user_name: 'Corin', character_name: STORY, create_date: '2026-11-17@10h00m00s', chat_metadata: { integrity: '6f2f4a1e-1111-4222-8333-444455556666' } };
    fs.writeFileSync(path.join(vault, 'chats', STORY, 'Long road.jsonl'), [header, ...messages].map((line) => JSON.stringify(line)).join('\n'));
    const file = path.join(vault, 'settings.json');
    const settings = JSON.parse(fs.readFileSync(file, 'utf8'));
    const profile = { id: PROFILE, mode: 'cc', name: 'A scripted one', api: 'custom', preset: 'Default', 'api-url': model.url, model: 'scripted' };
    settings.extension_settings.connectionManager = { profiles: [profile], selectedProfile: null };
    fs.writeFileSync(file, JSON.stringify(settings));
}

const remembering = () => at.visit.page.run(() => Forklore.state().memory);
// Waits until everything that can be asked is asked.
const done = () => at.visit.page.until('nothing is missing', () => {
    const { status, asking, settled } = Forklore.state().memory;
    return settled && !asking && status?.questions === 0 && status;
});
const marks = () => at.visit.page.run(() => [...document.querySelectorAll('#chat .mes .forklore-scene')].map((line) => [Number(line.closest('.mes').getAttribute('mesid')), line.innerText.replace(/\s+/g, ' ').trim()]));
const facts = (chat) => Object.values(at.tavern.book(at.tavern.header(chat).world_info).entries).filter(({ comment }) => comment.startsWith('character-'));

async function drawer() {
    const { page } = at.visit;
    await page.run(() => {
        if (!document.querySelector('#rm_extensions_block.openDrawer')) {
            document.querySelector('#extensions-settings-button .drawer-toggle').click();
        }
    });
    await page.until('the drawer is open', () => document.querySelector('#rm_extensions_block.openDrawer'));
    await page.until('the part is open', () => {
        const content = document.querySelector('#forklore_settings .inline-drawer-content');
        if (!content.checkVisibility()) {
            document.querySelector('#forklore_settings .inline-drawer-toggle').click();
        }
        return content.checkVisibility();
    });
}

const shut = () => at.visit.page.run(() => {
    if (document.querySelector('#rm_extensions_block.openDrawer')) {
        document.querySelector('#extensions-settings-button .drawer-toggle').click();
    }
});

async function edited(message, text) {
    const { visit: { page } } = at;
    await page.run((message) => document.querySelector(`#chat .mes[mesid="${message}"] .mes_edit`).click(), message);
    await page.until('it can be edited', () => document.querySelector('#chat .edit_textarea'));
    await page.run((text) => {
        document.querySelector('#chat .edit_textarea').value = text;
        [...document.querySelectorAll('#chat .mes_edit_done')].find((button) => button.checkVisibility()).click();
    }, text);
}

test('turned on with a preview, it asks through the profile, and writes book and scenes', async () => {
    const { tavern, visit } = at;
    const { page } = visit;
    await visit.open(CHAT);
    assert.deepEqual(await marks(), [], 'a chat without memory has no marks');
    await drawer();
    await page.click('#forklore_settings input[name="forklore_memory"]');
    const preview = await visit.dialog('Let Forklore remember this chat');
    assert.match(preview, /About [\d,]+ tokens to be read and [\d,]+ to be written/);
    assert.match(preview, /Choose the connection that is asked/);
    await page.run((id) => {
        const select = document.querySelector('dialog[open] select[name="forklore_memory_profile"]');
        select.value = id;
        select.dispatchEvent(new Event('change', { bubbles: true }));
    }, PROFILE);
    await at.picture('memory-preview');
    assert.equal(model.calls, 0, 'looking costs nothing');
    await visit.choose('on');
    const status = await done();
    await at.picture('memory-drawer');
    assert.ok(status.scenes.length >= 2 && status.scenes.every(({ state }) => state === 'ready'), JSON.stringify(status));
    assert.ok(model.calls > 3 && model.asked.every(({ response_format: { type } }) => type === 'json_schema'));
    assert.deepEqual(facts(CHAT).map(({ comment }) => comment).sort(), ['character-Ilse', 'character-Tolan']);
    assert.match(await page.run(() => document.querySelector('.forklore-memory').innerText), /2 scenes remembered, 2 entries[\s\S]*Today: \d/);
    await shut();
    await page.until('the drawer is shut', () => !document.querySelector('#rm_extensions_block').checkVisibility());
    assert.deepEqual((await marks()).map(([message]) => message), status.scenes.map(({ last }) => last));
    await page.run(() => document.querySelector('#chat .mes[mesid="23"]').scrollIntoView({ block: 'center' }));
    await at.picture('memory-marks');
    // What was written is in the page, too: its own save does not lose it.
    const before = tavern.header(CHAT);
    await page.run(() => SillyTavern.getContext().saveChat());
    const { forklore_memory: record, world_info: book } = tavern.header(CHAT);
    assert.deepEqual([record, book], [before.forklore_memory, before.world_info]);
    assert.ok(tavern.chat(CHAT)[12].extra.forklore_memory || Object.keys(tavern.chat(CHAT)[12].extra).length, 'the scene stays in its message');
});

test('a fork asks nothing and says so', async () => {
    const { tavern, visit } = at;
    const calls = model.calls;
    await visit.open(CHAT);
    await visit.slash('/forklore-branch at=30 Aside');
    await visit.settled(`${STORY}/Aside`);
    const status = await done();
    assert.equal(status.on, true);
    assert.equal(model.calls, calls);
    assert.deepEqual(facts(`${STORY}/Aside`).map(({ content }) => content), facts(CHAT).map(({ content }) => content));
    assert.notEqual(tavern.header(`${STORY}/Aside`).world_info, tavern.header(CHAT).world_info);
    await visit.page.until('it says so', () => document.querySelector('#forklore_settings .forklore-memory').textContent.includes('After a fork: 0 questions'));
    await visit.open(CHAT);
    await done();
    assert.equal(model.calls, calls, 'nor does going back');
});

test('swiping asks nothing until the line has settled; a pause asks nothing at all', async () => {
    const { visit } = at;
    const { page } = visit;
    await drawer();
    await page.click('#forklore_settings .forklore-memory .menu_button', { text: 'Pause' });
    const calls = model.calls;
    // Enough for the next scene to end.
    await visit.slash(Array.from({ length: 20 }, (_, i) => `/sendas name="${STORY}" ${i === 3 ? 'Later they came upon Bren at the ferry.' : `It went on so, ${i}.`}`).join(' | '));
    await page.until('something is missing', () => Forklore.state().memory.status?.questions > 0 && Forklore.state().memory.settled);
    assert.equal(model.calls, calls, 'paused');
    await at.picture('memory-paused');
    await page.click('#forklore_settings .forklore-memory .menu_button', { text: 'Go on' });
    await shut();
    for (let swipes = 0; swipes < 4; swipes += 1) {
        await page.run((back) => {
            const context = SillyTavern.getContext();
            context.eventSource.emit(context.eventTypes.MESSAGE_SWIPED, context.chat.length - 1, back);
        }, swipes);
        assert.equal(model.calls, calls, 'while somebody swipes');
    }
    const { length } = (await done()).scenes;
    assert.equal(length, 3);
    assert.ok(model.calls > calls);
});

test('an edit makes its scene stale: keeping it asks nothing, asking again asks about that scene', async () => {
    const { visit } = at;
    const { page } = visit;
    const calls = model.calls;
    await edited(14, 'Nothing newer, 14.');
    const mark = await page.until('the scene is stale', () => document.querySelector('#chat .mes[mesid="23"] .forklore-scene-stale')?.innerText);
    assert.match(mark, /a message in it has changed[\s\S]*Ask again[\s\S]*Keep/);
    await page.until('it has settled', () => Forklore.state().memory.settled);
    await page.run(() => document.querySelector('#chat .mes[mesid="23"]').scrollIntoView({ block: 'center' }));
    await at.picture('memory-stale');
    await page.click('#chat .mes[mesid="23"] .forklore-scene button', { text: 'Keep' });
    await done();
    assert.equal(model.calls, calls, 'nothing is asked');
    await edited(14, 'It is said that Ilse lives in house 99.');
    await page.click('#chat .mes[mesid="23"] .forklore-scene button', { text: 'Ask again' });
    await done();
    assert.ok(model.calls > calls);
    const asked = model.asked.slice(calls).filter(({ response_format: { json_schema: { schema } } }) => schema.properties.learnt);
    assert.equal(asked.length, 1, 'one scene is read again');
    assert.match(facts(CHAT).find(({ comment }) => comment === 'character-Ilse').content, /house 99/);
});

test('a scene ends where one says, by the message\'s menu and by the mark', async () => {
    const { visit } = at;
    const { page } = visit;
    const calls = model.calls;
    await visit.message(5, '.forklore_scene_end');
    await page.until('there is a mark', () => document.querySelector('#chat .mes[mesid="5"] .forklore-scene'));
    await done();
    assert.ok((await marks()).some(([message]) => message === 5) && model.calls > calls);
    const more = model.calls;
    await page.click('#chat .mes[mesid="5"] .forklore-scene button[title^="No scene ends here"]');
    await page.until('the mark is gone', () => !document.querySelector('#chat .mes[mesid="5"] .forklore-scene'));
    await done();
    assert.equal(model.calls, more, 'what was known before is known again');
});

test('what is edited or deleted in World Info stays so', async () => {
    const { visit } = at;
    const { page } = visit;
    const of = (name) => facts(CHAT).find(({ comment }) => comment === `character-${name}`);
    await visit.edit(of('Tolan').uid, 'Tolan is my own invention.');
    await becomes('it is saved', () => of('Tolan').content === 'Tolan is my own invention.');
    await page.run(async (uid) => {
        const { chatMetadata, loadWorldInfo, saveWorldInfo } = SillyTavern.getContext();
        const book = await loadWorldInfo(chatMetadata.world_info);
        delete book.entries[uid];
        await saveWorldInfo(chatMetadata.world_info, book, true);
    }, of('Bren').uid);
    await visit.slash(`/sendas name="${STORY}" Later they came upon Dorn at the inn. | ${Array.from({ length: 26 }, (_, i) => `/sendas name="${STORY}" It is said that Bren and Tolan wait, ${i}.`).join(' | ')}`);
    await page.until('something is missing', () => Forklore.state().memory.status?.questions > 0);
    await done();
    assert.match(of('Tolan').content, /^Tolan is my own invention\./);
    assert.equal(of('Bren'), undefined);
});

test('a bad reply is asked again and then shown; a question that is too long is asked in parts', async () => {
    const { visit } = at;
    const { page } = visit;
    const nonsense = () => ({ text: 'I would rather talk about the weather.' });
    model.faults = [nonsense(), nonsense(), nonsense()];
    const calls = model.calls;
    await page.click('#chat .mes[mesid="11"] .forklore-scene button[title^="Ask about"]');
    await page.until('it was asked', () => Forklore.state().memory.asked > 0);
    await done();
    assert.equal(model.calls, calls + 3);
    // Refused without a word that SillyTavern passes on: it is asked again as a stream, which has them.
    model.faults = [{ status: 400, message: 'request exceeds the available context size' }, { status: 400, message: 'request exceeds the available context size' }];
    await page.click('#chat .mes[mesid="11"] .forklore-scene button[title^="Ask about"]');
    await page.until('it is understood', () => !Forklore.state().memory.problem && Forklore.state().memory.asked > 1);
    await done();
    assert.equal((await remembering()).problem, null);
});
