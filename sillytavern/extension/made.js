// One act, one notice: what was made and from which message, with what one may want next. Everything else is a click away.

import { choose, make } from './dialogs.js';
import * as manage from './manage.js';
import * as notices from './notices.js';
import { setting } from './settings.js';
import { nameOf } from './st.js';
import { vaultSetting } from './vault.js';
import { advice, count } from './words.js';

const TITLE = { branch: 'Branch created', checkpoint: 'Checkpoint created' };
// What somebody should look at, or can do something about. The rest is how things are.
const TO_DO = new Set(['BOOK_ALSO_GLOBAL', 'BOOK_MISSING', 'BOOK_STAYS_SHARED', 'ENTRY_FOREIGN', 'MEDIA_MISSING', 'REGISTRY_DANGLING', 'STATE_INEXACT']);
const LASTS = 12_000;

/**
 * A fork was made.
 * @param {any} report
 */
export async function tell(report) {
    const warned = await vaultSetting('checkpoint.show_warnings') ?? true;
    const warnings = warned ? report.warnings : [];
    const todo = warnings.filter(({ code }) => TO_DO.has(code)).length;
    if (!setting('notices') && !todo) {
        return;
    }
    const actions = [
        report.operation && ['Undo', () => manage.takeBack(report)],
        ['Rename', () => manage.rename(report.chat)],
        [todo ? `${count(todo, 'thing')} to look at` : 'Details', () => details(report, warnings)],
    ];
    notices.withActions('success', `${TITLE[report.kind]} from message ${report.at}`, nameOf(report.chat), actions.filter(Boolean), { timeOut: LASTS });
}

async function details(report, warnings) {
    const { book, running_recap: recap, combined_recap: combined } = report;
    const messages = (list) => list.map((warning) => make('p', advice(warning)));
    const [todo, rest] = [true, false].map((wanted) => warnings.filter(({ code }) => TO_DO.has(code) === wanted));
    const choice = await choose(TITLE[report.kind], [
        make('p', make('b', nameOf(report.chat)), make('br'), `from message ${report.at} of ${nameOf(report.parent)}`),
        ...messages(todo),
        make('p', lorebook(book)),
        notices.recap(recap.current_version, recap.versions) && make('p', notices.recap(recap.current_version, recap.versions)),
        combined && make('p', `Combined recap: ${count(combined.message_count, 'message')}`),
        ...(report.notes ?? []).map((note) => make('p', note)),
        book.left_out?.length ? make('details', make('summary', `Left out, because it is later: ${book.left_out.length}`),
            make('ul', book.left_out.map(({ comment, why }) => make('li', `${comment}: ${why}`)))) : null,
        rest.length ? make('div.forklore-quiet', messages(rest)) : null,
    ], book.shared ? [['copy', 'Give it its own copy of the lorebook', 'The others keep theirs.']] : [], 'Close');
    if (choice === 'copy') {
        const { heal } = await import('./enter.js');
        await heal(report.chat, 'copy').catch((error) => notices.refusal('The lorebook was not copied', error));
    }
}

function lorebook(book) {
    const { name, shared, facts, entries } = book;
    if (!name) {
        return 'No lorebook: its parent has none.';
    }
    return shared ? `Lorebook: ${name}, shared with its parent` : `Lorebook: ${name}, ${count(facts ?? entries, 'entry', 'entries')}${notices.exactness(book)}`;
}
