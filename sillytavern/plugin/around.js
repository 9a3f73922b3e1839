// How Forklore stands around a route of SillyTavern's: before its own handler, and before or after its answer. Whatever goes wrong in
// here, SillyTavern goes on.

import { root } from './places.js';

// What a handler gives that has answered itself.
export const ANSWERED = Symbol('answered');

// Whatever happens in a handler, SillyTavern's own comes next, once, unless that has answered. `bare`: what is asked has no body.
export function middleware(engine, handlers, bare = false) {
    return (request, response, next) => {
        const handle = request.method === 'POST' && Object.hasOwn(handlers, request.path) && handlers[request.path];
        if (!handle || !(request.body || bare) || !request.user?.directories?.root) {
            return next();
        }
        engine.greet(root(request));
        const complain = (error) => console.error(`[Forklore] ${error?.stack ?? error}`);
        Promise.resolve().then(() => handle(request, response)).catch(complain).then((given) => given === ANSWERED || next()).catch(complain);
    };
}

// Runs when SillyTavern answers, with what it answers; only if it was a success, unless `always` is set. A page that is closed
// meanwhile does not matter: the file is there all the same.
export function after(response, then, always) {
    const end = response.end;
    response.end = function (chunk, ...rest) {
        response.end = end;
        try {
            if (response.statusCode < 400) {
                then(typeof chunk === 'string' || Buffer.isBuffer(chunk) ? chunk.toString() : '');
            } else {
                always?.();
            }
        } catch (error) {
            console.error(`[Forklore] ${error?.stack ?? error}`);
        }
        return end.call(this, chunk, ...rest);
    };
}

// Lets SillyTavern's answer wait for what is done when it has succeeded.
export function before(response, work) {
    const end = response.end;
    response.end = function (...answer) {
        response.end = end;
        if (response.statusCode >= 400) {
            return end.apply(this, answer);
        }
        const complain = (error) => console.error(`[Forklore] ${error?.stack ?? error}`);
        Promise.resolve().then(work).catch(complain).finally(() => end.apply(this, answer));
        return this;
    };
}
