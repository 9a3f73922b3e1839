//! [`fold`]: the changes that belong to a message, played in order, and a word about those that do not.

use std::sync::Arc;

use super::merge::apply;
use super::{Change, Origin, Place};
use crate::adapter::{EntryRole, entry_role};
use crate::format::book::EntryImage;

/// A book being put together from changes.
#[derive(Debug, Clone, Default)]
pub struct Fold {
    entries: Vec<StateEntry>,
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

/// The book at message `at` of a line whose last message is `head`; `carry` says whether undated entries come along.
///
/// What is left out is told of this line's later messages, and of what others wrote into the book named `book`.
pub fn fold(changes: &[Change], at: usize, head: usize, carry: bool, book: Option<&str>) -> BookState {
    let mut fold = Fold::default();
    let mut skipped: Vec<(&Change, Why)> = Vec::new();
    let mut basis = None;
    for change in changes {
        let creation = change.before.is_none();
        let verdict = match change.place {
            Place::Start => Ok(false),
            Place::Ours(message) if message <= at => {
                basis = basis.max(Some(message));
                Ok(false)
            }
            Place::Ours(message) => Err(Why::Later(message)),
            Place::Elsewhere(origin) => Err(Why::Elsewhere(origin)),
            Place::Unattributed => Err(Why::Unattributed),
            Place::Undated | Place::Since(_) if at >= head => Ok(false),
            Place::Undated if carry => Ok(true),
            // It may have been there already: carried and marked. A mere change of what is known waits for the head.
            Place::Since(message) if creation && carry && at >= message => Ok(true),
            Place::Undated => Err(Why::Undated),
            Place::Since(message) => Err(Why::Since(message)),
        };
        match verdict {
            Ok(undated) => fold.play_marked(change, undated),
            Err(why) => skipped.push((change, why)),
        }
    }
    let mut left_out: Vec<LeftOut> = Vec::new();
    for (change, why) in skipped {
        let Some(entry) = change.after.as_ref().filter(|_| change.is_telling()) else { continue };
        let foreign = matches!(why, Why::Elsewhere(_) | Why::Unattributed);
        if entry_role(&entry.comment) != EntryRole::Fact || (foreign && book != Some(change.book.as_str())) {
            continue;
        }
        let there =
            fold.entries.iter().find(|e| e.image.uid == entry.uid && e.image.comment == entry.comment);
        let lines = match (there, &change.before) {
            // That a later text of ours differs goes without saying.
            (Some(_), _) if !foreign => continue,
            (Some(there), Some(before)) => {
                let added = added_lines(&before.content(), &entry.content());
                added.lines().filter(|line| !there.image.content().lines().any(|l| l == *line)).count()
            }
            _ => 0,
        };
        let listed = left_out.iter().any(|out| out.uid == entry.uid && out.comment == entry.comment);
        if !listed && (there.is_none() || lines > 0) {
            left_out.push(LeftOut { uid: entry.uid, comment: entry.comment.clone(), lines, why });
        }
    }
    let mut entries = fold.entries;
    entries.sort_by(|a, b| (a.image.uid, &a.image.comment).cmp(&(b.image.uid, &b.image.comment)));
    BookState { entries, left_out, basis }
}

/// The lines of `after` that `before` does not have.
fn added_lines(before: &str, after: &str) -> String {
    after.lines().filter(|line| !before.lines().any(|l| l == *line)).collect::<Vec<_>>().join("\n")
}

impl Fold {
    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries as they stand.
    pub fn images(&self) -> Vec<EntryImage> {
        self.entries.iter().map(|entry| entry.image.clone()).collect()
    }

    /// Whether there is an entry with this title.
    pub fn has_title(&self, title: &str) -> bool {
        self.entries.iter().any(|entry| &*entry.image.comment == title)
    }

    /// The entry with the same number and title.
    pub fn like(&self, wanted: &EntryImage) -> Option<EntryImage> {
        let same = |e: &&StateEntry| e.image.uid == wanted.uid && e.image.comment == wanted.comment;
        self.entries.iter().find(same).map(|entry| entry.image.clone())
    }

    /// Plays one change.
    pub fn play(&mut self, change: &Change) {
        self.play_marked(change, false);
    }

    fn play_marked(&mut self, change: &Change, undated: bool) {
        let message = match change.place {
            Place::Ours(message) => Some(message),
            _ => None,
        };
        let place = change.before.as_ref().or(change.after.as_ref()).and_then(|entry| self.find(entry));
        match (&change.before, &change.after) {
            (_, None) => {
                if let Some(i) = place {
                    self.entries.remove(i);
                }
            }
            (Some(before), Some(after)) if place.is_some() => {
                let entry = &mut self.entries[place.unwrap_or_default()];
                let exact = entry.image.agrees_with(before);
                entry.image = apply(&entry.image, before, after);
                if !exact && entry.image.content() != after.content() {
                    entry.inferred = vec!["content".to_owned()];
                }
                entry.message = message.or(entry.message);
                entry.undated = undated;
            }
            // Another line made the entry, ours added to it: what we added is ours, the rest is not.
            (Some(before), Some(after)) => {
                let added = added_lines(&before.content(), &after.content());
                if !added.is_empty() {
                    let image = after.with_content(&added);
                    self.entries.push(StateEntry {
                        image,
                        message,
                        undated,
                        inferred: vec!["content".to_owned()],
                    });
                }
            }
            (None, Some(after)) => {
                let fresh = StateEntry { image: after.clone(), message, undated, inferred: Vec::new() };
                match place {
                    Some(i) => self.entries[i] = fresh,
                    None => self.entries.push(fresh),
                }
            }
        }
    }

    /// The entry that an image shows: by number and title, else by number alone, else, without a number, by title.
    fn find(&self, wanted: &EntryImage) -> Option<usize> {
        let exact = |e: &StateEntry| e.image.uid == wanted.uid && e.image.comment == wanted.comment;
        let same_uid = |e: &StateEntry| wanted.uid.is_some() && e.image.uid == wanted.uid;
        let found = self.entries.iter().position(exact);
        found.or_else(|| self.entries.iter().position(same_uid))
    }
}
