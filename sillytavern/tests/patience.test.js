// Generating and memory: nobody waits for it, unless it was asked for; then it says so, and one can go on without.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { bench } from './lib/bench.js';
import { CHAT, done, drawer, prepare, PROFILE, said, shut } from './lib/memory.js';
import { isQuestion, ModelServer, REPLY } from './lib/model.js';
import { becomes } from './lib/tavern.js';
import { press } from './lib/toasts.js';

const model = await ModelServer.start();
const at = bench({ prepare: (tavern) => prepare(tavern, model, { memory_profile: PROFILE }) });
after(() => model.stop());

const NOTICE = 'Waiting for memory';
let names = 0;

// Enough for another scene to end, with somebody new in it.
async function goesOn() {
    const name = ['Wick', 'Sela', 'Dorn', 'Orla', 'Bram', 'Tess', 'Ruan'][names++];
    await said(at.visit, `Later they came upon ${name} at the ferry.`, ...Array.from({ length: 17 }, (_, i) => `It went on so, ${i}.`), 'Later they slept.',
        ...Array.from({ length: 17 }, (_, i) => `Nobody spoke, ${i}.`));
    return name;
}

function send(text) {
    return at.visit.page.run((text) => {
        document.querySelector('#send_textarea').value = text;
        document.querySelector('#send_but').click();
    }, text);
}

// Requests for a reply, since a call.
function replies(since) {
    return model.asked.slice(since).filter((body) => !isQuestion(body));
}

function answered() {
    return at.visit.page.until('there is a reply', (reply) => SillyTavern.getContext().chat.at(-1).mes === reply && document.body.dataset.generating !== 'true', REPLY);
}

async function option(on) {
    await drawer(at.visit);
    await at.visit.page.run((on) => {
        const input = document.querySelector('#forklore_settings input[name="forklore_patience"]');
        if (input.checked !== on) {
            input.click();
        }
    }, on);
    await shut(at.visit);
}

test('a reply does not wait for memory unless somebody wants that', async () => {
    const { visit } = at;
    const { page } = visit;
    await visit.open(CHAT);
    await visit.slash('/profile A scripted one');
    await page.until('there is a connection', () => SillyTavern.getContext().onlineStatus !== 'no_connection');
    await drawer(visit);
    assert.equal(await page.run(() => document.querySelector('#forklore_settings input[name="forklore_patience"]').checked), false);
    await page.click('#forklore_settings input[name="forklore_memory"]');
    await visit.dialog('Let Forklore remember this chat');
    await visit.choose('on');
    await shut(visit);
    await done(visit);
    model.hold();
    await goesOn();
    const calls = model.calls;
    await send('Does anybody wait?');
    await answered();
    assert.equal(replies(calls).length, 1);
    assert.ok(!(await visit.notices()).some((text) => text.includes(NOTICE)));
    model.release();
    await done(visit);
});

test('who wants it waits until everything is remembered, and the reply knows it', async () => {
    const { visit } = at;
    const { page } = visit;
    await option(true);
    await visit.clearNotices();
    model.hold();
    const name = await goesOn();
    const calls = model.calls;
    await send('What do you know?');
    await page.until('it says so', (notice) => document.querySelector('.forklore-waiting')?.textContent.includes(notice), NOTICE);
    await becomes('memory is asked', () => model.calls > calls);
    await becomes('what was said is saved', () => at.tavern.chat(CHAT).at(-1).mes === 'What do you know?');
    await at.picture('patience');
    assert.equal(replies(calls).length, 0);
    model.release();
    await answered();
    assert.equal(await page.run(() => Forklore.state().memory.status.questions), 0);
    assert.ok(isQuestion(model.asked.at(-2)) && !isQuestion(model.asked.at(-1)), 'the reply is the last that is asked for');
    assert.match(JSON.stringify(model.asked.at(-1).messages), new RegExp(`came upon ${name}[\\s\\S]*Later they slept`), 'the lorebook has it already');
    assert.ok(await page.run(() => !document.querySelector('.forklore-waiting')), 'the notice is gone');
    // Nothing is missing now: nobody waits.
    await visit.clearNotices();
    await send('And now?');
    await page.until('there is another reply', () => SillyTavern.getContext().chat.at(-2).mes === 'And now?' && document.body.dataset.generating !== 'true');
    assert.ok(!(await visit.notices()).some((text) => text.includes(NOTICE)));
});

test('one can go on without, and stop; a message that is to be made anew stays in the file as long', async () => {
    const { tavern, visit } = at;
    const { page } = visit;
    await visit.clearNotices();
    model.hold();
    await goesOn();
    let calls = model.calls;
    await send('I cannot wait.');
    await visit.notice(NOTICE);
    await press(visit, 'Go on without');
    await answered();
    assert.equal(replies(calls).length, 1);
    // Stopped: nothing is generated.
    await visit.clearNotices();
    calls = model.calls;
    await send('Or not at all.');
    await visit.notice(NOTICE);
    await page.run(() => document.querySelector('#mes_stop').click());
    await page.until('nothing is generated', () => document.body.dataset.generating !== 'true' && !document.querySelector('.forklore-waiting'));
    assert.equal(replies(calls).length, 0);
    // Made anew: the page has taken the message away, the file has not.
    await said(visit, 'This is to be said otherwise.');
    await becomes('it is saved', () => tavern.chat(CHAT).at(-1).mes === 'This is to be said otherwise.');
    await visit.clearNotices();
    await page.run(() => document.querySelector('#option_regenerate').click());
    await visit.notice(NOTICE);
    assert.notEqual(await page.run(() => SillyTavern.getContext().chat.at(-1).mes), 'This is to be said otherwise.');
    model.release();
    await becomes('memory is asked', () => replies(calls).length === 1 || model.calls > calls);
    await answered();
    assert.equal(await page.run(() => Forklore.state().memory.status.questions), 0);
    await becomes('the new one is saved', () => tavern.chat(CHAT).at(-1).mes === REPLY);
    const texts = tavern.chat(CHAT).map(({ mes }) => mes);
    assert.equal(texts.filter((text) => text === 'Or not at all.').length, 1);
    assert.ok(!texts.includes('This is to be said otherwise.'));
});

test('nobody waits for a model that does not answer, nor while memory is paused', async () => {
    const { visit } = at;
    await done(visit);
    await visit.clearNotices();
    model.faults = [{ status: 401, message: 'unauthorized' }];
    model.hold();
    await goesOn();
    await send('Is anybody there?');
    await answered();
    assert.equal(model.faults.length, 0, 'memory was asked first');
    assert.match(await at.visit.page.run(() => Forklore.state().memory.problem), /refuses/);
    await drawer(visit);
    await visit.page.click('#forklore_settings .forklore-memory .menu_button', { text: 'Pause' });
    await shut(visit);
    await visit.clearNotices();
    const calls = model.calls;
    await send('Still nobody?');
    await visit.page.until('there is another reply', () => SillyTavern.getContext().chat.at(-2).mes === 'Still nobody?' && document.body.dataset.generating !== 'true');
    assert.equal(replies(calls).length, 1);
    assert.ok(!(await visit.notices()).some((text) => text.includes(NOTICE)));
});
