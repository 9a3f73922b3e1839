// Forks that this page is making right now, by their parents: what SillyTavern's saves and the opened fork tell of them is told once, by
// whoever makes them.

const parents = new Map();

export async function during(parent, work) {
    parents.set(parent, (parents.get(parent) ?? 0) + 1);
    try {
        return await work();
    } finally {
        const left = parents.get(parent) - 1;
        if (left) {
            parents.set(parent, left);
        } else {
            parents.delete(parent);
        }
    }
}

export function isMaking(parent) {
    return parents.has(parent);
}

export function isMakingAny() {
    return parents.size > 0;
}
