//! A moment: the messages around it, the state as of then, and the slider that travels along the line.
//!
//! [`page`] is all of it. [`step`] is what becomes another when one travels: both are made of the same `parts`, and what is the same
//! where one comes from is not sent again.

mod changes;
mod selection;
mod slider;
mod state;
mod transcript;

use std::collections::{BTreeMap, HashMap, HashSet};

use forklore_api::moment::Moment;
use forklore_core::adapter::EntryRole;
use forklore_engine::line::Line;
use forklore_engine::show::ShowReport;
use forklore_engine::tree;
use maud::{Markup, html};
use serde::Serialize;

use self::changes::{changes, keyed, said, told};
pub use self::selection::Shown;
use self::selection::{Selection, finding, more};
use self::slider::{listed, slider, steps, ticks};
use self::state::{entry, parts, registries};
use self::transcript::{head, transcript};
use super::parts as shared;
use crate::{Here, Page, link, words};

/// A moment. `shown` is which of the entries of a long lorebook are asked for.
pub fn page(moment: &Moment, shown: &Shown) -> Page {
    let Moment { line, here, .. } = moment;
    let changes = changes(moment);
    let story = link::tree(&link::story_name(line.story_kind, &line.folder));
    let parts: BTreeMap<_, _> = parts(&line.chat, here).into_iter().collect();
    let part =
        |name: &str| html! { div data-part=(name) { @if let Some(part) = parts.get(name) { (part) } } };
    let selection = Selection::of(here, &changes, shown);
    let body = html! {
        (shared::crumbs(&[(&line.story, Some(story)), (&name(line), None)]))
        div.titled { h1 title=(line.name) { bdi { (name(line)) } } (shared::menu(&line.chat, None)) }
        p.lineage data-part="lineage" { (lineage(line)) }
        (slider(line, here.at, &said(&changes, moment)))
        div data-part="marks" { (listed(line, here.at)) }
        div.travel data-tab="story" {
            div data-part="head" { (head(line, here)) }
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
                    ul.entries data-list="facts" { @for (key, found) in &selection.entries { (entry(&line.chat, key, found, changes.of.get(key))) } }
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
                    (part("recap"))
                    (part("queue"))
                    (part("variables"))
                }
            }
        }
    };
    Page { here: Here::Stories, title: title(line, here), styles: &["moment"], scripts: &["moment"], body }
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
    /// Parts that are not as they were
    parts: BTreeMap<&'static str, String>,
    /// Keys of all entries, in their order
    lists: BTreeMap<&'static str, Vec<String>>,
    /// Entries that are not as they were, by key
    entries: BTreeMap<String, String>,
}

/// A step: only what is not as it was where one comes from, or `all` of it.
pub fn step(moment: &Moment, all: bool) -> SliderParts {
    let Moment { line, here, window, before } = moment;
    let changes = changes(moment);
    let shown = Shown::default();
    let selection = Selection::of(here, &changes, &shown);
    // Of a long lorebook nobody knows which entries are on the page: all that are to be are sent.
    let is_long = |report: &ShowReport| Selection::is_long(report);
    let before = before.as_ref().filter(|before| !all && !is_long(before) && !is_long(here));
    let old: HashMap<&str, String> = before.map_or_else(HashMap::new, |before| {
        parts(&line.chat, before).into_iter().map(|(name, part)| (name, part.into_string())).collect()
    });
    let mut fresh: BTreeMap<&'static str, String> = BTreeMap::new();
    for (name, part) in parts(&line.chat, here) {
        let part = part.into_string();
        if old.get(name) != Some(&part) {
            fresh.insert(name, part);
        }
    }
    fresh.insert("head", head(line, here).into_string());
    fresh.insert("transcript", transcript(window, here, line).into_string());
    fresh.insert("changes", told(&changes, moment).into_string());
    fresh.insert("find", finding(&line.chat, here, &selection, &shown).into_string());
    fresh.insert("more", more(&line.chat, here, &selection, &shown).into_string());
    if all {
        // The line itself may have grown.
        fresh.insert("lineage", lineage(line).into_string());
        fresh.insert("ticks", ticks(line).into_string());
        fresh.insert("marks", listed(line, here.at).into_string());
    }
    let known: HashSet<String> = before.map_or_else(HashSet::new, |before| {
        keyed(before).map(|(key, e)| entry(&line.chat, &key, e, None).into_string()).collect()
    });
    let mut entries = BTreeMap::new();
    let mut lists: BTreeMap<&'static str, Vec<String>> = [("facts", vec![]), ("registries", vec![])].into();
    let registries = keyed(here).filter(|(_, entry)| entry.role != EntryRole::Fact);
    let facts = selection.entries.iter().map(|(key, entry)| (key.clone(), *entry));
    for (key, found) in facts.chain(registries) {
        let change = changes.of.get(&key);
        let plain = entry(&line.chat, &key, found, None).into_string();
        if let Some(change) = change {
            entries.insert(key.clone(), entry(&line.chat, &key, found, Some(change)).into_string());
        } else if !known.contains(&plain) {
            entries.insert(key.clone(), plain);
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
        lists,
        entries,
    }
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
