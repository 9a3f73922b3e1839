// Other pages in the same browser: whatever they try, they read nothing of the stories and change nothing, however they ask. The second
// origin is a real server; what a page there can get at is reported by the page itself.

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, test } from 'node:test';
import { bench, MAIN } from './lib/bench.js';
import { listening } from './lib/tavern.js';

const at = bench();
const servers = [];
after(() => servers.forEach((server) => server.close()));

// What any page can try. Each gives what it got hold of: the text of an answer, `loaded`, an event; or why it did not.
function tries(base, chat) {
    const late = (promise) => Promise.race([promise, new Promise((resolve) => setTimeout(() => resolve('nothing came'), 4000))]);
    const read = (path, init) => fetch(base + path, init).then(async (response) => `${response.status} ${await response.text()}`, (error) => `failed: ${error.message}`);
    const load = (tag, path, name = 'src') => new Promise((resolve) => {
        const element = document.createElement(tag);
        element.addEventListener('load', () => resolve('loaded'));
        element.addEventListener('error', () => resolve('failed'));
        element[name] = base + path;
        document.body.append(element);
    });
    const listen = () => new Promise((resolve) => {
        const source = new EventSource(`${base}api/events`);
        source.addEventListener('hello', (event) => resolve(`heard ${event.data}`));
        source.addEventListener('open', () => resolve('open'));
        source.addEventListener('error', () => resolve('failed'));
    });
    const send = (method, path, fields) => new Promise((resolve) => {
        const [frame, form] = [document.createElement('iframe'), document.createElement('form')];
        frame.name = `frame-${Math.random()}`;
        Object.assign(form, { method, action: base + path, target: frame.name });
        Object.entries(fields).forEach(([name, value]) => form.append(Object.assign(document.createElement('input'), { name, value })));
        document.body.append(frame, form);
        frame.addEventListener('load', () => {
            try {
                resolve(`inside: ${frame.contentDocument.body.textContent}`);
            } catch {
                resolve('failed');
            }
        });
        form.submit();
    });
    const messages = `api/messages?${new URLSearchParams({ chat, from: '0', to: '5' })}`;
    return Promise.all(Object.entries({
        stories: read('api/stories'),
        messages: read(messages),
        'with cookies': read(messages, { credentials: 'include' }),
        blind: read(messages, { mode: 'no-cors' }),
        'with a header': read(messages, { headers: { 'X-CSRF-Token': 'x' } }),
        'another host': read(messages, { headers: { 'X-Forwarded-Host': location.host } }),
        page: read(''),
        state: read('plugin'),
        'a change': read('api/undo', { method: 'POST', body: '{}' }),
        'a change as JSON': read('api/delete', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ chat }) }),
        events: listen(),
        picture: load('img', `picture?${new URLSearchParams({ story: chat.split('/')[0] })}`),
        script: load('script', messages),
        form: send('get', 'api/stories', {}),
        'a form that changes': send('post', 'act', { kind: 'delete', chat }),
    }).map(async ([name, tried]) => [name, await late(tried)])).then(Object.fromEntries);
}

// Another site's page. With `sandboxed` everything is tried from a frame without an origin, as any site can have one.
async function site(base, sandboxed) {
    const script = `(${tries})(${JSON.stringify(base)}, ${JSON.stringify(MAIN)}).then((got) => parent.postMessage(got, '*'))`;
    const inner = `<!doctype html><body><script>${script}</script>`;
    const frame = `<iframe ${sandboxed ? 'sandbox="allow-scripts allow-forms"' : ''} srcdoc="${inner.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"></iframe>`;
    const page = `<!doctype html><title>Another site</title><script>addEventListener('message', ({ data }) => { globalThis.got = data; });</script>${frame}`;
    const server = http.createServer((_request, response) => response.setHeader('content-type', 'text/html').end(page));
    servers.push(server);
    return listening(server);
}

for (const host of ['localhost', '127.0.0.1']) {
    for (const sandboxed of [false, true]) {
        test(`${sandboxed ? 'a sandboxed frame on ' : ''}another page, at ${host}, reads nothing and changes nothing`, async () => {
            const { tavern, browser } = at;
            // SillyTavern's own page is open in the same browser, with its session.
            const before = tavern.chats(MAIN.split('/')[0]);
            const port = await site(`${tavern.url}api/plugins/forklore/`, sandboxed);
            const page = await browser.open(`http://${host}:${port}/`);
            const got = await page.until('everything was tried', () => globalThis.got);
            for (const [name, result] of Object.entries(got)) {
                const refused = /^(failed|403 |nothing came)/.test(result);
                assert.ok(refused || (name === 'blind' && result === '0 '), `${name}: ${result.slice(0, 300)}`);
                assert.ok(!/Maren|stories|messages"/.test(result), `${name}: ${result.slice(0, 300)}`);
            }
            assert.ok(Object.keys(got).length >= 14);
            await page.close();
            assert.deepEqual(tavern.chats(MAIN.split('/')[0]), before);
        });
    }
}

test('SillyTavern\'s own page is answered: it reads, hears, and shows pictures', async () => {
    const { visit } = at;
    await visit.open(MAIN);
    const got = await visit.page.run(async (chat) => {
        const base = '/api/plugins/forklore/';
        const { 'Content-Type': _, ...headers } = SillyTavern.getContext().getRequestHeaders();
        const response = await fetch(`${base}api/messages?${new URLSearchParams({ chat, from: '0', to: '5' })}`, { headers });
        const events = await new Promise((resolve) => {
            const source = new EventSource(`${base}api/events`);
            source.addEventListener('hello', (event) => { source.close(); resolve(JSON.parse(event.data).name); });
            source.addEventListener('error', () => resolve('failed'));
        });
        // Reading needs SillyTavern's token, too.
        const without = await fetch(`${base}api/stories`);
        const allowed = [...response.headers.keys()].filter((name) => name.startsWith('access-control-'));
        return { status: response.status, total: (await response.json()).total, events, without: without.status, allowed };
    }, MAIN);
    assert.deepEqual({ ...got, total: got.total > 10 }, { status: 200, total: true, events: 'forklore', without: 403, allowed: [] });
});
