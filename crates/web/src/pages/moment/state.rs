//! The state as of a moment: the book, scene and recaps, the queue, variables.

use forklore_core::adapter::EntryRole;
use forklore_engine::line::Line;
use forklore_engine::show::{ShowEntry, ShowReport};
use forklore_engine::warning::WarningCode;
use maud::{Markup, html};

use super::changes::{Changes, Difference, keyed};
use crate::pages::marks;
use crate::{link, words};

/// How much of entries and recaps is shown unfolded.
const FOLD: usize = 700;
/// How much of a registry is on the page at all: nobody reads them, and they are as long as the lorebook.
const REGISTRY: usize = 3000;
/// So many entries that are left out are listed.
const LISTED: usize = 100;
/// How much of the value of a variable is.
const VALUE: usize = 420;

/// All parts of a state that are simply what they are.
pub(super) fn parts(chat: &str, here: &ShowReport) -> Vec<(&'static str, Markup)> {
    vec![
        ("source", source(chat, here)),
        ("left", left_out(here)),
        ("scene", scene(chat, here)),
        ("recap", recap(here)),
        ("queue", queue(here)),
        ("variables", variables(chat, here)),
    ]
}

/// Where the state of the book comes from, and how sure that is.
fn source(chat: &str, here: &ShowReport) -> Markup {
    let book = &here.book;
    let from = &book.source;
    let facts = book.entries.iter().filter(|entry| entry.role == EntryRole::Fact).count();
    let place = |message: usize| html! { a data-at=(message) href=(link::step(chat, message, here.at)) { "message " (message) } };
    html! {
        @if let Some(name) = &book.name { p.name { bdi { (name) } " · " (words::count(facts, "entry")) } }
        p.source {
            @match (from.kind, from.message) {
                ("head", _) => { strong { "Exact." } " This is the last message: the lorebook as it is now." },
                ("unchanged", _) => { strong { "Exact." } " Nothing has changed since, and history proves it: the lorebook as it is now." },
                ("history", _) => { strong { "Exact." } " History saw the lorebook at this message." },
                ("scene", Some(message)) => {
                    strong { "From scenes." } " As the scenes tell it up to " (place(message))
                    @match from.distance { Some(0) => { ", right here." }, Some(n) => { ", " (words::count(n, "message")) " before." }, None => { "." } }
                },
                ("scene", None) => { strong { "From scenes." } " No scene has ended yet." },
                ("none", _) => { "No lorebook is bound to this chat." },
                (_, Some(first)) => { strong { "Not exact." } " Nothing tells how the lorebook was: this is how Forklore first saw it, when the chat had " (words::count(first + 1, "message")) "." },
                _ => { strong { "Not exact." } " Nothing tells how the lorebook was: this is how it is now." },
            }
        }
        @if book.by_choice {
            p.quiet {
                (words::count(book.others, "other chat")) " " (if book.others == 1 { "uses" } else { "use" }) " this lorebook, too. "
                a href=(link::own_copy(chat)) { "Give this chat its own copy" }
            }
        }
        @for warning in here.warnings.iter().filter(|warning| warning.code != WarningCode::StateInexact) { p.warning { (warning.message) } }
    }
}

pub(super) fn registries(line: &Line, here: &ShowReport, changes: &Changes<'_>) -> Markup {
    html! {
        @for (key, found) in keyed(here).filter(|(_, entry)| entry.role != EntryRole::Fact) {
            (entry(&line.chat, &key.id(), found, changes.of.get(&key)))
        }
    }
}

pub(super) fn entry(chat: &str, key: &str, entry: &ShowEntry, change: Option<&Difference>) -> Markup {
    let word = change.map(|change| match change {
        Difference::New => "new",
        Difference::Changed { .. } => "changed",
    });
    let is_fact = entry.role == EntryRole::Fact;
    let told = html! {
            h3 {
                (marks::title(entry.comment()))
                @if let Some(word) = word { span.flag { @if word == "new" { "+ new" } @else { "~ changed" } } }
                @if entry.is_disabled() && is_fact { span.badge { "off" } }
                @if entry.is_constant() { span.badge { "always on" } }
                @if entry.undated { span.badge.doubt { "undated" } }
            }
            @if !entry.keys().is_empty() {
                p.keys { span.unseen { "Keys: " } @for key in entry.keys().iter().take(24) { span.key { bdi { (key) } } " " } }
            }
            @if let Some(Difference::Changed { text, keys, switched }) = change {
                div.change {
                    @if !text.is_empty() { div.marked.said dir="auto" { (marks::within(text, &entry.content())) } }
                    @if *keys { p.quiet { "Its keys were others before." } }
                    @if *switched { p.quiet { @if entry.is_disabled() { "It was on before." } @else { "It was off before." } } }
                }
            }
            @if is_fact { (marks::text(&entry.content(), FOLD)) } @else { (marks::part(&entry.content(), FOLD, REGISTRY)) }
            p.origin {
                span { (origin(chat, entry)) }
                @if is_fact { a.timeline href=(link::entry(chat, entry.uid(), entry.comment(), None)) { "Timeline" span.unseen { " of " (entry.comment()) } } }
                @if let Some(uid) = entry.uid() { span.uid { "uid " (uid) } }
            }
    };
    html! { li.entry id=(key) data-key=(key) data-title=(entry.comment()) data-change=[word] data-v=(version(&told.0)) { (told) } }
}

/// A name of what a piece of the page says: whoever has it need not be sent it again.
pub(super) fn version(html: &str) -> String {
    blake3::hash(html.as_bytes()).to_hex().chars().take(8).collect()
}

fn origin(chat: &str, entry: &ShowEntry) -> Markup {
    let place = |message: usize| html! { a data-at=(message) href=(link::moment(chat, Some(message))) { "message " (message) } };
    html! {
        @match (entry.source, entry.message) {
            ("undated", _) => { "Nothing tells when it was written" },
            ("head", _) => { "As it is now" },
            ("degraded", _) => { "Nothing tells since when" },
            ("unchanged", Some(message)) => { "Unchanged since " (place(message)) },
            ("unchanged", None) => { "Unchanged since the start" },
            ("history", Some(message)) => { "Seen by history at " (place(message)) },
            ("history", None) => { "Seen by history" },
            (_, Some(message)) => { "From the scene at " (place(message)) },
            ("start", None) => { "There from the start" },
            (_, None) => { "From a scene" },
        }
        @if entry.inferred.iter().any(|field| field == "content") { ", text put together from evidence" }
    }
}

fn left_out(here: &ShowReport) -> Markup {
    let left = &here.book.left_out;
    if left.is_empty() {
        return html! {};
    }
    html! {
        details.left {
            summary { "Left out " span.quiet { (words::count(left.len(), "entry")) " that " @if left.len() == 1 { "does" } @else { "do" } " not belong here" } }
            ul {
                @for out in left.iter().take(LISTED) {
                    li {
                        @if out.lines > 0 { (words::count(out.lines, "line")) " of " }
                        (marks::title(&out.comment)) " " span.quiet { (out.why) }
                    }
                }
                @if left.len() > LISTED { li { "… and " (words::count(left.len() - LISTED, "more entry")) } }
            }
        }
    }
}

fn scene(chat: &str, here: &ShowReport) -> Markup {
    html! {
        section.scene {
            h2 { "Scene" }
            @match &here.scene {
                None => p.quiet { "No scene has ended yet." },
                Some(scene) => {
                    p.name {
                        bdi { (scene.name.as_deref().unwrap_or("without a name")) } " "
                        span.quiet { @if scene.message == here.at { "ends here" } @else { "ended at " a data-at=(scene.message) href=(link::moment(chat, Some(scene.message))) { "message " (scene.message) } } }
                    }
                    @if let Some(text) = &scene.recap { (marks::text(text, FOLD)) }
                }
            }
            p { a href=(link::memory(chat, Some(here.at))) { "What Forklore remembers here, and where it comes from" } }
        }
    }
}

fn recap(here: &ShowReport) -> Markup {
    let recap = &here.running_recap;
    html! {
        section.recap {
            h2 { "Running recap" @if let Some(version) = recap.current_version { span.badge { "version " (version) } } }
            @match &recap.content {
                Some(text) => (marks::text(text, FOLD * 2)),
                None => p.quiet { "There is none here yet." },
            }
            @if recap.dropped > 0 { p.quiet { (words::count(recap.dropped, "version")) " of later messages or of another line left out." } }
            @if let Some(combined) = &here.combined_recap {
                h3 { "Combined recap" } p.quiet { "Of " (combined.message_count) " messages." }
                (marks::text(&combined.content, FOLD))
            }
        }
    }
}

fn queue(here: &ShowReport) -> Markup {
    let queue = &here.queue;
    html! {
        section.queue {
            h2 { "Queue" }
            @if queue.operations.is_empty() { p.quiet { "Nothing waits to be done." } }
            ul { @for operation in &queue.operations { li { bdi { (operation.kind) } " " span.badge { (operation.status) } } } }
        }
    }
}

fn variables(chat: &str, here: &ShowReport) -> Markup {
    let metadata = &here.metadata;
    let none = metadata.variables.is_none();
    if none && here.notes.is_empty() {
        return html! {};
    }
    let read: serde_json::Map<String, serde_json::Value> =
        metadata.variables.as_ref().and_then(|all| serde_json::from_str(all.get()).ok()).unwrap_or_default();
    let from = match (metadata.source, metadata.message) {
        ("history", Some(message)) if !none => Some(("Saved at", message)),
        ("backup", Some(message)) if !none => Some(("From a backup at", message)),
        _ => None,
    };
    html! {
        section.variables {
            h2 { @if none || !here.notes.is_empty() { "What else the chat keeps" } @else { "Variables" } }
            @for note in &here.notes { p.quiet { (note) } }
            @if let Some((word, message)) = from { p.quiet { (word) " " a data-at=(message) href=(link::moment(chat, Some(message))) { "message " (message) } "." } }
            dl {
                @for (name, value) in &read {
                    dt { bdi { (name) } }
                    dd { (marks::text(&value.as_str().map_or_else(|| value.to_string(), str::to_owned), VALUE)) }
                }
            }
        }
    }
}
