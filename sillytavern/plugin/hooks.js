// What stands in front of SillyTavern's own routes. Each function gives a middleware for one of its routers: forks are made whole before
// they are saved; everything else passes at once, and the engine hears of it when it has succeeded.

import crypto from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

// As SillyTavern cleans names: the same function, from the same place.
let sanitize;

// The longest header that is looked for; one without an end is none.
const LONGEST_HEADER = 64 << 20;
// So long an answer of SillyTavern's waits for the engine.
const LONGEST_WAIT = 3_000;

export function chats(engine) {
    sanitize = createRequire(path.join(process.cwd(), 'package.json'))('sanitize-filename');
    const save = async (request, response) => {
        const target = place(request, request.path === '/group/save', request.body.file_name ?? request.body.id);
        if (!target || !Array.isArray(request.body.chat)) {
            return;
        }
        const done = await whole(engine, request.body, target).catch((error) => {
            console.error(`[Forklore] ${error?.stack ?? error}`);
        });
        after(response, () => {
            done?.();
            engine.report(target.root, { what: 'chat', act: 'saved', group: target.group, folder: target.folder, name: target.name });
        }, done);
    };
    const remove = (request, response) => {
        const { chatfile, id } = request.body;
        const target = place(request, request.path === '/group/delete', String(chatfile ?? id).replace(/\.jsonl$/, ''));
        if (target) {
            const { group, folder, name } = target;
            const metadata = essence(head(target.file));
            after(response, () => engine.report(target.root, { what: 'chat', act: 'deleted', group, folder, name, metadata }));
        }
    };
    const rename = (request, response) => {
        const stem = (file) => String(file).replace(/\.jsonl$/, '');
        const target = place(request, Boolean(request.body.is_group), stem(request.body.renamed_file));
        if (target) {
            const { group, folder, name } = target;
            const from = stem(sanitize(String(request.body.original_file)));
            const event = { what: 'chat', act: 'renamed', group, folder, name, from };
            // The page reads the chat as soon as it has the answer, and a memory extension forgets what it holds under another name.
            before(response, () => engine.ask(target.root, '/api/seen', { events: [event], lost: false }, LONGEST_WAIT)
                .then(({ failed = [] }) => failed.length && engine.report(target.root, event))
                .catch(() => engine.report(target.root, event)));
        }
    };
    const bring = (request, response) => {
        const target = place(request, request.path === '/group/import', 'imported');
        if (target) {
            const { group, folder } = target;
            after(response, () => engine.report(target.root, { what: 'chat', act: 'saved', group, folder, name: null }));
        }
    };
    return middleware(engine, {
        '/save': save, '/group/save': save, '/delete': remove, '/group/delete': remove, '/rename': rename,
        '/import': bring, '/group/import': bring,
    });
}

export function worldinfo(engine) {
    const tell = (act) => (request, response) => {
        const name = typeof request.body?.name === 'string' ? request.body.name : null;
        after(response, () => engine.report(root(request), { what: 'book', act, name }));
    };
    return middleware(engine, { '/edit': tell('saved'), '/import': tell('saved'), '/delete': tell('deleted') });
}

export function groups(engine) {
    const tell = (act) => (request, response) => {
        const name = request.body?.id === undefined ? null : String(request.body.id);
        after(response, () => engine.report(root(request), { what: 'group', act, name }));
    };
    return middleware(engine, { '/create': tell('saved'), '/edit': tell('saved'), '/delete': tell('deleted') });
}

export function characters(engine) {
    const folder = (request) => String(request.body?.avatar_url ?? request.body?.avatar ?? '').replace('.png', '') || null;
    const saved = (request, response) => {
        const name = folder(request);
        after(response, () => engine.report(root(request), { what: 'character', act: 'saved', name }));
    };
    const removed = (request, response) => {
        const name = folder(request);
        // A card that goes alone leaves its chats, and their books, where they are.
        const act = String(request.body?.delete_chats) === 'true' ? 'deleted' : 'saved';
        after(response, () => engine.report(root(request), { what: 'character', act, name }));
    };
    const renamed = (request, response) => {
        const from = folder(request);
        after(response, (text) => {
            const name = String(JSON.parse(text)?.avatar ?? '').replace('.png', '') || null;
            engine.report(root(request), { what: 'character', act: 'renamed', name, from });
        });
    };
    return middleware(engine, {
        '/create': saved, '/edit': saved, '/edit-avatar': saved, '/edit-attribute': saved, '/merge-attributes': saved,
        '/import': saved, '/duplicate': saved, '/rename': renamed, '/delete': removed,
    });
}

// SillyTavern's Data Maid offers files for deletion that no chat links to. It cannot know of chats in Forklore's trash: what those link
// to is taken out of what it offers. A file that is not offered cannot be chosen, so nothing else has to be watched.
export function datamaid(engine) {
    const report = async (request, response) => {
        // Asked before SillyTavern looks and again afterwards: a chat that comes back or goes meanwhile is in one of the answers.
        const first = await needed(engine, request);
        const { json } = response;
        response.json = function (body) {
            response.json = json;
            // An engine that did not answer once is not waited for again.
            const again = first && needed(engine, request);
            Promise.resolve(again).then((second) => spare(request, body, first, second)).catch((error) => {
                console.error(`[Forklore] ${error?.stack ?? error}`);
                withhold(body);
            }).then(() => json.call(this, body)).catch(() => response.destroy());
            return this;
        };
    };
    return middleware(engine, { '/report': report }, true);
}

// The files that must stay; nothing if nobody can say.
function needed(engine, request) {
    return engine.ask(root(request), '/api/media/needed').then(({ files }) => files).catch((error) => {
        console.error(`[Forklore] the engine did not say which files the trash needs: ${error?.message}`);
        return null;
    });
}

function spare(request, body, ...answers) {
    if (answers.every(Array.isArray)) {
        // What Data Maid tells of a file: its name, and of an image the folder that it is in. Not every system tells spellings apart.
        const plain = (...parts) => parts.join('/').normalize().toLowerCase();
        const keep = new Set(answers.flat().map((file) => {
            const parts = String(file).split('/');
            return parts[1] === 'images' ? plain('images', ...parts.slice(-2)) : plain('files', parts.at(-1));
        }));
        const loose = (key) => (record) => !keep.has(key(record));
        body.report.images = body.report.images.filter(loose(({ parent, name }) => plain('images', parent, name)));
        body.report.files = body.report.files.filter(loose(({ name }) => plain('files', name)));
    } else if (fs.existsSync(path.join(root(request), '.forklore'))) {
        withhold(body);
    }
}

// Nobody knows what is needed: then nothing of it is offered.
function withhold(body) {
    console.error('[Forklore] Data Maid does not offer images and files for now: the trash may need them. Try again when the engine is back.');
    if (body?.report) {
        body.report.images = [];
        body.report.files = [];
    }
}

// Whatever happens in a handler, SillyTavern's own comes next, once. `bare`: what is asked has no body.
function middleware(engine, handlers, bare = false) {
    return (request, response, next) => {
        const handle = request.method === 'POST' && Object.hasOwn(handlers, request.path) && handlers[request.path];
        if (!handle || !(request.body || bare) || !request.user?.directories?.root) {
            return next();
        }
        engine.greet(root(request));
        const complain = (error) => console.error(`[Forklore] ${error?.stack ?? error}`);
        Promise.resolve().then(() => handle(request, response)).catch(complain).then(() => next()).catch(complain);
    };
}

// Runs when SillyTavern answers, with what it answers; only if it was a success, unless `always` is set. A page that is closed
// meanwhile does not matter: the file is there all the same.
function after(response, then, always) {
    const end = response.end;
    response.end = function (chunk, ...rest) {
        response.end = end;
        try {
            if (response.statusCode < 400) {
                then(typeof chunk === 'string' || Buffer.isBuffer(chunk) ? chunk.toString() : '');
            } else {
                always?.();
            }
        } catch (error) {
            console.error(`[Forklore] ${error?.stack ?? error}`);
        }
        return end.call(this, chunk, ...rest);
    };
}

// Lets SillyTavern's answer wait for what is done when it has succeeded.
function before(response, work) {
    const end = response.end;
    response.end = function (...answer) {
        response.end = end;
        if (response.statusCode >= 400) {
            return end.apply(this, answer);
        }
        const complain = (error) => console.error(`[Forklore] ${error?.stack ?? error}`);
        Promise.resolve().then(work).catch(complain).finally(() => end.apply(this, answer));
        return this;
    };
}

function root(request) {
    // With SillyTavern's default settings these are relative to its folder.
    return path.resolve(request.user.directories.root);
}

// Where a chat is saved; nothing if SillyTavern will not save it either.
function place(request, group, called) {
    const { directories } = request.user;
    const folder = group ? null : String(request.body.avatar_url).replace('.png', '');
    const file = sanitize(`${called}.jsonl`);
    const odd = (name) => !name || name === '.' || name === '..' || /[/\\]/.test(name);
    if (!file || !file.endsWith('.jsonl') || (!group && odd(folder))) {
        return null;
    }
    const dir = path.resolve(group ? directories.groupChats : path.join(directories.chats, folder));
    return { root: root(request), group, folder, dir, name: file.slice(0, -'.jsonl'.length), file: path.join(dir, file) };
}

// Makes a fork whole that is about to be saved, and keeps what is about to be overwritten by force. Gives what is to be done when the
// save is over, if anything.
async function whole(engine, body, target) {
    const { chat, force } = body;
    const metadata = chat[0]?.chat_metadata;
    const exists = fs.existsSync(target.file);
    const main = typeof metadata?.main_chat === 'string' && metadata.main_chat;
    if (!(exists ? force : main)) {
        return;
    }
    try {
        const answer = await engine.ask(target.root, '/api/hook/prepare', {
            group: target.group, folder: target.folder, chat: target.name, force: Boolean(force),
            header: chat[0], messages: chat.length - 1, last: chat.length > 1 ? chat.at(-1) : null,
        });
        if (answer.header) {
            chat[0] = answer.header;
        }
        if (answer.act === 'pending') {
            console.error(`[Forklore] ${target.name} was saved without a lorebook: ${answer.refusal?.message}`);
        }
        return answer.ticket ? () => settle(engine, target, answer.ticket) : undefined;
    } catch (error) {
        console.error(`[Forklore] the engine did not answer in time for ${target.name}: ${error?.message}`);
        without(chat, target, main, exists, error);
    }
}

function settle(engine, target, ticket) {
    engine.ask(target.root, '/api/hook/resolve', { ticket }).catch((error) => {
        // An engine that is gone settles it when it is back.
        console.error(`[Forklore] ${target.name} is not settled yet: ${error?.message}`);
    });
}

// There is no engine: a fork is saved unbound, with a note; what is overwritten is kept aside.
function without(chat, target, main, exists, error) {
    const metadata = chat[0]?.chat_metadata;
    const there = exists ? head(target.file) : null;
    const overwrites = exists && there?.integrity !== metadata?.integrity;
    if (overwrites) {
        const lost = path.join(target.root, '.forklore/lost');
        fs.mkdirSync(lost, { recursive: true });
        fs.copyFileSync(target.file, path.join(lost, `${target.name} ${Date.now()}.jsonl`));
    }
    const from = main && path.join(target.dir, sanitize(`${main}.jsonl`));
    const parent = from && from !== target.file && fs.existsSync(from) && (head(from) ?? {});
    const inherits = metadata?.integrity === undefined || metadata.integrity === parent?.integrity;
    // A page that still shows a fork which is gone saves it again: that is no new fork.
    const again = !inherits && metadata?.forklore?.owner?.slug === metadata?.integrity;
    if (!parent || (exists && !overwrites) || again) {
        return;
    }
    const { world_info: book, ...rest } = metadata;
    const message = `The engine did not answer when the fork was saved: ${error?.message}`;
    rest.forklore = { pending: { code: 'ENGINE_DOWN', message, since: Date.now(), book: book || null } };
    if (rest.auto_lorebooks && Object.hasOwn(rest.auto_lorebooks, 'lorebookName')) {
        rest.auto_lorebooks = { ...rest.auto_lorebooks, lorebookName: null };
    }
    if (inherits) {
        rest.integrity = crypto.randomUUID();
    }
    chat[0] = { ...chat[0], chat_metadata: rest };
}

// `chat_metadata` of the chat in a file; nothing if there is none.
function head(file) {
    let handle;
    try {
        handle = fs.openSync(file, 'r');
        const chunks = [];
        for (let size = 0; size < LONGEST_HEADER;) {
            const chunk = Buffer.alloc(64 << 10);
            const got = fs.readSync(handle, chunk, 0, chunk.length, null);
            const end = chunk.subarray(0, got).indexOf(10);
            chunks.push(chunk.subarray(0, end < 0 ? got : end));
            size += got;
            if (end >= 0 || got === 0) {
                return JSON.parse(Buffer.concat(chunks).toString('utf8').replace(/^\uFEFF/, '')).chat_metadata ?? null;
            }
        }
    } catch {
        // Not there, or no chat.
    } finally {
        if (handle !== undefined) {
            fs.closeSync(handle);
        }
    }
    return null;
}

// What tells which book was a chat's own.
function essence(metadata) {
    if (!metadata) {
        return null;
    }
    const { integrity, main_chat, world_info, forklore } = metadata;
    const { version, kind, owner, parent, book } = forklore ?? {};
    return { integrity, main_chat, world_info, forklore: forklore && { version, kind, owner, parent, book: { name: book?.name } } };
}
