// Making a fork: look first, save what the page holds, tell the engine what kind it will be, let SillyTavern make it, and tell what
// became of it. SillyTavern's own save passes the plugin, which is where the fork gets its book.

import * as api from './api.js';
import { checkpoint } from './checkpoint.js';
import * as dialogs from './dialogs.js';
import { link } from './edits.js';
import { changed } from './enter.js';
import * as fallback from './fallback.js';
import * as notices from './notices.js';
import { during } from './ours.js';
import * as st from './st.js';
import { lookAtPlugin, lookAtQueue, opened, state, update } from './state.js';
import { inTurn } from './turn.js';
import { waitFor } from './wait.js';
import { welcome } from './welcome.js';

const TITLE = { branch: 'Create branch', checkpoint: 'Create checkpoint' };

// Makes a fork of the open chat the way SillyTavern does, if nothing stands against it. `name` and `swipe` are optional. Gives the name
// of the fork; null if there is none.
export async function fork({ kind, at, swipe = null, name = null }) {
    if (state.busy) {
        notices.warning(TITLE[kind], 'A fork is already being made. Wait for it to end.');
        return null;
    }
    update({ busy: true });
    try {
        // What is forked is decided here, at the click, once: whatever is opened meanwhile.
        const wanted = { kind, chat: opened().address, at, swipe, name };
        const leave = await permission(wanted);
        return leave ? await inTurn(() => carryOut({ ...wanted, name: leave.name }, leave)) : null;
    } catch (error) {
        console.error('[Forklore]', error);
        notices.refusal(TITLE[kind], error);
        return null;
    } finally {
        update({ busy: false });
        lookAtQueue();
    }
}

/**
 * Whether the fork may be made, and how: null, or the flags for the engine, its name, and a name to suggest where SillyTavern asks for one.
 * @returns {Promise<{ flags: { ignore_queue?: boolean, strict?: boolean }, name: string | null, suggested: string } | null>}
 */
async function permission({ kind, chat, at, swipe, name }) {
    if (st.isGenerating()) {
        notices.warning(TITLE[kind], 'A reply is being written. Stop it or wait for its end, then fork: otherwise the fork would take the reply with it.');
        return null;
    }
    await st.flush();
    if (!['ready', 'unhooked'].includes(await lookAtPlugin())) {
        return (await fallback.consent(kind)) ? { flags: {}, name, suggested: '' } : null;
    }
    /** @type {{ ignore_queue?: boolean, strict?: boolean }} */
    const flags = {};
    let asked = name;
    for (;;) {
        const plan = await api.get('api/plan', { kind, chat, at, swipe, name: asked, ...flags });
        if (plan.ready) {
            return { flags, name, suggested: st.nameOf(plan.report.chat) };
        }
        if (plan.refusal.code === 'INVALID_NAME' && !asked) {
            // The settings want a name for every checkpoint.
            [name, asked] = Array(2).fill(await dialogs.named());
            if (!name) {
                return null;
            }
            continue;
        }
        const choice = await dialogs.refused(kind, plan.refusal, plan.queue);
        if (choice === 'wait') {
            waitFor({ kind, chat, at, swipe, name }).catch((error) => notices.refusal(TITLE[kind], error));
            return null;
        } else if (choice === 'ignore' && await dialogs.sure('Create without the queued work?', 'What the queue is still writing about this point of the story will be missing in the fork, and will not come later.', 'Create it now')) {
            flags.ignore_queue = true;
        } else if (choice === 'loose') {
            flags.strict = false;
        } else if (choice === 'overwrite') {
            // Whether that may be is between the user and SillyTavern.
            asked = null;
        } else {
            return null;
        }
    }
}

async function carryOut(wanted, { flags, suggested }) {
    const { kind, chat, at, swipe, name } = wanted;
    const protectedBy = state.mode;
    const announced = protectedBy === 'ready';
    const old = new Set((announced ? await recent() : []).map(identity));
    const announce = () => api.post('api/next-fork', { chat, kind, ...flags });
    if (announced) {
        await announce();
    }
    if (st.here()?.address !== chat || !st.isLoaded()) {
        return elsewhere(wanted, flags);
    }
    // Holds for a minute; somebody may think longer about a name.
    const renew = announced ? setInterval(() => announce().catch(() => {}), 45_000) : undefined;
    let whole = true;
    try {
        return await during(chat, async () => {
            const fork = await st.staying(() => (kind === 'branch' ? st.branch(at, swipe) : checkpoint(at, name, suggested)));
            if (fork) {
                whole = await settle(fork, kind, protectedBy, chat, old);
            }
            return fork || null;
        });
    } finally {
        clearInterval(renew);
        if (!whole) {
            // It is open, and nobody looks at a chat again that is: what is missing comes as soon as there is an engine.
            changed();
        }
    }
}

// Another chat was opened meanwhile: SillyTavern would fork that one. The engine forks the one that was meant, and the page stays where
// it is.
async function elsewhere({ kind, ...wanted }, flags) {
    if (!['ready', 'unhooked'].includes(state.mode)) {
        throw new api.Refusal(0, { code: 'CHAT_CHANGED', message: 'Another chat was opened before the fork was made.', to_do: 'Nothing was made. Go back and fork again.' });
    }
    const report = await api.post(`api/${kind}`, { ...wanted, ...flags });
    await welcome(report);
    return st.nameOf(report.chat);
}

// What became of a fork that SillyTavern has saved. Gives whether it is whole, as far as it can be here.
async function settle(name, kind, protectedBy, parent, old) {
    const story = parent.slice(0, parent.indexOf('/') + 1);
    // The engine names chats by their files.
    const chat = story + await st.fileName(name, '.jsonl');
    if (protectedBy === 'ready') {
        const result = await outcome(chat, old);
        if (result?.state === 'made') {
            await welcome(result.report);
            return true;
        }
        if (result?.state === 'pending') {
            notices.warning('The fork has no lorebook yet', [result.refusal?.message, 'It was saved without one. Forklore gives it its own as soon as it can.']);
            return false;
        }
    } else if (protectedBy === 'unhooked') {
        const healed = await api.post('api/heal', { chat, choose: 'rebuild' });
        notices.done(kind === 'branch' ? 'Branch created' : 'Checkpoint created', healed);
        if (st.here()?.address === story + name) {
            await st.reload(healed.actions.map((action) => action.book));
        }
        return true;
    } else {
        fallback.told(name);
        return true;
    }
    // The engine went meanwhile.
    await lookAtPlugin();
    const entered = await api.get('api/enter', { chat }).catch(() => null);
    if (!entered?.entering) {
        notices.warning('The fork has no lorebook yet', st.here()?.address === story + name
            ? 'Forklore was away when SillyTavern saved it, and gives it its own as soon as it is back.'
            : 'Forklore was away when SillyTavern saved it. It gets its own when you open it.');
    }
    return false;
}

// What the engine did about a fork that has just been saved. `old` are the forks that it told of before.
async function outcome(chat, old) {
    for (let tries = 0; tries < 40; tries += 1) {
        const known = await api.get('api/recent').catch(() => null);
        const found = known?.forks.find((fork) => fork.chat === chat && !old.has(identity(fork)));
        if (found || !known) {
            return found ?? null;
        }
        await st.pause(250);
    }
    return null;
}

async function recent() {
    return (await api.get('api/recent').catch(() => ({ forks: [] }))).forks;
}

function identity(fork) {
    return JSON.stringify([fork.chat, fork.state, fork.operation]);
}

/**
 * For other extensions, commands and the panel: the engine makes the fork itself. Throws what stands against it.
 * @param {{
 *     kind?: 'checkpoint' | 'branch', at?: number, name?: string, swipe?: number, whenReady?: boolean, ignoreQueue?: boolean,
 *     strict?: boolean, open?: boolean,
 * }} wanted
 */
export async function create({ kind = 'checkpoint', at, name, swipe, whenReady = false, ignoreQueue = false, strict, open } = {}) {
    const chat = opened().address;
    if (st.isGenerating()) {
        throw new api.Refusal(0, { code: 'CHAT_CHANGED', message: 'A reply is being written.', to_do: 'Wait for its end, then fork.' });
    }
    await st.flush();
    const wanted = { chat, at, name, swipe: kind === 'branch' ? swipe : undefined, ignore_queue: ignoreQueue || undefined, strict };
    if (whenReady) {
        return waitFor({ kind, ...wanted });
    }
    return during(chat, async () => {
        const report = await api.post(`api/${kind}`, wanted);
        link(report);
        await welcome(report);
        if ((open ?? kind === 'branch') && st.here()?.address === chat) {
            await st.open(report.chat);
        }
        return report;
    });
}
