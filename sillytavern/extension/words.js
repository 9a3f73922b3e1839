// How things are said on this page. The engine speaks to everybody, also to who types commands; here nobody does.

export function count(number, one, many = `${one}s`) {
    return `${number} ${number === 1 ? one : many}`;
}

// What a command is called where there are buttons.
const SAID = [
    [/Run `forklore heal [^`]*--choose copy`/g, 'Give it its own copy'],
    [/Run `forklore heal` on this chat/g, 'Heal this chat'],
    [/Run `forklore heal`/g, 'Heal it'],
    [/run `forklore heal` first/g, 'heal it first'],
    [/`forklore heal`/g, 'healing'],
    [/ \(--copy-book [^)]*\)/g, ''],
];
// What is done at a terminal and nowhere else may be quoted.
const COMMAND = /`forklore (?!install|doctor)[^`]*`|: forklore \w|(^|\s)--[a-z]/;

/**
 * A text of the engine's without what only a command line understands.
 * @param {string | null | undefined} text
 */
export function plain(text) {
    const said = SAID.reduce((sentence, [typed, words]) => sentence.replace(typed, /** @type {string} */ (words)), text ?? '');
    const parts = said.split(/(?<=[.;]) /).filter((part) => !COMMAND.test(part));
    const whole = parts.join(' ').replace(/;$/, '.');
    return whole ? whole[0].toUpperCase() + whole.slice(1) : '';
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
