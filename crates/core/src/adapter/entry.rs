//! What extensions tell of a book's entries: [`EntryRole`], and the [`Mark`] of where one was written; and of books: [`BookCopy`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an entry is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
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

/// Where in the story an entry says it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Chat by name; `None` if the entry does not say, which means the chat that the book is bound to.
    pub chat: Option<String>,
    /// The last message that it draws on.
    pub message: usize,
    /// Whether it was there by then and may be older: what replaced it says so, not the entry itself.
    pub by_then: bool,
    /// Of what sums up others, where these were written: whoever made it had all of them.
    pub sources: Vec<Mark>,
}

impl Mark {
    /// What an entry says of itself.
    pub fn new(chat: Option<String>, message: usize) -> Self {
        Self { chat, message, by_then: false, sources: Vec::new() }
    }
}

/// A book that an extension made as a copy of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
