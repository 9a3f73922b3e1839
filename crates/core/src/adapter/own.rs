//! Forklore's own memory as files have it: [`OwnEntry`], [`OwnLine`], [`OwnScene`], [`OwnVersion`], and [`OwnFormat`], in which they are
//! written. That is an extension's, so that it, and everything here that reads it, takes them for its own; how it looks only its adapter
//! knows.

use std::sync::Arc;

use forklore_json::Raw;

use crate::format::book::EntryImage;
use crate::format::revision::Revision;

/// What an entry is to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// What was learnt of somebody or something
    Fact,
    /// A list of those of a type
    Registry,
    /// The recap, for clients that know of no other
    Story,
}

/// An entry that memory keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnEntry {
    /// Its number
    pub uid: i64,
    /// Its title
    pub title: String,
    /// Its text
    pub content: String,
    /// The words that bring it up
    pub keys: Vec<String>,
    /// What it is
    pub role: Role,
}

/// An entry as a list of its type has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnLine {
    /// Its title
    pub title: String,
    /// Its number
    pub uid: i64,
    /// Other names
    pub aliases: Vec<String>,
    /// What it is, in a few words
    pub synopsis: String,
}

/// A scene that memory has closed.
#[derive(Debug, Clone, Copy)]
pub struct OwnScene<'a> {
    /// What it is called
    pub title: &'a str,
    /// Its first message
    pub first: usize,
    /// Its last message
    pub last: usize,
    /// When it was written down, in milliseconds since 1970
    pub clock: i64,
    /// What happened
    pub developments: &'a [String],
    /// What is open
    pub open: &'a [String],
    /// How things stand
    pub state: &'a [String],
    /// What was settled
    pub resolved: &'a [String],
    /// What was learnt: type, name, lines
    pub entities: &'a [(String, String, Vec<String>)],
    /// The book's name
    pub book: &'a str,
    /// The whole book as the scene left it: each entry as a scene keeps it
    pub entries: &'a [Arc<[u8]>],
    /// Numbers of the entries that it changed
    pub wrote: &'a [i64],
}

/// The running recap up to a scene.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnVersion {
    /// The last message of the scene
    pub last: usize,
    /// When it was written down, in milliseconds since 1970
    pub clock: i64,
    /// Its text
    pub content: String,
    /// Whether the extension wrote it itself: then it stays as it is, and so does that there is none
    pub taken: bool,
}

/// Somebody's formats, from the other side: memory is written in them.
pub trait OwnFormat: Sync {
    /// The title of the list of those of a type.
    fn list_title(&self, kind: &str) -> String;

    /// The text of such a list.
    fn list_text(&self, kind: &str, lines: &[OwnLine]) -> String;

    /// An entry as it becomes in a book that may have it. Only what is memory's changes there.
    fn own_entry(&self, own: &OwnEntry, live: Option<&EntryImage>) -> EntryImage;

    /// Whether a person wrote into an entry of memory's. `None` if it is none.
    fn edited(&self, entry: &EntryImage) -> Option<bool>;

    /// An entry that memory does not keep any more.
    fn disowned(&self, entry: &EntryImage) -> EntryImage;

    /// An entry that is memory's if the one is that it was before, with what memory last wrote there.
    fn owned_as(&self, entry: &EntryImage, before: &EntryImage) -> EntryImage;

    /// An entry of a book as scenes keep it. Most are the same from scene to scene: whoever writes many keeps it.
    fn own_snapshot(&self, entry: &EntryImage, book: &str) -> Arc<[u8]>;

    /// What a message that ends a scene has in its `extra`: the key, and the value there. What others have put into that value stays.
    fn own_scene(&self, scene: &OwnScene<'_>, extra: Raw<'_>) -> (&'static str, Vec<u8>);

    /// What a message has there whose scene ends elsewhere by now; nothing if that was all. `None` if memory has no scene there.
    fn no_scene(&self, extra: Raw<'_>) -> Option<(&'static str, Option<Vec<u8>>)>;

    /// The running recap of a chat of this name.
    fn own_versions(&self, metadata: Raw<'_>, versions: &[OwnVersion], chat: &str) -> Vec<Revision>;

    /// The recap of a chat of this name as one text, which goes up to so many messages.
    fn own_combined(&self, text: &str, messages: usize, clock: i64, chat: &str) -> Revision;
}
