// Memory inside SillyTavern: a connection profile of the user's is asked, through SillyTavern's own server, by a page that waits until the
// line has settled. The model is a script behind a real server.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { bench, STORY } from './lib/bench.js';
import { CHAT, done, drawer, edited, facts, marks, prepare, press, PROFILE, remembering, said, shut } from './lib/memory.js';
import { ModelServer } from './lib/model.js';
import { becomes } from './lib/tavern.js';

const model = await ModelServer.start();
const at = bench({ prepare: (tavern) => prepare(tavern, model) });
after(() => model.stop());

test('turned on with a preview, it asks through the profile, and writes book and scenes', async () => {
    const { tavern, visit } = at;
    const { page } = visit;
    await visit.open(CHAT);
    assert.deepEqual(await marks(at.visit), [], 'a chat without memory has no marks');
    await drawer(at.visit);
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
    const status = await done(at.visit);
    await at.picture('memory-drawer');
    assert.ok(status.scenes.length >= 2 && status.scenes.every(({ state }) => state === 'ready'), JSON.stringify(status));
    assert.ok(model.calls > 3 && model.asked.every(({ response_format: { type } }) => type === 'json_schema'));
    assert.deepEqual(facts(at.tavern).map(({ comment }) => comment).sort(), ['character-Ilse', 'character-Tolan']);
    assert.match(await page.run(() => document.querySelector('.forklore-memory').innerText), /2 scenes remembered, 2 entries[\s\S]*Today: \d/);
    await shut(at.visit);
    assert.deepEqual((await marks(at.visit)).map(([message]) => message), status.scenes.map(({ last }) => last));
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
    const status = await done(at.visit);
    assert.equal(status.on, true);
    assert.equal(model.calls, calls);
    assert.deepEqual(facts(at.tavern, `${STORY}/Aside`).map(({ content }) => content), facts(at.tavern).map(({ content }) => content));
    assert.notEqual(tavern.header(`${STORY}/Aside`).world_info, tavern.header(CHAT).world_info);
    await visit.page.until('it says so', () => document.querySelector('#forklore_settings .forklore-memory').textContent.includes('After a fork: 0 questions'));
    await visit.open(CHAT);
    await done(at.visit);
    assert.equal(model.calls, calls, 'nor does going back');
});

test('swiping asks nothing until the line has settled; a pause asks nothing at all', async () => {
    const { visit } = at;
    const { page } = visit;
    await drawer(at.visit);
    await press(at.visit, 'Pause');
    const calls = model.calls;
    // Enough for the next scene to end.
    await said(visit, ...Array.from({ length: 20 }, (_, i) => (i === 3 ? 'Later they came upon Bren at the ferry.' : `It went on so, ${i}.`)));
    await page.until('something is missing', () => Forklore.state().memory.status?.questions > 0 && Forklore.state().memory.settled);
    assert.equal(model.calls, calls, 'paused');
    await at.picture('memory-paused');
    for (const text of ['It went on otherwise.', 'It did not go on.', 'It stopped.']) {
        await visit.slash(`/addswipe switch=true ${text}`);
    }
    // Older versions load the chat again for that.
    await page.until('it is looked at', () => Forklore.state().memory.status?.questions > 0);
    // To and fro, in the page itself, for longer than it takes the line to settle.
    const asked = await page.run(async () => {
        const seen = new Set();
        const pressed = (selector, text = '') => [...document.querySelectorAll(selector)].find((button) => button.textContent.includes(text)).click();
        const until = Date.now() + 8000;
        for (let swipes = 0; Date.now() < until; swipes += 1) {
            pressed(`#chat .mes:last-of-type .swipe_${swipes % 2 ? 'right' : 'left'}`);
            if (!swipes) {
                pressed('#forklore_settings .forklore-memory .menu_button', 'Go on');
            }
            await new Promise((resolve) => { setTimeout(resolve, 400); });
            seen.add(Forklore.state().memory.asking?.kind ?? 'nothing');
        }
        return [...seen];
    });
    assert.deepEqual(asked, ['nothing'], 'while somebody swipes');
    await shut(at.visit);
    const { length } = (await done(at.visit)).scenes;
    assert.equal(length, 3);
    assert.ok(model.calls > calls);
});

test('an edit makes its scene stale: keeping it asks nothing, asking again asks about that scene', async () => {
    const { visit } = at;
    const { page } = visit;
    const calls = model.calls;
    await edited(at.visit, 14, 'Nothing newer, 14.');
    const mark = await page.until('the scene is stale', () => document.querySelector('#chat .mes[mesid="23"] .forklore-scene-stale')?.innerText);
    assert.match(mark, /a message in it has changed[\s\S]*Ask again[\s\S]*Keep/);
    await page.until('it has settled', () => Forklore.state().memory.settled);
    await page.run(() => document.querySelector('#chat .mes[mesid="23"]').scrollIntoView({ block: 'center' }));
    await at.picture('memory-stale');
    await page.click('#chat .mes[mesid="23"] .forklore-scene button', { text: 'Keep' });
    await done(at.visit);
    assert.equal(model.calls, calls, 'nothing is asked');
    await edited(at.visit, 16, 'It is said that Ilse lives in house 99.');
    await page.click('#chat .mes[mesid="23"] .forklore-scene button', { text: 'Ask again' });
    await done(at.visit);
    assert.ok(model.calls > calls);
    const asked = model.asked.slice(calls).filter(({ response_format: { json_schema: { schema } } }) => schema.properties.learnt);
    assert.equal(asked.length, 1, 'one scene is read again');
    assert.match(facts(at.tavern).find(({ comment }) => comment === 'character-Ilse').content, /house 99/);
});

test('a scene ends where one says, by the message\'s menu and by the mark', async () => {
    const { visit } = at;
    const { page } = visit;
    const calls = model.calls;
    await visit.message(5, '.forklore_scene_end');
    await page.until('there is a mark', () => document.querySelector('#chat .mes[mesid="5"] .forklore-scene'));
    await done(at.visit);
    assert.ok((await marks(at.visit)).some(([message]) => message === 5) && model.calls > calls);
    const more = model.calls;
    await page.click('#chat .mes[mesid="5"] .forklore-scene button[title^="No scene ends here"]');
    await page.until('the mark is gone', () => !document.querySelector('#chat .mes[mesid="5"] .forklore-scene'));
    await done(at.visit);
    assert.equal(model.calls, more, 'what was known before is known again');
});

test('what is edited or deleted in World Info stays so', async () => {
    const { visit } = at;
    const { page } = visit;
    const of = (name) => facts(at.tavern).find(({ comment }) => comment === `character-${name}`);
    await visit.edit(of('Tolan').uid, 'Tolan is my own invention.');
    await becomes('it is saved', () => of('Tolan').content === 'Tolan is my own invention.');
    await page.run(async (uid) => {
        const { chatMetadata, loadWorldInfo, saveWorldInfo } = SillyTavern.getContext();
        const book = await loadWorldInfo(chatMetadata.world_info);
        delete book.entries[uid];
        await saveWorldInfo(chatMetadata.world_info, book, true);
    }, of('Bren').uid);
    await said(visit, 'Later they came upon Dorn at the inn.', ...Array.from({ length: 26 }, (_, i) => `It is said that Bren and Tolan wait, ${i}.`));
    await page.until('something is missing', () => Forklore.state().memory.status?.questions > 0);
    await done(at.visit);
    assert.match(of('Tolan').content, /^Tolan is my own invention\./);
    assert.equal(of('Bren'), undefined);
});

test('a bad reply is asked again, then shown and asked again when somebody says so', async () => {
    const { visit } = at;
    const { page } = visit;
    const calls = model.calls;
    model.faults = Array.from({ length: 3 }, () => ({ text: 'I would rather talk about the weather.' }));
    await said(visit, 'Later they came upon Dorn at the well.', ...Array.from({ length: 32 }, (_, i) => `It went on so, ${i}.`));
    await page.until('it is parked', () => Forklore.state().memory.status?.parked.length === 1 && !Forklore.state().memory.asking);
    assert.equal(model.calls, calls + 3);
    assert.match(model.asked.at(-1).messages.at(-1).content, /JSON|reply/i, 'with the reason');
    await drawer(at.visit);
    await at.picture('memory-parked');
    await page.click('#forklore_settings .forklore-stale .menu_button', { text: 'Ask again' });
    await page.until('it is not parked any more', () => Forklore.state().memory.status.parked.length === 0);
    await done(at.visit);
    await shut(at.visit);
    assert.ok(model.calls > calls + 3);
});

test('what is too long for the model is asked in parts, and a server that takes no schema is asked without', async () => {
    const { visit: { page } } = at;
    const again = async () => {
        const { asked } = await remembering(at.visit);
        await page.click('#chat .mes[mesid="23"] .forklore-scene button[title^="Ask about"]');
        await page.until('it was answered', (asked) => Forklore.state().memory.asked > asked, asked);
        await done(at.visit);
    };
    // SillyTavern passes no word of a refusal on: it is asked again as a stream, which has them.
    const refused = (message) => Array.from({ length: 2 }, () => ({ status: 400, message }));
    let calls = model.calls;
    model.faults = refused('request (9412 tokens) exceeds the available context size (8192 tokens)');
    await again();
    assert.deepEqual(model.asked.slice(calls, calls + 2).map(({ stream }) => Boolean(stream)), [false, true]);
    assert.ok(model.calls >= calls + 4, 'both halves');
    calls = model.calls;
    model.faults = refused('response_format is not supported');
    await again();
    assert.ok(model.asked.slice(calls + 2).every(({ response_format: shape }) => shape === undefined));
    assert.deepEqual((await remembering(at.visit)).status.parked, [], 'it is understood all the same');
    assert.equal((await remembering(at.visit)).problem, null);
});

test('playing on waits for nothing, and a pause takes the question back that is under way', async () => {
    const { visit } = at;
    const { page } = visit;
    const { asked } = await remembering(at.visit);
    const calls = model.calls;
    model.hold();
    await page.click('#chat .mes[mesid="11"] .forklore-scene button[title^="Ask about"]');
    await becomes('it is asked', () => model.calls > calls);
    const length = await visit.messages();
    await said(visit, 'Nobody waits.');
    assert.equal(await visit.messages(), length + 1);
    await becomes('it is saved', () => at.tavern.chat(CHAT).length === length + 2);
    await drawer(at.visit);
    await press(at.visit, 'Pause');
    await page.until('nothing is asked', () => !Forklore.state().memory.asking);
    model.release();
    await press(at.visit, 'Go on');
    assert.equal((await remembering(at.visit)).asked, asked, 'what was taken back is no answer');
    await page.until('it is asked once more', (asked) => Forklore.state().memory.asked > asked, asked);
    await done(at.visit);
});

test('where it is to be approved, an entry waits in the drawer', async () => {
    const { tavern, visit } = at;
    const { page } = visit;
    tavern.forklore('config', 'memory.approve', 'true');
    await said(visit, 'They met Wick at the well.', 'Later they came upon Sela at the gate.', ...Array.from({ length: 24 }, (_, i) => `It went on so, ${i}.`));
    await page.until('something waits', () => Forklore.state().memory.status?.proposals.length === 2);
    await done(visit);
    const calls = model.calls;
    const of = (name) => facts(tavern).find(({ comment }) => comment === `character-${name}`);
    assert.equal(of('Wick'), undefined);
    await drawer(visit);
    await page.run(() => { [...document.querySelectorAll('.forklore-proposals details')].find((one) => one.textContent.includes('character-Wick')).open = true; });
    await page.place('.forklore-proposals details[open]');
    await at.picture('memory-approve');
    await page.click('.forklore-proposals details[open] .menu_button', { text: 'Approve' });
    await page.until('one waits', () => Forklore.state().memory.status.proposals.length === 1);
    assert.match(of('Wick').content, /They met Wick at the well/);
    await page.click('.forklore-proposals > .menu_button', { text: 'Approve all' });
    await page.until('nothing waits', () => Forklore.state().memory.status.proposals.length === 0);
    assert.match(of('Dorn').content, /the well/);
    assert.equal(model.calls, calls);
});
