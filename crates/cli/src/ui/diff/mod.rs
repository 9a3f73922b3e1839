//! What differs between two states, as a page to read.

mod book;
mod header;
mod registries;
mod rest;
mod short;
mod text;

use std::io::{self, Write as _};

use forklore_engine::diff::DiffReport;

use self::book::book;
use self::header::header;
use self::registries::registries;
use self::rest::{combined, queue, running, timed, value};
use super::parts::warning;
use super::style::{BOLD, DIM, tame, wrap};

/// Prints the page. `full` shows whole texts, and what probably means nothing, too.
pub(crate) fn diff(report: &DiffReport, full: bool) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    header(&mut out, report, full)?;
    let mut same = Vec::new();
    book(&mut out, report, full, &mut same)?;
    registries(&mut out, &report.registries, full)?;
    running(&mut out, &report.running_recap, full, &mut same)?;
    combined(&mut out, report, full)?;
    let sections = [
        ("Variables", "variables", &report.variables),
        ("Author's note", "author's note", &report.note),
        ("Other metadata", "other metadata", &report.metadata),
    ];
    for (title, name, list) in sections {
        if list.is_empty() {
            same.push(name);
            continue;
        }
        writeln!(out, "\n{BOLD}{title}{BOLD:#}")?;
        list.iter().try_for_each(|change| value(&mut out, change, full))?;
    }
    timed(&mut out, report, &mut same)?;
    queue(&mut out, report, &mut same)?;
    if !same.is_empty() {
        let text = match report.is_state_same() {
            true => "Nothing else differs.".to_owned(),
            false => format!("The same: {}", same.join(", ")),
        };
        writeln!(out, "\n{DIM}{}{DIM:#}", wrap(&text, ""))?;
    }
    doubts(&mut out, report)
}

/// What is not as exact as it could be.
fn doubts(out: &mut impl io::Write, report: &DiffReport) -> io::Result<()> {
    let mut texts: Vec<String> = Vec::new();
    for (name, side) in [("A", &report.a), ("B", &report.b)] {
        texts.extend(side.warnings.iter().map(|warning| format!("{name}: {}", warning.message)));
    }
    // What nothing tells is often the same of both.
    let (a, b) = (&report.a.notes, &report.b.notes);
    let sides = if a == b { vec![("A and B", a)] } else { vec![("A", a), ("B", b)] };
    for (name, notes) in sides {
        texts.extend(notes.iter().map(|note| format!("{name}: {note}")));
    }
    if !texts.is_empty() {
        writeln!(out)?;
    }
    texts.iter().try_for_each(|text| warning(out, &tame(text)))
}
