// A lasting sign of where one is: "Branch of X at 41", above the messages, with ways to the parent, to the other forks of it, and to this
// moment on Forklore's page.

import * as api from './api.js';
import { choose, icon, make } from './dialogs.js';
import { isFork, origin } from './from.js';
import { setting } from './settings.js';
import * as st from './st.js';
import { state, subscribe } from './state.js';
import { count } from './words.js';

export function start() {
    subscribe(draw);
    draw();
}

export function draw() {
    const { entered } = state;
    const place = entered?.chat === st.here()?.address && setting('place') ? entered?.place : null;
    const old = document.querySelector('#forklore_place');
    if (!place || !isFork(place)) {
        old?.remove();
        return;
    }
    const { kind, parent, message, siblings } = place;
    const sign = make('div.forklore-place',
        make('div.forklore-lineage', origin(kind, parent, message)),
        way('Go back to the chat that this one was forked from', 'arrow-turn-up', 'Parent', () => st.open(parent)),
        siblings.length ? way('Other forks of the same chat', 'code-fork', count(siblings.length, 'sibling'), () => others(siblings)) : null,
        link(parent, message));
    sign.id = 'forklore_place';
    if (old) {
        old.replaceWith(sign);
    } else {
        document.querySelector('#chat')?.before(sign);
    }
}

function way(title, symbol, label, go) {
    const element = make('button', icon(symbol), make('span', label));
    Object.assign(element, { title, type: 'button' });
    element.addEventListener('click', go);
    return element;
}

async function others(siblings) {
    const choices = siblings.map(({ chat, message }) => [chat, st.nameOf(chat), message === null ? '' : `from message ${message}`]);
    const chosen = await choose('Other forks of the same chat', [], choices, 'Close');
    if (chosen) {
        await st.open(chosen);
    }
}

function link(chat, at) {
    const element = make('a', icon('up-right-from-square'), make('span', 'Moment'));
    const query = new URLSearchParams(at === null ? { chat } : { chat, at });
    Object.assign(element, { href: `${api.PAGE}moment?${query}`, target: '_blank', rel: 'noopener', title: 'This moment on Forklore\'s page' });
    return element;
}
