// Asks what is missing in the open chat's memory, through a connection of the user's, one question after the other, when the line has
// come to rest. What is asked and whether a reply is an answer is the engine's affair; generating waits for it only if somebody wants that (`patience.js`).

import { absorbing } from './absorb.js';
import * as api from './api.js';
import { ask, Unanswered } from './ask.js';
import { look, memory, stale, subscribe, update } from './memory.js';
import { connection } from './profiles.js';
import { change, chosen } from './settings.js';
import { isReplacing, isSettled, left, onTouch, quiet, SETTLED } from './settle.js';
import * as st from './st.js';
import { opened } from './state.js';

const PAUSED = 'memory_paused';
// So often a server that does not answer is asked again before somebody has to say so.
const TRIES = 5;

/** @type {ReturnType<typeof setTimeout> | undefined} */
let waiting;
/** @type {AbortController | null} */
let running = null;
let failures = 0;
// Messages whose scenes are to be asked about again, although that was answered.
/** @type {number[]} */
let again = [];
// Something has happened since the engine was last asked: what is remembered may have to be written anew without a question, such as
// after swiping back.
let fresh = true;
// Somebody wants what was edited to be asked about again. Before that it costs nothing.
let allowed = false;

export function start() {
    const { eventSource, eventTypes } = st.context();
    eventSource.on(eventTypes.CHAT_CHANGED, entered);
    ['CONNECTION_PROFILE_CREATED', 'CONNECTION_PROFILE_UPDATED', 'CONNECTION_PROFILE_DELETED'].map((name) => eventTypes[name]).filter(Boolean)
        .forEach((event) => eventSource.on(event, changedMind));
    onTouch(() => {
        fresh = true;
        schedule();
    });
    subscribe(() => schedule());
    entered();
}

function entered() {
    running?.abort();
    [again, allowed, fresh, failures] = [[], false, true, 0];
    update({ status: null, asking: null, asked: 0, problem: null });
    look();
}

export function isPaused() {
    return Boolean(chosen(PAUSED));
}

export function pause(yes) {
    change(PAUSED, yes);
    if (yes) {
        running?.abort();
    }
    changedMind();
}

// Somebody has chosen something else: what stood against asking may not do so any more.
export function changedMind() {
    failures = 0;
    update({ problem: null });
}

// Nothing more is waited for: somebody wants it now.
export function now() {
    [failures, allowed] = [0, true];
    update({ problem: null });
    return work(true);
}

export function askAgain(at) {
    again.push(at);
    return now();
}

// What had no reply that could be used is asked once more.
export async function retry() {
    update({ status: await api.post('api/memory/retry', { chat: opened().address }) });
    await now();
}

// What was edited is asked about only if somebody wants that: it can be kept.
function mayAsk() {
    return Boolean(connection().profile) && (allowed || !stale().length);
}

// Whether there is something to do now, as far as is known, and nothing stands against it.
export function isWanted() {
    const { status, problem } = memory;
    const missing = again.length > 0 || status?.questions > 0;
    return Boolean(status) && !problem && !isPaused() && (fresh || (missing && mayAsk()));
}

// Whether the engine or a model is being asked.
export function isWorking() {
    return running !== null;
}

function schedule(soonest = left()) {
    if (isWanted() && !running) {
        clearTimeout(waiting);
        waiting = setTimeout(work, Math.max(soonest, SETTLED / 10));
    }
}

// Gives whether no other page was at it, if it was tried.
/** @returns {Promise<boolean | undefined>} */
export async function work(urgent = false) {
    const open = st.here();
    clearTimeout(waiting);
    if (!open || running || !isWanted()) {
        return;
    }
    if (!urgent && !isSettled()) {
        schedule();
        return;
    }
    running = new AbortController();
    const { signal } = running;
    let mine = true;
    try {
        mine = await alone(() => run(open.address, signal, urgent));
    } catch (error) {
        failed(error, open.address);
    } finally {
        running = null;
        update({ asking: null });
    }
    if (!mine) {
        schedule(SETTLED);
    }
    return mine;
}

// Two pages of a browser do not ask the same: gives whether no other was at it. Over plain HTTP from another machine there are no locks;
// then both ask, and the first answer counts.
async function alone(asks) {
    if (!navigator.locks) {
        await asks();
        return true;
    }
    return navigator.locks.request('forklore-memory', { ifAvailable: true }, async (lock) => {
        if (lock) {
            await asks();
        }
        return Boolean(lock);
    });
}

function failed(error, chat) {
    if (error.name === 'AbortError' || st.here()?.address !== chat) {
        return;
    }
    console.warn('[Forklore]', error);
    failures += 1;
    const wait = error instanceof Unanswered ? error.wait : null;
    update({ problem: `${error.message} ${error.hint ?? ''}`.trim() });
    if (wait !== null && failures < TRIES) {
        clearTimeout(waiting);
        waiting = setTimeout(() => {
            update({ problem: null });
            work();
        }, wait * failures);
    }
}

async function run(chat, stop, urgent) {
    let saved = false;
    let first = urgent;
    fresh = false;
    while (!stop.aborted && st.here()?.address === chat && (first || isSettled())) {
        const at = again[0];
        const { question, stopped, unwritten, status } = await api.get('api/memory/next', { chat, again: at });
        stop.throwIfAborted();
        update({ status, problem: stopped ? `${stopped[0].toUpperCase()}${stopped.slice(1)}.` : null });
        const asks = question && mayAsk();
        if (!asks && !unwritten) {
            if (!question) {
                [again, allowed] = [[], false];
            }
            return;
        }
        if (!saved) {
            // What this page has not saved yet is part of what is asked about.
            saved = true;
            await (isReplacing() ? null : save(status, stop));
        } else if (asks) {
            first = false;
            await answer(chat, question, at, stop);
        } else if (!(await write({ chat }))?.operations.length) {
            return;
        }
    }
}

async function save({ messages }, stop) {
    await quiet(stop);
    // One that is older than the file saves nothing.
    if (st.context().chat.length < messages) {
        throw new Unanswered('This page does not show all of the chat: another one has gone on. Reload it.', null);
    }
    await st.flush();
}

async function answer(chat, question, at, stop) {
    const { profile } = connection();
    if (!profile) {
        return;
    }
    update({ asking: question });
    let { messages } = question;
    let [tokensIn, tokensOut] = [0, 0];
    for (let tries = 1; ; tries += 1) {
        const { tokens_in: read, tokens_out: written, ...said } = await ask(profile, { ...question, messages }, stop);
        [tokensIn, tokensOut] = [tokensIn + read, tokensOut + written];
        await quiet(stop);
        const report = await write({ chat, key: question.key, again: at, ...said, tokens_in: tokensIn, tokens_out: tokensOut, tries });
        if (!report?.ask_again) {
            again = again.filter((one) => one !== at);
            failures = 0;
            update({ asked: memory.asked + 1 });
            return;
        }
        messages = report.ask_again;
    }
}

// Tells the engine what was said. What is not asked any more, because the line has changed meanwhile, is no mistake.
async function write(reply) {
    try {
        const report = await absorbing(() => api.post('api/memory/reply', reply));
        update({ status: report.status });
        return report;
    } catch (error) {
        if (error.code === 'NOTHING_NEW') {
            return null;
        }
        throw error;
    }
}
