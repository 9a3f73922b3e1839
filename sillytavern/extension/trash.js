// What of this story is in Forklore's trash, and back from there.

import * as api from './api.js';
import { choose, make } from './dialogs.js';
import * as notices from './notices.js';
import * as st from './st.js';
import { count } from './words.js';

/** @param {{ group?: string, folder?: string }} story the open chat, or any of the story */
export async function openTrash({ group, folder }) {
    const { items } = await api.get('api/trash');
    const home = group ? 'group chats/' : `chats/${folder}/`;
    const away = await takenAway(group);
    const chats = items.filter(({ path, operation }) => path.startsWith(home) && away.has(operation));
    const books = (operation) => items.filter((item) => item.operation === operation && item.path.startsWith('worlds/'));
    const choices = chats.map(({ operation, path, at }) => {
        const own = books(operation).length;
        const when = new Date(at).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
        return [path, path.slice(home.length).replace(/\.jsonl$/, ''), `${own ? `With ${own === 1 ? 'its lorebook' : count(own, 'lorebook')}. ` : ''}In the trash since ${when}.`];
    });
    const about = chats.length ? 'Choose what is to come back.' : 'Nothing of this story is in the trash.';
    const path = await choose('Trash', make('p', about), choices, 'Close');
    const item = chats.find((one) => one.path === path);
    if (item) {
        await bringBack(item, books(item.operation).length > 0);
    }
}

// What took something away that may be missed. A new name leaves the old file there, too; and chats of all groups are in one folder: whose
// one is, the log tells.
async function takenAway(group) {
    const { operations } = await api.get('api/log');
    const meant = operations.filter(({ kind, chat }) => kind !== 'rename' && (!group || chat?.startsWith(`group:${group}/`)));
    return new Set(meant.map(({ id }) => id));
}

// What went there together comes back together.
async function bringBack({ operation, path }, together) {
    const report = await api.post('api/trash/restore', { item: together ? operation : path });
    const file = [report.restored].flat().find((name) => name?.endsWith('.jsonl')) ?? path;
    await st.refreshBooks();
    notices.info('It is back', file.replace(/^.*\//, '').replace(/\.jsonl$/, ''));
}
