//! [`fold`]: the changes that belong to a message, played in order, and a word about those that do not.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::merge::apply;
use super::{Change, Origin, Place};
use crate::adapter::{EntryRole, entry_role};
use crate::format::book::EntryImage;

/// A book being put together from changes.
#[derive(Debug, Clone, Default)]
pub struct Fold {
    /// In order of appearance; `None` where one was deleted.
    entries: Vec<Option<StateEntry>>,
    /// Places by number.
    by_uid: HashMap<Option<i64>, Vec<usize>>,
    titles: HashMap<Arc<str>, usize>,
    /// Entries that others wrote into, by book and number: a later change of ours started from a text that is not ours.
    stained: HashSet<(String, Option<i64>)>,
}

/// One entry of a book at a message.
#[derive(Debug, Clone)]
pub struct StateEntry {
    /// The entry, with the fields that evidence shows.
    pub image: EntryImage,
    /// The message of our line that its last change belongs to; `None` if unknown or before the first.
    pub message: Option<usize>,
    /// Whether nothing tells that it existed at the message.
    pub undated: bool,
    /// Fields that no evidence of that time shows: taken from elsewhere, or merged.
    pub inferred: Vec<String>,
    /// Whether history saw its last change.
    pub observed: bool,
}

/// The book at a message.
#[derive(Debug, Clone, Default)]
pub struct BookState {
    /// Its entries, by uid.
    pub entries: Vec<StateEntry>,
    /// What is known and does not belong there.
    pub left_out: Vec<LeftOut>,
    /// The last message at or before the asked one that evidence is from.
    pub basis: Option<usize>,
}

/// An entry that is not in the book at a message, although it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Number of the entry.
    pub uid: Option<i64>,
    /// Title of the entry.
    pub comment: Arc<str>,
    /// How many of its lines are left out; 0 if all of it is.
    pub lines: usize,
    /// Why it is left out.
    pub why: Why,
}

/// Why something is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It belongs to a later message of this line.
    Later(usize),
    /// It came from elsewhere in the story.
    Elsewhere(Origin),
    /// It is undated, and undated entries are to be left.
    Undated,
    /// It was made after this message of our line, nobody knows when.
    Since(usize),
    /// Nobody knows who made it, in a book that was made for another chat.
    Unattributed,
}

/// What comes along although nothing proves that it belongs to the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carry {
    /// Entries that nothing dates
    pub undated: bool,
    /// What only the book as it is now shows. Not wanted while an extension is at work in it.
    pub since: bool,
}

/// The book at message `at` of a line whose last message is `head`.
///
/// What is left out is told of this line's later messages, and of what others wrote into the book named `book`.
pub fn fold(changes: &[Change], at: usize, head: usize, carry: Carry, book: Option<&str>) -> BookState {
    let mut fold = Fold::default();
    let mut skipped: Vec<(&Change, Why)> = Vec::new();
    let mut basis = None;
    for change in changes {
        match fold.step(change, at, head, carry) {
            Ok(_) => match change.place {
                Place::Ours(message) | Place::Between { until: message, .. } if message <= at => {
                    basis = basis.max(Some(message));
                }
                _ => {}
            },
            Err(why) => skipped.push((change, why)),
        }
    }
    let left_out = left_out(&fold, &skipped, book);
    let mut entries: Vec<StateEntry> = fold.entries.into_iter().flatten().collect();
    entries.sort_by(|a, b| (a.image.uid, &a.image.comment).cmp(&(b.image.uid, &b.image.comment)));
    BookState { entries, left_out, basis }
}

/// Whether a change belongs to message `at`, and if so whether only because nothing tells when it was made.
fn belongs(change: &Change, at: usize, head: usize, carry: Carry) -> Result<bool, Why> {
    let creation = change.before.is_none();
    match change.place {
        Place::Start => Ok(false),
        Place::Ours(message) if message <= at => Ok(false),
        Place::Ours(message) => Err(Why::Later(message)),
        Place::Elsewhere(origin) | Place::Beyond(origin) => Err(Why::Elsewhere(origin)),
        Place::Unattributed => Err(Why::Unattributed),
        Place::Between { until, .. } if until <= at => Ok(false),
        Place::Between { from, .. } if creation && carry.undated && from.is_none_or(|from| at >= from) => {
            Ok(true)
        }
        Place::Since(message) if !carry.since => Err(Why::Since(message)),
        Place::Undated | Place::Since(_) if at >= head => Ok(false),
        Place::Undated if carry.undated => Ok(true),
        // It may have been there already: carried and marked. A mere change of what is known waits for the head.
        Place::Since(message) if creation && carry.undated && at >= message => Ok(true),
        Place::Undated | Place::Between { from: None, .. } => Err(Why::Undated),
        Place::Since(message) | Place::Between { from: Some(message), .. } => Err(Why::Since(message)),
    }
}

/// What playing a change did: the place that an entry left, and the one that it came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Moved {
    pub(super) from: Option<usize>,
    pub(super) to: Option<usize>,
}

fn left_out(fold: &Fold, skipped: &[(&Change, Why)], book: Option<&str>) -> Vec<LeftOut> {
    let mut listed: HashSet<(Option<i64>, Arc<str>)> = HashSet::new();
    let mut left_out = Vec::new();
    for (change, why) in skipped {
        let Some(entry) = change.after.as_ref().filter(|_| change.is_telling()) else { continue };
        let foreign = matches!(why, Why::Elsewhere(_) | Why::Unattributed);
        if entry_role(&entry.comment) != EntryRole::Fact || (foreign && book != Some(change.book.as_str())) {
            continue;
        }
        let there = fold.exact(entry);
        let lines = match (there, &change.before) {
            // That a later text of ours differs goes without saying.
            (Some(_), _) if !foreign => continue,
            (Some(there), Some(before)) => {
                let added = added_lines(&before.content(), &entry.content());
                added.lines().filter(|line| !there.image.content().lines().any(|l| l == *line)).count()
            }
            _ => 0,
        };
        if (there.is_none() || lines > 0) && listed.insert((entry.uid, entry.comment.clone())) {
            left_out.push(LeftOut { uid: entry.uid, comment: entry.comment.clone(), lines, why: *why });
        }
    }
    left_out
}

/// The lines of `after` that `before` does not have.
fn added_lines(before: &str, after: &str) -> String {
    after.lines().filter(|line| !before.lines().any(|l| l == *line)).collect::<Vec<_>>().join("\n")
}

impl Fold {
    /// The entries as they stand.
    pub fn images(&self) -> Vec<EntryImage> {
        self.entries.iter().flatten().map(|entry| entry.image.clone()).collect()
    }

    /// Whether there is an entry with this title.
    pub fn has_title(&self, title: &str) -> bool {
        self.titles.get(title).is_some_and(|n| *n > 0)
    }

    /// The entry with the same number and title.
    pub fn like(&self, wanted: &EntryImage) -> Option<EntryImage> {
        self.exact(wanted).map(|entry| entry.image.clone())
    }

    fn exact(&self, wanted: &EntryImage) -> Option<&StateEntry> {
        let places = self.by_uid.get(&wanted.uid)?;
        places.iter().filter_map(|i| self.entries[*i].as_ref()).find(|e| e.image.comment == wanted.comment)
    }

    /// Plays one change.
    pub fn play(&mut self, change: &Change) {
        self.play_marked(change, false);
    }

    /// Plays a change if it belongs to message `at`, and else remembers that others were at work there.
    pub(super) fn step(
        &mut self,
        change: &Change,
        at: usize,
        head: usize,
        carry: Carry,
    ) -> Result<Moved, Why> {
        match belongs(change, at, head, carry) {
            Ok(undated) => Ok(self.play_marked(change, undated)),
            Err(why) => {
                if matches!(change.place, Place::Elsewhere(_) | Place::Unattributed) {
                    self.stained.extend(change.entry().map(|entry| (change.book.clone(), entry.uid)));
                }
                Err(why)
            }
        }
    }

    /// The entry at a place.
    pub(super) fn at(&self, place: usize) -> Option<&StateEntry> {
        self.entries.get(place)?.as_ref()
    }

    fn play_marked(&mut self, change: &Change, undated: bool) -> Moved {
        let message = match change.place {
            Place::Ours(message) | Place::Between { until: message, .. } if !undated => Some(message),
            _ => None,
        };
        let observed = change.observed.is_some();
        let fresh = |image: EntryImage, inferred| StateEntry { image, message, undated, inferred, observed };
        // What was seen as it happened is known to the letter, also where it built on something that belongs to a later message.
        if let Some(after) = change
            .after
            .as_ref()
            .filter(|after| observed && !self.stained.contains(&(change.book.clone(), after.uid)))
        {
            let before = change.before.as_ref().unwrap_or(after);
            let from = self.find(before).or_else(|| self.find(after));
            if let Some(i) = from {
                drop(self.take(i));
            }
            return Moved { from, to: Some(self.put(fresh(after.clone(), Vec::new()))) };
        }
        let place = change.before.as_ref().and_then(|entry| self.find(entry));
        match (&change.before, &change.after, place) {
            (_, None, Some(i)) => {
                drop(self.take(i));
                Moved { from: place, to: None }
            }
            (_, None, None) => Moved::default(),
            (Some(before), Some(after), Some(i)) => {
                let Some(mut entry) = self.take(i) else { return Moved::default() };
                let exact = entry.image.agrees_with(before);
                entry.image = apply(&entry.image, before, after);
                if !exact && entry.image.content() != after.content() {
                    entry.inferred = vec!["content".to_owned()];
                }
                entry.message = message.or(entry.message);
                entry.undated = undated;
                entry.observed = observed;
                Moved { from: place, to: Some(self.put(entry)) }
            }
            // Another line made the entry, ours added to it: what we added is ours, the rest is not.
            (Some(before), Some(after), None) => {
                let added = added_lines(&before.content(), &after.content());
                let image = (!added.is_empty()).then(|| after.with_content(&added));
                let to = image.map(|image| self.put(fresh(image, vec!["content".to_owned()])));
                Moved { from: None, to }
            }
            (None, Some(after), _) => {
                // The same once more, seen in another book. Entries without a number cannot be told apart: each counts.
                let again = after
                    .uid
                    .and_then(|_| self.find(after))
                    .filter(|i| self.entries[*i].as_ref().is_some_and(|e| e.image.comment == after.comment));
                if let Some(i) = again {
                    drop(self.take(i));
                }
                Moved { from: again, to: Some(self.put(fresh(after.clone(), Vec::new()))) }
            }
        }
    }

    fn put(&mut self, entry: StateEntry) -> usize {
        let place = self.entries.len();
        self.by_uid.entry(entry.image.uid).or_default().push(place);
        *self.titles.entry(entry.image.comment.clone()).or_default() += 1;
        self.entries.push(Some(entry));
        place
    }

    fn take(&mut self, i: usize) -> Option<StateEntry> {
        let entry = self.entries[i].take()?;
        if let Some(places) = self.by_uid.get_mut(&entry.image.uid) {
            places.retain(|place| *place != i);
        }
        if let Some(n) = self.titles.get_mut(&entry.image.comment) {
            *n -= 1;
        }
        Some(entry)
    }

    /// The entry that an image shows: by number and title, else by number alone, else, without a number, by title.
    fn find(&self, wanted: &EntryImage) -> Option<usize> {
        let places = self.by_uid.get(&wanted.uid)?;
        let titled =
            |i: &&usize| self.entries[**i].as_ref().is_some_and(|e| e.image.comment == wanted.comment);
        let found = places.iter().find(titled);
        found.or_else(|| places.first().filter(|_| wanted.uid.is_some())).copied()
    }
}
