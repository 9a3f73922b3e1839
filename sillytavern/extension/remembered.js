// What is to be seen and done about memory of the open chat: in the drawer, and as a dialog of its own.

import * as api from './api.js';
import { changedMind, isPaused, now, pause, retry } from './asking.js';
import * as dialogs from './dialogs.js';
import { isFork } from './from.js';
import { decide, isOn, memory, preview, stale, subscribe, turn } from './memory.js';
import * as notices from './notices.js';
import { choose, connection, profiles } from './profiles.js';
import * as st from './st.js';
import { state, subscribe as follow } from './state.js';
import { amount, count } from './words.js';

const { make, icon } = dialogs;
const KINDS = {
    boundary: 'where a scene ends', facts: 'what happened', identity: 'who is who', recap: 'the story so far',
    compaction: 'a long entry, shorter', combined: 'the recap as one text',
};

// The part of the drawer. It draws itself anew whenever something has changed.
export function section() {
    const element = make('div.forklore-memory');
    let bill = null;
    let drawn = '';
    const draw = () => {
        // Whoever is choosing something there is not disturbed by what is the same as before.
        const key = JSON.stringify([st.here()?.address, isOn(), memory, isPaused(), connection(), profiles(), state.entered?.place, bill]);
        if (key !== drawn) {
            drawn = key;
            element.replaceChildren(...content(bill).flat().filter(Boolean));
        }
    };
    const paid = async () => {
        bill = state.mode === 'ready' && isOn() ? await api.get('api/memory/bill').catch(() => null) : null;
        draw();
    };
    let asked = -1;
    const [leave, forget] = [follow(draw), subscribe(() => {
        draw();
        if (asked !== memory.asked) {
            asked = memory.asked;
            paid();
        }
    })];
    paid();
    return { element, stop: () => [leave, forget].forEach((end) => end()) };
}

export async function openMemory() {
    const { Popup, POPUP_TYPE } = st.context();
    const { element, stop } = section();
    const popup = new Popup(make('div.forklore.forklore-dialog', make('h3', 'Memory'), element), POPUP_TYPE.TEXT, '', { okButton: 'Close', allowVerticalScrolling: true });
    await popup.show();
    stop();
}

function content(bill) {
    if (!st.here()) {
        return [make('p.forklore-quiet', 'Open a chat to let Forklore remember it.')];
    }
    const { status } = memory;
    if (!isOn()) {
        return [power(false), make('p.forklore-quiet', 'Scenes, facts and recaps, which follow every edit, swipe and fork. First you see what it would cost.')];
    }
    return [
        power(true), who(),
        status ? [how(status), work(status), edited(), parked(status), proposed(status)] : make('p.forklore-quiet', 'Looking…'),
        bill ? paid(bill) : null,
    ].flat();
}

function power(on) {
    const input = make('input');
    Object.assign(input, { type: 'checkbox', checked: on, name: 'forklore_memory' });
    input.addEventListener('change', async () => {
        try {
            await (on ? turn(false) : begin());
        } catch (error) {
            notices.refusal('Memory', error);
        }
        input.checked = isOn();
    });
    return make('label.forklore-field.checkbox_label', input, make('span', 'Remember this chat'));
}

function who() {
    const element = make('div');
    const draw = () => {
        const { problem } = connection();
        element.replaceChildren(chooser(draw), ...(problem ? [make('p.forklore-warning', problem)] : []));
    };
    draw();
    return element;
}

function chooser(changed) {
    const input = make('select.text_pole');
    input.name = 'forklore_memory_profile';
    input.append(new Option('Nobody yet', ''), ...profiles().map(({ id, name }) => new Option(name, id)));
    input.value = connection().profile?.id ?? '';
    input.addEventListener('change', () => {
        choose(input.value);
        changed();
        changedMind();
    });
    return make('label.forklore-field', make('span', 'Who is asked', make('small.forklore-quiet', 'One of your connection profiles. Its key stays in SillyTavern.')), input);
}

// Before anything is asked: what it would cost, and who is asked.
async function begin(takeOver = false) {
    const would = await preview();
    const chosen = await dialogs.choose('Let Forklore remember this chat', [
        make('p', 'A language model of yours reads each scene once. Entries, lists of who is who and recaps are computed from what it says, and written into a lorebook of this chat\'s own.'),
        make('p', make('b', cost(would))),
        would.questions ? make('p.forklore-quiet', `${count(would.questions, 'question')} to begin with; more follow from the answers. You can pause at any time, and what was answered is kept.`) : null,
        who(),
    ].filter(Boolean), [['on', 'Turn it on', 'It begins when the story has come to rest for some seconds.']], 'Not now');
    if (chosen !== 'on') {
        return;
    }
    try {
        await turn(true, takeOver);
    } catch (error) {
        if (error.code !== 'MEMORY_KEPT' || takeOver || !await dialogs.sure('Another extension keeps this chat\'s memory', `${error.message}. Forklore can go on from what it has kept; then that extension must not write here any more.`, 'Take it over')) {
            throw error;
        }
        await turn(true, true);
    }
}

function cost({ questions, tokens_in: read, tokens_out: written, price }) {
    if (!questions) {
        return 'Nothing has to be asked: 0 questions.';
    }
    return `About ${amount(read)} tokens to be read and ${amount(written)} to be written${price ? `: about ${money(price)} at your prices` : ''}.`;
}

function money(price) {
    return price.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: price < 0.1 ? 4 : 2 });
}

function how(status) {
    const { scenes, entries, questions, open_from: open, messages } = status;
    const fork = state.entered?.chat === st.here()?.address && isFork(state.entered?.place ?? {});
    const ready = scenes.filter(({ state }) => state === 'ready').length;
    const changed = stale().length;
    const bar = make('progress');
    Object.assign(bar, { max: messages || 1, value: questions ? scenes[ready - 1]?.last + 1 || 0 : messages, title: `Remembered up to message ${open - 1}` });
    return [
        make('p.forklore-memory-state', `${changed ? `${count(scenes.length, 'scene')}, ${changed} of which ${changed === 1 ? 'has' : 'have'} changed.` : `${count(ready, 'scene')} remembered, ${count(entries, 'entry', 'entries')}.`} ${told(status)}`),
        questions || memory.asking ? bar : null,
        fork && !questions && ready ? make('p.forklore-quiet', 'After a fork: 0 questions. It remembers what the story knew there.') : null,
    ];
}

// What memory is doing, or why it is not.
export function told(status) {
    const { asking, problem } = memory;
    if (asking) {
        const { kind, about } = asking;
        return `Asking ${KINDS[kind] ?? kind}${about ? ` (messages ${about[0]} to ${about[1]})` : ''}…`;
    }
    if (!status.questions) {
        return status.parked.length ? 'Nothing else has to be asked.' : 'Nothing has to be asked.';
    }
    const what = `${count(status.questions, 'question waits', 'questions wait')}. ${cost(status)}`;
    const why = isPaused() ? 'Paused.' : problem ?? connection().problem ?? (stale().length ? '' : 'It goes on when the story has come to rest.');
    return `${what} ${why}`;
}

function work({ questions }) {
    const waits = questions > 0 && !memory.asking && !stale().length && connection().profile;
    return make('div.forklore-bar',
        button(isPaused() ? 'Go on' : 'Pause', isPaused() ? 'play' : 'pause', () => pause(!isPaused())),
        waits && !isPaused() ? button('Ask now', 'forward', () => now()) : null);
}

function edited() {
    const [scene] = stale();
    return scene ? box(`Messages ${scene.first} to ${scene.last} were remembered, and something in them has changed.`,
        button('Ask again', 'rotate', () => now()), button('Keep', 'check', () => decide({ keep: scene.last }))) : null;
}

function parked({ parked: waiting }) {
    return waiting.length ? box(`${count(waiting.length, 'question')} had no reply that could be used: ${waiting.at(-1)}`, button('Ask again', 'rotate', () => retry())) : null;
}

function proposed({ proposals }) {
    if (!proposals.length) {
        return null;
    }
    const one = ({ title, before, text }) => make('details', make('summary', title, make('small', before === null ? ' new' : ' changed')),
        before === null ? null : make('pre.forklore-removed', before), make('pre', text), button('Approve', 'check', () => decide({ approve: title })));
    return make('div.forklore-proposals', make('p', `${count(proposals.length, 'entry waits', 'entries wait')} to be approved.`), proposals.map(one),
        button('Approve all', 'check-double', () => decide('approve_all')));
}

function paid({ today, days, all, daily_tokens: most }) {
    const [last] = days;
    const price = today && last?.price ? ` (${money(last.price)})` : '';
    return make('p.forklore-quiet', `Today: ${amount(today)} tokens${price}${most ? ` of ${amount(most)}` : ''}. Altogether: ${amount(all.tokens_in + all.tokens_out)}${all.price ? ` (${money(all.price)})` : ''}.`);
}

function box(text, ...acts) {
    return make('div.forklore-stale', make('p', text), make('div.forklore-bar', acts));
}

function button(label, symbol, run) {
    const element = make('div.menu_button.interactable', icon(symbol), make('span', label));
    Object.assign(element, { tabIndex: 0, role: 'button' });
    element.addEventListener('click', () => Promise.resolve().then(run).catch((error) => notices.refusal(label, error)));
    return element;
}
