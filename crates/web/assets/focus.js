// Where the keyboard is stays where it is when a part of the page becomes another: on the same element, on the one that says the same, or on
// the one in its place.

const REACHED = 'a[href], button, summary, input, select, textarea, [tabindex]';

/**
 * @param {Element} root
 * @returns {HTMLElement[]}
 */
function reached(root) {
    return [.../** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll(REACHED))].filter((element) => element.checkVisibility());
}

// What is the same to whoever uses it: a field or button by its name, a way to a message by its number, anything else by its text.
const alike = [
    (/** @type {HTMLElement} */ element) => element.id,
    (/** @type {HTMLElement} */ element) => element.getAttribute('name'),
    (/** @type {HTMLElement} */ element) => element.dataset.at && element.className + element.dataset.at,
    (/** @type {HTMLElement} */ element) => element.textContent?.trim(),
];

/**
 * The smallest part of the page around an element that has a name, as something to find it by again.
 * @param {Element} element
 */
function named(element) {
    const place = element.closest('[data-part], [data-key], [id]:not(a, button, summary, input, select, textarea)');
    if (!(place instanceof HTMLElement)) {
        return 'main';
    }
    const { part, key } = place.dataset;
    return part ? `[data-part="${CSS.escape(part)}"]` : key ? `[data-key="${CSS.escape(key)}"]` : `#${CSS.escape(place.id)}`;
}

/**
 * Changes something below `root`. If the element with the focus goes by that, the one that took its place gets it; `rest` if none did.
 * @param {Element} root
 * @param {() => void} change
 * @param {HTMLElement} rest
 */
export function keepingFocus(root, change, rest) {
    const was = document.activeElement;
    if (!(was instanceof HTMLElement) || was === root || !root.contains(was)) {
        change();
        return;
    }
    const name = named(was);
    const around = reached(root.querySelector(name) ?? root);
    const at = around.indexOf(was);
    const signs = alike.map((sign) => sign(was));
    change();
    if (was.isConnected && was.checkVisibility()) {
        if (document.activeElement !== was) {
            was.focus({ preventScroll: true });
        }
        return;
    }
    const there = reached(root.querySelector(name) ?? root).filter((element) => element.tagName === was.tagName);
    const same = alike.map((sign, i) => signs[i] && there.find((element) => sign(element) === signs[i])).find(Boolean);
    (same || there[Math.min(Math.max(at, 0), there.length - 1)] || rest).focus({ preventScroll: true });
}
