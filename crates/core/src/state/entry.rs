//! [`StateEntry`]: an entry of a book at a message.

use super::roll::{Roll, join};
use super::thing::Thing;
use crate::format::book::EntryImage;

/// One entry of a book at a message.
#[derive(Debug, Clone)]
pub struct StateEntry {
    /// What it is.
    pub thing: Option<Thing>,
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
    /// The lines of a registry; they are part of its text in the end.
    pub(super) lines: Vec<EntryImage>,
    pub(super) born: usize,
}

impl StateEntry {
    /// An entry as it stands in a book.
    pub fn plain(image: EntryImage) -> Self {
        Self {
            thing: None,
            image,
            message: None,
            undated: false,
            inferred: Vec::new(),
            observed: false,
            lines: Vec::new(),
            born: 0,
        }
    }

    /// The entry with everything that belongs to it.
    pub(super) fn whole(&self, roll: &Roll) -> Self {
        let mut entry = self.clone();
        if !entry.lines.is_empty() {
            roll.sort(&entry.image.comment, &mut entry.lines);
            entry.image = join(&entry.image, &entry.lines);
            entry.lines.clear();
        }
        entry
    }
}
