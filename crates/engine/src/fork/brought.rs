//! What a fork is made with besides what its parent has ([`Brought`]): another line's lore, its messages ([`More`]), and what goes on of
//! its timed effects ([`Timers`]).

use std::ops::Range;

use forklore_core::adapter::Keepers;
use forklore_core::format::book::EntryImage;
use forklore_core::format::record::{Appended, Learnt};
use forklore_core::format::revision::Revision;
use forklore_core::state::StateEntry;
use forklore_fs::{PathError, VaultPath};
use forklore_json::Raw;
use forklore_vault::{ChatIx, Library};

use crate::header::timers_along;
use crate::memory_record::MemoryRecord;

/// What a fork is made with besides what its parent has.
#[derive(Debug, Clone)]
pub(crate) struct Brought {
    /// The entries of its book, if not as the parent has them
    pub(crate) entries: Option<Vec<EntryImage>>,
    /// The name that its book is called after, if the parent has none
    pub(crate) book: Option<String>,
    /// Whose lore comes along, as the record says
    pub(crate) learnt: Option<Learnt>,
    /// Messages of another chat that follow the parent's
    pub(crate) more: Option<More>,
    /// What goes on here of the other chat's timed effects
    pub(crate) timers: Option<Timers>,
    /// What its header says of its memory, if that is told something by it
    pub(crate) memory: Option<MemoryRecord>,
}

/// Messages of another chat.
#[derive(Debug, Clone)]
pub(crate) struct More {
    /// Its file, and what of it comes along
    pub(crate) file: VaultPath,
    pub(crate) range: Range<u64>,
    /// The moment of the last one behind the parent's
    pub(crate) moment: String,
    /// Where they come from, as the record says
    pub(crate) appended: Appended,
}

impl More {
    /// How many they are.
    pub(crate) fn count(&self) -> usize {
        self.appended.message + 1 - self.appended.first
    }

    /// The entries of a book that says of some that they were written from messages after `at`: where others follow, they say so no more.
    /// What is told of them was known before, and the extension has nothing of those messages yet.
    pub(crate) fn unmarked(entries: &[StateEntry], at: usize) -> Option<Vec<EntryImage>> {
        let images: Vec<EntryImage> = entries.iter().map(|entry| entry.image.clone()).collect();
        let keepers = Keepers::new(|adapter| adapter.kept(&images));
        let is_later = |image: &EntryImage| {
            let last = keepers.layers(image, &images).pop();
            last.and_then(|(mark, _)| mark).is_some_and(|mark| mark.message > at)
        };
        let unmarked: Vec<EntryImage> = images
            .iter()
            .map(|image| if is_later(image) { keepers.taken_over(image) } else { image.clone() })
            .collect();
        (unmarked != images).then_some(unmarked)
    }
}

/// Timed effects of another chat's entries that come along.
#[derive(Debug, Clone)]
pub(crate) struct Timers {
    /// That chat, and the last message of it that counts
    pub(crate) from: (ChatIx, usize),
    /// Its effects, as its header has them
    pub(crate) timers: Vec<u8>,
    /// Numbers there and the entries here
    pub(crate) entries: Vec<(i64, EntryImage)>,
}

impl Timers {
    /// What they change in the header of a fork of chat `c` at message `at`, whose book has this name.
    pub(crate) fn revisions(
        &self,
        library: &Library,
        (c, at): (ChatIx, usize),
        book: &str,
    ) -> Result<Vec<Revision>, PathError> {
        let entry = |uid: i64| {
            let entry = self.entries.iter().find(|(there, _)| *there == uid);
            entry.map(|(_, entry)| entry.clone())
        };
        timers_along(library, self.from, (c, at), Raw::trust(&self.timers), book, &entry)
    }
}
