//! [`Tales`]: what the scenes of a family tell, found once and not once for every member.
//!
//! A story can have thousands of forks, and all of them carry the scenes of the chat they come from. What is found here does not
//! depend on who asks; [`Library::evidence`] sees it from one chat's line.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use forklore_core::adapter::auto_recap::running::RecapVersion;
use forklore_core::format::book::EntryImage;
use forklore_core::state::{Event, Origin};
use forklore_core::story::Moment;
use forklore_core::story::lineage::Kind;
use forklore_fs::PathError;

use super::library::Library;
use super::scan::StoredSighting;

/// What the scenes of a family, and of others who use the same book, tell.
#[derive(Default)]
pub(super) struct Tales {
    /// The chats, ascending
    pub(super) members: Vec<usize>,
    /// The snapshots in their scenes, each once
    pub(super) sightings: Vec<ToldSighting>,
    /// Who carries a version of a scene's recap, by its number and time
    carriers: HashMap<(i64, i64), Carriers>,
    /// Events that their running recaps tell of, each once
    pub(super) events: Vec<ToldEvents>,
    /// For each chat the places of those events that its own running recap tells of, in the order in which it does
    own_events: HashMap<usize, Vec<usize>>,
    /// Lines that any of their books was made with: older than that fork, so seeing them there first proves nothing
    pub(super) start: Arc<HashSet<u64>>,
    /// Entries of their books that may be events, with the book's stem; found when they are first needed
    event_entries: Mutex<Option<InBooks>>,
}

/// Entries with the stems of the books that they are in.
type InBooks = Arc<[(String, EntryImage)]>;

/// By what a snapshot is known again in another chat: version and time of the recap, and the message.
pub(super) type SightingKey = (i64, i64, u64);

/// A snapshot in a scene.
pub(super) struct ToldSighting {
    pub(super) key: SightingKey,
    /// The first chat that has it
    pub(super) chat: usize,
    /// Its place there
    pub(super) place: usize,
    /// Its entries, once they were needed; those that were too many to keep are not kept here, either
    pub(super) entries: OnceLock<Arc<[EntryImage]>>,
}

/// Events that one version of a running recap tells of.
pub(super) struct ToldEvents {
    pub(super) clock: i64,
    /// Name and hash of the text
    pub(super) events: Vec<(String, String)>,
    /// Who has the scene
    pub(super) carriers: Carriers,
}

/// The chats that carry a scene, ascending, each with the message that it ends with there, and whether it was played there: in all
/// others it stands before the fork point.
#[derive(Default)]
pub(super) struct Carriers(Vec<(usize, usize, bool)>);

impl Carriers {
    fn add(&mut self, library: &Library, chat: usize, message: usize) {
        let lineage = &library.chats[chat].lineage;
        let played = lineage.kind != Kind::Copy && lineage.fork_message.is_none_or(|fork| fork < message);
        self.0.push((chat, message, played));
    }

    fn of(&self, chat: usize) -> Option<&(usize, usize, bool)> {
        self.0.binary_search_by_key(&chat, |(c, ..)| *c).ok().map(|i| &self.0[i])
    }

    /// The message of a chat that ends the scene.
    pub(super) fn message(&self, chat: usize) -> Option<usize> {
        self.of(chat).map(|(_, message, _)| *message)
    }

    /// Where the scene was played. Where several chats carry it in the same way, it is that of `target`.
    pub(super) fn origin(&self, target: usize) -> Option<Origin> {
        let ours = self.of(target);
        let played =
            ours.filter(|(.., played)| *played).or_else(|| self.0.iter().find(|(.., played)| *played));
        let first = played.or(ours).or(self.0.first())?;
        Some(Origin { chat: first.0, message: first.1 })
    }
}

impl Tales {
    /// Who carries a version of a scene's recap.
    pub(super) fn carriers(&self, version: i64, clock: i64) -> Option<&Carriers> {
        self.carriers.get(&(version, clock))
    }

    /// The events, those that `target` tells itself first.
    pub(super) fn events_for(&self, target: usize) -> impl Iterator<Item = &ToldEvents> {
        let own = self.own_events.get(&target).map_or(&[][..], Vec::as_slice);
        let told: HashSet<usize> = own.iter().copied().collect();
        let others = (0..self.events.len()).filter(move |i| !told.contains(i));
        own.iter().copied().chain(others).map(|i| &self.events[i])
    }
}

/// Those of a family who have a version of a running recap together with its scene.
#[derive(Default)]
pub(crate) struct Tellers {
    /// All of them, ascending
    all: Vec<usize>,
    /// Of those that have the same messages before the scene, the first two
    groups: Vec<(usize, Option<usize>)>,
}

impl Tellers {
    /// All but `chat`.
    pub(crate) fn others(&self, chat: usize) -> impl Iterator<Item = usize> {
        self.all.iter().copied().filter(move |c| *c != chat)
    }

    /// One for each line that leads to the scene, but never `chat`.
    pub(crate) fn lines(&self, chat: usize) -> impl Iterator<Item = usize> {
        self.groups.iter().filter_map(move |(first, second)| Some(*first).filter(|c| *c != chat).or(*second))
    }
}

/// What was found out about families so far.
#[derive(Default)]
pub(super) struct Families {
    tales: Mutex<HashMap<TalesKey, Arc<Tales>>>,
    tellers: Mutex<HashMap<TellersKey, Arc<Tellers>>>,
}

/// The number of a family; with the stem of a book if others use it, too.
type TalesKey = (usize, Option<String>);

/// The number of a family, and number, time and scene of a version.
type TellersKey = (usize, i64, i64, usize);

/// By what events are known again in another chat: the scene, and what is told there.
type EventsKey<'a> = (Moment, i64, &'a [(String, String)]);

impl Library {
    /// What those can tell who know of the book of a chat: its family, and whoever uses the same book.
    pub(super) fn tales(&self, chat: usize) -> Arc<Tales> {
        let strangers = |stem: &&str| self.users_of(stem).iter().any(|user| !self.related(*user, chat));
        let stem = self.chats[chat].book_stem().filter(strangers);
        let mut known = self.families.tales.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (self.family_number(chat), stem.map(str::to_owned));
        known.entry(key).or_insert_with(|| Arc::new(self.find_tales(chat, stem))).clone()
    }

    fn find_tales(&self, chat: usize, stem: Option<&str>) -> Tales {
        let mut members = self.family(chat).to_vec();
        members.extend(stem.into_iter().flat_map(|stem| self.users_of(stem)));
        members.sort_unstable();
        members.dedup();
        let records = members.iter().filter_map(|c| self.chats[*c].record.as_ref());
        let start = records.flat_map(|record| record.start.iter().copied()).collect();
        let mut tales = Tales { start: Arc::new(start), ..Tales::default() };
        let mut seen: HashSet<SightingKey> = HashSet::new();
        for c in &members {
            let here = &self.chats[*c];
            for (place, stored) in here.snapshots.sightings.iter().enumerate() {
                let key = self.sighting_key(*c, stored);
                if seen.insert(key) {
                    let entries = OnceLock::new();
                    tales.sightings.push(ToldSighting { key, chat: *c, place, entries });
                }
            }
            for (message, scene) in &here.facts.scenes {
                for version in &scene.versions {
                    let carriers = tales.carriers.entry((version.number, version.clock)).or_default();
                    if carriers.of(*c).is_none() {
                        carriers.add(self, *c, *message);
                    }
                }
            }
        }
        self.find_events(&members, &mut tales);
        tales.members = members;
        tales
    }

    /// The relatives of a chat, and itself, that have this version of the running recap and the scene that it names.
    pub(crate) fn tellers(&self, chat: usize, version: &RecapVersion) -> Arc<Tellers> {
        let key = (self.family_number(chat), version.version, version.clock, version.scene);
        let mut known = self.families.tellers.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(key).or_insert_with(|| Arc::new(self.find_tellers(chat, version))).clone()
    }

    fn find_tellers(&self, chat: usize, version: &RecapVersion) -> Tellers {
        let mut tellers = Tellers::default();
        let mut lines: HashMap<Option<Moment>, usize> = HashMap::new();
        for c in self.family_with(chat, version) {
            let here = &self.chats[c];
            if !here.facts.scene(version.scene).is_some_and(|scene| scene.recapped) {
                continue;
            }
            tellers.all.push(c);
            let group = lines.entry(here.transcript.moment(version.scene)).or_insert(tellers.groups.len());
            match tellers.groups.get_mut(*group) {
                Some((_, second)) => *second = second.or(Some(c)),
                None => tellers.groups.push((c, None)),
            }
        }
        tellers
    }

    /// Entries of the books of a family that may be one of its events, in books other than `ours`.
    pub(super) fn event_entries(
        &self,
        tales: &Tales,
        ours: Option<&str>,
    ) -> Result<Vec<EntryImage>, PathError> {
        let mut known = tales.event_entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = match &*known {
            Some(entries) => entries,
            None => known.insert(self.find_event_entries(tales)?),
        };
        let elsewhere = entries.iter().filter(|(stem, _)| Some(stem.as_str()) != ours);
        Ok(elsewhere.map(|(_, entry)| entry.clone()).collect())
    }

    fn find_event_entries(&self, tales: &Tales) -> Result<InBooks, PathError> {
        let told = tales.events.iter().flat_map(|told| &told.events);
        let names: HashSet<&str> = told.map(|(name, _)| name.as_str()).collect();
        let mut stems: Vec<&str> = tales.members.iter().filter_map(|c| self.chats[*c].book_stem()).collect();
        stems.sort_unstable();
        stems.dedup();
        let mut found = Vec::new();
        for stem in stems {
            let Some(book) = self.book(stem)? else { continue };
            let Ok(parsed) = book.parse() else { continue };
            let named = parsed
                .entries()
                .iter()
                .filter(|entry| Event::names(&entry.comment()).any(|name| names.contains(name)));
            found.extend(named.map(|entry| (stem.to_owned(), entry.image())));
        }
        Ok(found.into())
    }

    pub(super) fn sighting_key(&self, chat: usize, stored: &StoredSighting) -> SightingKey {
        let id = self.chats[chat].transcript.row(stored.message).map_or(0, |row| row.id.0);
        (stored.version, stored.clock, id)
    }

    /// Events that the running recaps of chats tell of.
    fn find_events(&self, members: &[usize], tales: &mut Tales) {
        let told = |c: &usize| {
            let versions = self.chats[*c].running.iter().flat_map(|running| &running.versions);
            versions.filter(|version| !version.events.is_empty())
        };
        if members.iter().all(|c| told(c).next().is_none()) {
            return;
        }
        // Who may have a scene: a message that corresponds to another has the same moment, or the same identity.
        let mut by_moment: HashMap<Moment, Vec<usize>> = HashMap::new();
        let mut by_id: HashMap<u64, Vec<usize>> = HashMap::new();
        for c in members {
            for (message, _) in self.chats[*c].facts.scenes.iter().filter(|(_, scene)| scene.recapped) {
                if let Some(row) = self.chats[*c].transcript.row(*message) {
                    by_moment.entry(row.moment).or_default().push(*c);
                    by_id.entry(row.id.0).or_default().push(*c);
                }
            }
        }
        let mut known: HashMap<EventsKey<'_>, usize> = HashMap::new();
        for c in members {
            for version in told(c) {
                // A fork inherits versions of scenes that it does not have; they are told by the chat that has them.
                let Some(scene) = self.scene_of(*c, version) else { continue };
                let Some(row) = self.chats[*c].transcript.row(scene) else { continue };
                let place = *known.entry((row.moment, version.clock, &version.events)).or_insert_with(|| {
                    let mut candidates: Vec<usize> = Vec::new();
                    candidates.extend(by_moment.get(&row.moment).into_iter().flatten());
                    candidates.extend(by_id.get(&row.id.0).into_iter().flatten());
                    candidates.sort_unstable();
                    candidates.dedup();
                    let mut carriers = Carriers::default();
                    for d in candidates {
                        if let Some(message) = self.shared_scene(d, *c, scene) {
                            carriers.add(self, d, message);
                        }
                    }
                    let (clock, events) = (version.clock, version.events.clone());
                    tales.events.push(ToldEvents { clock, events, carriers });
                    tales.events.len() - 1
                });
                tales.own_events.entry(*c).or_default().push(place);
            }
        }
    }
}
