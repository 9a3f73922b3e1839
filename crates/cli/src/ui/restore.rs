//! What came back, and what is asked before.

use std::io::{self, Write as _};

use forklore_engine::history::Did;
use forklore_engine::restore::RestoreReport;

use super::style::{BOLD, DIM, GONE, GOOD, NEW, NOTE, tame, wrap};
use super::words::{count, when};

/// How many entries are listed.
const LISTED: usize = 12;

/// Tells what came back, or would.
pub(crate) fn brought_back(report: &RestoreReport) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let done = report.operation.is_some();
    let chat = tame(&report.chat);
    let text = match (report.what, done) {
        ("chat", true) => "Brought back",
        ("chat", false) => "Would bring back",
        ("branch", true) => "Made the branch",
        ("branch", false) => "Would make the branch",
        (_, true) => "Put back in",
        (_, false) => "Would put back in",
    };
    writeln!(out, "{GOOD}{text}{GOOD:#} {BOLD}{chat}{BOLD:#}")?;
    let then = match (&report.seen, report.observation) {
        (Some(at), Some(seq)) => format!("as it was {} (UTC), observation {seq}", when(at)),
        _ => format!("as of message {}", report.at),
    };
    writeln!(out, "  {DIM}from{DIM:#}      {}, {then}", tame(&report.of))?;
    match &report.book.name {
        None => writeln!(out, "  {DIM}lorebook{DIM:#}  none")?,
        Some(name) => {
            let new = if report.book.made { "" } else { ", which was still there" };
            let entries = count(report.book.entries, "entry");
            writeln!(out, "  {DIM}lorebook{DIM:#}  {} ({entries}{new})", tame(name))?;
        }
    }
    if !report.media.is_empty() {
        let media = count(report.media.len(), "file");
        writeln!(out, "  {DIM}media{DIM:#}     {media}, gone until now")?;
    }
    entries(&mut out, report)?;
    for warning in &report.warnings {
        super::parts::warning(&mut out, &tame(&warning.typed()))?;
    }
    for path in &report.pending {
        super::parts::warning(&mut out, &tame(&format!("{path} could not be changed")))?;
    }
    if done && matches!(report.what, "book" | "entry") {
        writeln!(out, "  {DIM}Reload SillyTavern's page: it still has the old lorebook in memory.{DIM:#}")?;
    }
    super::parts::take_back(&mut out, report.operation.as_deref())
}

fn entries(out: &mut impl io::Write, report: &RestoreReport) -> io::Result<()> {
    for entry in report.entries.iter().take(LISTED) {
        let fields = if entry.fields.is_empty() {
            String::new()
        } else {
            format!("  {DIM}{}{DIM:#}", tame(&entry.fields.join(", ")))
        };
        let title = tame(&entry.comment);
        match entry.did {
            Did::Added => writeln!(out, "  {NEW}+{NEW:#} {title}")?,
            Did::Changed => writeln!(out, "  {NOTE}~{NOTE:#} {title}{fields}")?,
            Did::Removed => writeln!(out, "  {GONE}\u{2212}{GONE:#} {title}")?,
        }
    }
    match report.entries.len().saturating_sub(LISTED) {
        0 => Ok(()),
        n => writeln!(out, "  {DIM}… and {} more{DIM:#}", count(n, "entry")),
    }
}

/// Asks whether the chat may be bound to the new book.
pub(crate) fn ask_to_bind(report: &RestoreReport) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{BOLD}{}{BOLD:#}", tame(&report.chat))?;
    let old = report.book.from.as_deref().unwrap_or_default();
    let new = report.book.name.as_deref().unwrap_or_default();
    let text = format!(
        "The chat gets the new lorebook \"{new}\" instead of \"{old}\", which is not changed. In it:"
    );
    writeln!(out, "{}", wrap(&text, "  "))?;
    entries(&mut out, report)?;
    for warning in &report.warnings {
        super::parts::warning(&mut out, &tame(&warning.typed()))?;
    }
    write!(out, "  Go on? [y/N] ")?;
    out.flush()
}
