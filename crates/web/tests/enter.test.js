// Getting in: the code behind `#` becomes a session, and without one there is nothing to see.

import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import { listening } from '../../../sillytavern/tests/lib/tavern.js';
import { demo, Site, stage, Visit } from './lib/site.js';

let browser;
let site;
stage((...there) => { [browser, site] = there; });

test('without the token a page tells how to get in, and nothing of the story', async () => {
    for (const page of ['', 'tree?story=Ottilie+Crake']) {
        const response = await fetch(new URL(page, site.url));
        const text = await response.text();
        assert.equal(response.status, 401);
        assert.match(text, /the address that Forklore printed/);
        assert.doesNotMatch(text, /forklore serve/, 'no command of a terminal');
        assert.doesNotMatch(text, /Ottilie/);
    }
});

test('the address that is printed lets one browser in, once, and leaves nothing that opens the vault', async () => {
    const own = await Site.start(demo());
    const open = async () => {
        const visit = await Visit.tab(browser, own);
        await visit.page.send('Page.navigate', { url: `${own.url}#code=${own.code}` });
        return visit;
    };
    const visit = await open();
    await visit.until('let in', () => document.querySelector('.top nav') !== null);
    assert.match(await visit.run(() => document.body.textContent), /Ottilie Crake/);
    const seen = await visit.run(() => ({ address: location.href, cookie: document.cookie }));
    assert.match(seen.address, new RegExp(`^${own.url}~[0-9a-f]{32,}/$`));
    assert.equal(seen.cookie, '', 'no script reads the cookie');
    await visit.accessible('stories');
    visit.clean();
    // Whoever finds the address in the history of the browser finds a code that is used up.
    const again = await open();
    await again.until('it is told', () => /was used already/.test(document.querySelector('#enter .lead')?.textContent));
    assert.doesNotMatch(await again.run(() => document.body.textContent), /Ottilie/);
    await again.close();
    // The one who was let in types the bare address.
    await visit.page.send('Page.navigate', { url: own.url });
    await visit.until('back', (place) => location.href === place && document.querySelector('.top nav') !== null, seen.address);
    // What the browser has opens nothing anywhere else: not as a token, not at another place, and no other server of the machine gets it.
    const { cookies } = await visit.page.send('Network.getAllCookies');
    const { name, value, path } = cookies.find(({ name }) => name === `forklore-${new URL(own.url).port}`);
    assert.equal(path, new URL(seen.address).pathname);
    const ask = (address, headers) => fetch(address, { headers }).then(({ status }) => status);
    assert.equal(await ask(new URL('api/stories', seen.address), { cookie: `${name}=${value}` }), 200);
    assert.equal(await ask(new URL('api/stories', own.url), { cookie: `${name}=${value}` }), 401);
    assert.equal(await ask(new URL('api/stories', own.url), { Authorization: `Bearer ${value}` }), 401);
    assert.equal(await ask(new URL('~0123456789abcdef0123456789abcdef/api/stories', own.url), { cookie: `${name}=${value}` }), 401);
    for (const token of [own.token, own.code]) {
        assert.equal(await ask(new URL('api/stories', seen.address), { cookie: `${name}=${token}` }), 401, 'a token is no session');
    }
    const heard = [];
    const neighbour = http.createServer((request, response) => { heard.push(request.headers.cookie ?? ''); response.end('hello'); });
    await visit.page.send('Page.navigate', { url: `http://127.0.0.1:${await listening(neighbour)}/` });
    await visit.until('the neighbour', () => document.body.textContent === 'hello');
    neighbour.close();
    assert.ok(heard.length > 0 && heard.every((cookie) => !cookie.includes(value)), heard.join());
    await visit.close();
    await own.stop();
});

test('a cookie alone changes nothing', async () => {
    const entered = await fetch(new URL('api/session', site.url), { method: 'POST', headers: { Authorization: `Bearer ${site.token}` } });
    const cookie = entered.headers.get('set-cookie');
    const { to } = await entered.json();
    assert.match(cookie, /HttpOnly; SameSite=Strict/);
    assert.doesNotMatch(cookie, new RegExp(site.token));
    const ask = (call, options) => fetch(new URL(`${to}${call}`, site.url), { ...options, headers: { cookie: cookie.split(';')[0], ...options?.headers } });
    assert.equal((await ask('api/stories')).status, 200);
    const undo = { method: 'POST', body: '{"dry_run": true}', headers: { 'Content-Type': 'application/json' } };
    assert.equal((await ask('api/undo', undo)).status, 403);
    undo.headers.Origin = 'http://127.0.0.1:1';
    assert.equal((await ask('api/undo', undo)).status, 403);
    undo.headers.Origin = new URL(site.url).origin;
    assert.equal((await ask('api/undo', undo)).status, 200);
});

test('below a path prefix everything works the same', async () => {
    const below = await Site.start(demo(), ['--prefix', '/api/plugins/forklore']);
    const visit = await Visit.start(browser, below);
    await visit.click('.story a');
    await visit.until('the tree', () => /^\/api\/plugins\/forklore\/~[0-9a-f]+\/tree$/.test(location.pathname));
    visit.clean();
    await visit.close();
    await below.stop();
});
