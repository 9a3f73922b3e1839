// A moment: what is shown there, and travelling with the slider, by mouse, by keys, on a phone, without scripts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { empty, harbor, PHONE, Site, stage, Visit, writeChat } from './lib/site.js';
import fs from 'node:fs';
import path from 'node:path';

const MAIN = 'Ottilie Crake/Heard Once';
const moment = (chat, at) => `moment?${new URLSearchParams({ chat, ...(at === undefined ? {} : { at }) })}`;

let browser;
let site;
stage((...there) => { [browser, site] = there; });

// What is on the page, as a reader sees it.
const seen = () => ({
    at: Number(document.querySelector('.slider output').textContent),
    address: Number(new URLSearchParams(location.search).get('at')),
    facts: [...document.querySelectorAll('[data-list=facts] > .entry h3 bdi')].map((title) => title.textContent),
    fresh: [...document.querySelectorAll('[data-list=facts] > [data-change=new] h3 bdi')].map((title) => title.textContent),
    changed: [...document.querySelectorAll('[data-list=facts] > [data-change=changed] h3 bdi')].map((title) => title.textContent),
    here: document.querySelector('.message.here .number').textContent.replace(/\D/g, ''),
    recap: document.querySelector('.recap').innerText,
    said: document.getElementById('said').textContent,
});
const arrived = (at) => Number(new URLSearchParams(location.search).get('at')) === at && document.querySelector('.message.here .number').dataset.at === String(at);

test('a moment shows the story around it, the book as of then, what was left out and why', async () => {
    const visit = await Visit.start(browser, site, moment(MAIN, 20));
    const page = await visit.run(seen);
    const { book, running_recap: recap } = await site.api('show', { chat: MAIN, at: 20 });
    const facts = book.entries.filter(({ role }) => role === 'fact').map(({ comment }) => comment.replace(/^[a-z]+-/, ''));
    assert.deepEqual(page.facts, facts, 'the page shows what the API tells');
    assert.ok(facts.includes('Nerys Post') && !facts.includes('Aldous Finch'), 'nobody knows of the future');
    assert.equal(page.here, '20');
    const text = await visit.run(() => document.querySelector('main').textContent);
    assert.match(text, /From scenes\./);
    assert.match(text, /Left out 8 entries/);
    assert.match(text, /Aldous Finch belongs to message 30/);
    assert.match(text, new RegExp(`version ${recap.current_version}`));
    assert.match(text, /Nothing waits to be done/);
    assert.match(text, /A scene ends here: What Came Back 11-20/);
    await visit.accessible('a moment');
    await visit.picture('moment');
    visit.clean();
    await visit.close();
});

test('the slider travels with keys alone: book, recap, story, address and what is read out follow', async () => {
    const visit = await Visit.start(browser, site, moment(MAIN, 19));
    // To the slider: the tab key finds it.
    for (let i = 0; i < 30 && !await visit.run(() => document.activeElement.type === 'range'); i += 1) {
        await visit.press('Tab');
    }
    assert.ok(await visit.run(() => document.activeElement.type === 'range'), 'the slider can be reached');
    const before = await visit.run(seen);
    await visit.press('ArrowRight');
    await visit.until('a message ahead', arrived, 20);
    const after = await visit.run(seen);
    assert.deepEqual(after.fresh, after.facts.filter((title) => !before.facts.includes(title)), 'what just appeared is marked');
    assert.ok(after.fresh.length > 0 && after.changed.length > 0, 'the scene at 20 wrote and changed entries');
    assert.match(after.said, new RegExp(`^Message 20: ${after.fresh.length} entr(y|ies) new, ${after.changed.length} changed`));
    assert.notEqual(after.recap, before.recap);
    const flags = await visit.run(() => [...document.querySelectorAll('.entry .flag')].map((flag) => flag.textContent));
    assert.ok(flags.includes('+ new') && flags.includes('~ changed'), 'marks are words, not colour alone');
    const marks = await visit.run(() => document.querySelectorAll('.entry[data-change=changed] ins').length);
    assert.ok(marks > 0, 'changed words are marked');
    await visit.accessible('a moment after a step');
    await visit.picture('moment-step');
    // On: the marks go, the book stays.
    await visit.press('ArrowRight');
    await visit.until('another message ahead', arrived, 21);
    const still = await visit.run(seen);
    assert.deepEqual([still.fresh, still.changed], [[], []]);
    assert.deepEqual(still.facts, after.facts);
    assert.match(still.said, /^Message 21: the lorebook is as at message 20/);
    // Back over the scene: what it wrote is gone, and that is told.
    await visit.press('ArrowLeft');
    await visit.press('ArrowLeft');
    await visit.until('back', arrived, 19);
    const back = await visit.run(seen);
    assert.deepEqual(back.facts, before.facts);
    assert.match(back.said, /gone/);
    await visit.press('Home');
    await visit.until('the start', arrived, 0);
    await visit.press('End');
    await visit.until('the end', arrived, 42);
    assert.equal(await visit.run(() => document.activeElement.type), 'range', 'the slider keeps the focus');
    // What was put together by steps is what a page of its own shows.
    const plain = () => {
        document.querySelectorAll('.flag, .change').forEach((mark) => mark.remove());
        return document.querySelector('[data-list=facts]').textContent;
    };
    const stepped = await visit.run(plain);
    await visit.go(moment(MAIN, 42));
    assert.equal(await visit.run(plain), stepped);
    visit.clean();
    await visit.close();
});

test('what is put together by steps is the same as on a page of its own', async () => {
    const visit = await Visit.start(browser, site, moment(MAIN, 0));
    for (const at of [10, 11, 20, 30, 29, 42, 5]) {
        await visit.run((to) => {
            const range = document.querySelector('.slider input[type=range]');
            range.value = to;
            range.dispatchEvent(new Event('input', { bubbles: true }));
        }, at);
        await visit.until(`message ${at}`, arrived, at);
        const differs = await visit.run(async (address) => {
            const other = new DOMParser().parseFromString(await (await fetch(address)).text(), 'text/html');
            const plain = (root) => {
                const main = root.querySelector('main').cloneNode(true);
                main.querySelectorAll('.flag, .change, .changes, .still, #said, [data-part=changes]').forEach((mark) => mark.remove());
                return ['head', 'transcript', 'source', 'left', 'scene', 'recap', 'queue', 'variables'].map((name) => main.querySelector(`[data-part=${name}]`).textContent)
                    .concat([...main.querySelectorAll('.entry')].map((entry) => entry.textContent));
            };
            const [a, b] = [plain(document), plain(other)];
            return a.map((text, i) => [text, b[i]]).filter(([x, y]) => x !== y);
        }, moment(MAIN, at));
        assert.deepEqual(differs, [], `message ${at}`);
    }
    visit.clean();
    await visit.close();
});

test('buttons lead to the next message and the next scene, and every number is a way there', async () => {
    const visit = await Visit.start(browser, site, moment(MAIN, 21));
    await visit.click('[data-step=mark-back]');
    await visit.until('the scene before', arrived, 20);
    await visit.click('[data-step=next]');
    await visit.until('one ahead', arrived, 21);
    await visit.click('.message .number[data-at="16"]');
    await visit.until('the first one shown', arrived, 16);
    await visit.click('.marks summary');
    await visit.click('.marks [data-at="6"]');
    await visit.until('a fork', arrived, 6);
    const links = await visit.run(() => [...document.querySelectorAll('.doing a')].filter((link) => link.checkVisibility()).map((link) => link.getAttribute('href')));
    assert.deepEqual(links.map((link) => link.split('?')[0]), ['act', 'act', 'compare', 'bring', 'tree']);
    assert.ok(links[0].includes('kind=branch') && links[0].endsWith('at=6'), links[0]);
    visit.clean();
    await visit.close();
});

test('on a phone all of it fits, and at night it can be read', async () => {
    for (const dark of [false, true]) {
        const visit = await Visit.start(browser, site, moment(MAIN, 20), { ...PHONE, dark });
        await visit.fits('a moment on a phone');
        await visit.accessible('a moment on a phone');
        await visit.picture(dark ? 'moment-phone-dark' : 'moment-phone');
        await visit.click('[data-step=next]');
        await visit.until('one ahead', arrived, 21);
        await visit.fits('a moment on a phone after a step');
        visit.clean();
        await visit.close();
    }
});

test('without scripts the slider is a form', async () => {
    const visit = await Visit.start(browser, site);
    await visit.page.send('Emulation.setScriptExecutionDisabled', { value: true });
    await visit.page.send('Page.navigate', { url: visit.at(moment(MAIN, 20)) });
    await visit.until('the page', () => document.querySelector('.slider') !== null);
    const form = await visit.run(() => ({
        button: getComputedStyle(document.querySelector('.reading button')).display,
        next: document.querySelector('[data-step=next]').getAttribute('href'),
    }));
    assert.notEqual(form.button, 'none');
    assert.match(form.next, /^moment\?.*at=21&from=20$/);
    await visit.click('.reading button');
    await visit.until('the form was sent', () => /from=20/.test(location.search));
    visit.clean();
    await visit.close();
});

test('what a story says stays text, and long texts are folded', async () => {
    const vault = empty();
    const evil = '<img src=x onerror="document.title=1"><script>document.title=2</script>\u202Egnp.exe" onclick="x';
    const messages = Array.from({ length: 12 }, (_, i) => (i === 5 ? { name: evil, is_user: false, mes: evil + 'x'.repeat(50_000), is_system: true } : `${evil} ${i}`));
    writeChat(vault, 'Evil', 'Story', messages, { world_info: 'Evil book', variables: { [evil]: evil } });
    const entry = { uid: 0, key: [evil], comment: evil, content: `${evil}\n${'long '.repeat(400)}`, disable: false };
    fs.writeFileSync(path.join(vault, 'worlds', 'Evil book.json'), JSON.stringify({ entries: { 0: entry } }));
    const evilSite = await Site.start(vault);
    const visit = await Visit.start(browser, evilSite, moment('Evil/Story', 5), PHONE);
    const page = await visit.run(() => ({
        scripts: document.querySelectorAll('main script, main img:not(.face > img), main [onclick], main [onerror]').length,
        hidden: document.querySelector('.message.veiled .badge:last-child').textContent,
        folded: document.querySelectorAll('.fold').length,
        text: document.querySelector('.entry').textContent,
        variables: document.querySelector('.variables').textContent,
        title: document.title,
    }));
    assert.equal(page.scripts, 0);
    assert.equal(page.hidden, 'hidden');
    assert.ok(page.folded >= 2);
    assert.ok(page.text.includes('<script>') && page.variables.includes('<script>'));
    assert.equal(page.title, 'Message 5 of Story · Forklore');
    await visit.fits('hostile text');
    await visit.press('Tab');
    await visit.click('[data-step=next]');
    await visit.until('one ahead', arrived, 6);
    assert.equal(await visit.run(() => document.querySelectorAll('main script, main img:not(.face > img)').length), 0);
    visit.clean();
    await visit.close();
    await evilSite.stop();
});

test('real chats, damaged and whole: every one can be looked at', async () => {
    const real = await Site.start(harbor());
    const visit = await Visit.start(browser, real);
    const { stories } = await real.api('tree');
    for (const { chat, messages } of stories.flatMap((story) => story.chats)) {
        await visit.go(moment(chat, Math.floor(messages / 2)));
        assert.ok(await visit.run(() => document.querySelector('.slider') !== null), chat);
    }
    await visit.go(moment('Maren Voss/The Lighthouse Road', 22));
    await visit.accessible('a moment of a real story');
    visit.clean();
    await visit.close();
    await real.stop();
});
