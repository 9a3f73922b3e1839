//! [`MemoryRecord`]: what a chat's header says of its memory. It goes with the chat, into forks as far as they go.

use std::collections::{BTreeMap, BTreeSet};

use forklore_core::format::chat::Header;
use forklore_core::format::revision::Revision;
use forklore_json::Raw;
use forklore_memory::{Inputs, Key};
use serde::{Deserialize, Serialize};

/// Its key in `chat_metadata`.
pub(crate) const KEY: &str = "forklore_memory";

/// The version of what is written here; see `docs/formats/memory.md`.
const VERSION: u32 = 1;

/// What a chat knows of its memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryRecord {
    /// The version of this record; see `docs/formats/memory.md`
    pub version: u32,
    /// Whether it is kept
    pub on: bool,
    /// The vault that it was turned on in, by what that calls itself
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vault: Option<String>,
    /// What the owner decided
    pub inputs: Inputs,
    /// The number that each entry has, by its title
    pub uids: BTreeMap<String, i64>,
    /// Titles of the entries that it had in the book when it was last written: what is not there any more, a person took out
    pub written: BTreeSet<String>,
    /// The last message of the chat when it was last written: what people did to it since, they did after that message
    pub head: usize,
    /// What the book was like when memory made it, so that undo can tell whether anybody has written into it since
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made: Option<String>,
    /// The scenes that were written
    pub scenes: Vec<WrittenScene>,
    /// Versions of entries that the owner has approved
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub approved: BTreeSet<Key>,
    /// How many scenes were written before approving was asked for; nothing if it never was
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free: Option<usize>,
    /// The last message of the scene up to which there is a recap as one text
    #[serde(skip_serializing_if = "Option::is_none")]
    pub combined: Option<usize>,
    /// The extension that it was taken over from
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken: Option<String>,
}

/// A scene that was written into the chat and its book.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenScene {
    /// Its last message
    pub last: usize,
    /// When, in milliseconds since 1970
    pub clock: i64,
    /// The questions whose answers it was written from
    pub keys: Vec<Key>,
    /// Whether another extension wrote it: then it stays as that left it, as long as nothing in it changes
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub taken: bool,
}

impl MemoryRecord {
    /// Reads it. A header without one, or with one that cannot be read, has none.
    pub fn of(header: Header<'_>) -> Option<Self> {
        let record: Self = serde_json::from_slice(header.metadata().get(KEY)?.bytes()).ok()?;
        (record.version <= VERSION).then_some(record)
    }

    /// Whether a header has one that cannot be read: whoever wrote over it would lose what its owner decided.
    pub(crate) fn is_unreadable(header: Header<'_>) -> bool {
        header.metadata().get(KEY).is_some() && Self::of(header).is_none()
    }

    /// What of it belongs to a chat that ends with message `n`.
    #[must_use]
    pub fn up_to(&self, n: usize) -> Self {
        let scenes: Vec<WrittenScene> = self.scenes.iter().filter(|scene| scene.last <= n).cloned().collect();
        // What was said since is another text in a fork; that it has none is no reason to ask before the next scene is over.
        let combined = self.combined.and(scenes.last()).map(|scene| scene.last);
        Self { inputs: self.inputs.up_to(n), head: self.head.min(n), scenes, combined, ..self.clone() }
    }

    /// The header with it.
    pub(crate) fn revision(&self) -> Revision {
        let bytes = serde_json::to_vec(&Self { version: VERSION, ..self.clone() }).unwrap_or_default();
        Revision::set(&[KEY], bytes)
    }
}

/// What becomes of the record in a fork at message `n`.
pub(crate) fn trimmed(metadata: Raw<'_>, n: usize) -> Option<Revision> {
    let record = MemoryRecord::of(Header::new_metadata(metadata))?;
    let trimmed = record.up_to(n);
    (trimmed != record).then(|| trimmed.revision())
}
