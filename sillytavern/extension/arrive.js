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
        // SillyTavern would make an empty chat of a name that it does not know.
        await api.get('api/queue', { chat });
        if (chat !== st.here()?.address && !await st.open(chat)) {
            notices.problem('Forklore', `SillyTavern does not show the story of ${st.nameOf(chat)}.`);
        }
    } catch (error) {
        notices.refusal('This chat cannot be opened', error);
    }
}
