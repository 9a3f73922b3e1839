//! What the scenes of a vault tell, found once and not once for every chat: [`ToldScene`]s by the book that they wrote into, and
//! [`Tellers`] of running recaps.
//!
//! A story can have thousands of forks, and all of them carry the scenes of the chat they come from.

use crate::ChatIx;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use forklore_core::adapter::recap::{self, RecapVersion, RunningRecap};
use forklore_core::adapter::{Scene as SceneFacts, SceneVersion};
use forklore_core::format::names::book_stem;
use forklore_core::state::{Origin, Scene};
use forklore_core::story::Moment;
use forklore_core::story::lineage::Kind;
use forklore_json::Raw;

use crate::library::{Library, StoryKind};

/// A version of a scene's recap, whoever carries it, with the states of the book that it has kept.
pub(crate) struct ToldScene {
    pub(crate) scene: Scene,
    /// When each was taken, the first chat that has it, and its place among the chat's sightings
    pub(crate) snapshots: Vec<(i64, ChatIx, usize)>,
}

/// By what a version of a scene's recap is known again in another chat: its number, when its text was there.
type SceneKey = (i64, i64);

/// What the name of a book is followed by if an earlier book is meant, which had the same name. No file can have such a name.
pub(crate) const EARLIER: &str = "\0earlier";

/// When a book was made, and for which chat, with so many messages.
struct Begun {
    chat: ChatIx,
    messages: usize,
    time: i64,
}

/// Those of a family who have a version of a running recap together with its scene.
#[derive(Default)]
pub struct Tellers {
    /// All of them, ascending
    all: Vec<ChatIx>,
    /// Of those that have the same messages before the scene, the first two
    groups: Vec<(ChatIx, Option<ChatIx>)>,
}

impl Tellers {
    /// All but `chat`.
    pub fn others(&self, chat: ChatIx) -> impl Iterator<Item = ChatIx> {
        self.all.iter().copied().filter(move |c| *c != chat)
    }

    /// One for each line that leads to the scene, but never `chat`.
    pub fn lines(&self, chat: ChatIx) -> impl Iterator<Item = ChatIx> {
        self.groups.iter().filter_map(move |(first, second)| Some(*first).filter(|c| *c != chat).or(*second))
    }
}

/// Those who were found so far.
#[derive(Default)]
struct KnownTellers(Mutex<HashMap<TellersKey, Arc<Tellers>>>);

/// The number of a family, and number, time and scene of a version.
type TellersKey = (usize, i64, i64, usize);

/// Scenes by the book that they wrote into.
type ScenesByBook = BTreeMap<String, Vec<ToldScene>>;

/// The books that the scenes of a chat were written into, ascending: nobody goes through the scenes of all books for every chat.
#[derive(Default)]
struct CarriedBooks(HashMap<ChatIx, Vec<String>>);

impl Library {
    /// The scenes of all chats, by the book that they wrote into.
    pub(crate) fn scenes(&self) -> &ScenesByBook {
        self.memo.slot::<OnceLock<ScenesByBook>>().get_or_init(|| self.find_scenes())
    }

    /// The scenes that were written into the books of which a chat carries some, in the order of the books.
    pub(crate) fn scenes_of(&self, chat: ChatIx) -> impl Iterator<Item = (&String, &Vec<ToldScene>)> {
        let carried = self.memo.slot::<OnceLock<CarriedBooks>>().get_or_init(|| {
            let mut carried = CarriedBooks::default();
            for (book, told) in self.scenes() {
                for (chat, _) in told.iter().flat_map(|told| &told.scene.carriers) {
                    let books = carried.0.entry(*chat).or_default();
                    if books.last() != Some(book) {
                        books.push(book.clone());
                    }
                }
            }
            carried
        });
        let books = carried.0.get(&chat).into_iter().flatten();
        books.filter_map(|book| self.scenes().get_key_value(book))
    }

    fn find_scenes(&self) -> ScenesByBook {
        let mut found = ScenesByBook::new();
        let mut places: HashMap<(String, SceneKey), usize> = HashMap::new();
        let (begun, history) = (self.begun(), self.history().ok().flatten());
        for (c, chat) in ChatIx::each(&self.chats) {
            let put_behind = self.put_behind(c);
            let gone = self.scenes_gone(c);
            for (message, scene) in chat.facts.scenes.iter().chain(&gone) {
                // What was played elsewhere, and only follows here, is told there.
                let elsewhere = |version: &&SceneVersion| {
                    put_behind.iter().any(|put| put.tells_elsewhere(*message, version.started))
                };
                for version in scene.versions.iter().filter(|version| !elsewhere(version)) {
                    let book = version.book.as_deref().map(book_stem);
                    let Some(book) = book.or_else(|| chat.book_stem().map(str::to_owned)) else { continue };
                    let book = self.known_as(&book).to_owned();
                    // Names are given again: a scene that is older than the book was written into an earlier one of that name.
                    let is_older = |begun: &Begun| {
                        version.clock < begun.time && !(begun.chat == c && *message >= begun.messages)
                    };
                    let is_earlier = history.is_some_and(|history| history.is_earlier(&chat.path, &book));
                    let is_earlier = is_earlier || begun.get(&book).is_some_and(is_older);
                    let book = if is_earlier { book + EARLIER } else { book };
                    let scenes = found.entry(book.clone()).or_default();
                    let place =
                        *places.entry((book, (version.number, version.started))).or_insert_with(|| {
                            let origin = Origin { chat: c, message: *message };
                            let scene = Scene {
                                started: version.started,
                                finished: i64::MIN,
                                written: version.written.clone(),
                                events: Vec::new(),
                                carriers: Vec::new(),
                                origin,
                            };
                            scenes.push(ToldScene { scene, snapshots: Vec::new() });
                            scenes.len() - 1
                        });
                    let told = &mut scenes[place];
                    // One that is not combined yet is still at work.
                    let finished = if version.combined { version.clock } else { i64::MAX };
                    // Of several who carry it the last counts, and whoever has it finished before who has not: a fork that was made while
                    // it was at work carries it unfinished for ever.
                    told.scene.finished = match told.scene.finished {
                        i64::MIN | i64::MAX => finished,
                        known => known.max(version.clock),
                    };
                    // The list of what it wrote grows while it is at work: the longest is the whole one.
                    if told.scene.written.uids.len() < version.written.uids.len() {
                        told.scene.written = version.written.clone();
                    }
                    if told.scene.carried_by(c).is_none() {
                        told.scene.carriers.push((c, *message));
                    }
                    let same = |s: &crate::read::snapshots::StoredSighting| {
                        s.message == *message && (s.version, s.clock) == (version.number, version.clock)
                    };
                    let known = told.snapshots.iter().any(|(clock, ..)| *clock == version.clock);
                    let place = (!known).then(|| chat.snapshots.sightings.iter().position(same)).flatten();
                    if let Some(place) = place {
                        told.snapshots.push((version.clock, c, place));
                    }
                }
            }
        }
        for told in found.values_mut().flatten() {
            told.scene.origin = self.played_in(&told.scene);
        }
        self.leave_unwritten(&mut found);
        self.find_events(&mut found);
        found
    }

    /// A version of a recap names what it tells of when it is made, and is written into the book when it is combined. One that never was, because
    /// it was made again or passed over, has written nothing but what it says it made.
    fn leave_unwritten(&self, found: &mut ScenesByBook) {
        let mut combined: HashMap<ChatIx, i64> = HashMap::new();
        for told in found.values().flatten().filter(|told| told.scene.finished < i64::MAX) {
            let last = combined.entry(told.scene.origin.chat).or_insert(i64::MIN);
            *last = (*last).max(told.scene.started);
        }
        for told in found.values_mut().flatten().filter(|told| told.scene.finished == i64::MAX) {
            let last = combined.get(&told.scene.origin.chat);
            if last.is_some_and(|last| *last > told.scene.started) {
                told.scene.written.names.clear();
            }
        }
    }

    /// Scenes whose last message is gone from a chat, as history saw them.
    fn scenes_gone(&self, c: ChatIx) -> Vec<(usize, SceneFacts)> {
        let chat = &self.chats[c];
        let group = self.stories[chat.story].kind == StoryKind::Group;
        let history = self.history().ok().flatten();
        history.and_then(|history| history.scenes_gone(&chat.path, group).ok()).unwrap_or_default()
    }

    /// When books were made by Forklore, and for whom.
    fn begun(&self) -> HashMap<String, Begun> {
        let of = |(chat, here): (ChatIx, &crate::Chat)| {
            let record = here.record.as_ref().filter(|record| record.created > 0)?;
            let messages = record.baseline.as_ref().map_or(record.message + 1, |baseline| baseline.messages);
            Some((book_stem(record.made_book()?), Begun { chat, messages, time: record.created }))
        };
        ChatIx::each(&self.chats).filter_map(of).collect()
    }

    /// The books that the scenes of a chat were written into, in the order of the story.
    pub(crate) fn told_books(&self, chat: ChatIx) -> Vec<&str> {
        let mut found: Vec<(usize, &str)> = Vec::new();
        for (book, told) in self.scenes_of(chat) {
            let first = told.iter().filter_map(|told| told.scene.carried_by(chat)).min();
            found.extend(first.map(|message| (message, book.as_str())));
        }
        found.sort_unstable();
        found.into_iter().map(|(_, book)| book).collect()
    }

    /// Where a scene was played: in all other chats that carry it, it stands before the fork point.
    fn played_in(&self, scene: &Scene) -> Origin {
        let mut carriers = scene.carriers.iter();
        let first = carriers.find(|(chat, _)| self.is_played(scene, *chat)).or(scene.carriers.first());
        first.map_or(scene.origin, |(chat, message)| Origin { chat: *chat, message: *message })
    }

    /// Whether a scene was played in a chat, and not before it was forked.
    pub(crate) fn is_played(&self, scene: &Scene, chat: ChatIx) -> bool {
        let after = |message| self.chats[chat].lineage.fork_message.is_none_or(|fork| fork < message);
        self.chats[chat].lineage.kind != Kind::Copy && scene.carried_by(chat).is_some_and(after)
    }

    /// Adds the events that running recaps tell of to the scenes whose processing made them.
    fn find_events(&self, found: &mut BTreeMap<String, Vec<ToldScene>>) {
        let mut scenes: Vec<&mut Scene> = found.values_mut().flatten().map(|told| &mut told.scene).collect();
        let mut done: HashSet<(usize, i64, i64)> = HashSet::new();
        for (c, chat) in ChatIx::each(&self.chats) {
            let wiped = self.wiped_recap(c);
            let versions =
                chat.running_outline().into_iter().chain(&wiped).flat_map(|running| &running.versions);
            for version in versions.filter(|version| !version.events.is_empty()) {
                // A version of the running recap was made while its scene was combined.
                let made = |scene: &&mut Scene| {
                    scene.started <= version.clock
                        && version.clock <= scene.finished
                        && scene.carriers.iter().any(|(chat, _)| self.related(*chat, c))
                };
                let carried = |scene: &&mut Scene| scene.carried_by(c) == Some(version.scene);
                // Relatives carry the same version: what it tells is told once.
                if done.contains(&(self.family_number(c), version.version, version.clock)) {
                    continue;
                }
                // One that was never combined made none, whatever was made since; but for a while it is just not combined yet.
                let combined = |scene: &&mut Scene| scene.finished < i64::MAX;
                let place = scenes.iter().position(|scene| made(scene) && carried(scene));
                let place = place.or_else(|| scenes.iter().position(|scene| made(scene) && combined(scene)));
                let place = place.or_else(|| scenes.iter().rposition(carried));
                let place = place.or_else(|| scenes.iter().position(made));
                let Some(place) = place else { continue };
                done.insert((self.family_number(c), version.version, version.clock));
                for event in &version.events {
                    if !scenes[place].events.contains(event) {
                        scenes[place].events.push(event.clone());
                    }
                }
            }
        }
    }

    /// What history lately had of a running recap that the extension has wiped: scenes were merged into one before the oldest version that
    /// is there.
    fn wiped_recap(&self, c: ChatIx) -> Option<RunningRecap> {
        let chat = &self.chats[c];
        let oldest = |running: &RunningRecap| running.versions.iter().map(|version| version.clock).min();
        let oldest_here = chat.running_outline().and_then(oldest).unwrap_or(i64::MAX);
        let versions = chat.facts.scenes.iter().flat_map(|(_, scene)| &scene.versions);
        if !versions.filter(|version| version.combined).any(|version| version.clock < oldest_here) {
            return None;
        }
        let older = |metadata: Raw<'_>| {
            recap::running(metadata).filter(|found| oldest(found).is_some_and(|oldest| oldest < oldest_here))
        };
        self.history().ok().flatten()?.lately(&chat.path, &older).ok().flatten()
    }

    /// The relatives of a chat, and itself, that have this version of the running recap and the scene that it names.
    pub fn tellers(&self, chat: ChatIx, version: &RecapVersion) -> Arc<Tellers> {
        let key = (self.family_number(chat), version.version, version.clock, version.scene);
        let mut known = self.memo.slot::<KnownTellers>().0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(key).or_insert_with(|| Arc::new(self.find_tellers(chat, version))).clone()
    }

    fn find_tellers(&self, chat: ChatIx, version: &RecapVersion) -> Tellers {
        let mut tellers = Tellers::default();
        let mut lines: HashMap<Option<Moment>, usize> = HashMap::new();
        for c in self.family_with(chat, version) {
            let here = &self.chats[c];
            if !here.facts.scene(version.scene).is_some_and(|scene| scene.recapped) {
                continue;
            }
            tellers.all.push(c);
            // Chats with the same moment there have the same messages up to it, so one of them can answer for all. Two are
            // remembered, because the one who asks does not count.
            let group = lines.entry(here.at_scene(version.scene)).or_insert(tellers.groups.len());
            match tellers.groups.get_mut(*group) {
                Some((_, second)) => *second = second.or(Some(c)),
                None => tellers.groups.push((c, None)),
            }
        }
        tellers
    }
}
