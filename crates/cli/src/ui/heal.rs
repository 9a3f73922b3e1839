//! What was healed, and what is asked before.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use forklore_core::check::{Code, Severity};
use forklore_engine::heal::{Choice, HealReport, Question};

use super::style::{BOLD, DIM, GOOD, NOTE, WARN, tame, wrap};
use super::words::count;

/// Tells what was done, or would be, chat by chat.
pub(crate) fn healed(report: &HealReport, dry_run: bool) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let mut chats: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for action in &report.actions {
        chats.entry(&action.chat).or_default().push(action);
    }
    for (chat, actions) in &chats {
        writeln!(out, "{BOLD}{}{BOLD:#}", tame(chat))?;
        let mut told: Vec<&str> = Vec::new();
        for action in actions {
            if !told.contains(&action.did.as_str()) {
                told.push(&action.did);
                writeln!(out, "  {GOOD}+{GOOD:#} {}", wrap(&action.did, "    ").trim_start())?;
            }
        }
        let aside: Vec<String> = report
            .quarantined
            .iter()
            .filter(|one| one.chat == **chat)
            .map(|one| tame(&one.comment))
            .collect();
        if !aside.is_empty() {
            let stay = if aside.len() == 1 { "stays where it is" } else { "stay where they are" };
            let text = format!(
                "{} that nobody can attribute {stay}, with a copy in this chat's record: {}",
                count(aside.len(), "entry"),
                aside.join(", ")
            );
            writeln!(out, "  {NOTE}~{NOTE:#} {}", wrap(&text, "    ").trim_start())?;
        }
    }
    let errors = report.left.iter().filter(|f| f.severity == Severity::Error).count();
    let warnings = report.left.iter().filter(|f| f.severity == Severity::Warning).count();
    let done = if dry_run { "Would heal" } else { "Healed" };
    if chats.is_empty() && errors > 0 {
        writeln!(out, "{WARN}Nothing was healed.{WARN:#}")?;
    } else if chats.is_empty() {
        writeln!(out, "{GOOD}Nothing to heal.{GOOD:#}")?;
    } else {
        writeln!(out, "\n{GOOD}{done} {}.{GOOD:#}", count(chats.len(), "chat"))?;
    }
    if errors + warnings > 0 {
        let left = [(errors, "error"), (warnings, "warning")];
        let left: Vec<String> =
            left.iter().filter(|(n, _)| *n > 0).map(|(n, what)| count(*n, what)).collect();
        let text = format!("{} left: `forklore check` explains.", left.join(" and "));
        writeln!(out, "{WARN}{text}{WARN:#}")?;
        let anothers = [Code::EntryFromFuture, Code::EntryForeign];
        if report.left.iter().any(|f| f.severity == Severity::Error && anothers.contains(&f.code)) {
            let text = "A chat whose own lorebook holds another line's story is bound to a new one only if you say so: \
                        heal it with --yes.";
            writeln!(out, "{DIM}{}{DIM:#}", wrap(text, ""))?;
        }
    }
    if let Some(operation) = &report.operation {
        writeln!(out, "{DIM}Reload SillyTavern's page. Take it back with: forklore undo {operation}{DIM:#}")?;
    }
    Ok(())
}

/// Asks what becomes of a book.
pub(crate) fn question(question: &Question) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{BOLD}{}{BOLD:#}", tame(&question.chat))?;
    writeln!(out, "{}", wrap(&question.text, "  "))?;
    let more = if question.ask_first { " (it leaves the one it has; nothing is deleted)" } else { "" };
    let own = question.copies_its_own();
    let choices = question.choices.iter().map(|choice| match choice {
        Choice::Follow => ("f", "ollow: the same lorebook under its new name".to_owned()),
        Choice::Rebuild => ("r", format!("ebuild: a lorebook with what its own line has earned{more}")),
        Choice::Empty => ("e", "mpty: a new lorebook without entries".to_owned()),
        Choice::Copy if own => ("c", "opy: its lorebook as it is now, for this chat alone".to_owned()),
        Choice::Copy => ("c", "opy: the parent's lorebook as it is now".to_owned()),
        Choice::Detach => ("d", "etach: no lorebook".to_owned()),
        Choice::Accept => ("a", "ccept: leave it, and say no more about it".to_owned()),
    });
    for (key, rest) in choices.chain([("n", "othing now".to_owned())]) {
        writeln!(out, "  {NOTE}{key}{NOTE:#}{rest}")?;
    }
    let first = match question.choices.first() {
        Some(Choice::Follow) => "follow",
        Some(Choice::Copy) => "copy",
        _ => "rebuild",
    };
    write!(out, "  [{first}] ")?;
    out.flush()
}
