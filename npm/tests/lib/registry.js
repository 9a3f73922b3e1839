// A registry on this machine: what npm is told of the packages in a folder, as the one that everybody uses would tell it.

import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

/**
 * Serves all packages of a folder until it is closed.
 * @param {string} dir
 */
export async function registry(dir) {
    const packages = new Map(fs.readdirSync(dir).filter((name) => name.endsWith('.tgz')).map((file) => {
        const bytes = fs.readFileSync(path.join(dir, file));
        const manifest = JSON.parse(execFileSync('tar', ['--extract', '--to-stdout', '--gzip', '--file', path.join(dir, file), 'package/package.json'], { encoding: 'utf8' }));
        return [manifest.name, { file, bytes, manifest }];
    }));
    const server = http.createServer((request, response) => {
        const asked = decodeURIComponent(request.url ?? '').slice(1);
        const found = packages.get(asked);
        const packed = [...packages.values()].find(({ file }) => `-/${file}` === asked);
        if (found) {
            response.setHeader('Content-Type', 'application/json');
            response.end(JSON.stringify(told(found, `http://${request.headers.host}`)));
        } else {
            response.statusCode = packed ? 200 : 404;
            response.end(packed?.bytes);
        }
    });
    server.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    const close = () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); });
    return { url: `http://127.0.0.1:${port}/`, manifests: [...packages.values()].map(({ manifest }) => manifest), close };
}

function told({ file, bytes, manifest }, url) {
    const integrity = `sha512-${crypto.createHash('sha512').update(bytes).digest('base64')}`;
    const { name, version } = manifest;
    return { name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist: { tarball: `${url}/-/${file}`, integrity } } } };
}
