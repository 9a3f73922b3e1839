// The checkpoint that is made by itself when a scene has ended and the memory extension is done with it, if the vault's settings ask for
// it (`checkpoint.at_scene_break`).

import * as api from './api.js';
import { create } from './fork.js';
import * as notices from './notices.js';
import * as st from './st.js';
import { lookAtQueue, state } from './state.js';
import { vaultSetting } from './vault.js';

// Scenes of each chat that were there when it was opened, or that have their checkpoint.
const known = new Map();
let wanted = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

export async function readSettings() {
    wanted = Boolean(await vaultSetting('checkpoint.at_scene_break'));
}

export function soon() {
    clearTimeout(timer);
    timer = setTimeout(() => look().catch((error) => console.warn('[Forklore]', error)), 1500);
}

async function look() {
    const open = st.here();
    await lookAtQueue();
    if (!wanted || !open || state.busy) {
        return;
    }
    const { stories } = await api.get('api/tree', { story: open.story });
    const chats = stories.flatMap((story) => story.chats);
    const scenes = chats.find(({ chat }) => chat === open.address)?.scenes ?? [];
    if (!known.has(open.address)) {
        known.set(open.address, new Set(scenes));
        return;
    }
    const done = known.get(open.address);
    const fresh = scenes.filter((scene) => !done.has(scene));
    if (!fresh.length) {
        return;
    }
    if (!state.queue?.idle || st.isGenerating()) {
        setTimeout(soon, 3000);
        return;
    }
    for (const at of fresh) {
        done.add(at);
        const has = chats.some((chat) => chat.parent === open.address && chat.kind === 'checkpoint' && chat.fork_message === at);
        // A flag that somebody has set stays.
        const flagged = st.context().chat[at]?.extra?.bookmark_link;
        if (!has && !flagged && st.here()?.address === open.address) {
            await create({ kind: 'checkpoint', at, open: false }).catch((error) => notices.refusal('No checkpoint at the end of the scene', error));
        }
    }
}
