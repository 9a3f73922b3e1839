//! The state at message N, by one rule.
//!
//! Every known change of an entry has a clock order and a story position; the book at N is, per entry, the last change in
//! clock order whose position is at most N and on this line. [`Evidence`] is what is known; [`replay()`] turns it into
//! [`Change`]s, each with a [`Place`]; [`fold()`] plays those that belong to a message into a [`BookState`]; [`blame()`] tells which
//! of them each part of an entry comes from.
//!
//! Evidence is of four kinds: [`Sighting`]s of a whole book (scene snapshots), [`Event`]s (entries that are known to belong to a
//! scene although no snapshot of it has them), what history has [`Observed`] of a book, and the book as it is [`Live`].

mod blame;
mod complete;
mod fold;
mod merge;
mod observed;
mod replay;

pub use blame::{Blamed, blame};
pub use complete::{complete, default_of, place_of};
pub use fold::{BookState, Carry, Fold, LeftOut, StateEntry, Why, fold};
pub use merge::{apply, merge_lines};
pub use observed::{AtWork, Observed, Seen};
pub use replay::{Stain, filled, holes, replay, stains};

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use forklore_json::Raw;
use schemars::JsonSchema;
use serde::Serialize;

use crate::adapter::{EntryRole, Written, entry_role};
use crate::format::book::EntryImage;

/// A whole book, seen at some time in some place of the story.
#[derive(Debug, Clone)]
pub struct Sighting {
    /// When, in milliseconds since 1970. Only the order counts.
    pub clock: i64,
    /// Name of the book. Two chats with the same book see each other's changes.
    pub book: String,
    /// Where in the story: in the work of which chat, at which message.
    pub origin: Origin,
    /// The message of *our* line that this belongs to; `None` if it is on another line.
    pub ours: Option<usize>,
    /// The entries.
    pub entries: Arc<[EntryImage]>,
    /// Which of them are known to have been written there.
    pub written: Written,
}

/// A place in the story: a chat, by number, and a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Number of the chat.
    pub chat: usize,
    /// Number of the message.
    pub message: usize,
}

/// An entry that a scene's processing made after the scene's snapshot was taken, known by name and hash of its text.
#[derive(Debug, Clone)]
pub struct Event {
    /// Name without type prefix.
    pub name: String,
    /// The extension's hash of the text.
    pub hash: String,
    /// When its scene was merged, in milliseconds since 1970.
    pub clock: i64,
    /// The scene.
    pub origin: Origin,
    /// The message of our line that this belongs to; `None` if it is on another line.
    pub ours: Option<usize>,
}

/// The book as it is now.
#[derive(Debug, Clone)]
pub struct Live {
    /// Its name.
    pub book: String,
    /// Whether what nobody else is known to have written may be ours: we are the only ones, or the book was made for us.
    pub ours: bool,
    /// The entries.
    pub entries: Vec<EntryImage>,
    /// For each entry, its place if the entry itself tells.
    pub marks: Vec<Option<Place>>,
}

/// All that is known about a book on one line.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// Sightings in any order.
    pub sightings: Vec<Sighting>,
    /// Events in any order.
    pub events: Vec<Event>,
    /// What history saw, in the order in which it was seen.
    pub observed: Vec<Observed>,
    /// The book as it is now, if it is there.
    pub live: Option<Live>,
    /// Entries of related chats' books as they are now. Only events are looked for there.
    pub elsewhere: Vec<EntryImage>,
    /// Lines that books of forks were made with although no scene had told them ([`line_mark`]): their records keep them.
    pub start: Arc<HashSet<u64>>,
}

/// A mark by which a line of an entry is known again.
pub fn line_mark(comment: &str, line: &str) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(comment.as_bytes());
    hasher.update(&[0]);
    hasher.update(line.as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    u64::from_le_bytes(bytes)
}

/// Marks of the lines in `entries` that the last scene before did not show.
pub fn untold(entries: &[EntryImage], scene: &[EntryImage]) -> Vec<u64> {
    let mut told: HashMap<(Option<i64>, &str), Vec<Raw<'_>>> = HashMap::with_capacity(scene.len());
    for entry in scene {
        told.entry((entry.uid, &entry.comment)).or_default().extend(entry.raw().get("content"));
    }
    let mut marks: Vec<u64> = Vec::new();
    for entry in entries.iter().filter(|e| entry_role(&e.comment) == EntryRole::Fact) {
        let Some(content) = entry.raw().get("content") else { continue };
        let told = told.get(&(entry.uid, &entry.comment)).map_or(&[][..], Vec::as_slice);
        // Nearly always it is the same text: then no line needs to be looked at.
        if told.contains(&content) {
            continue;
        }
        let told: Vec<_> = told.iter().filter_map(|content| content.as_text()).collect();
        let told: HashSet<&str> = told.iter().flat_map(|text| text.lines()).collect();
        let text = content.as_text().unwrap_or_default();
        let untold = text.lines().filter(|line| !told.contains(line));
        marks.extend(untold.map(|line| line_mark(&entry.comment, line)));
    }
    marks.sort_unstable();
    marks.dedup();
    marks
}

impl Evidence {
    /// Events of our line whose text nothing has shown so far: related books are worth a look.
    pub fn lacks_events(&self) -> bool {
        let shown = |event: &Event| {
            let live = self.live.iter().flat_map(|live| &live.entries);
            self.sightings.iter().flat_map(|s| &*s.entries).chain(live).any(|entry| event.is(entry))
        };
        self.events.iter().any(|event| event.ours.is_some() && !shown(event))
    }
}

impl Event {
    /// Whether an entry is this event by name. Its text may have been added to.
    pub fn is(&self, entry: &EntryImage) -> bool {
        let prefixed = |rest: &str| rest.is_empty() || rest.ends_with('-');
        entry.comment.strip_suffix(&self.name).is_some_and(prefixed)
    }

    /// The names of events that an entry with this title could be: see [`Event::is`].
    pub fn names(title: &str) -> impl Iterator<Item = &str> {
        std::iter::once(title).chain(title.match_indices('-').map(|(at, _)| &title[at + 1..]))
    }
}

/// Where in the story a change belongs, seen from our line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Before everything: part of an empty book.
    Start,
    /// At this message of our line.
    Ours(usize),
    /// Somewhere else in the story.
    Elsewhere(Origin),
    /// Beyond the message at which our line left this chat, though before it did so by the clock.
    Beyond(Origin),
    /// No evidence tells when.
    Undated,
    /// At or after this message of our line, nobody knows when.
    Since(usize),
    /// Already there at message `until` of our line, and not before `from`, where that is known.
    Between {
        /// The last message at which it was certainly not there
        from: Option<usize>,
        /// The message at which it was first seen
        until: usize,
    },
    /// Made by nobody knows whom in a book that was made for another chat.
    Unattributed,
}

/// One change of one entry.
#[derive(Debug, Clone)]
pub struct Change {
    /// When, in milliseconds since 1970; `i64::MAX` for what is only known from the book as it is now.
    pub clock: i64,
    /// Where in the story.
    pub place: Place,
    /// Name of the book.
    pub book: String,
    /// The entry before; `None` if it was new.
    pub before: Option<EntryImage>,
    /// The entry after; `None` if it was deleted.
    pub after: Option<EntryImage>,
    /// The observation in which history saw it, if it did.
    pub observed: Option<u64>,
    /// What made it.
    pub cause: Cause,
}

/// What made a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// The processing of the scene that it belongs to.
    Scene,
    /// The entry says itself which messages it was made from.
    Memory,
    /// It was seen to happen, and no extension was seen at work on it.
    Hand,
    /// It was so when the book was seen: nobody saw it happen.
    Seen,
}

impl Change {
    /// The entry that this is about.
    pub fn entry(&self) -> Option<&EntryImage> {
        self.after.as_ref().or(self.before.as_ref())
    }

    /// Whether the entry came into being, or its text changed: more than being moved about.
    pub fn is_telling(&self) -> bool {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => {
                before.content() != after.content() || before.comment != after.comment
            }
            _ => true,
        }
    }
}
