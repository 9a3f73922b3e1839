//! [`ShowReport`]: the state of a chat at a message, as plain data (`docs/formats/json.md`).

use forklore_core::adapter::{EntryRole, Status};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::warning::Warning;

/// The state of a chat at a message.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ShowReport {
    /// Its address
    pub chat: String,
    /// The message
    pub at: usize,
    /// How many messages the chat has
    pub messages: usize,
    /// Identity of the message with everything before it
    pub moment: String,
    /// Who speaks there
    pub speaker: String,
    /// What is said there
    pub text: String,
    /// The scene that the message is in or ends: the last one that was finished
    pub scene: Option<ShowScene>,
    /// The lorebook
    pub book: ShowBook,
    /// The running recap
    pub running_recap: ShowRecap,
    /// The combined recap, if one fits
    pub combined_recap: Option<ShowCombined>,
    /// Work that belongs to messages up to this one
    pub queue: ShowQueue,
    /// Variables, author's note and the like
    pub metadata: ShowMetadata,
    /// What is not as exact as it could be
    pub warnings: Vec<Warning>,
}

/// A scene.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ShowScene {
    /// The message that it ends with
    pub message: usize,
    /// Its title
    pub name: Option<String>,
    /// Its recap, as a person would read it
    pub recap: Option<String>,
}

/// The lorebook at the message.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ShowBook {
    /// Its name as the chat has it
    pub name: Option<String>,
    /// Where the state comes from
    pub source: ShowSource,
    /// Its entries, the queue left out
    pub entries: Vec<ShowEntry>,
    /// What is known and does not belong there
    pub left_out: Vec<ShowLeftOut>,
    /// How many other chats use the same book
    pub others: usize,
    /// Whether they do so by choice: it is kept by hand
    pub by_choice: bool,
}

/// Where a state comes from.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ShowSource {
    /// `head`, `unchanged`, `history`, `scene`, `degraded` or `none`
    pub kind: &'static str,
    /// The message that it is from
    pub message: Option<usize>,
    /// How many messages before the asked one that is
    pub distance: Option<usize>,
}

impl From<forklore_vault::state::at::Source> for ShowSource {
    fn from(source: forklore_vault::state::at::Source) -> Self {
        Self { kind: source.kind.as_str(), message: source.message, distance: source.distance }
    }
}

/// One entry.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ShowEntry {
    /// Its number
    pub uid: Option<i64>,
    /// Its title
    pub comment: String,
    /// Its text
    pub content: String,
    /// Its keys
    pub keys: Vec<String>,
    /// Whether it is switched off
    pub disable: bool,
    /// Whether it is always there, whatever is said
    pub constant: bool,
    /// What decided about it: `head`, `scene`, `start`, `undated` or `degraded`
    pub source: &'static str,
    /// The message that its last change belongs to
    pub message: Option<usize>,
    /// Whether nothing tells that it existed at the message
    pub undated: bool,
    /// Fields that no evidence of that time shows
    pub inferred: Vec<String>,
    /// What it is for: `fact`, `registry` or `index`
    pub role: EntryRole,
}

/// An entry that was left out.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ShowLeftOut {
    /// Its number
    pub uid: Option<i64>,
    /// Its title
    pub comment: String,
    /// How many of its lines are left out; 0 if all of it is
    pub lines: usize,
    /// Why, in a phrase
    pub why: String,
}

/// The running recap at the message.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct ShowRecap {
    /// Number of the version in use there
    pub current_version: Option<i64>,
    /// Its text
    pub content: Option<String>,
    /// The versions that belong there
    pub versions: Vec<ShowRecapVersion>,
    /// How many versions do not
    pub dropped: usize,
}

/// One version of the running recap.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ShowRecapVersion {
    /// Its number
    pub version: i64,
    /// The scene that was merged last
    pub new_scene_index: usize,
}

/// The combined recap.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ShowCombined {
    /// How many messages it covers
    pub message_count: i64,
    /// Its text
    pub content: String,
}

/// The queue.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ShowQueue {
    /// Whether nothing waits or runs
    pub idle: bool,
    /// What waits or runs
    pub operations: Vec<ShowOperation>,
}

/// One operation.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ShowOperation {
    /// Its id
    pub id: String,
    /// What it does
    #[serde(rename = "type")]
    pub kind: String,
    /// How far it is
    pub status: String,
}

impl ShowOperation {
    /// Whether it is still to be done.
    pub fn is_open(&self) -> bool {
        Status::read(&self.status).is_open()
    }
}

/// The chat's own variables and notes.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ShowMetadata {
    /// `head`, `history`, `backup`: as of the message; `first`: as history first saw them; `inherited`: as of now, nothing tells how they were
    pub source: &'static str,
    /// The message that they are from
    pub message: Option<usize>,
    /// The variables as they stand
    #[schemars(with = "Option<serde_json::Value>")]
    pub variables: Option<Box<RawValue>>,
}
