//! [`Eye`]: one look at one file, and what it shows that was not recorded yet.

use std::collections::HashMap;

use forklore_core::adapter::bindings::Bindings;
use forklore_core::format::book::Book;
use forklore_core::format::chat::Header;
use forklore_core::format::names::book_stem;
use forklore_core::format::settings::Settings;
use forklore_core::story::{MessageId, Shift};
use forklore_fs::{Identity, OpenFile, PathError, VaultPath, Vfs};
use forklore_journal::layout;
use forklore_json::Raw;
use forklore_store::{Id, Writer};

use super::delta::Delta;
use super::document::scan_stored;
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
pub(super) struct Known {
    pub(super) observation: Observation,
    /// The file that was looked at, if that was us
    pub(super) identity: Option<Identity>,
}

/// How thoroughly to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Everything, however large
    Whole,
    /// The text of large chats is left for later
    Quick,
}

/// What one look at one file gives.
pub(super) enum Look {
    /// Nothing new, and this is the file that says so
    Same(Option<Identity>),
    New(Box<Observation>, Option<Identity>),
    Unfinished,
}

pub(super) fn is_book(file: &VaultPath) -> bool {
    file.as_str().starts_with(layout::WORLDS)
}

/// One look at one file, under the store's lock.
pub(super) struct Eye<'a, 's> {
    pub(super) fs: &'a dyn Vfs,
    pub(super) writer: &'a mut Writer<'s>,
    pub(super) known: &'a HashMap<VaultPath, Known>,
    pub(super) clock: i64,
    pub(super) now: i64,
    pub(super) looked: i64,
    pub(super) by: &'a By,
    pub(super) depth: Depth,
    /// The images and files that are known, if they are kept
    pub(super) files: Option<&'a mut KnownFiles>,
}

impl Eye<'_, '_> {
    pub(super) fn look(&mut self, path: &VaultPath) -> Result<Look, HistoryError> {
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
    pub(super) fn look_at_copy(&mut self, path: &VaultPath, copy: &VaultPath) -> Result<Look, HistoryError> {
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
            book: self.story_book(parsed)?,
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
            chat.shift = self.shift(before, &scan, group, chat.slug.as_deref())?;
        }
        Ok(Look::New(Box::new(self.saw(path, Observed::Chat(chat))), Some(identity)))
    }

    /// The stem of the book of a chat's story. Settings count only where a note of an extension's names one.
    fn story_book(&self, header: Header<'_>) -> Result<Option<String>, HistoryError> {
        let bindings = Bindings::of(header);
        let settings = match &bindings.memory {
            Some(_) => self.fs.read(&layout::folder(layout::SETTINGS))?,
            None => None,
        };
        let settings = settings.map(|bytes| Settings::parse(&bytes)).unwrap_or_default();
        Ok(bindings.story(&settings).map(|(name, _)| book_stem(name)))
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
    fn shift(
        &self,
        before: &ChatSeen,
        scan: &Scan,
        group: bool,
        slug: Option<&str>,
    ) -> Result<Option<Shift>, HistoryError> {
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
        // With another slug it is another chat of that name: what came in the place of a message is not the same, edited.
        let is_other = before.slug.as_deref().zip(slug).is_some_and(|(was, slug)| was != slug);
        let is_other = is_other && matches!(self.by, By::Watch | By::Plugin(_));
        let shift = if is_other { Shift::beginning(&old, &after) } else { Shift::between(&old, &after) };
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
        // A book can have a million entries: nothing is made of those that stayed.
        let mut old = Vec::new();
        if let Some(previous) = &previous {
            self.writer.store().read_document(previous, &mut old)?;
        }
        let delta = match (Book::parse(&old), &parsed) {
            (Ok(old), Ok(new)) => Some(Delta::of(old.entries(), new.entries()).to_bytes()),
            _ => None,
        };
        let delta = delta.map(|delta| self.writer.put(&delta, None)).transpose()?;
        let entries = parsed.ok().map(|book| book.entries().len());
        let book = BookSeen { content, delta, entries, was: None };
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
