//! [`Recorder`]: looks at files and writes down what changed.
//!
//! Content is read from disk after it is complete: a file that changes while it is read, or that is cut off and fresh, is left for
//! the next look. A file that the system does not let us read is told of ([`Closed`]), and keeps nobody from recording the others: what
//! was recorded of it stays, because it is not gone. Two processes that see the same change record it once, because each looks at what is recorded under the store's
//! lock before it adds to it.

use std::collections::HashMap;
use std::sync::Arc;

use forklore_config::Config;
use forklore_fs::{Identity, VaultPath, Vfs};
use forklore_journal::layout;
use forklore_store::Store;

use super::HistoryError;
use super::look::{Depth, Eye, Known, Look, is_book};
use super::media::Known as KnownFiles;
use super::observation::{By, ChatSeen, Observation, Observed};

/// Looks at files and writes down what changed.
pub struct Recorder {
    fs: Arc<dyn Vfs>,
    store: Store,
    notes: Notes,
    /// Whether the images and files are kept that chats link to
    media: bool,
    files: KnownFiles,
}

/// What was recorded last of each file.
#[derive(Default)]
struct Notes {
    known: HashMap<VaultPath, Known>,
    /// Number of the first record that was not looked at yet
    next: u64,
    /// When the last observation was made
    clock: i64,
    /// When the last look was made that noted it
    looked: i64,
}

impl Notes {
    /// Reads what was recorded since the last time, by whomever.
    fn catch_up(&mut self, store: &Store) -> Result<(), HistoryError> {
        let next = self.next;
        for record in store.records().filter(|record| record.seq >= next) {
            self.next = record.seq + 1;
            self.add(super::parse(record.payload)?, None);
        }
        Ok(())
    }

    fn add(&mut self, observation: Observation, identity: Option<Identity>) {
        self.clock = self.clock.max(observation.clock);
        self.looked = self.looked.max(observation.looked.unwrap_or_default());
        if matches!(observation.what, Observed::Forget { .. }) {
            return;
        }
        if let Observed::Chat(ChatSeen { was: Some(was), .. }) = &observation.what {
            self.known.remove(was);
        }
        self.known.insert(observation.file.clone(), Known { observation, identity });
    }
}

/// A file to look at.
#[derive(Debug, Clone)]
pub struct Sight {
    /// The file
    pub file: VaultPath,
    /// An older copy of it, to be looked at in its stead
    pub copy: Option<VaultPath>,
    /// Who looks
    pub by: By,
}

/// What the system did not let us read: a file, or a folder with all that is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// The file or folder
    pub path: VaultPath,
    /// Why, in a sentence without its end
    pub why: String,
}

impl Closed {
    pub(super) fn new(path: &VaultPath, why: &impl std::fmt::Display) -> Self {
        Self { path: path.clone(), why: why.to_string() }
    }
}

/// What a look found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Looked {
    /// Files of which something new was recorded
    pub recorded: Vec<VaultPath>,
    /// Files that were being written and are to be looked at again
    pub unfinished: Vec<VaultPath>,
    /// What could not be read, and is to be looked at again
    pub closed: Vec<Closed>,
    /// By what everything that was looked at together is known
    moment: Option<i64>,
}

impl Looked {
    /// What was found where the same look went on.
    pub fn add(&mut self, more: Self) {
        self.recorded.extend(more.recorded);
        self.unfinished.extend(more.unfinished);
        self.closed.extend(more.closed);
        self.moment = more.moment;
    }
}

impl Recorder {
    /// Opens the history of a vault, making it if there is none.
    pub fn open(fs: Arc<dyn Vfs>) -> Result<Self, HistoryError> {
        let store = super::store_to_add(&fs)?;
        let mut notes = Notes::default();
        notes.catch_up(&store)?;
        let media = Config::load(&*fs)?.history.media;
        Ok(Self { fs, store, notes, media, files: KnownFiles::default() })
    }

    /// Asks anew what is to be kept. If that is more than before, chats that are known are looked at again, and this says so.
    pub(super) fn heed_settings(&mut self) -> bool {
        // Settings that cannot be read at the moment, because somebody is writing them, are what they were.
        let Ok(config) = Config::load(&*self.fs) else { return false };
        let before = std::mem::replace(&mut self.media, config.history.media);
        let more = self.media && !before;
        if more {
            self.notes.known.values_mut().for_each(|known| known.identity = None);
        }
        more
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// What was last seen of a file.
    pub fn last(&self, file: &VaultPath) -> Option<&Observation> {
        self.notes.known.get(file).map(|known| &known.observation)
    }

    /// The file of the book that a chat was bound to when it was seen last.
    pub fn book_of(&self, chat: &VaultPath) -> Option<VaultPath> {
        match &self.notes.known.get(chat)?.observation.what {
            Observed::Chat(ChatSeen { book: Some(book), .. }) => layout::book(book).ok(),
            _ => None,
        }
    }

    /// Whether a file is known to be as it was when we looked at it last.
    pub fn is_known(&self, path: &VaultPath, identity: Option<Identity>) -> bool {
        match (self.notes.known.get(path), identity) {
            (None, None) => true,
            (Some(known), None) => known.observation.what == Observed::Gone,
            (None, Some(_)) => false,
            (Some(known), identity) => known.identity == identity,
        }
    }

    /// Files that are known to history and were there when it looked last.
    pub fn files(&self) -> impl Iterator<Item = &VaultPath> {
        self.notes
            .known
            .iter()
            .filter(|(_, known)| known.observation.what != Observed::Gone)
            .map(|(file, _)| file)
    }

    /// Looks at some files and records what is new, all of it together.
    pub fn look(
        &mut self,
        files: &[VaultPath],
        by: &By,
        depth: Depth,
        now: i64,
    ) -> Result<Looked, HistoryError> {
        self.look_on(&Looked::default(), files, by, depth, now)
    }

    /// The same look goes on: what it finds now was there together with what it found before, unless it was saved meanwhile.
    pub fn look_on(
        &mut self,
        before: &Looked,
        files: &[VaultPath],
        by: &By,
        depth: Depth,
        now: i64,
    ) -> Result<Looked, HistoryError> {
        let sights: Vec<Sight> =
            files.iter().map(|file| Sight { file: file.clone(), copy: None, by: by.clone() }).collect();
        self.look_at_all(&sights, depth, now, before.moment)
    }

    /// As [`Recorder::look`], at any sights.
    pub fn look_at(&mut self, sights: &[Sight], depth: Depth, now: i64) -> Result<Looked, HistoryError> {
        self.look_at_all(sights, depth, now, None)
    }

    fn look_at_all(
        &mut self,
        sights: &[Sight],
        depth: Depth,
        now: i64,
        moment: Option<i64>,
    ) -> Result<Looked, HistoryError> {
        let looked = self.try_to_look(sights, depth, now, moment);
        if looked.is_err() {
            // What was noted may not have been written: next time it is read again.
            self.notes = Notes::default();
        }
        looked
    }

    fn try_to_look(
        &mut self,
        sights: &[Sight],
        depth: Depth,
        now: i64,
        moment: Option<i64>,
    ) -> Result<Looked, HistoryError> {
        let mut looked = Looked::default();
        let mut seen: Vec<(&Sight, Option<Identity>)> = Vec::new();
        for sight in sights {
            let file = sight.copy.as_ref().unwrap_or(&sight.file);
            match self.fs.identity(file) {
                Ok(identity) => seen.push((sight, identity)),
                Err(e) => looked.closed.push(Closed::new(file, &e)),
            }
        }
        // In the order in which they were saved. A chat that was saved together with its book comes first: it tells where the story is.
        let saved = |identity: Option<Identity>| identity.map_or(i64::MAX, |i| i.modified / 1_000_000);
        seen.sort_by_key(|(sight, identity)| (saved(*identity), is_book(&sight.file)));
        let Self { fs, store, notes, media, files } = self;
        let mut writer = store.writer()?;
        // What others recorded until now, under the lock: nothing is recorded twice.
        notes.catch_up(writer.store())?;
        let mut fresh: Vec<Observation> = Vec::new();
        // Two looks within one millisecond are still two.
        let own = now.max(notes.looked + 1);
        looked.moment = Some(moment.unwrap_or(own));
        for (Sight { file, copy, by }, identity) in seen {
            let saved = identity.map_or(now, |identity| identity.modified / 1_000_000);
            // What was saved since the look began was not there when it began.
            let moment = moment.filter(|moment| saved <= *moment).unwrap_or(own);
            let clock = notes.clock.max(saved.min(now));
            let known = &notes.known;
            let mut eye = Eye {
                fs: &**fs,
                writer: &mut writer,
                known,
                clock,
                now,
                looked: moment,
                by,
                depth,
                files: media.then_some(&mut *files),
            };
            let look = match copy {
                Some(copy) => eye.look_at_copy(file, copy),
                None => eye.look(file),
            };
            let look = match look {
                Err(e) if e.is_closed() => {
                    looked.closed.push(Closed::new(copy.as_ref().unwrap_or(file), &e));
                    continue;
                }
                look => look?,
            };
            match look {
                Look::Same(identity) => {
                    if let Some(known) = notes.known.get_mut(file) {
                        known.identity = identity;
                    }
                }
                Look::Unfinished => looked.unfinished.push(file.clone()),
                Look::New(observation, identity) => {
                    fresh.push((*observation).clone());
                    notes.add(*observation, identity);
                    looked.recorded.push(file.clone());
                }
            }
        }
        if fresh.is_empty() {
            return Ok(looked);
        }
        for observation in &fresh {
            let payload =
                serde_json::to_vec(observation).map_err(|e| HistoryError::Unreadable(e.to_string()))?;
            notes.next = writer.record(&payload) + 1;
        }
        writer.commit()?;
        Ok(looked)
    }
}
