// Takes the token out of the address, where it stands behind `#` and only this browser sees it, and gets the cookie for it. With the key
// of a server that has no vault yet, a person chooses one first.

const said = new URLSearchParams(location.hash.slice(1));

if (said.has('token')) {
    enter(said.get('token'));
} else if (said.has('key')) {
    choose(said.get('key'));
}
// The address may be pasted into a page that is already open.
addEventListener('hashchange', () => location.reload());

async function enter(token) {
    // It must not stay in the history of the browser.
    history.replaceState(null, '', location.pathname + location.search);
    const response = await fetch('api/session', { method: 'POST', headers: { Authorization: `Bearer ${token}` } }).catch(() => null);
    if (response?.ok) {
        location.reload();
        return;
    }
    const lead = document.querySelector('#enter .lead');
    lead.textContent = response ? 'This token opens nothing here any more. Forklore was started anew since.' : 'Forklore does not answer.';
    lead.setAttribute('role', 'alert');
}

async function choose(key) {
    const ask = async (body) => {
        const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
        const response = await fetch('api/setup', body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers });
        return response.json();
    };
    const problem = document.getElementById('problem');
    const open = async (body) => {
        problem.textContent = '';
        const answer = await ask(body).catch(() => ({ error: { message: 'Forklore does not answer.', hint: 'Look whether it still runs.' } }));
        if (answer.error) {
            problem.textContent = `${answer.error.message}. ${answer.error.hint}`.replace('..', '.');
        } else {
            enter(answer.token);
        }
    };
    const choices = await ask().catch(() => ({}));
    if (!choices.folders) {
        return;
    }
    document.getElementById('enter').hidden = true;
    document.getElementById('first').hidden = false;
    document.getElementById('demo-place').textContent = choices.demo;
    document.getElementById('folders').append(...choices.folders.map((path) => {
        const [item, button] = [document.createElement('li'), document.createElement('button')];
        button.textContent = path;
        button.addEventListener('click', () => open({ path }));
        item.append(button);
        return item;
    }));
    document.getElementById('folder').addEventListener('submit', (event) => {
        event.preventDefault();
        open({ path: event.target.elements.path.value.trim() });
    });
    document.getElementById('demo').addEventListener('click', () => open({ demo: true }));
}
