// Saves a chat again and again as SillyTavern does, with the package that it uses: all of it from memory, with one message more
// each time. After each save it looks whether that is what is on disk; a link that Forklore adds makes no difference.
// node sillytavern.cjs PACKAGE FILE STOP PATIENCE ends when there is a file STOP, or at the first save that is lost.
const fs = require('fs');
const [, , pack, file, stop, patience] = process.argv;
const save = require(pack).sync;
const sleep = ms => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

const lines = fs.readFileSync(file, 'utf8').split('\n');
const told = { saves: 0, lost: 0, torn: 0, behind: 0, links: 0, last: lines.length };

// How many messages are on disk; -1 if they are not those that were saved.
function look() {
    let links = 0;
    const seen = fs.readFileSync(file, 'utf8').split('\n');
    for (const [n, line] of seen.entries()) {
        let value;
        try { value = JSON.parse(line); } catch { return -1; }
        if (n > 0 && value.mes !== JSON.parse(lines[n] ?? '{}').mes) return -1;
        if (value.extra?.bookmark_link) links++;
    }
    told.links += links;
    return seen.length;
}

while (!fs.existsSync(stop)) {
    const n = lines.length;
    lines.push(JSON.stringify({ name: 'Ana', is_user: false, send_date: `2025-12-01T00:00:00.${n}Z`, mes: `save ${n}`, extra: {} }));
    save(file, lines.join('\n'), 'utf8');
    told.saves++;
    // Bursts, and pauses that are long enough for a fork.
    sleep(Math.random() * (Math.random() < 0.2 ? 200 : 5));
    let seen = look();
    if (seen < 0) told.torn++;
    if (seen !== lines.length) {
        // A save that slipped in between comes back within microseconds, or, after a kill, with the next command.
        told.behind++;
        const until = Date.now() + Number(patience);
        while ((seen = look()) !== lines.length && Date.now() < until) sleep(1);
        if (seen !== lines.length) {
            told.lost++;
            break;
        }
    }
    // A page that was reloaded now and then keeps the file small, and the saves quick.
    if (lines.length > 400) lines.splice(20, 380);
}
told.last = lines.length;
console.log(JSON.stringify(told));
