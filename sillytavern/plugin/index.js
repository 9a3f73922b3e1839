// Forklore's server plugin: starts the engine, forwards what pages ask it, and stands in front of SillyTavern's own routes, so that
// every fork that is saved, from any page, device or extension, is whole before it is written.
//
// Three rules for everything in here: nothing is ever thrown into SillyTavern (an error that nobody catches would end its process),
// nothing keeps it waiting for longer than LIMIT, and a fork that cannot be made whole is saved without a lorebook and with a note,
// never with its parent's, and never refused: SillyTavern answers a failed save by making an empty chat.

import fs from 'node:fs';
import path from 'node:path';
import url from 'node:url';
import { datamaid } from './datamaid.js';
import { Engine, EngineDown } from './engine.js';
import { chats, worldinfo, groups, characters } from './hooks.js';
import { shut, stranger } from './origin.js';

const own = path.dirname(url.fileURLToPath(import.meta.url));
const version = read(path.join(own, 'package.json')).version ?? '?';
const engine = new Engine(own, version);
const hooks = { chats: false, worldinfo: false, groups: false, characters: false, datamaid: false };
// Routers that are not called like their hooks.
const FILES = { datamaid: 'data-maid' };

// What browsers must know about an answer.
const PASSED_ON = [
    'content-type', 'cache-control', 'etag', 'x-content-type-options', 'content-security-policy', 'referrer-policy', 'cross-origin-resource-policy',
];

export const info = {
    id: 'forklore',
    name: 'Forklore',
    description: 'Fork your story, keep its lore: every checkpoint and branch gets a lorebook of its own.',
};

export async function init(router) {
    engine.start();
    for (const [name, hook] of Object.entries({ chats, worldinfo, groups, characters, datamaid })) {
        try {
            const file = `${FILES[name] ?? name}.js`;
            // Older ones have no Data Maid: there is nothing to stand in front of.
            if (name !== 'datamaid' || fs.existsSync(path.join(process.cwd(), 'src/endpoints', file))) {
                await stand(file, hook(engine));
                hooks[name] = true;
            }
        } catch (error) {
            console.error(`[Forklore] cannot stand in front of SillyTavern's ${name}: ${error?.message}`);
        }
    }
    router.use((request, response, next) => {
        shut(response);
        const why = stranger(request);
        return why ? answer(response, 403, 'WRONG_ORIGIN', `${why}: only SillyTavern's own pages are answered.`, 'Open SillyTavern, and Forklore from there.') : next();
    });
    router.get('/plugin', (_request, response) => {
        const sillytavern = read(path.join(process.cwd(), 'package.json')).version ?? null;
        response.json({ version, sillytavern, engine: engine.state(), hooks });
    });
    router.use((request, response) => {
        forward(request, response).catch((error) => fail(response, error)).catch(() => response.destroy());
    });
}

export async function exit() {
    engine.stop();
}

// Puts a middleware ahead of everything in a router of SillyTavern's. The module is loaded by SillyTavern's own path: another path
// to the same file would be another copy of it.
async function stand(file, middleware) {
    const module = path.join(process.cwd(), 'src/endpoints', file);
    const { router } = await import(url.pathToFileURL(module).href);
    if (typeof router?.use !== 'function' || !Array.isArray(router.stack)) {
        throw new Error('its router is not what it used to be');
    }
    const before = router.stack.length;
    router.use(middleware);
    if (router.stack.length !== before + 1) {
        throw new Error('its router does not take a middleware');
    }
    router.stack.unshift(router.stack.pop());
}

// Passes a request on to the engine, for the folder of the user who is logged in and no other.
async function forward(request, response) {
    const { pathname } = new URL(request.url, 'http://engine');
    const root = request.user?.directories?.root;
    if (!root || !['GET', 'POST'].includes(request.method) || /^\/(~|api\/(hook\/|(seen|vaults|setup|session|code)$))/.test(pathname)) {
        return answer(response, 404, 'NO_ROUTE', 'There is nothing here.', 'docs/formats/http.md tells what there is.');
    }
    if (pathname === '/' && !request.originalUrl.split('?')[0].endsWith('/')) {
        // Addresses in pages are relative: without the slash they would lead elsewhere.
        return response.redirect('forklore/');
    }
    const body = request.method === 'POST' ? JSON.stringify(request.body ?? {}) : undefined;
    const upstream = await engine.open(path.resolve(root), request.method, request.url, body, {
        accept: request.headers.accept,
        'x-forklore-request': request.headers['x-forklore-request'],
        'if-none-match': request.headers['if-none-match'],
        'x-forklore-through': 'sillytavern',
    });
    response.on('close', () => upstream.destroy());
    upstream.on('error', () => response.destroy());
    for (const name of PASSED_ON) {
        if (upstream.headers[name]) {
            response.setHeader(name, upstream.headers[name]);
        }
    }
    response.status(upstream.statusCode);
    response.flushHeaders();
    upstream.pipe(response);
}

function fail(response, error) {
    if (response.headersSent) {
        response.destroy();
        return;
    }
    const message = error instanceof EngineDown ? error.message : `Forklore's engine did not answer (${error?.message}).`;
    answer(response, 503, 'ENGINE_DOWN', message, 'It is started again by itself. If it stays away, look at SillyTavern\'s console.');
}

function answer(response, status, code, message, hint) {
    response.status(status).json({ error: { code, message, hint, to_do: hint, details: null } });
}

function read(file) {
    try {
        return JSON.parse(fs.readFileSync(file, 'utf8'));
    } catch {
        return {};
    }
}
