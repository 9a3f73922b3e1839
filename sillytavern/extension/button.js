// The button in the menu of every message: what the story was at this message, and a fork of it.

import * as api from './api.js';
import { choose, make } from './dialogs.js';
import { fork } from './fork.js';
import * as notices from './notices.js';
import { setting } from './settings.js';
import * as st from './st.js';
import { opened } from './state.js';
import { count, facts as told } from './words.js';

export function start() {
    const add = (menu) => {
        if (!menu.querySelector('.forklore_here')) {
            const button = make('div.mes_button.forklore_here.fa-solid.fa-timeline.interactable');
            button.title = 'Forklore: the story at this message';
            button.tabIndex = 0;
            menu.prepend(button);
        }
    };
    document.querySelectorAll('#message_template .extraMesButtons, #chat .extraMesButtons').forEach(add);
    document.addEventListener('click', (event) => {
        const at = st.target(event)?.closest('.forklore_here')?.closest('.mes')?.getAttribute('mesid');
        if (at !== null && at !== undefined) {
            look(Number(at)).catch((error) => notices.refusal('The story at this message', error));
        }
    });
    shown();
}

export function shown() {
    document.body.classList.toggle('forklore-no-button', !setting('button'));
}

async function look(at) {
    await st.flush();
    const show = await api.get('api/show', { chat: opened().address, at });
    const { book, running_recap: recap, scene } = show;
    const facts = told(book.entries);
    const choice = await choose(`The story at message ${at}`, [
        make('p', scene ? `Last scene: ${scene.name ?? 'unnamed'} (message ${scene.message})` : 'No scene has ended by then.'),
        make('p', book.name ? `Lorebook: ${count(facts.length, 'entry', 'entries')}${notices.exactness({ source: book.source, left_out: book.left_out })}` : 'No lorebook'),
        facts.length ? make('details', make('summary', 'Entries'), make('ul', facts.map((entry) => make('li', entry.comment || `entry ${entry.uid}`)))) : null,
        book.left_out.length ? make('details', make('summary', `Left out: ${book.left_out.length}`), make('ul', book.left_out.map((entry) => make('li', `${entry.comment}: ${entry.why}`)))) : null,
        recap.current_version === null ? null : make('details', make('summary', `Running recap: v${recap.current_version}`), make('pre', recap.content ?? '')),
    ], [['checkpoint', 'Checkpoint', 'Save this and stay here.'], ['branch', 'Branch', 'Save this and go on from there.']], 'Close');
    if (choice) {
        await fork({ kind: choice, at });
    }
}
