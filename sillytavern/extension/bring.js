// Bring along: what another branch has learnt since it and the open chat parted. One thing of it is taken over, or all of it comes into a new
// branch. What the two do not agree on waits there; nothing holds the chat.

import * as api from './api.js';
import { choose, make } from './dialogs.js';
import { heal } from './enter.js';
import { listed } from './manage.js';
import * as notices from './notices.js';
import { answer } from './questions.js';
import * as st from './st.js';
import { count } from './words.js';

const DID = { added: 'added', changed: 'changed', removed: 'removed' };

// From wherever it is asked for: shows both sides, asks, and opens the branch that was made. `leave` closes what is in the way.
export async function bringHere(theirs, leave = async () => {}) {
    const open = st.here();
    const made = open && await bring(open.address, theirs);
    if (made) {
        await leave();
        await st.open(made);
    }
}

// Shows both sides and asks; gives the address of the branch that was made.
async function bring(mine, theirs) {
    await st.flush();
    const told = await api.get('api/together', { chat: mine, from: theirs });
    const [here, there] = [mine, theirs].map((chat) => st.nameOf(chat));
    if (told.theirs.length === 0) {
        notices.info('Bring along', [`"${there}" has learnt nothing that "${here}" does not know.`]);
        return null;
    }
    const ill = told.heal_first && make('p.forklore-error', `Heal "${there}" first: its lorebook holds what is not its own, or lacks what is. Here is only what belongs to its own line.`);
    const waiting = told.conflicts.length
        ? part(`${count(told.conflicts.length, 'question waits', 'questions wait')} for you; until you answer, this chat is right`, told.conflicts.map(question), false) : null;
    const chosen = await choose('Bring along', [
        make('p', `A new branch of "${here}" that also knows what happened in "${there}". Both chats stay as they are.`),
        ill,
        part(`What both knew: ${told.both.length}`, told.both, false),
        part(`What this chat learnt: ${told.ours.length}`, told.ours, false),
        part(`What the other learnt: ${told.theirs.length}`, told.theirs, true),
        waiting,
    ], [
        ...(ill ? [['heal', 'Heal it first', 'It gets a lorebook with what its own line has earned. Nothing is lost.']] : []),
        ['lore', 'Bring all of it along', 'A branch of this chat, with a lorebook of its own.'],
        ['scenes', 'With its scenes', 'The recaps of its scenes come along as entries, too.'],
        ['one', 'Take one thing over…', 'Into this chat, without a branch.'],
    ]);
    if (chosen === 'heal') {
        await heal(theirs, 'rebuild');
        return bring(mine, theirs);
    }
    if (chosen === 'one') {
        await takeOver(mine, theirs, told.theirs.filter(({ did }) => did !== 'removed'));
        return null;
    }
    return chosen ? learn(mine, theirs, chosen === 'scenes') : null;
}

async function learn(mine, theirs, scenes) {
    const report = await api.post('api/learn', { chat: mine, from: theirs, all_scenes: scenes });
    if (!report.chat) {
        return null;
    }
    await listed(report.chat);
    const title = `Made "${st.nameOf(report.chat)}"`;
    if (report.conflicts.length) {
        const waits = `${count(report.conflicts.length, 'question waits', 'questions wait')}. Play on; answer when you like.`;
        notices.withActions('info', title, [waits], [['Answer', () => answer(report.chat)]], { timeOut: 20_000 });
    } else {
        notices.info(title, []);
    }
    return report.chat;
}

// One entry of another branch comes into the open chat.
async function takeOver(mine, theirs, entries) {
    const chosen = await choose('Take one thing over', [make('p', `From "${st.nameOf(theirs)}". This chat gets a new lorebook with it; the old one goes to the trash if nothing else needs it.`)],
        entries.map(({ uid, title, text }) => [String(uid ?? title), title || 'Without a title', text.slice(0, 160)]));
    if (!chosen) {
        return;
    }
    const report = await api.post('api/pick', { chat: mine, from: theirs, entry: chosen, yes: true });
    await st.reload([report.book]);
    notices.info('Taken over', [`"${report.name}" is in this chat's lorebook now.`]);
}

function question({ title, ours, theirs }) {
    return { title, did: 'changed', text: `Here: ${ours ?? 'deleted'}\nThere: ${theirs ?? 'deleted'}` };
}

function part(label, entries, open) {
    const list = make('details', make('summary', label), entries.map(({ title, did, text }) => make(`div.forklore-pair${did ? `.forklore-${DID[did]}` : ''}`,
        make('b', title || 'Without a title'), make('pre', text))));
    list.toggleAttribute('open', open);
    return entries.length ? list : make('p.forklore-quiet', label);
}
