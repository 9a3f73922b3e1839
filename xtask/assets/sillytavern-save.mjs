// What the page does when it saves a chat, against several SillyTavern servers by turns, so that a busy moment of the machine hits all
// of them. Usage: node sillytavern-save.mjs RUNS URL…; prints one JSON list a server, with the milliseconds of each save.
const [runs, ...urls] = process.argv.slice(2);
const avatar = 'Gen.png';

async function open(url) {
    const answer = await fetch(`${url}csrf-token`);
    const { token } = await answer.json();
    const cookie = answer.headers.getSetCookie().map((cookie) => cookie.split(';')[0]).join('; ');
    const headers = { 'Content-Type': 'application/json', 'X-CSRF-Token': token, cookie };
    const post = async (path, body) => {
        const response = await fetch(url + path, { method: 'POST', headers, body });
        if (!response.ok) {
            throw new Error(`${path}: ${response.status} ${await response.text()}`);
        }
        return response.json();
    };
    const chat = await post('api/chats/get', JSON.stringify({ ch_name: 'Gen', file_name: 'Long', avatar_url: avatar }));
    // The page's own work is not what is measured.
    const body = JSON.stringify({ ch_name: 'Gen', file_name: 'Long', chat, avatar_url: avatar, force: false });
    return () => post('api/chats/save', body);
}

const servers = await Promise.all(urls.map(open));
const times = urls.map(() => []);
for (let run = 0; run < Number(runs) + 2; run++) {
    for (const [i, save] of servers.entries()) {
        const start = performance.now();
        await save();
        // The first ones warm up.
        if (run >= 2) {
            times[i].push(performance.now() - start);
        }
        // What a server does behind its answer is not to fall into the next one's time.
        await new Promise((resolve) => setTimeout(resolve, 300));
    }
}
console.log(JSON.stringify(times));
