//! The history of a chat: what happened, line by line.

use std::io::{self, Write as _};

use forklore_core::state::Cause;
use forklore_core::story::Touch;
use forklore_engine::history::{Did, EntryEvent, Event, HistoryReport, Line, Span};

use super::parts::headline;
use super::style::{BOLD, BRANCH, DIM, NOTE, WARN, pad, tame, wrap};
use super::words::{count, when};

/// Width of time, message and observation, with the blanks behind them.
const INDENT: usize = 16 + 2 + MESSAGE + 2 + OBSERVATION + 2;
const MESSAGE: usize = 5;
const OBSERVATION: usize = 9;

/// Prints what happened, the newest last.
pub(crate) fn history(report: &HistoryReport) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let messages = count(report.messages, "message");
    let there = match &report.deleted {
        Some(at) => format!("{WARN}deleted {}{WARN:#}, with {messages}", when(at)),
        None => messages,
    };
    writeln!(out, "{}  {there}", headline(&tame(&report.chat)))?;
    for along in &report.along {
        let what = if along.messages { "goes on with the messages of" } else { "knows what happened in" };
        let gone = if along.there { "" } else { ", which is gone" };
        let chat = tame(&along.chat);
        let at = when(&along.at);
        writeln!(out, "{DIM}⤷ {what} {chat} until {}{gone} (brought along {at}){DIM:#}", along.message)?;
    }
    if report.observations == 0 && report.lines.is_empty() {
        writeln!(out, "Nothing has been recorded of this chat yet.")?;
        return writeln!(
            out,
            "{DIM}Run `forklore watch` while you play, or `forklore watch --once` now and then.{DIM:#}"
        );
    }
    let since = report.since.as_deref().map(|at| format!(" since {}", when(at))).unwrap_or_default();
    writeln!(out, "{DIM}{}{since}; times are UTC{DIM:#}", count(report.observations, "observation"))?;
    if report.earlier > 0 {
        writeln!(out, "{DIM}… {} before that{DIM:#}", count(report.earlier, "observation"))?;
    }
    let mut chat = &report.chat;
    for line in &report.lines {
        if line.chat != *chat {
            writeln!(out, "\n{DIM}in{DIM:#} {BOLD}{}{BOLD:#}", tame(&line.chat))?;
            chat = &line.chat;
        }
        tell(&mut out, line)?;
    }
    if report.unseen {
        let text = "The chat has changed since it was seen last. `forklore watch --once` records that.";
        writeln!(out, "\n{WARN}!{WARN:#} {text}")?;
    }
    Ok(())
}

fn tell(out: &mut impl io::Write, line: &Line) -> io::Result<()> {
    let indent = " ".repeat(INDENT);
    let (message, seen_at) = message_of(line);
    let message = message.map(|message| message.to_string()).unwrap_or_default();
    let number = match (line.observation, line.last_observation) {
        _ if line.saves == 0 => String::new(),
        (Some(first), Some(last)) if first != last => format!("#{first}-{last}"),
        (Some(one), _) => format!("#{one}"),
        _ => String::new(),
    };
    let mut text = phrases(line).join("; ");
    if line.saves > 1 {
        text.push_str(&format!(", in {}", count(line.saves, "save")));
    }
    let mut more: Vec<String> = seen_at.map(|then| format!("seen at message {then}")).into_iter().collect();
    more.extend(witness(line));
    if !more.is_empty() {
        text.push_str(&format!("  ({})", more.join(", ")));
    }
    let text = wrap(&tame(&text), &indent);
    let text = text.trim_start();
    let forked = line.events.iter().any(|event| matches!(event, Event::Forked { .. }));
    let style = if forked { BRANCH } else { anstyle::Style::new() };
    writeln!(
        out,
        "{DIM}{}{DIM:#}  {NOTE}{message:>MESSAGE$}{NOTE:#}  {DIM}{}{DIM:#}  {style}{text}{style:#}",
        when(&line.at),
        pad(&number, OBSERVATION),
    )
}

/// The message that a line belongs to, and the last one of then, if that is another.
fn message_of(line: &Line) -> (Option<usize>, Option<usize>) {
    let mut entries = line.events.iter().filter_map(|event| match event {
        Event::Entry(entry) => Some(entry.message),
        _ => None,
    });
    let first = entries.next().flatten();
    let same = first.is_some() && entries.all(|message| message == first);
    let message = if same { first } else { line.now.or(line.then) };
    (message, line.then.filter(|then| Some(*then) != message))
}

fn witness(line: &Line) -> Option<String> {
    let by = &line.by;
    match (by.kind, &by.name, by.operation) {
        ("watch", ..) => None,
        ("operation", _, Some(did)) => Some(format!("by {did}")),
        ("operation", name, None) => Some(format!("by operation {}", name.as_deref().unwrap_or("?"))),
        ("plugin", Some(what), _) => Some(format!("plugin: {what}")),
        ("backup", ..) => Some("from a backup".to_owned()),
        ("scene", ..) => Some("kept in the scene".to_owned()),
        (kind, ..) => Some(kind.to_owned()),
    }
}

/// What happened, one phrase a thing.
fn phrases(line: &Line) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let entries: Vec<&EntryEvent> = line
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Entry(entry) => Some(entry),
            _ => None,
        })
        .collect();
    if !entries.is_empty() {
        found.push(book(line.book.as_deref(), &entries));
    }
    let book = || line.book.as_deref().map(|book| format!("lorebook \"{book}\" ")).unwrap_or_default();
    for event in &line.events {
        match event {
            Event::Entry(_) => {}
            Event::FirstSeen { messages, entries, bound } => {
                let mut text = format!("{}seen for the first time", book());
                let size =
                    messages.map(|n| count(n, "message")).or_else(|| entries.map(|n| count(n, "entry")));
                text.extend(size.map(|size| format!(", with {size}")));
                text.extend(bound.as_ref().map(|bound| format!(", bound to \"{bound}\"")));
                found.push(text);
            }
            Event::Renamed { from } => found.push(format!("renamed: it was \"{from}\"")),
            Event::Deleted => found.push(format!("{}deleted", book())),
            Event::Forked { from, message, restored } => {
                let at = message.map(|message| format!(" at message {message}")).unwrap_or_default();
                found.push(match restored {
                    Some(seq) => format!("brought back as \"{from}\" was at observation {seq}"),
                    None => format!("forked from \"{from}\"{at}"),
                });
            }
            Event::Messages { did, messages, scenes } => found.push(touched(*did, messages, scenes)),
            Event::Unread { from, to } => {
                found.push(format!(
                    "{} instead of {from}; too large to look at in detail",
                    count(*to, "message")
                ));
            }
            Event::Bound { from, to } => {
                let name = |book: &Option<String>| {
                    book.as_ref().map_or_else(|| "no lorebook".to_owned(), |book| format!("\"{book}\""))
                };
                found.push(format!("bound to {}, no longer to {}", name(to), name(from)));
            }
            Event::Header { key, did } => found.push(format!("{key} {}", word(*did))),
        }
    }
    if found.is_empty() {
        found.push("saved, and nothing of the story is different".to_owned());
    }
    found
}

fn word(did: Did) -> &'static str {
    match did {
        Did::Added => "set",
        Did::Changed => "changed",
        Did::Removed => "removed",
    }
}

/// What happened to messages, by the numbers of then, and what has become of those.
fn touched(did: Touch, spans: &[Span], scenes: &[String]) -> String {
    let range =
        |from: usize, to: usize| if from == to { from.to_string() } else { format!("{from} to {to}") };
    let mut then: Vec<(usize, usize)> = Vec::new();
    for span in spans {
        match then.last_mut() {
            Some(last) if last.1 + 1 == span.from => last.1 = span.to,
            _ => then.push((span.from, span.to)),
        }
    }
    let several = then.len() > 1 || then.iter().any(|(from, to)| from != to);
    let mut which = listed(then.iter().map(|(from, to)| range(*from, *to)).collect());
    // What is gone needs no word about where it is.
    if did != Touch::Deleted && spans.iter().any(|span| span.now != Some(span.from)) {
        let now = |span: &Span| {
            span.now.map_or_else(|| "gone".to_owned(), |now| range(now, now + (span.to - span.from)))
        };
        which.push_str(&format!(" (now {})", listed(spans.iter().map(now).collect())));
    }
    let which = format!("{} {which}", if several { "messages" } else { "message" });
    match did {
        Touch::Added => format!("+ {which}"),
        Touch::Edited => format!("{which} edited"),
        Touch::Swiped => format!("{which} swiped"),
        Touch::Deleted => format!("{which} deleted"),
        Touch::Hidden => format!("{which} hidden"),
        Touch::Shown => format!("{which} no longer hidden"),
        Touch::Recapped if scenes.is_empty() => format!("{which} recapped"),
        Touch::Recapped => format!("{which} recapped as {}", quoted(scenes)),
        Touch::Noted => format!("something noted in {which}"),
    }
}

/// The first few of a list.
fn listed(mut parts: Vec<String>) -> String {
    let more = parts.len().saturating_sub(6);
    parts.truncate(6);
    let text = parts.join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// What happened to entries of a book, those of one cause together.
fn book(name: Option<&str>, entries: &[&EntryEvent]) -> String {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for entry in entries {
        let cause = match (&entry.elsewhere, entry.cause) {
            (Some(place), _) => format!("in \"{}\" at message {}", place.chat, place.message),
            (None, Cause::Scene) => match &entry.scene {
                Some(scene) => format!("by the scene \"{scene}\""),
                None => "by a scene".to_owned(),
            },
            (None, Cause::Memory) => "as a memory".to_owned(),
            (None, Cause::Hand) => "by hand".to_owned(),
            (None, Cause::Seen) => String::new(),
        };
        let sign = match entry.did {
            Did::Added => "+",
            Did::Changed => "~",
            Did::Removed => "\u{2212}",
        };
        let fields = match (&entry.was, &entry.fields[..]) {
            (Some(was), _) => format!(" (was \"{was}\")"),
            (None, []) => String::new(),
            (None, fields) => format!(" ({})", fields.join(", ")),
        };
        let text = format!("{sign} {}{fields}", entry.title);
        match groups.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, texts)) => texts.push(text),
            None => groups.push((cause, vec![text])),
        }
    }
    let part = |(cause, texts): &(String, Vec<String>)| {
        let cause = if cause.is_empty() { String::new() } else { format!(", {cause}") };
        format!("{}{cause}", texts.join(", "))
    };
    let name = name.map(|name| format!("{name}: ")).unwrap_or_default();
    format!("{name}{}", groups.iter().map(part).collect::<Vec<_>>().join("; "))
}
