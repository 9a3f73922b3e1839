// A fork that SillyTavern is about to save: the engine says what its header is to be. Without an engine it is saved without a lorebook.

import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { bindings } from './bindings.js';
import { head, sanitize } from './places.js';

// Makes a fork whole that is about to be saved, and keeps what is about to be overwritten by force. Gives what is to be done when the
// save is over, if anything.
export async function whole(engine, body, target) {
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
    for (const [owner, key] of bindings) {
        if (rest[owner] && Object.hasOwn(rest[owner], key)) {
            rest[owner] = { ...rest[owner], [key]: null };
        }
    }
    if (inherits) {
        rest.integrity = crypto.randomUUID();
    }
    chat[0] = { ...chat[0], chat_metadata: rest };
}
