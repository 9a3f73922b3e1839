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
pub(super) struct Changes<'a> {
    /// By key of the entry
    pub(super) of: HashMap<Key<'a>, Difference>,
    /// New, changed and gone entries that are facts
    new: Vec<Key<'a>>,
    changed: Vec<Key<'a>>,
    gone: Vec<Key<'a>>,
    /// The recap's version, if it is another
    recap: Option<Option<i64>>,
    /// The scene, if it is another
    scene: Option<String>,
}

pub(super) enum Difference {
    New,
    Changed { text: TextDiff, keys: bool, switched: bool },
}

/// What an entry is known by along the line. A step is made of thousands of them: what is seen of it, [`Key::id`], is only worked out for those
/// that are shown.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key<'a> {
    uid: Option<i64>,
    title: &'a str,
    /// How many of the same number and title come up to this one
    twin: usize,
}

impl Key<'_> {
    /// The id of its element.
    pub(super) fn id(&self) -> String {
        let name = format!("{:?} {} {}", self.uid, self.title, self.twin);
        let hash: String = blake3::hash(name.as_bytes()).to_hex().chars().take(12).collect();
        format!("e{hash}")
    }
}

/// Entries with what they are known by.
pub(super) fn keyed(report: &ShowReport) -> impl Iterator<Item = (Key<'_>, &ShowEntry)> {
    let mut seen: HashMap<(Option<i64>, &str), usize> = HashMap::with_capacity(report.book.entries.len());
    report.book.entries.iter().map(move |entry| {
        let (uid, title) = (entry.uid(), entry.comment());
        let twin = seen.entry((uid, title)).or_default();
        *twin += 1;
        (Key { uid, title, twin: *twin }, entry)
    })
}

pub(super) fn changes(moment: &Moment) -> Changes<'_> {
    let (here, Some(before)) = (&moment.here, &moment.before) else { return Changes::default() };
    let mut changes = Changes::default();
    let mut old: HashMap<Key<'_>, &ShowEntry> = keyed(before).collect();
    let mut effort = Effort::default();
    for (key, entry) in keyed(here) {
        let fact = entry.role == EntryRole::Fact;
        let Some(was) = old.remove(&key) else {
            if fact {
                changes.new.push(key);
            }
            changes.of.insert(key, Difference::New);
            continue;
        };
        // Most are, and nothing has to be read of them.
        if was.is_same(entry) {
            continue;
        }
        let (keys, switched) = (was.keys() != entry.keys(), was.is_disabled() != entry.is_disabled());
        if was.content() != entry.content() || keys || switched {
            let text = TextDiff::of(&was.content(), &entry.content(), &mut effort);
            if fact {
                changes.changed.push(key);
            }
            changes.of.insert(key, Difference::Changed { text, keys, switched });
        }
    }
    let gone = keyed(before).filter(|(key, entry)| old.contains_key(key) && entry.role == EntryRole::Fact);
    changes.gone = gone.map(|(key, _)| key).collect();
    let version = |report: &ShowReport| report.running_recap.current_version;
    changes.recap = (version(here) != version(before)).then(|| version(here));
    let scene = |report: &ShowReport| report.scene.as_ref().map(|scene| (scene.message, scene.name.clone()));
    changes.scene = scene(here).filter(|now| scene(before).as_ref() != Some(now)).and_then(|(_, name)| name);
    changes
}

/// What changed, in a sentence that is read out.
pub(super) fn said(changes: &Changes<'_>, moment: &Moment) -> String {
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
pub(super) fn told(changes: &Changes<'_>, moment: &Moment) -> Markup {
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
                    @for key in list.iter().take(LISTED) {
                        li class=(class) { a href={ "#" (key.id()) } { span.sign aria-hidden="true" { (sign) } (marks::title(key.title)) " " em { (word) } } }
                    }
                }
                @for key in changes.gone.iter().take(LISTED) {
                    li.gone { span { span.sign aria-hidden="true" { "−" } (marks::title(key.title)) " " em { "gone" } } }
                }
                @let hidden: usize = [changes.new.len(), changes.changed.len(), changes.gone.len()].iter().map(|n| n.saturating_sub(LISTED)).sum();
                @if hidden > 0 { li.rest { span { "and " (words::number(hidden)) " more" } } }
            } }
        }
    }
}
