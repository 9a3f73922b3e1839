//! Where a lorebook comes from, entry by entry; or one entry, field by field and line by line.

use std::io::{self, Write as _};

use forklore_core::state::Cause;
use forklore_engine::blame::{BlameEntry, BlameReport, Stamp};

use super::parts::headline;
use super::style::{DIM, GOOD, NOTE, cut, pad, tame, width};
use super::words::{count, when};

/// Width of the column with what made a change.
const CAUSE: usize = 22;

/// Prints the lines.
pub(crate) fn blame(report: &BlameReport) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(
        out,
        "{}  {DIM}the lorebook of {} at message {}{DIM:#}",
        headline(&tame(&report.book)),
        tame(&report.chat),
        report.at
    )?;
    if let [one] = &report.entries[..]
        && one.fields.is_some()
    {
        return entry(&mut out, one);
    }
    writeln!(out, "{DIM}{}; times are UTC{DIM:#}\n", count(report.entries.len(), "entry"))?;
    for one in &report.entries {
        let uid = one.uid.map(|uid| uid.to_string()).unwrap_or_default();
        let title = cut(&one.comment, width().saturating_sub(58));
        writeln!(out, "{}  {DIM}{uid:>6}{DIM:#}  {GOOD}{title}{GOOD:#}", stamp(&one.last))?;
    }
    Ok(())
}

fn entry(out: &mut impl io::Write, one: &BlameEntry) -> io::Result<()> {
    let uid = one.uid.map(|uid| format!(" {DIM}{uid}{DIM:#}")).unwrap_or_default();
    writeln!(out, "{GOOD}{}{GOOD:#}{uid}\n", tame(&one.comment))?;
    if let Some(from) = &one.from {
        writeln!(out, "{}  written in {}, and brought along\n", stamp(&from.last), tame(&from.chat))?;
    }
    for field in one.fields.iter().flatten() {
        writeln!(out, "{}  {}", stamp(&field.stamp), tame(&field.field))?;
    }
    let lines = one.lines.iter().flatten();
    writeln!(out, "\n{DIM}content{DIM:#}")?;
    for line in lines {
        writeln!(out, "{}  {}", stamp(&line.stamp), tame(&line.text))?;
    }
    Ok(())
}

/// Message, time and cause, in columns.
fn stamp(stamp: &Stamp) -> String {
    let message = match (stamp.message, stamp.after) {
        (Some(message), _) => message.to_string(),
        (None, Some(after)) => format!(">{after}"),
        (None, None) => "?".to_owned(),
    };
    let at = stamp.at.as_deref().map(when).unwrap_or_default();
    let cause = match (stamp.cause, &stamp.scene) {
        (Cause::Scene, Some(scene)) => format!("scene {scene}"),
        (Cause::Scene, None) => "scene".to_owned(),
        (Cause::Memory, _) => "memory".to_owned(),
        (Cause::Hand, _) => "by hand".to_owned(),
        (Cause::Seen, _) if stamp.at.is_none() => "not recorded yet".to_owned(),
        (Cause::Seen, _) => "first seen".to_owned(),
    };
    format!("{NOTE}{message:>6}{NOTE:#}  {DIM}{}  {}{DIM:#}", pad(&at, 16), pad(&cut(&cause, CAUSE), CAUSE))
}
