//! Drawing for people. Colours vanish by themselves where the output is not a terminal or `NO_COLOR` is set.

mod bar;
mod blame;
mod check;
mod config;
mod delete;
mod demo;
mod diff;
mod doctor;
mod export;
mod forget;
mod fork;
mod heal;
mod history;
mod import;
mod install;
mod log;
mod restore;
mod show;
mod style;
mod trash;
mod tree;
mod undo;
mod watch;

use std::io::{self, Write as _};

use serde::Serialize;

pub(crate) use bar::Bar;
pub(crate) use blame::blame;
pub(crate) use check::check;
pub(crate) use config::{setting, setting_changed, settings};
pub(crate) use delete::{deleted, renamed};
pub(crate) use demo::{demo, demo_plan};
pub(crate) use diff::diff;
pub(crate) use doctor::doctor;
pub(crate) use export::exported;
pub(crate) use forget::{forgotten, pruned};
pub(crate) use fork::{forked, recovered, waiting};
pub(crate) use heal::{healed, question};
pub(crate) use history::history;
pub(crate) use import::imported;
pub(crate) use install::installed;
pub(crate) use log::log;
pub(crate) use restore::{ask_to_bind, brought_back};
pub(crate) use show::show;
pub(crate) use trash::{cleaned, restored, trash};
pub(crate) use tree::{stories, tree};
pub(crate) use undo::undone;
pub(crate) use watch::{not_noted, not_recorded, saw, watched, watching};

use crate::commands::Context;
use forklore_api::Failure;
use style::{BAD, BOLD, DIM, WARN, tame, wrap};

/// A name as it is typed on a command line.
fn quoted(name: &str) -> String {
    if name.contains(' ') { format!("\"{name}\"") } else { name.to_owned() }
}

/// Prints one JSON document.
pub(crate) fn json<T: Serialize>(document: &T) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(&forklore_api::document(document)?)?;
    out.flush()
}

/// Prints one JSON document in one line: for programs that go on reading.
pub(crate) fn line<T: Serialize>(document: &T) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(document)?)?;
    out.flush()
}

/// Tells where the server is to be found.
pub(crate) fn serving(url: &str, code: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "Forklore answers at {BOLD}{url}#code={code}{BOLD:#}")?;
    let more = "Whoever opens this address first can read and change the vault. It works once: Enter prints another, Ctrl-C ends Forklore.";
    writeln!(out, "{DIM}{more}{DIM:#}")?;
    out.flush()
}

/// Prints where the page is that asks for a vault.
pub(crate) fn first_visit(url: &str, code: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(
        out,
        "There is no SillyTavern vault here. Choose one, or the demo story, at {BOLD}{url}#code={code}{BOLD:#}"
    )?;
    let more = "Whoever opens this address first can open folders of this machine. It works once: Enter prints another, Ctrl-C ends Forklore.";
    writeln!(out, "{DIM}{more}{DIM:#}")?;
    out.flush()
}

/// Prints why something did not work, and what to do.
pub(crate) fn error(context: &Context, e: &Failure) {
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

/// A length for people.
pub(crate) fn size(bytes: u64) -> String {
    let steps = ["B", "KB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut step = 0;
    while value >= 1000.0 && step + 1 < steps.len() {
        value /= 1000.0;
        step += 1;
    }
    if step == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", steps[step]) }
}

/// A time as RFC 3339, for people: "2026-11-15 05:23". It is UTC.
fn when(at: &str) -> String {
    let minute = at.get(..16).unwrap_or(at);
    minute.replacen('T', " ", 1)
}

/// What to do to take an operation back.
fn take_back(out: &mut impl io::Write, operation: Option<&str>) -> io::Result<()> {
    operation.map_or(Ok(()), |id| writeln!(out, "  {DIM}Take it back with: forklore undo {id}{DIM:#}"))
}

/// Something that the user should know.
fn warning(out: &mut impl io::Write, text: &str) -> io::Result<()> {
    let text = wrap(&format!("{}.", text.trim_end_matches('.')), "    ");
    writeln!(out, "  {WARN}!{WARN:#} {}", text.trim_start())
}

/// Files, one a line, behind a word that says what became of them.
fn files(out: &mut impl io::Write, word: &str, paths: &[String]) -> io::Result<()> {
    for (n, path) in paths.iter().enumerate() {
        let word = style::pad(if n == 0 { word } else { "" }, LABEL);
        writeln!(out, "  {DIM}{word}{DIM:#}{}", tame(path))?;
    }
    Ok(())
}

/// Width of the words before files.
const LABEL: usize = 14;

/// A headline.
fn headline(text: &str) -> String {
    format!("{BOLD}{text}{BOLD:#}")
}
