// Other extensions that bind books of their own to a fork: the right book wins.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, MAIN } from './lib/bench.js';
import { before, isWhole, newFork } from './lib/forks.js';
import { pause } from './lib/tavern.js';

const at = bench();

test('an extension that behaves like Auto-Recap: its handler does not see the buttons, and the right book wins when it runs', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    await visit.page.run(() => { likeAutoRecap.on = true; });
    const was = before(tavern, MAIN);
    await visit.message(45, '.mes_create_branch');
    const fork = await visit.away(MAIN);
    isWhole(tavern, was, fork, 45);
    assert.equal(await visit.page.run(() => likeAutoRecap.caught), 0);
    // Its own way, as from its menu or an older page.
    await visit.open(MAIN);
    await visit.clearNotices();
    const again = before(tavern, MAIN);
    await visit.page.run(() => { likeAutoRecap.fork(30, false); });
    const other = await newFork(tavern, again);
    await visit.notice('Another extension changed the lorebook');
    await at.picture('rebound');
    await visit.settled(other);
    const [theirs] = await visit.page.until('it bound a book', () => likeAutoRecap.bound);
    const bound = await visit.page.until('the right one is back', (theirs) => { const { world_info: book } = SillyTavern.getContext().chatMetadata; return book !== theirs && book; }, theirs);
    await visit.page.run(() => { likeAutoRecap.on = false; });
    for (let tries = 0; tries < 50 && tavern.header(other).world_info !== bound; tries += 1) {
        await pause(100);
    }
    isWhole(tavern, again, other, 30);
});

test('an extension that copies books on entry: the right book wins', async () => {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    await visit.clearNotices();
    await visit.page.run(() => { copiesBooks.on = true; });
    const was = before(tavern, MAIN);
    await visit.message(30, '.mes_create_branch');
    const fork = await newFork(tavern, was);
    await visit.notice('Another extension changed the lorebook');
    await visit.page.run(() => { copiesBooks.on = false; });
    const theirs = await visit.page.run(() => copiesBooks.bound);
    for (let tries = 0; tries < 100 && theirs.includes(tavern.header(fork).world_info); tries += 1) {
        await pause(100);
    }
    isWhole(tavern, was, fork, 30);
    // Their copy is of no use to anybody: it is in the trash, not lost.
    const inTrash = () => tavern.forklore('trash').items.map(({ path }) => path);
    for (let tries = 0; tries < 50 && !inTrash().includes(`worlds/${theirs.at(-1)}.json`); tries += 1) {
        await pause(100);
    }
    assert.ok(inTrash().includes(`worlds/${theirs.at(-1)}.json`), `${theirs} in ${inTrash()}`);
});
