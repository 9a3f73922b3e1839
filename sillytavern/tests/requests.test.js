// The extension's one place around `window.fetch`, in a page of its own: whoever asks, and however the address is written, what is watched
// is seen, and everything else passes as if nobody stood there.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, test } from 'node:test';
import zlib from 'node:zlib';
import { Browser } from './lib/chromium.js';
import { listening, REPOSITORY } from './lib/tavern.js';

const MODULE = path.join(REPOSITORY, 'sillytavern/extension/requests.js');
const ADDRESS = '/requests.js';
let browser;
let page;
let server;

// Answers what it was asked.
function echo(request, response) {
    if (request.url === ADDRESS) {
        response.setHeader('Content-Type', 'text/javascript').end(fs.readFileSync(MODULE));
    } else if (request.method === 'GET' && request.url === '/') {
        response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>A page</title>');
    } else {
        const chunks = [];
        request.on('data', (chunk) => chunks.push(chunk)).on('end', () => {
            const body = Buffer.concat(chunks);
            const packed = request.headers['content-encoding'] === 'gzip';
            const { 'x-mark': mark = null } = request.headers;
            response.statusCode = request.url === '/api/refused' ? 400 : 200;
            response.end(JSON.stringify({ method: request.method, packed, mark, body: (packed ? zlib.gunzipSync(body) : body).toString() }));
        });
    }
}

before(async () => {
    server = http.createServer(echo);
    const port = await listening(server);
    browser = await Browser.start();
    page = await browser.open(`http://127.0.0.1:${port}/`);
    await page.until('the page', () => document.title === 'A page');
    await page.run(async (module) => {
        const { watch } = await import(module);
        window.seen = [];
        watch(['/api/save', '/api/refused'], async (request) => {
            const text = await request.text();
            window.seen.push(text);
            return ({ ok, status }) => { window.seen.push([ok, status]); };
        });
        watch(['/api/changed'], async (request) => { request.replace(`${await request.text()}, and more`); });
        watch(['/api/broken'], () => { throw new Error('a mistake of ours'); });
        watch(['/api/broken'], () => () => Promise.reject(new Error('another one')));
        window.ask = async (address, init) => (await window.fetch(address, init)).json();
    }, ADDRESS);
});

after(async () => {
    await browser?.stop();
    server?.closeAllConnections();
    server?.close();
});

test('a path is the same however it is written', async () => {
    const seen = await page.run(async () => {
        const init = { method: 'post', body: 'it' };
        const ways = ['/api/save', 'api/save', './api/save?now=1', `${location.origin}/api/save`, new URL('/api/save#there', location.href)];
        for (const way of ways) {
            await window.ask(way, init);
        }
        await window.ask(new Request('/api/save', { method: 'POST', body: 'it' }));
        await window.ask(new Request('/api/save'), init);
        return window.seen.splice(0).filter((one) => typeof one === 'string');
    });
    assert.deepEqual(seen, Array(7).fill('it'));
});

test('other paths, methods and machines are not looked at, and get the very answer of the browser', async () => {
    const seen = await page.run(async () => {
        const init = { method: 'POST', body: 'it' };
        await window.ask('/api/saved', init);
        await window.ask('/else/api/save', init);
        await window.ask('/api/save');
        await window.fetch(`http://localhost:${location.port}/api/save`, init).catch(() => {});
        const failed = await window.fetch('http://[', init).then(() => false, (error) => error instanceof TypeError);
        return { failed, seen: window.seen.splice(0) };
    });
    assert.deepEqual(seen, { failed: true, seen: [] });
});

test('whoever watches hears how it ended, and the caller gets the answer', async () => {
    const told = await page.run(async () => {
        const { body } = await window.ask('/api/refused', { method: 'POST', body: 'it' });
        await new Promise((resolve) => { setTimeout(resolve, 50); });
        return [body, ...window.seen.splice(0)];
    });
    assert.deepEqual(told, ['it', 'it', [false, 400]]);
});

test('what is sent can be another, from a text, a packed one and a request, with the headers it had', async () => {
    const answers = await page.run(async () => {
        const pack = (text) => new Response(new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer();
        const headers = { 'X-Mark': 'kept' };
        return [
            await window.ask('/api/changed', { method: 'POST', headers, body: 'text' }),
            await window.ask('/api/changed', { method: 'POST', headers: new Headers({ ...headers, 'Content-Encoding': 'gzip' }), body: new Uint8Array(await pack('packed')) }),
            await window.ask(new Request('/api/changed', { method: 'POST', headers, body: 'request' })),
            await window.ask(new Request('/api/changed', { method: 'POST', headers: { ...headers, 'Content-Encoding': 'gzip' }, body: await pack('both') })),
        ];
    });
    assert.deepEqual(answers, ['text', 'packed', 'request', 'both'].map((text) => ({ method: 'POST', packed: false, mark: 'kept', body: `${text}, and more` })));
});

test('a mistake of ours fails no request, and a stream that nobody may read is sent as it is', async () => {
    const { broken, passed } = await page.run(async () => {
        const form = new FormData();
        form.append('name', 'value');
        return { broken: await window.ask('/api/broken', { method: 'POST', body: 'it' }), passed: await window.ask('/api/save', { method: 'POST', body: form }) };
    });
    assert.equal(broken.body, 'it');
    assert.match(passed.body, /name="name"\s+value/);
    const streamed = await page.run(async (module) => {
        const { Sent } = await import(module);
        const body = new Blob(['flows']).stream();
        const refused = await new Sent('/api/save', { method: 'POST', body }).text().then(() => false, () => true);
        return { refused, left: await new Response(body).text() };
    }, ADDRESS);
    assert.deepEqual(streamed, { refused: true, left: 'flows' });
});
