// The short texts that appear at the edge of the page.

import { setting } from './settings.js';
import { nameOf } from './st.js';

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

// What the engine did, each once, as sentences.
export function done(title, actions, first = '') {
    const sentences = actions.map(({ did }) => `${did[0].toUpperCase()}${did.slice(1)}.`);
    info(title, [first, ...new Set(sentences.length ? sentences : ['There was nothing to do.'])]);
}

// A dialog opens: what was told before would hide it.
export function clear() {
    document.querySelectorAll('.forklore-toast:not(.forklore-waiting)').forEach((element) => toastr.clear($(element), { force: true }));
}

export function refusal(title, error) {
    return problem(title, [error.message, error.hint]);
}

// A fork was made: what it has.
export function made(report) {
    const title = report.kind === 'checkpoint' ? 'Checkpoint created' : 'Branch created';
    if (setting('notices')) {
        toast('success', title, [
            nameOf(report.chat),
            report.book.name ? `Lorebook: ${report.book.name}${report.book.shared ? ' (shared, kept by hand)' : ''}` : 'No lorebook',
            report.book.name && !report.book.shared && `Entries: ${report.book.entries}${exactness(report.book)}`,
            recap(report.running_recap.current_version, report.running_recap.versions),
            report.combined_recap && `Combined recap: ${report.combined_recap.message_count} messages`,
            ...(report.notes ?? []),
        ]);
    }
    if (report.warnings.length) {
        warning(`${title}, but`, report.warnings.map((warning) => warning.message));
    }
}

// A fork that Forklore made was opened.
export function restored(entering) {
    const what = { branch: 'Branch', checkpoint: 'Checkpoint', copy: 'Copy' }[entering.kind];
    info(`${what} loaded`, [
        entering.scene ?? `From message ${entering.message} of ${entering.parent}`,
        recap(entering.running_version, entering.versions),
        entering.combined_messages !== null && `Combined recap: ${entering.combined_messages} messages`,
        `Created: ${new Date(entering.created).toLocaleString()}`,
    ]);
}

function recap(version, versions) {
    return version === null || version === undefined ? null : `Running recap: v${version} (${versions} ${versions === 1 ? 'version' : 'versions'})`;
}

export function exactness({ source, left_out: left = [] }) {
    const known = {
        head: 'as it is', unchanged: 'unchanged since', history: 'from history', scene: 'from the scenes',
        degraded: 'as it is now, because nothing older is known',
    }[source?.kind];
    return `${known ? `, ${known}` : ''}${left.length ? `; ${left.length} later ${left.length === 1 ? 'one' : 'ones'} left out` : ''}`;
}
