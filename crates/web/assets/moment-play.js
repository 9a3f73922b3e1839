// The slider plays: a message after the other, as fast as the reader likes, until the end or until anything else is done.

import { part } from './dom.js';

const play = part('#play', HTMLButtonElement);
const pace = part('#pace', HTMLSelectElement);
const range = part('.slider input[type=range]', HTMLInputElement);
const [sign, word] = [part('span', HTMLElement, play), part('.unseen', HTMLElement, play)];

/** @type {ReturnType<typeof setTimeout> | undefined} */
let next;

function stop() {
    clearTimeout(next);
    next = undefined;
    play.setAttribute('aria-pressed', 'false');
    play.title = 'Play the story from here';
    [sign.textContent, word.textContent] = ['▶', 'Play'];
}

// One message further. What is not there yet is waited for: nobody can read what never came.
function step() {
    const [at, last] = [Number(range.value), Number(range.max)];
    const shown = part('.message.here .number', HTMLElement).dataset.at;
    if (shown === String(at) && part('.state', HTMLElement).ariaBusy !== 'true') {
        if (at >= last) {
            stop();
            return;
        }
        range.value = String(at + 1);
        range.dispatchEvent(new CustomEvent('input', { bubbles: true, detail: 'played' }));
    }
    next = setTimeout(step, Number(pace.value));
}

function start() {
    if (Number(range.value) >= Number(range.max)) {
        range.value = '0';
        range.dispatchEvent(new CustomEvent('input', { bubbles: true, detail: 'played' }));
    }
    play.setAttribute('aria-pressed', 'true');
    play.title = 'Stop';
    [sign.textContent, word.textContent] = ['❚❚', 'Stop'];
    next = setTimeout(step, Number(pace.value));
}

play.addEventListener('click', () => (next === undefined ? start() : stop()));
// Whoever takes the slider has it.
range.addEventListener('input', (event) => {
    if (!(event instanceof CustomEvent) && next !== undefined) {
        stop();
    }
});
document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && next !== undefined) {
        stop();
    }
});
part('main', HTMLElement).addEventListener('click', (event) => {
    if (next !== undefined && event.target instanceof Element && event.target.closest('a')) {
        stop();
    }
});
play.hidden = pace.hidden = false;
