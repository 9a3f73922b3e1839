//! How large history is, and what of it goes.

use std::io::{self, Write as _};

use forklore_engine::retention::{ForgetReport, PruneReport};

use super::parts::headline;
use super::style::{BOLD, DIM, GOOD, pad, tame};
use super::words::{count, size};

/// Tells what was forgotten, or would be.
pub(crate) fn forgotten(report: &ForgetReport, dry_run: bool) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    if report.saves == 0 {
        return writeln!(out, "There is no history yet. `forklore watch` begins it.");
    }
    writeln!(
        out,
        "{}  {DIM}{}, {}{DIM:#}\n",
        headline("History"),
        count(report.saves, "save"),
        size(report.bytes)
    )?;
    let name = |name: &str| if name.is_empty() { "books of no story".to_owned() } else { tame(name) };
    let width =
        report.stories.iter().map(|story| name(&story.name).chars().count()).max().unwrap_or(0).min(40);
    for story in &report.stories {
        let files = format!("{}, {}", count(story.files, "file"), count(story.saves, "save"));
        writeln!(
            out,
            "  {}  {}  {DIM}{files}{DIM:#}",
            pad(&name(&story.name), width),
            pad(&size(story.bytes), 9)
        )?;
    }
    let rules = report.rules;
    writeln!(
        out,
        "\n{DIM}Kept whole: the last {} of each file, one a day for {}, one a week for {}, and what forks were made from.{DIM:#}",
        count(rules.last, "save"),
        count(rules.daily, "day"),
        count(rules.weekly, "week")
    )?;
    match (report.forgotten, dry_run) {
        (0, _) => writeln!(out, "All {BOLD}{}{BOLD:#} contents are kept by these rules.", report.kept),
        (n, true) => writeln!(out, "Would forget {BOLD}{n}{BOLD:#} contents and keep {}.", report.kept),
        (n, false) => writeln!(
            out,
            "{GOOD}Forgot{GOOD:#} {BOLD}{n}{BOLD:#} contents and kept {}. `forklore prune` frees their space.",
            report.kept
        ),
    }
}

/// Tells what was freed.
pub(crate) fn pruned(report: &PruneReport, dry_run: bool) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    if dry_run {
        return writeln!(
            out,
            "History takes {}. Without --dry-run, what nothing needs is removed from it.",
            size(report.before)
        );
    }
    match report.before.saturating_sub(report.after) {
        0 => writeln!(out, "Nothing to free: history takes {}.", size(report.after)),
        freed => writeln!(
            out,
            "{GOOD}Freed{GOOD:#} {BOLD}{}{BOLD:#}: history takes {} now.",
            size(freed),
            size(report.after)
        ),
    }
}
