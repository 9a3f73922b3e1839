// What must be true of a fork, whoever made it: its own book with the state at that message, the right lineage, and a parent that is as
// it was.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { pause } from './tavern.js';

const nameOf = (address) => address.slice(address.indexOf('/') + 1);

// What the parent is before a fork. Its links may change, its book and its messages' texts may not.
export function before(tavern, parent) {
    const book = tavern.header(parent).world_info;
    return { parent, book, bytes: bookBytes(tavern, book), texts: tavern.chat(parent).slice(1).map(({ mes }) => mes), chats: all(tavern, parent), books: tavern.books() };
}

function bookBytes(tavern, book) {
    return fs.readFileSync(path.join(tavern.vault, 'worlds', `${book}.json`), 'utf8');
}

function all(tavern, parent) {
    const folder = parent.startsWith('group:') ? 'group chats' : `chats/${parent.slice(0, parent.indexOf('/'))}`;
    return fs.readdirSync(path.join(tavern.vault, folder)).filter((file) => file.endsWith('.jsonl')).map((file) => file.replace(/\.jsonl$/, '')).sort();
}

// The one chat that is new.
export async function newFork(tavern, was) {
    for (let tries = 0; tries < 300; tries += 1) {
        const fresh = all(tavern, was.parent).filter((name) => !was.chats.includes(name));
        if (fresh.length) {
            assert.equal(fresh.length, 1, `one fork, not ${fresh.join(', ')}`);
            return `${was.parent.slice(0, was.parent.indexOf('/'))}/${fresh[0]}`;
        }
        await pause(100);
    }
    throw new Error('no fork was made');
}

export function isWhole(tavern, was, fork, at, { swipe = null } = {}) {
    const header = tavern.header(fork);
    const lines = tavern.chat(fork).slice(1);
    assert.equal(lines.length, at + 1, 'everything up to the message, and nothing else');
    assert.equal(header.main_chat, nameOf(was.parent));
    assert.ok(header.world_info, 'it has a book');
    assert.notEqual(header.world_info, was.book, 'of its own');
    assert.ok(!was.books.includes(header.world_info), 'that was not there before');
    assert.equal(header.forklore?.pending, undefined);

    const book = entries(tavern.book(header.world_info));
    // Another swipe of the last message has not what that message's scene has brought.
    const shown = tavern.forklore('show', was.parent, '--at', String(swipe === null ? at : at - 1));
    const expected = Object.fromEntries(shown.book.entries.map(({ comment, content }) => [comment, content]));
    assert.deepEqual(book, expected, 'the book is what it was at the message');
    const versions = header.auto_recap_running_scene_recaps?.versions ?? [];
    assert.deepEqual(versions.map(({ version }) => version), shown.running_recap.versions.map(({ version }) => version), 'the recap is of that point');

    const story = was.parent.startsWith('group:') ? was.parent.slice('group:'.length).split('/')[0] : was.parent.split('/')[0];
    const told = tavern.forklore('tree', story).stories[0].chats.find(({ chat }) => chat === fork);
    assert.deepEqual([told.parent, told.fork_message, told.lineage, told.book.state], [was.parent, at, 'recorded', 'own']);
    assert.notEqual(told.health, 'error', JSON.stringify(told.findings));

    assert.equal(bookBytes(tavern, was.book), was.bytes, 'the parent\'s book is untouched');
    assert.deepEqual(tavern.chat(was.parent).slice(1).map(({ mes }) => mes), was.texts, 'the parent\'s messages are untouched');
}

// What a book says, without the queue.
export function entries(book) {
    const told = Object.values(book.entries).filter(({ comment }) => comment !== '__operation_queue');
    return Object.fromEntries(told.map(({ comment, content }) => [comment, content]));
}
