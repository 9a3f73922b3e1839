// Every kind of page that there is, with an address of it in the demo story.

const MAIN = 'Ottilie Crake/Heard Once';
const FORK = `${MAIN} - Branch #1`;
export const at = (page, args = {}) => `${page}?${new URLSearchParams(args)}`;

export const PAGES = {
    stories: '', tree: at('tree', { story: 'Ottilie Crake' }), moment: at('moment', { chat: MAIN, at: 30, from: 20 }), 'compare, to choose': at('compare', { a: MAIN }),
    compare: at('compare', { a: MAIN, b: FORK }), 'bring along, to choose': at('bring', { a: MAIN }), 'bring along': at('bring', { a: MAIN, b: FORK }),
    health: 'health', heal: 'heal', log: 'log', 'history and space': 'keep', settings: 'settings', import: 'import', export: at('export', { what: MAIN }),
    'history of a chat': at('past', { chat: MAIN }), 'timeline of an entry': at('entry', { chat: MAIN, entry: 'character-Emlyn Post', at: 38 }),
    'bring back': at('bring-back', { chat: MAIN, entry: 'character-Emlyn Post', at: 10 }), branch: at('act', { kind: 'branch', chat: MAIN, at: 12 }),
    rename: at('act', { kind: 'rename', chat: MAIN, name: 'Other' }), delete: at('act', { kind: 'delete', chat: FORK }), memory: at('memory', { chat: MAIN }), nothing: 'no-such-page',
};
