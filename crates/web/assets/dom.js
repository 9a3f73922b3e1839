// Parts of a page: those that the server has drawn, and those that scripts make.

/**
 * A part that is there because the server has drawn it.
 * @template {Element} T
 * @param {string} selector
 * @param {new () => T} kind
 * @param {ParentNode} within
 * @returns {T}
 */
export function part(selector, kind, within = document) {
    const found = within.querySelector(selector);
    if (!(found instanceof kind)) {
        throw new Error(`this page has no ${selector}`);
    }
    return found;
}

/**
 * What an event is about; null if it is no element.
 * @param {Event} event
 */
export function target(event) {
    return event.target instanceof Element ? event.target : null;
}

/**
 * A new element.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} name
 */
export function element(name, className = '', text = '') {
    const made = document.createElement(name);
    made.className = className;
    made.textContent = text;
    return made;
}

/**
 * A new part of a drawing.
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 */
export function shape(name, attributes) {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, String(value)));
    return made;
}
