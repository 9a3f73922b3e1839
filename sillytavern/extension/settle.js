// Whether the line has come to rest. While somebody plays, swipes or edits, what is asked now would be asked again in a moment.

import * as st from './st.js';

// So long nothing has happened to the chat.
export const SETTLED = 5000;
// Whoever types is not disturbed.
const BETWEEN = 300;

let touched = Date.now();
let cuts = 0;
// What kind of generating waits for memory, as SillyTavern calls it; null if none does.
/** @type {string | null} */
let held = null;
/** @type {Set<() => void>} */
const listeners = new Set();

export function start() {
    const { eventSource, eventTypes } = st.context();
    const of = (...names) => names.map((name) => eventTypes[name]).filter(Boolean);
    of('CHAT_CHANGED', 'MESSAGE_SENT', 'MESSAGE_RECEIVED', 'MESSAGE_SWIPED', 'MESSAGE_EDITED', 'MESSAGE_UPDATED', 'MESSAGE_DELETED', 'MESSAGE_SWIPE_DELETED',
        'GENERATION_STARTED', 'GENERATION_ENDED', 'GENERATION_STOPPED', 'WORLDINFO_UPDATED').forEach((event) => eventSource.on(event, touch));
    // Places of messages are not what they were.
    of('CHAT_CHANGED', 'MESSAGE_DELETED').forEach((event) => eventSource.on(event, () => { cuts += 1; }));
}

// Something has happened to the chat.
export function touch() {
    touched = Date.now();
    listeners.forEach((listener) => listener());
}

export function onTouch(listener) {
    listeners.add(listener);
}

export function left() {
    return held === null ? Math.max(0, touched + SETTLED - Date.now()) : 0;
}

// Generating waits for memory, which therefore waits for nothing; or does not do so any more.
export function hold(type) {
    held = type;
}

export function isHeld() {
    return held !== null;
}

// The page has taken its last message away, or has none yet where the swipe is to be: that is not to be saved.
export function isReplacing() {
    return held === 'swipe' || held === 'regenerate';
}

export function isSettled() {
    return left() === 0 && isQuiet();
}

// Nobody is in the middle of something that is not saved yet.
export function isQuiet() {
    const world = document.querySelector('#WorldInfo');
    const writes = document.activeElement?.matches('input, textarea') && world?.contains(document.activeElement);
    return (isHeld() || !st.isGenerating()) && !document.querySelector('#chat .edit_textarea') && !writes && st.isLoaded();
}

/** @param {AbortSignal} [stop] */
export async function quiet(stop) {
    while (!isQuiet() && st.here()) {
        await st.pause(BETWEEN);
        stop?.throwIfAborted();
    }
}

// Changes whenever messages may have other places.
export function cut() {
    return cuts;
}
