// Finding a story by its name, and putting them in order: at once, without asking the server.

const form = document.getElementById('filter');
const list = document.getElementById('stories');

if (form && list) {
    const cards = [...list.children].map((card) => ({ card, name: plain(card.dataset.name), ...card.dataset, card }));
    const { text, order } = form.elements;
    const ranks = { error: 2, warning: 1, ok: 0 };
    const by = {
        changed: (a, b) => compare(b.card.dataset.changed, a.card.dataset.changed),
        name: (a, b) => a.card.dataset.name.localeCompare(b.card.dataset.name),
        chats: (a, b) => b.chats - a.chats,
        forks: (a, b) => b.forks - a.forks,
        bytes: (a, b) => b.bytes - a.bytes,
        health: (a, b) => ranks[b.health] - ranks[a.health],
    };

    const show = () => {
        const words = plain(text.value).split(/\s+/).filter(Boolean);
        let shown = 0;
        for (const one of cards) {
            const name = plain(one.card.dataset.name);
            one.card.hidden = !words.every((word) => name.includes(word));
            shown += !one.card.hidden;
        }
        document.getElementById('nothing').hidden = shown > 0;
        document.getElementById('found').textContent = words.length ? `${shown} of ${cards.length} stories` : '';
    };
    const sort = () => list.append(...cards.sort(by[order.value]).map(({ card }) => card));

    text.addEventListener('input', show);
    order.addEventListener('change', sort);
    form.addEventListener('submit', (event) => {
        event.preventDefault();
        // Enter goes to the first one that is left.
        cards.map(({ card }) => card).filter((card) => !card.hidden).sort((a, b) => a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1)[0]?.querySelector('a').click();
    });
    document.getElementById('all').addEventListener('click', () => { text.value = ''; show(); text.focus(); });
    // Somebody was faster than this script: the browser took Enter for a question to the server.
    const asked = new URLSearchParams(location.search);
    if (asked.has(text.name)) {
        text.value ||= asked.get(text.name);
        history.replaceState(history.state, '', location.pathname);
        text.focus();
    }
    // The browser may have kept what was typed.
    show();
    if (order.value !== 'changed') {
        sort();
    }
}

function plain(text) {
    return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}

function compare(a, b) {
    return a < b ? -1 : a > b ? 1 : 0;
}
