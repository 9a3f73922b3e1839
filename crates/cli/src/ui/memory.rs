//! What is remembered, and what it costs.

use std::io::{self, IsTerminal as _, Write as _};

use forklore_api::memory::RunReport;
use forklore_engine::memory::{MemoryStatus, SceneStatus, WhyReport};

use super::parts;
use super::style::{BOLD, DIM, GOOD, WARN};
use super::style::{tame, wrap};
use super::words::count;

/// How memory stands.
pub(crate) fn memory_status(status: &MemoryStatus) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let word = if status.on { "on" } else { "off" };
    writeln!(out, "{BOLD}{}{BOLD:#}  {DIM}memory is {word}{DIM:#}", tame(&status.chat))?;
    for scene in &status.scenes {
        draw_scene(&mut out, scene)?;
    }
    let open = status.messages.saturating_sub(status.open_from);
    if open > 0 {
        let said = if status.scenes.is_empty() { "no scene is found yet" } else { "since then" };
        writeln!(out, "  {DIM}{}, {said}{DIM:#}", count(open, "message"))?;
    }
    cost(&mut out, status)?;
    for why in &status.parked {
        parts::warning(&mut out, &tame(&format!("A question had no reply that can be used: {why}")))?;
    }
    Ok(())
}

/// It was turned on or off, or would be.
pub(crate) fn memory_switched(status: &MemoryStatus, dry_run: bool) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let (is, word) = (if dry_run { "would be" } else { "is" }, if status.on { "on" } else { "off" });
    writeln!(out, "{GOOD}Memory {is} {word}{GOOD:#} for {BOLD}{}{BOLD:#}", tame(&status.chat))?;
    if !status.on {
        return writeln!(out, "  {DIM}What was written stays.{DIM:#}");
    }
    cost(&mut out, status)?;
    writeln!(out, "  {DIM}Nothing is asked before you run{DIM:#} forklore memory run")
}

/// What would be asked, and what was paid.
fn cost(out: &mut impl io::Write, status: &MemoryStatus) -> io::Result<()> {
    if status.questions == 0 {
        writeln!(out, "  {GOOD}Nothing is to be asked.{GOOD:#} {}", count(status.entries, "entry"))?;
    } else {
        let (read, written) = (thousands(status.tokens_in as u64), thousands(status.tokens_out as u64));
        let asked = format!("{} to be asked now, more may follow", count(status.questions, "question"));
        writeln!(out, "  {asked}\n  about {read} tokens to be read, {written} to be written")?;
    }
    if status.paid != (0, 0) {
        let (read, written) = (thousands(status.paid.0), thousands(status.paid.1));
        writeln!(out, "  {DIM}until now: {read} tokens read, {written} written{DIM:#}")?;
    }
    Ok(())
}

fn draw_scene(out: &mut impl io::Write, scene: &SceneStatus) -> io::Result<()> {
    let range = format!("{}-{}", scene.first, scene.last);
    let title = scene.title.as_deref().map_or_else(String::new, tame);
    match scene.state {
        "ready" => writeln!(out, "  {GOOD}\u{2713}{GOOD:#} {range:>11}  {title}"),
        "stale" => writeln!(out, "  {WARN}~{WARN:#} {range:>11}  {DIM}something in it was changed{DIM:#}"),
        _ => writeln!(out, "  {DIM}\u{b7} {range:>11}  waiting{DIM:#}"),
    }
}

/// While it is asked. One line that is written over, where somebody watches.
pub(crate) fn remembering(status: &MemoryStatus, asked: usize) {
    let mut err = anstream::stderr().lock();
    if !io::stderr().is_terminal() {
        return;
    }
    let share = (status.open_from * 100).checked_div(status.messages.max(1)).unwrap_or(0);
    // Whoever cannot be told goes without.
    let _told = write!(
        err,
        "\r\u{1b}[2K  {} asked, {} found, message {} of {} ({share} %)",
        count(asked, "question"),
        count(status.scenes.len(), "scene"),
        status.open_from,
        status.messages
    );
    let _flushed = err.flush();
}

/// What came of asking.
pub(crate) fn remembered(report: &RunReport) -> io::Result<()> {
    if io::stderr().is_terminal() {
        write!(anstream::stderr().lock(), "\r\u{1b}[2K")?;
    }
    memory_status(&report.status)?;
    let mut out = anstream::stdout().lock();
    let (read, written) = (thousands(report.tokens_in), thousands(report.tokens_out));
    writeln!(out, "  {} asked: {read} tokens read, {written} written", count(report.asked, "question"))?;
    if let Some(why) = report.stopped.as_deref().map(|why| why.trim_end_matches('.')) {
        parts::warning(
            &mut out,
            &tame(&format!("Not done: {why}. Run it again to go on; nothing is asked twice.")),
        )?;
    }
    parts::take_back(&mut out, report.operations.last().map(String::as_str))
}

/// What an entry rests on.
pub(crate) fn memory_why(report: &WhyReport) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{BOLD}{}{BOLD:#}", tame(&report.title))?;
    if !report.aliases.is_empty() {
        writeln!(out, "  {DIM}also{DIM:#} {}", tame(&report.aliases.join(", ")))?;
    }
    for line in &report.lines {
        writeln!(out, "  {}", wrap(&tame(&line.text), "  "))?;
        let scenes = line.scenes.iter().map(|scene| {
            format!(
                "{} (messages {}-{})",
                tame(scene.title.as_deref().unwrap_or("a scene")),
                scene.first,
                scene.last
            )
        });
        let from = match line.from {
            "hand" => "written by you".to_owned(),
            "elsewhere" => "learnt in another line of the story".to_owned(),
            "shortened" => format!("made shorter from {}", scenes.collect::<Vec<_>>().join(", ")),
            _ => scenes.collect::<Vec<_>>().join(", "),
        };
        writeln!(out, "      {DIM}{from}{DIM:#}")?;
    }
    Ok(())
}

/// A number that can be read.
fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut told = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            told.push(',');
        }
        told.push(digit);
    }
    told
}
