//! History that goes to another vault: [`Timeline::take`] gathers what was seen of some chats and their books, [`Arrival`] adds it to
//! the history there, under the names that the files have there.
//!
//! What arrives keeps its order and its clocks. It stands after everything that history had, and before what will be seen of those
//! files, which are new: each file's observations are in the order in which they were made, and that is all that counts.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use forklore_core::fork::rename::Renames;
use forklore_core::format::book::Book;
use forklore_fs::{Identity, OpenFile, VaultPath};
use forklore_journal::layout;
use forklore_store::{Id, Store, Writer};
use serde::{Deserialize, Serialize};

use super::delta::Delta;
use super::document::read_book;
use super::observation::{By, ChatSeen, Observation, Observed};
use super::timeline::{Timeline, stem};
use super::{HistoryError, parse, units};
use crate::{ChatIx, Library};

/// No object that travels is longer.
pub const LONGEST_OBJECT: u32 = 64 << 20;

/// What was seen of some chats and their books.
pub struct Taken {
    /// In the order in which it was seen
    pub observations: Vec<ObservationInTransit>,
    /// The objects that it needs, and how many objects before each one is the one that it resembles; 0 if none does
    pub objects: Vec<(Id, u32)>,
    /// Their bytes
    pub bytes: u64,
}

/// An observation on its way to another vault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ObservationInTransit {
    /// Its number where it comes from
    pub seq: u64,
    /// Whether the whole content of then was forgotten
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub forgotten: bool,
    /// What was seen
    #[serde(flatten)]
    pub observation: Observation,
}

impl ObservationInTransit {
    /// Reads one, as it is written.
    pub fn read(line: &[u8]) -> Result<Self, HistoryError> {
        #[derive(Deserialize)]
        struct Ticket {
            seq: u64,
            #[serde(default)]
            forgotten: bool,
        }
        let observation = parse(line)?;
        let ticket: Ticket =
            serde_json::from_slice(line).map_err(|e| HistoryError::Unreadable(e.to_string()))?;
        Ok(Self { seq: ticket.seq, forgotten: ticket.forgotten, observation })
    }
}

impl Timeline {
    /// What was seen of these chats, and of all books that they had or have. Other chats that had one of these books come along by
    /// name alone: without them nobody could tell whose a change of the book was.
    pub fn take(&self, library: &Library, chats: &[ChatIx], books: &[String]) -> Result<Taken, HistoryError> {
        let mut told: BTreeMap<usize, Observation> = BTreeMap::new();
        let mut stems: BTreeSet<String> = books.iter().cloned().collect();
        let files: Vec<&VaultPath> = chats.iter().map(|c| &library.chats[*c].path).collect();
        let mut lives: Vec<(VaultPath, usize)> =
            files.iter().map(|file| ((*file).clone(), usize::MAX)).collect();
        // A chat that brings back the past of another one goes on from there, also if the other one is gone.
        let restored = chats.iter().filter_map(|c| self.restored_from(library, *c));
        lives
            .extend(restored.filter(|(file, _)| !files.contains(&file)).map(|(file, seen)| (file, seen + 1)));
        for (file, end) in &lives {
            for i in self.life(file, *end) {
                // A chat that was renamed is told of by the name that it has now.
                let mut observation = Observation { file: file.clone(), ..self.seen[i].observation.clone() };
                if let Observed::Chat(chat) = &mut observation.what {
                    chat.was = None;
                    // Images and files travel as they are, on request, and not as they were.
                    chat.media = None;
                    stems.extend(chat.book.clone());
                }
                observation.v = observation.what.version();
                told.insert(i, observation);
            }
        }
        for file in stems.iter().filter_map(|stem| layout::book(stem).ok()) {
            told.extend(self.track(&file).iter().map(|i| (*i, self.seen[*i].observation.clone())));
        }
        let shares = |chat: &ChatSeen| chat.book.as_ref().is_some_and(|book| stems.contains(book));
        let rest = || self.seen.iter().enumerate().filter(|(i, _)| !told.contains_key(i));
        let sharing = rest().filter(|(_, seen)| seen.chat().is_some_and(shares));
        let others: HashSet<&VaultPath> = sharing.map(|(_, seen)| &seen.observation.file).collect();
        let told_of = rest().filter(|(_, seen)| others.contains(&seen.observation.file));
        let by_name: Vec<(usize, Observation)> = told_of
            .map(|(i, seen)| {
                let mut observation = seen.observation.clone();
                if let Observed::Chat(chat) = &mut observation.what {
                    *chat = by_name_alone(chat);
                    chat.book = chat.book.take().filter(|book| stems.contains(book));
                    chat.was = chat.was.take().filter(|was| others.contains(was));
                }
                (i, observation)
            })
            .collect();
        let mut objects = Objects::new(&self.store);
        let mut forgotten: HashSet<usize> = HashSet::new();
        for (i, observation) in &mut told {
            if observation.content().is_some() && self.content(&self.seen[*i]).is_none() {
                forgotten.insert(*i);
                if let Observed::Chat(chat) = &mut observation.what {
                    chat.content = None;
                }
            }
            objects.add(observation, forgotten.contains(i))?;
        }
        let Objects { list, bytes, .. } = objects;
        told.extend(by_name);
        let travelling = told.into_iter().map(|(i, observation)| {
            let forgotten = forgotten.contains(&i) && matches!(observation.what, Observed::Book(_));
            ObservationInTransit { seq: self.seen[i].seq, forgotten, observation }
        });
        Ok(Taken { observations: travelling.collect(), objects: list, bytes })
    }
}

/// A chat of which only the book that it had, and where it was, is told.
fn by_name_alone(chat: &ChatSeen) -> ChatSeen {
    ChatSeen {
        content: None,
        header: Id::of(b""),
        messages: chat.messages,
        last: String::new(),
        slug: None,
        book: chat.book.clone(),
        shift: None,
        was: chat.was.clone(),
        media: None,
    }
}

/// The objects of some observations, each once, after what it resembles.
struct Objects<'a> {
    store: &'a Store,
    list: Vec<(Id, u32)>,
    places: HashMap<Id, usize>,
    /// The last object that stood at a place of a file
    last: HashMap<(usize, u64), Id>,
    /// Files, by the order in which they came
    files: HashMap<VaultPath, usize>,
    bytes: u64,
}

impl<'a> Objects<'a> {
    /// Places in a file besides its segments, which have keys of their own. If one of those is the same, little is lost.
    const WHOLE: u64 = 0;
    const HEADER: u64 = 1;
    const DELTA: u64 = 2;

    fn new(store: &'a Store) -> Self {
        Self {
            store,
            list: Vec::new(),
            places: HashMap::new(),
            last: HashMap::new(),
            files: HashMap::new(),
            bytes: 0,
        }
    }

    fn add(&mut self, observation: &Observation, forgotten: bool) -> Result<(), HistoryError> {
        let next = self.files.len();
        let file = *self.files.entry(observation.file.clone()).or_insert(next);
        match &observation.what {
            Observed::Chat(chat) => {
                if let Some(content) = &chat.content {
                    self.document(file, content)?;
                }
                self.object(file, Self::HEADER, &chat.header)
            }
            Observed::Book(book) => {
                if !forgotten {
                    self.document(file, &book.content)?;
                }
                book.delta.iter().try_for_each(|delta| self.object(file, Self::DELTA, delta))
            }
            Observed::Gone | Observed::Forget { .. } => Ok(()),
        }
    }

    fn document(&mut self, file: usize, id: &Id) -> Result<(), HistoryError> {
        if self.places.contains_key(id) {
            return Ok(());
        }
        for segment in &self.store.manifest(id)?.segments {
            self.object(file, segment.key, &segment.id)?;
        }
        self.object(file, Self::WHOLE, id)
    }

    fn object(&mut self, file: usize, place: u64, id: &Id) -> Result<(), HistoryError> {
        let last = self.last.insert((file, place), *id);
        if self.places.contains_key(id) {
            return Ok(());
        }
        let len = self.store.len_of(id).ok_or(forklore_store::StoreError::Missing(*id))?;
        if len > LONGEST_OBJECT {
            return Err(forklore_store::StoreError::TooLarge(len as usize).into());
        }
        let here = self.list.len();
        let back = last.and_then(|last| here.checked_sub(*self.places.get(&last)?)).unwrap_or(0);
        self.list.push((*id, u32::try_from(back).unwrap_or(0)));
        self.places.insert(*id, here);
        self.bytes += u64::from(len);
        Ok(())
    }
}

/// Where files of the other vault are in this one.
#[derive(Debug, Clone, Default)]
pub struct Landing {
    /// Chats and books that arrive with their history
    pub files: HashMap<VaultPath, VaultPath>,
    /// Chats that are only named in it, and are not there
    pub named: HashMap<VaultPath, VaultPath>,
    /// What goes by another name
    pub renames: Renames,
}

/// History that arrives. Nobody else adds to the history meanwhile.
pub struct Arrival<'s> {
    writer: Writer<'s>,
    landing: Landing,
    now: i64,
    /// Objects in the order in which they came
    ids: Vec<Id>,
    clock: i64,
    /// What arrived last of each file
    last: HashMap<VaultPath, Last>,
    /// Numbers of observations whose content was forgotten where they come from
    forgotten: Vec<u64>,
}

#[derive(Clone, Copy)]
struct Last {
    clock: i64,
    /// The book's content, and whether it is another one than where it came from
    book: Option<(Id, bool)>,
    gone: bool,
}

impl<'s> Arrival<'s> {
    /// Takes the right to write history. `now` is in milliseconds since 1970.
    pub fn begin(store: &'s mut Store, landing: Landing, now: i64) -> Result<Self, HistoryError> {
        let writer = store.writer()?;
        // Files that history takes for being there, and when they were seen.
        let mut stale = BTreeMap::new();
        for record in writer.store().records() {
            let observation = parse(record.payload)?;
            match observation.what {
                Observed::Forget { .. } => continue,
                Observed::Gone => stale.remove(&observation.file),
                _ => stale.insert(observation.file, observation.clock),
            };
        }
        let (ids, last) = (Vec::new(), HashMap::new());
        let mut arrival = Self { writer, landing, now, ids, clock: i64::MIN, last, forgotten: Vec::new() };
        let Landing { files, named, .. } = &arrival.landing;
        // Their names were free, so they are gone. All of them before anything arrives: a chat must not begin with what a book of this
        // name once was.
        let arriving: HashSet<&VaultPath> = files.values().chain(named.values()).collect();
        stale.retain(|file, _| arriving.contains(file));
        for (file, clock) in stale {
            arrival.record(file, clock, None, By::Import, Observed::Gone)?;
        }
        Ok(arrival)
    }

    /// An object arrives, which resembles the one that came `back` objects before it.
    pub fn object(&mut self, bytes: &[u8], back: u32) -> Result<(), HistoryError> {
        let base = self.ids.len().checked_sub(back as usize).and_then(|at| self.ids.get(at)).copied();
        let id = self.writer.put(bytes, base.as_ref())?;
        self.ids.push(id);
        Ok(())
    }

    /// An observation arrives.
    pub fn observe(&mut self, travelling: ObservationInTransit) -> Result<(), HistoryError> {
        let ObservationInTransit { seq, forgotten, mut observation } = travelling;
        let from = observation.file.clone();
        let Landing { files, named, .. } = &self.landing;
        let Some(file) = files.get(&from).or_else(|| named.get(&from)).cloned() else {
            return Err(HistoryError::Unreadable(format!("it tells of {from}")));
        };
        // A clock from the future would hold up the clock of everything that is seen from now on.
        self.clock = self.clock.max(observation.clock.min(self.now));
        let mut last = Last { clock: self.clock, book: None, gone: false };
        match &mut observation.what {
            Observed::Chat(chat) if chat.header != Id::of(b"") => self.chat(chat)?,
            Observed::Chat(chat) => {
                *chat = by_name_alone(chat);
                self.writer.put(b"", None)?;
                self.bind(chat);
                chat.was = chat.was.take().and_then(|was| self.landing.named.get(&was).cloned());
            }
            Observed::Book(book) => {
                if let Some(delta) = &book.delta {
                    let delta = self.writer.store().get(delta)?;
                    Delta::read(&delta).ok_or_else(|| HistoryError::Unreadable("a change".to_owned()))?;
                }
                if !forgotten {
                    let before = self.last.get(&file).and_then(|last| last.book);
                    let changed = self.book(book, stem(&from), before)?;
                    last.book = Some((book.content, changed));
                }
            }
            Observed::Gone => last.gone = true,
            Observed::Forget { .. } => return Err(HistoryError::Unreadable("it forgets".to_owned())),
        }
        // A backup stays one: when it was made is less certain than when somebody watched.
        let by = match observation.by {
            By::Backup(name) if name.len() < 256 => By::Backup(name),
            _ => By::Import,
        };
        self.last.insert(file.clone(), last);
        let looked = observation.looked.map(|looked| looked.min(self.now));
        let new = self.record(file, self.clock, looked, by, observation.what)?;
        self.landing.renames.observations.insert(seq, new);
        if forgotten {
            self.forgotten.push(new);
        }
        Ok(())
    }

    /// What goes by another name here, observations included.
    pub fn renames(&self) -> &Renames {
        &self.landing.renames
    }

    fn record(
        &mut self,
        file: VaultPath,
        clock: i64,
        looked: Option<i64>,
        by: By,
        what: Observed,
    ) -> Result<u64, HistoryError> {
        let observation = Observation { v: what.version(), file, clock, looked, by, what };
        let payload =
            serde_json::to_vec(&observation).map_err(|e| HistoryError::Unreadable(e.to_string()))?;
        Ok(self.writer.record(&payload))
    }

    fn bind(&self, chat: &mut ChatSeen) {
        if let Some(new) = chat.book.as_ref().and_then(|book| self.landing.renames.books.get(book)) {
            chat.book = Some(new.clone());
        }
    }

    fn chat(&mut self, chat: &mut ChatSeen) -> Result<(), HistoryError> {
        chat.was = None;
        chat.media = None;
        self.bind(chat);
        if let Some(new) = chat.slug.as_ref().and_then(|slug| self.landing.renames.slugs.get(slug)) {
            chat.slug = Some(new.clone());
        }
        if let Some(content) = &chat.content {
            self.must_be_whole(content)?;
        }
        let line = self.writer.store().get(&chat.header)?;
        let entry = |book: &str, uid: i64| {
            let file = layout::book(book).ok()?;
            let (content, _) = self.last.get(self.landing.files.get(&file)?)?.book?;
            let entries = read_book(self.writer.store(), &content).ok()??;
            entries.into_iter().find(|entry| entry.uid == Some(uid))
        };
        if let Some(renamed) = self.landing.renames.in_header(&line, &entry) {
            chat.header = self.writer.put(&renamed, Some(&chat.header))?;
        }
        Ok(())
    }

    /// Says whether the book is another one than where it came from: its entries name chats that are called something else here.
    fn book(
        &mut self,
        book: &mut super::BookSeen,
        stem: &str,
        before: Option<(Id, bool)>,
    ) -> Result<bool, HistoryError> {
        self.must_be_whole(&book.content)?;
        if self.landing.renames.chats.is_empty() {
            return Ok(false);
        }
        let mut bytes = Vec::new();
        self.writer.store().read_document(&book.content, &mut bytes)?;
        let renamed = self.landing.renames.in_book(&bytes, stem);
        let changed = renamed.is_some();
        if !changed && before.is_none_or(|(_, changed)| !changed) {
            return Ok(false);
        }
        let bytes = renamed.unwrap_or(bytes);
        let parsed = Book::parse(&bytes).ok();
        if let Some(parsed) = &parsed {
            let mut units = units::of_book(&bytes, parsed).into_iter();
            let previous = before.map_or(book.content, |(content, _)| content);
            book.content = self.writer.put_document(
                &InMemory(&bytes),
                &mut units,
                units::BOOK_SEGMENT,
                Some(&previous),
            )?;
        }
        let old = match before {
            Some((before, _)) => read_book(self.writer.store(), &before)?,
            None => None,
        };
        book.delta = match (old, parsed) {
            (Some(old), Some(new)) => {
                Some(self.writer.put(&Delta::between(&old, &new.images()).to_bytes(), None)?)
            }
            _ => None,
        };
        Ok(changed)
    }

    fn must_be_whole(&self, document: &Id) -> Result<(), HistoryError> {
        let store = self.writer.store();
        for segment in &store.manifest(document)?.segments {
            if store.len_of(&segment.id) != Some(segment.len) {
                return Err(forklore_store::StoreError::Missing(segment.id).into());
            }
        }
        Ok(())
    }

    /// Everything has arrived: it becomes part of the history. Until this is dropped nobody else adds to it, so that no one finds the
    /// files missing before they are there.
    pub fn land(&mut self) -> Result<(), HistoryError> {
        let named: HashSet<VaultPath> = self.landing.named.values().cloned().collect();
        self.gone(|file| named.contains(file))?;
        if !self.forgotten.is_empty() {
            let contents = self.forgotten.drain(..).map(|seq| (seq, seq)).collect();
            self.record(VaultPath::root(), self.now, None, By::Import, Observed::Forget { contents })?;
        }
        Ok(self.writer.flush()?)
    }

    /// The files did not come after all.
    pub fn revoke(&mut self) -> Result<(), HistoryError> {
        self.gone(|_| true)?;
        Ok(self.writer.flush()?)
    }

    fn gone(&mut self, which: impl Fn(&VaultPath) -> bool) -> Result<(), HistoryError> {
        let mut there: Vec<(VaultPath, i64)> = Vec::new();
        for (file, last) in self.last.iter_mut().filter(|(file, last)| !last.gone && which(file)) {
            last.gone = true;
            there.push((file.clone(), last.clock));
        }
        there.sort();
        for (file, clock) in there {
            self.record(file, clock, None, By::Import, Observed::Gone)?;
        }
        Ok(())
    }
}

/// Bytes in memory, to be read like a file.
struct InMemory<'a>(&'a [u8]);

impl OpenFile for InMemory<'_> {
    fn identity(&self) -> std::io::Result<Identity> {
        Ok(Identity { file: 0, len: self.0.len() as u64, modified: 0, changed: 0 })
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|at| self.0.get(at..)).unwrap_or(&[]);
        let len = rest.len().min(buf.len());
        buf[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }
}
