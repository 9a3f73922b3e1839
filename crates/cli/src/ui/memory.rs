//! What is remembered, and what it costs.

use std::io::{self, IsTerminal as _, Write as _};

use forklore_api::memory::{Bill, BillLine, DecisionReport, PromptsReport, RunReport};
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
    if !status.proposals.is_empty() {
        writeln!(out, "  {BOLD}{} for you to approve{BOLD:#}", count(status.proposals.len(), "entry"))?;
    }
    for proposal in &status.proposals {
        let new = if proposal.before.is_some() { "" } else { " (new)" };
        writeln!(out, "    {}{DIM}{new}{DIM:#}", tame(&proposal.title))?;
        let before: Vec<&str> = proposal.before.as_deref().unwrap_or_default().lines().collect();
        for line in proposal.text.lines().filter(|line| !before.contains(line)) {
            writeln!(out, "      {GOOD}+{GOOD:#} {}", wrap(&tame(line), "        "))?;
        }
    }
    Ok(())
}

/// Something was decided.
pub(crate) fn memory_decided(report: &DecisionReport) -> io::Result<()> {
    memory_status(&report.status)?;
    let mut out = anstream::stdout().lock();
    parts::take_back(&mut out, report.operations.last().map(String::as_str))
}

/// What it has cost.
pub(crate) fn memory_bill(bill: &Bill) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    if bill.all.questions == 0 {
        return writeln!(out, "Nothing was asked yet.");
    }
    writeln!(
        out,
        "{BOLD}{:<24}{:>10}{:>14}{:>14}{:>12}{BOLD:#}",
        "", "questions", "read", "written", "price"
    )?;
    bill.days.iter().try_for_each(|day| bill_line(&mut out, day, &day.of))?;
    writeln!(out)?;
    bill.stories.iter().try_for_each(|story| bill_line(&mut out, story, &story.of))?;
    writeln!(out)?;
    bill_line(&mut out, &bill.all, "all")?;
    if bill.daily_tokens > 0 {
        let (used, most) = (thousands(bill.today), thousands(bill.daily_tokens.into()));
        writeln!(out, "{DIM}today {used} of {most} tokens{DIM:#}")?;
    }
    Ok(())
}

fn bill_line(out: &mut impl io::Write, line: &BillLine, of: &str) -> io::Result<()> {
    let (read, written) = (thousands(line.tokens_in), thousands(line.tokens_out));
    let of: String = tame(of).chars().take(23).collect();
    let price = priced(line.price);
    writeln!(out, "{of:<24}{:>10}{read:>14}{written:>14}{price:>12}", line.questions)
}

/// In which words it is asked.
pub(crate) fn memory_prompts(report: &PromptsReport, kind: Option<&str>) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    if let Some(kind) = kind {
        let mut found = report.prompts.iter().filter(|prompt| prompt.kind == kind);
        return found.try_for_each(|prompt| write!(out, "{}", prompt.text));
    }
    for prompt in &report.prompts {
        let whose = if prompt.built_in { "Forklore's own" } else { "yours" };
        writeln!(out, "{BOLD}{:<12}{BOLD:#}{whose:<16}{DIM}{}{DIM:#}", prompt.kind, tame(&prompt.file))?;
    }
    writeln!(
        out,
        "\nTo ask in your own words, put them into that file in the vault:\n  forklore memory prompts facts > facts.md"
    )
}

/// An amount of money, as far as it is of interest.
fn priced(price: f64) -> String {
    if price == 0.0 { "-".to_owned() } else { format!("{price:.4}") }
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
        let price = if status.price == 0.0 { String::new() } else { format!(": {}", priced(status.price)) };
        writeln!(out, "  {asked}\n  about {read} tokens to be read, {written} to be written{price}")?;
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
