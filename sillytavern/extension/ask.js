// Asks a model through a connection of the user's. What it says is handed on as it is: whether it is an answer, the engine decides.

import { watch } from './requests.js';
import { context } from './st.js';

const GENERATE = ['/api/backends/chat-completions/generate', '/api/backends/text-completions/generate'];
// Whoever says nothing for so long says nothing any more.
const PATIENCE = 600_000;
// A server that has no time is left alone for a while.
const BUSY = 60_000;
const AGAIN = 30_000;
// Words by which servers say that a question is too long for their model.
const TOO_LONG = /exceed_context_size|context_length_exceeded|context[ _](length|window|size)|maximum (model|prompt|allowed input) length|(prompt|input) (is )?too long|input token count|reduce the length of the messages|too large to process/i;
const NO_SCHEMA = /response_format|json_schema|json_object|schema|grammar|structured output/i;
// Backends for text that take a schema, by the name that they have for it.
const SCHEMA_NAME = { llamacpp: 'json_schema', tabby: 'json_schema', vllm: 'guided_json', aphrodite: 'guided_json' };
// A token is about so many characters, where nobody counts.
const CHARACTERS = 4;

/** What came instead of a reply. `wait`: how long nothing should be asked; null if somebody has to do something first. */
export class Unanswered extends Error {
    /**
     * @param {string} message
     * @param {number | null} wait
     */
    constructor(message, wait = AGAIN) {
        super(message);
        this.wait = wait;
    }
}

// Profiles whose server takes no schema, as it has said.
const shapeless = new Set();
// What was refused, in the server's words, by the signal that it was asked with.
const refusals = new WeakMap();

export function start() {
    watch(GENERATE, ({ init }) => {
        const signal = init?.signal;
        return signal && refusals.has(signal) ? ({ status, refusal }) => refusals.get(signal).resolve({ status, text: refusal }) : undefined;
    });
}

/**
 * @param {{ id: string, api?: string, model?: string }} profile
 * @param {{ messages: { role: string, content: string }[], schema: any, reply_tokens: number }} question
 * @param {AbortSignal} stop
 * @returns {Promise<{ said: string, too_long: boolean, model: string, tokens_in: number, tokens_out: number }>}
 */
export async function ask(profile, question, stop) {
    const shape = shapeless.has(profile.id) ? {} : shapeOf(profile, question.schema);
    try {
        const json = await patiently(stop, (signal) => send(profile, question, shape, { signal, extractData: false }));
        return replied(json, profile, question);
    } catch (error) {
        stop.throwIfAborted();
        const { status, text } = await why(error, profile, question, shape, stop);
        if (status === 413 || TOO_LONG.test(text)) {
            return { said: '', too_long: true, model: profile.model ?? '', tokens_in: 0, tokens_out: 0 };
        }
        if (Object.keys(shape).length && [400, 422, 501].includes(status) && NO_SCHEMA.test(text)) {
            shapeless.add(profile.id);
            return ask(profile, question, stop);
        }
        throw meaning(status, text);
    }
}

function send(profile, { messages, reply_tokens: most }, shape, how) {
    return context().ConnectionManagerRequestService.sendRequest(profile.id, messages, most, { stream: false, ...how }, shape);
}

/**
 * Takes its time, but not for ever. Whatever comes of it, nothing of it goes on afterwards: neither the clock nor a reply that nobody hears.
 * @template T
 * @param {AbortSignal} stop
 * @param {(signal: AbortSignal) => Promise<T>} work
 */
async function patiently(stop, work) {
    const own = new AbortController();
    const leave = () => own.abort(stop.reason);
    const late = setTimeout(() => own.abort(new DOMException('it has said nothing for too long', 'TimeoutError')), PATIENCE);
    stop.addEventListener('abort', leave, { once: true });
    try {
        return await work(own.signal);
    } finally {
        clearTimeout(late);
        stop.removeEventListener('abort', leave);
        own.abort();
    }
}

/**
 * How the shape of a reply is sent: servers for chats have one way, those for text each their own.
 * @param {{ api?: string }} profile
 */
function shapeOf({ api = '' }, schema) {
    const { selected, type } = context().CONNECT_API_MAP?.[api] ?? {};
    if (selected === 'textgenerationwebui') {
        return type && SCHEMA_NAME[type] ? { [SCHEMA_NAME[type]]: schema } : {};
    }
    return { json_schema: { name: 'answer', value: schema, strict: true } };
}

// SillyTavern keeps the words of a refusal to itself, unless it was asked for a stream.
async function why(error, profile, question, shape, stop) {
    const said = String(error.cause?.message ?? error.cause?.error?.message ?? error.message);
    const known = Object.entries({ 401: /unauthorized/i, 402: /payment required/i, 403: /forbidden/i, 404: /not found/i, 429: /too many requests/i, 502: /refused|ENOTFOUND|ETIMEDOUT|ECONNRESET|fetch failed/i })
        .find(([, words]) => words.test(said));
    if (known || error.cause?.name === 'TimeoutError') {
        return { status: Number(known?.[0] ?? 504), text: said };
    }
    return patiently(stop, async (signal) => {
        const refused = new Promise((resolve) => { refusals.set(signal, { resolve }); });
        try {
            await send(profile, question, shape, { signal, stream: true });
        } catch {
            stop.throwIfAborted();
            const { status, text } = await Promise.race([refused, new Promise((resolve) => { setTimeout(resolve, 2000, { status: 0, text: null }); })]);
            return { status, text: (await text) || said };
        }
        return { status: 0, text: said };
    });
}

function meaning(status, text) {
    if ([401, 402, 403].includes(status)) {
        return new Unanswered(`The server of this connection refuses (${short(text)}). See whether its key is right and paid for.`, null);
    }
    if ([408, 429, 503, 529].includes(status)) {
        return new Unanswered('The model\'s server is busy. It is asked again in a minute.', BUSY);
    }
    if (status === 502 || status === 504) {
        return new Unanswered(`The model's server cannot be reached (${short(text)}). See whether it runs.`);
    }
    return new Unanswered(`The model's server has not answered: ${short(text)}`);
}

// The sentence in what a server says, which may be a document.
function short(text) {
    let said = text;
    try {
        const { error, message, detail } = JSON.parse(text);
        said = error?.message ?? message ?? detail ?? (typeof error === 'string' ? error : text);
    } catch {
        // It is a sentence already.
    }
    said = String(said).replace(/\s+/g, ' ').trim();
    return said.length > 200 ? `${said.slice(0, 197)}…` : said;
}

function replied(json, profile, { messages }) {
    const said = text(json, profile);
    const { usage = {} } = json ?? {};
    const asked = messages.reduce((sum, { content }) => sum + content.length, 0);
    return {
        said,
        too_long: false,
        model: String(json?.model ?? profile.model ?? ''),
        tokens_in: usage.prompt_tokens ?? usage.input_tokens ?? Math.ceil(asked / CHARACTERS),
        tokens_out: usage.completion_tokens ?? usage.output_tokens ?? Math.ceil(said.length / CHARACTERS),
    };
}

function text(json, { api }) {
    const { CONNECT_API_MAP, extractMessageFromData } = context();
    // Where a shape is asked for as a tool, the reply is what the tool is called with.
    const tool = Array.isArray(json?.content) && json.content.find(({ type }) => type === 'tool_use');
    const said = tool ? tool.input : extractMessageFromData(json, CONNECT_API_MAP?.[api]?.selected);
    return typeof said === 'string' ? said : JSON.stringify(said ?? '');
}
