// What must work in every SillyTavern that is supported, from the oldest on: the buttons fork, the forks are whole, and nothing is missing
// that the page of another version has.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, LAST, MAIN } from './lib/bench.js';
import { before, isWhole, newFork } from './lib/forks.js';

const at = bench();

async function forked(message, way) {
    const { tavern, visit } = at;
    await visit.open(MAIN);
    await visit.clearNotices();
    const was = before(tavern, MAIN);
    await way(visit);
    const fork = await newFork(tavern, was);
    await visit.notice('created');
    await visit.idle();
    isWhole(tavern, was, fork, message);
    const lacks = [...await visit.notices(), ...visit.page.errors].filter((text) => /is not a function/.test(text));
    assert.deepEqual(lacks, []);
    return fork;
}

for (const message of [30, LAST]) {
    test(`a branch at ${message}, and its chat is opened`, async () => {
        const fork = await forked(message, (visit) => visit.message(message, '.mes_create_branch'));
        assert.equal(await at.visit.away(MAIN), fork);
    });
}

test('a checkpoint, and the page stays', async () => {
    await forked(45, (visit) => visit.slash('/checkpoint-create mesId=45 Kept here'));
    assert.equal(await at.visit.here(), MAIN);
});

test('a branch that the engine makes', async () => {
    const fork = await forked(20, (visit) => visit.slash('/forklore-branch at=20'));
    assert.equal(await at.visit.away(MAIN), fork);
});
