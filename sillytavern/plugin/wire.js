// Small things about streams: lines of text, whole answers, headers.

// The whole of a JSON answer, in time.
export function whole(response, deadline) {
    return new Promise((resolve, reject) => {
        const timer = setTimeout(() => response.destroy(new Error('it takes too long')), Math.max(1, deadline - Date.now()));
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('error', (error) => { clearTimeout(timer); reject(error); });
        response.on('close', () => { clearTimeout(timer); reject(new Error('it broke off')); });
        response.on('end', () => {
            clearTimeout(timer);
            try {
                resolve(JSON.parse(Buffer.concat(chunks).toString('utf8')));
            } catch (error) {
                reject(error);
            }
        });
    });
}

export function lines(stream, each) {
    let rest = '';
    stream.setEncoding('utf8');
    stream.on('data', (text) => {
        const all = (rest + text).split('\n');
        rest = all.pop() ?? '';
        all.filter(Boolean).forEach(each);
    });
}

// Headers without those that nobody sent.
export function defined(headers) {
    return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
}
