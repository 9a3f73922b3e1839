// The drawer among SillyTavern's extension settings: how Forklore is, what this page does, what the engine does in this vault.

import * as api from './api.js';
import { readSettings } from './auto.js';
import { icon, make } from './dialogs.js';
import * as notices from './notices.js';
import { openPanel, status } from './panel.js';
import { section } from './remembered.js';
import { change, OPTIONS, setting } from './settings.js';
import { missing } from './st.js';
import { mismatch, state, subscribe } from './state.js';

const WORDS = { 'fork.undated': [['carry', 'Take them along'], ['leave', 'Leave them out']] };
// What a setting of the vault is called and means here. One that is not listed belongs to the vault's owner and is set at the command line.
const SETTINGS = {
    'checkpoint.auto_name': ['Make a name when none is given', 'Otherwise every checkpoint has to be named.'],
    'checkpoint.name_template': ['Pattern for such names', 'For example "Scene {scene_number} - {scene_name}". Empty: as SillyTavern names them.'],
    'checkpoint.require_scene_break': ['Only where a scene ends', 'Checkpoints and branches elsewhere are refused; you can still make one all the same.'],
    'checkpoint.show_warnings': ['Say what is missing or inexact', 'When a checkpoint or branch is made.'],
    'checkpoint.at_scene_break': ['Checkpoint at every scene break, by itself', 'When a scene has ended and the memory extension is done with it.'],
    'fork.strict': ['Strict', 'Where something is missing or inexact, a fork is refused. Otherwise it is made, and you are told.'],
    'fork.undated': ['Lorebook entries of unknown age', 'Nothing tells whether they were there at the message.'],
    'fork.link_parent': ['Link the fork in its parent', 'The flag or the branch mark on the message.'],
    'books.shared': ['Lorebooks that forks share', 'Instead of getting their own. One name a line.'],
    'trash.days': ['Days in the trash', 'Older things may be removed for good when you clean up. 0: never.'],
    'memory.approve': ['Memory asks before it writes an entry', 'What it would write waits until you approve it.'],
    'memory.combined': ['A recap as one text as well', 'One more question after every scene.'],
    'memory.daily_tokens': ['Tokens that memory may use on a day', '0: any number.'],
    'memory.price_in': ['Price of a million tokens that are read', 'In your currency, for the preview and the bill.'],
    'memory.price_out': ['Price of a million tokens that are written', ''],
    'memory.language': ['Language of what is remembered', 'Empty: the story\'s own.'],
    'history.operations': ['Remember what Forklore changes', 'Every change becomes a part of the history.'],
    'history.media': ['Keep images and files', 'Those that messages link to, so that they come back with a chat.'],
};

export function start(applied) {
    const content = make('div.inline-drawer-content.forklore');
    const toggle = make('div.inline-drawer-toggle.inline-drawer-header', make('b', 'Forklore'), make('div.inline-drawer-icon.fa-solid.fa-circle-chevron-down.down'));
    const drawer = make('div.inline-drawer', toggle, content);
    drawer.id = 'forklore_settings';
    (document.querySelector('#extensions_settings2') ?? document.querySelector('#extensions_settings'))?.append(drawer);
    const engine = make('div.forklore-engine');
    const parts = make('div.forklore-parts');
    const open = make('div.menu_button.interactable', icon('code-branch'), make('span', 'Checkpoints and branches'));
    open.addEventListener('click', openPanel);
    content.append(parts, open, make('h4', 'Memory'), section().element, make('h4', 'This page'), ...Object.keys(OPTIONS).map((name) => own(name, applied)), make('h4', 'This vault'), engine);
    subscribe(() => parts.replaceChildren(...health()));
    parts.replaceChildren(...health());
    toggle.addEventListener('click', () => engineSettings(engine));
    engineSettings(engine);
}

function health() {
    const { plugin, version, problem } = state;
    const versions = `Extension ${version ?? '?'}, plugin ${plugin?.version ?? 'none'}, engine ${plugin?.engine.version ?? 'none'}`;
    return [
        make('p', status()),
        mismatch() && make('p.forklore-error', mismatch()),
        state.mode === 'absent' && make('p.forklore-error', `${problem ?? ''} Until then a fork that this page makes gets a copy of the lorebook as it is now; forks of other pages and devices share their parent's.`),
        state.mode === 'unhooked' && make('p.forklore-warning', 'The plugin cannot stand in front of this SillyTavern\'s saves. Forks that this page makes are mended right after; others when you open them.'),
        missing.length && make('p.forklore-warning', `This SillyTavern has no ${missing.join(', ')}. What needs it is left to SillyTavern.`),
        make('small.forklore-quiet', versions),
    ].filter(Boolean);
}

function own(name, applied) {
    const [, label, meaning] = OPTIONS[name];
    const input = make('input');
    Object.assign(input, { type: 'checkbox', checked: setting(name), name: `forklore_${name}` });
    input.addEventListener('change', () => {
        change(name, input.checked);
        applied(name);
    });
    return field(input, label, meaning);
}

function field(input, label, meaning) {
    const check = input.type === 'checkbox';
    const text = make('span', label, make('small.forklore-quiet', meaning));
    return make(`label.forklore-field${check ? '.checkbox_label' : ''}`, check ? [input, text] : [text, input]);
}

async function engineSettings(place) {
    try {
        const { settings } = await api.get('api/config');
        place.replaceChildren(...settings.filter(({ key }) => SETTINGS[key]).map((one) => engineField(one)));
    } catch (error) {
        place.replaceChildren(make('p.forklore-quiet', `They can be seen when the engine is running. ${error.message}`));
    }
}

function engineField({ key, value }) {
    const words = WORDS[key];
    const list = Array.isArray(value);
    const input = make(words ? 'select.text_pole' : list ? 'textarea.text_pole' : typeof value === 'boolean' ? 'input' : 'input.text_pole');
    words?.forEach(([word, label]) => input.append(new Option(label, word)));
    if (!words && !list) {
        input.type = { boolean: 'checkbox', number: 'number' }[typeof value] ?? 'text';
    }
    input.name = `forklore_${key}`;
    show(input, value);
    input.addEventListener('change', () => save(input, key, value));
    const [label, meaning] = SETTINGS[key];
    return field(input, label, meaning);
}

function show(input, value) {
    if (input.type === 'checkbox') {
        input.checked = value;
    } else {
        input.value = Array.isArray(value) ? value.join('\n') : value;
    }
}

async function save(input, key, before) {
    const given = input.type === 'checkbox' ? input.checked
        : Array.isArray(before) ? input.value.split('\n').map((name) => name.trim()).filter(Boolean)
            : typeof before === 'number' ? Number(input.value) : input.value;
    try {
        const { value } = await api.post('api/config', { key, value: given });
        show(input, value);
        await readSettings();
    } catch (error) {
        show(input, before);
        notices.refusal('The setting was not changed', error);
    }
}
