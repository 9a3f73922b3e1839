//! [`Timeline`]: all observations of a vault, and how the messages of then are numbered now.

use std::collections::HashMap;
use std::sync::Arc;

use forklore_fs::{VaultPath, Vfs};
use forklore_store::Store;

use super::observation::{ChatSeen, Observation, What};
use super::{HistoryError, parse, store};
use crate::vault::Library;

/// All observations of a vault.
pub struct Timeline {
    pub(super) store: Store,
    /// In the order in which they were made.
    pub seen: Vec<Seen>,
    /// By file, ascending; a file that was renamed has the observations under its former names first.
    tracks: HashMap<VaultPath, Vec<usize>>,
    /// For each observation of a book, that of the chat which was being played: the last one seen of those bound to it.
    players: HashMap<usize, usize>,
}

/// An observation and its place in the sequence.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Its number in the store. Numbers ascend; there can be gaps.
    pub seq: u64,
    /// What was seen
    pub observation: Observation,
}

impl Seen {
    /// The chat, if it is one.
    pub fn chat(&self) -> Option<&ChatSeen> {
        match &self.observation.what {
            What::Chat(chat) => Some(chat),
            _ => None,
        }
    }
}

/// A stretch of a chat's life that belongs to the line of another, or of its own.
#[derive(Debug, Clone)]
pub struct Period {
    /// Number of the chat in the library
    pub chat: usize,
    /// Its observations, as places in [`Timeline::seen`]
    pub track: Vec<usize>,
    /// The last message of it that belongs to the line; `None` if all do
    pub limit: Option<usize>,
}

impl Timeline {
    /// Reads the history of a vault; `None` if it has none.
    pub fn load(fs: &Arc<dyn Vfs>) -> Result<Option<Self>, HistoryError> {
        let store = store(fs)?;
        let mut seen = Vec::new();
        for record in store.records() {
            seen.push(Seen { seq: record.seq, observation: parse(record.payload)? });
        }
        if seen.is_empty() {
            return Ok(None);
        }
        let mut timeline = Self { store, seen, tracks: HashMap::new(), players: HashMap::new() };
        timeline.index();
        Ok(Some(timeline))
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    fn index(&mut self) {
        // The chats that are bound to a book, by the observation that says so.
        let mut bound: HashMap<String, HashMap<VaultPath, usize>> = HashMap::new();
        let mut books: HashMap<VaultPath, String> = HashMap::new();
        let mut waiting: HashMap<String, Vec<usize>> = HashMap::new();
        for (i, Seen { observation, .. }) in self.seen.iter().enumerate() {
            let file = &observation.file;
            match &observation.what {
                What::Chat(chat) => {
                    let former = chat.was.as_ref().and_then(|was| self.tracks.remove(was));
                    let track = self.tracks.entry(file.clone()).or_default();
                    if let Some(former) = former {
                        *track = former;
                    }
                    track.push(i);
                    for name in chat.was.iter().chain([file]) {
                        if let Some(book) = books.remove(name) {
                            bound.entry(book).or_default().remove(name);
                        }
                    }
                    if let Some(book) = &chat.book {
                        books.insert(file.clone(), book.clone());
                        bound.entry(book.clone()).or_default().insert(file.clone(), i);
                        for early in waiting.remove(book).unwrap_or_default() {
                            self.players.insert(early, i);
                        }
                    }
                }
                What::Book(_) => {
                    self.tracks.entry(file.clone()).or_default().push(i);
                    let stem = stem(file);
                    match bound.get(stem).and_then(|chats| chats.values().max()) {
                        Some(chat) => drop(self.players.insert(i, *chat)),
                        None => waiting.entry(stem.to_owned()).or_default().push(i),
                    }
                }
                What::Gone => {
                    self.tracks.entry(file.clone()).or_default().push(i);
                    if let Some(book) = books.remove(file) {
                        bound.entry(book).or_default().remove(file);
                    }
                }
            }
        }
    }

    /// The observations of a file, as places in [`Timeline::seen`].
    pub fn track(&self, file: &VaultPath) -> &[usize] {
        self.tracks.get(file).map_or(&[], Vec::as_slice)
    }

    /// The observation of the chat that was being played when a book was seen.
    pub fn player(&self, book: usize) -> Option<usize> {
        self.players.get(&book).copied()
    }

    /// The periods that the line of a chat consists of, the oldest first.
    pub fn periods(&self, library: &Library, chat: usize) -> Vec<Period> {
        let mut periods: Vec<Period> = Vec::new();
        let (mut at, mut end, mut limit) = (chat, usize::MAX, None);
        loop {
            let here = &library.chats[at];
            let mut track = self.life(&here.path);
            let first = track.first().copied();
            track.retain(|i| *i < end);
            periods.push(Period { chat: at, track, limit });
            let Some(parent) = here.lineage.parent else { break };
            let recorded = here.record.as_ref().map(|record| record.message);
            let fork = recorded.or(here.lineage.fork_message);
            if fork.is_none() || periods.iter().any(|period| period.chat == parent) {
                break;
            }
            (at, end, limit) = (parent, first.unwrap_or(end), fork);
        }
        periods.reverse();
        periods
    }

    /// The observations of a chat since it was there without a break: what was there under its name before and was deleted is another.
    pub(super) fn life(&self, file: &VaultPath) -> Vec<usize> {
        let track = self.track(file);
        let from = track.iter().rposition(|i| self.seen[*i].chat().is_none()).map_or(0, |gone| gone + 1);
        track[from..].to_vec()
    }

    /// The number that a message has at the end of a period's track, if it had `message` at observation `from` of it.
    fn forward(&self, track: &[usize], from: usize, message: usize) -> Option<usize> {
        let after = track.partition_point(|i| *i <= from);
        track[after..].iter().try_fold(message, |message, i| {
            match self.seen[*i].chat().and_then(|chat| chat.shift.as_ref()) {
                Some(shift) => shift.apply(message),
                None => Some(message),
            }
        })
    }

    /// The number that a message has now on the line of a chat, if it had `message` in period `p` at observation `from`. `None` if it
    /// is not on the line.
    pub fn now(&self, periods: &[Period], p: usize, from: usize, message: usize) -> Option<usize> {
        let mut message = self.forward(&periods[p].track, from, message)?;
        for (i, period) in periods.iter().enumerate().skip(p) {
            // A fork begins as its parent was: with its own first observation.
            if let Some(first) = period.track.first().filter(|_| i > p) {
                message = self.forward(&period.track, *first, message)?;
            }
            if period.limit.is_some_and(|limit| message > limit) {
                return None;
            }
        }
        Some(message)
    }
}

/// File stem of a book.
pub(super) fn stem(file: &VaultPath) -> &str {
    let name = file.as_str().rsplit('/').next().unwrap_or_default();
    name.strip_suffix(".json").unwrap_or(name)
}
