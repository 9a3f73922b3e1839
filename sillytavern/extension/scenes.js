// Scenes in the chat: below the last message of each a quiet line with its name and how it stands, and in the menu of every message a
// button that ends a scene there.

import { askAgain, now } from './asking.js';
import { icon, make } from './dialogs.js';
import { decide, isOn, memory, subscribe } from './memory.js';
import * as notices from './notices.js';
import { setting } from './settings.js';
import * as st from './st.js';

const WORDS = {
    ready: 'remembered',
    waiting: 'waits',
    stale: 'a message in it has changed',
};
let due = false;

export function start() {
    const { eventSource, eventTypes } = st.context();
    const add = (menu) => {
        const button = make('div.mes_button.forklore_scene_end.fa-solid.fa-grip-lines.interactable');
        button.title = 'Forklore: end a scene with this message';
        button.tabIndex = 0;
        menu.prepend(button);
    };
    document.querySelectorAll('#message_template .extraMesButtons, #chat .extraMesButtons').forEach(add);
    document.addEventListener('click', (event) => {
        const at = st.target(event)?.closest('.forklore_scene_end')?.closest('.mes')?.getAttribute('mesid');
        if (at !== null && at !== undefined) {
            act('A scene ends here', () => decide({ break: Number(at) }));
        }
    });
    subscribe(soon);
    ['CHAT_CHANGED', 'MORE_MESSAGES_LOADED', 'USER_MESSAGE_RENDERED', 'CHARACTER_MESSAGE_RENDERED', 'MESSAGE_DELETED', 'MESSAGE_UPDATED', 'MESSAGE_SWIPED']
        .map((name) => eventTypes[name]).filter(Boolean).forEach((event) => eventSource.on(event, soon));
    soon();
}

function soon() {
    if (!due) {
        due = true;
        requestAnimationFrame(() => {
            due = false;
            draw();
        });
    }
}

export function draw() {
    const shown = setting('scenes') && isOn();
    document.body.classList.toggle('forklore-remembers', shown);
    const scenes = shown ? memory.status?.scenes ?? [] : [];
    const wanted = new Map(scenes.map((scene, number) => [String(scene.last), { ...scene, number: number + 1 }]));
    for (const message of document.querySelectorAll('#chat .mes')) {
        const scene = wanted.get(message.getAttribute('mesid') ?? '');
        const old = message.querySelector('.forklore-scene');
        const key = scene ? JSON.stringify(scene) : '';
        if ((old?.getAttribute('data-scene') ?? '') !== key) {
            old?.remove();
            if (scene) {
                message.querySelector('.mes_block')?.append(line(scene, key));
            }
        }
    }
}

function line(scene, key) {
    const { number, title, first, last, state } = scene;
    const name = title || `Scene ${number}`;
    const element = make(`div.forklore-scene.forklore-scene-${state}`,
        make('span.forklore-scene-name', name),
        make('span', WORDS[state] ?? state),
        make('span.forklore-scene-acts',
            state === 'stale' ? button('Ask again', 'A model reads the scene again', () => now()) : null,
            state === 'stale' ? button('Keep', 'What is remembered of the scene still holds: nothing is asked', () => decide({ keep: last })) : null,
            state === 'ready' ? button('rotate', `Ask about "${name}" again`, () => askAgain(last), true) : null,
            button('xmark', `No scene ends here: "${name}" goes on`, () => decide({ join: last }), true)));
    element.title = `${name}: messages ${first} to ${last}`;
    element.setAttribute('data-scene', key);
    return element;
}

function button(label, title, run, symbol = false) {
    const element = make('button', symbol ? icon(label) : label);
    Object.assign(element, { type: 'button', title, ariaLabel: title });
    element.addEventListener('click', () => act(title, run));
    return element;
}

function act(what, run) {
    Promise.resolve().then(run).catch((error) => notices.refusal(what, error));
}
