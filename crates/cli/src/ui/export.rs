//! What was exported.

use std::io::{self, Write as _};

use forklore_engine::export::ExportReport;

use super::parts::{files, saves, warning};
use super::style::{BOLD, DIM, GOOD, tame, wrap};
use super::words::{count, quoted, size};

/// Tells what is in the file, or would be.
pub(crate) fn exported(report: &ExportReport) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let did = if report.file.is_some() { "Exported" } else { "Would export" };
    let what = report.line.as_ref().map_or_else(
        || format!("the story {BOLD}{}{BOLD:#}", tame(&report.name)),
        |line| format!("the line of {BOLD}{}{BOLD:#}", tame(line)),
    );
    writeln!(out, "{GOOD}{did}{GOOD:#} {what}")?;
    files(&mut out, "chats", &report.chats)?;
    files(&mut out, "lorebooks", &report.books)?;
    saves(&mut out, report.observations)?;
    if report.observations > 0 {
        let more = "History has every save that was seen, also messages that were edited or deleted since. To leave it out: --no-history";
        writeln!(out, "{DIM}{}{DIM:#}", wrap(more, "  "))?;
    }
    if report.card {
        files(&mut out, "card", std::slice::from_ref(&report.name))?;
    }
    if report.media.exported > 0 {
        let media = &report.media;
        files(&mut out, "media", &[format!("{}, {}", count(media.exported, "file"), size(media.bytes))])?;
    }
    for told in &report.warnings {
        warning(&mut out, &told.typed())?;
    }
    let content = size(report.content);
    match (&report.file, report.bytes) {
        (Some(file), Some(bytes)) => {
            let file = tame(file);
            writeln!(out, "  {DIM}{content}, in a file of {}: {file}{DIM:#}", size(bytes))?;
            let import = quoted(&file);
            writeln!(out, "  {DIM}Bring it into another vault with: forklore import {import}{DIM:#}")
        }
        _ => writeln!(out, "  {DIM}{content} before it is compressed{DIM:#}"),
    }
}
