// How fast the pages are, on a generated vault of 2,000 chats and a story of 300 chats with 20,000 messages: `node crates/web/tests/bench.js`.
// Server time is from sending a request until all of the answer is here, on this machine; interactive is when a page's script is done.

import fs from 'node:fs';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { writeLarge } from './lib/large.js';
import { Browser, empty, Site, Visit, writeChat } from './lib/site.js';

const RUNS = 15;
const vault = empty();
const line = (i) => `Message ${i}: the lantern on the pier swings, and somebody counts the boats that are not back yet.`;
for (let i = 0; i < 1700; i += 1) {
    writeChat(vault, `Character ${i % 425}`, `Chat ${i}`, Array.from({ length: 10 }, (_, k) => `${i} ${line(k)}`));
}
// 300 chats; 20,000 messages that are their own.
const main = Array.from({ length: 2060 }, (_, i) => line(i));
writeChat(vault, 'Big', 'Main', main);
for (let i = 0; i < 299; i += 1) {
    const at = (i * 13) % 1990 + 20;
    writeChat(vault, 'Big', `A fork of usual length ${i}`, [...main.slice(0, at + 1), ...Array.from({ length: 60 }, (_, k) => `${i} ${line(k)}`)], { main_chat: 'Main' });
}

// One chat of 20,000 messages, with 200 scenes that keep the book as it was.
const entries = [];
writeChat(vault, 'Long', 'Line', Array.from({ length: 20_000 }, (_, i) => {
    const message = { name: i % 2 ? 'You' : 'Long', is_user: i % 2 === 1, send_date: new Date(Date.UTC(2026, 0, 1) + i * 60_000).toISOString(), mes: line(i), extra: {} };
    if (i % 100 === 99) {
        const clock = 1_700_000_000_000 + i * 1000;
        entries.push({ uid: entries.length, comment: `character-Person ${entries.length}`, key: [`person ${entries.length}`], content: line(i).repeat(4), disable: false });
        message.extra.auto_recap_memory = { scene_break: true, scene_break_visible: true, scene_break_name: `Scene ${i}`, scene_recap_memory: line(i), scene_recap_versions: ['', 'text'],
            scene_recap_current_index: 1, scene_recap_metadata: { 1: { timestamp: clock, combined_at: clock + 500, chatLorebookName: 'z-AutoLB-Long-Line', allEntries: [...entries], entries: [], created_entry_uids: [`${entries.length - 1}`] } } };
    }
    return message;
}), { world_info: 'z-AutoLB-Long-Line' });
fs.writeFileSync(path.join(vault, 'worlds', 'z-AutoLB-Long-Line.json'), JSON.stringify({ entries: Object.fromEntries(entries.map((entry) => [entry.uid, entry])) }));

// A lorebook of 2,000 entries.
const lore = Array.from({ length: 2000 }, (_, uid) => ({ uid, comment: `Person ${uid}`, key: [`person ${uid}`], content: line(uid).repeat(4), disable: false }));
writeChat(vault, 'Lore', 'Line', main.slice(0, 400), { world_info: 'Lore' });
fs.writeFileSync(path.join(vault, 'worlds', 'Lore.json'), JSON.stringify({ entries: Object.fromEntries(lore.map((entry) => [entry.uid, entry])) }));

// A story of 301 chats with a lorebook of 2,000 entries, and one of 2,000 forks.
const large = writeLarge(vault);
writeChat(vault, 'Forks', 'Main', main.slice(0, 300));
for (let i = 0; i < 2000; i += 1) {
    writeChat(vault, 'Forks', `Main - Branch #${i}`, [...main.slice(0, (i * 7) % 280 + 10), `${i} ${line(i)}`], { main_chat: 'Main' });
}

const site = await Site.start(vault);
const browser = await Browser.start();
try {
    const cold = await once('');
    console.log(`  first time: ${cold.ms.toFixed(0)} ms (the vault is read)`);
    await measure('stories', '');
    await measure('tree', 'tree?story=Big');
    await measure('what is said (hover)', 'api/messages?chat=Big%2FMain&from=1000&to=1019');
    await measure('moment of 20,000 messages', 'moment?chat=Long%2FLine&at=10000');
    await measure('slider step of one message', 'step?chat=Long%2FLine&at=10001&from=10000');
    await measure('slider step into a scene', 'step?chat=Long%2FLine&at=10099&from=10098');
    await measure('slider step over half the line', 'step?chat=Long%2FLine&at=15000&from=5000');
    await measure('moment with 2,000 entries', 'moment?chat=Lore%2FLine&at=200');
    await measure('slider step with 2,000 entries', 'step?chat=Lore%2FLine&at=201&from=200');
    console.log(`  301 chats, ${(large / 1e6).toFixed(0)} MB, 2,000 entries:`);
    await measure('  tree', 'tree?story=Large');
    await measure('  moment', 'moment?chat=Large%2FMain&at=100');
    let at = 100;
    await measure('  slider, always another message', () => `step?chat=Large%2FMain&at=${at += 1}&from=${at - 1}`);
    await measure('  search', 'api/search?story=Large&text=zebra');
    await measure('tree of 2,000 forks', 'tree?story=Forks');
    await measure('health, unchanged', 'health');
    await measure('search in 20,000 messages', 'api/search?story=Big&text=zebra');
    const visit = await Visit.start(browser, site);
    await slide(visit, 'Lore/Line');
    await slide(visit, 'Large/Main');
    await walk(visit);
    const pages = [
        { what: 'stories', address: '', ready: () => document.querySelector('.story') !== null },
        { what: 'tree', address: 'tree?story=Big', ready: () => document.getElementById('tree')?.dataset.ready },
        { what: 'tree of 2,000 forks', address: 'tree?story=Forks', ready: () => document.getElementById('tree')?.dataset.ready },
        { what: 'moment of 301 chats', address: 'moment?chat=Large%2FMain&at=100', ready: () => document.documentElement.classList.contains('travels') },
    ];
    for (const { what, address, ready } of pages) {
        const times = [];
        for (let i = 0; i < 5; i += 1) {
            await visit.go(address);
            await visit.until(what, ready);
            times.push(await visit.run(() => /** @type {any} */ (window.performance.getEntriesByType('navigation')[0]).domContentLoadedEventEnd));
        }
        console.log(`  ${what.padEnd(36)} interactive in Chromium ${median(times).toFixed(0)} ms`);
    }
} finally {
    await browser.stop();
    await site.stop();
}

// One step of the slider after the other: until the message is there, and until the lorebook and everything else are as of it.
async function slide(visit, chat) {
    await visit.go(`moment?${new URLSearchParams({ chat, at: '100' })}`);
    const times = await visit.run(async () => {
        const range = /** @type {HTMLInputElement} */ (document.querySelector('.slider input[type=range]'));
        const [pinned, whole] = [[], []];
        for (let at = 101; at < 161; at += 1) {
            const start = window.performance.now();
            const until = async (there) => {
                while (!there()) {
                    await new Promise((done) => { setTimeout(done, 1); });
                }
                return window.performance.now() - start;
            };
            range.value = String(at);
            range.dispatchEvent(new Event('input', { bubbles: true }));
            pinned.push(await until(() => /** @type {HTMLElement} */ (document.querySelector('.message.here .number')).dataset.at === String(at)));
            whole.push(await until(() => document.querySelector('.state')?.ariaBusy !== 'true' && new URLSearchParams(location.search).get('at') === String(at)));
        }
        return [pinned, whole].map((taken) => taken.sort((a, b) => a - b));
    });
    ['the message', 'all of it'].forEach((what, i) => console.log(`  ${`slider, ${chat}, ${what}`.padEnd(36)} in Chromium median ${times[i][30].toFixed(0)} ms, p95 ${times[i][57].toFixed(0)} ms`));
}

// How long a tree of 2,000 forks takes from a key or a turn of the wheel until it is drawn anew: all rows apart from each other.
async function walk(visit) {
    await visit.go('tree?story=Forks');
    await visit.until('the tree', () => document.getElementById('tree')?.dataset.ready);
    const times = await visit.run(async () => {
        const canvas = /** @type {HTMLElement} */ (document.getElementById('canvas'));
        const frame = () => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); });
        const timed = async (act) => {
            const taken = [];
            for (let i = 0; i < 20; i += 1) {
                const start = window.performance.now();
                act(i);
                await frame();
                taken.push(window.performance.now() - start);
            }
            return taken.sort((a, b) => a - b)[18];
        };
        const scrolled = await timed((i) => { canvas.scrollTop = i * 120; });
        /** @type {HTMLElement} */ (document.getElementById('dense')).click();
        await frame();
        return [scrolled, await timed((i) => { canvas.scrollTop = i * 900; }), await timed((i) => /** @type {HTMLElement} */ (document.querySelector(`[data-zoom=${i % 2 ? 'out' : 'in'}]`)).click())];
    });
    console.log(`  ${'2,000 forks in Chromium, p95'.padEnd(36)} ${['scrolled', 'scrolled, all apart', 'zoomed, all apart'].map((what, i) => `${what} ${times[i].toFixed(0)} ms`).join(', ')}`);
}

async function once(address) {
    const start = performance.now();
    const response = await fetch(new URL(address, site.url), { headers: { Authorization: `Bearer ${site.token}` } });
    const body = await response.arrayBuffer();
    if (!response.ok) {
        throw new Error(`${address}: ${response.status}`);
    }
    return { ms: performance.now() - start, bytes: body.byteLength };
}

async function measure(what, address) {
    const runs = [];
    const ask = () => once(typeof address === 'function' ? address() : address);
    await ask();
    for (let i = 0; i < RUNS; i += 1) {
        runs.push(await ask());
    }
    const times = runs.map(({ ms }) => ms);
    console.log(`  ${what.padEnd(36)} best ${Math.min(...times).toFixed(1)} ms, median ${median(times).toFixed(1)} ms, ${(runs[0].bytes / 1000).toFixed(0)} KB`);
}

function median(times) {
    return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)];
}
