// What people do besides forking: sticky lore, renaming, deleting, importing, a checkpoint at the end of a scene.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { bench, LAST, MAIN, STORY } from './lib/bench.js';
import { before, isWhole, newFork } from './lib/forks.js';
import { becomes, pause } from './lib/tavern.js';

const at = bench();
const OTHER = `${STORY}/The Lighthouse Road`;

// The story of the fixture is not without faults. What people do here must add none.
const errors = (tavern, chat) => tavern.forklore('check', chat).findings.filter(({ severity }) => severity === 'error').map(({ code }) => code);

// What SillyTavern would put into a prompt because it is still sticky, with a chat that mentions nothing.
function stillActive(visit) {
    return visit.page.run(async () => {
        const { checkWorldInfo } = await import('/scripts/world-info.js');
        // Effects count messages: those that began at the last message are not in force yet.
        const found = await checkWorldInfo(Array(20).fill('Nothing that any key names.'), 100_000, false);
        return [...found.allActivatedEntries].map(({ uid, world, comment }) => ({ uid, world, comment }));
    });
}

test('what is sticky in the parent is sticky in the fork', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    // An entry with a key becomes sticky, and is then activated by its key.
    const uid = await visit.page.run(async () => {
        const context = SillyTavern.getContext();
        const name = context.chatMetadata.world_info;
        const book = await context.loadWorldInfo(name);
        const entry = Object.values(book.entries).find(({ comment, disable, constant }) => comment.startsWith('location-') && !disable && !constant);
        Object.assign(entry, { sticky: 50, key: ['zzsticky'] });
        await context.saveWorldInfo(name, book, true);
        const { checkWorldInfo } = await import('/scripts/world-info.js');
        await checkWorldInfo(Array(5).fill('somebody says zzsticky'), 100_000, false);
        await context.saveMetadata();
        return entry.uid;
    });
    await becomes('the parent knows that it is sticky', () => Object.keys(tavern.header(MAIN).timedWorldInfo?.sticky ?? {}).some((key) => key.endsWith(`.${uid}`)));
    assert.ok((await stillActive(visit)).some((entry) => entry.uid === uid), 'it is active in the parent');
    const was = before(tavern, MAIN);
    await visit.message(LAST, '.mes_create_branch');
    const fork = await visit.away(MAIN);
    isWhole(tavern, was, fork, LAST);
    const { world_info: book } = tavern.header(fork);
    const active = (await stillActive(visit)).filter((entry) => entry.uid === uid);
    assert.deepEqual(active.map(({ world }) => world), [book], 'it is active in the fork, from the fork\'s book');
});

test('renaming and deleting in SillyTavern: lineage holds, the book of a deleted fork is in the trash', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    const [was, faults] = [before(tavern, MAIN), errors(tavern, MAIN)];
    // The prompts of messages are kept in the browser, by the chat's name.
    const prompts = (name, put) => visit.page.run(async (key, items) => {
        const store = SillyTavern.libs.localforage.createInstance({ name: 'SillyTavern_Prompts' });
        if (items) {
            await store.setItem(key, items);
            await (await import('/scripts/itemized-prompts.js')).loadItemizedPrompts(key);
        }
        return ((await store.getItem(key)) ?? []).map(({ mesId }) => mesId);
    }, name, put);
    await prompts(MAIN.slice(STORY.length + 1), [{ mesId: 10, rawPrompt: 'a' }, { mesId: 50, rawPrompt: 'b' }]);
    await visit.message(45, '.mes_create_branch');
    const fork = await visit.away(MAIN);
    isWhole(tavern, was, fork, 45);
    await becomes('its prompts come along', async () => (await prompts(fork.slice(STORY.length + 1))).join() === '10');
    await visit.slash('/renamechat Another name');
    await becomes('and follow its name', async () => (await prompts('Another name')).join() === '10');
    const renamed = `${STORY}/Another name`;
    await visit.settled(renamed);
    const told = () => tavern.forklore('tree', STORY).stories[0].chats.find(({ chat }) => chat === renamed);
    assert.deepEqual([told().parent, told().fork_message, told().book.state], [MAIN, 45, 'own']);
    assert.deepEqual(errors(tavern, renamed), []);
    // Auto-Recap forgets the running recap of a chat that it knows by another name; and the parent's message leads to the new one.
    assert.equal(tavern.header(renamed).auto_recap_running_scene_recaps.chat_id, 'Another name');
    assert.ok(tavern.chat(MAIN)[46].extra.branches.includes('Another name'), JSON.stringify(tavern.chat(MAIN)[46].extra.branches));

    const { world_info: book } = tavern.header(renamed);
    await visit.open(MAIN);
    await visit.page.run(async (name) => {
        const context = SillyTavern.getContext();
        const { avatar } = context.characters[context.characterId];
        await fetch('/api/chats/delete', { method: 'POST', headers: context.getRequestHeaders(), body: JSON.stringify({ chatfile: `${name}.jsonl`, avatar_url: avatar }) });
    }, 'Another name');
    await becomes('its book is in the trash', () => tavern.forklore('trash').items.some((item) => item.path === `worlds/${book}.json`));
    assert.ok(!tavern.books().includes(book));
    assert.deepEqual(errors(tavern, MAIN), faults);
});

test('an imported chat is known as a copy, and what it shares is named', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    const chats = new Set(fs.readdirSync(path.join(tavern.vault, 'chats', STORY)));
    const status = await visit.page.run(async (text) => {
        const context = SillyTavern.getContext();
        const character = context.characters[context.characterId];
        const form = new FormData();
        form.append('avatar', new Blob([text], { type: 'application/json' }), 'Imported.jsonl');
        form.append('file_type', 'jsonl');
        form.append('avatar_url', character.avatar);
        form.append('character_name', character.name);
        form.append('user_name', context.name1);
        const headers = context.getRequestHeaders();
        delete headers['Content-Type'];
        return (await fetch('/api/chats/import', { method: 'POST', headers, body: form })).status;
    }, fs.readFileSync(path.join(tavern.vault, 'chats', `${OTHER}.jsonl`), 'utf8'));
    assert.equal(status, 200);
    const name = await becomes('the import is there', () => fs.readdirSync(path.join(tavern.vault, 'chats', STORY)).find((file) => !chats.has(file)));
    const copy = `${STORY}/${name.replace(/\.jsonl$/, '')}`;
    const checked = tavern.forklore('check', copy);
    assert.ok(checked.findings.some(({ code }) => code === 'BOOK_SHARED' || code === 'SLUG_DUPLICATE'), JSON.stringify(checked.findings.map(({ code }) => code)));
    assert.ok(checked.findings.every(({ remedy }) => remedy), 'with what to do');
});

test('a chat that becomes a group\'s: what the two share is named', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    const [was, faults] = [before(tavern, MAIN), errors(tavern, MAIN)];
    const groups = () => tavern.forklore('tree').stories.filter(({ kind }) => kind === 'group').flatMap(({ chats }) => chats.map(({ chat }) => chat));
    const known = new Set(groups());
    await visit.page.click('#options_button');
    await visit.page.click('#option_convert_to_group');
    await visit.page.click('dialog[open] .popup-button-ok');
    const chat = await becomes('there is a chat of a group', () => groups().find((chat) => !known.has(chat)));
    const checked = tavern.forklore('check', chat);
    assert.equal(tavern.header(chat).world_info, was.book, 'SillyTavern lets them share the book');
    assert.ok(checked.findings.some(({ code }) => code === 'BOOK_SHARED'), JSON.stringify(checked.findings.map(({ code }) => code)));
    assert.ok(checked.findings.every(({ remedy }) => remedy), 'with what to do');
    assert.equal(tavern.chat(chat).length, was.texts.length + 1);
    assert.deepEqual(errors(tavern, MAIN).filter((code) => code !== 'BOOK_SHARED'), faults.filter((code) => code !== 'BOOK_SHARED'));
});

test('a checkpoint at the end of a scene, once the queue is empty', async () => {
    const { tavern, visit } = at;
    tavern.forklore('config', 'checkpoint.at_scene_break', 'true');
    try {
        await visit.reload();
        await visit.open(MAIN);
        await pause(2500);
        const was = before(tavern, MAIN);
        // The memory extension ends a scene at the last message: a mark, and work that is done after a while.
        await visit.page.run(async (last) => {
            const context = SillyTavern.getContext();
            const ended = context.chat.findLast((message) => message.extra?.auto_recap?.scene_break || Object.values(message.extra ?? {}).some((value) => value?.scene_break));
            const [key] = Object.entries(ended.extra).find(([, value]) => value?.scene_break);
            const mark = structuredClone(ended.extra[key]);
            context.chat[last].extra = { ...context.chat[last].extra, [key]: mark };
            await context.saveChat();
            context.eventSource.emit(context.eventTypes.WORLDINFO_UPDATED, context.chatMetadata.world_info, null);
        }, LAST);
        const fork = await newFork(tavern, was);
        const told = await becomes('it is a checkpoint', () => tavern.forklore('tree', STORY).stories[0].chats.find(({ chat, kind }) => chat === fork && kind === 'checkpoint'));
        assert.deepEqual([told.parent, told.fork_message, told.book.state], [MAIN, LAST, 'own']);
        assert.equal(await visit.here(), MAIN, 'the story goes on where it was');
    } finally {
        tavern.forklore('config', 'checkpoint.at_scene_break', '--unset');
    }
});

test('history that is not recorded is told in the drawer, and told no more when it is', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    // Another vault's: it will not be written. Who has it open already does not look again.
    const owner = path.join(tavern.vault, '.forklore/history/vault');
    const ours = fs.readFileSync(owner);
    fs.writeFileSync(owner, '0123456789abcdef0123456789abcdef\n');
    tavern.engines().forEach((engine) => process.kill(engine, 'SIGKILL'));
    const status = () => visit.page.run(() => document.querySelector('#forklore_settings .forklore-status')?.textContent ?? '');
    await becomes('it is told', async () => /History is not being recorded/.test(await status()));
    await visit.page.run(() => document.querySelector('#forklore_badge')?.click());
    await becomes('the panel tells it, too', () => visit.page.run(() => /not being recorded/.test(document.querySelector('dialog[open] .forklore-status')?.textContent)));
    await at.picture('not-recorded');
    await visit.page.run(() => document.querySelector('dialog[open] .popup-button-close')?.click());
    fs.writeFileSync(owner, ours);
    await visit.slash('/sendas name="Narrator" This will be remembered.');
    await becomes('it is over', async () => !/History is not being recorded/.test(await status()));
});
