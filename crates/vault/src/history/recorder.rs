//! [`Recorder`]: looks at files and writes down what changed.
//!
//! Content is read from disk after it is complete: a file that changes while it is read, or that is cut off and fresh, is left for
//! the next look. Two processes that see the same change record it once, because each looks at what is recorded under the store's
//! lock before it adds to it.

use std::collections::HashMap;
use std::sync::Arc;

use forklore_config::Config;
use forklore_core::format::book::{Book, EntryImage};
use forklore_core::format::chat::Header;
use forklore_core::format::names::book_stem;
use forklore_core::story::{MessageId, Shift};
use forklore_fs::{Identity, OpenFile, PathError, VaultPath, Vfs};
use forklore_journal::layout;
use forklore_json::Raw;
use forklore_store::{Id, Store, Writer};

use super::delta::Delta;
use super::document::Stored;
use super::media::{Keeper, Known as KnownFiles};
use super::observation::{BookSeen, By, ChatSeen, Observation, Observed};
use super::{HistoryError, units};
use crate::cache;
use crate::read::facts::Damage;
use crate::read::scan::{Scan, scan};

/// A file that is cut off and younger than this, in milliseconds, is probably being written.
const FRESH: i64 = 2_000;

/// Chats above this size are stored by `watch` alone; after an operation only what they say is noted.
const LARGE: u64 = 32 << 20;

/// What is known of the last observation of a file.
#[derive(Debug, Clone)]
struct Known {
    observation: Observation,
    /// The file that was looked at, if that was us
    identity: Option<Identity>,
}

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

/// How thoroughly to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Everything, however large
    Whole,
    /// The text of large chats is left for later
    Quick,
}

/// What a look found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Looked {
    /// Files of which something new was recorded
    pub recorded: Vec<VaultPath>,
    /// Files that were being written and are to be looked at again
    pub unfinished: Vec<VaultPath>,
    /// By what everything that was looked at together is known
    moment: Option<i64>,
}

impl Looked {
    /// What was found where the same look went on.
    pub fn add(&mut self, more: Self) {
        self.recorded.extend(more.recorded);
        self.unfinished.extend(more.unfinished);
        self.moment = more.moment;
    }
}

enum Look {
    /// Nothing new, and this is the file that says so
    Same(Option<Identity>),
    New(Box<Observation>, Option<Identity>),
    Unfinished,
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
            seen.push((sight, self.fs.identity(sight.copy.as_ref().unwrap_or(&sight.file))?));
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
                Some(copy) => eye.look_at_copy(file, copy)?,
                None => eye.look(file)?,
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

fn is_book(file: &VaultPath) -> bool {
    file.as_str().starts_with(layout::WORLDS)
}

/// One look at one file, under the store's lock.
struct Eye<'a, 's> {
    fs: &'a dyn Vfs,
    writer: &'a mut Writer<'s>,
    known: &'a HashMap<VaultPath, Known>,
    clock: i64,
    now: i64,
    looked: i64,
    by: &'a By,
    depth: Depth,
    /// The images and files that are known, if they are kept
    files: Option<&'a mut KnownFiles>,
}

impl Eye<'_, '_> {
    fn look(&mut self, path: &VaultPath) -> Result<Look, HistoryError> {
        let file = match self.fs.open(path) {
            Ok(file) => file,
            Err(e) if e.is_missing() => return Ok(self.gone(path)),
            Err(e) => return Err(e.into()),
        };
        let identity = file.identity().map_err(|source| failed(path, source))?;
        if self.known.get(path).is_some_and(|known| known.identity == Some(identity)) {
            return Ok(Look::Same(Some(identity)));
        }
        let look = if is_book(path) {
            self.look_at_book(path, &*file, identity)
        } else {
            self.look_at_chat(path, path, &*file, identity)
        };
        let look = match look {
            // It became shorter under our eyes.
            Err(e) if e.is_unfinished() => return Ok(Look::Unfinished),
            look => look?,
        };
        // Whoever writes a file in place may have done so while it was read.
        let after = file.identity().map_err(|source| failed(path, source))?;
        if after.is_same_content(&identity) { Ok(look) } else { Ok(Look::Unfinished) }
    }

    /// Looks at an older copy of a chat.
    fn look_at_copy(&mut self, path: &VaultPath, copy: &VaultPath) -> Result<Look, HistoryError> {
        let file = match self.fs.open(copy) {
            Ok(file) => file,
            // It was not needed for anything but this.
            Err(e) if e.is_missing() => return Ok(Look::Same(None)),
            Err(e) => return Err(e.into()),
        };
        let identity = file.identity().map_err(|source| failed(copy, source))?;
        Ok(match self.look_at_chat(path, copy, &*file, identity)? {
            Look::New(observation, _) => Look::New(observation, None),
            _ => Look::Same(None),
        })
    }

    fn gone(&self, path: &VaultPath) -> Look {
        match self.known.get(path) {
            Some(known) if known.observation.what != Observed::Gone => {
                Look::New(Box::new(self.saw(path, Observed::Gone)), None)
            }
            _ => Look::Same(None),
        }
    }

    fn saw(&self, path: &VaultPath, what: Observed) -> Observation {
        let looked = Some(self.looked);
        let v = what.version();
        Observation { v, file: path.clone(), clock: self.clock, looked, by: self.by.clone(), what }
    }

    fn is_fresh(&self, identity: &Identity) -> bool {
        self.now - identity.modified / 1_000_000 < FRESH
    }

    fn look_at_chat(
        &mut self,
        path: &VaultPath,
        from: &VaultPath,
        file: &dyn OpenFile,
        identity: Identity,
    ) -> Result<Look, HistoryError> {
        let group = path.as_str().starts_with(layout::GROUP_CHATS);
        let scan = read_scan(self.fs, from, file, identity, group)?;
        let cut_off =
            |damage: &Damage| matches!(damage, Damage::Empty | Damage::BrokenLine { last: true, .. });
        if scan.facts.damage.iter().any(cut_off) && self.is_fresh(&identity) {
            return Ok(Look::Unfinished);
        }
        let before = self.known.get(path).map(|known| &known.observation);
        let was = if before.is_none_or(|o| o.what == Observed::Gone) {
            self.former_name(path, &scan)
        } else {
            None
        };
        let before = before
            .filter(|o| o.what != Observed::Gone)
            .or_else(|| self.known.get(was.as_ref()?).map(|k| &k.observation));
        let before = before.and_then(|o| match &o.what {
            Observed::Chat(chat) => Some(chat.clone()),
            _ => None,
        });
        let content = if self.depth == Depth::Quick && identity.len > LARGE {
            None
        } else {
            let previous = before.as_ref().and_then(|chat| chat.content);
            let mut units = units::of_chat(&scan.transcript, identity.len);
            Some(self.writer.put_document(file, &mut units, units::CHAT_SEGMENT, previous.as_ref())?)
        };
        let line = scan.transcript.row(0).map_or(identity.len, |row| row.start);
        let line = file.read_range(0..line.min(identity.len)).map_err(|source| failed(path, source))?;
        let header = self.writer.put(&line, before.as_ref().map(|chat| &chat.header))?;
        let last = scan.transcript.len().checked_sub(1).and_then(|last| scan.transcript.moment(last));
        let parsed = scan.header.as_deref().map_or(Header::NONE, |bytes| Header::new(Raw::trust(bytes)));
        let mut chat = ChatSeen {
            content,
            header,
            messages: scan.transcript.len(),
            last: last.unwrap_or_default().to_string(),
            slug: parsed.slug().map(std::borrow::Cow::into_owned),
            book: parsed.book().map(|name| book_stem(&name)),
            shift: None,
            was,
            media: None,
        };
        chat.media = self.media(file, path, &chat, before.as_ref())?;
        if let Some(before) = &before {
            let same = ChatSeen { shift: before.shift.clone(), was: before.was.clone(), ..chat.clone() };
            // Without the text, what it says must do: the last moment speaks for all messages.
            let unread = ChatSeen { content: before.content, media: before.media, ..same.clone() };
            if chat.was.is_none() && (same == *before || (chat.content.is_none() && unread == *before)) {
                return Ok(Look::Same(Some(identity)));
            }
            chat.shift = self.shift(before, &scan, group)?;
        }
        Ok(Look::New(Box::new(self.saw(path, Observed::Chat(chat))), Some(identity)))
    }

    /// The list of what a chat links to, as it is kept: together with its text, and only if somebody wants it.
    fn media(
        &mut self,
        file: &dyn OpenFile,
        path: &VaultPath,
        chat: &ChatSeen,
        before: Option<&ChatSeen>,
    ) -> Result<Option<Id>, HistoryError> {
        let old = before.and_then(|before| before.media);
        let Some(content) = chat.content else { return Ok(None) };
        let Some(known) = self.files.as_deref_mut() else {
            // What was kept of this very text stays kept.
            return Ok(old.filter(|_| before.and_then(|before| before.content) == Some(content)));
        };
        let links = crate::read::media::of_file(file, None).map_err(|source| failed(path, source))?;
        // After an operation nobody waits for large files: `watch` adds them.
        let room = if self.depth == Depth::Quick { LARGE } else { u64::MAX };
        Keeper { fs: self.fs, writer: self.writer, known, room }.keep(&links, old.as_ref())
    }

    /// The name that a chat had which is here for the first time: the slug is that of one that is gone.
    fn former_name(&self, path: &VaultPath, scan: &Scan) -> Option<VaultPath> {
        let slug = Header::new(Raw::trust(scan.header.as_deref()?)).slug()?.into_owned();
        let had = |(file, known): (&VaultPath, &Known)| {
            let Observed::Chat(chat) = &known.observation.what else { return None };
            let here = file != path && chat.slug.as_ref() == Some(&slug);
            (here && matches!(self.fs.identity(file), Ok(None))).then(|| file.clone())
        };
        self.known.iter().find_map(had)
    }

    /// Where the messages went since the observation before.
    fn shift(&self, before: &ChatSeen, scan: &Scan, group: bool) -> Result<Option<Shift>, HistoryError> {
        let now = &scan.transcript;
        let kept = |last: usize| now.moment(last).is_some_and(|moment| moment.to_string() == before.last);
        // Moments are chained: if the last one is still there, so are all before it.
        let Some(last) = before.messages.checked_sub(1).filter(|last| !kept(*last)) else { return Ok(None) };
        let after: Vec<MessageId> = now.rows_from(0).map(|row| row.id).collect();
        let Some(content) = &before.content else {
            // The text was never stored. What is left of it has kept its numbers, for all that is known.
            return Ok(None);
        };
        let old = scan_stored(self.writer.store(), content, group)?;
        let old: Vec<MessageId> = old.transcript.rows_from(0).map(|row| row.id).collect();
        let shift = Shift::between(&old, &after);
        Ok(Some(shift).filter(|shift| !shift.is_identity(last + 1)))
    }

    fn look_at_book(
        &mut self,
        path: &VaultPath,
        file: &dyn OpenFile,
        identity: Identity,
    ) -> Result<Look, HistoryError> {
        let bytes = file.read_range(0..identity.len).map_err(|source| failed(path, source))?;
        let before = self.known.get(path).and_then(|known| match &known.observation.what {
            Observed::Book(book) => Some(book.clone()),
            _ => None,
        });
        let parsed = Book::parse(&bytes);
        if parsed.is_err() && self.is_fresh(&identity) {
            return Ok(Look::Unfinished);
        }
        let previous = before.as_ref().map(|book| book.content);
        let content = match &parsed {
            Ok(book) => {
                let mut units = units::of_book(&bytes, book).into_iter();
                self.writer.put_document(file, &mut units, units::BOOK_SEGMENT, previous.as_ref())?
            }
            Err(_) => {
                let mut units = units::of_anything(identity.len);
                self.writer.put_document(file, &mut units, units::BOOK_SEGMENT, previous.as_ref())?
            }
        };
        if previous == Some(content) {
            return Ok(Look::Same(Some(identity)));
        }
        let images = parsed.map(|book| book.images()).ok();
        let old = match &previous {
            Some(previous) => read_book(self.writer.store(), previous)?,
            None => None,
        };
        let delta = match (&old, &images) {
            (Some(old), Some(new)) => Some(self.writer.put(&Delta::between(old, new).to_bytes(), None)?),
            _ => None,
        };
        let book = BookSeen { content, delta, entries: images.map(|images| images.len()), was: None };
        Ok(Look::New(Box::new(self.saw(path, Observed::Book(book))), Some(identity)))
    }
}

fn failed(path: &VaultPath, source: std::io::Error) -> HistoryError {
    HistoryError::Path(PathError { path: path.clone(), doing: "read", source })
}

fn read_scan(
    fs: &dyn Vfs,
    path: &VaultPath,
    file: &dyn OpenFile,
    identity: Identity,
    group: bool,
) -> Result<Scan, HistoryError> {
    if let Some(known) = cache::recall(fs, path, identity) {
        return Ok(known);
    }
    let scan = scan(file, group).map_err(|source| failed(path, source))?;
    if identity.len >= cache::WORTHWHILE {
        cache::remember(fs, path, identity, &scan);
    }
    Ok(scan)
}

/// The scan of a chat in the store.
pub(super) fn scan_stored(store: &Store, content: &Id, group: bool) -> Result<Scan, HistoryError> {
    let file = Stored::open(store, content)?;
    scan(&file, group).map_err(|e| HistoryError::Unreadable(e.to_string()))
}

/// The entries of a book in the store; `None` if it was not readable as a book.
pub(crate) fn read_book(store: &Store, content: &Id) -> Result<Option<Vec<EntryImage>>, HistoryError> {
    let mut bytes = Vec::new();
    store.read_document(content, &mut bytes)?;
    Ok(Book::parse(&bytes).map(|book| book.images()).ok())
}
