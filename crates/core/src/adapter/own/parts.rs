//! What memory writes, in Forklore's own words.

use crate::format::book::EntryImage;

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
    /// The whole book as the scene left it
    pub entries: &'a [EntryImage],
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
}
