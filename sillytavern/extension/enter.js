// On entering a chat: is its lorebook its own, is it there, is it the right one? What can be put right without touching anything of
// the user's is; for the rest the user is asked, and generating waits.

import * as api from './api.js';
import * as dialogs from './dialogs.js';
import { applyEdits } from './edits.js';
import { expect } from './guard.js';
import * as hold from './hold.js';
import * as notices from './notices.js';
import { isMakingAny } from './ours.js';
import { setting } from './settings.js';
import * as st from './st.js';
import { lookAtPlugin, state, update } from './state.js';
import { work } from './words.js';

// A fork may get its own book unasked; anything else is asked.
const UNASKED = new Set(['BOOK_SHARED', 'PENDING_FORK']);
// What is worth knowing and nothing has to be done about: the panel has it.
const QUIET = new Set(['BASELINE_CHANGED', 'BOOK_ALSO_GLOBAL', 'PARENT_MISSING', 'TMP_LITTER']);
let turn = 0;
let told = null;
let entered = null;
let asking = false;

// `fresh`: the page has just read the chat.
export function changed(fresh = false) {
    const promise = enter(fresh).catch((error) => {
        if (!['CHAT_NOT_FOUND', 'NO_PLUGIN'].includes(error.code)) {
            console.warn('[Forklore]', error);
        }
    });
    hold.during(promise);
    return promise;
}

async function enter(fresh) {
    const mine = ++turn;
    const open = st.here();
    // A fork that this page is just making is told of by whoever makes it.
    const own = isMakingAny();
    if (open?.address !== entered) {
        dialogs.dismiss();
    }
    const left = entered;
    entered = open?.address;
    if (left && left !== entered && !own) {
        warnOfWork(left).catch(() => {});
    }
    hold.release();
    update({ entered: null, queue: null });
    if (!open) {
        told = null;
        return;
    }
    const mode = state.mode === 'ready' ? 'ready' : await lookAtPlugin();
    if (!['ready', 'unhooked'].includes(mode) || mine !== turn) {
        return;
    }
    const found = await api.get('api/enter', { chat: open.address });
    if (mine !== turn) {
        return;
    }
    if (!own && await mendOnce(found, open.address)) {
        return;
    }
    if (mine !== turn) {
        return;
    }
    update({ entered: found, queue: found.queue });
    if (found.hold) {
        hold.hold(open.address);
    }
    if (found.entering && told !== open.address && !own) {
        notices.restored(found.entering, open.name);
    }
    if (found.entering && Date.now() - Date.parse(found.entering.created) < 30_000) {
        expect(open.address);
    }
    warn(found, own || told === open.address);
    told = open.address;
    await applyEdits(fresh);
    // What this page is just making may lack its book for a moment: nobody is asked about that.
    if (hold.isHeld() && !own) {
        decide();
    }
}

// An extension with a queue does what is in it with whatever chat is open: work that was left behind would be done in this one.
async function warnOfWork(left) {
    const queue = await api.get('api/queue', { chat: left });
    if (!queue.idle && st.here()?.address !== left) {
        notices.warning(`Work was left behind in ${st.nameOf(left)}`, [
            `${work(queue)}. It may be done in the chat that is open now.`, 'Click to go back until it is done.',
        ], { onclick: () => st.open(left) });
    }
}

// What the page has not saved yet is saved before the engine changes the chat. But a page with fewer messages than the file is older
// than it: what it holds must not go over what another page wrote, and loading the chat again brings that.
async function flush(entered = state.entered) {
    if (st.context().chat.length >= (entered?.messages ?? 0)) {
        await st.flush();
    }
}

// A chat is entered twice where it is opened just as the engine comes back. Of two repairs at once, the second would save what the first
// has made outdated, and SillyTavern would refuse that with an alarm. So the second waits: if the chat was changed, it is loaded again,
// and whoever enters it then finds it in order, also while the first is still busy with that.
let mending = null;

async function mendOnce(found, chat) {
    if (mending?.chat === chat) {
        await mending.done.catch(() => {});
        return false;
    }
    const done = mend(found, chat).finally(() => {
        if (mending?.done === done) {
            mending = null;
        }
    });
    mending = { chat, done };
    return done;
}

// What the engine may do unasked. Gives whether the chat was changed: it is loaded again then, which enters it again.
async function mend(entered, chat) {
    if (entered.pending) {
        await flush(entered);
        const { finished, reports } = await api.post('api/pending/finish', { chat });
        if (finished.length) {
            // Whoever was asked about it need not answer any more.
            dialogs.dismiss();
            await st.reload(reports.flatMap(({ actions }) => actions.map((action) => action.book)));
            notices.done('The fork has its lorebook now', reports);
            return true;
        }
        return false;
    }
    const [question] = entered.questions;
    const unrecorded = entered.findings.some(({ code }) => code === 'UNRECORDED_FORK');
    if (!setting('adopt') || !(question ? UNASKED.has(question.code) && !question.ask_first : unrecorded)) {
        return false;
    }
    await flush(entered);
    const healed = await api.post('api/heal', { chat, choose: question ? 'rebuild' : undefined });
    if (!healed.operation) {
        return false;
    }
    await st.reload(healed.actions.map((action) => action.book));
    notices.done('Adopted', healed, 'This fork was made without Forklore.');
    return true;
}

// What is wrong without standing in the way. The rest is a click away.
function warn({ findings, hold: held }, again) {
    const worth = findings.filter(({ code, severity }) => !QUIET.has(code) && (severity === 'warning' || (severity === 'error' && !held)));
    if (!worth.length || again || held) {
        return;
    }
    const first = worth.find(({ severity }) => severity === 'error') ?? worth[0];
    const more = worth.length > 1 ? `this and ${worth.length - 1} more` : 'it';
    notices.warning('About this chat', [shortened(first.message), `Click to see what can be done about ${more}.`], { onclick: () => decide() });
}

function shortened(text) {
    return text.length > 160 ? `${text.slice(0, 157)}…` : text;
}

// Asks what is to become of the book of the open chat.
export async function decide() {
    const entered = state.entered;
    if (!entered || asking || entered.chat !== st.here()?.address) {
        return;
    }
    asking = true;
    try {
        const [question] = entered.questions;
        const choice = question || !entered.hold
            ? await dialogs.repair(question, entered)
            : await dialogs.choose('This fork has no lorebook yet', dialogs.make('p', entered.pending?.message ?? 'Forklore could not give it one.'), [
                ['again', 'Try again'], ['continue', 'Continue anyway', 'Generate without a lorebook.'], ...dialogs.back(entered.place),
            ], 'Not now');
        if (choice === 'parent') {
            await st.open(entered.place.parent);
        } else if (choice === 'continue') {
            hold.waive(entered.chat);
        } else if (choice === 'again') {
            await changed();
        } else if (choice) {
            await heal(entered.chat, choice);
        }
    } catch (error) {
        notices.refusal('The lorebook was not changed', error);
    } finally {
        asking = false;
    }
}

// What there is to say of any chat, with what can be done about it.
export async function askAbout(chat) {
    const found = await api.get('api/enter', { chat });
    const choice = await dialogs.repair(found.questions[0], { ...found, hold: false, place: null });
    if (choice) {
        await heal(chat, choice);
    }
}

export async function heal(chat, choice) {
    await flush();
    const healed = await api.post('api/heal', { chat, choose: choice });
    const books = healed.actions.map((action) => action.book);
    if (st.here()?.address === chat) {
        await st.reload(books);
    } else {
        await st.refreshBooks(books);
    }
    notices.done('Done', healed);
    return healed;
}
