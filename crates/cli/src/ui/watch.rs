//! What `watch` tells: that it looks, and what it saw.

use std::io::{self, Write as _};
use std::path::Path;

use forklore_api::capital;
use forklore_journal::oplog;
use forklore_vault::history::{Observation, Observed};

use super::style::{DIM, GOOD, WARN, tame};
use super::words::count;

/// Tells what one look found.
pub(crate) fn watched(recorded: &[String], backups: usize) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    if backups > 0 {
        writeln!(out, "Read in {} that SillyTavern had kept.", count(backups, "backup"))?;
    }
    if recorded.is_empty() {
        return writeln!(out, "Nothing has changed since the last look.");
    }
    writeln!(out, "{GOOD}Recorded{GOOD:#} what is new in {}:", count(recorded.len(), "file"))?;
    for file in recorded.iter().take(20) {
        writeln!(out, "  {}", tame(file))?;
    }
    if recorded.len() > 20 {
        writeln!(out, "  {DIM}and {} more{DIM:#}", recorded.len() - 20)?;
    }
    Ok(())
}

/// Tells that it looks from now on.
pub(crate) fn watching(json: bool, recorded: usize, vault: &Path) -> io::Result<()> {
    if json {
        return Ok(());
    }
    let mut out = anstream::stdout().lock();
    let caught = match recorded {
        0 => "Nothing had changed since the last time.".to_owned(),
        n => format!("Recorded what was new in {}.", count(n, "file")),
    };
    writeln!(out, "{GOOD}Watching{GOOD:#} {}", tame(&vault.display().to_string()))?;
    writeln!(out, "{DIM}{caught} End with Ctrl-C, at any time.{DIM:#}")?;
    out.flush()
}

/// Tells of one change. With `--json`, one document a line.
pub(crate) fn saw(json: bool, file: &str, seen: Option<&Observation>) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    if json {
        let line = serde_json::json!({"recorded": file, "observation": seen});
        writeln!(out, "{line}")?;
        return out.flush();
    }
    let what = match seen.map(|seen| &seen.what) {
        Some(Observed::Chat(chat)) => count(chat.messages, "message"),
        Some(Observed::Book(book)) => book.entries.map_or("not readable".to_owned(), |n| count(n, "entry")),
        Some(Observed::Gone) => "deleted".to_owned(),
        Some(Observed::Forget { .. }) | None => String::new(),
    };
    let at = seen.map(|seen| oplog::time(seen.clock)).unwrap_or_default();
    let time = at.get(11..19).unwrap_or_default();
    writeln!(out, "{DIM}{time}{DIM:#}  {}  {DIM}{what}{DIM:#}", tame(file))?;
    out.flush()
}

/// Tells that something could not be recorded now and will be tried again.
pub(crate) fn not_recorded(why: &str) -> io::Result<()> {
    let mut out = anstream::stderr().lock();
    writeln!(out, "{WARN}!{WARN:#} {}; it is tried again.", tame(why))
}

/// Tells of a file or folder that cannot be read, which keeps nobody from recording the others.
pub(crate) fn not_read(why: &str) -> io::Result<()> {
    let mut out = anstream::stderr().lock();
    let why = capital(why);
    writeln!(
        out,
        "{WARN}!{WARN:#} {}. Everything else is recorded. Give Forklore the right to read it: then it is, too.",
        tame(&why)
    )
}

/// Tells that an operation is not in history.
pub(crate) fn not_noted(json: bool, why: &str) {
    if json {
        return;
    }
    let mut out = anstream::stderr().lock();
    let _gone = writeln!(out, "{WARN}!{WARN:#} It is done, but history could not be written: {}", tame(why));
}
