// What was asked for takes a while: how far it is, and the page itself when it is made.

import { part } from './dom.js';
import { on } from './live.js';

const text = part('#how-far', HTMLElement);
const meter = part('.waiting progress', HTMLProgressElement);

on('progress', ({ what, done, total }) => {
    text.textContent = total > 1 ? `${what}: ${Math.floor(Math.min(done / total, 1) * 100)} %` : what;
    meter.max = Math.max(total, 1);
    meter.value = done;
});
// This page is not to be kept up to date: another one follows.
on('change', () => {});

const over = await fetch(location.href, { headers: { Accept: 'text/html', 'X-Forklore-Waits': 'true' } }).catch(() => null);
if (over) {
    location.reload();
} else {
    text.textContent = 'Forklore does not answer. Look whether it still runs, then load this page again.';
}
