// The story's checkpoints and branches, in a dialog: what each has, and what can be done with it.

import * as api from './api.js';
import { bringHere } from './bring.js';
import { compare } from './compare.js';
import * as dialogs from './dialogs.js';
import { askAbout, heal } from './enter.js';
import { fork } from './fork.js';
import * as manage from './manage.js';
import * as notices from './notices.js';
import { answer } from './questions.js';
import { openMemory } from './remembered.js';
import * as st from './st.js';
import { mismatch, state, subscribe, summary } from './state.js';
import { openTrash } from './trash.js';
import { count } from './words.js';

const { make, icon } = dialogs;
const KIND = { main: ['book', 'Main chat'], branch: ['code-branch', 'Branch'], checkpoint: ['flag', 'Checkpoint'], copy: ['clone', 'Copy'] };
const BOOK = {
    own: ['ok', 'own lorebook'], shared: ['warning', 'shared lorebook'], missing: ['error', 'lorebook missing'], none: ['quiet', 'no lorebook'],
};

export async function openPanel() {
    const { Popup, POPUP_TYPE } = st.context();
    const body = make('div.forklore.forklore-panel');
    const popup = new Popup(body, POPUP_TYPE.TEXT, '', { okButton: 'Close', wide: true, large: true, allowVerticalScrolling: true });
    const draw = () => render(body, popup).catch((error) => body.replaceChildren(head(), make('p.forklore-error', `${error.message} ${error.hint ?? ''}`)));
    const stop = subscribe(() => body.querySelector('.forklore-status')?.replaceWith(status()));
    draw();
    await popup.show();
    stop();
}

export function status() {
    const { tone, text } = summary();
    return make(`span.forklore-status.forklore-${tone}`, text);
}

function head(title = 'Forklore') {
    return make('div.forklore-head', make('h3', title), status());
}

async function render(body, popup) {
    const open = st.here();
    if (!open) {
        body.replaceChildren(head(), make('p', 'Open a chat to see its checkpoints and branches.'));
        return;
    }
    const [{ stories }, page] = await Promise.all([api.get('api/tree', { story: open.story }), api.hasPage()]);
    const [story] = stories;
    const redraw = () => render(body, popup);
    const versions = mismatch();
    const act = (label, symbol, run) => button(label, symbol, run, label);
    body.replaceChildren(make('div.forklore-top',
        head(story.name),
        versions ? make('p.forklore-error', versions) : '',
        make('div.forklore-bar',
            act('Checkpoint here', 'flag', () => begin('checkpoint', popup)),
            act('Branch here', 'code-branch', () => begin('branch', popup)),
            act('Trash', 'trash-can', async () => { await openTrash(open); await redraw(); }),
            act('Memory', 'brain', openMemory),
            act('Refresh', 'rotate', redraw),
            page ? link() : '')),
        make('div.forklore-tree', story.chats.map((chat) => row(chat, open, popup, redraw))),
    );
    body.querySelector('.forklore-here')?.scrollIntoView({ block: 'center' });
}

function link() {
    const element = make('a.menu_button', icon('up-right-from-square'), make('span', 'Full page'));
    Object.assign(element, { href: api.PAGE, target: '_blank', rel: 'noopener' });
    return element;
}

async function begin(kind, popup) {
    await popup.completeAffirmative();
    await fork({ kind, at: st.context().chat.length - 1 });
}

function row(chat, open, popup, redraw) {
    const here = chat.chat === open.address;
    const [symbol, kind] = KIND[chat.kind];
    const [tone, book] = BOOK[chat.book.state];
    const { current } = chat.running_recap;
    const from = chat.fork_message === null ? '' : `from message ${chat.fork_message} · `;
    const badges = [
        badge(tone, book, chat.book.name ?? ''),
        current === null ? null : badge('quiet', `recap v${current}`, count(chat.running_recap.versions, 'version')),
        chat.scenes.length ? badge('quiet', count(chat.scenes.length, 'scene')) : null,
        chat.learnt ? badge('quiet', `knows ${st.nameOf(chat.learnt.chat ?? chat.learnt.name)}`, `What happened there until message ${chat.learnt.message} was brought along`) : null,
        chat.learnt?.conflicts ? badge('warning', count(chat.learnt.conflicts, 'question'), 'The two branches do not agree; nothing waits for an answer') : null,
        chat.health === 'ok' ? null : care(chat, redraw),
    ];
    const mends = chat.health === 'error';
    const actions = make('div.forklore-actions',
        mends ? button('Heal', 'kit-medical', async () => { await heal(chat.chat, 'rebuild'); await redraw(); }, 'Heal') : null,
        chat.book.state === 'shared' && !mends
            ? button('Give it its own copy of the lorebook', 'copy', async () => { await heal(chat.chat, 'copy'); await redraw(); }, 'Own copy') : null,
        here ? null : button('Open', 'folder-open', async () => { await popup.completeAffirmative(); await st.open(chat.chat); }, 'Open'),
        here ? null : button('Compare with the open chat', 'code-compare', () => compare(open.address, chat.chat), 'Compare'),
        here ? null : button('Bring along what happened there', 'code-merge', () => bringHere(chat.chat, () => popup.completeAffirmative()), 'Bring along…'),
        chat.learnt?.conflicts ? button('Answer what the two branches do not agree on', 'circle-question', async () => { await answer(chat.chat); await redraw(); }, 'Answer…') : null,
        button('Rename', 'pencil', async () => { await manage.rename(chat.chat); await redraw(); }, 'Rename'),
        here ? null : button('Move to the trash', 'trash-can', async () => { await manage.remove(chat.chat); await redraw(); }, 'Trash'));
    const line = make(`div.forklore-row${here ? '.forklore-here' : ''}`,
        make('span.forklore-kind', icon(symbol)),
        make('div.forklore-what',
            make('div.forklore-name', short(chat), here ? make('em', ' open') : null),
            make('div.forklore-badges', make('small', `${from}${count(chat.messages, 'message')}`), badges)),
        actions);
    line.style.setProperty('--depth', Math.min(chat.depth ?? 0, 6));
    line.dataset.chat = chat.chat;
    line.querySelector('.forklore-kind').title = kind;
    line.querySelector('.forklore-name').title = st.nameOf(chat.chat);
    return line;
}

// A fork stands below its parent: what its name repeats of it need not be read again.
function short({ chat, parent, lost_parent: lost }) {
    const name = st.nameOf(chat);
    const above = parent ? st.nameOf(parent) : lost;
    const stem = above?.replace(/ - (Branch|Checkpoint) #\d+$/, '');
    return stem && name.startsWith(`${stem} - `) ? `… ${name.slice(stem.length + 3)}` : name;
}

function badge(tone, text, title = '') {
    const element = make(`span.forklore-badge.forklore-${tone}`, text);
    element.title = title;
    return element;
}

// What is wrong with a chat is a click away, with what can be done about it.
function care(chat, redraw) {
    const element = badge(chat.health, chat.health === 'error' ? 'needs care' : 'look at it', 'What is wrong, and what can be done about it');
    Object.assign(element, { tabIndex: 0, role: 'button' });
    element.classList.add('forklore-care', 'interactable');
    element.addEventListener('click', async () => {
        await askAbout(chat.chat).catch((error) => notices.refusal('About this chat', error));
        await redraw();
    });
    return element;
}

// `told`: what stands on it beside the picture.
function button(label, symbol, run, told = '') {
    const element = make('div.menu_button.interactable', icon(symbol), told ? make('span', told) : null);
    Object.assign(element, { title: label, tabIndex: 0, role: 'button', ariaLabel: label });
    element.addEventListener('click', async () => {
        if (element.classList.contains('disabled')) {
            return;
        }
        element.classList.add('disabled');
        try {
            await run();
        } catch (error) {
            notices.refusal(label, error);
        } finally {
            element.classList.remove('disabled');
        }
    });
    return element;
}

// The small button beside the message field.
export function addBadge(shown) {
    document.querySelector('#forklore_badge')?.remove();
    if (!shown) {
        return;
    }
    const element = make('div.interactable.forklore-dot', icon('code-branch'));
    element.id = 'forklore_badge';
    element.tabIndex = 0;
    element.role = 'button';
    element.addEventListener('click', openPanel);
    document.querySelector('#leftSendForm')?.append(element);
    paint(element);
}

subscribe(() => {
    const element = document.querySelector('#forklore_badge');
    if (element) {
        paint(element);
    }
});

function paint(element) {
    const { tone, text } = summary();
    element.title = `Forklore\n${text}`;
    element.ariaLabel = `Forklore: ${text}`;
    element.dataset.tone = tone;
    element.dataset.count = state.queue && !state.queue.idle ? state.queue.count : '';
}
