//! [`Finding`]: one thing that `check` has to say, with its [`Code`], where it is, and what to do about it ([`Remedy`]).
//!
//! Codes are stable: programs rely on them. Severities say what a user should feel: an *error* means that the story is or will
//! be wrong; a *warning* that something is not as it should be; *info* is worth knowing.

use std::fmt;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing
    Info,
    /// Not as it should be
    Warning,
    /// The story is or will be wrong
    Error,
}

/// How a chat or story is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// Nothing wrong
    Ok,
    /// A warning
    Warning,
    /// An error
    Error,
}

impl Health {
    /// The health of something with these findings.
    pub fn of<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Self {
        match findings.into_iter().map(|finding| finding.severity).max() {
            Some(Severity::Error) => Self::Error,
            Some(Severity::Warning) => Self::Warning,
            Some(Severity::Info) | None => Self::Ok,
        }
    }

    /// As a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal: $title:literal,)*) => {
        /// What a finding is about.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
        pub enum Code {
            $($(#[doc = $doc])* #[schemars(rename = $name)] $variant,)*
        }

        impl Code {
            /// All codes.
            pub const ALL: &[Code] = &[$(Code::$variant),*];

            /// The stable name.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// A headline for people.
            pub fn title(self) -> &'static str {
                match self { $(Code::$variant => $title,)* }
            }
        }
    };
}

codes! {
    /// A memory extension's book is bound to several chats of one lineage.
    BookShared = "BOOK_SHARED": "A fork writes into another chat's lorebook",
    /// A book kept by hand is bound to several chats.
    BookSharedByChoice = "BOOK_SHARED_BY_CHOICE": "A lorebook kept by hand is used by several chats",
    /// The book that a chat is bound to does not exist.
    BookMissing = "BOOK_MISSING": "The chat's lorebook is gone",
    /// The chat is bound to a book that is not the one its record names.
    BookForeign = "BOOK_FOREIGN": "The chat is bound to a lorebook that is not its own",
    /// A memory extension's book that nothing refers to.
    BookOrphaned = "BOOK_ORPHANED": "A lorebook that nothing uses any more",
    /// A book that cannot be read, or is odd.
    BookDamaged = "BOOK_DAMAGED": "A damaged lorebook",
    /// A chat's book is also bound globally, to the character or to a persona.
    BookAlsoGlobal = "BOOK_ALSO_GLOBAL": "The chat's lorebook is also active elsewhere",
    /// A registry lists an entry that does not exist.
    RegistryDangling = "REGISTRY_DANGLING": "A registry that does not match its entries",
    /// The extension's working index differs from the registries in the book.
    RegistryIndexStale = "REGISTRY_INDEX_STALE": "A stale registry index",
    /// The running recap has versions of messages that the chat does not have.
    RecapFromFuture = "RECAP_FROM_FUTURE": "The running recap knows the future",
    /// The running recap has versions of another line.
    RecapForeign = "RECAP_FOREIGN": "The running recap holds another line's story",
    /// The version in use does not exist, or a combined scene has none.
    RecapVersionMissing = "RECAP_VERSION_MISSING": "A version of the running recap is missing",
    /// The book has entries from later in the story than the chat.
    EntryFromFuture = "ENTRY_FROM_FUTURE": "The lorebook knows the future",
    /// The book has entries of another line.
    EntryForeign = "ENTRY_FOREIGN": "The lorebook holds another line's story",
    /// The queue has work for messages that the chat does not have.
    QueueForeign = "QUEUE_FOREIGN": "The queue holds another chat's work",
    /// The queue has work that fails again and again, or never ends.
    QueueStuck = "QUEUE_STUCK": "Work in the queue is stuck",
    /// The parent that the header names is gone.
    ParentMissing = "PARENT_MISSING": "The chat it was forked from is gone",
    /// The parent that the header names has another name now.
    ParentRenamed = "PARENT_RENAMED": "The chat it was forked from was renamed",
    /// A message links to a fork that does not exist.
    LinkDangling = "LINK_DANGLING": "A link to a fork that is gone",
    /// Several chats have the same slug.
    SlugDuplicate = "SLUG_DUPLICATE": "Several chats with one identity",
    /// A fork that Forklore did not make and has not adopted.
    UnrecordedFork = "UNRECORDED_FORK": "A fork without a record",
    /// A fork that still waits for its book.
    PendingFork = "PENDING_FORK": "A fork that is not finished",
    /// A fork's baseline was changed since it was made.
    BaselineChanged = "BASELINE_CHANGED": "What the fork started from was changed",
    /// A chat file that SillyTavern will not read as it stands.
    ChatDamaged = "CHAT_DAMAGED": "A damaged chat file",
    /// Files that an interrupted save left behind.
    TmpLitter = "TMP_LITTER": "Left-overs of interrupted saves",
    /// Forklore's own work that was interrupted.
    UnfinishedOperation = "UNFINISHED_OPERATION": "An operation that was interrupted",
    /// Two lines that were brought together do not agree, and nobody has answered yet.
    ConflictOpen = "CONFLICT_OPEN": "Two branches do not agree",
    /// Something in history, or kept for undo, is not what it was.
    HistoryDamaged = "HISTORY_DAMAGED": "Damaged history",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = Self::ALL.iter().copied().find(|code| code.as_str() == name);
        known.ok_or_else(|| D::Error::custom(format!("there is no code {name:?}")))
    }
}

/// One thing that `check` has to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// What it is about
    pub code: Code,
    /// How bad it is
    pub severity: Severity,
    /// Address of the chat
    pub chat: Option<String>,
    /// Name of the book
    pub book: Option<String>,
    /// What is the case, in a sentence
    pub message: String,
    /// What to do about it at a command line, in a sentence
    pub remedy: String,
    /// What to do about it at a page, in a sentence
    pub to_do: String,
    /// Whether healing is what to do
    pub heals: bool,
}

/// What to do about a finding: for who types commands, and for who is at a page, where nobody does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remedy {
    /// At a command line
    pub typed: String,
    /// At a page
    pub shown: String,
    /// Whether healing is what to do
    pub heals: bool,
}

impl Remedy {
    /// By another command than `heal`, or none.
    pub fn new(typed: impl Into<String>, shown: impl Into<String>) -> Self {
        Self { typed: typed.into(), shown: shown.into(), heals: false }
    }

    /// By healing.
    pub fn heal(typed: impl Into<String>, shown: impl Into<String>) -> Self {
        Self { heals: true, ..Self::new(typed, shown) }
    }
}

/// The same for everybody: it names no command.
impl From<&str> for Remedy {
    fn from(text: &str) -> Self {
        debug_assert!(!text.contains("forklore "), "who is at a page types no command: {text}");
        Self::new(text, text)
    }
}

impl From<String> for Remedy {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}
