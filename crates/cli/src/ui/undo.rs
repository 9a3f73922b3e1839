//! What became of an undo.

use std::io::{self, Write as _};

use forklore_engine::usecase::undo::UndoReport;

use super::style::{DIM, GOOD, tame};
use super::{files, warning};

/// Tells what was undone, or would be.
pub(crate) fn undone(report: &UndoReport) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let did = if report.operation.is_some() { "Undone" } else { "Would undo" };
    writeln!(out, "{GOOD}{did}:{GOOD:#} {}", tame(&report.summary))?;
    files(&mut out, "to the trash", &report.removed)?;
    files(&mut out, "came back", &report.restored)?;
    files(&mut out, "edited back", &report.edited)?;
    for path in &report.left {
        let text = format!("{path} stays as it is: what Forklore had changed in it was changed again since");
        warning(&mut out, &tame(&text))?;
    }
    match &report.operation {
        Some(id) => writeln!(out, "  {DIM}Do it again with: forklore undo {id}{DIM:#}"),
        None => Ok(()),
    }
}
