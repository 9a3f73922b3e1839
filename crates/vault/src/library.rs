//! [`Library`]: everything that was read of a vault, with the lineage of every chat.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use forklore_core::adapter::recap::RunningRecap;
use forklore_core::adapter::{self, Adapter};
use forklore_core::format::book::{Book as ParsedBook, BookError, BookMap, EntryImage};
use forklore_core::format::card::Card;
use forklore_core::format::chat::Header;
use forklore_core::format::group::{Group, Kept};
use forklore_core::format::names::book_stem;
use forklore_core::format::record::ForkRecord;
use forklore_core::format::settings::Settings;
use forklore_core::state::Life;
use forklore_core::story::Transcript;
use forklore_core::story::lineage::Lineage;
use forklore_fs::{Identity, PathError, VaultPath, Vfs};
use forklore_journal::Right;
use forklore_json::Raw;
use schemars::JsonSchema;
use serde::Serialize;

use crate::address::Address;
use crate::cache::View;
use crate::history::{HistoryError, Timeline};
use crate::lineage::{Alignments, Kin};
use crate::read::scan::{Facts, Snapshots};
use crate::state::{CopiedBook, Families, Lore, Names, ToldScene};

/// What kind of story it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StoryKind {
    /// The chats of one character
    Character,
    /// The chats of one group
    Group,
}

/// Everything of one character or one group.
#[derive(Debug, Clone)]
pub struct Story {
    /// Character or group
    pub kind: StoryKind,
    /// The card's file stem, or the group's id
    pub folder: String,
    /// The name shown to the user
    pub name: String,
    /// Its chats, sorted by name
    pub chats: Vec<usize>,
}

impl Story {
    /// Whether a user can mean this story by `name`.
    pub fn is_called(&self, name: &str) -> bool {
        let id =
            if self.kind == StoryKind::Group { name.strip_prefix("group:").unwrap_or(name) } else { name };
        self.folder == id || self.name == name
    }
}

/// One chat.
#[derive(Debug)]
pub struct Chat {
    /// Number of its story
    pub story: usize,
    /// File stem
    pub name: String,
    /// Its file
    pub path: VaultPath,
    /// Length of the file in bytes
    pub bytes: u64,
    /// When the file was last changed, in nanoseconds since 1970
    pub modified: i64,
    /// Which file was read; `None` if it could not be
    pub identity: Option<Identity>,
    pub(crate) header: Vec<u8>,
    /// The group's file, and where in it the metadata is, for chats of older versions, which have no header
    pub kept: Option<(VaultPath, Kept)>,
    /// The book bound to the chat: name as the header has it, and file stem
    pub book: Option<(String, String)>,
    /// The messages
    pub transcript: Transcript,
    /// Facts about some messages
    pub facts: Facts,
    /// States of the book that its scenes have kept
    pub snapshots: Snapshots,
    /// Where all this is remembered, if others can be remembered as a part of it; see [`Library::view`]
    pub(crate) view: OnceLock<View>,
    /// The record that Forklore wrote for this very chat
    pub record: Option<ForkRecord>,
    /// The running recap as stored
    pub running: Option<RunningRecap>,
    /// Where it comes from
    pub lineage: Lineage,
    /// Why the file could not be read
    pub unreadable: Option<String>,
}

impl Chat {
    /// The header.
    pub fn header(&self) -> Header<'_> {
        // The scan took the header out of a line that it had parsed.
        if self.header.is_empty() { Header::NONE } else { Header::new(Raw::trust(&self.header)) }
    }

    /// File stem of the book bound to the chat.
    pub fn book_stem(&self) -> Option<&str> {
        self.book.as_ref().map(|(_, stem)| stem.as_str())
    }

    /// Number of the last message; 0 for a chat without any.
    pub fn head(&self) -> usize {
        self.transcript.len().saturating_sub(1)
    }
}

/// A lorebook's file.
pub struct Book {
    /// File stem
    pub name: String,
    /// Which file was read
    pub identity: Option<Identity>,
    bytes: Arc<Vec<u8>>,
    map: Result<BookMap, BookError>,
    /// What keeps it, if it is not kept by hand
    pub keeper: Option<&'static dyn Adapter>,
}

impl Book {
    fn new(name: String, bytes: Vec<u8>, identity: Option<Identity>) -> Self {
        let parsed = ParsedBook::parse(&bytes);
        let keeper = parsed.as_ref().ok().and_then(adapter::keeper);
        let map = parsed.map(|book| book.map(&bytes));
        Self { name, identity, bytes: Arc::new(bytes), map, keeper }
    }

    /// The book, read by spans.
    pub fn parse(&self) -> Result<ParsedBook<'_>, BookError> {
        self.map.as_ref().map(|map| map.book(&self.bytes)).map_err(Clone::clone)
    }

    /// Every entry on its own; none if the file is not a book.
    pub fn images(&self) -> Vec<EntryImage> {
        self.parse().map(|book| book.images_of(&self.bytes)).unwrap_or_default()
    }

    /// The file's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Everything that was read of a vault.
pub struct Library {
    /// The disk that the vault is on
    pub fs: Arc<dyn Vfs>,
    /// Stories, characters first, sorted by name.
    pub stories: Vec<Story>,
    /// All chats.
    pub chats: Vec<Chat>,
    /// Groups by id.
    pub groups: BTreeMap<String, Group>,
    /// Cards by file stem.
    pub cards: BTreeMap<String, Card>,
    /// The user's settings.
    pub settings: Settings,
    /// Files of lorebooks, by stem.
    pub books: BTreeMap<String, VaultPath>,
    /// What interrupted saves left behind.
    pub litter: Vec<VaultPath>,
    /// What could not be read: folders and files that are links out of the vault, or closed to us.
    pub not_read: Vec<VaultPath>,
    /// Files that Forklore's own unfinished work left behind.
    pub unfinished: Vec<VaultPath>,
    /// What other Forklores are about to do: files that they are making, changing or taking away.
    pub under_way: Vec<VaultPath>,
    /// The right to change the vault, if it was read to be changed.
    pub right: Option<Right>,
    pub(crate) kin: Kin,
    /// What was found out about families so far.
    pub(crate) families: Families,
    /// Scans of large chats that are being written to the cache, by the chat's file.
    pub(crate) remembering: Mutex<HashMap<VaultPath, Remembering>>,
    /// How the messages of two chats correspond, for pairs that were asked for.
    pub(crate) alignments: Mutex<Alignments>,
    pub(crate) last_book: Mutex<Option<(String, Arc<Book>)>>,
    /// What was last found out about the books of a chat.
    pub(crate) last_lore: Mutex<Option<(usize, Arc<Lore>)>>,
    /// Lives of books that were worked out.
    pub(crate) lives: Mutex<HashMap<String, Arc<Life>>>,
    /// The scenes of all chats, by the book that they wrote into.
    pub(crate) scenes: OnceLock<BTreeMap<String, Vec<ToldScene>>>,
    /// Names of books that are gone, and those that came after them.
    pub(crate) names: OnceLock<Names>,
    /// The books that extensions made as copies of others.
    pub(crate) copies: OnceLock<Vec<CopiedBook>>,
    /// History, read when a question needs it.
    pub(crate) history: OnceLock<Result<Option<Timeline>, Arc<HistoryError>>>,
    /// The observation that history ends with, for a library of the past.
    pub until: Option<u64>,
}

/// A scan that is being written to the cache; tells where it can be found.
pub(crate) type Remembering = std::thread::JoinHandle<Option<View>>;

impl Drop for Library {
    fn drop(&mut self) {
        let remembering = std::mem::take(self.remembering.get_mut().unwrap_or_else(PoisonError::into_inner));
        for thread in remembering.into_values() {
            // One that failed leaves no cache, which only costs time.
            let _failed = thread.join();
        }
    }
}

impl Library {
    /// Files that tell whose a new book for a chat is, and who may read it: the chat's book, and the chat.
    pub fn models_of_book(&self, chat: usize) -> Vec<VaultPath> {
        let chat = &self.chats[chat];
        let book = chat.book_stem().and_then(|stem| self.books.get(stem));
        book.into_iter().chain([&chat.path]).cloned().collect()
    }

    /// The bytes of one message; `None` if there is no such message.
    pub fn message_line(&self, chat: usize, message: usize) -> Result<Option<Vec<u8>>, PathError> {
        let chat = &self.chats[chat];
        let Some(row) = chat.transcript.row(message) else { return Ok(None) };
        let file = self.fs.open(&chat.path)?;
        let line = file.read_range(row.start..row.start + u64::from(row.len));
        line.map(Some).map_err(|source| PathError { path: chat.path.clone(), doing: "read", source })
    }

    /// The address of a chat.
    pub fn address(&self, chat: usize) -> Address {
        let chat = &self.chats[chat];
        let story = &self.stories[chat.story];
        Address { kind: story.kind, folder: story.folder.clone(), chat: chat.name.clone() }
    }

    /// The book that a header's name leads to; `None` if there is no such file.
    pub fn book(&self, name: &str) -> Result<Option<Arc<Book>>, PathError> {
        let stem = book_stem(name);
        let Some(path) = self.books.get(&stem) else { return Ok(None) };
        let mut last = self.last_book.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, book)) = last.as_ref().filter(|(name, _)| *name == stem) {
            return Ok(Some(book.clone()));
        }
        // Before the content: if the file changes in between, it is not taken for the one that was read.
        let identity = self.fs.identity(path)?;
        let Some(bytes) = self.fs.read(path)? else { return Ok(None) };
        let book = Arc::new(Book::new(stem.clone(), bytes, identity));
        *last = Some((stem, book.clone()));
        Ok(Some(book))
    }

    /// What history knows of this vault; `None` if it has none.
    pub fn history(&self) -> Result<Option<&Timeline>, PathError> {
        let read = || Timeline::load_until(&self.fs, self.until).map_err(Arc::new);
        match self.history.get_or_init(read) {
            Ok(timeline) => Ok(timeline.as_ref()),
            Err(why) => Err(history_error(why.clone())),
        }
    }

    /// The scenes of all chats, by the book that they wrote into.
    pub(crate) fn scenes(&self) -> &BTreeMap<String, Vec<ToldScene>> {
        self.scenes.get_or_init(|| self.find_scenes())
    }

    /// Whether another chat has the same slug.
    pub fn has_twin(&self, chat: usize) -> bool {
        let slug = self.chats[chat].header().slug();
        let others = self.chats.iter().enumerate().filter(|(c, _)| *c != chat);
        slug.is_some() && { others }.any(|(_, other)| other.header().slug() == slug)
    }

    /// Slugs that several chats have, with those chats.
    pub fn duplicate_slugs(&self) -> Vec<Vec<usize>> {
        let mut by_slug: HashMap<String, Vec<usize>> = HashMap::new();
        for (c, chat) in self.chats.iter().enumerate() {
            if let Some(slug) = chat.header().slug() {
                by_slug.entry(slug.into_owned()).or_default().push(c);
            }
        }
        let mut several: Vec<Vec<usize>> = by_slug.into_values().filter(|chats| chats.len() > 1).collect();
        several.sort();
        several
    }
}

/// History that cannot be read, as what cannot be read. Why is inside: whoever tells people of it looks there.
pub fn history_error(why: impl Into<Arc<HistoryError>>) -> PathError {
    let source = std::io::Error::other(why.into());
    PathError {
        path: forklore_journal::layout::folder(forklore_journal::layout::HISTORY),
        doing: "read",
        source,
    }
}
