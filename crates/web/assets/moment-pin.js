// The message that one goes to stands below the slider at once, if it is among those around: what is known there follows when it comes.
// And what the reader has folded open stays so.

import { element } from './dom.js';

/** @param {Element} message */
function number(message) {
    const link = message.querySelector('header .number');
    return link instanceof HTMLElement ? Number(link.dataset.at) : NaN;
}

/**
 * Lets one be at a message of the transcript. Gives whether it is there.
 * @param {HTMLElement} transcript
 * @param {number} at
 */
export function pin(transcript, at) {
    const messages = [...transcript.querySelectorAll('.message')];
    const there = messages.find((message) => number(message) === at);
    const was = transcript.querySelector('.message.here');
    if (!there || !was || there === was) {
        return there !== undefined;
    }
    const sign = [...was.querySelectorAll('header .badge')].find(({ textContent }) => textContent === 'you are here');
    was.removeAttribute('aria-current');
    there.setAttribute('aria-current', 'location');
    for (const message of messages) {
        const n = number(message);
        message.classList.toggle('here', n === at);
        message.classList.toggle('before', n < at);
        message.classList.toggle('later', n > at);
        const later = [...message.querySelectorAll('header .badge')].find(({ textContent }) => textContent === 'later');
        if (n <= at) {
            later?.remove();
        } else if (!later) {
            message.querySelector('header strong')?.after(element('span', 'badge', 'later'));
        }
    }
    if (sign) {
        there.querySelector('header strong')?.after(sign);
    }
    unfold(was, false);
    unfold(there, true);
    return true;
}

/**
 * The message that one is at can be read as a whole; where the reader has unfolded another by hand it stays so.
 * @param {Element} message
 * @param {boolean} open
 */
function unfold(message, open) {
    const fold = message.querySelector(':scope > .fold');
    if (fold instanceof HTMLDetailsElement && fold.open !== open && (open || fold.dataset.pinned)) {
        fold.open = open;
        fold.dataset.pinned = 'true';
    }
}

/**
 * What the reader has folded open in a part of the page. Gives a function that opens the same in what took its place.
 * @param {HTMLElement} place
 */
export function unfolded(place) {
    const name = (/** @type {HTMLElement} */ details) => {
        const message = details.closest('.message');
        const alike = [...(message ?? place).querySelectorAll('details')].filter(({ className }) => className === details.className);
        return `${details.className} ${message ? number(message) : ''} ${alike.findIndex((one) => one === details)}`;
    };
    const open = [.../** @type {NodeListOf<HTMLElement>} */ (place.querySelectorAll('details[open]:not([data-pinned])'))].map(name);
    return () => [.../** @type {NodeListOf<HTMLDetailsElement>} */ (place.querySelectorAll('details'))].filter((details) => open.includes(name(details))).forEach((details) => { details.open = true; });
}
