//! Texts and values that are too long to be shown as a whole.

use crate::ui::style::{cut, tame};

/// How many characters of a text that only one side has are looked at, unless all of it is asked for.
const EXCERPT: usize = 600;

/// The beginning of a text: nobody waits for the layout of a megabyte of which four rows are shown.
pub(super) fn shortened(text: &str) -> String {
    text.chars().take(EXCERPT).collect()
}

/// A value on one line.
pub(super) fn short_value(json: &str, full: bool) -> String {
    if full { tame(json) } else { cut(&shortened(json), 60) }
}
