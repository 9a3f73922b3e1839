// A story as people have it after a year, for measuring: hundreds of forks that SillyTavern made, all bound to one lorebook of thousands of
// entries, with scenes that keep the book as it was. Every chat is a whole file, as SillyTavern writes forks.

import fs from 'node:fs';
import path from 'node:path';
import { writeChat } from './site.js';

const BOOK = 'z-AutoLB-Large-Main';
const WORDS = 'rain slate harbour lamp tide bell letter table night door dawn pier lantern rope gull salt fog oar anchor chart storm keel mast sail'.split(' ');

function words(count, seed) {
    const said = [];
    for (let i = 0, at = seed + 1; i < count; i += 1) {
        at = (at * 48_271) % 2_147_483_647;
        said.push(WORDS[at % WORDS.length]);
    }
    return said.join(' ');
}

const entry = (uid) => ({ uid, comment: `character-Person ${uid}`, key: [`person ${uid}`], content: words(9, uid), disable: false });

// A message; each fiftieth ends a scene, with the lorebook as it was by then.
function message(i, of, entries, messages) {
    const made = { name: i % 2 ? 'You' : 'Large', is_user: i % 2 === 1, send_date: new Date(Date.UTC(2026, 0, 1) + i * 60_000).toISOString(), mes: `Message ${i}${of}: ${words(255, i + of.length)}`, extra: {} };
    if (i % 50 === 49 && !of) {
        const clock = 1_700_000_000_000 + i * 1000;
        const now = Math.floor(entries * (i + 1) / messages);
        made.extra.auto_recap_memory = { scene_break: true, scene_break_visible: true, scene_break_name: `Scene ${i}`, scene_recap_memory: words(40, i), scene_recap_versions: ['', 'text'], scene_recap_current_index: 1,
            scene_recap_metadata: { 1: { timestamp: clock, combined_at: clock + 500, chatLorebookName: BOOK, allEntries: Array.from({ length: now }, (_, uid) => entry(uid)), entries: [], created_entry_uids: [] } } };
    }
    return made;
}

// Writes `chats` chats of one story, `Large`, with a lorebook of `entries` entries. Gives how many bytes they are.
export function writeLarge(vault, { chats = 301, entries = 2000, messages = 200 } = {}) {
    const main = Array.from({ length: messages }, (_, i) => message(i, '', entries, messages));
    writeChat(vault, 'Large', 'Main', main, { world_info: BOOK });
    for (let fork = 1; fork < chats; fork += 1) {
        const at = 20 + (fork * 37) % (messages - 40);
        const own = Array.from({ length: 40 }, (_, k) => message(at + 1 + k, ` of fork ${fork}`, entries, messages));
        writeChat(vault, 'Large', `Main - Branch #${fork}`, [...main.slice(0, at + 1), ...own], { world_info: BOOK, main_chat: 'Main' });
    }
    fs.writeFileSync(path.join(vault, 'worlds', `${BOOK}.json`), JSON.stringify({ entries: Object.fromEntries(Array.from({ length: entries }, (_, uid) => [uid, entry(uid)])) }));
    const folder = path.join(vault, 'chats', 'Large');
    return fs.readdirSync(folder).reduce((sum, name) => sum + fs.statSync(path.join(folder, name)).size, 0);
}
