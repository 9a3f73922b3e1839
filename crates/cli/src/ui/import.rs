//! What was imported.

use std::io::{self, Write as _};

use forklore_engine::import::{ImportReport, Imported};

use super::parts::{LABEL, files, saves, take_back, warning};
use super::style::{BOLD, DIM, GOOD, NOTE, pad, tame};
use super::words::{count, size};

/// Tells what came in, or would.
pub(crate) fn imported(report: &ImportReport) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let did = if report.operation.is_some() { "Imported" } else { "Would import" };
    let chats = count(report.chats.len(), "chat");
    let new = if report.new_story { " (new)" } else { "" };
    let (story, bytes) = (tame(&report.story), size(report.bytes));
    writeln!(out, "{GOOD}{did}{GOOD:#} {chats} into {BOLD}{story}{BOLD:#}{new}  {DIM}{bytes}{DIM:#}")?;
    listed(&mut out, "chats", &report.chats)?;
    listed(&mut out, "lorebooks", &report.books)?;
    media(&mut out, report)?;
    files(&mut out, "also", report.card.as_slice())?;
    saves(&mut out, report.observations)?;
    for left in &report.left {
        let word = pad("left", LABEL);
        writeln!(out, "  {DIM}{word}{DIM:#}{}: {}", tame(&left.what), tame(&left.why))?;
    }
    for told in &report.warnings {
        warning(&mut out, &told.typed())?;
    }
    take_back(&mut out, report.operation.as_deref())
}

/// Images and files are told as a number: there can be thousands.
fn media(out: &mut impl io::Write, report: &ImportReport) -> io::Result<()> {
    let (new, here) = (report.media.len(), report.media_here);
    if new + here == 0 {
        return Ok(());
    }
    let here = if here > 0 { format!(", {here} more are here already") } else { String::new() };
    files(out, "media", &[format!("{}{here}", count(new, "file"))])
}

/// Names, with the ones that they had if those were taken.
fn listed(out: &mut impl io::Write, word: &str, list: &[Imported]) -> io::Result<()> {
    for (n, item) in list.iter().enumerate() {
        let word = pad(if n == 0 { word } else { "" }, LABEL);
        write!(out, "  {DIM}{word}{DIM:#}{}", tame(&item.name))?;
        let stem = item.name.rsplit('/').next().unwrap_or_default();
        if stem != item.from {
            write!(out, "  {NOTE}was {}{NOTE:#}", tame(&item.from))?;
        }
        writeln!(out)?;
    }
    Ok(())
}
