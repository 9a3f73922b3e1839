// What is done with a chat of the story, open or not: another name, the trash and back, and undoing that it was made. SillyTavern's page has
// names of chats in its memory, which follow.

import * as api from './api.js';
import * as dialogs from './dialogs.js';
import * as keyed from './keyed.js';
import * as notices from './notices.js';
import * as st from './st.js';
import { advice } from './words.js';

const { make } = dialogs;

// Asks for a new name. Gives it; null if it stays as it is.
export async function rename(address) {
    const old = st.nameOf(address);
    const name = await st.context().Popup.show.input('Rename', 'The new name of this chat:', old);
    if (!name || name === old) {
        return null;
    }
    if (address === st.here()?.address) {
        // SillyTavern's page must know.
        await st.context().renameChat(old, name);
        return name;
    }
    await api.post('api/rename', { chat: address, name });
    await keyed.kept(keyed.renamed(old, name));
    await inGroup(address, (chats) => chats.map((item) => (item === old ? name : item)));
    return name;
}

// A chat that was made elsewhere is one of its group's, also in the page's memory.
export function listed(address) {
    return inGroup(address, (chats) => (chats.includes(st.nameOf(address)) ? chats : [...chats, st.nameOf(address)]));
}

// Asks, and moves a chat that is not open to the trash with its own lorebook.
export async function remove(address) {
    const plan = await api.post('api/delete', { chat: address, dry_run: true });
    const text = [
        make('p', `"${st.nameOf(address)}" goes to Forklore's trash${plan.books.length ? `, with its lorebook "${plan.books.join('", "')}"` : ''}. It can be brought back.`),
        ...(plan.warnings ?? []).map((warning) => make('p.forklore-quiet', advice(warning))),
    ];
    if (await dialogs.choose('Move this chat to the trash?', text, [['yes', 'Move to the trash']]) !== 'yes') {
        return;
    }
    await gone(address, plan.books, () => api.post('api/delete', { chat: address }));
}

async function gone(address, books, work) {
    await work();
    const name = st.nameOf(address);
    await keyed.kept(keyed.deleted(name));
    await inGroup(address, (chats) => chats.filter((item) => item !== name));
    await st.refreshBooks(books);
}

// A fork is taken back as if it had not been made. One that was played on stays, unless somebody wants it in the trash.
export async function takeBack({ operation, chat, parent, book }) {
    const books = [book.shared ? null : book.name];
    // What is on this page counts as played, too.
    await st.flush();
    const played = await playedOn(operation);
    if (played && await dialogs.choose('It was played on since', make('p', played), [
        ['trash', 'Move it to the trash instead', 'With its lorebook. It can be brought back from the panel.'],
    ], 'Keep it') !== 'trash') {
        return;
    }
    // Who is in it goes back to its parent first: its file must not be saved again.
    if (st.here()?.address === chat && !await st.open(parent)) {
        notices.warning('It was not undone', 'SillyTavern is busy. Try it again when nothing is being written.');
        return;
    }
    await gone(chat, books, () => (played ? api.post('api/delete', { chat }) : api.post('api/undo', { operation })));
    if (st.here()?.address === parent) {
        // The link to it is not in the file any more.
        await st.reload();
    }
    notices.info(played ? 'In the trash' : 'Undone', `"${st.nameOf(chat)}" ${played ? 'can be brought back from the panel.' : 'is not there any more.'}`);
}

// Why a fork cannot be taken back any more; nothing if it can.
async function playedOn(operation) {
    try {
        await api.post('api/undo', { operation, dry_run: true });
        return null;
    } catch (error) {
        if (error.code !== 'MOVED_ON') {
            throw error;
        }
        return error.message;
    }
}

// A group's list of chats is in the page's memory, too.
async function inGroup(address, change) {
    const id = address.startsWith('group:') ? address.slice('group:'.length, address.indexOf('/')) : null;
    const group = st.context().groups.find((one) => one.id === id);
    if (group) {
        group.chats = change(group.chats);
        await st.saveGroup(group.id);
    }
}
