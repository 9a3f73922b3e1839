// The short texts that appear at the edge of the page.

import { setting } from './settings.js';
import { count } from './words.js';

// Text of others is shown as text.
const LOOK = { escapeHtml: true, timeOut: 7000, extendedTimeOut: 10_000, toastClass: 'toast forklore-toast' };

function toast(kind, title, lines, options = {}) {
    return toastr[kind]([lines].flat().filter(Boolean).join('\n'), title, { ...LOOK, ...options });
}

export function problem(title, lines) {
    return toast('error', title, lines, { timeOut: 12_000 });
}

export function warning(title, lines, options = {}) {
    return toast('warning', title, lines, { timeOut: 10_000, ...options });
}

export function info(title, lines, options) {
    return setting('notices') ? toast('info', title, lines, options) : null;
}

// What the engine did when it healed, each once, as sentences; and what it could not attribute to anybody.
export function done(title, reports, first = '') {
    const all = [reports].flat();
    const sentences = all.flatMap(({ actions }) => actions.map(({ did }) => `${did[0].toUpperCase()}${did.slice(1)}.`));
    const aside = all.flatMap(({ quarantined }) => quarantined.map(({ comment }) => comment));
    info(title, [first, ...new Set(sentences.length ? sentences : ['There was nothing to do.']), putAside(aside)]);
}

function putAside(titles) {
    if (!titles.length) {
        return '';
    }
    const named = titles.length > 4 ? [...titles.slice(0, 3), `${titles.length - 3} more`] : titles;
    const they = titles.length === 1 ? 'It stays where it was' : 'They stay where they were';
    return `${count(titles.length, 'entry', 'entries')} that nobody can attribute: ${named.join(', ')}. ${they}, and a copy is kept with this chat.`;
}

// A dialog opens: what was told before would hide it.
export function clear() {
    document.querySelectorAll('.forklore-toast:not(.forklore-waiting)').forEach((element) => toastr.clear($(element), { force: true }));
}

export function refusal(title, error) {
    return problem(title, [error.message, error.hint]);
}

/**
 * A notice with buttons, `[[label, what it does]…]`. Whichever is pressed, the notice has done its work.
 * @param {'success' | 'info' | 'warning'} kind
 */
export function withActions(kind, title, lines, actions, options = {}) {
    const shown = toast(kind, title, lines, { ...options, toastClass: `toast forklore-toast forklore-acts ${options.toastClass ?? ''}` });
    const bar = document.createElement('div');
    bar.className = 'forklore-toast-actions';
    for (const [label, act] of actions) {
        const button = document.createElement('button');
        button.textContent = label;
        button.addEventListener('click', (event) => {
            event.stopPropagation();
            toastr.clear(shown, { force: true });
            Promise.resolve().then(act).catch((error) => refusal(label, error));
        });
        bar.append(button);
    }
    shown?.[0]?.append(bar);
    return shown;
}

// A fork that Forklore made was opened.
export function restored(entering, name) {
    const what = { branch: 'Branch', checkpoint: 'Checkpoint', copy: 'Copy' }[entering.kind];
    info(`${what} loaded: ${name}`, [
        `From message ${entering.message} of ${entering.parent}`,
        [entering.scene, entering.running_version === null ? null : `recap v${entering.running_version}`].filter(Boolean).join(' · '),
    ]);
}

export function recap(version, versions) {
    return version === null || version === undefined ? null : `Running recap: v${version} (${count(versions, 'version')})`;
}

export function exactness({ source, left_out: left = [] }) {
    const known = {
        head: 'as it is', unchanged: 'unchanged since', history: 'from history', scene: 'from the scenes',
        degraded: typeof source?.message === 'number'
            ? 'as Forklore first saw it, because nothing older is known'
            : 'as it is now, because nothing older is known',
    }[source?.kind];
    return `${known ? `, ${known}` : ''}${left.length ? `; ${left.length} later ${left.length === 1 ? 'one' : 'ones'} left out` : ''}`;
}
