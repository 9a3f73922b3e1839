// Every way to fork that the page offers comes by here first. The listener sits on the window, in the phase before everybody else's:
// SillyTavern's own handlers and those of other extensions do not see a click that is answered here.

import { fork } from './fork.js';
import { setting } from './settings.js';
import * as st from './st.js';

const BUTTONS = '.mes_create_branch, .mes_create_bookmark, #option_new_bookmark, .swipe_picker_branch, .mes_bookmark';

export function start() {
    window.addEventListener('click', (event) => {
        const wanted = setting('intercept') && st.canFork() && asked(event);
        if (wanted) {
            event.stopImmediatePropagation();
            event.preventDefault();
            document.getElementById('options')?.style.setProperty('display', 'none');
            fork(wanted);
        }
    }, true);
}

// What a click asks for; null if it is not about a fork.
function asked(event) {
    // jQuery has already called its handlers when it makes this click: the fork is under way.
    if (globalThis.jQuery?.event?.triggered === 'click') {
        return null;
    }
    const button = st.target(event)?.closest(BUTTONS);
    if (!button) {
        return null;
    }
    const at = Number(button.closest('.mes')?.getAttribute('mesid') ?? Number.NaN);
    if (button.matches('.mes_create_branch')) {
        return { kind: 'branch', at };
    }
    if (button.matches('.mes_create_bookmark') || (button.matches('.mes_bookmark') && event.shiftKey)) {
        return { kind: 'checkpoint', at };
    }
    if (button.matches('#option_new_bookmark')) {
        const last = st.context().chat.length - 1;
        return last < 0 ? null : { kind: 'checkpoint', at: last };
    }
    return button.matches('.swipe_picker_branch') ? picked(button) : null;
}

// The list of swipes knows its message by the name of a field. It closes, and the branch is made from that swipe.
function picked(button) {
    const dialog = button.closest('dialog');
    const message = dialog?.querySelector('[id^="swipe_picker_id_"]')?.id.slice('swipe_picker_id_'.length);
    const swipe = button.closest('[data-swipe-id]')?.getAttribute('data-swipe-id');
    if (!message || !swipe) {
        return null;
    }
    dialog.dispatchEvent(new Event('cancel', { cancelable: true }));
    return { kind: 'branch', at: Number(message), swipe: Number(swipe) };
}

// SillyTavern's commands go the same way. They are there only when the page is ready.
export function wrapCommands() {
    const { commands } = st.context().SlashCommandParser;
    wrap(commands, 'branch-create', async (args, text) => {
        const at = Number(args.mesId ?? (text || last()));
        return valid(at) ? { kind: 'branch', at } : null;
    });
    wrap(commands, 'checkpoint-create', async (args, text) => {
        const at = Number(args.mesId ?? last());
        return valid(at) && typeof text === 'string' ? { kind: 'checkpoint', at, name: text } : null;
    });
}

function wrap(commands, name, wanted) {
    const command = commands[name];
    if (!command) {
        st.missing.push(`/${name}`);
        return;
    }
    const original = command.callback;
    command.callback = async function (args, text) {
        const fits = setting('intercept') && st.canFork() && await wanted(args, text);
        // What makes no sense is told by SillyTavern.
        return fits ? (await fork(fits)) ?? '' : original.call(this, args, text);
    };
}

function last() {
    return st.context().chat.length - 1;
}

function valid(at) {
    return Boolean(st.context().chat[at]);
}
