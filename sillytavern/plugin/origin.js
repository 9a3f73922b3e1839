// Who is answered: SillyTavern's own pages, and nobody else. SillyTavern lets pages without an origin (a sandboxed frame on any site, a
// file) read what it answers to GET, and asks for its token against forged requests only for changes. Chats are too good for that.

// Why a request is not answered; nothing if it comes from a page of SillyTavern's.
export function stranger(request) {
    const { origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode } = request.headers;
    if (origin === 'null') {
        return 'A page without an origin asks';
    }
    if (site !== undefined) {
        // Browsers say it by themselves, and no page can make them lie. `none` is what somebody typed or had as a bookmark.
        const typed = site === 'none' && mode === 'navigate' && request.method === 'GET';
        if (site !== 'same-origin' && !typed) {
            return 'Another page asks';
        }
    } else if (origin !== undefined && !names(request).includes(host(origin) ?? '')) {
        return 'Another page asks';
    }
    if (request.method !== 'GET') {
        // SillyTavern itself has looked at its token.
        return null;
    }
    if (/^\/(api\/|plugin$)/.test(request.path) && request.path !== '/api/events') {
        return shows(request) ? null : 'Nothing shows that a page of SillyTavern\'s asks';
    }
    // Pages, pictures and events are asked for without headers of our own. Over plain HTTP from another machine browsers do not say who
    // asks; but they do not send SillyTavern's cookie for other sites.
    return site !== undefined || unguarded() || request.session?.csrfToken ? null : 'Nothing shows that a page of SillyTavern\'s asks';
}

// Whether it shows SillyTavern's token against forged requests.
function shows(request) {
    return unguarded() || Boolean(request.session?.csrfToken) && request.headers['x-csrf-token'] === request.session.csrfToken;
}

// Whether the owner has switched that token off.
function unguarded() {
    return globalThis.COMMAND_LINE_ARGS?.disableCsrf === true;
}

// What SillyTavern is called here. A proxy in front of it knows another name.
function names({ headers }) {
    return [headers.host, headers['x-forwarded-host']].filter(Boolean).map((name) => String(name).toLowerCase());
}

function host(origin) {
    try {
        return new URL(origin).host.toLowerCase();
    } catch {
        return null;
    }
}

// Lets no other page read an answer, whatever SillyTavern's settings say.
export function shut(response) {
    response.getHeaderNames().filter((name) => name.startsWith('access-control-')).forEach((name) => response.removeHeader(name));
    response.setHeader('cross-origin-resource-policy', 'same-origin');
}
