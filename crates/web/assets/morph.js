// Makes what is shown like what the server says now, touching only what differs: whoever reads, types or has a part folded open is not
// disturbed. Elements are the same if they have the same id, or none and the same place. `data-own` is left to the script that owns it.

export function morph(old, fresh) {
    if (old.nodeType === Node.TEXT_NODE) {
        if (old.data !== fresh.data) {
            old.data = fresh.data;
        }
        return;
    }
    if (old.nodeType !== Node.ELEMENT_NODE || old.hasAttribute('data-own') || old.isEqualNode(fresh)) {
        return;
    }
    attributes(old, fresh);
    children(old, fresh);
}

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
    if (old.matches('input') && !typing && !old.dataset.typed) {
        old.value = fresh.value;
        old.checked = fresh.checked;
    }
}

function alike(a, b) {
    return a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id ?? '') === (b.id ?? '');
}

function children(old, fresh) {
    const wanted = [...fresh.childNodes];
    const named = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
    let at = old.firstChild;
    for (const next of wanted) {
        const same = next.id && named.get(next.id);
        if (same && same.nodeName === next.nodeName) {
            if (same === at) {
                at = at.nextSibling;
            } else {
                old.insertBefore(same, at);
            }
            morph(same, next);
        } else if (at && !at.id && alike(at, next)) {
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
        if (!(gone.id && wanted.some((next) => next.id === gone.id))) {
            gone.remove();
        }
    }
}
