// A chat that memory is tried on, a connection as SillyTavern's connection manager saves it, and what one does in the drawer.

import fs from 'node:fs';
import path from 'node:path';
import { GROUP, STORY } from './bench.js';

export const CHAT = `${STORY}/Long road`;
export const PROFILE = 'a0b1c2d3-0000-4000-8000-000000000001';
/** The same model as a server for text, such as llama.cpp's own. */
export const TEXT_PROFILE = 'a0b1c2d3-0000-4000-8000-000000000002';
/** The same story, told by two. */
export const GROUP_CHAT = `${GROUP.split('/')[0]}/Long watch`;
const NAMES = ['Tolan', 'Ilse', 'Bren'];

// Scenes of twelve messages, and somebody new in each.
function text(i) {
    const name = NAMES[Math.floor(i / 12) % 3];
    return i % 12 === 0 && i > 0 ? `Later they came upon ${name} at the mill.` : i % 12 === 3 ? `It is said that ${name} lives in house ${i}.` : `Nothing new, ${i}.`;
}

/** Puts the chat and the connection into a vault, before SillyTavern starts; `chosen`: what is set of the extension's. */
export function prepare({ vault }, model, chosen = {}) {
    const messages = Array.from({ length: 46 }, (_, i) => ({
        name: i % 2 ? 'Corin' : STORY, is_user: i % 2 === 1, is_system: false, send_date: `2026-11-17T10:${String(i).padStart(2, '0')}:00.000Z`, mes: text(i), extra: {},
    }));
    const header = { user_name: 'Corin', character_name: STORY, create_date: '2026-11-17@10h00m00s', chat_metadata: { integrity: '6f2f4a1e-1111-4222-8333-444455556666' } };
    const lines = (header) => [header, ...messages].map((line) => JSON.stringify(line)).join('\n');
    fs.writeFileSync(path.join(vault, 'chats', STORY, 'Long road.jsonl'), lines(header));
    fs.writeFileSync(path.join(vault, 'group chats', 'Long watch.jsonl'), lines({ ...header, chat_metadata: { integrity: '6f2f4a1e-1111-4222-8333-444455557777' } }));
    const group = path.join(vault, 'groups', `${GROUP_CHAT.slice('group:'.length).split('/')[0]}.json`);
    const settled = JSON.parse(fs.readFileSync(group, 'utf8'));
    fs.writeFileSync(group, JSON.stringify({ ...settled, chats: [...settled.chats, 'Long watch'] }));
    const file = path.join(vault, 'settings.json');
    const settings = JSON.parse(fs.readFileSync(file, 'utf8'));
    const profile = { id: PROFILE, mode: 'cc', name: 'A scripted one', api: 'custom', preset: 'Default', 'api-url': model.url, model: 'scripted' };
    const other = { id: TEXT_PROFILE, mode: 'tc', name: 'One for text', api: 'llamacpp', 'api-url': new URL(model.url).origin, instruct: 'ChatML', model: 'scripted' };
    settings.extension_settings.connectionManager = { profiles: [profile, other], selectedProfile: null };
    settings.extension_settings.forklore = { ...settings.extension_settings.forklore, ...chosen };
    fs.writeFileSync(file, JSON.stringify(settings));
}

// What the lorebook of a chat knows of people.
export function facts(tavern, chat = CHAT) {
    return Object.values(tavern.book(tavern.header(chat).world_info).entries).filter(({ comment }) => comment.startsWith('character-'));
}

export function remembering({ page }) {
    return page.run(() => Forklore.state().memory);
}

// Waits until everything is asked that can be.
export function done({ page }) {
    return page.until('nothing is missing', () => {
        const { status, asking, settled } = Forklore.state().memory;
        return settled && !asking && status?.questions === 0 && status;
    });
}

// The lines below scenes: the message, and what it says.
export function marks({ page }) {
    return page.run(() => [...document.querySelectorAll('#chat .mes .forklore-scene')].map((line) => [Number(line.closest('.mes').getAttribute('mesid')), line.innerText.replace(/\s+/g, ' ').trim()]));
}

export async function drawer({ page }) {
    await page.run(() => {
        if (!document.querySelector('#rm_extensions_block.openDrawer')) {
            document.querySelector('#extensions-settings-button .drawer-toggle').click();
        }
    });
    await page.until('the drawer is open', () => document.querySelector('#rm_extensions_block.openDrawer'));
    await page.until('the part is open', () => {
        const content = document.querySelector('#forklore_settings .inline-drawer-content');
        if (!content.checkVisibility()) {
            document.querySelector('#forklore_settings .inline-drawer-toggle').click();
        }
        return content.checkVisibility();
    });
    await page.place('#forklore_settings .forklore-memory .forklore-field');
}

export async function shut({ page }) {
    await page.run(() => {
        if (document.querySelector('#rm_extensions_block.openDrawer')) {
            document.querySelector('#extensions-settings-button .drawer-toggle').click();
        }
    });
    await page.until('the drawer is shut', () => !document.querySelector('#rm_extensions_block').checkVisibility());
}

// Presses a button of memory's in the drawer.
export function press({ page }, text) {
    return page.click('#forklore_settings .forklore-memory .menu_button', { text });
}

// Edits a message as one does in the page.
export async function edited({ page }, message, text) {
    await page.run((message) => document.querySelector(`#chat .mes[mesid="${message}"] .mes_edit`).click(), message);
    await page.until('it can be edited', () => document.querySelector('#chat .edit_textarea'));
    await page.run((text) => {
        document.querySelector('#chat .edit_textarea').value = text;
        [...document.querySelectorAll('#chat .mes_edit_done')].find((button) => button.checkVisibility()).click();
    }, text);
}

// Says several things without a model.
export function said(visit, ...texts) {
    return visit.slash(texts.map((text) => `/sendas name="${STORY}" ${text}`).join(' | '));
}
