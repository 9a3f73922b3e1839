//! A moment: the messages around it, the state as of then, and the slider that travels along the line.
//!
//! [`page`] is all of it. [`step`] is what becomes another when one travels: both are made of the same `parts`, and what somebody
//! has already is not sent again: entries and parts carry versions, which are sent along with what is asked.

mod changes;
mod note;
mod remembered;
mod selection;
mod slider;
mod state;
mod transcript;

use std::collections::{BTreeMap, HashSet};

use forklore_api::moment::Moment;
use forklore_core::adapter::EntryRole;
use forklore_engine::line::Line;
use forklore_engine::show::ShowReport;
use forklore_engine::tree;
use maud::{Markup, html};
use serde::Serialize;

use self::changes::{changes, keyed, said, told};
pub(in crate::pages) use self::note::again;
use self::note::note;
use self::remembered::remembered;
pub use self::selection::Shown;
use self::selection::{Selection, finding, more};
use self::slider::{above, listed, slider, steps};
use self::state::{entry, parts, registries, version};
use self::transcript::{head, transcript};
use super::parts as shared;
use crate::{Here, Page, link, words};

/// A moment. `shown` is which of the entries of a long lorebook are asked for.
pub fn page(moment: &Moment, shown: &Shown) -> Page {
    let Moment { line, here, notes, earlier, .. } = moment;
    let changes = changes(moment);
    let story = link::tree(&link::story_name(line.story_kind, &line.folder));
    let parts: BTreeMap<_, _> = parts(&line.chat, here).into_iter().collect();
    let part = |name: &str| {
        let part = parts.get(name).map_or("", |part| &part.0);
        html! { div data-part=(name) data-v=(version(part)) { (maud::PreEscaped(part)) } }
    };
    let selection = Selection::of(here, &changes, shown);
    let body = html! {
        (shared::crumbs(&[(&line.story, Some(story)), (&name(line), None)]))
        div.titled { h1 title=(line.name) { bdi { (name(line)) } } (shared::menu(&line.chat, None)) }
        p.lineage data-part="lineage" { (lineage(line)) }
        (slider(line, here.at, &said(&changes, moment)))
        div data-part="marks" { (listed(line, here.at)) }
        div.travel data-tab="story" {
            div data-part="head" { (head(line, here)) }
            div data-part="note" { (note(line, here.at, notes, earlier)) }
            div.tabs role="tablist" aria-label="What to look at" {
                @for (tab, text) in [("story", "Story"), ("lore", "Lore"), ("recap", "Recap")] {
                    button type="button" role="tab" id={ "tab-" (tab) } data-tab=(tab) aria-selected=(tab == "story") aria-controls={ "panel-" (tab) } { (text) }
                }
            }
            section.story #panel-story aria-label="Story" {
                div.transcript data-part="transcript" tabindex="0" role="group" aria-label="Messages around this one" { (transcript(&moment.window, here, line)) }
            }
            div.state {
                section.book #panel-lore aria-labelledby="book" {
                    h2 #book { "Lorebook" }
                    (part("source"))
                    div data-part="changes" { (told(&changes, moment)) }
                    div data-part="find" { (finding(&line.chat, here, &selection, shown)) }
                    ul.entries data-list="facts" { @for (key, found) in &selection.entries { (entry(&line.chat, &key.id(), found, changes.of.get(key))) } }
                    div data-part="more" { (more(&line.chat, here, &selection, shown)) }
                    details.registries {
                        summary { "Registries and indexes" }
                        p.quiet { "Extensions keep these lists to find entries by. They grow and shrink with the entries." }
                        ul.entries data-list="registries" { (registries(line, here, &changes)) }
                    }
                    (part("left"))
                }
                div.rest #panel-recap {
                    (part("scene"))
                    @if moment.remembers { (remembered(&line.chat, here.at)) }
                    (part("recap"))
                    (part("queue"))
                    (part("variables"))
                }
            }
        }
    };
    Page {
        here: Here::Stories,
        title: title(line, here),
        styles: &["moment"],
        scripts: &["moment", "moment-play"],
        body,
    }
}

fn lineage(line: &Line) -> Markup {
    html! {
        span.badge { (line.kind) } " "
        @if let Some((address, name, at)) = &line.parent {
            "forked from " a href=(link::moment(address, *at)) { bdi { (other_name(line, name)) } }
            @if let Some(at) = at { " at message " (at) }
            " · "
        }
        (words::count(line.messages, "message"))
    }
}

/// What becomes another when one travels.
#[derive(Debug, Serialize)]
pub struct SliderParts {
    /// The message
    at: usize,
    /// Number of the last message
    last: usize,
    /// Title of the page
    title: String,
    /// What to tell
    said: String,
    /// Where the buttons lead: a message back and ahead, and to what stands at the line before and after
    steps: [Option<usize>; 4],
    /// Parts that whoever asks does not have
    parts: BTreeMap<&'static str, String>,
    /// Their versions, for those that have one
    versions: BTreeMap<&'static str, String>,
    /// Keys of all entries, in their order
    lists: BTreeMap<&'static str, Vec<String>>,
    /// Entries that whoever asks does not have, by key
    entries: BTreeMap<String, String>,
}

/// A step: what whoever asks does not have already. `known` are the versions of what he has. With `all`, the line itself may have grown.
pub fn step(moment: &Moment, known: &HashSet<&str>, all: bool) -> SliderParts {
    let Moment { line, here, window, notes, earlier, .. } = moment;
    let changes = changes(moment);
    let shown = Shown::default();
    let selection = Selection::of(here, &changes, &shown);
    let mut fresh: BTreeMap<&'static str, String> = BTreeMap::new();
    let mut versions: BTreeMap<&'static str, String> = BTreeMap::new();
    for (name, part) in parts(&line.chat, here) {
        let version = version(&part.0);
        if !known.contains(&*version) {
            fresh.insert(name, part.into_string());
            versions.insert(name, version);
        }
    }
    fresh.insert("head", head(line, here).into_string());
    fresh.insert("note", note(line, here.at, notes, earlier).into_string());
    fresh.insert("transcript", transcript(window, here, line).into_string());
    fresh.insert("changes", told(&changes, moment).into_string());
    fresh.insert("find", finding(&line.chat, here, &selection, &shown).into_string());
    fresh.insert("more", more(&line.chat, here, &selection, &shown).into_string());
    if all {
        fresh.insert("lineage", lineage(line).into_string());
        fresh.insert("ticks", above(line, here.at).into_string());
        fresh.insert("marks", listed(line, here.at).into_string());
    }
    let mut entries = BTreeMap::new();
    let mut lists: BTreeMap<&'static str, Vec<String>> = [("facts", vec![]), ("registries", vec![])].into();
    let registries = keyed(here).filter(|(_, entry)| entry.role != EntryRole::Fact);
    let facts = selection.entries.iter().copied();
    for (key, found) in facts.chain(registries) {
        let change = changes.of.get(&key);
        let key = key.id();
        let told = entry(&line.chat, &key, found, change);
        if !known.contains(version_of(&told.0)) {
            entries.insert(key.clone(), told.into_string());
        }
        let list = if found.role == EntryRole::Fact { "facts" } else { "registries" };
        lists.entry(list).or_default().push(key);
    }
    SliderParts {
        at: here.at,
        last: line.messages.saturating_sub(1),
        title: format!("{} · Forklore", title(line, here)),
        said: said(&changes, moment),
        steps: steps(line, here.at),
        parts: fresh,
        versions,
        lists,
        entries,
    }
}

/// The version that an entry carries.
fn version_of(entry: &str) -> &str {
    let after = entry.split_once("data-v=\"").map_or("", |(_, after)| after);
    after.split_once('"').map_or("", |(version, _)| version)
}

fn title(line: &Line, here: &ShowReport) -> String {
    format!("Message {} of {}", here.at, name(line))
}

/// What a chat is called on its own page: without its story, which stands above it.
fn name(line: &Line) -> String {
    words::chat_name(&tree::short_name(&line.name, &line.story, &[]))
}

/// What a chat of the same story is called there: without what it has from this one.
fn other_name(line: &Line, other: &str) -> String {
    let short = tree::short_name(other, &line.story, &[&line.name]);
    words::chat_name(short.strip_prefix("… - ").unwrap_or(&short))
}
