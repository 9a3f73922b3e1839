// What stands in front of SillyTavern's own routes. Each function gives a middleware for one of its routers: forks are made whole before
// they are saved; everything else passes at once, and the engine hears of it when it has succeeded.

import { after, ANSWERED, before, middleware } from './around.js';
import { whole } from './forks.js';
import { hollow } from './hollow.js';
import { essence, head, learnNames, place, root, sanitize } from './places.js';

// So long an answer of SillyTavern's waits for the engine.
const LONGEST_WAIT = 3_000;

export function chats(engine) {
    learnNames();
    const save = async (request, response) => {
        const target = place(request, request.path === '/group/save', request.body.file_name ?? request.body.id);
        if (!target || !Array.isArray(request.body.chat)) {
            return;
        }
        if (hollow(request.body, target)) {
            // The page has not asked for anything: there is nothing to alarm anybody about.
            console.warn(`[Forklore] ${target.name} stays as it is: SillyTavern's page was about to empty it while it was reading it.`);
            response.send({ ok: true, result: 'ok' });
            return ANSWERED;
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
