//! What became of a checkpoint or branch.

use std::io::{self, IsTerminal as _, Write as _};

use forklore_engine::fork::ForkReport;
use forklore_journal::Recovered;

use super::style::{BOLD, DIM, GOOD, NOTE, tame, wrap};
use super::words::count;

/// Tells what was made, or would be.
pub(crate) fn forked(report: &ForkReport, warnings: bool) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let made = if report.operation.is_some() { "Made" } else { "Would make" };
    let (kind, chat) = (report.kind.as_str(), tame(&report.chat));
    writeln!(out, "{GOOD}{made} the {kind}{GOOD:#} {BOLD}{chat}{BOLD:#}")?;
    let swipe = report.swipe.map(|k| format!(", swipe {k}")).unwrap_or_default();
    writeln!(out, "  {DIM}from{DIM:#}      {} at message {}{swipe}", tame(&report.parent), report.at)?;
    let book = &report.book;
    match &book.name {
        None => writeln!(out, "  {DIM}lorebook{DIM:#}  none")?,
        Some(name) if book.shared => writeln!(out, "  {DIM}lorebook{DIM:#}  {} (shared)", tame(name))?,
        Some(name) => {
            let source = match (book.source.kind, book.source.message, book.source.distance) {
                ("head", ..) => "as it is".to_owned(),
                ("degraded", Some(first), _) => {
                    format!("as Forklore first saw it, when the chat had {}", count(first + 1, "message"))
                }
                (_, Some(message), Some(0)) => format!("as of message {message}"),
                (_, Some(message), _) => format!("as of message {message}, the last scene before"),
                ("degraded", ..) => "a copy of today's".to_owned(),
                _ => "before the first scene".to_owned(),
            };
            writeln!(out, "  {DIM}lorebook{DIM:#}  {}", tame(name))?;
            let mut more = vec![count(book.entries, "entry"), source];
            if book.undated > 0 {
                more.push(format!("{} of unknown date", count(book.undated, "entry")));
            }
            if !book.left_out.is_empty() {
                more.push(format!("{} left out", count(book.left_out.len(), "entry")));
            }
            writeln!(out, "            {}", more.join("; "))?;
        }
    }
    let recap = &report.running_recap;
    match recap.current_version {
        Some(version) => {
            let scenes = recap.scenes.and_then(|n| usize::try_from(n).ok());
            let mut more = vec![count(recap.versions, "version")];
            more.extend(scenes.map(|n| count(n, "scene")));
            if recap.archived > 0 {
                more.push(format!("{} left to the parent", recap.archived));
            }
            writeln!(out, "  {DIM}recap{DIM:#}     running recap v{version} ({})", more.join(", "))?;
        }
        None if recap.archived > 0 => {
            let left = count(recap.archived, "version");
            writeln!(out, "  {DIM}recap{DIM:#}     no running recap yet ({left} left to the parent)")?;
        }
        None => {}
    }
    if let Some(combined) = &report.combined_recap {
        let n = usize::try_from(combined.message_count).unwrap_or(0);
        writeln!(out, "            combined recap of {}", count(n, "message"))?;
    }
    for note in &report.notes {
        writeln!(out, "  {DIM}{}{DIM:#}", wrap(note, "  ").trim_start())?;
    }
    if warnings {
        for warning in &report.warnings {
            super::parts::warning(&mut out, &warning.typed())?;
        }
    }
    for path in &report.pending {
        let text = format!("{path} could not be changed: the link to the fork is not in it.");
        super::parts::warning(&mut out, &tame(&text))?;
    }
    super::parts::take_back(&mut out, report.operation.as_deref())
}

/// Tells, where somebody looks on, that a queue is waited for.
pub(crate) fn waiting(json: bool, operations: usize) {
    if !json && io::stderr().is_terminal() {
        let mut err = anstream::stderr().lock();
        // Nobody is left to tell that this could not be told.
        let _gone =
            write!(err, "\r{NOTE}Waiting{NOTE:#} for {} in the queue… ", count(operations, "operation"));
        let _gone = err.flush();
    }
}

/// Tells what the start found unfinished.
pub(crate) fn recovered(json: bool, found: &[Recovered]) {
    if json {
        return;
    }
    let mut err = anstream::stderr().lock();
    for one in found {
        let text = match one {
            Recovered::Finished { id, summary } => {
                format!("An operation that had been interrupted was finished: {summary} ({id}).")
            }
            Recovered::TakenBack { id } => {
                format!(
                    "An operation that had been interrupted before it counted left nothing behind ({id})."
                )
            }
            Recovered::Pending { id, summary } => {
                format!("A link of an earlier operation still could not be set: {summary} ({id}).")
            }
        };
        // Nobody is left to tell that this could not be told.
        let _gone = writeln!(err, "{NOTE}{}{NOTE:#}", wrap(&tame(&text), ""));
    }
}
