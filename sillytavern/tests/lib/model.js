// A server that talks as OpenAI's does and says the same to the same question, always: the scripted model of `crates/testkit/src/model.rs`.
// Names are words in capitals, facts are sentences with a name, a scene ends before a message that begins with "Later".

import http from 'node:http';
import { listening } from './tavern.js';

/** What it says to whoever plays. */
export const REPLY = 'The road went on all the same.';

const USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };

export class ModelServer {
    /** Bodies of what it was asked. @type {any[]} */
    asked = [];
    /** What the next calls get instead of a reply: a status with words, or a text. @type {({ status: number, message: string } | { text: string })[]} */
    faults = [];
    url = '';
    /** @type {http.Server} */
    #server;
    /** @type {(() => void)[] | null} */
    #held = null;

    static async start() {
        const model = new ModelServer();
        model.#server = http.createServer((request, response) => model.#hear(request, response));
        // A test that fails does not wait for it.
        model.#server.unref();
        model.url = `http://127.0.0.1:${await listening(model.#server)}/v1`;
        return model;
    }

    get calls() {
        return this.asked.length;
    }

    // No question of memory's is answered until `release`.
    hold() {
        this.#held = [];
    }

    release() {
        const held = this.#held ?? [];
        this.#held = null;
        held.forEach((go) => go());
    }

    stop() {
        this.release();
        this.#server.closeAllConnections();
        this.#server.close();
    }

    async #hear(request, response) {
        const parts = [];
        for await (const part of request) {
            parts.push(part);
        }
        if (request.method !== 'POST') {
            answer(response, 200, { data: [{ id: 'scripted' }] });
            return;
        }
        const body = asked(JSON.parse(Buffer.concat(parts).toString()));
        this.asked.push(body);
        const fault = this.faults.shift();
        if (fault && 'status' in fault) {
            answer(response, fault.status, { error: { message: fault.message } });
            return;
        }
        if (this.#held && isQuestion(body)) {
            await new Promise((resolve) => { this.#held.push(() => resolve(null)); });
        }
        const text = fault && 'text' in fault ? fault.text : isQuestion(body) ? JSON.stringify(reply(body)) : REPLY;
        if (body.stream) {
            const chunk = { model: 'scripted', choices: [{ index: 0, delta: { content: text }, finish_reason: 'stop' }], usage: USAGE };
            response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
            return;
        }
        if (body.prompt) {
            answer(response, 200, { content: text, model: 'scripted', stop: true });
            return;
        }
        answer(response, 200, {
            id: 'x', object: 'chat.completion', model: 'scripted', choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
            usage: USAGE,
        });
    }
}

// A server for text, such as llama.cpp's own, is asked with one text and has its own name for the shape.
function asked(body) {
    const { prompt, json_schema: schema } = body;
    return prompt ? { ...body, messages: [{ content: prompt }, { content: prompt }], response_format: schema && { json_schema: { schema } } } : body;
}

// Memory asks for JSON, by a schema or in words; whoever plays asks for a reply.
export function isQuestion({ messages, response_format: format }) {
    return Boolean(format) || /JSON/.test(messages[0].content);
}

function answer(response, status, body) {
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

function reply({ messages, response_format: format }) {
    const fields = format?.json_schema?.schema.properties;
    const [{ content: asked }, { content: user }] = messages;
    // Without a schema the words of the question tell what is wanted.
    const wants = (field) => (fields ? field in fields : asked.includes(`"${field}"`));
    if (wants('ends_at')) {
        return boundary(user);
    }
    if (wants('learnt')) {
        return facts(user);
    }
    if (wants('same')) {
        return identity(user);
    }
    if (wants('developments')) {
        return { developments: firsts(user), open: [], resolved: [], state: [] };
    }
    return wants('lines') ? { lines: halved(user) } : { recap: `So far: ${user.split(/\s+/).slice(0, 40).join(' ')}` };
}

function told(user) {
    const messages = [];
    for (const line of user.split('\n---\n')[0].split('\n')) {
        const begins = /^#(\d+) (.*):$/.exec(line);
        if (begins) {
            messages.push({ number: Number(begins[1]), name: begins[2], text: '' });
        } else if (messages.length) {
            messages.at(-1).text += `${line} `;
        }
    }
    return messages;
}

function boundary(user) {
    const asked = user.slice(user.lastIndexOf('Which message from #'));
    const [from, to] = (asked.match(/\d+/g) ?? ['1', '1']).map(Number);
    const last = told(user).filter(({ text }) => text.startsWith('Later')).map(({ number }) => number - 1).find((number) => number >= from && number <= to);
    return { because: 'time passes', ends_at: last ?? (asked.includes('must be chosen') ? to : 0) };
}

function facts(user) {
    const messages = told(user);
    const learnt = {};
    for (const sentence of messages.flatMap(({ text }) => sentences(text))) {
        for (const name of names(sentence)) {
            (learnt[name] ??= []).push({ text: sentence, about: sentence.includes(' lives in ') ? 'home' : '', known_to: [] });
        }
    }
    const happened = messages.flatMap(({ text }) => sentences(text).slice(0, 1)).slice(0, 3);
    return {
        title: (happened[0] ?? 'Nothing').split(' ').slice(0, 3).join(' '),
        present: [...new Set(messages.map(({ name }) => name))].sort(),
        happened: happened.length ? happened : ['Nothing happened'], open: [], resolved: [], state: [`${messages.at(-1).name} spoke last`],
        learnt: Object.keys(learnt).sort().slice(0, 20).map((name) => ({ type: 'character', name, aliases: [], facts: learnt[name].slice(0, 4) })),
    };
}

function identity(user) {
    const [added, known] = user.slice(user.lastIndexOf('New names:\n')).split('Known names:\n')
        .map((list) => [...list.matchAll(/^- (.*) \(/gm)].map(([, name]) => name));
    return { same: added.map((name) => ({ name, is: known.find((other) => name.endsWith(other) || other.endsWith(name)) ?? '' })) };
}

function firsts(user) {
    return user.split('## Part').slice(1).flatMap((part) => /^- (.*)$/m.exec(part)?.[1] ?? []);
}

function halved(user) {
    const lines = [...user.matchAll(/^- (.*)$/gm)].map(([, line]) => line);
    return lines.slice(0, Math.ceil(lines.length / 2));
}

function sentences(text) {
    return text.split(/[.!?]/).map((sentence) => sentence.trim()).filter(({ length }) => length > 3 && length < 300);
}

// Words in capitals that do not begin the sentence.
function names(sentence) {
    const words = sentence.split(/\s+/).slice(1).map((word) => word.replace(/^\W+|\W+$/g, ''));
    return [...new Set(words.filter((word) => /^[A-Z]/.test(word) && word.length > 2))];
}
