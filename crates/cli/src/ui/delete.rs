//! What became of a deletion, or of a new name.

use std::io::{self, Write as _};

use forklore_engine::delete::DeleteReport;
use forklore_engine::rename::RenameReport;

use super::parts::{LABEL, files, take_back, warning};
use super::style::{BOLD, DIM, GOOD, pad, tame};

/// Tells what was deleted, or would be.
pub(crate) fn deleted(report: &DeleteReport) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let did = if report.operation.is_some() { "Moved to the trash:" } else { "Would move to the trash:" };
    writeln!(out, "{GOOD}{did}{GOOD:#} {BOLD}{}{BOLD:#}", tame(&report.chat))?;
    // The files that went come first, then those that were changed: the chat, and one a book.
    let (gone, changed) = report.files.split_at((1 + report.books.len()).min(report.files.len()));
    files(&mut out, "to the trash", gone)?;
    files(&mut out, "edited", changed)?;
    for kept in &report.kept {
        let word = pad("lorebook", LABEL);
        writeln!(out, "  {DIM}{word}{DIM:#}{} stays: {}", tame(&kept.name), tame(&kept.why))?;
    }
    for told in &report.warnings {
        warning(&mut out, &told.typed())?;
    }
    take_back(&mut out, report.operation.as_deref())
}

/// Tells what was renamed, or would be.
pub(crate) fn renamed(report: &RenameReport) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let did = if report.operation.is_some() { "Renamed to" } else { "Would rename to" };
    writeln!(out, "{GOOD}{did}{GOOD:#} {BOLD}{}{BOLD:#}", tame(&report.chat))?;
    // The new file and the old one come first, then those that followed.
    let (own, followed) = report.files.split_at(2.min(report.files.len()));
    files(&mut out, "was", &own[own.len().min(1)..])?;
    files(&mut out, "edited", followed)?;
    for told in &report.warnings {
        warning(&mut out, &told.typed())?;
    }
    take_back(&mut out, report.operation.as_deref())
}
