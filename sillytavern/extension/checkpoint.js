// A checkpoint the way SillyTavern makes it, with a name in its dialog as the vault's settings make names, and without its own notice: one
// act is told once.

import * as st from './st.js';

export async function checkpoint(at, name = null, suggested = '') {
    const before = new Set(document.querySelectorAll('.toast'));
    const stop = name || !suggested ? () => {} : suggest(suggested);
    try {
        return await st.checkpoint(at, name);
    } finally {
        stop();
        document.querySelectorAll('.toast-success:not(.forklore-toast)').forEach((toast) => before.has(toast) || toast.remove());
    }
}

// The next dialog that asks for a text has this one in it.
function suggest(text) {
    const watcher = new MutationObserver(() => {
        const field = [...document.querySelectorAll('dialog[open]')].at(-1)?.querySelector('textarea.popup-input');
        if (field instanceof HTMLTextAreaElement && field.checkVisibility()) {
            watcher.disconnect();
            field.value = text;
            field.select();
        }
    });
    watcher.observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ['open'] });
    return () => watcher.disconnect();
}
