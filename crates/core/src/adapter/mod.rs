//! [`Adapter`]: what knows one memory extension. Auto-Recap is the first, MemoryBooks the second; none is the generic rule.
//!
//! An adapter is pure: it reads what an extension left in messages, headers and books and puts it into Forklore's own words
//! ([`Scene`], [`SceneSighting`], [`Mark`], [`Operation`], [`Work`]). It decides nothing; [`crate::state`] and [`crate::check`] do.

pub mod auto_recap;
pub mod memory_books;

use forklore_json::Raw;
use serde::{Deserialize, Serialize};

use crate::fork::header::Revision;
use crate::format::book::{Book, EntryImage};
use crate::format::chat::{Header, Message};

/// All adapters, in the order in which they are asked.
pub const ALL: [&dyn Adapter; 2] = [&auto_recap::AutoRecap, &memory_books::MemoryBooks];

/// What Forklore asks of a memory extension's data. Every answer has a default: an extension that keeps no queue has none.
pub trait Adapter: Sync {
    /// The extension's name, as its users know it.
    fn name(&self) -> &'static str;

    /// Whether the extension keeps this book, so that sharing it between forks corrupts it.
    fn keeps(&self, book: &Book<'_>) -> bool {
        book.entries().iter().any(|entry| self.wrote(&entry.comment(), entry.raw))
    }

    /// Whether the extension keeps a book with these entries.
    fn kept(&self, entries: &[EntryImage]) -> bool {
        entries.iter().any(|entry| self.wrote(&entry.comment, entry.raw()))
    }

    /// Whether only this extension can have written an entry.
    fn wrote(&self, comment: &str, entry: Raw<'_>) -> bool;

    /// What an entry with this title is to the extension.
    fn entry_role(&self, _comment: &str) -> EntryRole {
        EntryRole::Fact
    }

    /// The scene that ends with this message, and the states of the whole book that it has kept.
    fn scene(&self, _message: Message<'_>) -> Option<(Scene, Vec<SceneSighting>)> {
        None
    }

    /// What an entry of a book with these entries went through, as far as it tells itself, the oldest first: its states, each with where
    /// in the story it was made. The last one is the entry as it stands.
    fn layers(&self, entry: &EntryImage, _all: &[EntryImage]) -> Vec<(Option<Mark>, EntryImage)> {
        vec![(None, entry.clone())]
    }

    /// What an entry is about, where that never changes: two entries that are about different things are not the same one, whatever their
    /// numbers and titles.
    fn subject(&self, _entry: &EntryImage) -> Option<(i64, i64)> {
        None
    }

    /// The chat that an entry says it belongs to.
    fn chat_of(&self, _entry: &EntryImage) -> Option<String> {
        None
    }

    /// An entry as it is to be in the book of another chat: if it says whose it is, it says that it is that chat's.
    fn hand_over(&self, entry: &EntryImage, _chat: &str) -> EntryImage {
        entry.clone()
    }

    /// An entry without what tells from which messages its text was written.
    fn without_mark(&self, entry: &EntryImage) -> EntryImage {
        entry.clone()
    }

    /// What the extension's notes in a chat's metadata become for a chat that ends with message `at` and has a book with these entries.
    fn revisions(&self, _metadata: Raw<'_>, _entries: &[EntryImage], _at: usize) -> Vec<Revision> {
        Vec::new()
    }

    /// The last message of a chat that is in a memory, as the extension notes it; also if that memory was deleted since.
    fn reached(&self, _header: Header<'_>) -> Option<i64> {
        None
    }

    /// The book that the extension made for a chat, and when, in milliseconds since 1970.
    fn made(&self, _header: Header<'_>) -> Option<(String, i64)> {
        None
    }

    /// The books that a chat's book was copied from when the chat was made.
    fn copies(&self, _header: Header<'_>) -> Vec<BookCopy> {
        Vec::new()
    }

    /// What the extension's queue, an entry of the book itself, says is being written.
    fn work(&self, _queue: &EntryImage) -> Vec<Work> {
        Vec::new()
    }

    /// Work that waits or runs for this chat.
    fn operations(&self, _header: Header<'_>, _book: Option<&Book<'_>>) -> Vec<Operation> {
        Vec::new()
    }
}

/// The extensions that write into one book, in the order in which they are asked: each tells of its own entries.
#[derive(Clone, Default)]
pub struct Keepers(Vec<&'static dyn Adapter>);

impl Keepers {
    /// Those of all adapters that `keep` it.
    pub fn new(keep: impl Fn(&dyn Adapter) -> bool) -> Self {
        Self(ALL.into_iter().filter(|adapter| keep(*adapter)).collect())
    }

    /// Whether nobody but people writes into it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether several write into it: what one keeps of it has nothing of what the other marks.
    pub fn are_several(&self) -> bool {
        self.0.len() > 1
    }

    /// See [`Adapter::layers`].
    pub fn layers(&self, entry: &EntryImage, all: &[EntryImage]) -> Vec<(Option<Mark>, EntryImage)> {
        let tells = |layers: &Vec<(Option<Mark>, EntryImage)>| layers.iter().any(|(mark, _)| mark.is_some());
        let told = self.0.iter().map(|adapter| adapter.layers(entry, all)).find(tells);
        told.unwrap_or_else(|| vec![(None, entry.clone())])
    }

    /// See [`Adapter::subject`].
    pub fn subject(&self, entry: &EntryImage) -> Option<(i64, i64)> {
        self.0.iter().find_map(|adapter| adapter.subject(entry))
    }

    /// See [`Adapter::chat_of`].
    pub fn chat_of(&self, entry: &EntryImage) -> Option<String> {
        self.0.iter().find_map(|adapter| adapter.chat_of(entry))
    }

    /// See [`Adapter::hand_over`].
    #[must_use]
    pub fn hand_over(&self, entry: &EntryImage, chat: &str) -> EntryImage {
        self.0.iter().fold(entry.clone(), |entry, adapter| adapter.hand_over(&entry, chat))
    }

    /// See [`Adapter::without_mark`].
    #[must_use]
    pub fn without_mark(&self, entry: &EntryImage) -> EntryImage {
        self.0.iter().fold(entry.clone(), |entry, adapter| adapter.without_mark(&entry))
    }

    /// See [`Adapter::reached`].
    pub fn reached(&self, header: Header<'_>) -> Option<i64> {
        self.0.iter().find_map(|adapter| adapter.reached(header))
    }
}

/// The adapter that keeps a book, if any does.
pub fn keeper(book: &Book<'_>) -> Option<&'static dyn Adapter> {
    ALL.into_iter().find(|adapter| adapter.keeps(book))
}

/// The scene that ends with a message, and the states of the whole book that it has kept, for whichever extension made it.
pub fn scene(message: Message<'_>) -> Option<(Scene, Vec<SceneSighting>)> {
    ALL.iter().find_map(|adapter| adapter.scene(message))
}

/// What an entry with this title is to any extension.
pub fn entry_role(comment: &str) -> EntryRole {
    ALL.iter()
        .map(|adapter| adapter.entry_role(comment))
        .find(|role| *role != EntryRole::Fact)
        .unwrap_or_default()
}

/// The books that extensions made for a chat, and when, in milliseconds since 1970.
pub fn made(header: Header<'_>) -> impl Iterator<Item = (String, i64)> {
    ALL.iter().filter_map(move |adapter| adapter.made(header))
}

/// The books that a chat's book was copied from when the chat was made, for whichever extension did it.
pub fn copies(header: Header<'_>) -> Vec<BookCopy> {
    ALL.iter().flat_map(|adapter| adapter.copies(header)).collect()
}

/// A book that an extension made as a copy of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookCopy {
    /// Name of the copy.
    pub copy: String,
    /// Name of the book that it is a copy of.
    pub source: String,
    /// Name of the chat that it was made for.
    pub chat: String,
    /// Name of the chat that the chat was forked from.
    pub parent: String,
    /// When, in milliseconds since 1970.
    pub time: i64,
}

/// What a queue that is kept as an entry of the book says is being written, for whichever extension keeps it.
pub fn work(queue: &EntryImage) -> Vec<Work> {
    ALL.iter().flat_map(|adapter| adapter.work(queue)).collect()
}

/// A piece of work on a scene that is under way: what it writes belongs to the scene, wherever the story is by then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// The message that the scene ends with.
    pub scene: usize,
    /// Number of the entry that it writes, if it says.
    pub uid: Option<i64>,
    /// Number of the entry whose line in a registry it writes.
    pub lists: Option<i64>,
    /// Name of the entry that it makes, if it says.
    pub name: Option<String>,
    /// Whether it can make entries that it does not name.
    pub makes: bool,
}

impl Work {
    /// Whether it says that it writes this entry.
    pub fn names(&self, entry: &EntryImage) -> bool {
        let titled = |name: &str| {
            let (comment, name) = (entry.comment.to_lowercase(), name.to_lowercase());
            !name.is_empty()
                && comment
                    .strip_suffix(name.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.ends_with('-'))
        };
        (self.uid.is_some() && self.uid == entry.uid) || self.name.as_deref().is_some_and(titled)
    }
}

/// What an entry is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EntryRole {
    /// Something of the story, or the user's own
    #[default]
    Fact,
    /// A list of other entries by uid
    Registry,
    /// A list of other entries by name
    Index,
    /// The extension's queue of work
    Queue,
}

/// A scene: it ends with the message that it is marked on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scene {
    /// Title, if it has one.
    pub name: Option<String>,
    /// Whether the mark is shown. A hidden mark is a deleted one.
    pub visible: bool,
    /// Whether it has a recap. A mark without one is an empty bookmark and bounds nothing.
    pub recapped: bool,
    /// Which version of the recap is chosen.
    pub current: i64,
    /// The versions of its recap.
    pub versions: Vec<SceneVersion>,
}

impl Scene {
    /// Whether it bounds the story: shown, and recapped.
    pub fn is_real(&self) -> bool {
        self.visible && self.recapped
    }

    /// Whether the chosen version was merged into the running recap.
    pub fn is_combined(&self) -> bool {
        self.versions.iter().any(|v| v.number == self.current && v.combined)
    }
}

/// One version of a scene's recap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SceneVersion {
    /// Its number.
    pub number: i64,
    /// When its text was there, in milliseconds since 1970: what its processing wrote came after that.
    pub started: i64,
    /// When it was finished, in milliseconds since 1970.
    pub clock: i64,
    /// Which entries it is known to have written.
    pub written: Written,
    /// Whether it was merged into the running recap.
    pub combined: bool,
    /// The book that its snapshot was taken of.
    pub book: Option<String>,
    /// How many entries its snapshot holds; 0 if there is none.
    pub entries: usize,
}

/// The whole book as a scene's processing left it.
#[derive(Debug, Clone, PartialEq)]
pub struct SceneSighting {
    /// Version of the scene's recap.
    pub version: i64,
    /// When, in milliseconds since 1970.
    pub clock: i64,
    /// Name of the book.
    pub book: Option<String>,
    /// Its entries, as far as the extension wrote them down.
    pub entries: Vec<EntryImage>,
}

/// What a scene is known to have written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Written {
    /// By number: entries that it made, or says that it made
    pub uids: Vec<i64>,
    /// By number: entries that it says it told more of
    pub told: Vec<i64>,
    /// By name, lower case
    pub names: Vec<String>,
}

impl Written {
    /// Whether the scene wrote this entry.
    pub fn has(&self, entry: &EntryImage) -> bool {
        entry.uid.is_some_and(|uid| self.uids.contains(&uid)) || self.names(entry)
    }

    /// Whether the scene says by name that it wrote this entry.
    pub fn names(&self, entry: &EntryImage) -> bool {
        if self.names.is_empty() {
            return false;
        }
        let comment = entry.comment.to_lowercase();
        let named = |name: &String| {
            comment == *name || comment.strip_suffix(name.as_str()).is_some_and(|rest| rest.ends_with('-'))
        };
        self.names.iter().any(named)
    }
}

/// Where in the story an entry says it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Chat by name; `None` if the entry does not say, which means the chat that the book is bound to.
    pub chat: Option<String>,
    /// The last message that it draws on.
    pub message: usize,
}

/// One piece of work in an extension's queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Its id
    pub id: String,
    /// What it does, in the extension's words
    pub kind: String,
    /// How far it is
    pub status: Status,
    /// Messages that it refers to
    pub messages: Vec<usize>,
    /// The book that it would write, if it says
    pub book: Option<String>,
    /// How often it was tried again
    pub retries: i64,
    /// What went wrong last
    pub error: Option<String>,
    /// When it was started, in milliseconds since 1970
    pub started: Option<i64>,
}

/// How far an operation is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Waits
    Pending,
    /// Runs
    InProgress,
    /// Failed and waits to be tried again
    Retrying,
    /// Over, in the extension's word for it: completed, failed, cancelled
    Over(String),
}

impl Status {
    /// Reads the extension's word.
    pub fn read(text: &str) -> Self {
        match text {
            "pending" => Self::Pending,
            "in_progress" => Self::InProgress,
            "retrying" => Self::Retrying,
            other => Self::Over(other.to_owned()),
        }
    }

    /// The extension's word for it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Retrying => "retrying",
            Self::Over(word) => word,
        }
    }

    /// Whether the work is still to be done.
    pub fn is_open(&self) -> bool {
        !matches!(self, Self::Over(_))
    }
}
