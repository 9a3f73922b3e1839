//! [`of_today`]: the state of a lorebook of which nobody knows anything but what it holds now.
//!
//! A book can have a million entries. Where nothing but the file tells of it, what [`Life`](super::Life) and
//! [`fold()`](super::fold()) would work out is known beforehand: everything in it is undated, and as it is.

use super::fold::StateEntry;
use super::sight::{BookEvidence, Content, Sight, Witness};
use super::thing::Thing;
use crate::adapter::{EntryRole, entry_role};
use crate::format::book::EntryImage;

/// The entries of a book that only whoever asks now has seen, that nobody keeps and whoever uses it shares by choice; `None` if more is
/// known of it, or if something in it is no plain entry with a number of its own. Before the last message nothing tells that they were
/// there: they are `undated`.
pub fn of_today(evidence: &BookEvidence, undated: bool) -> Option<Vec<StateEntry>> {
    let BookEvidence { book, keepers, by_choice, scenes, sights, elsewhere, .. } = evidence;
    let [Sight { witness: Witness::Now, content: Content::Whole(images), .. }] = &sights[..] else {
        return None;
    };
    if !keepers.is_empty() || !by_choice || !scenes.is_empty() || !elsewhere.is_empty() {
        return None;
    }
    let plain = |image: &EntryImage| matches!(entry_role(&image.comment), EntryRole::Fact | EntryRole::Index);
    if !images.iter().all(plain) {
        return None;
    }
    let mut numbers: Vec<i64> = images.iter().map(|image| image.uid).collect::<Option<_>>()?;
    numbers.sort_unstable();
    if numbers.windows(2).any(|pair| pair[0] == pair[1]) {
        return None;
    }
    drop(numbers);
    let entry = |(number, image): (u32, &EntryImage)| {
        let mut entry = StateEntry::plain(image.clone());
        (entry.thing, entry.undated) = (Some(Thing::new(book, number)), undated);
        entry
    };
    let mut entries: Vec<StateEntry> = (1..).zip(images.iter()).map(entry).collect();
    entries.sort_unstable_by_key(|entry| entry.image.uid);
    Some(entries)
}
