// Getting in: the token behind `#` becomes a cookie, and without it there is nothing to see.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demo, Site, stage, Visit } from './lib/site.js';

let browser;
let site;
stage((...there) => { [browser, site] = there; });

test('without the token a page tells how to get in, and nothing of the story', async () => {
    for (const page of ['', 'tree?story=Ottilie+Crake']) {
        const response = await fetch(new URL(page, site.url));
        const text = await response.text();
        assert.equal(response.status, 401);
        assert.match(text, /forklore serve/);
        assert.doesNotMatch(text, /Ottilie/);
    }
});

test('the address that is printed lets a browser in, and the token is nowhere afterwards', async () => {
    const visit = await Visit.start(browser, site);
    assert.match(await visit.run(() => document.body.textContent), /Ottilie Crake/);
    const seen = await visit.run(() => ({ address: location.href, cookie: document.cookie }));
    assert.equal(seen.address, site.url);
    assert.equal(seen.cookie, '', 'no script reads the cookie');
    await visit.accessible('stories');
    visit.clean();
    await visit.close();
});

test('a cookie alone changes nothing', async () => {
    const entered = await fetch(new URL('api/session', site.url), { method: 'POST', headers: { Authorization: `Bearer ${site.token}` } });
    const cookie = entered.headers.get('set-cookie');
    assert.match(cookie, /HttpOnly; SameSite=Strict/);
    const ask = (call, options) => fetch(new URL(call, site.url), { ...options, headers: { cookie: cookie.split(';')[0], ...options?.headers } });
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
    await visit.until('the tree', () => location.pathname === '/api/plugins/forklore/tree');
    visit.clean();
    await visit.close();
    await below.stop();
});
