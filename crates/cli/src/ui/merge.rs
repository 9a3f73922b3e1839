//! What was brought along from another branch, and what the two do not agree on.

use std::io::{self, Write as _};

use forklore_engine::history::Did;
use forklore_engine::merge::OpenConflict;
use forklore_engine::merge::adopt::AdoptReport;
use forklore_engine::merge::append::AppendReport;
use forklore_engine::merge::learn::LearnReport;
use forklore_engine::merge::pick::PickReport;
use forklore_engine::merge::resolve::ResolveReport;

use super::parts;
use super::style::{BOLD, DIM, GONE, GOOD, NEW, NOTE, cut_middle, tame, width, wrap};
use super::words::count;

/// How many entries are listed.
const LISTED: usize = 20;

/// Tells what was brought along, or would be.
pub(crate) fn learnt(report: &LearnReport) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let from = tame(base_name(&report.from));
    let Some(chat) = &report.chat else {
        let text = format!(
            "\"{from}\" has learnt nothing that \"{}\" does not know.",
            tame(base_name(&report.parent))
        );
        writeln!(out, "{}", wrap(&text, ""))?;
        left(&mut out, report)?;
        return warnings(&mut out, report);
    };
    let made = if report.operation.is_some() { "Made the branch" } else { "Would make the branch" };
    writeln!(out, "{GOOD}{made}{GOOD:#} {BOLD}{}{BOLD:#}", tame(chat))?;
    writeln!(out, "  {DIM}from{DIM:#}      {} at message {}", tame(&report.parent), report.at)?;
    let since = match (report.base.kind, report.base.message) {
        ("merged", Some(message)) => {
            format!("what is new since message {message}, when it was last brought along")
        }
        ("parted", Some(message)) => format!("what is new since the two parted at message {message}"),
        _ => "all of it: nothing tells what the two had in common".to_owned(),
    };
    writeln!(out, "  {DIM}along{DIM:#}     {} up to message {}", tame(&report.from), report.upto)?;
    writeln!(out, "            {since}")?;
    if let Some((name, entries)) =
        report.book.as_ref().and_then(|book| Some((book.name.as_ref()?, book.entries)))
    {
        writeln!(out, "  {DIM}lorebook{DIM:#}  {} ({})", tame(name), count(entries, "entry"))?;
    }
    for taken in report.taken.iter().take(LISTED) {
        let title = tame(&taken.title);
        match taken.did {
            Did::Added => writeln!(out, "  {NEW}+{NEW:#} {title}")?,
            Did::Removed => writeln!(out, "  {GONE}\u{2212}{GONE:#} {title}")?,
            Did::Changed => {
                let fields: Vec<&str> = taken.fields.iter().map(|field| word(field)).collect();
                writeln!(out, "  {NOTE}~{NOTE:#} {title}  {DIM}{}{DIM:#}", tame(&fields.join(", ")))?;
            }
        }
    }
    if report.taken.len() > LISTED {
        writeln!(out, "  {DIM}… and {} more{DIM:#}", count(report.taken.len() - LISTED, "entry"))?;
    }
    for scene in &report.scenes {
        writeln!(
            out,
            "  {NEW}+{NEW:#} {}  {DIM}scene, message {}{DIM:#}",
            tame(&scene.title),
            scene.message
        )?;
    }
    if !report.conflicts.is_empty() {
        let many = count(report.conflicts.len(), "question");
        let are = if report.conflicts.len() == 1 { "waits" } else { "wait" };
        writeln!(
            out,
            "  {NOTE}?{NOTE:#} {many} {are} for you; until then the lorebook says what {} says:",
            tame(base_name(&report.parent))
        )?;
        for conflict in report.conflicts.iter().take(LISTED) {
            writeln!(out, "    {DIM}{}{DIM:#}  {}", conflict.id, question(conflict))?;
        }
        if report.operation.is_some() {
            writeln!(out, "    {DIM}Answer with: forklore resolve \"{}\"{DIM:#}", tame(chat))?;
        }
    }
    left(&mut out, report)?;
    warnings(&mut out, report)?;
    for path in &report.pending {
        parts::warning(
            &mut out,
            &tame(&format!("{path} could not be changed: the link to the branch is not in it")),
        )?;
    }
    parts::take_back(&mut out, report.operation.as_deref())
}

fn warnings(out: &mut impl io::Write, report: &LearnReport) -> io::Result<()> {
    report.warnings.iter().try_for_each(|warning| parts::warning(out, &tame(&warning.typed())))
}

fn left(out: &mut impl io::Write, report: &LearnReport) -> io::Result<()> {
    for text in &report.left {
        writeln!(out, "  {DIM}{}{DIM:#}", wrap(&tame(text), "  ").trim_start())?;
    }
    Ok(())
}

/// What is open, and what was answered.
pub(crate) fn resolved(report: &ResolveReport) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let chat = tame(&report.chat);
    if !report.answered.is_empty() {
        let did = if report.operation.is_some() { "Answered" } else { "Would answer" };
        writeln!(
            out,
            "{GOOD}{did}{GOOD:#} {} in {BOLD}{chat}{BOLD:#}",
            count(report.answered.len(), "question")
        )?;
        for conflict in &report.answered {
            writeln!(out, "  {DIM}{}{DIM:#}  {}", conflict.id, question(conflict))?;
        }
        if let Some(book) = &report.book {
            writeln!(out, "  {DIM}lorebook{DIM:#}  {}", tame(book))?;
            if report.operation.is_some() {
                writeln!(
                    out,
                    "  {DIM}Reload SillyTavern's page: it still has the old lorebook in memory.{DIM:#}"
                )?;
            }
        }
        for path in &report.pending {
            parts::warning(&mut out, &tame(&format!("{path} could not be changed")))?;
        }
        if !report.open.is_empty() {
            writeln!(out, "  {} still open.", are(report.open.len()))?;
        }
        return parts::take_back(&mut out, report.operation.as_deref());
    }
    if report.open.is_empty() {
        return writeln!(out, "Nothing is open in {BOLD}{chat}{BOLD:#}.");
    }
    writeln!(out, "{BOLD}{chat}{BOLD:#}  {DIM}{} open{DIM:#}", are(report.open.len()))?;
    for conflict in &report.open {
        writeln!(out, "{NOTE}{}{NOTE:#}  {}", conflict.id, question(conflict))?;
        side(&mut out, "before", conflict.base.as_deref(), "not known")?;
        side(&mut out, "ours", conflict.ours.as_deref(), "deleted")?;
        side(&mut out, "theirs", conflict.theirs.as_deref(), "deleted")?;
    }
    let text = format!(
        "Theirs is \"{}\". Answer with: forklore resolve CHAT ID --keep ours, theirs or both, or --text \"…\"",
        report.from
    );
    writeln!(out, "{DIM}{}{DIM:#}", wrap(&tame(&text), ""))
}

/// Asks whether the chat may be bound to the new book.
pub(crate) fn ask_to_pick(report: &PickReport) -> io::Result<()> {
    ask_to_bind(&report.chat, report.book.as_deref())
}

/// Asks whether the chat may be bound to the new book.
pub(crate) fn ask_to_answer(report: &ResolveReport) -> io::Result<()> {
    ask_to_bind(&report.chat, report.book.as_deref())
}

fn ask_to_bind(chat: &str, book: Option<&str>) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let new = book.unwrap_or_default();
    let text = format!("\"{chat}\" gets the new lorebook \"{new}\"; the old one is not changed.");
    writeln!(out, "{}", wrap(&tame(&text), ""))?;
    write!(out, "  Go on? [y/N] ")?;
    out.flush()
}

/// What was taken over, or would be.
pub(crate) fn picked(report: &PickReport) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let did = if report.operation.is_some() { "Took over" } else { "Would take over" };
    let name = tame(&report.name);
    let what = match report.what {
        "entry" => format!("the entry \"{name}\""),
        "variable" => format!("the variable \"{name}\""),
        "note" => "the author's note".to_owned(),
        "recap" => format!("a running recap, as version {name}"),
        "queue" => format!("{name} that waited"),
        _ => "the combined recap".to_owned(),
    };
    writeln!(out, "{GOOD}{did}{GOOD:#} {what} into {BOLD}{}{BOLD:#}", tame(&report.chat))?;
    let seen = report.seen.as_ref().map(|seen| format!(", as it was at {seen}")).unwrap_or_default();
    writeln!(out, "  {DIM}from{DIM:#}      {} at message {}{seen}", tame(&report.from), report.at)?;
    if let Some(book) = &report.book {
        writeln!(out, "  {DIM}lorebook{DIM:#}  {}", tame(book))?;
    }
    if !report.fields.is_empty() {
        let fields: Vec<&str> = report.fields.iter().map(|field| word(field)).collect();
        writeln!(out, "  {DIM}changes{DIM:#}   {}", tame(&fields.join(", ")))?;
    }
    if let Some(before) = report.before.as_deref().filter(|before| *before != report.after) {
        side(&mut out, "before", Some(before), "")?;
    }
    side(&mut out, "now", Some(&report.after), "")?;
    for warning in &report.warnings {
        parts::warning(&mut out, &tame(&warning.message))?;
    }
    for path in &report.pending {
        parts::warning(&mut out, &tame(&format!("{path} could not be changed")))?;
    }
    if report.operation.is_some() {
        writeln!(out, "  {DIM}Reload SillyTavern's page: it still has the old state in memory.{DIM:#}")?;
    }
    parts::take_back(&mut out, report.operation.as_deref())
}

/// What was played after what, or would be.
pub(crate) fn appended(report: &AppendReport) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let made = if report.operation.is_some() { "Made the branch" } else { "Would make the branch" };
    writeln!(out, "{GOOD}{made}{GOOD:#} {BOLD}{}{BOLD:#}", tame(&report.chat))?;
    writeln!(out, "  {DIM}from{DIM:#}      {} at message {}", tame(&report.parent), report.at)?;
    let (first, upto) = (report.first, report.upto);
    let which =
        if first == upto { format!("message {first}") } else { format!("messages {first} to {upto}") };
    writeln!(out, "  {DIM}then{DIM:#}      {which} of {}", tame(&report.from))?;
    if let Some(name) = &report.book.name {
        writeln!(out, "  {DIM}lorebook{DIM:#}  {} ({})", tame(name), count(report.book.entries, "entry"))?;
    }
    for warning in &report.warnings {
        parts::warning(&mut out, &tame(&warning.message))?;
    }
    for path in &report.pending {
        let text = format!("{path} could not be changed: the link to the branch is not in it");
        parts::warning(&mut out, &tame(&text))?;
    }
    parts::take_back(&mut out, report.operation.as_deref())
}

/// What the story goes on with, or would.
pub(crate) fn adopted(report: &AdoptReport) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let chat = tame(&report.chat);
    if report.files.is_empty() {
        return writeln!(out, "The story goes on with {BOLD}{chat}{BOLD:#} already.");
    }
    let goes =
        if report.operation.is_some() { "The story goes on with" } else { "The story would go on with" };
    writeln!(out, "{GOOD}{goes}{GOOD:#} {BOLD}{chat}{BOLD:#}")?;
    for before in &report.before {
        writeln!(out, "  {DIM}before{DIM:#}    {}", tame(before))?;
    }
    if !report.others.is_empty() {
        let others = count(report.others.len(), "relative");
        let stay = if report.others.len() == 1 { "stays as it is" } else { "stay as they are" };
        writeln!(out, "  {DIM}{others} {stay}{DIM:#}")?;
    }
    for path in &report.pending {
        parts::warning(&mut out, &tame(&format!("{path} could not be changed")))?;
    }
    parts::take_back(&mut out, report.operation.as_deref())
}

fn side(out: &mut impl io::Write, word: &str, text: Option<&str>, none: &str) -> io::Result<()> {
    let Some(text) = text else { return writeln!(out, "  {DIM}{word:<8}{none}{DIM:#}") };
    let text = text.split('\n').map(|line| wrap(&tame(line), "          ")).collect::<Vec<_>>().join("\n");
    writeln!(out, "  {DIM}{word:<8}{DIM:#}{}", text.trim_start())
}

/// One question in a line.
fn question(conflict: &OpenConflict) -> String {
    let title = tame(&cut_middle(&conflict.title, width().saturating_sub(40).max(20)));
    match (&conflict.field, &conflict.ours, &conflict.theirs) {
        (None, None, _) => format!("{title}: deleted here, written on there"),
        (None, ..) => format!("{title}: written on here, deleted there"),
        (Some(field), Some(ours), Some(theirs)) if field != "content" && field != "comment" => {
            format!("{title}: {} is {} here, {} there", word(field), tame(ours), tame(theirs))
        }
        (Some(field), ..) => format!("{title}: the {} says something else here and there", word(field)),
    }
}

fn are(n: usize) -> String {
    format!("{} {}", count(n, "question"), if n == 1 { "is" } else { "are" })
}

/// What people call a field.
fn word(field: &str) -> &str {
    match field {
        "content" => "text",
        "comment" => "title",
        "key" => "keys",
        "keysecondary" => "secondary keys",
        "disable" => "switch",
        other => other,
    }
}

/// A chat's name without its folder.
fn base_name(address: &str) -> &str {
    address.split_once('/').map_or(address, |(_, name)| name)
}
