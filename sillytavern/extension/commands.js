// Slash commands. Each gives text or JSON for the next one in the pipe.

import * as api from './api.js';
import { heal } from './enter.js';
import { create } from './fork.js';
import * as notices from './notices.js';
import { openPanel } from './panel.js';
import * as st from './st.js';
import { opened, summary } from './state.js';

export function start() {
    const { SlashCommandParser, SlashCommand, SlashCommandArgument, SlashCommandNamedArgument, ARGUMENT_TYPE } = st.context();
    const named = (name, description, type = ARGUMENT_TYPE.STRING) => SlashCommandNamedArgument.fromProps({ name, description, typeList: [type] });
    const text = (description) => [SlashCommandArgument.fromProps({ description, typeList: [ARGUMENT_TYPE.STRING] })];
    const at = named('at', 'message; the last one without it', ARGUMENT_TYPE.NUMBER);
    const wait = named('wait', 'wait for the queue to be empty', ARGUMENT_TYPE.BOOLEAN);
    const add = (name, callback, helpString, namedArgumentList = [], unnamedArgumentList = []) => SlashCommandParser.addCommandObject(SlashCommand.fromProps({
        name: `forklore-${name}`, callback: (args, value) => told(name, () => callback(args, value)), helpString, namedArgumentList, unnamedArgumentList, returns: 'text or JSON',
    }));
    const fork = (kind) => async (args, name) => {
        const report = await create({ kind, at: number(args.at), swipe: number(args.swipe), name: String(name ?? '').trim() || undefined, whenReady: args.wait === 'true' });
        return report ? st.nameOf(report.chat) : '';
    };
    add('checkpoint', fork('checkpoint'), 'Makes a checkpoint with a lorebook of its own, and stays here. Gives its name.', [at, wait], text('name'));
    add('branch', fork('branch'), 'Makes a branch with a lorebook of its own, and opens it. Gives its name.', [at, wait, named('swipe', 'swipe of that message', ARGUMENT_TYPE.NUMBER)], text('name'));
    add('panel', async () => { openPanel(); return ''; }, 'Shows the checkpoints and branches of this story.');
    add('state', async () => summary().text, 'Gives whether the story is ready to be forked, as a sentence.');
    add('check', async () => JSON.stringify(await validate()), 'Looks whether this chat and its lorebook are right. Gives JSON.');
    add('heal', async (args) => JSON.stringify(await heal(opened().address, args.choose ?? 'rebuild')), 'Puts right what is wrong with this chat. Gives JSON.', [named('choose', 'rebuild, empty, copy, detach or accept')]);
    add('tree', async () => JSON.stringify(await api.get('api/tree', { story: st.here()?.story })), 'Gives the fork tree of this story as JSON.');
    add('undo', async () => {
        const undone = await api.post('api/undo');
        await st.refreshBooks();
        return undone.summary;
    }, 'Takes back what Forklore did last. Gives what that was.');
}

export function validate(chat = st.here()?.address) {
    return api.get('api/enter', { chat });
}

async function told(name, run) {
    try {
        return await run();
    } catch (error) {
        notices.refusal(`/forklore-${name}`, error);
        return '';
    }
}

function number(value) {
    return value === undefined || value === '' || Number.isNaN(Number(value)) ? undefined : Number(value);
}
