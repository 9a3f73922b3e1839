// Questions to the user, in SillyTavern's own popups. Each gives a word for what was chosen, or null.

import { clear } from './notices.js';
import { context, nameOf } from './st.js';
import { work } from './words.js';

// An element: `make('p.class', 'text', child…)`.
export function make(what, ...content) {
    const [tag, ...classes] = what.split('.');
    const element = document.createElement(tag || 'div');
    element.classList.add(...classes);
    element.append(...content.flat().filter((part) => part !== null && part !== undefined && part !== false));
    return element;
}

export function icon(name) {
    const element = make(`i.fa-solid.fa-${name}`);
    element.ariaHidden = 'true';
    return element;
}

// Dialogs about the chat that is open: they close when it does.
const passing = new Set();

export function dismiss() {
    passing.forEach((popup) => popup.completeCancelled());
}

// A dialog with one button for every choice, `[[word, label, explanation]…]`, and one to leave.
export async function choose(title, content, choices, leave = 'Cancel') {
    const { Popup, POPUP_TYPE } = context();
    let chosen = null;
    const body = make('div.forklore.forklore-dialog', make('h3', title), ...[content].flat());
    const list = make('div.forklore-choices');
    body.append(list);
    const popup = new Popup(body, POPUP_TYPE.TEXT, '', { okButton: leave, cancelButton: false, allowVerticalScrolling: true });
    for (const [word, label, explanation] of choices) {
        const button = make('div.forklore-choice.menu_button.interactable', make('b', label), explanation && make('span', explanation));
        button.dataset.choice = word;
        button.tabIndex = 0;
        button.role = 'button';
        button.addEventListener('click', () => {
            chosen = word;
            popup.completeCancelled();
        });
        list.append(button);
    }
    clear();
    passing.add(popup);
    await popup.show();
    passing.delete(popup);
    return chosen;
}

// What the settings can ask for before a fork is made.
const REQUIRED = new Set(['NO_SCENE_BREAK', 'NO_SCENE_RECAP', 'NO_SCENE_SNAPSHOT', 'NO_RUNNING_RECAP', 'NO_LOREBOOK']);

// A fork was refused. `queue` may be waited for.
export function refused(kind, refusal, queue) {
    const title = kind === 'checkpoint' ? 'This checkpoint cannot be made now' : 'This branch cannot be made now';
    const { message, to_do: todo } = refusal;
    const text = [make('p', message), todo && make('p.forklore-quiet', todo)];
    if (refusal.code === 'QUEUE_NOT_EMPTY') {
        return choose(title, [make('p', `The memory extension is not done with this story: ${work(queue)}. A fork made now would lack what is being written.`)], [
            ['wait', 'Create when ready', 'Goes on by itself when the queue is empty. You can play on meanwhile.'],
            ['ignore', 'Create without it…', 'From what was known before the queued work.'],
        ]);
    }
    if (refusal.code === 'STATE_UNRESOLVABLE') {
        return choose(title, text, [['loose', 'Create with a copy of the lorebook as it is now', 'Strict mode refuses this; it is allowed for this one fork.']]);
    }
    if (REQUIRED.has(refusal.code)) {
        return choose(title, text, [['loose', 'Create it all the same', 'The settings ask for what is missing; this one fork may do without.']]);
    }
    if (refusal.code === 'NAME_TAKEN') {
        return choose(title, text, [['overwrite', 'Overwrite it…', 'SillyTavern asks once more. What is overwritten goes to Forklore\'s trash.']]);
    }
    return choose(title, text, [], 'OK');
}

// A name for a checkpoint, where the settings want one. Nothing if somebody thinks better of it.
export async function named() {
    for (;;) {
        const name = await context().Popup.show.input('Create Checkpoint', 'Its name. The settings ask for one.', '');
        if (name === null || name === false) {
            return null;
        }
        if (name.trim()) {
            return name;
        }
    }
}

export function sure(title, text, yes) {
    return choose(title, make('p', text), [['yes', yes]]);
}

const CHOICES = {
    follow: ['Use the renamed one', 'The same lorebook under its new name.'],
    rebuild: ['Rebuild it', 'A new lorebook with what this line of the story has earned, from scenes and history.'],
    empty: ['Start with an empty one', 'A new lorebook without entries.'],
    copy: ['Copy the parent\'s', 'A copy of the lorebook of the chat that this one was forked from, as it is now.'],
    detach: ['Use none', 'The chat goes on without a lorebook.'],
    accept: ['Leave it as it is', 'Forklore notes your decision and does not ask again.'],
};

// A copy of what the chat itself has, not of its parent's.
const OWN_COPY = ['Give this chat its own copy', 'A copy of the lorebook as it is now, for this chat alone. The others keep theirs.'];

// A way back to where the chat was forked from, as a choice.
export function back(place) {
    return place?.parent ? [['parent', `Back to ${nameOf(place.parent)}`, 'The chat that this one was forked from. This one stays as it is.']] : [];
}

/**
 * Something is wrong with a chat: what it is, and what is to become of its book. `hold`: generating waits; then there is 'continue', too.
 * @param {any} question
 * @param {{ findings: any[], hold: boolean, place: any }} entered
 */
export function repair(question, { findings, hold, place }) {
    const rest = findings.filter((finding) => finding.code !== question?.code && finding.severity !== 'info');
    const own = question && (question.copy_of === question.book || (hold && !place?.parent));
    const choices = (question?.choices ?? []).map((choice) => [choice, ...(own && choice === 'copy' ? OWN_COPY : CHOICES[choice] ?? [choice])]);
    if (!question && rest.some(({ heals }) => heals)) {
        choices.push(['rebuild', 'Heal this chat', 'What is wrong is put right as far as it can be. Nothing is lost.']);
    }
    if (hold) {
        choices.push(['continue', 'Continue anyway', 'Generate with what there is now. You will be asked again the next time.'], ...back(place));
    }
    const list = make('ul', rest.map(({ message, to_do: todo }) => make('li', `${message} `, make('span.forklore-quiet', todo))));
    const title = question?.choices[0] === 'copy' ? 'This chat shares its lorebook' : question ? 'The lorebook of this chat is not right' : 'About this chat';
    return choose(title, [
        question && make('p', question.text),
        question?.book && !question.text.includes(question.book) && make('p.forklore-quiet', `Lorebook: ${question.book}`),
        rest.length && (question ? make('details', make('summary', `${rest.length} more`), list) : list),
        hold && make('p', 'Nothing is generated until you decide.'),
    ].filter(Boolean), choices, question ? 'Not now' : 'Close');
}
