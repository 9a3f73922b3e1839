//! Recaps, values, effects and work that differ.

use std::io;

use forklore_core::diff::TextDiff;
use forklore_engine::diff::{DiffEffect, DiffReport, DiffRunning, DiffValue, DiffVersion};
use forklore_engine::show::ShowCombined;

use super::short::short_value;
use super::text::hunks;
use crate::ui::style::{BOLD, DIM, GONE, NEW, WARN, tame};
use crate::ui::words::count;

pub(super) fn running(
    out: &mut impl io::Write,
    recap: &DiffRunning,
    full: bool,
    same: &mut Vec<&'static str>,
) -> io::Result<()> {
    if recap.is_empty() {
        same.push("running recap");
        return Ok(());
    }
    let version = |version: Option<i64>| version.map_or("none".to_owned(), |n| n.to_string());
    let in_use = match (recap.before, recap.after) {
        (a, b) if a == b => format!("version {} in use in both", version(a)),
        (a, b) => format!("version {} → {}", version(a), version(b)),
    };
    writeln!(out, "\n{BOLD}Running recap{BOLD:#}  {in_use}")?;
    let list = |versions: &[DiffVersion]| {
        let one = |v: &DiffVersion| format!("{} (scene at {})", v.version, v.new_scene_index);
        versions.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    if !recap.added.is_empty() {
        writeln!(out, "  {NEW}+{NEW:#} {DIM}versions{DIM:#} {}", list(&recap.added))?;
    }
    if !recap.removed.is_empty() {
        writeln!(out, "  {GONE}-{GONE:#} {DIM}versions{DIM:#} {}", list(&recap.removed))?;
    }
    for change in &recap.changed {
        writeln!(
            out,
            "  {WARN}~{WARN:#} {DIM}version{DIM:#} {} {DIM}is another one: scene at {} → {}{DIM:#}",
            change.after.version, change.before.new_scene_index, change.after.new_scene_index
        )?;
    }
    hunks(out, &recap.text, "  ", full)
}

pub(super) fn combined(out: &mut impl io::Write, report: &DiffReport, full: bool) -> io::Result<()> {
    let Some(combined) = &report.combined_recap else { return Ok(()) };
    let of = |recap: &Option<ShowCombined>| {
        recap.as_ref().map_or("none".to_owned(), |recap| {
            format!("of {}", count(usize::try_from(recap.message_count).unwrap_or(0), "message"))
        })
    };
    writeln!(out, "\n{BOLD}Combined recap{BOLD:#}  {} → {}", of(&combined.before), of(&combined.after))?;
    hunks(out, &combined.text, "  ", full)
}

pub(super) fn value(out: &mut impl io::Write, change: &DiffValue, full: bool) -> io::Result<()> {
    let name = tame(&change.path.join("."));
    let long = |text: &TextDiff| text.hunks.iter().map(|hunk| hunk.lines.len()).sum::<usize>() > 2;
    match (&change.before, &change.after, &change.text) {
        (Some(_), Some(_), Some(text)) if full || long(text) => {
            writeln!(out, "  {WARN}~{WARN:#} {name}")?;
            hunks(out, text, "    ", full)
        }
        (Some(before), Some(after), _) => {
            let (before, after) = (short_value(before.get(), full), short_value(after.get(), full));
            writeln!(out, "  {WARN}~{WARN:#} {name}  {GONE}{before}{GONE:#} → {NEW}{after}{NEW:#}")
        }
        (None, Some(after), _) => {
            writeln!(out, "  {NEW}+{NEW:#} {name}  {NEW}{}{NEW:#}", short_value(after.get(), full))
        }
        (before, None, _) => {
            let before = before.as_ref().map_or(String::new(), |value| short_value(value.get(), full));
            writeln!(out, "  {GONE}-{GONE:#} {name}  {GONE}{before}{GONE:#}")
        }
    }
}

pub(super) fn timed(
    out: &mut impl io::Write,
    report: &DiffReport,
    same: &mut Vec<&'static str>,
) -> io::Result<()> {
    let timed = &report.timed_effects;
    if timed.added.is_empty() && timed.removed.is_empty() && timed.changed.is_empty() {
        same.push("sticky effects");
        return Ok(());
    }
    writeln!(
        out,
        "\n{BOLD}Sticky and cooldown{BOLD:#}  {DIM}counted in messages that are not hidden{DIM:#}"
    )?;
    let what = |effect: &DiffEffect| {
        let uid = effect.effect.uid.map(|uid| uid.to_string()).unwrap_or_default();
        let name = match (&effect.comment, &effect.effect.book) {
            (Some(comment), _) => tame(comment),
            (None, Some(book)) => format!("{} in {}", uid, tame(book)),
            (None, None) => format!("entry {uid}"),
        };
        format!("{} {DIM}{}{DIM:#}", name, tame(&effect.effect.kind))
    };
    let span = |effect: &DiffEffect| {
        let number = |n: Option<i64>| n.map_or("?".to_owned(), |n| n.to_string());
        format!("{} to {}", number(effect.effect.start), number(effect.effect.end))
    };
    for effect in &timed.added {
        writeln!(out, "  {NEW}+{NEW:#} {}  {}", what(effect), span(effect))?;
    }
    for effect in &timed.removed {
        writeln!(out, "  {GONE}-{GONE:#} {}  {}", what(effect), span(effect))?;
    }
    for change in &timed.changed {
        let (before, after) = (span(&change.before), span(&change.after));
        writeln!(
            out,
            "  {WARN}~{WARN:#} {}  {GONE}{before}{GONE:#} → {NEW}{after}{NEW:#}",
            what(&change.after)
        )?;
    }
    Ok(())
}

pub(super) fn queue(
    out: &mut impl io::Write,
    report: &DiffReport,
    same: &mut Vec<&'static str>,
) -> io::Result<()> {
    let queue = &report.queue;
    if queue.added.is_empty() && queue.removed.is_empty() && queue.changed.is_empty() {
        same.push("queue");
        return Ok(());
    }
    writeln!(out, "\n{BOLD}Queue{BOLD:#}")?;
    for op in &queue.added {
        writeln!(out, "  {NEW}+{NEW:#} {}  {DIM}{}{DIM:#}", tame(&op.kind), tame(&op.status))?;
    }
    for op in &queue.removed {
        writeln!(out, "  {GONE}-{GONE:#} {}  {DIM}{}{DIM:#}", tame(&op.kind), tame(&op.status))?;
    }
    for change in &queue.changed {
        let (before, after) = (tame(&change.before.status), tame(&change.after.status));
        writeln!(
            out,
            "  {WARN}~{WARN:#} {}  {GONE}{before}{GONE:#} → {NEW}{after}{NEW:#}",
            tame(&change.after.kind)
        )?;
    }
    Ok(())
}
