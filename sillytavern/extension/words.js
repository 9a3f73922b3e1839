// How things are said on this page. What the engine says of a thing is the same everywhere; what to do about it is `to_do` here, where nobody
// types commands.

export function count(number, one, many = `${one}s`) {
    return `${number} ${number === 1 ? one : many}`;
}

// A large number, as people write it.
export function amount(number) {
    return Number(number).toLocaleString('en');
}

// A warning of the engine's, with what to do about it here.
export function advice({ message, to_do: todo }) {
    return [`${message}.`.replace(/\.\.$/, '.'), todo].filter(Boolean).join(' ');
}

// Lists that a memory extension keeps of its entries, and its queue, say nothing of the story.
export function facts(entries) {
    return entries.filter(({ role }) => !['registry', 'index', 'queue'].includes(role));
}

// Work of a memory extension: what runs and what waits, apart.
export function work({ count: all, types, operations = [] }) {
    const kinds = types?.length ? ` (${types.map((type) => type.replaceAll('_', ' ')).join(', ')})` : '';
    const running = operations.filter(({ status }) => RUNNING.has(status)).length;
    const told = `${count(all, 'operation')} still to be done${kinds}`;
    return running ? `${told}: ${running} running, ${all - running} waiting` : told;
}

const RUNNING = new Set(['in_progress', 'running', 'retrying']);
