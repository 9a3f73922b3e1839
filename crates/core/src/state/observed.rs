//! [`Observed`]: what history saw of a book, and where in the story that belongs.
//!
//! A change belongs to the scene whose processing made it, else to the message that was the last when it was first seen. The
//! extension's queue, which is an entry of the same book, tells what is being processed; so does the scene's own snapshot, later.

use super::{Cause, Place, Sighting};
use crate::adapter::Work;
use crate::format::book::EntryImage;

/// One look at a book.
#[derive(Debug, Clone)]
pub struct Observed {
    /// Its number in history.
    pub seq: u64,
    /// When, in milliseconds since 1970. Never before that of the observation before it.
    pub clock: i64,
    /// Name of the book.
    pub book: String,
    /// The last message of the chat that was being played.
    pub head: Place,
    /// What was seen.
    pub seen: Seen,
    /// What was at work in the book just before, or was then.
    pub work: Vec<AtWork>,
}

/// What was seen of a book.
#[derive(Debug, Clone)]
pub enum Seen {
    /// All of it, for the first time.
    Whole {
        /// The entries
        entries: Vec<EntryImage>,
        /// For each entry, its place if the entry itself tells
        marks: Vec<Option<Place>>,
        /// Whether what nobody is known to have written may be ours
        ours: bool,
    },
    /// What is different from the last time.
    Changed {
        /// Entries as they were
        gone: Vec<EntryImage>,
        /// Entries as they are
        new: Vec<EntryImage>,
        /// For each of those, its place if the entry itself tells
        marks: Vec<Option<Place>>,
    },
}

/// A piece of work under way, and its scene's place seen from our line.
#[derive(Debug, Clone)]
pub struct AtWork {
    /// The work
    pub work: Work,
    /// The scene
    pub place: Place,
}

impl Observed {
    /// Where the change of a fact belongs: what `mark` says of a new entry, the scene that was at work on it, the scene whose
    /// snapshot will show that it wrote it, else the last message. And what that says about who made it.
    pub(super) fn place(
        &self,
        old: Option<&EntryImage>,
        new: Option<&EntryImage>,
        mark: Option<Place>,
        coming: &[&Sighting],
    ) -> (Place, Cause) {
        let Some(entry) = new.or(old) else { return (self.head, Cause::Hand) };
        if let (None, Some(mark)) = (old, mark) {
            return (mark, Cause::Memory);
        }
        if let Some(named) = self.work.iter().find(|at| at.work.names(entry)) {
            return (named.place, Cause::Scene);
        }
        let made = old.is_none() && is_entity(&entry.comment);
        if (made || is_reordering(old, new))
            && let Some(at) = self.work.iter().find(|at| at.work.makes)
        {
            return (at.place, Cause::Scene);
        }
        // While the queue is seen at work, what it does not name is not its doing.
        if !self.work.is_empty() {
            return (self.head, Cause::Hand);
        }
        let shows = |sighting: &&&Sighting| {
            let shown = |e: &EntryImage| e.uid == entry.uid && e.content() == entry.content();
            sighting.written.has(entry) && sighting.entries.iter().any(shown)
        };
        match (self.head, coming.iter().find(shows).and_then(|sighting| sighting.ours)) {
            (Place::Ours(head), Some(scene)) if scene <= head => (Place::Ours(scene), Cause::Scene),
            (head, _) => (head, Cause::Hand),
        }
    }
}

/// Whether a title is of the form that memory extensions give to what they find in a scene: "character-Mara".
fn is_entity(comment: &str) -> bool {
    comment.split_once('-').is_some_and(|(kind, name)| {
        !kind.is_empty() && !name.is_empty() && kind.chars().all(|c| c.is_alphanumeric() || c == '_')
    })
}

/// Whether an entry was only moved about among the others, as an extension does that sorts its book.
pub(super) fn is_reordering(old: Option<&EntryImage>, new: Option<&EntryImage>) -> bool {
    let (Some(old), Some(new)) = (old, new) else { return false };
    let moved = |key: &str| matches!(key, "order" | "displayIndex");
    let (before, after) = (old.raw(), new.raw());
    let same = |(key, value): (forklore_json::Raw<'_>, forklore_json::Raw<'_>)| {
        let Some(key) = key.as_text() else { return false };
        moved(&key) || before.get(&key).is_some_and(|old| old.says_the_same(value))
    };
    before.members().count() == after.members().count() && after.members().all(same)
}
