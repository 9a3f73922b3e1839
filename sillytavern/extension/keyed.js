// What is kept by a chat's name outside of its file: the prompts of its messages, in the browser, and its vectors, on the server. They go
// with the chat: a fork has those of its messages, a new name takes them along, and the trash does not leave them behind. (A fork's
// vectors are made anew by SillyTavern when they are needed.)

import * as st from './st.js';

// Where SillyTavern keeps prompts; null if it does so elsewhere by now.
function prompts() {
    return SillyTavern.libs?.localforage?.createInstance({ name: 'SillyTavern_Prompts' }) ?? null;
}

// A fork was made.
export async function copied({ parent, chat, at, swipe }) {
    const [store, from, to] = [prompts(), st.nameOf(parent), st.nameOf(chat)];
    if (!store) {
        return;
    }
    // SillyTavern saves what it has in memory for the chat that is open by then: all of the parent's, later ones included.
    const own = await store.getItem(to);
    const all = own?.length ? own : await store.getItem(from);
    // Of another swipe nobody knows the prompt.
    const last = swipe === null || swipe === undefined ? at : at - 1;
    const kept = Array.isArray(all) ? all.filter(({ mesId }) => Number(mesId) <= last) : [];
    if (kept.length !== (own?.length ?? 0)) {
        await store.setItem(to, kept);
        await shown(chat);
    }
}

// A chat has another name.
export async function renamed(from, to) {
    const store = prompts();
    const all = from !== to && await store?.getItem(from);
    if (store && Array.isArray(all) && all.length && !(await store.getItem(to))?.length) {
        await store.setItem(to, all);
        await store.removeItem(from);
        await shown(st.here()?.address);
    }
}

// A chat went to the trash without SillyTavern's knowing.
export async function deleted(name) {
    await prompts()?.removeItem(name);
    await fetch('/api/vector/purge', {
        method: 'POST', headers: st.context().getRequestHeaders(), body: JSON.stringify({ collectionId: name }),
    });
}

// The page has read them when the chat was opened.
async function shown(chat) {
    if (chat && st.here()?.address === chat) {
        const { loadItemizedPrompts } = await import('/scripts/itemized-prompts.js');
        await loadItemizedPrompts(st.nameOf(chat));
    }
}

// Nothing that the user asked for fails because of these.
export function kept(work) {
    return work.catch((error) => console.warn('[Forklore] what is kept by the name of a chat did not follow', error));
}
