// What Forklore needs of SillyTavern's page, in one place. What its context offers is taken from there; the few things that it does
// not offer are imported one by one, and what is not there any more is named in `missing` instead of breaking the rest.

/** @type {string[]} */
export const missing = [];

async function take(file, name) {
    try {
        const module = await import(`../../../../${file}`);
        if (module[name] === undefined) {
            throw new Error(`${file} has no ${name}`);
        }
        return module[name];
    } catch (error) {
        missing.push(`${name} (${file})`);
        console.warn(`[Forklore] ${error.message}`);
        return null;
    }
}

/**
 * Functions of SillyTavern's that are looked up once.
 * @type {Record<string, any>}
 */
const taken = {};
/** @type {{ world_names?: string[] } | null} */
let worldInfo = null;

export async function load() {
    const wanted = {
        branchChat: 'scripts/bookmarks.js', cancelDebouncedMetadataSave: 'scripts/extensions.js', createNewBookmark: 'scripts/bookmarks.js',
        editGroup: 'scripts/group-chats.js', openGroupById: 'scripts/group-chats.js', worldInfoCache: 'scripts/world-info.js',
    };
    worldInfo = await import('/scripts/world-info.js').catch(() => null);
    await Promise.all(Object.entries(wanted).map(async ([name, file]) => { taken[name] = await take(file, name); }));
}

// The chat that SillyTavern has last finished loading. While it loads one, its name is already the new one and its messages are none:
// a save at that moment would empty the file.
/** @type {string | null} */
let loaded = null;

export function follow() {
    const { eventSource, eventTypes } = context();
    loaded = here()?.address ?? null;
    eventSource.makeFirst(eventTypes.CHAT_CHANGED, () => { loaded = here()?.address ?? null; });
}

export function isLoaded() {
    const { chat, chatMetadata } = context();
    return loaded !== null && loaded === here()?.address && chat.length > 0 && Boolean(chatMetadata?.integrity);
}

export function context() {
    return SillyTavern.getContext();
}

/**
 * The open chat: `address` as the engine names it, `name` as SillyTavern does; null if none is open.
 * @returns {{ address: string, name: string, story: string, group?: string, folder?: string } | null}
 */
export function here() {
    const { groupId, groups, characterId, characters } = context();
    if (groupId) {
        const name = groups.find((group) => group.id === groupId)?.chat_id;
        return name ? { address: `group:${groupId}/${name}`, name, group: groupId, story: groupId } : null;
    }
    const character = characterId === undefined ? null : characters[Number(characterId)];
    if (!character?.chat) {
        return null;
    }
    const folder = character.avatar.replace(/\.png$/, '');
    return { address: `${folder}/${character.chat}`, name: character.chat, folder, story: folder };
}

export function nameOf(address) {
    return address.slice(address.indexOf('/') + 1);
}

// What an event is about; null if it is no element.
export function target(event) {
    return event.target instanceof Element ? event.target : null;
}

export function isGenerating() {
    return document.body.dataset.generating === 'true';
}

export function boundBook() {
    return context().chatMetadata?.world_info || null;
}

// The book that the open chat was made with, as its own header tells. One that has a fork's name only, or a fork's record only, is none.
export function ownBook() {
    const { integrity, forklore } = context().chatMetadata ?? {};
    return integrity && forklore?.owner?.slug === integrity ? forklore.book?.name ?? null : null;
}

// SillyTavern 1.13 does not offer them by a function.
export function bookNames() {
    return context().getWorldInfoNames?.() ?? worldInfo?.world_names ?? [];
}

// Which book a request of SillyTavern's saves: the name comes first in what it sends.
export function bookOf(text) {
    const name = /^\{"name":("(?:[^"\\]|\\.)*")/.exec(text)?.[1];
    return name ? JSON.parse(name) : null;
}

// Writes what the page has not written yet: the chat, and the book if the page holds another one than the disk. Saves are delayed by a
// second and a second book's save cancels the first one's, so the page's copy is the newer one.
export async function flush() {
    if (!isLoaded()) {
        return;
    }
    const book = boundBook();
    if (book && taken.worldInfoCache?.has(book)) {
        const held = await context().loadWorldInfo(book);
        const saved = await post('/api/worldinfo/get', { name: book });
        if (JSON.stringify(held) !== JSON.stringify(saved) && bookNames().includes(book)) {
            await context().saveWorldInfo(book, held, true);
        }
    }
    if (isLoaded()) {
        // A save that SillyTavern has delayed would come while it loads the next chat, and would empty that one's file: it comes now.
        taken.cancelDebouncedMetadataSave?.();
        await context().saveChat();
    }
}

export async function post(address, body) {
    const headers = context().getRequestHeaders();
    const response = await fetch(address, { method: 'POST', headers, body: JSON.stringify(body) });
    return response.json().catch(() => null);
}

// The name that a file gets, without its ending. SillyTavern leaves out what file systems do not like, and asking it is the only way to
// be of one mind with it.
export async function fileName(name, ending) {
    const answer = await post('/api/files/sanitize-filename', { fileName: `${name}${ending}` }).catch(() => null);
    const file = answer?.fileName;
    return file?.endsWith(ending) && file !== ending ? file.slice(0, -ending.length) : name;
}

/**
 * Books have changed on disk: pages keep them for ever, unless told.
 * @param {(string | null)[]} names
 */
export async function refreshBooks(names = []) {
    const changed = names.flatMap((name) => name || []);
    changed.forEach((name) => taken.worldInfoCache?.delete(name));
    await context().updateWorldInfoList();
    const book = boundBook();
    const known = book !== null && bookNames().includes(book);
    document.querySelectorAll('.chat_lorebook_button').forEach((button) => button.classList.toggle('world_set', known));
    changed.forEach((name) => context().reloadWorldInfoEditor(name, false));
}

export function isCached(book) {
    return Boolean(taken.worldInfoCache?.has(book));
}

/**
 * The file of the open chat has changed on disk.
 * @param {(string | null)[]} books
 */
export async function reload(books = []) {
    await refreshBooks(books);
    await context().reloadCurrentChat();
}

// Opens a chat, of the story that is open now or of another; false if there is no such story, or SillyTavern stays where it is, as it
// does while it saves or a reply is written: it would take the name for one of the story that is open.
export async function open(address) {
    if (isGenerating()) {
        return false;
    }
    const [story, name] = [address.slice(0, address.indexOf('/')), nameOf(address)];
    await refreshBooks();
    if (story.startsWith('group:')) {
        const id = story.slice('group:'.length);
        const group = context().groups.find((group) => group.id === id);
        if (!group) {
            return false;
        }
        if (!group.chats.includes(name)) {
            group.chats.push(name);
        }
        if (context().groupId !== id) {
            await taken.openGroupById?.(id);
        }
        if (context().groupId !== id) {
            return false;
        }
        await context().openGroupChat(id, name);
        return true;
    }
    const { characters, characterId, groupId } = context();
    const index = characters.findIndex(({ avatar }) => avatar === `${story}.png`);
    if (index < 0) {
        return false;
    }
    if (groupId || Number(characterId) !== index) {
        await context().selectCharacterById(index);
    }
    if (context().groupId || Number(context().characterId) !== index) {
        return false;
    }
    if (context().getCurrentChatId() !== name) {
        await context().openCharacterChat(name);
    }
    return true;
}

export async function saveGroup(id) {
    await taken.editGroup?.(id, true, false);
}

// Gives whether it could be done.
export async function bind(book) {
    if (!isLoaded()) {
        return false;
    }
    context().chatMetadata.world_info = book;
    await context().saveMetadata();
    await refreshBooks([book]);
    return true;
}

// SillyTavern's own way to fork. Both give the name of the fork, or nothing if there is none.
export function branch(at, swipe = null) {
    return taken.branchChat(at, { swipeId: swipe });
}

export function checkpoint(at, name = null) {
    return taken.createNewBookmark(at, { forceName: name });
}

// SillyTavern's own way to fork takes what is open at each of its steps: nobody clicks away meanwhile. Dialogs lie above.
export async function staying(work) {
    document.body.classList.add('forklore-forking');
    try {
        return await work();
    } finally {
        document.body.classList.remove('forklore-forking');
    }
}

export function canFork() {
    return Boolean(taken.branchChat && taken.createNewBookmark);
}

export function pause(milliseconds) {
    return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
