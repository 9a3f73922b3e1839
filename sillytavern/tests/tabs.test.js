// Two tabs of one browser: each forks, none is in the other's way.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, MAIN, STORY } from './lib/bench.js';
import { before, isWhole } from './lib/forks.js';
import { Visit } from './lib/visit.js';

const at = bench();

// The story of the fixture is not without faults. What people do here must add none.
const errors = (tavern, chat) => tavern.forklore('check', chat).findings.filter(({ severity }) => severity === 'error').map(({ code }) => code);

test('two tabs on the same chat: both fork, both play on, nothing is mixed up', async () => {
    const { tavern, browser, visit } = at;
    await visit.open(MAIN);
    const second = await Visit.start(browser, tavern);
    try {
        await second.open(MAIN);
        const [was, faults] = [before(tavern, MAIN), errors(tavern, MAIN)];
        await visit.message(60, '.mes_create_branch');
        const first = await visit.away(MAIN);
        isWhole(tavern, was, first, 60);
        // The other tab still shows the parent as it was before the link.
        const then = before(tavern, MAIN);
        await second.message(60, '.mes_create_branch');
        const other = await second.away(MAIN);
        isWhole(tavern, then, other, 60);
        assert.notEqual(first, other);
        assert.notEqual(tavern.header(first).world_info, tavern.header(other).world_info);
        assert.deepEqual(errors(tavern, MAIN), faults);
        assert.deepEqual([...errors(tavern, first), ...errors(tavern, other)], []);
    } finally {
        await second.close();
    }
});

test('regression: two tabs branch at the same moment: two forks, and no alarm', async () => {
    const { tavern, browser, visit } = at;
    await visit.open(MAIN);
    const second = await Visit.start(browser, tavern);
    const tabs = [visit, second];
    try {
        await second.open(MAIN);
        await Promise.all(tabs.map((tab) => tab.clearNotices()));
        const was = before(tavern, MAIN);
        // Whoever has looked for a free name waits with it until both have been clicked.
        await Promise.all(tabs.map((tab) => tab.page.run(() => {
            const { fetch } = window;
            window.fetch = async (address, init) => {
                const answer = await fetch(address, init);
                if (String(address).endsWith('/api/characters/chats') && document.body.classList.contains('forklore-forking')) {
                    window.fetch = fetch;
                    globalThis.named = true;
                    while (!globalThis.bothClicked) {
                        await new Promise((resolve) => { setTimeout(resolve, 20); });
                    }
                }
                return answer;
            };
        })));
        await visit.message(50, '.mes_create_branch');
        await visit.page.until('a name is chosen', () => globalThis.named);
        await second.message(50, '.mes_create_branch');
        await second.page.until('the second is under way', () => Forklore.state().tone === 'busy');
        await Promise.all(tabs.map((tab) => tab.page.run(() => { globalThis.bothClicked = true; })));
        const forks = [];
        for (const tab of tabs) {
            forks.push(await tab.away(MAIN));
            assert.deepEqual(await tab.dialogs(), []);
        }
        assert.notEqual(forks[0], forks[1]);
        forks.forEach((fork) => isWhole(tavern, was, fork, 50));
        // Each notice is looked at for paths and codes, too.
        const told = (await Promise.all(tabs.map((tab) => tab.notices()))).flat();
        assert.ok(told.length && told.every((text) => text.startsWith('Branch created')), told.join('\n'));
    } finally {
        await second.close();
    }
});

test('two tabs let the engine branch at the same moment: two forks, and nothing but that is told', async () => {
    const { tavern, browser, visit } = at;
    await visit.open(MAIN);
    const second = await Visit.start(browser, tavern);
    const tabs = [visit, second];
    try {
        await second.open(MAIN);
        await Promise.all(tabs.map((tab) => tab.clearNotices()));
        const was = before(tavern, MAIN);
        const made = await Promise.all(tabs.map((tab) => tab.slash('/forklore-branch at=44')));
        assert.equal(new Set(made).size, 2, made.join(', '));
        for (const [n, tab] of tabs.entries()) {
            assert.equal(await tab.away(MAIN), `${STORY}/${made[n]}`);
            isWhole(tavern, was, `${STORY}/${made[n]}`, 44);
            const told = await tab.notices();
            assert.ok(told.every((text) => text.startsWith('Branch created')), told.join('\n'));
            assert.deepEqual(await tab.dialogs(), []);
        }
    } finally {
        await second.close();
    }
});
