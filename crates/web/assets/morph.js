// Makes what is shown like what the server says now, touching only what differs: whoever reads, types or has a part folded open is not
// disturbed. Elements are the same if they have the same id, or none and the same place.

/**
 * @param {Node} old
 * @param {Node} fresh
 */
export function morph(old, fresh) {
    if (old instanceof Text && fresh instanceof Text) {
        if (old.data !== fresh.data) {
            old.data = fresh.data;
        }
    } else if (old instanceof Element && fresh instanceof Element && !old.isEqualNode(fresh)) {
        attributes(old, fresh);
        children(old, fresh);
    }
}

/**
 * @param {Element} old
 * @param {Element} fresh
 */
function attributes(old, fresh) {
    const typing = old === document.activeElement && old.matches('input, textarea, select');
    for (const { name, value } of [...fresh.attributes]) {
        // Whether a part is open is the reader's affair.
        if (name !== 'open' && old.getAttribute(name) !== value) {
            old.setAttribute(name, value);
        }
    }
    for (const { name } of [...old.attributes]) {
        if (name !== 'open' && !fresh.hasAttribute(name)) {
            old.removeAttribute(name);
        }
    }
    if (old instanceof HTMLInputElement && fresh instanceof HTMLInputElement && !typing && !old.dataset.typed) {
        old.value = fresh.value;
        old.checked = fresh.checked;
    }
}

/**
 * The id of an element; none of anything else.
 * @param {Node} node
 */
function id(node) {
    return node instanceof Element ? node.id : '';
}

/**
 * @param {Element} old
 * @param {Element} fresh
 */
function children(old, fresh) {
    const wanted = [...fresh.childNodes];
    const named = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
    let at = old.firstChild;
    for (const next of wanted) {
        const same = named.get(id(next));
        if (same && same.nodeName === next.nodeName) {
            if (same === at) {
                at = at.nextSibling;
            } else {
                old.insertBefore(same, at);
            }
            morph(same, next);
        } else if (at && !id(at) && !id(next) && at.nodeName === next.nodeName) {
            const here = at;
            at = at.nextSibling;
            morph(here, next);
        } else {
            old.insertBefore(document.importNode(next, true), at);
        }
    }
    while (at) {
        const gone = at;
        at = at.nextSibling;
        if (!id(gone) || !wanted.some((next) => id(next) === id(gone))) {
            gone.remove();
        }
    }
}
