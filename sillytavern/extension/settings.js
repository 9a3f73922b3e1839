// What the page itself is to do; what the engine is to do is in the vault's own settings, which the panel shows beside these.

import { context } from './st.js';

export const OPTIONS = {
    intercept: [true, 'Look before a fork is made', 'Save first, ask the engine, and tell what stands against it.'],
    adopt: [true, 'Adopt forks on entry', 'A fork that was made without Forklore gets a lorebook of its own when you open it.'],
    hold: [true, 'Hold generation while the lorebook is wrong', 'You can always continue anyway.'],
    guard: [true, 'Keep the lorebook of a fresh fork', 'If another extension binds a copy to it, the right one is put back. What you choose yourself stays.'],
    notices: [true, 'Tell what was made and restored', 'Without this, only problems are told.'],
    place: [true, 'Where you are, above the messages', 'In a fork: what it was forked from, with ways to its parent and its siblings.'],
    chats: [true, 'Tree in "Manage chat files"', 'Forks stand below what they were forked from.'],
    scenes: [true, 'Scenes in the chat', 'Where memory is on: a line below the last message of every scene, and a button that ends one.'],
    patience: [false, 'Generating waits for memory', 'Where memory is on: until everything is remembered that has happened. You can always go on without.'],
    button: [true, 'Button on messages', 'In the menu of every message.'],
    badge: [true, 'State beside the message field', 'Shows whether the story is ready to be forked.'],
};

const KEY = 'forklore';

export function setting(name) {
    return context().extensionSettings[KEY]?.[name] ?? OPTIONS[name][0];
}

// What is remembered beside the options, such as a choice.
export function chosen(name) {
    return context().extensionSettings[KEY]?.[name] ?? null;
}

export function change(name, value) {
    const { extensionSettings, saveSettingsDebounced } = context();
    extensionSettings[KEY] = { ...extensionSettings[KEY], [name]: value };
    saveSettingsDebounced();
}
