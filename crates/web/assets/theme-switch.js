// Light, dark, or as the system says.

import { notice } from './api.js';

const NEXT = { auto: 'light', light: 'dark', dark: 'auto' };
const SAID = { auto: 'Light or dark as your system says.', light: 'Always light.', dark: 'Always dark.' };

document.getElementById('theme')?.addEventListener('click', () => {
    const { dataset } = document.documentElement;
    const now = /** @type {keyof typeof NEXT} */ (dataset.theme ?? 'auto');
    const next = NEXT[now];
    if (next === 'auto') {
        delete dataset.theme;
        localStorage.removeItem('forklore-theme');
    } else {
        dataset.theme = next;
        localStorage.setItem('forklore-theme', next);
    }
    notice(SAID[next]);
});
