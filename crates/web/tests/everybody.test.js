// Every page for everybody: by day, at night, with the colours of the system, on the narrowest screen, in an order that can be read out, and
// in words.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, PAGES } from './lib/pages.js';
import { harbor, Site, stage, Visit } from './lib/site.js';

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

// What a screen reader comes to, in its order: role, name, and the level of a heading.
async function nodes(visit) {
    await visit.page.send('Accessibility.enable');
    const { nodes: all } = await visit.page.send('Accessibility.getFullAXTree');
    const byId = new Map(all.map((node) => [node.nodeId, node]));
    const told = [];
    const walk = (node) => {
        if (!node.ignored) {
            told.push({ role: node.role?.value ?? '', name: (node.name?.value ?? '').trim(), level: node.properties?.find(({ name }) => name === 'level')?.value.value });
        }
        (node.childIds ?? []).map((id) => byId.get(id)).filter(Boolean).forEach(walk);
    };
    walk(all[0]);
    return told;
}

async function readOut(visit) {
    return (await nodes(visit)).map(({ role, name }) => `${role} ${name}`.trim());
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

test('every page is built for the ear: where one is, headings in steps, and nothing without a name', async () => {
    const visit = await Visit.start(browser, site);
    for (const [page, address] of Object.entries(PAGES)) {
        await visit.go(address);
        const told = await nodes(visit);
        inOrder(told.map(({ role, name }) => `${role} ${name}`.trim()), [/^link Skip to the content/, /^navigation Forklore/, /^button Search/, /^main/, /^heading \S/]);
        const levels = told.filter(({ role }) => role === 'heading').map(({ level }) => level);
        assert.equal(levels[0], 1, `${page} begins with its title`);
        assert.equal(levels.filter((level) => level === 1).length, 1, `${page} has one title`);
        levels.slice(1).forEach((level, i) => assert.ok(level <= levels[i] + 1, `${page}: a heading of level ${level} below one of ${levels[i]}`));
        const mute = told.filter(({ role, name }) => ['link', 'button', 'checkbox', 'radio', 'combobox', 'textbox', 'searchbox', 'slider', 'spinbutton', 'DisclosureTriangle', 'dialog', 'application'].includes(role) && !name);
        assert.deepEqual(mute, [], `${page}: everything that can be used has a name`);
    }
    await visit.close();
});

test('what the other pages read out comes in their order, too', async () => {
    const visit = await Visit.start(browser, site);
    const orders = {
        stories: [/^heading Stories/, /^link Import a story/, /^search/, /^searchbox Find a story/, /^combobox Order/, /^link Ottilie Crake/],
        health: [/^heading Health/, /^link See what healing would change/, /^heading Ottilie Crake/, /^DisclosureTriangle Mend before you play on/, /^link Heard Once - Branch #4/, /^link See what healing this chat would change/],
        heal: [/^navigation Where you are/, /^heading Heal/, /^heading What you decide/, /^combobox Heard Once/, /^button Show the plan/, /^heading What will change/, /^heading Heard Once - Branch #4/, /^button Heal/, /^link Not now/],
        log: [/^heading Log/, /^navigation On this page/, /^region Operations/, /^link checkpoint of/i, /^button Undo/, /^heading Trash/],
        settings: [/^heading Settings/, /^heading Checkpoints/, /^combobox Names for checkpoints/, /^button Save : Names for checkpoints/, /^heading Forks/],
        'timeline of an entry': [/^heading character Emlyn Post/, /^heading Along the story/, /^link message 10/, /^link Bring it back as it was there.*message 10/, /^link message 20/, /^heading What it says/, /^heading By time/],
        branch: [/^heading Branch here/, /^group What/, /^radio Branch/, /^textbox Name/, /^heading What will be made/, /^button Make the branch/],
        'bring along': [/^heading Bring along/, /^combobox The story goes on with/, /^combobox and learns from/, /^heading What both knew/, /^heading What Heard Once learnt/, /^heading What Branch #1 learnt/],
    };
    for (const [page, order] of Object.entries(orders)) {
        await visit.go(PAGES[page]);
        inOrder(await readOut(visit), order);
    }
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
