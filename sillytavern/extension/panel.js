// The story's checkpoints and branches, in a dialog: what each has, and what can be done with it.

import * as api from './api.js';
import { compare } from './compare.js';
import * as dialogs from './dialogs.js';
import { heal } from './enter.js';
import { create } from './fork.js';
import * as keyed from './keyed.js';
import * as notices from './notices.js';
import * as st from './st.js';
import { mismatch, state, subscribe, summary } from './state.js';

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
    const { chat, Popup } = st.context();
    const at = chat.length - 1;
    const flag = chat[at]?.extra?.bookmark_link;
    const text = make('div', make('p', 'Its name; leave it empty to have one made.'),
        flag ? make('p', `The flag of this message leads to "${flag}". It will lead to the new checkpoint; the other one stays in the list.`) : null);
    const name = kind === 'checkpoint' ? await Popup.show.input('Create checkpoint', text.innerHTML, '') : '';
    if (name === null || name === false) {
        return;
    }
    await popup.completeAffirmative();
    await create({ kind, at, name: name || undefined });
}

function row(chat, open, popup, redraw) {
    const here = chat.chat === open.address;
    const [symbol, kind] = KIND[chat.kind];
    const [tone, book] = BOOK[chat.book.state];
    const { current } = chat.running_recap;
    const from = chat.fork_message === null ? '' : `from message ${chat.fork_message} · `;
    const badges = [
        badge(tone, book, chat.book.name ?? ''),
        current === null ? null : badge('quiet', `recap v${current}`, `${chat.running_recap.versions} versions`),
        chat.scenes.length ? badge('quiet', `${chat.scenes.length} ${chat.scenes.length === 1 ? 'scene' : 'scenes'}`) : null,
        chat.health === 'ok' ? null : badge(chat.health, chat.health === 'error' ? 'needs care' : 'look at it', (chat.findings ?? []).join(', ')),
    ];
    const mends = chat.health === 'error';
    const actions = make('div.forklore-actions',
        mends ? button('Heal', 'kit-medical', async () => { await heal(chat.chat, 'rebuild'); await redraw(); }) : null,
        chat.book.state === 'shared' && !mends
            ? button('Give it its own copy of the lorebook', 'copy', async () => { await heal(chat.chat, 'copy'); await redraw(); }, 'Own copy') : null,
        here ? null : button('Open', 'folder-open', async () => { await popup.completeAffirmative(); await st.open(chat.chat); }),
        here ? null : button('Compare with the open chat', 'code-compare', () => compare(open.address, chat.chat)),
        button('Rename', 'pencil', async () => { await rename(chat, here); await redraw(); }),
        here ? null : button('Move to the trash', 'trash-can', async () => { await remove(chat, open); await redraw(); }));
    const line = make(`div.forklore-row${here ? '.forklore-here' : ''}`,
        make('span.forklore-kind', icon(symbol)),
        make('div.forklore-what',
            make('div.forklore-name', short(chat), here ? make('em', ' open') : null),
            make('div.forklore-badges', make('small', `${from}${chat.messages} messages`), badges)),
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

async function rename(chat, here) {
    const old = st.nameOf(chat.chat);
    const name = await st.context().Popup.show.input('Rename', 'The new name of this chat:', old);
    if (!name || name === old) {
        return;
    }
    if (here) {
        // SillyTavern's page must know.
        await st.context().renameChat(old, name);
        return;
    }
    await api.post('api/rename', { chat: chat.chat, name });
    await keyed.kept(keyed.renamed(old, name));
    const { groupId, groups } = st.context();
    const group = groups.find(({ id }) => id === groupId);
    if (group) {
        group.chats = group.chats.map((item) => (item === old ? name : item));
        await st.saveGroup(groupId);
    }
}

async function remove(chat, open) {
    const plan = await api.post('api/delete', { chat: chat.chat, dry_run: true });
    const text = [
        make('p', `"${st.nameOf(chat.chat)}" goes to Forklore's trash${plan.books.length ? `, with its lorebook "${plan.books.join('", "')}"` : ''}. It can be brought back.`),
        ...(plan.warnings ?? []).map((warning) => make('p.forklore-quiet', warning.message)),
    ];
    if (await dialogs.choose('Move this chat to the trash?', text, [['yes', 'Move to the trash']]) !== 'yes') {
        return;
    }
    await api.post('api/delete', { chat: chat.chat });
    await keyed.kept(keyed.deleted(st.nameOf(chat.chat)));
    const group = st.context().groups.find(({ id }) => id === open.group);
    if (group) {
        group.chats = group.chats.filter((item) => item !== st.nameOf(chat.chat));
        await st.saveGroup(open.group);
    }
    await st.refreshBooks(plan.books);
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
