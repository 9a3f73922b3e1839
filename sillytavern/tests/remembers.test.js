// Memory of other chats and through other servers than those of the main tests: a group's, one that another extension has kept, and a server
// for text.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { bench, MAIN } from './lib/bench.js';
import { CHAT, done, drawer, facts, GROUP_CHAT, marks, prepare, PROFILE, shut, TEXT_PROFILE } from './lib/memory.js';
import { ModelServer } from './lib/model.js';

const model = await ModelServer.start();
const at = bench({
    prepare: (tavern) => {
        prepare(tavern, model, { memory_profile: PROFILE });
        // Whose lorebook is not all its own is healed before it is taken over.
        tavern.forklore('heal', '--choose', 'rebuild');
    },
});
after(() => model.stop());

async function turnOn() {
    const { visit } = at;
    await drawer(visit);
    await visit.page.click('#forklore_settings input[name="forklore_memory"]');
    await visit.dialog('Let Forklore remember this chat');
    await visit.choose('on');
}

test('a group\'s chat is remembered in a lorebook of its own, and its own saves keep that', async () => {
    const { tavern, visit } = at;
    await visit.open(GROUP_CHAT);
    await turnOn();
    const status = await done(visit);
    await shut(visit);
    assert.ok(status.scenes.length >= 2 && status.scenes.every(({ state }) => state === 'ready'), JSON.stringify(status));
    assert.deepEqual((await marks(visit)).map(([message]) => message), status.scenes.map(({ last }) => last));
    const written = await visit.page.run(() => SillyTavern.getContext().chatMetadata.world_info);
    assert.deepEqual(Object.values(tavern.book(written).entries).map(({ comment }) => comment).filter((title) => title.startsWith('character-')).sort(), ['character-Ilse', 'character-Tolan']);
    await visit.page.run(() => SillyTavern.getContext().saveChat());
    const calls = model.calls;
    await visit.open(MAIN);
    await visit.open(GROUP_CHAT);
    const again = await done(visit);
    assert.deepEqual([again.on, again.scenes.length, model.calls], [true, status.scenes.length, calls]);
    assert.equal(await visit.page.run(() => SillyTavern.getContext().chatMetadata.world_info), written);
});

test('a server for text is asked as well, with the shape under its own name', async () => {
    const { visit } = at;
    await visit.open(CHAT);
    await drawer(visit);
    await visit.page.click('#forklore_settings input[name="forklore_memory"]');
    await visit.dialog('Let Forklore remember this chat');
    await visit.page.run((id) => {
        const select = document.querySelector('dialog[open] select[name="forklore_memory_profile"]');
        select.value = id;
        select.dispatchEvent(new Event('change', { bubbles: true }));
    }, TEXT_PROFILE);
    const calls = model.calls;
    // The group has told the same, and was answered: nothing would be asked again but for this.
    await visit.choose('on');
    const { scenes } = await done(visit);
    assert.equal(model.calls, calls, 'the same story is the same question, in whatever chat it is told');
    await shut(visit);
    await visit.page.click(`#chat .mes[mesid="${scenes[0].last}"] .forklore-scene button[title^="Ask about"]`);
    await visit.page.until('it was answered', () => Forklore.state().memory.asked > 0);
    await done(visit);
    const asked = model.asked.slice(calls);
    assert.ok(asked.length > 0 && asked.every(({ prompt, json_schema: schema }) => typeof prompt === 'string' && schema.properties), JSON.stringify(asked.map((body) => Object.keys(body))));
    assert.deepEqual(facts(at.tavern).map(({ comment }) => comment).sort(), ['character-Ilse', 'character-Tolan']);
});

test('what another extension has kept is taken over by a click: nothing of it is asked, every text stays', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    const before = Object.values(tavern.book(tavern.header(MAIN).world_info).entries).map(({ comment, content }) => [comment, content]);
    const calls = model.calls;
    await turnOn();
    await visit.dialog('Another extension keeps this chat\'s memory');
    await at.picture('memory-take-over');
    await visit.choose('yes');
    const status = await done(visit);
    await shut(visit);
    assert.ok(status.on && status.scenes.length > 2 && status.taken, JSON.stringify(status));
    const theirs = Math.max(...status.scenes.map(({ last }) => last));
    assert.ok(status.scenes.every(({ state }) => state === 'ready'));
    assert.ok(model.calls - calls <= 1, `nothing but what comes after their last scene, which ends with message ${theirs}`);
    const entries = Object.values(tavern.book(tavern.header(MAIN).world_info).entries);
    // Lists are memory's own from now on; what is known stays word for word.
    for (const [comment, content] of before.filter(([comment]) => !comment.startsWith('_'))) {
        assert.ok(entries.some((entry) => entry.comment === comment && entry.content === content), comment);
    }
});
