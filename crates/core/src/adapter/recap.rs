//! Recaps: the [`RunningRecap`] with its [`RecapVersion`]s, what is left of it at a message ([`Projection`]), and the
//! [`CombinedRecap`].
//!
//! Where an extension keeps them and how it writes them only its adapter knows: [`keeper`], [`running`] and [`combined`] ask all of
//! them. A [`StoredVersion`] is a version where it stands, to be moved byte for byte.

use forklore_json::Raw;
use serde::{Deserialize, Serialize};

use super::{ALL, Adapter};
use crate::format::chat::Message;

/// The running recap of a chat: every version that was ever made.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunningRecap {
    /// The chat that the extension believes it belongs to.
    pub chat_id: Option<String>,
    /// Number of the version in use; `None` if there is no version at all.
    pub current: Option<i64>,
    /// Versions in file order. Numbers can skip and even stand twice.
    pub versions: Vec<RecapVersion>,
}

/// One version of the running recap.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RecapVersion {
    /// Its number. 0 is a real version.
    pub version: i64,
    /// When it was made, in milliseconds since 1970.
    pub clock: i64,
    /// Its text; missing in versions that a broken editor stored.
    pub content: Option<String>,
    /// Message of the scene that was merged last.
    pub scene: usize,
    /// Events that its making turned into entries: (name, hash of the text; see [`text_hashes`]).
    pub events: Vec<(String, String)>,
}

impl RecapVersion {
    /// Whether it has a text.
    pub fn is_whole(&self) -> bool {
        self.content.as_deref().is_some_and(|content| !content.trim().is_empty())
    }
}

/// What is left of a running recap at a message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Projection {
    /// Place of the version in use.
    pub current: Option<usize>,
    /// Places of the versions that belong to the line, in file order.
    pub kept: Vec<usize>,
    /// Places of the others.
    pub dropped: Vec<usize>,
}

impl RunningRecap {
    /// The same without the texts of its versions, which are most of it.
    #[must_use]
    pub fn without_texts(mut self) -> Self {
        self.versions.iter_mut().for_each(|version| version.content = None);
        self
    }

    /// The place of the version in use: the first with that number, as extensions look it up.
    pub fn current_place(&self) -> Option<usize> {
        let current = self.current?;
        self.versions.iter().position(|v| v.version == current)
    }

    /// The versions that belong to messages 0..=`at` of a line, where `place` tells at which message of the line the scene of a
    /// version ends, if the line has it.
    ///
    /// If nothing is dropped, the version in use stays; otherwise it is the one that goes furthest in the story. A version without a text
    /// is damaged: then the last whole one counts.
    pub fn project(&self, at: usize, place: &dyn Fn(&RecapVersion) -> Option<usize>) -> Projection {
        let places: Vec<Option<usize>> = self.versions.iter().map(place).collect();
        self.project_placed(at, &places)
    }

    /// The same, where the place of each version is known already.
    pub fn project_placed(&self, at: usize, places: &[Option<usize>]) -> Projection {
        let all = 0..self.versions.len();
        let (kept, dropped): (Vec<usize>, Vec<usize>) =
            all.partition(|i| places[*i].is_some_and(|message| message <= at));
        let whole = |i: &usize| self.versions[*i].is_whole();
        let in_use = self.current_place().filter(|_| dropped.is_empty());
        let current = if let Some(in_use) = in_use.filter(|i| whole(i) || !kept.iter().any(whole)) {
            Some(in_use)
        } else {
            kept.iter().copied().max_by_key(|i| {
                let v = &self.versions[*i];
                (v.is_whole(), places[*i], v.clock, *i)
            })
        };
        Projection { current, kept, dropped }
    }
}

/// A version of a running recap where it stands.
#[derive(Debug, Clone, Copy)]
pub struct StoredVersion<'a> {
    /// Its number.
    pub number: i64,
    /// Its text.
    pub content: Option<Raw<'a>>,
    /// Message of the scene that was merged last.
    pub scene: Option<Raw<'a>>,
    /// How many scenes it tells of, if it says.
    pub scenes: Option<i64>,
    /// All of it.
    pub raw: Raw<'a>,
}

impl StoredVersion<'_> {
    /// What makes it this version: its text, and the scene it goes up to.
    pub fn hash(&self) -> String {
        let text = self.content.and_then(Raw::as_wtf8).unwrap_or_default();
        short_hash(&[&text, self.scene.map_or(b"", Raw::bytes)])
    }
}

/// The combined recap: one text for everything up to a message. Two that tell the same are the same, whenever they were made.
#[derive(Debug, Clone)]
pub struct CombinedRecap {
    /// How many messages it covers.
    pub message_count: i64,
    /// Its text.
    pub content: String,
    /// When it was made, in milliseconds since 1970; 0 if it does not say.
    pub clock: i64,
}

impl PartialEq for CombinedRecap {
    fn eq(&self, other: &Self) -> bool {
        (self.message_count, &self.content) == (other.message_count, &other.content)
    }
}

impl Eq for CombinedRecap {}

impl CombinedRecap {
    /// Whether this one was made once, and then copied: it has the same text, or was made in the same millisecond.
    pub fn is_copy_of(&self, other: &Self) -> bool {
        let same_text = self.content == other.content && !self.content.trim().is_empty();
        same_text || (self.clock > 0 && self.clock == other.clock)
    }

    /// Whether it tells of nothing after message `at`.
    pub fn fits(&self, at: usize) -> bool {
        i64::try_from(at).is_ok_and(|at| self.message_count <= at + 1)
    }

    /// What makes it this one, besides how much it covers.
    pub fn hash(&self) -> String {
        short_hash(&[self.content.as_bytes()])
    }
}

fn short_hash(parts: &[&[u8]]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// The adapter of the extension that keeps the running recap in `chat_metadata`.
pub fn keeper(metadata: Raw<'_>) -> Option<&'static dyn Adapter> {
    ALL.into_iter().find(|adapter| adapter.running_outline(metadata).is_some())
}

/// The running recap in `chat_metadata`, whoever keeps it.
pub fn running(metadata: Raw<'_>) -> Option<RunningRecap> {
    ALL.iter().find_map(|adapter| adapter.running(metadata))
}

/// The same without its texts.
pub fn running_outline(metadata: Raw<'_>) -> Option<RunningRecap> {
    ALL.iter().find_map(|adapter| adapter.running_outline(metadata))
}

/// The versions of the running recap in `chat_metadata` where they stand, in the order of [`RunningRecap::versions`].
pub fn versions<'a>(metadata: Raw<'a>) -> Vec<StoredVersion<'a>> {
    keeper(metadata).map(|keeper| keeper.versions(metadata)).unwrap_or_default()
}

/// The combined recap in `chat_metadata`, whoever keeps it.
pub fn combined(metadata: Raw<'_>) -> Option<CombinedRecap> {
    ALL.iter().find_map(|adapter| adapter.combined(metadata))
}

/// The recap of the scene that ends with a message, in its chosen version, as people read it.
pub fn text(message: Message<'_>) -> Option<String> {
    ALL.iter().find_map(|adapter| adapter.recap_text(message))
}

/// The same as it is stored, a JSON text.
pub fn stored<'a>(message: Message<'a>) -> Option<Raw<'a>> {
    ALL.iter().find_map(|adapter| adapter.stored_recap(message))
}

/// What extensions note of a text to know it again, each in its own way.
pub fn text_hashes(text: &str) -> Vec<String> {
    ALL.iter().filter_map(|adapter| adapter.text_hash(text)).collect()
}
