// Saves that would empty a chat. While SillyTavern's page reads a chat it has that chat's name, no messages and no metadata; whatever is saved
// in that moment (a delayed save of metadata, an extension's) goes over the file that is being read. Where reading fails, the page saves the
// greeting the same way. SillyTavern's server lets that pass: it compares slugs only where one was sent.
//
// A page that has read a chat always has a slug for it, so nobody's own save looks like this: not that of a chat all of whose messages were
// deleted, not an overwrite that was confirmed, not a new chat.

import fs from 'node:fs';
import { head } from './places.js';

// Whether a save has neither messages of its own nor a slug, and would go over a chat that has both.
export function hollow({ chat, force }, target) {
    const metadata = chat[0]?.chat_metadata;
    const greeting = chat.length <= 2 && chat.slice(1).every((message) => message?.is_user !== true);
    if (force || !metadata || metadata.integrity || !greeting || !head(target.file)?.integrity) {
        return false;
    }
    return hasLines(target.file, chat.length + 1);
}

// Whether a file has that many lines. The last one need not end.
function hasLines(file, wanted) {
    const handle = fs.openSync(file, 'r');
    try {
        const chunk = Buffer.alloc(64 << 10);
        let [lines, fresh] = [0, true];
        for (let got = fs.readSync(handle, chunk); got > 0 && lines < wanted; got = fs.readSync(handle, chunk)) {
            for (const byte of chunk.subarray(0, got)) {
                lines += fresh && byte !== 10 ? 1 : 0;
                fresh = byte === 10;
            }
        }
        return lines >= wanted;
    } finally {
        fs.closeSync(handle);
    }
}
