// Every page for everybody: by day, at night, with the colours of the system, on the narrowest screen, in an order that can be read out, and
// in words.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { harbor, Site, stage, Visit } from './lib/site.js';

const MAIN = 'Ottilie Crake/Heard Once';
const FORK = `${MAIN} - Branch #1`;
const at = (page, args = {}) => `${page}?${new URLSearchParams(args)}`;

const PAGES = {
    stories: '', tree: at('tree', { story: 'Ottilie Crake' }), moment: at('moment', { chat: MAIN, at: 30, from: 20 }), 'compare, to choose': at('compare', { a: MAIN }),
    compare: at('compare', { a: MAIN, b: FORK }), 'bring along, to choose': at('bring', { a: MAIN }), 'bring along': at('bring', { a: MAIN, b: FORK }),
    health: 'health', heal: 'heal', log: 'log', 'history and space': 'keep', settings: 'settings', import: 'import', export: at('export', { what: MAIN }),
    'history of a chat': at('past', { chat: MAIN }), 'timeline of an entry': at('entry', { chat: MAIN, entry: 'character-Emlyn Post', at: 38 }),
    'bring back': at('bring-back', { chat: MAIN, entry: 'character-Emlyn Post', at: 10 }), branch: at('act', { kind: 'branch', chat: MAIN, at: 12 }),
    rename: at('act', { kind: 'rename', chat: MAIN, name: 'Other' }), delete: at('act', { kind: 'delete', chat: FORK }), nothing: 'no-such-page',
};

let browser;
let site;
stage((...there) => { [browser, site] = there; });

async function everyPage(options, media, look) {
    const visit = await Visit.start(browser, site, '', options);
    await visit.page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-reduced-motion', value: 'reduce' }, ...media] });
    for (const [name, address] of Object.entries(PAGES)) {
        await visit.go(address);
        await visit.until(name, () => document.querySelector('h1') !== null && [...document.querySelectorAll('link[rel=stylesheet]')].every(({ sheet }) => sheet));
        await look(visit, name);
    }
    await visit.close();
}

test('every page by day', () => everyPage({}, [{ name: 'prefers-color-scheme', value: 'light' }], async (visit, name) => {
    await visit.accessible(name);
    const text = await visit.run(() => document.querySelector('main').innerText);
    assert.doesNotMatch(text, /\bforklore (serve|doctor|check|config|demo|watch|heal|restore)\b|(^|\s)--[a-z]{3,}/m, `${name} names no command`);
}));

test('every page at night', () => everyPage({}, [{ name: 'prefers-color-scheme', value: 'dark' }], async (visit, name) => {
    await visit.accessible(`${name} at night`);
}));

test('every page with the colours of the system', () => everyPage({}, [{ name: 'forced-colors', value: 'active' }], async (visit, name) => {
    await visit.accessible(`${name} with the colours of the system`);
}));

test('every page on the narrowest screen', () => everyPage({ width: 320, height: 640 }, [{ name: 'prefers-color-scheme', value: 'light' }], async (visit, name) => {
    await visit.fits(name);
    await visit.accessible(`${name} on the narrowest screen`);
    await visit.picture(`narrow-${name.replace(/\W+/g, '-')}`);
}));

// What a screen reader comes to, in its order: role and name.
async function readOut(visit) {
    await visit.page.send('Accessibility.enable');
    const { nodes } = await visit.page.send('Accessibility.getFullAXTree');
    const byId = new Map(nodes.map((node) => [node.nodeId, node]));
    const told = [];
    const walk = (node) => {
        if (!node.ignored) {
            told.push(`${node.role?.value} ${node.name?.value ?? ''}`.trim());
        }
        (node.childIds ?? []).map((id) => byId.get(id)).filter(Boolean).forEach(walk);
    };
    walk(nodes[0]);
    return told;
}

function inOrder(told, wanted) {
    let from = 0;
    for (const one of wanted) {
        const found = told.findIndex((text, i) => i >= from && one.test(text));
        assert.ok(found >= 0, `${one} follows in: ${told.slice(from).filter((text) => /^(heading|slider|button|link|navigation|main)/.test(text)).slice(0, 40).join(' | ')}`);
        from = found + 1;
    }
}

test('what is read out comes in the order of the page', async () => {
    const visit = await Visit.start(browser, site, PAGES.moment);
    inOrder(await readOut(visit), [/^link Skip to the content/, /^navigation Forklore/, /^main/, /^navigation Where you are/, /^heading Heard Once/, /^slider Message/, /^button Play/,
        /^link Branch here/, /^button Star on message 30/, /^group Messages around this one/, /^heading Lorebook/, /^heading .*Emlyn Post/, /^link Timeline of character-Emlyn Post/, /^heading Scene/, /^heading Running recap/, /^heading Queue/]);
    await visit.go(PAGES.compare);
    inOrder(await readOut(visit), [/^heading Compare/, /^group A/, /^group B/, /^heading Where they part/, /^link A: message 23/, /^link A: message 24/, /^link B: message 23/, /^heading Lorebook/, /^heading Running recap/]);
    await visit.go(PAGES.tree);
    inOrder(await readOut(visit), [/^heading Ottilie Crake/, /^search/, /^button Compare/, /^application Fork tree of Ottilie Crake/, /^DisclosureTriangle What the marks mean/, /^DisclosureTriangle The tree as a list/]);
    await visit.close();
});

test('a real vault: each of its pages, by day and on the narrowest screen', async () => {
    const real = await Site.start(harbor());
    for (const options of [{}, { width: 320, height: 640 }]) {
        const visit = await Visit.start(browser, real, 'tree?story=Maren+Voss', options);
        for (const [name, address] of Object.entries({ stories: '', tree: 'tree?story=Maren+Voss', group: 'tree?story=group%3A1794704887331', moment: at('moment', { chat: 'Maren Voss/The Lighthouse Road', at: 22 }), health: 'health', heal: 'heal', log: 'log' })) {
            await visit.go(address);
            await visit.fits(name);
            await visit.accessible(`${name} of a real vault`);
            await visit.picture(`harbor-${name}${options.width ? '-narrow' : ''}`);
        }
        visit.clean();
        await visit.close();
    }
    await real.stop();
});
