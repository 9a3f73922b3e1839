// Travelling along the line: the slider, its buttons and every link to a message of this chat ask for what becomes another, and put it
// in its place. One step is under way at a time; those in between are left out.

import { Failure, tell } from './api.js';
import { on } from './live.js';

const slider = document.querySelector('.slider');
const { chat } = slider.dataset;
const last = Number(slider.dataset.last);
const range = slider.querySelector('input[type=range]');
const output = slider.querySelector('output');
const said = document.getElementById('said');
const page = document.querySelector('main');
const steps = ['back', 'next', 'mark-back', 'mark-next'].map((name) => slider.querySelector(`[data-step=${name}]`));

let shown = Number(range.value);
let wanted = shown;
let under = false;

document.documentElement.classList.add('travels');

function address(name, at, from = null) {
    const said = { chat, at, ...(from === null ? {} : { from }) };
    return `${name}?${new URLSearchParams(said)}`;
}

// Text of the server, which escapes all that a story says; nothing in it can run.
function made(html) {
    const template = document.createElement('template');
    template.innerHTML = html;
    return template.content;
}

async function fetched(at, from) {
    const response = await fetch(address('step', at, from)).catch(() => null);
    if (!response) {
        throw new Failure({ message: 'Forklore does not answer.', hint: 'Look whether it still runs, then try again.' });
    }
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) {
        throw new Failure(answer.error ?? { message: `Forklore answered ${response.status}.`, hint: 'Try again.' });
    }
    return answer;
}

// Goes to a message. `again`: it is there already, and may have changed.
async function travel(at, again = false) {
    wanted = Math.min(Math.max(at, 0), last);
    range.value = wanted;
    read(wanted);
    if (under) {
        return;
    }
    under = true;
    try {
        while (wanted !== shown || again) {
            const step = await fetched(wanted, again ? null : shown);
            again = false;
            show(step);
        }
    } catch (failure) {
        tell(failure);
        wanted = shown;
        range.value = shown;
        read(shown);
    } finally {
        under = false;
    }
}

function read(at) {
    output.textContent = at;
    range.setAttribute('aria-valuetext', `message ${at} of 0 to ${last}`);
}

function show(step) {
    for (const [name, html] of Object.entries(step.parts)) {
        const part = page.querySelector(`[data-part="${name}"]`);
        const open = [...part.querySelectorAll('details[open]')].map((details) => details.className);
        part.replaceChildren(made(html));
        open.forEach((name) => part.querySelector(`details.${CSS.escape(name)}`)?.setAttribute('open', ''));
    }
    for (const [name, keys] of Object.entries(step.lists)) {
        list(page.querySelector(`[data-list="${name}"]`), keys, step.entries);
    }
    steps.forEach((link, i) => lead(link, step.steps[i], step.at));
    slider.querySelector('input[name=from]').value = step.at;
    shown = step.at;
    document.title = step.title;
    history.replaceState(history.state, '', address('moment', step.at));
    // What is read out is what one came to rest at.
    if (shown === wanted) {
        said.textContent = step.said;
    }
}

function lead(link, to, at) {
    if (to === null) {
        link.removeAttribute('href');
        link.setAttribute('aria-disabled', 'true');
        link.setAttribute('role', 'link');
    } else {
        link.href = address('moment', to, at);
        link.removeAttribute('aria-disabled');
        link.removeAttribute('role');
    }
}

// Entries that stay are the same elements, without the marks of the last step.
function list(element, keys, fresh) {
    const there = new Map([...element.children].map((entry) => [entry.dataset.key, entry]));
    const entries = keys.map((key) => {
        const old = there.get(key);
        if (fresh[key]) {
            const entry = made(fresh[key]).firstElementChild;
            if (old?.querySelector('details.fold[open]')) {
                entry.querySelector('details.fold')?.setAttribute('open', '');
            }
            return entry;
        }
        if (old?.dataset.change) {
            delete old.dataset.change;
            old.querySelectorAll('.flag, .change').forEach((mark) => mark.remove());
        }
        return old;
    }).filter(Boolean);
    const same = entries.length === element.children.length && entries.every((entry, i) => entry === element.children[i]);
    if (!same) {
        element.replaceChildren(...entries);
    }
}

range.addEventListener('input', () => travel(Number(range.value)));

page.addEventListener('click', (event) => {
    const link = event.target.closest('a');
    if (!link || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) {
        return;
    }
    const to = link.dataset.at ?? (link.dataset.step && link.href ? new URL(link.href).searchParams.get('at') : null);
    if (to !== null && to !== undefined) {
        event.preventDefault();
        travel(Number(to));
    }
});

slider.querySelector('form').addEventListener('submit', (event) => {
    event.preventDefault();
    travel(Number(range.value));
});

// The chat or its book was saved: what is shown is asked for again.
on('change', (change) => {
    if (!change.chat || change.chat === chat) {
        travel(shown, true);
    }
});
