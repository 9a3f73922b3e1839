// Links and lists that Forklore set in files which an open page rewrites from memory: they are made again in the page's memory, and
// the page saves them.

import * as api from './api.js';
import { watch } from './requests.js';
import * as st from './st.js';

const SOON = 1500;
export const SAVES = ['/api/chats/save', '/api/chats/group/save', '/api/groups/edit'];
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
let saves = 0;

// Whenever this page has saved from its memory, links that it did not know of are made again. Only its own saves count: another page
// has newer messages, and what this one has in memory must not go over them.
export function watchSaves() {
    watch(SAVES, () => {
        const saved = { turn: ++saves, chat: st.here()?.address, length: st.context().chat.length };
        return ({ ok }) => {
            if (ok) {
                clearTimeout(timer);
                timer = setTimeout(() => again(saved), SOON);
            }
        };
    });
}

async function again(saved) {
    // Whoever goes on in between saves again, and comes here again: what the file has is then not what this page has.
    const stands = () => saved.turn === saves && saved.chat === st.here()?.address && saved.length === st.context().chat.length && !st.isGenerating();
    const open = st.here();
    if (!open || !stands()) {
        return;
    }
    const edits = await lost(open.group ? undefined : open.address);
    if (stands()) {
        await make(edits);
    }
}

// Links that are not there any more; `chat`: only those in its file.
async function lost(chat) {
    const { edits } = await api.get('api/pending', { chat }).catch(() => ({ edits: [] }));
    return edits;
}

async function make(edits) {
    for (const edit of edits) {
        await apply(edit).catch((error) => console.warn('[Forklore]', error));
    }
}

// `fresh`: the page has just read the chat. Else it may be older than the file, and a save would go over what others wrote: then only
// lists and settings are mended.
export async function applyEdits(fresh) {
    const edits = await lost();
    await make(fresh ? edits : edits.filter(({ file }) => !/^(group )?chats\//.test(file)));
}

async function apply({ file, message, changes }) {
    const { chat, groups, extensionSettings, saveSettingsDebounced, saveChat } = st.context();
    const open = st.here();
    if (file === 'settings.json') {
        // The page owns the extensions' part of the settings.
        const inside = changes.filter(({ path }) => path[0] === 'extension_settings');
        inside.forEach((change) => set(extensionSettings, { ...change, path: change.path.slice(1) }));
        if (inside.length) {
            saveSettingsDebounced();
        }
    } else if (file.startsWith('groups/')) {
        const id = file.slice('groups/'.length, -'.json'.length);
        const group = groups.find((group) => group.id === id);
        if (group) {
            changes.forEach((change) => set(group, change));
            await st.saveGroup(id);
        }
    } else if (open && st.isLoaded() && file === fileOf(open) && chat[message] && !st.isGenerating()) {
        changes.forEach((change) => set(chat[message], change));
        const link = chat[message].extra?.bookmark_link;
        if (link) {
            document.querySelector(`#chat .mes[mesid="${message}"]`)?.setAttribute('bookmark_link', link);
        }
        await saveChat();
    }
}

// The engine has put a link to a fork into the file of the open chat: the page's own copy gets it, too, or its next save would lose it.
export function link({ kind, chat: fork, parent, at }) {
    const { chat } = st.context();
    const message = st.here()?.address === parent ? chat[at] : null;
    if (!message) {
        return;
    }
    const name = st.nameOf(fork);
    message.extra ??= {};
    if (kind === 'checkpoint') {
        flag(chat, at, name);
    } else {
        set(message.extra, { path: ['branches'], include: name });
    }
}

// A chat has another name, whoever gave it: what this page has in memory leads there, too. SillyTavern would make an empty chat of the old
// name. The file says it already, so nothing is saved.
export async function renamed({ what, act, chat: address, from }) {
    const open = st.here();
    if (what !== 'chat' || act !== 'renamed' || !address || !from || !open || !address.startsWith(open.group ? 'group:' : `${open.folder}/`)) {
        return;
    }
    const [old, name] = [from.slice(from.lastIndexOf('/') + 1), st.nameOf(address)];
    const isIt = async (link) => typeof link === 'string' && (link === old || await st.fileName(link, '.jsonl') === old);
    const { chat, chatMetadata } = st.context();
    for (const [at, { extra }] of chat.entries()) {
        if (await isIt(extra?.bookmark_link)) {
            flag(chat, at, name);
        }
        for (const branch of Array.isArray(extra?.branches) ? extra.branches : []) {
            if (await isIt(branch)) {
                set(extra, { path: ['branches'], exclude: branch });
                set(extra, { path: ['branches'], include: name });
            }
        }
    }
    if (await isIt(chatMetadata.main_chat)) {
        chatMetadata.main_chat = name;
    }
}

// The flag of a message leads to a chat.
function flag(chat, at, name) {
    chat[at].extra.bookmark_link = name;
    if (chat === st.context().chat) {
        document.querySelector(`#chat .mes[mesid="${at}"]`)?.setAttribute('bookmark_link', name);
    }
}

/** @param {{ group?: string, folder?: string, name: string }} chat */
export function fileOf({ group, folder, name }) {
    return group ? `group chats/${name}.jsonl` : `chats/${folder}/${name}.jsonl`;
}

/**
 * @param {any} target
 * @param {{ path: string[], set?: any, remove?: boolean, include?: any, exclude?: any }} change
 */
export function set(target, { path, set: value, remove, include, exclude }) {
    const keys = [...path];
    const last = keys.pop() ?? '';
    for (const key of keys) {
        if (typeof target[key] !== 'object' || target[key] === null) {
            target[key] = {};
        }
        target = target[key];
    }
    if (remove) {
        delete target[last];
    } else if (include !== undefined) {
        const list = Array.isArray(target[last]) ? target[last] : [];
        target[last] = list.includes(include) ? list : [...list, include];
    } else if (exclude !== undefined) {
        target[last] = (target[last] ?? []).filter((item) => item !== exclude);
    } else {
        target[last] = value;
    }
}
