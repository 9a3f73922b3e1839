//! [`Observation`]: one change that was seen, of a chat or of a book, as it is written into the store.

use forklore_core::story::Shift;
use forklore_fs::VaultPath;
use forklore_store::Id;
use serde::{Deserialize, Serialize};

/// Version of the format that this Forklore writes, and the newest that it reads.
pub const VERSION: u32 = 2;

/// The version of an observation that keeps no images or files: an older Forklore may read it.
const PLAIN: u32 = 1;

/// One change that was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// Version of the format
    pub v: u32,
    /// The file; absent if it is about none
    #[serde(default, skip_serializing_if = "is_none")]
    pub file: VaultPath,
    /// When the file was saved, in milliseconds since 1970. Never before that of the observation before it, unless that was made in
    /// another vault.
    pub clock: i64,
    /// When it was looked at, in milliseconds since 1970: what was looked at together has one time. Absent in older histories
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked: Option<i64>,
    /// Who saw it
    pub by: By,
    /// What was seen
    #[serde(flatten)]
    pub what: Observed,
}

fn is_none(file: &VaultPath) -> bool {
    *file == VaultPath::root()
}

/// Who made an observation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// Forklore, while it watched
    Watch,
    /// Forklore, after an operation of its own with this id
    Operation(String),
    /// SillyTavern's plugin, with what SillyTavern was doing
    Plugin(String),
    /// Forklore, from SillyTavern's own backup of this name
    Backup(String),
    /// Forklore, from an imported file
    Import,
    /// Somebody who asked Forklore to forget
    Forget,
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Observed {
    /// A chat
    Chat(ChatSeen),
    /// A book
    Book(BookSeen),
    /// The file is gone
    Gone,
    /// No file: the whole content of these observations is not wanted any more, from and to and with. What they say stays.
    Forget {
        /// Numbers of records
        contents: Vec<(u64, u64)>,
    },
}

/// A chat as it was saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatSeen {
    /// The whole file; absent if it was left for later because it is large
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Id>,
    /// The header line
    pub header: Id,
    /// How many messages it has
    pub messages: usize,
    /// The moment at the last message
    pub last: String,
    /// Its slug
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// File stem of the book that it is bound to
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub book: Option<String>,
    /// Where the messages went since the observation before; absent if all of them kept their numbers
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shift: Option<Shift>,
    /// The name that the file had before
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<VaultPath>,
    /// The list of images and files that it links to and that were kept
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<Id>,
}

impl ChatSeen {
    /// Whether it is the same chat with the same messages.
    pub fn is_same_story(&self, other: &Self) -> bool {
        self.slug.is_some()
            && (&self.slug, self.messages, &self.last) == (&other.slug, other.messages, &other.last)
    }

    /// Whether it is another chat than the one that was seen before under its name: SillyTavern gives the name of a deleted fork to the next
    /// one. A chat that goes on with all that was there is the same, also with another slug.
    pub fn replaces(&self, before: &Self) -> bool {
        let (Some(slug), Some(was)) = (&self.slug, &before.slug) else { return false };
        slug != was && self.shift.is_some()
    }
}

/// A book as it was saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookSeen {
    /// The whole file
    pub content: Id,
    /// The entries that changed since the observation before, see [`super::delta`]; absent for the first one
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<Id>,
    /// How many entries it has; absent if it could not be read as a book
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<usize>,
    /// The name that the file had before
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<VaultPath>,
}

impl Observed {
    /// The version of the format that it takes: what an older Forklore would throw away unknowingly, it must not touch.
    pub fn version(&self) -> u32 {
        match self {
            Self::Chat(ChatSeen { media: Some(_), .. }) => VERSION,
            _ => PLAIN,
        }
    }
}

impl Observation {
    /// The whole file as it was, if it is one.
    pub fn content(&self) -> Option<Id> {
        match &self.what {
            Observed::Chat(chat) => chat.content,
            Observed::Book(book) => Some(book.content),
            Observed::Gone | Observed::Forget { .. } => None,
        }
    }

    /// Everything of the store that it names itself.
    pub fn names(&self) -> impl Iterator<Item = Id> {
        let media = match &self.what {
            Observed::Chat(chat) => chat.media,
            _ => None,
        };
        [self.content(), self.notes(), media].into_iter().flatten()
    }

    /// What else of the store it needs.
    pub fn notes(&self) -> Option<Id> {
        match &self.what {
            Observed::Chat(chat) => Some(chat.header),
            Observed::Book(book) => book.delta,
            Observed::Gone | Observed::Forget { .. } => None,
        }
    }
}
