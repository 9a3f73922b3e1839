// Where a user's files are, and what the file of a chat says of itself in its first line.

import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { bindings } from './bindings.js';

// The longest header that is looked for; one without an end is none.
const LONGEST_HEADER = 64 << 20;

/**
 * As SillyTavern cleans names: the same function, from the same place.
 * @type {(name: string) => string}
 */
export let sanitize;

// Throws where SillyTavern has no such function any more: then nobody may stand in front of its chats.
export function learnNames() {
    sanitize = createRequire(path.join(process.cwd(), 'package.json'))('sanitize-filename');
}

export function root(request) {
    // With SillyTavern's default settings these are relative to its folder.
    return path.resolve(request.user.directories.root);
}

// Where a chat is saved; nothing if SillyTavern will not save it either.
export function place(request, group, called) {
    const { directories } = request.user;
    const folder = group ? null : String(request.body.avatar_url).replace('.png', '');
    const file = sanitize(`${called}.jsonl`);
    const odd = (name) => !name || name === '.' || name === '..' || /[/\\]/.test(name);
    if (!file || !file.endsWith('.jsonl') || (!group && odd(folder))) {
        return null;
    }
    const dir = path.resolve(folder === null ? directories.groupChats : path.join(directories.chats, folder));
    return { root: root(request), group, folder, dir, name: file.slice(0, -'.jsonl'.length), file: path.join(dir, file) };
}

// `chat_metadata` of the chat in a file; nothing if there is none.
export function head(file) {
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
export function essence(metadata) {
    if (!metadata) {
        return null;
    }
    const { integrity, main_chat, world_info, forklore } = metadata;
    const { version, kind, owner, parent, book } = forklore ?? {};
    const noted = bindings.filter(([owner, key]) => metadata[owner]?.[key]).map(([owner, key]) => [owner, { [key]: metadata[owner][key] }]);
    const record = forklore && { version, kind, owner, parent, book: { name: book?.name } };
    return { integrity, main_chat, world_info, ...Object.fromEntries(noted), forklore: record };
}
