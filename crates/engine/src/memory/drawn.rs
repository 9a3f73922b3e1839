//! [`Drawn`]: entries as scene after scene has them, each drawn once as long as it stays the same.

use std::collections::HashMap;
use std::sync::Arc;

use forklore_core::adapter::OWN;
use forklore_core::adapter::own::OwnEntry;
use forklore_core::format::book::EntryImage;

/// Entries as they were last drawn, by their numbers: from scene to scene few become others.
#[derive(Default)]
pub(super) struct Drawn {
    images: HashMap<i64, (OwnEntry, EntryImage)>,
    snapshots: HashMap<i64, (EntryImage, Arc<[u8]>)>,
}

impl Drawn {
    /// Entries as they are in the book; `image` draws one.
    pub(super) fn images(
        &mut self,
        entries: &[OwnEntry],
        image: impl Fn(&OwnEntry) -> EntryImage,
    ) -> Vec<EntryImage> {
        let mut drawn = Vec::with_capacity(entries.len());
        for entry in entries {
            let now = match self.images.get(&entry.uid) {
                Some((same, image)) if same == entry => image.clone(),
                _ => {
                    let now = image(entry);
                    self.images.insert(entry.uid, (entry.clone(), now.clone()));
                    now
                }
            };
            drawn.push(now);
        }
        drawn
    }

    /// Entries as a scene keeps them.
    pub(super) fn snapshots(&mut self, entries: &[EntryImage], book: &str) -> Vec<Arc<[u8]>> {
        let mut drawn = Vec::with_capacity(entries.len());
        for entry in entries {
            let known = entry.uid.and_then(|uid| self.snapshots.get(&uid)).filter(|(same, _)| same == entry);
            let snapshot =
                known.map_or_else(|| OWN.own_snapshot(entry, book), |(_, snapshot)| snapshot.clone());
            if let Some(uid) = entry.uid {
                self.snapshots.insert(uid, (entry.clone(), snapshot.clone()));
            }
            drawn.push(snapshot);
        }
        drawn
    }
}
