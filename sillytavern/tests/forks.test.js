// Every way to fork, in the page of a real SillyTavern: at the head and at an old message.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, GROUP, LAST, MAIN } from './lib/bench.js';
import { before, entries, isWhole, newFork } from './lib/forks.js';
import { pause } from './lib/tavern.js';

const at = bench();
const OLD = 30;
const GROUP_LAST = 19;

// Runs a way to fork and looks at what came of it.
async function forked(parent, message, way, options) {
    const { tavern, visit } = at;
    await visit.open(parent);
    await visit.clearNotices();
    const was = before(tavern, parent);
    await way(visit);
    const fork = await newFork(tavern, was);
    await visit.idle();
    const notice = await visit.notice('created');
    assert.deepEqual(await visit.dialogs(), []);
    isWhole(tavern, was, fork, message, options);
    return { fork, notice };
}

async function named(visit, name) {
    await visit.dialog('Create Checkpoint');
    if (name) {
        await visit.page.run((name) => { document.querySelector('dialog[open] .popup-input').value = name; }, name);
    }
    await visit.page.click('dialog[open] .popup-button-ok');
}

for (const message of [OLD, LAST]) {
    test(`branch button at ${message}`, async () => {
        const { fork, notice } = await forked(MAIN, message, (visit) => visit.message(message, '.mes_create_branch'));
        assert.equal(await at.visit.away(MAIN), fork, 'a branch is opened');
        assert.match(notice, /Branch created/);
        await at.picture(`branch-created-${message}`);
    });

    // A message that has a checkpoint has a flag instead of this button.
    const bare = message === OLD ? 40 : message;

    test(`checkpoint button at ${bare}, with a name`, async () => {
        const message = bare;
        const name = `Kept at ${message}: "odd" name?`;
        const { fork, notice } = await forked(MAIN, message, async (visit) => {
            await visit.message(message, '.mes_create_bookmark');
            await named(visit, name);
        });
        assert.equal(await at.visit.here(), MAIN, 'a checkpoint stays');
        assert.match(notice, /Checkpoint created/);
        assert.equal(fork, `Maren Voss/Kept at ${message} odd name`);
        assert.equal(at.tavern.chat(MAIN)[message + 1].extra.bookmark_link, name);
    });

    test(`shift on the flag at ${message}`, async () => {
        await forked(MAIN, message, async (visit) => {
            await visit.message(message, '.mes_bookmark', { shift: true });
            await named(visit);
        });
    });

    test(`/branch-create ${message}`, async () => {
        const { fork } = await forked(MAIN, message, (visit) => visit.slash(`/branch-create ${message}`));
        assert.equal(await at.visit.away(MAIN), fork);
    });

    test(`/checkpoint-create at ${message}`, async () => {
        const { fork } = await forked(MAIN, message, (visit) => visit.slash(`/checkpoint-create mesId=${message} By command ${message}`));
        assert.equal(fork, `Maren Voss/By command ${message}`);
    });

    test(`an extension that imports createBranch, at ${message}`, async () => {
        await forked(MAIN, message, (visit) => visit.page.run(async (message) => {
            const { createBranch } = await import('/scripts/bookmarks.js');
            await createBranch(message);
        }, message));
    });

    test(`/forklore-branch at=${message}`, async () => {
        const { fork } = await forked(MAIN, message, (visit) => visit.slash(`/forklore-branch at=${message}`));
        assert.equal(await at.visit.away(MAIN), fork);
    });
}

test('options menu', async () => {
    await forked(MAIN, LAST, async (visit) => {
        await visit.page.click('#options_button');
        await visit.page.click('#option_new_bookmark');
        await named(visit, 'From the options');
    });
});

for (const message of [OLD, 66]) {
    test(`swipe picker at ${message}`, async () => {
        const { fork } = await forked(MAIN, message, async (visit) => {
            await visit.message(message, '.mes_swipe_picker');
            await visit.page.click('dialog[open] [data-swipe-id="0"] .swipe_picker_branch');
        }, { swipe: 0 });
        assert.equal(await at.visit.away(MAIN), fork);
        assert.equal(at.tavern.chat(fork).at(-1).mes, at.tavern.chat(MAIN)[message + 1].swipes[0]);
    });
}

test('forced overwrite', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    await visit.clearNotices();
    const was = before(tavern, MAIN);
    const old = tavern.header('Maren Voss/By command 30');
    await visit.page.run(() => { SillyTavern.getContext().executeSlashCommandsWithOptions('/checkpoint-create mesId=45 By command 30'); });
    await visit.choose('overwrite');
    await visit.dialog('enter OVERWRITE');
    await visit.page.run(() => { document.querySelector('dialog[open] .popup-input').value = 'OVERWRITE'; });
    await visit.page.click('dialog[open] .popup-button-ok');
    await visit.notice('Checkpoint created');
    await visit.idle();
    // Its book has the name of the one that went to the trash with the old chat.
    isWhole(tavern, { ...was, books: [] }, 'Maren Voss/By command 30', 45);
    const trash = tavern.forklore('trash').items.map(({ path }) => path);
    assert.ok(trash.includes('chats/Maren Voss/By command 30.jsonl'), 'what was overwritten is in the trash');
    assert.notEqual(tavern.header('Maren Voss/By command 30').integrity, old.integrity);
});

for (const message of [12, GROUP_LAST]) {
    test(`group branch at ${message}`, async () => {
        const { fork } = await forked(GROUP, message, (visit) => visit.message(message, '.mes_create_branch'));
        assert.equal(await at.visit.away(GROUP), fork);
    });

    test(`group checkpoint at ${message}`, async () => {
        await forked(GROUP, message, async (visit) => {
            await visit.message(message, '.mes_create_bookmark');
            await named(visit, `Group kept at ${message}`);
        });
    });
}

test('during generation nothing is forked', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    await visit.clearNotices();
    const was = before(tavern, MAIN);
    await visit.page.run(() => { document.body.dataset.generating = 'true'; });
    // The buttons are hidden meanwhile; commands are not.
    await visit.slash(`/branch-create ${LAST}`);
    await visit.notice('A reply is being written');
    await visit.page.run(() => { delete document.body.dataset.generating; });
    await pause(500);
    assert.deepEqual(before(tavern, MAIN), was);
});

// What was clicked is meant, whatever is opened meanwhile.
for (const path of ['plugin', 'api/plan', 'api/next-fork']) {
    test(`regression: another chat is opened right after the click, while ${path} is asked: the chat that was clicked is forked`, async () => {
        const { tavern, visit } = at;
        const other = 'Maren Voss/The Lighthouse Road';
        await visit.open(MAIN);
        await visit.clearNotices();
        const was = before(tavern, MAIN);
        // The answer comes when the other chat is open.
        await visit.page.run((path, other) => {
            const { fetch } = window;
            window.fetch = async (address, init) => {
                const answer = await fetch(address, init);
                if (String(address).includes(`/forklore/${path}`)) {
                    window.fetch = fetch;
                    await SillyTavern.getContext().openCharacterChat(other);
                }
                return answer;
            };
        }, path, other.slice('Maren Voss/'.length));
        await visit.message(45, '.mes_create_branch');
        const fork = await newFork(tavern, was);
        await visit.notice('Branch created');
        await visit.idle();
        isWhole(tavern, was, fork, 45);
        assert.equal(await visit.here(), other, 'and the page stays where it went');
    });
}

test('what the page has not saved yet is in the fork, and stays in the parent', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    const [uid] = Object.entries(tavern.book(tavern.header(MAIN).world_info).entries).find(([, { comment }]) => comment.startsWith('character-'));
    const comment = tavern.book(tavern.header(MAIN).world_info).entries[uid].comment;
    const was = before(tavern, MAIN);
    await visit.edit(uid, 'Written a moment before the fork.');
    await visit.page.run(() => { SillyTavern.getContext().chatMetadata.variables = { fresh: 'yes' }; SillyTavern.getContext().saveMetadataDebounced(); });
    await visit.message(LAST, '.mes_create_branch');
    const fork = await newFork(tavern, was);
    assert.equal(await visit.away(MAIN), fork);
    assert.equal(tavern.header(fork).forklore?.pending, undefined, 'it was made at once');
    assert.equal(entries(tavern.book(tavern.header(MAIN).world_info))[comment], 'Written a moment before the fork.');
    assert.equal(entries(tavern.book(tavern.header(fork).world_info))[comment], 'Written a moment before the fork.');
    assert.deepEqual([tavern.header(MAIN).variables, tavern.header(fork).variables], [{ fresh: 'yes' }, { fresh: 'yes' }]);
});
