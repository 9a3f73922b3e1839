//! [`Library::evidence`]: what is known about the book of one chat, gathered from its whole family.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use forklore_core::adapter::auto_recap::running::RecapVersion;
use forklore_core::adapter::{self, Mark, SceneSighting};
use forklore_core::format::book::EntryImage;
use forklore_core::format::chat::Message;
use forklore_core::format::names::{book_stem, chat_stem};
use forklore_core::state::{Event, Evidence, Live, Origin, Place, Sighting};
use forklore_core::story::lineage::ParentNote;
use forklore_fs::PathError;

use super::family::{SightingKey, Tales};
use super::library::{Library, history_error};
use super::scan::StoredSighting;

/// A state of the book that a scene has kept.
struct Found<'a> {
    /// The chat that it was found in
    chat: usize,
    stored: &'a StoredSighting,
    /// Where its entries are kept for others who ask
    shared: Option<&'a OnceLock<Arc<[EntryImage]>>>,
    /// The message of our line that it belongs to
    ours: Option<usize>,
}

impl Library {
    /// What is known about the book of a chat, seen from its line.
    ///
    /// SillyTavern's backups are left out, see [`Library::add_backups`].
    pub fn evidence(&self, chat: usize) -> Result<Evidence, PathError> {
        let tales = self.tales(chat);
        let book = self.chats[chat].book_stem();
        let mut evidence = Evidence { start: tales.start.clone(), ..Evidence::default() };
        for found in self.sightings(chat, &tales) {
            let carriers = tales.carriers(found.stored.version, found.stored.clock);
            let here = Origin { chat: found.chat, message: found.stored.message };
            evidence.sightings.push(Sighting {
                clock: found.stored.clock,
                book: found.stored.book.as_deref().map(book_stem).unwrap_or_default(),
                origin: carriers.and_then(|carriers| carriers.origin(chat)).unwrap_or(here),
                ours: found.ours,
                entries: self.entries_of(&found)?,
                written: found.stored.written.clone(),
            });
        }
        evidence.events = events(chat, &tales);
        if let Some(stem) = book {
            evidence.live = self.live(chat, stem)?;
        }
        if evidence.lacks_events() {
            evidence.elsewhere = self.event_entries(&tales, book)?;
        }
        if let Some(history) = self.history()? {
            history.add_to(&mut evidence, self, chat).map_err(history_error)?;
        }
        Ok(evidence)
    }

    /// The snapshots in the scenes of a family, each once, seen from the line of `target`.
    ///
    /// Our own copies first: where several chats carry the same scene, it is ours.
    fn sightings<'a>(&'a self, target: usize, tales: &'a Tales) -> Vec<Found<'a>> {
        let ours = |stored: &StoredSighting| tales.carriers(stored.version, stored.clock)?.message(target);
        let mut seen: HashSet<SightingKey> = HashSet::new();
        let own = self.chats[target].snapshots.sightings.iter();
        let own = own.filter(|stored| seen.insert(self.sighting_key(target, stored)));
        let mut all: Vec<Found<'_>> =
            own.map(|stored| Found { chat: target, stored, shared: None, ours: ours(stored) }).collect();
        let others = tales.sightings.iter().filter(|told| !seen.contains(&told.key));
        all.extend(others.map(|told| {
            let stored = &self.chats[told.chat].snapshots.sightings[told.place];
            Found { chat: told.chat, stored, shared: Some(&told.entries), ours: ours(stored) }
        }));
        all
    }

    /// The entries that the last scene of a chat up to a message showed.
    pub fn last_sighting(&self, chat: usize, at: usize) -> Result<Arc<[EntryImage]>, PathError> {
        let tales = self.tales(chat);
        let found = self.sightings(chat, &tales).into_iter();
        let ours = found.filter(|found| found.ours.is_some_and(|message| message <= at));
        let last = ours.max_by_key(|found| (found.ours, found.stored.clock));
        last.map_or_else(|| Ok(Arc::default()), |found| self.entries_of(&found))
    }

    /// The entries of a state that a scene has kept.
    fn entries_of(&self, found: &Found<'_>) -> Result<Arc<[EntryImage]>, PathError> {
        let Found { chat, stored, shared, .. } = *found;
        if let Some(places) = &stored.entries {
            let images = &self.chats[chat].snapshots.images;
            let entries = || places.iter().filter_map(|place| images.get(*place as usize)).cloned().collect();
            return Ok(shared.map_or_else(entries, |shared| shared.get_or_init(entries).clone()));
        }
        let line = self.message_line(chat, stored.message)?.unwrap_or_default();
        // The file may have changed since it was scanned; a line that no longer parses simply tells nothing.
        let scene = Message::parse(&line).ok().and_then(adapter::scene);
        let found = scene.map(|(_, sightings)| sightings).unwrap_or_default();
        let same = |s: &SceneSighting| (s.version, s.clock) == (stored.version, stored.clock);
        Ok(found.into_iter().find(same).map(|s| s.entries).unwrap_or_default().into())
    }

    /// Adds what only SillyTavern's backups still tell of this line: scenes that were lost, texts of events.
    ///
    /// Backups can be fifty times as large as all chats together. So they are read for one chat that somebody asks about, only if
    /// something is missing, and one after the other.
    pub fn add_backups(&self, chat: usize, evidence: &mut Evidence) -> Result<(), PathError> {
        let here = &self.chats[chat];
        let lost = |version: &RecapVersion| {
            let gone = here.facts.scene(version.scene).is_none_or(|scene| !scene.recapped);
            gone && version.scene <= here.head() && self.relatives_with(chat, version).next().is_none()
        };
        if !evidence.lacks_events() && !here.running.iter().flat_map(|r| &r.versions).any(lost) {
            return Ok(());
        }
        let mut seen: HashSet<(i64, Origin)> =
            evidence.sightings.iter().map(|s| (s.clock, s.origin)).collect();
        for scan in self.backups(chat)? {
            let scan = scan?;
            for stored in scan.snapshots.sightings.iter() {
                let on_line =
                    here.transcript.moment(stored.message) == scan.transcript.moment(stored.message);
                let Some(places) = stored.entries.as_ref().filter(|_| on_line) else { continue };
                let origin = Origin { chat, message: stored.message };
                let known = self.carries(chat, stored.version, stored.clock).is_some();
                if known || !seen.insert((stored.clock, origin)) {
                    continue;
                }
                let images = places.iter().filter_map(|place| scan.snapshots.images.get(*place as usize));
                evidence.sightings.push(Sighting {
                    clock: stored.clock,
                    book: stored.book.as_deref().map(book_stem).unwrap_or_default(),
                    origin,
                    ours: Some(stored.message),
                    entries: images.cloned().collect(),
                    written: stored.written.clone(),
                });
            }
        }
        Ok(())
    }

    /// The message of a chat whose scene has this very version of a recap.
    fn carries(&self, chat: usize, version: i64, clock: i64) -> Option<usize> {
        let has =
            |scene: &adapter::Scene| scene.versions.iter().any(|v| (v.number, v.clock) == (version, clock));
        self.chats[chat].facts.scenes.iter().find(|(_, scene)| has(scene)).map(|(message, _)| *message)
    }

    /// The message of chat `target` that ends the scene which ends at `message` of chat `other`.
    pub fn shared_scene(&self, target: usize, other: usize, message: usize) -> Option<usize> {
        let here = self.counterpart(other, message, target)?;
        self.chats[target].facts.scene(here).is_some_and(|scene| scene.recapped).then_some(here)
    }

    /// The book as it is now, seen from a chat.
    pub fn live(&self, chat: usize, stem: &str) -> Result<Option<Live>, PathError> {
        let Some(book) = self.book(stem)? else { return Ok(None) };
        if book.parse().is_err() {
            return Ok(None);
        }
        let entries = book.images();
        let marks = self.places(chat, book.keeper, &entries);
        Ok(Some(Live { book: stem.to_owned(), ours: self.may_be_ours(chat, stem)?, entries, marks }))
    }

    /// Whether what nobody is known to have written into a book may be this chat's.
    pub fn may_be_ours(&self, chat: usize, stem: &str) -> Result<bool, PathError> {
        // Who shares a book that is kept by hand does so by choice: all of it is everybody's.
        let alone = self.users_of(stem).len() < 2 || self.owner_of(stem) == Some(chat);
        Ok(alone || self.book(stem)?.is_none_or(|book| book.keeper.is_none()))
    }

    /// The places that entries of a book tell of themselves, seen from a chat.
    pub fn marks(
        &self,
        chat: usize,
        stem: &str,
        entries: &[EntryImage],
    ) -> Result<Vec<Option<Place>>, PathError> {
        Ok(self.places(chat, self.book(stem)?.and_then(|book| book.keeper), entries))
    }

    /// The places that entries tell of themselves.
    fn places(
        &self,
        chat: usize,
        keeper: Option<&'static dyn adapter::Adapter>,
        entries: &[EntryImage],
    ) -> Vec<Option<Place>> {
        let marks = keeper.map(|keeper| keeper.marks(entries)).unwrap_or_default();
        marks.into_iter().map(|mark| mark.map(|mark| self.place(chat, &mark))).collect()
    }

    fn place(&self, chat: usize, mark: &Mark) -> Place {
        let here = &self.chats[chat];
        let name = mark.chat.as_deref().map(chat_stem);
        let found = name.as_deref().and_then(|name| self.named(here.story, name));
        match (found, name) {
            (Some(c), _) if c != chat => match self.counterpart(c, mark.message, chat) {
                Some(message) => Place::Ours(message),
                None => Place::Elsewhere(Origin { chat: c, message: mark.message }),
            },
            (None, Some(name)) if lost_parent(here) == Some(&name) => {
                // Up to our fork point the lost parent's story is ours; beyond, it is not.
                let shared = here.lineage.fork_message.is_none_or(|fork| mark.message <= fork);
                if shared { Place::Ours(mark.message) } else { Place::Unattributed }
            }
            // Our own, under whatever name we had then.
            _ => Place::Ours(mark.message),
        }
    }
}

/// Events that the running recaps of a family tell of, seen from the line of `target`.
fn events(target: usize, tales: &Tales) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    let mut known: HashSet<(&str, &str, Option<usize>)> = HashSet::new();
    for told in tales.events_for(target) {
        let ours = told.carriers.message(target);
        let Some(origin) = told.carriers.origin(target) else { continue };
        for (name, hash) in &told.events {
            if known.insert((name, hash, ours)) {
                events.push(Event {
                    name: name.clone(),
                    hash: hash.clone(),
                    clock: told.clock,
                    origin,
                    ours,
                });
            }
        }
    }
    events
}

/// Name of the parent that is gone.
fn lost_parent(chat: &super::Chat) -> Option<&String> {
    match &chat.lineage.note {
        Some(ParentNote::Missing(name)) => Some(name),
        _ => None,
    }
}
