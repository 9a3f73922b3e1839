// A page keeps books for ever. When another tab, another device or Forklore itself has written one, this page's copy is dropped.

import { watch } from './requests.js';
import * as st from './st.js';

// How long a save of this page's own may take to be told.
const RECENT = 4000;

// Gives a function that hears of changes.
export function watchBooks() {
    const own = new Map();
    watch(['/api/worldinfo/edit'], async (request) => {
        own.set(st.bookOf(await request.text()), Date.now());
    });
    return ({ what, book }) => {
        if (what === 'book' && book && Date.now() - (own.get(book) ?? 0) > RECENT && st.isCached(book)) {
            st.refreshBooks([book]);
        }
    };
}
