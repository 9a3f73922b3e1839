//! [`HistoryReport`]: what happened to a chat and its books, as plain data (`docs/formats/json.md`).

use forklore_core::state::Cause;
use forklore_core::story::Touch;
use schemars::JsonSchema;
use serde::Serialize;

/// What happened to a chat and its books.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HistoryReport {
    /// Address of the chat
    pub chat: String,
    /// How many messages it has; of a chat that is gone, how many it had
    pub messages: usize,
    /// When it was deleted, as RFC 3339; nothing if it is there
    pub deleted: Option<String>,
    /// How many observations tell of its line
    pub observations: usize,
    /// When the first of them was made, as RFC 3339
    pub since: Option<String>,
    /// Whether the chat has changed since it was seen last
    pub unseen: bool,
    /// How many earlier observations were not looked at, because of a limit
    pub earlier: usize,
    /// What happened, the newest last
    pub lines: Vec<Line>,
    /// Chats that something was brought along from, each with the last message of it that counted: their history is part of this one's
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub along: Vec<HistoryAlong>,
}

/// A chat that something was brought along from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HistoryAlong {
    /// Its address; its name at the time, if it is gone
    pub chat: String,
    /// Whether it is still there
    pub there: bool,
    /// The last message of it that counted
    pub message: usize,
    /// When it was brought along, as RFC 3339
    pub at: String,
    /// Whether its messages follow, and not only its lore
    pub messages: bool,
}

/// What one observation tells, or several that tell the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "HistoryLine")]
pub struct Line {
    /// Number of the first observation; nothing for what only an extension has kept
    pub observation: Option<u64>,
    /// Number of the last one
    pub last_observation: Option<u64>,
    /// How many observations are told together
    pub saves: usize,
    /// When the file was saved, or the first of them, as RFC 3339
    pub at: String,
    /// When the last of them was
    pub until: String,
    /// `chat` or `book`
    pub file: &'static str,
    /// Address of the chat that was played: this one, one that it was forked from, or one that was brought along
    pub chat: String,
    /// The book
    pub book: Option<String>,
    /// Who saw it
    pub by: Witness,
    /// The last message of the chat then
    pub then: Option<usize>,
    /// Where in the story that is now
    pub now: Option<usize>,
    /// What happened
    pub events: Vec<Event>,
}

/// Who saw something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "HistoryWitness")]
pub struct Witness {
    /// `watch`, `operation`, `plugin`, `backup`, `import`; `scene` for what an extension has kept in a scene
    pub kind: &'static str,
    /// Id of the operation, name of the backup, what SillyTavern was doing
    pub name: Option<String>,
    /// What the operation did
    pub operation: Option<&'static str>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
#[schemars(rename = "HistoryEvent")]
pub enum Event {
    /// Seen for the first time
    FirstSeen {
        /// How many messages the chat had
        messages: Option<usize>,
        /// How many entries the book had
        entries: Option<usize>,
        /// The book that the chat was bound to
        bound: Option<String>,
    },
    /// The file got another name
    Renamed {
        /// The name before
        from: String,
    },
    /// The file was deleted
    Deleted,
    /// From here on it is another chat
    Forked {
        /// Address of the chat that it was forked from
        from: String,
        /// The last message that came from there
        message: Option<usize>,
        /// The observation that was brought back, if the past was
        restored: Option<u64>,
    },
    /// Messages came, changed or went
    Messages {
        /// What happened to them
        did: Touch,
        /// Which
        messages: Vec<Span>,
        /// Names of the scenes that end with them
        scenes: Vec<String>,
    },
    /// How many messages there are has changed; the text was too large to be stored
    Unread {
        /// How many there were
        from: usize,
        /// How many there were then
        to: usize,
    },
    /// The chat was bound to another book
    Bound {
        /// The book before
        from: Option<String>,
        /// The book after
        to: Option<String>,
    },
    /// Something in the chat's header changed
    Header {
        /// Its name, such as `variables.mood`
        key: String,
        /// What happened to it
        did: Did,
    },
    /// An entry of the book came, changed or went
    Entry(EntryEvent),
}

/// Messages that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "HistorySpan")]
pub struct Span {
    /// Number of the first, then
    pub from: usize,
    /// Number of the last, then
    pub to: usize,
    /// Where in the story the first is now; nothing if that is not on the line
    pub now: Option<usize>,
}

/// What became of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "HistoryDid")]
pub enum Did {
    /// It is new
    Added,
    /// It is different
    Changed,
    /// It is gone
    Removed,
}

/// What happened to an entry of a book.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "HistoryEntryEvent")]
pub struct EntryEvent {
    /// What became of it
    pub did: Did,
    /// Its number
    pub uid: Option<i64>,
    /// Its title
    pub title: String,
    /// Its title before, if that changed
    pub was: Option<String>,
    /// Fields that changed
    pub fields: Vec<String>,
    /// What made the change
    pub cause: Cause,
    /// The message that it belongs to
    pub message: Option<usize>,
    /// Title of the scene, if a scene's processing made it
    pub scene: Option<String>,
    /// The message of another line that it belongs to, if it does
    pub elsewhere: Option<Elsewhere>,
}

/// A place in another line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "HistoryElsewhere")]
pub struct Elsewhere {
    /// Address of the chat
    pub chat: String,
    /// The message
    pub message: usize,
}
