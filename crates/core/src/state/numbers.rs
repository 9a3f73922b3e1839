//! Numbers of entries: no two in a book have the same.

use std::collections::HashSet;

use super::entry::StateEntry;
use crate::format::book::EntryImage;

/// Gives numbers of their own to entries whose number an older one has. SillyTavern gives the number of a deleted entry to the next new
/// one; where both belong to the story, one of them has to give way.
pub(super) fn number_anew(entries: &mut [StateEntry]) -> Vec<(i64, i64)> {
    entries.sort_by_key(|entry| entry.born);
    let all: HashSet<i64> = entries.iter().filter_map(|entry| entry.image.uid).collect();
    let (mut used, mut renumbered) = (HashSet::new(), Vec::new());
    let mut free = (0..).filter(|uid| !all.contains(uid));
    for entry in entries {
        let Some(uid) = entry.image.uid else { continue };
        if used.insert(uid) {
            continue;
        }
        let Some(next) = free.next() else { continue };
        let number = next.to_string();
        let raw = entry.image.with_field("uid", forklore_json::Raw::trust(number.as_bytes()));
        entry.image = EntryImage::new(Some(next), &entry.image.comment, raw.raw());
        entry.inferred.push("uid".to_owned());
        renumbered.push((uid, next));
    }
    renumbered
}
