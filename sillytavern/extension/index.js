// Forklore's extension: what the plugin does for the files, this does for the page. It looks before a fork is made, tells what was made,
// looks at every chat that is opened, and shows the story's forks. The work itself is the engine's.

import * as absorb from './absorb.js';
import * as api from './api.js';
import * as arrive from './arrive.js';
import * as ask from './ask.js';
import * as asking from './asking.js';
import * as auto from './auto.js';
import * as button from './button.js';
import * as chatlist from './chatlist.js';
import * as commands from './commands.js';
import * as edits from './edits.js';
import * as enter from './enter.js';
import * as fallback from './fallback.js';
import { create } from './fork.js';
import * as guard from './guard.js';
import * as hold from './hold.js';
import * as intercept from './intercept.js';
import * as keyed from './keyed.js';
import * as memory from './memory.js';
import * as options from './options.js';
import { isMaking } from './ours.js';
import * as panel from './panel.js';
import * as patience from './patience.js';
import * as place from './place.js';
import * as scenes from './scenes.js';
import { setting } from './settings.js';
import * as settle from './settle.js';
import * as st from './st.js';
import { lookAtPlugin, state, summary, update } from './state.js';
import { heard } from './wait.js';
import { welcome } from './welcome.js';
import { watchBooks } from './books.js';

// At once: a listener on the window that comes first, first.
intercept.start();
hold.start(enter.decide);
// What a page is about to save is noted before anything else happens to it.
edits.watchSaves();
fallback.start();
ask.start();
absorb.start();

const { eventSource, eventTypes } = st.context();
eventSource.on(eventTypes.APP_READY, begin);

async function begin() {
    const [{ version }] = await Promise.all([
        fetch(new URL('manifest.json', import.meta.url)).then((response) => response.json()), st.load(),
    ]);
    update({ version });
    await lookAtPlugin();
    st.follow();
    intercept.wrapCommands();
    commands.start();
    button.start();
    options.start(applied);
    guard.start();
    addMenu();
    panel.addBadge(setting('badge'));
    place.start();
    chatlist.start();
    settle.start();
    asking.start();
    scenes.start();
    patience.start();
    eventSource.on(eventTypes.CHAT_CHANGED, () => {
        enter.changed(true);
        auto.soon();
    });
    eventSource.on(eventTypes.CHAT_RENAMED ?? 'chat_renamed', ({ oldFileName, newFileName }) => {
        const stem = (file) => String(file).replace(/\.jsonl$/, '');
        return keyed.kept(keyed.renamed(stem(oldFileName), stem(newFileName)));
    });
    [eventTypes.MESSAGE_RECEIVED, eventTypes.MESSAGE_SENT, eventTypes.WORLDINFO_UPDATED, eventTypes.GENERATION_ENDED].forEach((event) => eventSource.on(event, auto.soon));
    globalThis.Forklore = { version, create, validate: commands.validate, state: () => ({ mode: state.mode, listening: state.listening, ...summary(), chat: st.here()?.address ?? null, held: hold.isHeld(), queue: state.queue, entered: state.entered, guarded: guard.watches(st.here()?.address), memory: { ...memory.memory, settled: settle.isSettled() } }) };
    if (state.mode !== 'absent') {
        listen();
        auto.readSettings();
        setInterval(recover, 5000);
    }
    await enter.changed(true);
    auto.soon();
    await arrive.start();
}

function listen() {
    const books = watchBooks();
    let first = true;
    api.listen({
        hello: ({ recording }) => {
            update({ listening: true, recording });
            lookAtPlugin();
            if (!first) {
                caughtUp();
            }
            first = false;
        },
        lagged: caughtUp,
        error: () => update({ listening: false }),
        fork: (event) => {
            // Others made it: another extension, another tab, another device.
            const mine = isMaking(event.report?.parent);
            const story = st.here()?.address.split('/')[0];
            if (event.state === 'made' && !mine && event.chat?.split('/')[0] === story) {
                welcome(event.report);
            }
        },
        recording: ({ message }) => update({ recording: message }),
        wait: heard,
        change: (event) => {
            books(event);
            edits.renamed(event).catch((error) => console.warn('[Forklore]', error));
            memory.heard(event);
            auto.soon();
        },
    });
}

// Nobody told what happened in between: the chat is looked at again, and its lorebook read again.
async function caughtUp() {
    await st.refreshBooks([st.boundBook()]);
    enter.changed();
}

// An engine that was away is back, or the other way round: what is shown is looked at again.
async function recover() {
    if (state.mode === 'down') {
        await lookAtPlugin();
        if (state.mode !== 'down') {
            enter.changed();
        }
    }
}

function applied(name) {
    if (name === 'badge') {
        panel.addBadge(setting('badge'));
    } else if (name === 'button') {
        button.shown();
    } else if (name === 'scenes') {
        scenes.draw();
    } else if (name === 'place') {
        place.draw();
    }
}

function addMenu() {
    const item = document.createElement('div');
    item.id = 'forklore_menu';
    item.className = 'list-group-item flex-container flexGap5 interactable';
    item.tabIndex = 0;
    item.innerHTML = '<div class="fa-solid fa-code-branch extensionsMenuExtensionButton"></div><span>Checkpoints and branches</span>';
    item.addEventListener('click', panel.openPanel);
    document.querySelector('#extensionsMenu')?.append(item);
}
