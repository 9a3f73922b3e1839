//! A moment: the messages around it, the state as of then, and the slider that travels along the line.
//!
//! [`page`] is all of it. [`step`] is what becomes another when one travels: both are made of the same `parts`, and what is the same
//! where one comes from is not sent again.

mod changes;
mod slider;
mod state;
mod transcript;

use std::collections::{BTreeMap, HashMap, HashSet};

use forklore_api::moment::Moment;
use forklore_engine::line::Line;
use forklore_engine::show::ShowReport;
use maud::html;
use serde::Serialize;

use self::changes::{changes, keyed, said, told};
use self::slider::{listed, slider, steps};
use self::state::{entries, entry, parts};
use self::transcript::{head, transcript};
use super::parts as shared;
use crate::{Here, Page, link, words};

/// A moment.
pub fn page(moment: &Moment) -> Page {
    let Moment { line, here, .. } = moment;
    let changes = changes(moment);
    let story = link::tree(&link::story_name(line.story_kind, &line.folder));
    let parts: BTreeMap<_, _> = parts(&line.chat, here).into_iter().collect();
    let part =
        |name: &str| html! { div data-part=(name) { @if let Some(part) = parts.get(name) { (part) } } };
    let body = html! {
        (shared::crumbs(&[(&line.story, Some(story)), (&line.name, None)]))
        h1 { bdi { (line.name) } }
        p.lineage {
            span.badge { (line.kind) } " "
            @if let Some((address, name, at)) = &line.parent {
                "forked from " a href=(link::moment(address, *at)) { bdi { (name) } }
                @if let Some(at) = at { " at message " (at) }
                " · "
            }
            (words::count(line.messages, "message"))
        }
        (slider(line, here.at, &said(&changes, moment)))
        (listed(line, here.at))
        div.travel {
            div data-part="head" { (head(line, here)) }
            div.transcript data-part="transcript" { (transcript(&moment.window, here, line)) }
            div.state {
                section.book aria-labelledby="book" {
                    h2 #book { "Lorebook" }
                    (part("source"))
                    div data-part="changes" { (told(&changes, moment)) }
                    ul.entries data-list="facts" { (entries(line, here, &changes, false)) }
                    details.registries {
                        summary { "Registries and indexes" }
                        p.quiet { "Extensions keep these lists to find entries by. They grow and shrink with the entries." }
                        ul.entries data-list="registries" { (entries(line, here, &changes, true)) }
                    }
                    (part("left"))
                }
                (part("scene"))
                (part("recap"))
                (part("queue"))
                (part("variables"))
            }
        }
    };
    Page { here: Here::Stories, title: title(line, here), styles: &["moment"], scripts: &["moment"], body }
}

/// What becomes another when one travels.
#[derive(Debug, Serialize)]
pub struct SliderParts {
    /// The message
    at: usize,
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
    let before = before.as_ref().filter(|_| !all);
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
    let known: HashSet<String> = before.map_or_else(HashSet::new, |before| {
        keyed(before).map(|(key, e)| entry(&line.chat, &key, e, None).into_string()).collect()
    });
    let mut entries = BTreeMap::new();
    let mut lists: BTreeMap<&'static str, Vec<String>> = [("facts", vec![]), ("registries", vec![])].into();
    for (key, found) in keyed(here) {
        let change = changes.of.get(&key);
        let plain = entry(&line.chat, &key, found, None).into_string();
        if let Some(change) = change {
            entries.insert(key.clone(), entry(&line.chat, &key, found, Some(change)).into_string());
        } else if !known.contains(&plain) {
            entries.insert(key.clone(), plain);
        }
        let list = if found.role == "fact" { "facts" } else { "registries" };
        lists.entry(list).or_default().push(key);
    }
    SliderParts {
        at: here.at,
        title: format!("{} · Forklore", title(line, here)),
        said: said(&changes, moment),
        steps: steps(line, here.at),
        parts: fresh,
        lists,
        entries,
    }
}

fn title(line: &Line, here: &ShowReport) -> String {
    format!("Message {} of {}", here.at, line.name)
}
