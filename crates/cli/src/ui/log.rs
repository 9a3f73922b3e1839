//! The log: what was done, when, and what became of it.

use std::io::{self, Write as _};

use forklore_journal::oplog::{LogEntry, LogReport};

use super::style::{DIM, NOTE, WARN, pad, tame, wrap};
use super::words::{count, when};

/// Width of the time and the kind, with the blanks behind them.
const INDENT: usize = 16 + 2 + KIND + 2;
/// Width of the longest kind.
const KIND: usize = 10;

/// Prints operations, newest first; `all` is how many there are.
pub(crate) fn log(report: &LogReport, all: usize) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    if all == 0 && report.unreadable.is_empty() {
        writeln!(out, "Forklore has changed nothing in this vault yet.")?;
        return writeln!(out, "{DIM}Forks that you make with it will be listed here.{DIM:#}");
    }
    for operation in &report.operations {
        entry(&mut out, operation)?;
    }
    match all - report.operations.len() {
        0 => {}
        n => writeln!(out, "{DIM}… and {} before that{DIM:#}", count(n, "operation"))?,
    }
    for name in &report.unreadable {
        let text = format!(
            "The file {name} in .forklore/ops cannot be read: it is damaged, or a newer Forklore wrote it"
        );
        super::parts::warning(&mut out, &tame(&text))?;
    }
    Ok(())
}

fn entry(out: &mut impl io::Write, operation: &LogEntry) -> io::Result<()> {
    let indent = " ".repeat(INDENT);
    let (time, kind) = (when(&operation.at), pad(operation.kind, KIND));
    let summary = wrap(&tame(&operation.summary), &indent);
    let summary = summary.trim_start();
    if operation.undone_by.is_some() {
        writeln!(out, "{DIM}{time}  {kind}  {summary}{DIM:#}")?;
    } else {
        writeln!(out, "{DIM}{time}{DIM:#}  {NOTE}{kind}{NOTE:#}  {summary}")?;
    }
    if let Some(chat) = operation.chat.as_ref().filter(|chat| !operation.summary.contains(chat.as_str())) {
        let chat = wrap(&tame(&format!("→ {chat}")), &indent);
        if operation.undone_by.is_some() {
            writeln!(out, "{DIM}{chat}{DIM:#}")?;
        } else {
            writeln!(out, "{chat}")?;
        }
    }
    let undone = operation.undone_by.as_ref().map(|by| format!("  undone by {by}")).unwrap_or_default();
    write!(out, "{indent}{DIM}{}{undone}{DIM:#}", operation.id)?;
    if operation.pending {
        write!(out, "  {WARN}pending{WARN:#}")?;
    }
    writeln!(out)
}
