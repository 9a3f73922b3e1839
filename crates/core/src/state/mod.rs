//! The state at message N, by one rule.
//!
//! Every known change of an entry has a clock order and a story position; the book at N is, per entry, the last change in
//! clock order whose position is at most N and on this line.
//!
//! [`BookEvidence`] is what is known of one book: every [`Sight`] of it, whoever saw it. [`Life`] puts the sights onto one timeline,
//! finds what changed from one to the next, and who made each change. [`seen_from`] looks at lives from one line: [`Change`]s, each
//! with a [`Place`]. [`fold()`] plays those that belong to a message into a [`BookState`]; [`blame()`] tells which of them each part of
//! an entry comes from.
//!
//! A new sight can only split an interval between two others or confirm one. So more evidence never makes an answer worse.

mod attribute;
mod author;
mod base;
mod begun;
mod blame;
mod build;
mod complete;
mod contamination;
mod entry;
mod fold;
mod life;
mod line;
mod logged;
mod logs;
mod mark;
mod merge;
mod noted;
mod numbers;
mod order;
mod roll;
mod shared;
mod sight;
mod sorted;
mod thing;
mod told;
mod view;

pub use author::Author;
pub use base::{Base, Made};
pub use blame::{Blamed, blame};
pub use complete::{complete, default_of, place_of};
pub use contamination::{Contamination, contamination, filled, holes};
pub use entry::StateEntry;
pub use fold::{BookState, Carry, Fold, LeftOut, Why, fold};
pub use life::{Difference, Life, SeenBy, SightOf};
pub use line::{Ancestor, Line};
pub use merge::{apply, merge_lines, overlay};
pub use order::is_clock_wrong;
pub use sight::{BookEvidence, Cast, Content, Head, Heir, Log, Look, Scene, Sight, Witness};
pub use thing::Thing;
pub use view::seen_from;

use crate::story::ChatIx;
use std::collections::HashMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::adapter::{EntryRole, entry_role};
use crate::format::book::EntryImage;

/// A place in the story: a chat, by number, and a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Number of the chat.
    pub chat: ChatIx,
    /// Number of the message.
    pub message: usize,
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
    /// Not there at message `from`, and there at message `until`, when history saw the book for the first time. That somebody looked tells
    /// nothing of the messages before.
    Met {
        /// The last message at which it was certainly not there
        from: usize,
        /// The message at which it was first seen
        until: usize,
    },
    /// Made by nobody knows whom in a book that was made for another chat.
    Unattributed,
    /// Made by one of several who went on with the book, of whom nobody knows which: perhaps by us, and not before message `from` of our line.
    Perhaps {
        /// The last message at which it was certainly not there
        from: Option<usize>,
    },
}

impl Place {
    /// Of a change that was certainly not there at one message and certainly there at another.
    fn dated(from: Option<usize>, until: Option<usize>) -> Self {
        match (from, until) {
            (Some(from), Some(until)) if from >= until => Self::Ours(until),
            (from, Some(until)) => Self::Between { from, until },
            (Some(from), None) => Self::Since(from),
            (None, None) => Self::Undated,
        }
    }

    /// The same, if nobody had looked at the book before.
    fn met(self) -> Self {
        match self {
            Self::Between { from: Some(from), until } => Self::Met { from, until },
            place => place,
        }
    }

    /// The same, if it is certain only from a later message on that it was there: between the two it may have been made.
    fn sure_from(self, message: Option<usize>) -> Self {
        let Some(message) = message else { return self };
        match self {
            Self::Between { from: None, until } if message > until => {
                Self::Between { from: None, until: message }
            }
            Self::Ours(until) | Self::Between { from: Some(_), until } if message > until => {
                Self::Met { from: until, until: message }
            }
            place => place,
        }
    }
}

/// What a line knows of its books.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// Every change, in clock order.
    pub changes: Vec<Change>,
    /// The order of lines in registries.
    roll: roll::Roll,
}

impl Known {
    /// What a line sees of the lives of books. Books come after those that they are copies of.
    pub fn of(lives: &[&Life], line: &Line<'_>) -> Self {
        let mut known = Self { changes: seen_from(lives, line), ..Self::default() };
        unite_registries(&mut known.changes);
        make_way(&mut known.changes);
        lives.iter().for_each(|life| known.roll.learn_from(&life.roll));
        known
    }

    /// The same without some changes.
    #[must_use]
    pub fn with(&self, changes: Vec<Change>) -> Self {
        Self { changes, roll: self.roll.clone() }
    }
}

/// A book has one registry of a title. Where a line goes through books of which nothing tells that one was made from the other, each has its
/// own: they are one list, whatever their books.
fn unite_registries(changes: &mut [Change]) {
    let mut firsts: HashMap<Arc<str>, (&str, Thing)> = HashMap::new();
    let mut same: HashMap<Thing, Thing> = HashMap::new();
    for change in changes.iter().filter(|change| !change.line && change.before.is_none()) {
        let made = change.after.as_ref().filter(|made| entry_role(&made.comment) == EntryRole::Registry);
        let Some(made) = made else { continue };
        let (book, first) =
            firsts.entry(made.comment.clone()).or_insert_with(|| (&*change.book, change.thing.clone()));
        // Whoever doubles a registry in its own book has two.
        if *book != change.book {
            same.insert(change.thing.clone(), first.clone());
        }
    }
    for change in changes.iter_mut().filter(|_| !same.is_empty()) {
        if let Some(first) = same.get(&change.thing) {
            change.thing = first.clone();
        }
    }
}

/// What was made in the place of something that had been deleted can belong to an earlier message than the deletion: a side prompt is deleted
/// and run again. Then the old one makes way there, because nobody ever had both.
fn make_way(changes: &mut [Change]) {
    let mut deleted: HashMap<(String, Arc<str>), usize> = HashMap::new();
    for n in 0..changes.len() {
        let change = &changes[n];
        match (&change.before, &change.after, change.place) {
            (Some(before), None, _) if !change.line => {
                deleted.insert((change.book.clone(), before.comment.clone()), n);
            }
            (None, Some(after), Place::Ours(message)) if !change.line => {
                let (book, title) = (change.book.clone(), after.comment.clone());
                let Some(gone) = deleted.remove(&(book, title)) else { continue };
                let gone = &mut changes[gone];
                if matches!(gone.place, Place::Ours(later) if later > message) {
                    gone.place = Place::Ours(message);
                }
            }
            _ => {}
        }
    }
}

/// One change of one entry.
#[derive(Debug, Clone)]
pub struct Change {
    /// What was changed.
    pub thing: Thing,
    /// Whether it is a line of a registry: then the images hold nothing but that line.
    pub line: bool,
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
    /// The chat in which it was made, if that is known.
    pub by: Option<ChatIx>,
    /// Whether it was written anew from the messages, whatever stood there before.
    pub rewrites: bool,
    /// Whether the book was made without this: nobody took it out.
    pub made_without: bool,
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

    /// The lines that were added at the end of a text, if nothing else was done to it.
    pub(crate) fn added(&self) -> Option<String> {
        let (before, after) = (self.before.as_ref()?, self.after.as_ref()?);
        let (was, is) = (before.content(), after.content());
        let added =
            is.strip_prefix(&*was).filter(|added| before.comment == after.comment && !added.is_empty());
        added.filter(|added| was.is_empty() || added.starts_with('\n')).map(str::to_owned)
    }

    /// Whether the entry came into being, or its text changed: more than being moved about.
    pub fn is_telling(&self) -> bool {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => {
                before.comment != after.comment
                    || before.look().0 != after.look().0
                    || before.content() != after.content()
            }
            _ => true,
        }
    }
}
