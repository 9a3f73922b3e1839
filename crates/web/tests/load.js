// Many who look while somebody forks: 200 readers, each of whom asks again as soon as it was answered, and a fork a second, on the vault that
// the real software made: `node crates/web/tests/load.js`. Nobody is to wait for more than a second.

import http from 'node:http';
import { performance } from 'node:perf_hooks';
import { harbor, Site } from './lib/site.js';

const READERS = 200;
const SECONDS = 20;
const CHAT = 'Maren Voss/The Lighthouse Road';
const PLACES = [
    '', 'tree?story=Maren+Voss', 'api/tree?story=Maren+Voss', 'api/stories', 'api/check',
    `api/show?${new URLSearchParams({ chat: CHAT, at: '20' })}`, `api/messages?${new URLSearchParams({ chat: CHAT, from: '0', to: '19' })}`,
];

const site = await Site.start(harbor());
const agent = new http.Agent({ keepAlive: true, maxSockets: READERS + 1 });
const end = Date.now() + SECONDS * 1000;
const waits = [];
const forks = [];
try {
    await Promise.all([...Array.from({ length: READERS }, (_, i) => reader(i)), forker()]);
    tell('an answer', waits);
    tell('a fork', forks);
} finally {
    agent.destroy();
    await site.stop();
}

async function reader(first) {
    for (let n = first; Date.now() < end; n += 1) {
        waits.push(await ask('GET', PLACES[n % PLACES.length]));
    }
}

async function forker() {
    for (let n = 0; Date.now() < end; n += 1) {
        const next = Date.now() + 1000;
        forks.push(await ask('POST', 'api/branch', { chat: CHAT, at: 20, name: `Fork ${n}` }));
        await new Promise((done) => { setTimeout(done, next - Date.now()); });
    }
}

// How long an answer takes until all of it is here, in milliseconds.
function ask(method, place, body) {
    const start = performance.now();
    const headers = { Authorization: `Bearer ${site.token}`, ...(body && { 'Content-Type': 'application/json' }) };
    return new Promise((resolve, reject) => {
        const request = http.request(new URL(place, site.url), { method, headers, agent }, (response) => {
            response.resume();
            response.on('end', () => (response.statusCode === 200 ? resolve(performance.now() - start) : reject(new Error(`${place}: ${response.statusCode}`))));
        });
        request.on('error', reject);
        request.end(body && JSON.stringify(body));
    });
}

function tell(what, times) {
    times.sort((a, b) => a - b);
    const [half, most, worst] = [0.5, 0.95, 1].map((part) => `${times[Math.min(times.length - 1, Math.floor(times.length * part))].toFixed(0)} ms`);
    console.log(`  ${what.padEnd(36)} median ${half}, 95 of 100 below ${most}, worst ${worst} (${times.length})`);
}
