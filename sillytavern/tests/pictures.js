// The pictures of the guide, taken from the real page on the demo story: `node sillytavern/tests/pictures.js DIR`.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Browser } from './lib/chromium.js';
import { FORKLORE, pause, Tavern } from './lib/tavern.js';
import { Visit } from './lib/visit.js';

const MAIN = 'Ottilie Crake/Heard Once';
const folder = process.argv[2];
const vault = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'forklore-pictures-')), 'demo');
execFileSync(FORKLORE, ['demo', vault], { stdio: 'ignore' });

const tavern = await Tavern.start({
    vault,
    prepare({ vault }) {
        const file = path.join(vault, 'chats/Ottilie Crake/Heard Once.jsonl');
        const [header, ...messages] = fs.readFileSync(file, 'utf8').split('\n');
        const lost = JSON.parse(header);
        Object.assign(lost.chat_metadata, { main_chat: 'Heard Once', integrity: 'lost', world_info: 'z-AutoLB-Ottilie Crake-The lost book' });
        fs.writeFileSync(path.join(path.dirname(file), 'The lost book.jsonl'), [JSON.stringify(lost), ...messages.slice(0, 31)].join('\n'));
    },
});
const browser = await Browser.start();

try {
    for (const [suffix, size] of [['', { width: 1000, height: 760 }], ['-phone', { width: 390, height: 780 }]]) {
        await tour(suffix, size);
    }
} finally {
    await browser.stop();
    await tavern.stop();
}

async function tour(suffix, size) {
    const visit = await Visit.start(browser, tavern, size);
    const picture = async (name) => {
        await pause(1500);
        await visit.page.picture(path.join(folder, `page-${name}${suffix}.png`));
        console.log(`${name}${suffix}`);
    };
    await visit.open(MAIN);
    await visit.clearNotices();
    await visit.message(30, '.mes_create_branch');
    const fork = await visit.away(MAIN);
    await visit.notice('created');
    await picture('made');
    await visit.clearNotices();
    await visit.page.click('#forklore_badge');
    await visit.page.place('.forklore-row');
    await picture('panel');
    await visit.page.click(`.forklore-row[data-chat="${MAIN}"] [title^="Compare"]`);
    await visit.dialog('Compared');
    await visit.page.run(() => document.querySelectorAll('dialog[open] details').forEach((part) => { part.open = true; }));
    await picture('compare');
    await visit.page.run(() => { [...document.querySelectorAll('dialog[open] .popup-button-ok')].reverse().forEach((button) => button.click()); });
    await visit.page.until('closed', () => !document.querySelector('dialog[open]'));
    await visit.open(MAIN);
    await visit.page.run((name) => SillyTavern.getContext().openCharacterChat(name), fork.split('/')[1]);
    await visit.notice('loaded');
    await picture('loaded');
    await visit.open(MAIN);
    await visit.clearNotices();
    await visit.message(20, '.forklore_here');
    await visit.dialog('The story at message 20');
    await picture('message');
    await visit.page.click('dialog[open] .popup-button-ok');
    await work(visit, ['generate_scene_recap', 'combine_scene_with_running']);
    await visit.message(42, '.mes_create_branch');
    await visit.dialog('cannot be made now');
    await picture('queue');
    await visit.choose('wait');
    await visit.notice('Waiting for the queue');
    await picture('waiting');
    await visit.page.run(() => document.querySelector('.forklore-waiting').click());
    await work(visit, []);
    await visit.clearNotices();
    await visit.open('Ottilie Crake/The lost book');
    await visit.dialog('not right');
    await picture('repair');
    await visit.page.click('dialog[open] .popup-button-ok');
    await visit.clearNotices();
    await visit.page.run(() => {
        document.querySelector('#extensions-settings-button .drawer-toggle').click();
        document.querySelector('#forklore_settings .inline-drawer-toggle').click();
    });
    await pause(1200);
    await visit.page.run(() => document.querySelector('#forklore_settings').scrollIntoView({ block: 'start' }));
    await picture('settings');
    await visit.close();
}

function work(visit, types) {
    return visit.page.run(async (types) => {
        const { chatMetadata: { world_info: name }, loadWorldInfo, saveWorldInfo } = SillyTavern.getContext();
        const book = await loadWorldInfo(name);
        const entry = Object.values(book.entries).find(({ comment }) => comment === '__operation_queue');
        const queue = types.map((type, n) => ({ id: `op_${n}`, type, params: {}, status: 'pending', dependencies: [], metadata: {} }));
        entry.content = JSON.stringify({ queue, current_operation_id: null, paused: false, version: 1, queueVersion: 0 });
        await saveWorldInfo(name, book, true);
    }, types);
}
