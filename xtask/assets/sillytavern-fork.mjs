// What the browser does for a checkpoint, against a SillyTavern server: save the copy, save the parent with its link, and a copy of
// the lorebook under another name. Usage: node sillytavern-fork.mjs URL MESSAGE; prints one JSON object with milliseconds.
const [url, message] = process.argv.slice(2);
const avatar = 'Gen.png';
const book = 'z-AutoLB-Gen-Long';

async function post(path, body) {
    const request = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
    // The server closes connections that nobody used for five seconds, and one may be chosen just then: another one, as browsers do.
    const response = await fetch(url + path, request).catch((error) => {
        if (!['EPIPE', 'ECONNRESET', 'UND_ERR_SOCKET'].includes(error.cause?.code)) {
            throw error;
        }
        return fetch(url + path, request);
    });
    if (!response.ok) {
        throw new Error(`${path}: ${response.status} ${await response.text()}`);
    }
    return response.json();
}

const save = (name, chat) =>
    post('/api/chats/save', { ch_name: 'Gen', file_name: name, chat, avatar_url: avatar, force: false });

// The chat is open in the browser before anybody forks it: this is not part of the fork.
let start = performance.now();
const [header, ...messages] = await post('/api/chats/get', { ch_name: 'Gen', file_name: 'Long', avatar_url: avatar });
const opening = performance.now() - start;

start = performance.now();
const at = message === 'last' ? messages.length - 1 : Math.floor(messages.length / 2);
const name = `Checkpoint ${at}`;
const entries = await post('/api/worldinfo/get', { name: book });
await post('/api/worldinfo/edit', { name: `${book} ${at}`, data: entries });
const metadata = {
    ...header.chat_metadata,
    main_chat: 'Long',
    integrity: crypto.randomUUID(),
    world_info: `${book} ${at}`,
};
await save(name, [{ ...header, chat_metadata: metadata }, ...messages.slice(0, at + 1)]);
messages[at].extra.bookmark_link = name;
await save('Long', [header, ...messages]);
console.log(JSON.stringify({ opening, fork: performance.now() - start, messages: messages.length }));
