// SillyTavern's Data Maid offers files for deletion that no chat links to. It cannot know of chats in Forklore's trash: what those link
// to is taken out of what it offers. A file that is not offered cannot be chosen, so nothing else has to be watched.

import fs from 'node:fs';
import path from 'node:path';
import { middleware } from './around.js';
import { root } from './places.js';

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
