//! What became of an undo.

use std::io::{self, Write as _};

use forklore_engine::undo::UndoReport;

use super::parts::{files, take_back, warning};
use super::style::{DIM, GOOD, tame};

/// Tells what was undone or done again, or would be.
pub(crate) fn undone(report: &UndoReport) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let did = match (report.redo, report.operation.is_some()) {
        (false, true) => "Undone:",
        (false, false) => "Would undo:",
        (true, true) => "Done again:",
        (true, false) => "Would do again:",
    };
    writeln!(out, "{GOOD}{did}{GOOD:#} {}", tame(&report.summary))?;
    files(&mut out, "to the trash", &report.removed)?;
    files(&mut out, "came back", &report.restored)?;
    files(&mut out, if report.redo { "edited" } else { "edited back" }, &report.edited)?;
    for path in &report.left {
        let text =
            format!("In {path}, something that Forklore had changed was changed again since. That stays");
        warning(&mut out, &tame(&text))?;
    }
    match &report.operation {
        Some(_) if !report.redo => writeln!(out, "  {DIM}Do it again with: forklore redo{DIM:#}"),
        operation => take_back(&mut out, operation.as_deref()),
    }
}
