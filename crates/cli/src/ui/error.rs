//! Why something did not work, and what to do.

use std::io::Write as _;

use forklore_api::Failure;

use super::document::json;
use super::style::{BAD, DIM, tame, wrap};

/// Prints it, as JSON if `as_json`.
pub(crate) fn error(e: &Failure, as_json: bool) {
    if as_json {
        // Nobody is left to tell that this could not be told.
        let _gone = json(&e.as_json());
        return;
    }
    let mut out = anstream::stderr().lock();
    let _gone = writeln!(out, "{BAD}Error:{BAD:#} {}", tame(&e.message));
    if !e.hint.is_empty() {
        let _gone = writeln!(out, "{DIM}{}{DIM:#}", wrap(&tame(&e.hint), ""));
    }
}
