//! [`Inputs`]: what the owner of a story decided about its memory. An input always wins over what was computed, and is never lost.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::entity::EntityId;
use crate::facts::Brought;
use crate::key::Key;

/// What a person decided about one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It says this. What is learnt later is added below.
    Text(String),
    /// It says what another line has learnt of it, and goes by these names, too. What is learnt later is added, and takes the place of what
    /// is about the same.
    Brought(Brought),
    /// It is not wanted, whatever is learnt.
    Deleted,
    /// It stays as it is, whatever is learnt.
    Locked,
    /// It is memory's again: what was decided before does not count any more from here on.
    Released,
}

/// All decisions for one line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Inputs {
    /// Messages that end a scene because a person said so
    pub breaks: BTreeSet<usize>,
    /// Messages that do not, whatever a model says
    pub no_breaks: BTreeSet<usize>,
    /// Decisions about entries, by the message after which they were made, in order
    pub entries: BTreeMap<usize, Vec<(EntityId, Decision)>>,
    /// Questions that are not to be asked because the answer to another one is to be kept: a message was edited, and what was made
    /// of it still holds
    #[serde(skip_serializing_if = "HashMap::is_empty")]
    pub kept: HashMap<Key, Key>,
    /// Which of the answers to a question counts, where it was asked again; the first one where nothing is said
    #[serde(skip_serializing_if = "HashMap::is_empty")]
    pub variants: HashMap<Key, u32>,
}

impl Inputs {
    /// What of them belongs to a line that ends with message `n`: a fork's.
    pub fn up_to(&self, n: usize) -> Self {
        Self {
            breaks: self.breaks.range(..=n).copied().collect(),
            no_breaks: self.no_breaks.range(..=n).copied().collect(),
            entries: self.entries.range(..=n).map(|(at, decisions)| (*at, decisions.clone())).collect(),
            kept: self.kept.clone(),
            variants: self.variants.clone(),
        }
    }
}

/// What can be set about memory. Only what changes a prompt is in the keys of questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Messages after the last one that may end a scene, which are shown so that the end can be seen
    pub look_ahead: usize,
    /// Messages that a scene has at least
    pub shortest: usize,
    /// Messages among which the first end of a scene is looked for. Twice, then four times as many if there is none.
    pub window: usize,
    /// Tokens of a scene at most: a longer one is ended, and a scene that is longer all the same is asked about in parts
    pub scene_tokens: usize,
    /// Tokens of an entry at most, before it is made shorter
    pub entry_tokens: usize,
    /// Bytes of a token, on average
    pub bytes_per_token: f64,
    /// The language of answers; the story's own where it is empty
    pub language: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            look_ahead: 8,
            shortest: 10,
            window: 24,
            scene_tokens: 6000,
            entry_tokens: 500,
            bytes_per_token: 3.6,
            language: String::new(),
        }
    }
}

impl Settings {
    /// About how many tokens a text has.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate of a length"
    )]
    pub fn tokens(&self, bytes: usize) -> usize {
        (bytes as f64 / self.bytes_per_token.max(0.5)).ceil() as usize
    }
}
