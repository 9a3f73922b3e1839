//! The trash: what is in it, what came back, what left it for good.

use std::io::{self, Write as _};

use forklore_engine::trash::{GcReport, RestRestored, TrashItem, TrashReport, UntrashReport};

use super::parts::{files, headline, take_back, warning};
use super::style::{BOLD, DIM, GOOD, NOTE, pad, tame, wrap};
use super::words::{count, size, when};

/// Prints what is in the trash; `days` is how long things stay there.
pub(crate) fn trash(report: &TrashReport, days: u32) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    if report.items.is_empty() {
        return writeln!(out, "The trash is empty.");
    }
    let stay = match days {
        0 => "kept for ever".to_owned(),
        1 => "kept for 1 day".to_owned(),
        days => format!("kept for {days} days"),
    };
    let (files, bytes) = (count(report.items.len(), "file"), size(report.bytes));
    writeln!(out, "{}  {DIM}{files}, {bytes}, {stay}{DIM:#}", headline("Trash"))?;
    let mut last = None;
    for item in &report.items {
        if last != Some(&item.operation) {
            let expires =
                item.expires.as_deref().map(|at| format!("  until {}", when(at))).unwrap_or_default();
            writeln!(out, "\n{}{DIM}{expires}  {}{DIM:#}", when(&item.at), item.operation)?;
        }
        last = Some(&item.operation);
        self::item(&mut out, item)?;
    }
    writeln!(
        out,
        "\n{DIM}Bring one back with: forklore trash restore PATH, or all of an operation with its id{DIM:#}"
    )
}

fn item(out: &mut impl io::Write, item: &TrashItem) -> io::Result<()> {
    let bytes = size(item.bytes);
    writeln!(out, "  {DIM}{}{DIM:#}  {}", pad(&bytes, 9), tame(&item.path))
}

/// Tells what came back, or would; `others` are files that went to the trash together with it.
pub(crate) fn restored(report: &UntrashReport, others: &[String]) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let did = if report.operation.is_some() { "Brought back" } else { "Would bring back" };
    writeln!(out, "{GOOD}{did}{GOOD:#} {BOLD}{}{BOLD:#}", tame(&report.restored))?;
    if report.restored != report.path {
        let text = format!("{} is taken, so it gets a name of its own.", tame(&report.path));
        writeln!(out, "{}", wrap(&text, "  "))?;
    }
    files(&mut out, "media", &report.media)?;
    files(&mut out, "not with it", others)?;
    for told in &report.warnings {
        warning(&mut out, &tame(&told.typed()))?;
    }
    take_back(&mut out, report.operation.as_deref())
}

/// Tells what was left of an operation and came back, or would.
pub(crate) fn rest_restored(report: &RestRestored) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let did = if report.operation.is_some() { "Brought back" } else { "Would bring back" };
    writeln!(out, "{GOOD}{did}{GOOD:#} what was still in the trash of it")?;
    files(&mut out, "came back", &report.restored)?;
    for told in &report.warnings {
        warning(&mut out, &tame(&told.typed()))?;
    }
    take_back(&mut out, report.operation.as_deref())
}

/// Tells what was cleaned up, or would be.
pub(crate) fn cleaned(report: &GcReport, dry_run: bool) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    if !report.books.is_empty() {
        let did = if dry_run { "Would move to the trash:" } else { "Moved to the trash:" };
        writeln!(
            out,
            "{GOOD}{did}{GOOD:#} {} that nothing refers to",
            count(report.books.len(), "lorebook")
        )?;
        names(&mut out, &report.books)?;
        take_back(&mut out, report.operation.as_deref())?;
    }
    if !report.expired.is_empty() {
        let did = if dry_run { "Would remove for good:" } else { "Removed for good:" };
        let (files, freed) = (count(report.expired.len(), "file"), size(report.freed));
        writeln!(out, "{GOOD}{did}{GOOD:#} {files} from the trash, {freed}")?;
        for item in &report.expired {
            self::item(&mut out, item)?;
        }
    }
    if report.books.is_empty() && report.expired.is_empty() {
        writeln!(out, "{GOOD}✓{GOOD:#} There is nothing to clean up.")?;
    }
    if !report.orphans.is_empty() {
        let books = count(report.orphans.len(), "lorebook");
        let are = if report.orphans.len() == 1 { "is" } else { "are" };
        writeln!(out, "{NOTE}{books}{NOTE:#} made by a memory extension {are} left that nothing refers to:")?;
        names(&mut out, &report.orphans)?;
        writeln!(out, "  {DIM}Move such lorebooks to the trash, too, with: forklore gc --orphans{DIM:#}")?;
    }
    Ok(())
}

fn names(out: &mut impl io::Write, names: &[String]) -> io::Result<()> {
    names.iter().try_for_each(|name| writeln!(out, "  {}", tame(name)))
}
