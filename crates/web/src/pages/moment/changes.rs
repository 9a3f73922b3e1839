//! What is not as it was where one comes from: [`Changes`].

use std::collections::HashMap;

use forklore_api::moment::Moment;
use forklore_core::adapter::EntryRole;
use forklore_core::diff::{Effort, TextDiff};
use forklore_engine::show::{ShowEntry, ShowReport};
use maud::{Markup, html};

use crate::pages::marks;
use crate::words;

/// So many entries of each kind are named.
const LISTED: usize = 30;

/// What is not as it was where one comes from.
#[derive(Default)]
pub(super) struct Changes {
    /// By key of the entry
    pub(super) of: HashMap<String, Difference>,
    /// Titles of new, changed and gone entries that are facts, with their keys
    new: Vec<(String, String)>,
    changed: Vec<(String, String)>,
    gone: Vec<String>,
    /// The recap's version, if it is another
    recap: Option<Option<i64>>,
    /// The scene, if it is another
    scene: Option<String>,
}

pub(super) enum Difference {
    New,
    Changed { text: TextDiff, keys: bool, switched: bool },
}

/// Entries with names that stay with them along the line.
pub(super) fn keyed(report: &ShowReport) -> impl Iterator<Item = (String, &ShowEntry)> {
    let mut seen: HashMap<(Option<i64>, &str), usize> = HashMap::new();
    report.book.entries.iter().map(move |entry| {
        let twin = seen.entry((entry.uid(), entry.comment())).or_default();
        *twin += 1;
        let name = format!("{:?} {} {twin}", entry.uid(), entry.comment());
        let hash: String = blake3::hash(name.as_bytes()).to_hex().chars().take(12).collect();
        (format!("e{hash}"), entry)
    })
}

pub(super) fn changes(moment: &Moment) -> Changes {
    let (here, Some(before)) = (&moment.here, &moment.before) else { return Changes::default() };
    let mut changes = Changes::default();
    let mut old: HashMap<String, &ShowEntry> = keyed(before).collect();
    let mut effort = Effort::default();
    for (key, entry) in keyed(here) {
        let fact = entry.role == EntryRole::Fact;
        let Some(was) = old.remove(&key) else {
            if fact {
                changes.new.push((key.clone(), entry.comment().to_owned()));
            }
            changes.of.insert(key, Difference::New);
            continue;
        };
        let (keys, switched) = (was.keys() != entry.keys(), was.is_disabled() != entry.is_disabled());
        if was.content() != entry.content() || keys || switched {
            let text = TextDiff::of(&was.content(), &entry.content(), &mut effort);
            if fact {
                changes.changed.push((key.clone(), entry.comment().to_owned()));
            }
            changes.of.insert(key, Difference::Changed { text, keys, switched });
        }
    }
    let gone = keyed(before).filter(|(key, entry)| old.contains_key(key) && entry.role == EntryRole::Fact);
    changes.gone = gone.map(|(_, entry)| entry.comment().to_owned()).collect();
    let version = |report: &ShowReport| report.running_recap.current_version;
    changes.recap = (version(here) != version(before)).then(|| version(here));
    let scene = |report: &ShowReport| report.scene.as_ref().map(|scene| (scene.message, scene.name.clone()));
    changes.scene = scene(here).filter(|now| scene(before).as_ref() != Some(now)).and_then(|(_, name)| name);
    changes
}

/// What changed, in a sentence that is read out.
pub(super) fn said(changes: &Changes, moment: &Moment) -> String {
    let at = moment.here.at;
    let Some(before) = &moment.before else { return format!("Message {at}: the line begins here.") };
    let mut told = Vec::new();
    for (n, word) in
        [(changes.new.len(), "new"), (changes.changed.len(), "changed"), (changes.gone.len(), "gone")]
    {
        match n {
            0 => {}
            n if told.is_empty() => told.push(format!("{} {word}", words::count(n, "entry"))),
            n => told.push(format!("{n} {word}")),
        }
    }
    if told.is_empty() {
        told.push(format!("the lorebook is as at message {}", before.at));
    }
    match changes.recap {
        Some(Some(version)) => told.push(format!("recap version {version}")),
        Some(None) => told.push("no recap yet".to_owned()),
        None => {}
    }
    if let Some(scene) = &changes.scene {
        told.push(format!("scene \"{scene}\""));
    }
    format!("Message {at}: {}.", told.join(", "))
}

/// What changed, to see.
pub(super) fn told(changes: &Changes, moment: &Moment) -> Markup {
    let Some(before) = &moment.before else { return html! {} };
    if changes.new.is_empty() && changes.changed.is_empty() && changes.gone.is_empty() {
        return html! { p.still { "Nothing differs from message " (before.at) "." } };
    }
    let kinds = [("new", "+", "new", &changes.new), ("changed", "~", "changed", &changes.changed)];
    html! {
        div.changes {
            p { "Against message " (before.at) ":" }
            // It scrolls where it is long, by keys, too.
            div.those tabindex="0" role="group" aria-label="What changed" { ul {
                @for (class, sign, word, list) in kinds {
                    @for (key, title) in list.iter().take(LISTED) {
                        li class=(class) { a href={ "#" (key) } { span.sign aria-hidden="true" { (sign) } (marks::title(title)) " " em { (word) } } }
                    }
                }
                @for title in changes.gone.iter().take(LISTED) {
                    li.gone { span { span.sign aria-hidden="true" { "−" } (marks::title(title)) " " em { "gone" } } }
                }
                @let hidden: usize = [changes.new.len(), changes.changed.len(), changes.gone.len()].iter().map(|n| n.saturating_sub(LISTED)).sum();
                @if hidden > 0 { li.rest { span { "and " (words::number(hidden)) " more" } } }
            } }
        }
    }
}
