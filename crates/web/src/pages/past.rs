//! Looking back, and bringing back: [`entry`] is the timeline of one entry of a lorebook, [`history`] what happened to a chat by time, and
//! [`restore`] what would come back.

use std::collections::{BTreeMap, HashSet};

use forklore_api::FailureReport;
use forklore_api::past::Bringing;
use forklore_core::state::Cause;
use forklore_core::story::Touch;
use forklore_engine::blame::{BlameEntry, BlameReport, Stamp};
use forklore_engine::history::{Did, EntryEvent, Event, HistoryReport, Line, Span};
use forklore_engine::restore::RestoreReport;
use maud::{Markup, html};

use super::{act, log, marks, parts};
use crate::names::{self, name_of};
use crate::{Here, Page, link, words};

const STYLES: &[&str] = &["act", "past"];
/// So many things that happened at once are named.
const LISTED: usize = 12;

fn page(title: String, body: Markup) -> Page {
    Page { here: Here::Stories, title, styles: STYLES, scripts: &[], body }
}

fn place(chat: &str, message: usize) -> Markup {
    html! { a href=(link::moment(chat, Some(message))) { "message " (message) } }
}

/// The timeline of one entry: where each part of what it says comes from, and what was seen to happen to it.
pub fn entry(report: &BlameReport, past: &HistoryReport) -> Page {
    let title = report.entries.first().map_or("", |entry| &entry.comment);
    let body = html! {
        (parts::way(&report.chat, Some(report.at), "Entry"))
        @for entry in &report.entries {
            h1 { (marks::title(&entry.comment)) }
            p.lead { "As it is at message " (report.at) ", in the lorebook " bdi { (report.book) } "." }
            (timeline(&report.chat, entry))
            (written(&report.chat, entry))
            (seen(&report.chat, entry, past))
        }
    };
    page(format!("Timeline of {title}"), body)
}

/// What an entry is called in an address: its number, unless it has none.
fn key(entry: &BlameEntry) -> String {
    entry.uid.map_or_else(|| entry.comment.clone(), |uid| uid.to_string())
}

/// Where along the story it came to be what it is.
fn timeline(chat: &str, entry: &BlameEntry) -> Markup {
    let mut steps: BTreeMap<Option<usize>, (&Stamp, Vec<String>)> = BTreeMap::new();
    steps.insert(entry.made.message, (&entry.made, vec!["it was written".to_owned()]));
    let mut lines: BTreeMap<Option<usize>, usize> = BTreeMap::new();
    for line in entry.lines.iter().flatten().filter(|line| line.stamp.message != entry.made.message) {
        *lines.entry(line.stamp.message).or_default() += 1;
        steps.entry(line.stamp.message).or_insert((&line.stamp, Vec::new()));
    }
    for (message, n) in lines {
        if let Some((_, told)) = steps.get_mut(&message) {
            told.push(format!("{} of its text", words::count(n, "line")));
        }
    }
    for field in entry.fields.iter().flatten() {
        // What nothing dates is told by what it says, not by its fields.
        if field.stamp.message.is_none() || field.stamp.message == entry.made.message {
            continue;
        }
        let (_, told) = steps.entry(field.stamp.message).or_insert((&field.stamp, Vec::new()));
        if field.field != "content" {
            told.push(label(&field.field).to_owned());
        }
    }
    let last = steps.keys().next_back().copied().flatten();
    html! {
        section.card aria-labelledby="timeline" {
            h2 #timeline { "Along the story" }
            ol.timeline {
                @for (message, (stamp, told)) in &steps {
                    li {
                        p.when { @match message { Some(message) => (place(chat, *message)), None => "nobody saw when" } }
                        p { (capital(&told.join(", "))) " " span.quiet { (cause(stamp)) } }
                        @if let Some(message) = message.filter(|message| Some(*message) != last) {
                            a.button href=(link::bring_back(chat, &[("entry", &key(entry)), ("at", &message.to_string())])) { "Bring it back as it was there" span.unseen { ", at message " (message) } }
                        }
                    }
                }
            }
        }
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or_else(|| "It was changed".to_owned(), |first| first.to_uppercase().chain(letters).collect())
}

/// Who made it, in a phrase.
fn cause(stamp: &Stamp) -> Markup {
    html! {
        @match (stamp.cause, &stamp.scene) {
            (Cause::Scene, Some(scene)) => { "by the scene " bdi { (scene) } },
            (Cause::Scene, None) => { "by a scene" },
            (Cause::Memory, _) => { "by the memory extension" },
            (Cause::Hand, _) => { "by hand" },
            (Cause::Seen, _) => { "it was so when it was seen" },
        }
        @if let Some(at) = &stamp.at { " · " (log::time(at)) }
        @if let Some(after) = stamp.after { " · not yet at message " (after) }
    }
}

/// What people call a field.
fn label(field: &str) -> &str {
    match field {
        "content" => "text",
        "comment" => "title",
        "key" => "keys",
        "keysecondary" => "secondary keys",
        "disable" => "switched on or off",
        "constant" => "always on",
        other => other,
    }
}

/// What it says, line by line, each with where it comes from.
fn written(chat: &str, entry: &BlameEntry) -> Markup {
    html! {
        @if let Some(lines) = entry.lines.as_ref().filter(|lines| !lines.is_empty()) {
            section.card aria-labelledby="lines" {
                h2 #lines { "What it says, and since when" }
                ol.blamed {
                    @for line in lines {
                        li {
                            span.since { @match line.stamp.message { Some(message) => (place(chat, message)), None => span.quiet { "undated" } } }
                            span.said dir="auto" { (line.text) }
                        }
                    }
                }
            }
        }
    }
}

/// What history saw happen to it, the newest first.
fn seen(chat: &str, entry: &BlameEntry, past: &HistoryReport) -> Markup {
    let own = |event: &EntryEvent| match (event.uid, entry.uid) {
        (Some(one), Some(other)) => one == other,
        _ => event.title == entry.comment,
    };
    let found: Vec<(&Line, &EntryEvent)> = past
        .lines
        .iter()
        .rev()
        .filter_map(|line| {
            line.events.iter().find_map(|event| match event {
                Event::Entry(event) if own(event) => Some((line, event)),
                _ => None,
            })
        })
        .collect();
    html! {
        section.card aria-labelledby="seen" {
            h2 #seen { "By time" }
            @if found.is_empty() { p.quiet { "History has not seen it change." } }
            ol.rows {
                @for (line, event) in found {
                    li {
                        span { (log::time(&line.at)) ": " (did(event.did)) @if !event.fields.is_empty() { " (" (fields(&event.fields)) ")" } }
                        @if let Some(seen) = line.last_observation.filter(|_| event.did != Did::Removed) {
                            a.button href=(link::bring_back(chat, &[("entry", &key(entry)), ("observation", &seen.to_string())])) { "Bring it back as it was then" }
                        }
                    }
                }
            }
            p.go { a.button href=(link::history(chat)) { "All that happened to this chat" } }
        }
    }
}

fn fields(fields: &[String]) -> String {
    fields.iter().map(|field| label(field)).collect::<Vec<_>>().join(", ")
}

fn did(did: Did) -> &'static str {
    match did {
        Did::Added => "written",
        Did::Changed => "changed",
        Did::Removed => "removed",
    }
}

/// What happened to a chat and its lorebooks, the newest first.
pub fn history(report: &HistoryReport) -> Page {
    let chat = &report.chat;
    let body = html! {
        (parts::way(chat, None, "History"))
        h1 { "History of " bdi { (names::in_story(chat)) } }
        p.lead {
            @if report.lines.is_empty() { "Nothing has been seen of this chat yet. Play on while Forklore runs, and it is." }
            @else { "What Forklore saw of this chat and its lorebook. Anything can come back as it was." }
        }
        @if let Some(at) = &report.deleted { div.say.warning { p { "This chat was deleted " (log::time(at)) "." } } }
        @if report.unseen { p.quiet { "The chat has changed since it was seen last." } }
        ol.past { @for line in report.lines.iter().rev() { (row(chat, line)) } }
        @if report.earlier > 0 {
            p.go { a.button href={ (link::history(chat)) "&all=true" } { "Show " (words::count(report.earlier, "earlier save")) } }
        }
    };
    page(format!("History of {}", names::in_story(chat)), body)
}

fn row(chat: &str, line: &Line) -> Markup {
    html! {
        li id=[line.observation.map(|seen| format!("seen-{seen}"))] {
            p.when { (log::time(&line.at)) @if let Some(message) = line.now { " · " (place(chat, message)) } @if line.saves > 1 { " · " (words::count(line.saves, "save")) } }
            ul {
                @let phrases = phrases(line);
                @for text in phrases.iter().take(LISTED) { li { (text) } }
                @if phrases.len() > LISTED { li.quiet { "and " (words::number(phrases.len() - LISTED)) " more" } }
            }
            @if let Some(seen) = line.last_observation.filter(|_| line.chat == *chat) {
                p.go {
                    @let then = seen.to_string();
                    @if line.file == "chat" { a.button href=(link::bring_back(chat, &[("observation", &then)])) { "Bring the chat back as it was then" } }
                    @else { a.button href=(link::bring_back(chat, &[("observation", &then), ("book", "true")])) { "Bring the lorebook back as it was then" } }
                }
            }
        }
    }
}

/// What happened, one phrase a thing.
fn phrases(line: &Line) -> Vec<Markup> {
    let mut found = Vec::new();
    let book = || html! { @if let Some(book) = &line.book { "The lorebook " bdi { (book) } " was " } @else { "It was " } };
    for event in &line.events {
        found.push(match event {
            Event::Entry(entry) => html! {
                (marks::title(&entry.title)) " was " (did(entry.did))
                @if let Some(was) = &entry.was { ", it was called " bdi { (was) } }
                @if !entry.fields.is_empty() && entry.did == Did::Changed { ": " (fields(&entry.fields)) }
                @if let Some(scene) = &entry.scene { " by the scene " bdi { (scene) } }
            },
            Event::FirstSeen { messages, entries, .. } => html! {
                (book()) "seen for the first time"
                @if let Some(n) = messages { ", with " (words::count(*n, "message")) } @else if let Some(n) = entries { ", with " (words::count(*n, "entry")) }
            },
            Event::Renamed { from } => html! { "It was called " bdi { (from) } " before" },
            Event::Deleted => html! { (book()) "deleted" },
            Event::Forked { from, message, .. } => html! {
                "It came from " bdi { (name_of(from)) } @if let Some(message) = message { ", at message " (message) }
            },
            Event::Messages { did, messages, scenes } => html! {
                (touched(*did, messages))
                @if !scenes.is_empty() { ", where " @for (i, scene) in scenes.iter().take(3).enumerate() { @if i > 0 { ", " } bdi { (scene) } } " ended" }
            },
            Event::Unread { from, to } => html! { "It had " (words::count(*to, "message")) " instead of " (words::number(*from)) },
            Event::Bound { to, .. } => html! {
                @match to { Some(to) => { "It got the lorebook " bdi { (to) } }, None => "It lost its lorebook" }
            },
            Event::Header { key, did: what } => html! { (kept(key)) " was " (did(*what)) },
        });
    }
    // Several saves, or two lines that write one lorebook, do the same.
    let mut told: HashSet<String> = HashSet::new();
    found.retain(|phrase: &Markup| told.insert(phrase.0.clone()));
    if found.is_empty() {
        found.push(html! { "Saved, and nothing of the story is different" });
    }
    found
}

/// What a chat keeps under a name in its header.
fn kept(key: &str) -> Markup {
    match key.split_once('.') {
        Some(("variables", name)) => html! { "The variable " bdi { (name) } },
        _ if key.starts_with("note_") => html! { "The author's note" },
        _ if key == "timedWorldInfo" => html! { "How long entries stay on" },
        _ => html! { "The chat's " bdi { (key) } },
    }
}

fn touched(did: Touch, spans: &[Span]) -> String {
    let range = |span: &Span| {
        if span.from == span.to { span.from.to_string() } else { format!("{} to {}", span.from, span.to) }
    };
    let which: Vec<String> = spans.iter().take(4).map(range).collect();
    let more = if spans.len() > 4 { " and others" } else { "" };
    let one = spans.len() == 1 && spans[0].from == spans[0].to;
    let what = if one { "Message" } else { "Messages" };
    let word = match did {
        Touch::Added => "written",
        Touch::Edited => "edited",
        Touch::Swiped => "swiped",
        Touch::Deleted => "deleted",
        Touch::Hidden => "hidden from the model",
        Touch::Shown => "shown to the model again",
        Touch::Recapped => "made the end of a scene",
        Touch::Noted => "marked by an extension",
    };
    format!("{what} {}{more} {} {word}", which.join(", "), if one { "was" } else { "were" })
}

/// What would come back, before it does.
pub fn restore(asked: &Bringing, plan: &Result<RestoreReport, FailureReport>) -> Page {
    let fields = [
        ("entry", asked.entry.clone()),
        ("at", asked.at.map(|at| at.to_string())),
        ("observation", asked.observation.map(|seen| seen.to_string())),
        ("book", asked.book.then(|| "true".to_owned())),
    ];
    let body = html! {
        (parts::way(&asked.chat, asked.at, "Bring back"))
        h1 { "Bring back" }
        p.lead {
            @if asked.entry.is_some() || asked.book { "The chat gets a new lorebook with it. The one that it has is not written, and all of it can be undone." }
            @else { "It comes back as a chat of its own. The one that there is stays as it is." }
        }
        section.card.plan aria-labelledby="plan" {
            @match plan {
                Err(told) => (act::refusal(told)),
                Ok(report) => {
                    h2 #plan { "What will come back" }
                    (planned(report))
                    form.go method="post" action="act" {
                        input type="hidden" name="kind" value="bring-back";
                        input type="hidden" name="chat" value=(asked.chat);
                        @for (name, value) in &fields { @if let Some(value) = value { input type="hidden" name=(name) value=(value); } }
                        button.main { "Bring it back" }
                        a.button href=(link::history(&asked.chat)) { "Not now" }
                    }
                }
            }
        }
    };
    page("Bring back".to_owned(), body)
}

fn planned(report: &RestoreReport) -> Markup {
    html! {
        dl {
            dt { "Chat" } dd { bdi { (report.chat) } }
            dt { "As of" } dd { "message " (report.at) @if let Some(seen) = &report.seen { ", as it was seen " (log::time(seen)) } }
            @if let Some(book) = &report.book.name {
                dt { "Lorebook" } dd { bdi { (book) } ", " (words::count(report.book.entries, "entry")) @if report.book.made { ", new" } }
            }
            @if !report.media.is_empty() { dt { "Images and files" } dd { (words::number(report.media.len())) " come back with it" } }
        }
        @for warning in &report.warnings { div.say.warning { p { (warning.message) } } }
    }
}
