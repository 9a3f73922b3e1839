// Takes the code out of the address, where it stands behind `#` and only this browser sees it. It works once: for it the browser gets a
// session, and a place of its own where the pages are. If there is no vault yet, a person chooses one first.

import { element, part } from './dom.js';

const code = new URLSearchParams(location.hash.slice(1)).get('code');
// Where this browser was let in before. Other servers of this machine do not see it.
const PLACE = 'forklore-place';

if (code) {
    enter(code);
} else if (!/\/~[^/]*\//.test(location.pathname)) {
    back();
}
// The address may be pasted into a page that is already open.
addEventListener('hashchange', () => location.reload());

/** @param {string} code */
async function enter(code) {
    // It need not stay in the history of the browser.
    history.replaceState(null, '', location.pathname + location.search);
    const headers = { 'Content-Type': 'application/json' };
    const response = await fetch('api/session', { method: 'POST', headers, body: JSON.stringify({ code }) }).catch(() => null);
    const { to, key } = response?.ok ? await response.json() : {};
    if (to) {
        // From a page of another session, too.
        const place = new URL(to, new URL(location.pathname.replace(/~[^/]*\/.*$/, ''), location.origin)).pathname;
        localStorage.setItem(PLACE, place);
        location.replace(place);
    } else if (key) {
        choose(key);
    } else {
        tell(response ? 'This address was used already, or Forklore was started anew since. Press Enter where it runs: it prints another one.' : 'Forklore does not answer.');
    }
}

// Somebody who was let in before and typed the bare address.
async function back() {
    const place = localStorage.getItem(PLACE);
    const response = place ? await fetch(`${place}api/hello`).catch(() => null) : null;
    if (place && response?.ok) {
        location.replace(place);
    } else {
        localStorage.removeItem(PLACE);
    }
}

/** @param {string} text */
function tell(text) {
    const lead = part('#enter .lead', HTMLElement);
    lead.textContent = text;
    lead.setAttribute('role', 'alert');
}

/** @param {string} key */
async function choose(key) {
    const ask = async (/** @type {object | undefined} */ body = undefined) => {
        const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
        const response = await fetch('api/setup', body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers });
        return response.json();
    };
    const problem = part('#problem', HTMLElement);
    const open = async (/** @type {object} */ body) => {
        problem.textContent = '';
        const answer = await ask(body).catch(() => ({ error: { message: 'Forklore does not answer.', to_do: 'Look whether it still runs.' } }));
        if (answer.error) {
            problem.textContent = `${answer.error.message}. ${answer.error.to_do}`.replace('..', '.');
        } else {
            enter(answer.code);
        }
    };
    const choices = await ask().catch(() => ({}));
    if (!choices.folders) {
        return;
    }
    part('#enter', HTMLElement).hidden = true;
    part('#first', HTMLElement).hidden = false;
    part('#demo-place', HTMLElement).textContent = choices.demo;
    part('#folders', HTMLElement).append(...choices.folders.map((path) => {
        const [item, button] = [element('li'), element('button', '', path)];
        button.addEventListener('click', () => open({ path }));
        item.append(button);
        return item;
    }));
    const folder = part('#folder', HTMLFormElement);
    folder.addEventListener('submit', (event) => {
        event.preventDefault();
        open({ path: part('[name=path]', HTMLInputElement, folder).value.trim() });
    });
    part('#demo', HTMLElement).addEventListener('click', () => open({ demo: true }));
}
