// Coming from Forklore's page: its links into SillyTavern end with `#forklore-open=CHAT`, and that chat is opened.

import * as api from './api.js';
import * as notices from './notices.js';
import * as st from './st.js';

export function start() {
    window.addEventListener('hashchange', arrive);
    return arrive();
}

async function arrive() {
    const chat = new URLSearchParams(location.hash.slice(1)).get('forklore-open');
    if (!chat) {
        return;
    }
    // A reload stays where the reader is by then.
    history.replaceState(history.state, '', location.pathname + location.search);
    try {
        // SillyTavern would make an empty chat of a name that it does not know: the engine does, and says how it is called.
        const { chat: address } = await api.get('api/queue', { chat });
        await settled();
        if (address !== st.here()?.address && !await st.open(address)) {
            notices.problem('This chat cannot be opened now', `SillyTavern stays where it is. Choose ${st.nameOf(address)} there, or try again when nothing is being written.`);
        }
    } catch (error) {
        notices.refusal('This chat cannot be opened', error);
    }
}

// SillyTavern may be loading the chat that was open last: it would go on with that in the middle of this one.
async function settled() {
    for (let tries = 0; tries < 100 && st.here() && !st.isLoaded(); tries += 1) {
        await new Promise((resolve) => { setTimeout(resolve, 100); });
    }
}
