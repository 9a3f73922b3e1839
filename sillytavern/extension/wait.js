// "Create when ready": the engine waits for the queue, this shows how it goes and opens what was made.

import * as api from './api.js';
import { link } from './edits.js';
import * as notices from './notices.js';
import { during } from './ours.js';
import * as st from './st.js';
import { welcome } from './welcome.js';
import { facts, work } from './words.js';

const EVERY = 1500;

// Begins to wait. Gives the report of the fork when it is made, null if it was cancelled.
export async function waitFor({ kind, ...wanted }) {
    const answer = await api.post(`api/${kind}`, { ...wanted, when_ready: true });
    if (!answer.wait) {
        await arrive(answer, kind);
        return answer;
    }
    const toast = show(answer.wait);
    const report = await over(answer.wait, toast).finally(() => toast.remove());
    if (report) {
        await arrive(report, kind);
    }
    return report;
}

function arrive(report, kind) {
    return during(report.parent, async () => {
        link(report);
        await welcome(report);
        const stayed = st.here()?.address === report.parent;
        if (kind === 'branch' && stayed && !st.isGenerating()) {
            await st.open(report.chat);
        }
    });
}

async function over(wait, toast) {
    for (;;) {
        await st.pause(EVERY);
        const { waits } = await api.get('api/waits');
        const now = waits.find(({ id }) => id === wait.id);
        if (now) {
            toast.update(now);
            continue;
        }
        if (toast.cancelled) {
            return null;
        }
        return result(wait);
    }
}

// The wait is over: the fork it made is the newest one that was made of that chat at that message.
async function result(wait) {
    const ended = endings.get(wait.id);
    if (ended?.state === 'failed') {
        throw new api.Refusal(0, ended.error);
    }
    if (ended?.report) {
        return ended.report;
    }
    const { operations } = await api.get('api/log', { limit: 10 });
    const operation = operations.find(({ kind, chat, undone_by: undone }) => kind === wait.kind && chat && !undone);
    if (!operation) {
        throw new api.Refusal(0, { message: 'The fork was not made.', to_do: 'Try it again.' });
    }
    const show = await api.get('api/show', { chat: operation.chat });
    const book = { ...show.book, entries: show.book.entries.length, facts: facts(show.book.entries).length, left_out: [] };
    const recap = { current_version: show.running_recap.current_version, versions: show.running_recap.versions.length };
    return { ...operation, parent: wait.chat, at: wait.at, book, running_recap: recap, combined_recap: show.combined_recap, warnings: [] };
}

// How waits ended, as the events told it.
const endings = new Map();

export function heard(event) {
    if (['made', 'failed', 'cancelled'].includes(event.state)) {
        endings.set(event.id, event);
    }
}

function show(wait) {
    const text = (now) => `${now.kind === 'branch' ? 'Branch' : 'Checkpoint'} of message ${now.at}: ${work(now)}.\nClick to cancel.`;
    const handle = { cancelled: false, update: (now) => element?.find('.toast-message').text(text(now)), remove: () => toastr.clear(element, { force: true }) };
    const element = toastr.info(text(wait), 'Waiting for the queue', {
        escapeHtml: true, timeOut: 0, extendedTimeOut: 0, tapToDismiss: false, toastClass: 'toast forklore-toast forklore-waiting',
        onclick: async () => {
            const { cancelled } = await api.post('api/waits/cancel', { id: wait.id }).catch(() => ({ cancelled: false }));
            handle.cancelled = cancelled;
            if (cancelled) {
                notices.info('Cancelled', 'The fork is not made.');
            }
        },
    });
    return handle;
}
