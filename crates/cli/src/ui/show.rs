//! The state at a message, as a page to read.

use std::io::{self, Write as _};

use forklore_core::adapter::EntryRole;
use forklore_engine::show::{ShowBook, ShowEntry, ShowReport};

use super::parts::headline;
use super::style::{BOLD, DIM, GOOD, NOTE, WARN, cut, tame, width, wrap};
use super::words::count;

/// How much of a text is shown unless all of it is asked for.
const EXCERPT_LINES: usize = 4;

/// Prints the page. `full` shows whole texts and the registries, too.
pub(crate) fn show(report: &ShowReport, full: bool) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let last = report.messages - 1;
    let place = if report.at == last { "its last message".to_owned() } else { format!("of 0 to {last}") };
    writeln!(out, "{}", headline(&tame(&report.chat)))?;
    writeln!(
        out,
        "at message {BOLD}{}{BOLD:#}, {place}  {DIM}moment {}{DIM:#}",
        report.at,
        &report.moment[..12]
    )?;
    writeln!(out)?;
    writeln!(out, "{NOTE}{}{NOTE:#}", tame(&report.speaker))?;
    writeln!(out, "{}", excerpt(&report.text, full, "  "))?;
    scene(&mut out, report, full)?;
    book(&mut out, &report.book, full)?;
    recap(&mut out, report, full)?;
    for note in &report.notes {
        writeln!(out, "\n{DIM}{}{DIM:#}", wrap(&tame(note), "  "))?;
    }
    for warning in &report.warnings {
        writeln!(
            out,
            "\n{WARN}!{WARN:#}{}",
            wrap(&warning.message, "  ").trim_start_matches(' ').replacen("", " ", 1)
        )?;
    }
    Ok(())
}

fn scene(out: &mut impl io::Write, report: &ShowReport, full: bool) -> io::Result<()> {
    let Some(scene) = &report.scene else {
        return writeln!(out, "\n{BOLD}Scene{BOLD:#}  {DIM}none is finished yet{DIM:#}");
    };
    let name = scene.name.as_deref().map_or_else(String::new, |name| format!("\"{}\", ", tame(name)));
    let since = match report.at - scene.message {
        0 => "ends here".to_owned(),
        n => format!("ended {} ago, at {}", count(n, "message"), scene.message),
    };
    writeln!(out, "\n{BOLD}Scene{BOLD:#}  {name}{DIM}{since}{DIM:#}")?;
    match &scene.recap {
        Some(text) if !text.is_empty() => writeln!(out, "{}", excerpt(text, full, "  ")),
        _ => Ok(()),
    }
}

fn book(out: &mut impl io::Write, book: &ShowBook, full: bool) -> io::Result<()> {
    let Some(name) = &book.name else {
        return writeln!(out, "\n{BOLD}Lorebook{BOLD:#}  {DIM}none is bound to this chat{DIM:#}");
    };
    let facts: Vec<&ShowEntry> = book.entries.iter().filter(|e| e.role == EntryRole::Fact).collect();
    let others = book.entries.len() - facts.len();
    let source = match (book.source.kind, book.source.message) {
        ("head", _) => "the book as it is".to_owned(),
        ("scene", Some(m)) => format!("as it was at message {m}"),
        ("scene", None) => "before the first scene".to_owned(),
        ("degraded", Some(first)) => {
            let had = count(first + 1, "message");
            format!("as Forklore first saw it, when the chat had {had}; nothing tells how it was")
        }
        ("degraded", _) => "as it is now; nothing tells how it was".to_owned(),
        (kind, _) => kind.to_owned(),
    };
    writeln!(out, "\n{BOLD}Lorebook{BOLD:#}  {}", tame(name))?;
    let registries = if others > 0 { format!(" and {}", count(others, "registry")) } else { String::new() };
    writeln!(out, "  {}{registries}, {source}", count(facts.len(), "entry"))?;
    for entry in book.entries.iter().filter(|e| full || e.role == EntryRole::Fact) {
        let origin = match (entry.source, entry.message) {
            ("undated", _) => format!("  {WARN}undated{WARN:#}"),
            (_, Some(m)) => format!("  {DIM}from {m}{DIM:#}"),
            _ => String::new(),
        };
        let off = if entry.is_disabled() && entry.role == EntryRole::Fact {
            format!("  {WARN}(off){WARN:#}")
        } else {
            String::new()
        };
        let uid = entry.uid().map(|uid| format!("{DIM}{uid:>4}{DIM:#}")).unwrap_or_default();
        writeln!(out, "\n{uid}  {GOOD}{}{GOOD:#}{off}{origin}", cut(entry.comment(), width() - 24))?;
        if !entry.content().is_empty() {
            writeln!(out, "{}", excerpt(&entry.content(), full, "      "))?;
        }
    }
    if !book.left_out.is_empty() {
        writeln!(out, "\n{BOLD}Left out{BOLD:#}  {DIM}what is known and does not belong here{DIM:#}")?;
        for left in &book.left_out {
            let part =
                if left.lines > 0 { format!("{} of ", count(left.lines, "line")) } else { String::new() };
            writeln!(
                out,
                "  {WARN}−{WARN:#} {part}{}  {DIM}{}{DIM:#}",
                tame(&left.comment),
                tame(&left.why)
            )?;
        }
    }
    Ok(())
}

fn recap(out: &mut impl io::Write, report: &ShowReport, full: bool) -> io::Result<()> {
    let recap = &report.running_recap;
    let dropped = match recap.dropped {
        0 => String::new(),
        n => format!(", {n} of later messages or another line left out"),
    };
    match recap.current_version {
        Some(version) => {
            let kept = count(recap.versions.len(), "version");
            writeln!(
                out,
                "\n{BOLD}Running recap{BOLD:#}  version {version} {DIM}({kept} here{dropped}){DIM:#}"
            )?;
        }
        None => writeln!(out, "\n{BOLD}Running recap{BOLD:#}  {DIM}none yet{dropped}{DIM:#}")?,
    }
    if let Some(text) = &recap.content {
        writeln!(out, "{}", if full { wrap(text, "  ") } else { excerpt_of(text, 14, "  ") })?;
    }
    if let Some(combined) = &report.combined_recap {
        writeln!(
            out,
            "\n{BOLD}Combined recap{BOLD:#}  {DIM}of {}{DIM:#}",
            count(usize::try_from(combined.message_count).unwrap_or(0), "message")
        )?;
        writeln!(out, "{}", excerpt(&combined.content, full, "  "))?;
    }
    if report.queue.idle {
        writeln!(out, "\n{BOLD}Queue{BOLD:#}  {DIM}idle{DIM:#}")
    } else {
        let open = report.queue.operations.iter().filter(|op| op.is_open()).count();
        writeln!(out, "\n{BOLD}Queue{BOLD:#}  {WARN}{} to do{WARN:#}", count(open, "operation"))?;
        for operation in &report.queue.operations {
            writeln!(out, "  {} {DIM}{}{DIM:#}", tame(&operation.kind), tame(&operation.status))?;
        }
        Ok(())
    }
}

fn excerpt(text: &str, full: bool, indent: &str) -> String {
    if full { wrap(text, indent) } else { excerpt_of(text, EXCERPT_LINES, indent) }
}

fn excerpt_of(text: &str, most: usize, indent: &str) -> String {
    let whole = wrap(text.trim(), indent);
    let lines: Vec<&str> = whole.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.len() <= most {
        return lines.join("\n");
    }
    let more = count(lines.len() - most, "more line");
    format!("{}\n{indent}{DIM}… {more}{DIM:#}", lines[..most].join("\n"))
}
