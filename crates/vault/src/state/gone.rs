//! What was played in chats that are gone: it was written into books that others have still.

use forklore_core::format::book::EntryImage;
use forklore_core::format::names::book_stem;
use forklore_core::state::{BookEvidence, Content, Scene, Sight, Witness};
use forklore_fs::PathError;

use crate::Library;
use crate::history::{GoneScenes, history_error};
use crate::read::snapshots::StoredSighting;

impl Library {
    /// Adds the scenes that were written into a book by chats that are gone, and that nobody has from them.
    pub(super) fn add_scenes_of_gone(&self, evidence: &mut BookEvidence) -> Result<(), PathError> {
        let Some(history) = self.history()? else { return Ok(()) };
        let book = evidence.book.clone();
        for name in self.names_of(&book) {
            let is_known = |clock: i64| {
                let mut done = evidence.scenes.iter().filter(|scene| scene.finished < i64::MAX);
                done.any(|scene| scene.started <= clock && clock <= scene.finished)
            };
            for gone in history.scenes_of_gone(name, self, &is_known).map_err(history_error)? {
                self.add_scenes(&gone, evidence);
            }
        }
        Ok(())
    }

    fn add_scenes(&self, gone: &GoneScenes, evidence: &mut BookEvidence) {
        // With the message that each ended with.
        let mut own: Vec<(usize, usize)> = Vec::new();
        for (message, scene) in &gone.scenes {
            for version in &scene.versions {
                let is_of = |name: &str| *self.known_as(&book_stem(name)) == *evidence.book;
                let known = |scene: &Scene| scene.started == version.started;
                if !version.book.as_deref().is_some_and(is_of) || evidence.scenes.iter().any(known) {
                    continue;
                }
                own.push((*message, evidence.scenes.len()));
                evidence.scenes.push(Scene {
                    started: version.started,
                    finished: if version.combined { version.clock } else { i64::MAX },
                    written: version.written.clone(),
                    events: Vec::new(),
                    carriers: Vec::new(),
                    origin: None,
                });
                let same = |s: &&StoredSighting| {
                    s.message == *message && (s.version, s.clock) == (version.number, version.clock)
                };
                let stored = gone.snapshots.sightings.iter().find(same);
                let Some(places) = stored.and_then(|stored| stored.entries.as_ref()) else { continue };
                let image = |place: &u32| gone.snapshots.images.get(*place as usize).cloned();
                let entries: Vec<EntryImage> = places.iter().filter_map(image).collect();
                if !entries.is_empty() {
                    let witness = Witness::Scene(evidence.scenes.len() - 1);
                    evidence.sights.push(Sight {
                        time: version.clock,
                        witness,
                        content: Content::Whole(entries.into()),
                    });
                }
            }
        }
        // A version of the running recap was made while its scene was combined.
        for version in gone.recap.iter().flat_map(|recap| &recap.versions) {
            let made = |(message, n): &&(usize, usize)| {
                let scene = &evidence.scenes[*n];
                *message == version.scene && scene.started <= version.clock && version.clock <= scene.finished
            };
            if let Some((_, n)) = own.iter().find(made) {
                evidence.scenes[*n].events.extend(version.events.iter().cloned());
            }
        }
    }
}
