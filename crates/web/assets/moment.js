// Travelling along the line: the slider, its buttons and every link to a message of this chat ask for what becomes another, and put it
// in its place. One step is under way at a time; those in between are left out.

import { address } from './address.js';
import { tell } from './api.js';
import { part, target } from './dom.js';
import { keepingFocus } from './focus.js';
import { on } from './live.js';
import { searchable } from './moment-lore.js';
import { remembering } from './moment-memory.js';
import { pin, unfolded } from './moment-pin.js';
import { Steps } from './moment-step.js';
import { tabbed } from './moment-tabs.js';

/** @import { Step } from './moment-step.js' */

const slider = part('.slider', HTMLElement);
const { chat } = slider.dataset;
let last = Number(slider.dataset.last);
const range = part('input[type=range]', HTMLInputElement, slider);
const output = part('output', HTMLElement, slider);
const said = part('#said', HTMLElement);
const page = part('main', HTMLElement);
const steps = ['back', 'next', 'mark-back', 'mark-next'].map((name) => part(`[data-step=${name}]`, HTMLAnchorElement, slider));

const transcript = part('.transcript', HTMLElement);
const state = part('.state', HTMLElement);
const asked = new Steps(page, chat);

let shown = Number(range.value);
let wanted = shown;
let under = false;
// Something has changed while a step was under way: where one arrives is asked for once more.
let anew = false;

document.documentElement.classList.add('travels');

// The message that one is at stands at the same place, whatever is said before it.
function settle() {
    const here = transcript.querySelector('.message.here');
    if (here instanceof HTMLElement) {
        transcript.scrollTop = here.offsetTop;
    }
}

/**
 * Text of the server, which escapes all that a story says; nothing in it can run.
 * @param {string} html
 */
function made(html) {
    const template = document.createElement('template');
    template.innerHTML = html;
    return template.content;
}

/**
 * Goes to a message. `again`: it is there already, and may have changed.
 * @param {number} at
 */
async function travel(at, again = false) {
    wanted = Math.min(Math.max(at, 0), last);
    range.value = String(wanted);
    read(wanted);
    ahead();
    if (under) {
        anew ||= again;
        return;
    }
    under = true;
    try {
        while (wanted !== shown || again) {
            const [step, from] = [await asked.step(wanted, again ? null : shown), shown];
            [again, anew] = [anew, false];
            keepingFocus(page, () => show(step), range);
            asked.expect(shown, shown + Math.sign(shown - from), last);
            if (step.last !== last) {
                grown(step.last);
            }
            ahead();
        }
    } catch (failure) {
        if (failure.code === 'MESSAGE_NOT_FOUND') {
            // The chat is shorter than it was.
            location.replace(address('moment', { chat }));
            return;
        }
        tell(failure);
        wanted = shown;
        range.value = String(shown);
        read(shown);
        ahead();
    } finally {
        under = false;
    }
}

// The message is there at once where it is one of those around; what is beside it is of another one until it comes.
function ahead() {
    if (pin(transcript, wanted)) {
        settle();
    }
    state.setAttribute('aria-busy', String(wanted !== shown));
}

// The line is longer than it was, or shorter. Whoever stood at its end goes on with it.
function grown(/** @type {number} */ now) {
    const follows = shown === last && now > last;
    last = now;
    slider.dataset.last = range.max = String(now);
    part('.last', HTMLElement, slider).textContent = String(now);
    range.value = String(wanted);
    read(wanted);
    if (follows) {
        wanted = now;
        range.value = String(now);
        read(now);
    }
}

/** @param {number} at */
function read(at) {
    output.textContent = String(at);
    range.setAttribute('aria-valuetext', `message ${at} of 0 to ${last}`);
}

/** @param {Step} step */
function show(step) {
    for (const [name, html] of Object.entries(step.parts)) {
        const place = part(`[data-part="${name}"]`, HTMLElement, page);
        if (step.at === shown && place.querySelector('[data-typed]')) {
            // Somebody writes there.
            continue;
        }
        const unfold = unfolded(place);
        place.replaceChildren(made(html));
        if (step.versions[name]) {
            place.dataset.v = step.versions[name];
        }
        unfold();
    }
    for (const [name, keys] of Object.entries(step.lists)) {
        list(part(`[data-list="${name}"]`, HTMLElement, page), keys, step.entries);
    }
    steps.forEach((link, i) => lead(link, step.steps[i], step.at));
    settle();
    part('input[name=from]', HTMLInputElement, slider).value = String(step.at);
    shown = step.at;
    document.title = step.title;
    history.replaceState(history.state, '', address('moment', { chat, at: step.at }));
    // What is read out is what one came to rest at.
    if (shown === wanted) {
        said.textContent = step.said;
    }
    remembered();
}

/**
 * @param {HTMLAnchorElement} link
 * @param {number | null} to
 * @param {number} at
 */
function lead(link, to, at) {
    if (to === null) {
        link.removeAttribute('href');
        link.setAttribute('aria-disabled', 'true');
        link.setAttribute('role', 'link');
    } else {
        link.href = address('moment', { chat, at: to, from: at });
        link.removeAttribute('aria-disabled');
        link.removeAttribute('role');
    }
}

/**
 * Entries that stay are the same elements.
 * @param {HTMLElement} element
 * @param {string[]} keys
 * @param {Record<string, string>} fresh
 */
function list(element, keys, fresh) {
    const there = new Map([.../** @type {HTMLCollectionOf<HTMLElement>} */ (element.children)].map((entry) => [entry.dataset.key, entry]));
    const entries = keys.map((key) => {
        const old = there.get(key);
        if (fresh[key]) {
            const entry = made(fresh[key]).firstElementChild;
            if (old?.querySelector('details.fold[open]')) {
                entry?.querySelector('details.fold')?.setAttribute('open', '');
            }
            return entry;
        }
        return old;
    }).filter((entry) => entry !== null && entry !== undefined);
    const same = entries.length === element.children.length && entries.every((entry, i) => entry === element.children[i]);
    if (!same) {
        element.replaceChildren(...entries);
    }
}

range.addEventListener('input', () => travel(Number(range.value)));

page.addEventListener('click', (event) => {
    const link = target(event)?.closest('a');
    if (link?.matches('.timeline')) {
        link.href = address('entry', { ...Object.fromEntries(new URL(link.href).searchParams), at: shown });
    }
    if (!link || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) {
        return;
    }
    const to = link.dataset.at ?? (link.dataset.step && link.href ? new URL(link.href).searchParams.get('at') : null);
    if (to !== null && to !== undefined) {
        event.preventDefault();
        travel(Number(to));
    }
});

const remembered = remembering(page, chat, () => shown);
searchable(page, chat, () => shown, () => asked.forget());
tabbed(page, settle);
settle();

part('form', HTMLFormElement, slider).addEventListener('submit', (event) => {
    event.preventDefault();
    travel(Number(range.value));
});

// The chat or its book was saved: what is shown is asked for again.
on('change', (change) => {
    asked.forget();
    if (!change.chat || change.chat === chat) {
        // Whoever is on the way somewhere arrives there.
        travel(wanted, true);
    }
});
