// The tree: zooming, folding, walking with the keyboard, searching, and what is said under the pointer. The server has drawn it; here the
// same parts are moved by the same rules: whatever has `data-m` stands at that message, every row below the rows above it.

import { look, tell } from './api.js';

const SVG = 'http://www.w3.org/2000/svg';
const canvas = document.getElementById('canvas');
const svg = document.getElementById('tree');
if (canvas && svg) {
    start();
}

function start() {
    const story = canvas.dataset.story;
    const size = Object.fromEntries(Object.entries(svg.dataset).map(([key, value]) => [key, Number(value)]));
    const tip = document.getElementById('tip');
    const spot = document.getElementById('spot');
    const cursor = svg.querySelector('.cursor');
    const marks = svg.querySelector('.marks');
    let scale = size.scale;

    const number = (text) => (text === undefined ? null : Number(text));
    const rows = [...svg.querySelectorAll('.row')].map((element, index) => ({
        element, index,
        chat: element.dataset.chat ?? null,
        parent: number(element.dataset.parent),
        from: number(element.dataset.from),
        end: Number(element.dataset.end),
        below: number(element.dataset.below) ?? 0,
        name: (element.querySelector('.label title') ?? element.querySelector('.label text')?.firstChild)?.textContent ?? '',
        parts: [...element.querySelectorAll('[data-m]')],
        lines: [...element.querySelectorAll('path.line, .hit path')],
        stem: element.querySelector('.stem'),
        wide: (element.querySelector('.label text')?.firstChild?.length ?? 0) * size.letter * 1.3 + 37,
        scenes: [...element.querySelectorAll('.scene')],
        folded: false, y: 0, shown: true,
    }));
    const byChat = new Map(rows.filter((row) => row.chat).map((row) => [row.chat, row]));
    const x = (message) => size.left + message * scale;
    const at = (place) => Math.round((place - size.left) / scale);
    const round = (value) => Math.round(value * 10) / 10;

    // ---- Placing

    function place() {
        let next = 0;
        let hidden = -1;
        for (const row of rows) {
            row.shown = row.index > hidden;
            row.element.classList.toggle('folded', !row.shown);
            if (!row.shown) {
                continue;
            }
            row.y = size.top + size.row * (next + 0.62);
            next += 1;
            if (row.folded) {
                hidden = row.index + row.below;
            }
            draw(row);
        }
        const height = size.top + size.row * (next + 0.62);
        const width = x(size.last) + size.right;
        svg.setAttribute('width', round(width));
        svg.setAttribute('height', round(height));
        axis(height);
        [...marks.children].forEach(placeMark);
        if (here) {
            show(here.row, here.at, false);
        }
    }

    function draw(row) {
        row.element.setAttribute('transform', `translate(0 ${round(row.y)})`);
        const begin = row.from === null ? size.left : x(row.from);
        const up = row.from === null ? 0 : rows[row.parent].y - row.y;
        const end = x(row.end);
        const bend = begin + size.round;
        const first = row.from === null ? begin : bend;
        row.stem?.classList.toggle('far', -up > 12 * size.row);
        row.stem?.setAttribute('d', `M${round(begin)} ${round(up)}V-${size.round}Q${round(begin)} 0 ${round(bend)} 0`);
        row.lines.forEach((path) => path.setAttribute('d', `M${round(first)} 0H${round(Math.max(end, first + 4))}`));
        const label = row.from === null ? begin : bend + 5;
        for (const part of row.parts) {
            const place = x(Number(part.dataset.m));
            let [left, top] = [place, Number(part.dataset.dy ?? 0)];
            if (part.classList.contains('label')) {
                left = label;
            } else if (part.classList.contains('badges')) {
                left = Math.max(end, label) + 10;
            } else if (part.classList.contains('fork')) {
                top = up;
            }
            part.setAttribute('transform', `translate(${round(left)} ${round(top)})`);
        }
        let free = label + row.wide;
        for (const scene of row.scenes) {
            const text = scene.querySelector('text');
            const place = x(Number(scene.dataset.m));
            scene.classList.toggle('shy', place < free);
            if (text && place >= free) {
                free = place + Number(text.getAttribute('x')) + text.textContent.length * size.letter + 10;
            }
        }
    }

    function axis(height) {
        const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000];
        const step = steps.find((step) => step * scale >= 56) ?? 1_000_000;
        const group = svg.querySelector('.axis');
        group.replaceChildren();
        for (let message = 0; message <= size.last; message += step) {
            const tick = make('g', { transform: `translate(${round(x(message))} 0)` });
            const text = make('text', { y: 14 });
            text.textContent = message;
            tick.append(make('path', { d: `M0 22V${round(height)}` }), text);
            group.append(tick);
        }
    }

    function make(name, attributes) {
        const element = document.createElementNS(SVG, name);
        Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
        return element;
    }

    // ---- Zoom: of the messages alone, so that names stay as large as they are. What is under the pointer stays there.

    const fit = () => Math.min(26, Math.max(0.02, (canvas.clientWidth - size.left - Math.min(size.right, canvas.clientWidth / 3)) / Math.max(1, size.last)));

    function zoom(factor, middle = canvas.clientWidth / 2) {
        const message = (canvas.scrollLeft + middle - size.left) / scale;
        scale = Math.min(60, Math.max(Math.min(fit(), size.scale), scale * factor));
        place();
        canvas.scrollLeft = x(message) - middle;
    }

    document.querySelectorAll('[data-zoom]').forEach((button) => button.addEventListener('click', () => {
        if (button.dataset.zoom === 'fit') {
            scale = fit();
            place();
            canvas.scrollTo(0, 0);
        } else {
            zoom(button.dataset.zoom === 'in' ? 1.6 : 1 / 1.6);
        }
    }));
    canvas.addEventListener('wheel', (event) => {
        if (event.ctrlKey || event.metaKey) {
            event.preventDefault();
            zoom(Math.exp(-event.deltaY / 240), event.clientX - canvas.getBoundingClientRect().left);
        }
    }, { passive: false });

    // ---- Folding

    for (const row of rows.filter((row) => row.below)) {
        const label = row.element.querySelector('.label');
        const wide = label.querySelector('text').getComputedTextLength?.() ?? 0;
        const fold = make('g', { class: 'fold', transform: `translate(${round(wide + 8)} -22)` });
        fold.append(make('rect', { width: 14, height: 14, rx: 4 }), make('path', { d: 'M4 5.5l3 3 3-3' }), make('text', { x: 18, y: 11 }));
        fold.addEventListener('click', (event) => { event.preventDefault(); toggle(row); });
        label.append(fold);
        row.fold = fold;
    }

    function toggle(row, folded = !row.folded) {
        if (!row.below) {
            return;
        }
        row.folded = folded;
        row.fold.querySelector('path').setAttribute('d', folded ? 'M5.5 4l3 3-3 3' : 'M4 5.5l3 3 3-3');
        row.fold.querySelector('text').textContent = folded ? `${row.below} folded` : '';
        if (folded && here && here.row.index > row.index && here.row.index <= row.index + row.below) {
            here = { row, at: Math.min(here.at, row.end) };
        }
        place();
    }

    const all = document.getElementById('foldall');
    all?.addEventListener('click', () => {
        const folded = all.getAttribute('aria-pressed') !== 'true';
        all.setAttribute('aria-pressed', folded);
        all.textContent = folded ? 'Unfold all' : 'Fold all';
        rows.forEach((row) => toggle(row, folded && row.below > 0));
    });

    // ---- What is said at a message: asked for in parts, and remembered.

    const PART = 20;
    const parts = new Map();
    function said(chat, message) {
        const from = message - (message % PART);
        const key = `${from} ${chat}`;
        if (!parts.has(key)) {
            const asked = look('messages', { chat, from, to: from + PART - 1 });
            parts.set(key, asked);
            asked.catch(() => parts.delete(key));
        }
        return parts.get(key).then(({ messages }) => messages[message - from]);
    }

    let wanted = 0;
    async function describe(row, message, left, top) {
        const turn = wanted += 1;
        let text;
        try {
            // A pointer that passes by asks nothing.
            await new Promise((resolve) => setTimeout(resolve, 50));
            text = turn === wanted ? await said(row.chat, message) : null;
        } catch (failure) {
            text = { speaker: '', text: failure.message };
        }
        if (turn !== wanted || !text) {
            return;
        }
        const where = element('span', 'where', `${row.name} · message ${message} of ${row.end}`);
        const body = element('p', '', text.text.slice(0, 600));
        body.dir = 'auto';
        tip.replaceChildren(where, element('strong', '', text.speaker), body);
        if (text.ends_scene) {
            tip.append(element('span', 'ends', text.scene ? `Scene ends: ${text.scene}` : 'A scene ends here'));
        }
        tip.hidden = false;
        const stage = canvas.getBoundingClientRect();
        const place = Math.max(4, Math.min(left - stage.left + 14, stage.width - tip.offsetWidth - 4));
        const below = top - stage.top + 18;
        tip.style.left = `${place}px`;
        tip.style.top = `${below + tip.offsetHeight > stage.height + 60 ? Math.max(4, top - stage.top - tip.offsetHeight - 14) : below}px`;
        if (document.activeElement === canvas && here?.row === row && here.at === message) {
            spot.textContent = `${row.name}, message ${message} of ${row.end}${text.scene ? `, scene ${text.scene}` : ''}. ${text.speaker}: ${text.text.slice(0, 160)}`;
        }
    }

    function element(name, className, text) {
        const made = document.createElement(name);
        made.className = className;
        made.textContent = text;
        return made;
    }

    function hide() {
        wanted += 1;
        tip.hidden = true;
    }

    // Which message of a row is meant by a place.
    function message(row, event) {
        const own = row.from === null ? 0 : row.from + 1;
        const place = event.clientX - svg.getBoundingClientRect().left;
        return Math.max(Math.min(own, row.end), Math.min(row.end, at(place)));
    }

    const address = (chat, message) => `moment?${new URLSearchParams({ chat, at: message })}`;

    canvas.addEventListener('pointermove', (event) => {
        const hit = event.target.closest?.('.hit, .flag');
        if (drag || !hit || event.pointerType === 'touch') {
            hide();
            return;
        }
        const row = rows[svgRow(hit)];
        if (hit.dataset.flag) {
            describe({ chat: hit.dataset.flag, name: hit.querySelector('title').textContent, end: Number(hit.dataset.m) }, Number(hit.dataset.m), event.clientX, event.clientY);
        } else {
            const meant = message(row, event);
            hit.setAttribute('href', address(row.chat, meant));
            describe(row, meant, event.clientX, event.clientY);
        }
    });
    canvas.addEventListener('pointerleave', hide);
    canvas.addEventListener('click', (event) => {
        const hit = event.target.closest?.('.hit');
        if (hit) {
            hit.setAttribute('href', address(rows[svgRow(hit)].chat, message(rows[svgRow(hit)], event)));
        }
    });
    const svgRow = (part) => rows.findIndex((row) => row.element === part.closest('.row'));

    // ---- Dragging

    let drag = null;
    canvas.addEventListener('pointerdown', (event) => {
        if (event.pointerType === 'mouse' && event.button === 0 && !event.target.closest?.('a, .fold')) {
            drag = { x: event.clientX + canvas.scrollLeft, y: event.clientY + canvas.scrollTop };
            canvas.setPointerCapture(event.pointerId);
            canvas.classList.add('drags');
        }
    });
    canvas.addEventListener('pointermove', (event) => {
        if (drag) {
            canvas.scrollTo(drag.x - event.clientX, drag.y - event.clientY);
        }
    });
    for (const over of ['pointerup', 'pointercancel']) {
        canvas.addEventListener(over, () => { drag = null; canvas.classList.remove('drags'); });
    }

    // ---- The keyboard: along lines, and from line to line where they part

    let here = null;

    function show(row, message, scroll = true) {
        here?.row.element.classList.remove('here');
        here = { row, at: message };
        row.element.classList.add('here');
        cursor.removeAttribute('hidden');
        cursor.setAttribute('transform', `translate(${round(x(message))} ${round(row.y)})`);
        if (scroll) {
            const [left, top] = [x(message), row.y];
            const margin = Math.min(120, canvas.clientWidth / 4);
            if (left < canvas.scrollLeft + margin || left > canvas.scrollLeft + canvas.clientWidth - margin) {
                canvas.scrollLeft = left - canvas.clientWidth / 2;
            }
            if (top < canvas.scrollTop + 60 || top > canvas.scrollTop + canvas.clientHeight - 60) {
                canvas.scrollTop = top - canvas.clientHeight / 2;
            }
        }
    }

    function walk(row, message) {
        show(row, message);
        const { left, top } = svg.getBoundingClientRect();
        if (row.chat) {
            describe(row, message, left + x(message), top + row.y);
        } else {
            hide();
            spot.textContent = `${row.name}, a chat that is gone`;
        }
    }

    // Where a line has something: its ends, its scenes, and where others part from it.
    function stops(row) {
        const own = row.from === null ? 0 : row.from;
        const forks = rows.filter((other) => other.shown && other.parent === row.index && other.from !== null).map((other) => other.from);
        const flags = [...row.element.querySelectorAll('.flag')].map((flag) => Number(flag.dataset.m));
        return [...new Set([own, ...row.scenes.map((scene) => Number(scene.dataset.m)), ...forks, ...flags, row.end])].sort((a, b) => a - b);
    }

    canvas.addEventListener('keydown', (event) => {
        const shown = rows.filter((row) => row.shown);
        const { row, at: message } = here ?? { row: shown[0], at: 0 };
        const first = row.from ?? 0;
        const move = {
            ArrowRight: () => (event.shiftKey ? [row, stops(row).find((stop) => stop > message) ?? row.end] : [row, Math.min(row.end, message + 1)]),
            ArrowLeft: () => {
                if (message <= first && row.from !== null) {
                    return [rows[row.parent], row.from];
                }
                return event.shiftKey ? [row, stops(row).findLast((stop) => stop < message) ?? first] : [row, Math.max(first, message - 1)];
            },
            ArrowDown: () => beside(shown, row, message, 1),
            ArrowUp: () => beside(shown, row, message, -1),
            Home: () => [row, first],
            End: () => [row, row.end],
        }[event.key];
        if (move) {
            event.preventDefault();
            walk(...(here ? move() : [row, message]));
        } else if (event.key === 'Enter' && here?.row.chat) {
            location.assign(address(row.chat, message));
        } else if (['+', '=', '-'].includes(event.key)) {
            zoom(event.key === '-' ? 1 / 1.6 : 1.6, here ? x(message) - canvas.scrollLeft : undefined);
        } else if (event.key.toLowerCase() === 'f' && !event.ctrlKey && !event.metaKey) {
            toggle(row);
            show(row, Math.min(message, row.end));
        } else if (event.key === 'Escape') {
            hide();
        }
    });

    function beside(shown, row, message, step) {
        const other = shown[shown.indexOf(row) + step] ?? row;
        return [other, Math.max(other.from ?? 0, Math.min(other.end, message))];
    }

    canvas.addEventListener('blur', hide);

    // ---- Search

    const form = document.getElementById('search');
    const results = document.getElementById('results');
    let asked = null;
    let later = null;

    function placeMark(mark) {
        const row = byChat.get(mark.dataset.chat);
        mark.classList.toggle('folded', !row?.shown);
        if (row) {
            mark.setAttribute('transform', `translate(${round(x(Number(mark.dataset.m)))} ${round(row.y)})`);
        }
    }

    async function search() {
        const text = form.elements.text.value.trim();
        asked?.abort();
        marks.replaceChildren();
        if (text.length < 2) {
            results.hidden = true;
            return;
        }
        asked = new AbortController();
        try {
            const found = await look('search', { story, text }, { signal: asked.signal });
            const plain = text.toLowerCase();
            const names = rows.filter((row) => row.chat && row.name.toLowerCase().includes(plain));
            results.replaceChildren(
                ...part('Chats', names.map((row) => result(row.chat, row.end, row.name, null, row.from ?? 0))),
                ...part('Messages', found.messages.map((hit) => result(hit.chat, hit.at, `${hit.speaker} · ${short(hit.chat)} · message ${hit.at}`, hit.excerpt))),
                ...part('Entries', found.entries.map((hit) => result(hit.chat, null, `${hit.comment} · ${hit.book}`, hit.excerpt))),
            );
            if (!results.children.length) {
                results.append(element('p', '', 'Nothing in this story says that.'));
            } else if (found.more) {
                results.append(element('p', 'quiet', 'There is more. Write more of what you look for.'));
            }
            results.hidden = false;
            found.messages.forEach((hit) => {
                const mark = make('circle', { r: 5 });
                Object.assign(mark.dataset, { chat: hit.chat, m: hit.at });
                marks.append(mark);
                placeMark(mark);
            });
        } catch (failure) {
            if (failure.name !== 'AbortError') {
                tell(failure);
            }
        }
    }

    const short = (chat) => byChat.get(chat)?.name ?? chat.slice(chat.indexOf('/') + 1);

    function part(title, links) {
        return links.length ? [element('h2', '', `${title} (${links.length})`), ...links] : [];
    }

    function result(chat, message, where, excerpt, look = message) {
        const link = element('a', '', '');
        link.href = message === null ? `moment?${new URLSearchParams({ chat })}` : address(chat, message);
        link.append(element('span', 'where', where));
        if (excerpt) {
            const text = element('span', '', '');
            text.dir = 'auto';
            text.append(excerpt.before, element('mark', '', excerpt.found), excerpt.after);
            link.append(text);
        }
        // Looking at a result shows where it is; opening it goes there.
        const jump = () => {
            const row = byChat.get(chat);
            if (row?.shown) {
                show(row, Math.min(look ?? row.end, row.end));
            }
        };
        link.addEventListener('focus', jump);
        link.addEventListener('pointerenter', jump);
        return link;
    }

    form.addEventListener('submit', (event) => { event.preventDefault(); clearTimeout(later); search(); });
    form.elements.text.addEventListener('input', () => { clearTimeout(later); later = setTimeout(search, 250); });
    form.elements.text.addEventListener('keydown', (event) => {
        if (event.key === 'ArrowDown') {
            event.preventDefault();
            results.querySelector('a')?.focus();
        }
    });
    results.addEventListener('keydown', (event) => {
        const links = [...results.querySelectorAll('a')];
        const next = links[links.indexOf(document.activeElement) + ({ ArrowDown: 1, ArrowUp: -1 }[event.key] ?? NaN)];
        if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
            event.preventDefault();
            (next ?? form.elements.text).focus();
        }
    });

    // ---- What forks gained, which takes a moment to work out

    look('gained', { story }).then(({ chats }) => {
        for (const { chat, gained } of chats) {
            const badge = byChat.get(chat)?.element.querySelector('.gained');
            if (badge && gained) {
                badge.setAttribute('dx', 7);
                badge.textContent = `+${gained} ${gained === 1 ? 'entry' : 'entries'}`;
            }
        }
        svg.dataset.gained = chats.length;
    }, () => {});

    if (canvas.clientWidth < 700) {
        // A phone: messages at a width that a finger can meet, and the rest by moving.
        scale = Math.max(fit(), Math.min(size.scale, 14));
    } else {
        scale = Math.max(fit(), Math.min(size.scale, fit() * 1.2));
    }
    place();
    svg.dataset.ready = 'true';
}
