// After a fork was made: the page learns of its book, and the user of what it has.

import { applyEdits } from './edits.js';
import { expect } from './guard.js';
import * as keyed from './keyed.js';
import * as made from './made.js';
import * as st from './st.js';

// A fork is there, whoever made it.
export async function welcome(report) {
    expect(report.chat);
    await st.refreshBooks([report.book.name]);
    await made.tell(report);
    await keyed.kept(keyed.copied(report));
    await applyEdits(false);
}
