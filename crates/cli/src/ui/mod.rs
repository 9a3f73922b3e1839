//! Drawing for people. Colours vanish by themselves where the output is not a terminal or `NO_COLOR` is set.

mod bar;
mod check;
mod config;
mod demo;
mod fork;
mod heal;
mod show;
mod style;
mod tree;

use std::io::{self, Write as _};

use serde::Serialize;

pub(crate) use bar::Bar;
pub(crate) use check::check;
pub(crate) use config::{setting, setting_changed, settings};
pub(crate) use demo::{demo, demo_plan};
pub(crate) use fork::{forked, recovered, waiting};
pub(crate) use heal::{healed, question};
pub(crate) use show::show;
pub(crate) use tree::{stories, tree};

use crate::commands::Context;
use crate::error::CliError;
use style::{BAD, BOLD, DIM, tame, wrap};

/// Prints one JSON document.
pub(crate) fn json<T: Serialize>(document: &T) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(document)?;
    text.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&text)?;
    out.flush()
}

/// Prints why something did not work, and what to do.
pub(crate) fn error(context: &Context, e: &CliError) {
    if context.json {
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

/// "1 message", "3 messages".
fn count(n: usize, one: &str) -> String {
    match n {
        1 => format!("1 {one}"),
        _ if one.ends_with('y') => format!("{n} {}ies", &one[..one.len() - 1]),
        _ => format!("{n} {one}s"),
    }
}

/// A headline.
fn headline(text: &str) -> String {
    format!("{BOLD}{text}{BOLD:#}")
}
