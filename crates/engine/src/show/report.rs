//! [`ShowReport`]: the state of a chat at a message, as plain data (`docs/formats/json.md`).

use std::borrow::Cow;

use forklore_core::adapter::{EntryRole, Status};
use forklore_core::format::book::EntryImage;
use forklore_core::state::StateEntry;
use forklore_json::Raw;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
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
    /// Variables
    pub metadata: ShowMetadata,
    /// Keys of the metadata of which nothing tells how they were
    pub inherited: Vec<String>,
    /// The same in words
    pub notes: Vec<String>,
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

/// One entry. Its texts are read when they are asked for: a lorebook can have a million entries, and a report holds no copy of it.
#[derive(Debug, Clone)]
pub struct ShowEntry {
    image: EntryImage,
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

impl ShowEntry {
    /// An entry of a state, and what decided about it.
    pub(super) fn new(entry: StateEntry, source: &'static str, role: EntryRole) -> Self {
        let StateEntry { image, message, undated, inferred, .. } = entry;
        Self { image, source, message, undated, inferred, role }
    }

    /// Whether both are the same, byte for byte. Those that are not may still say the same.
    pub fn is_same(&self, other: &Self) -> bool {
        self.image == other.image
    }

    /// Its number.
    pub fn uid(&self) -> Option<i64> {
        self.image.uid
    }

    /// Its title.
    pub fn comment(&self) -> &str {
        &self.image.comment
    }

    /// Its text.
    pub fn content(&self) -> Cow<'_, str> {
        self.image.content()
    }

    /// Its keys.
    pub fn keys(&self) -> Vec<Cow<'_, str>> {
        let keys = self.image.raw().get("key").unwrap_or(Raw::NULL);
        keys.elements().filter_map(Raw::as_text).collect()
    }

    /// Whether it is switched off.
    pub fn is_disabled(&self) -> bool {
        self.image.is_disabled()
    }

    /// Whether it is always there, whatever is said.
    pub fn is_constant(&self) -> bool {
        self.image.raw().get("constant").is_some_and(Raw::is_truthy)
    }
}

impl Serialize for ShowEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { source, message, undated, inferred, role, .. } = self;
        let told = ToldEntry {
            uid: self.uid(),
            comment: self.comment(),
            content: self.content(),
            keys: self.keys(),
            disable: self.is_disabled(),
            constant: self.is_constant(),
            source,
            message: *message,
            undated: *undated,
            inferred,
            role: *role,
        };
        told.serialize(serializer)
    }
}

impl JsonSchema for ShowEntry {
    fn schema_name() -> Cow<'static, str> {
        "ShowEntry".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        ToldEntry::json_schema(generator)
    }
}

/// One entry.
#[derive(Serialize, JsonSchema)]
struct ToldEntry<'a> {
    /// Its number
    uid: Option<i64>,
    /// Its title
    comment: &'a str,
    /// Its text
    content: Cow<'a, str>,
    /// Its keys
    keys: Vec<Cow<'a, str>>,
    /// Whether it is switched off
    disable: bool,
    /// Whether it is always there, whatever is said
    constant: bool,
    /// What decided about it: `head`, `scene`, `start`, `undated` or `degraded`
    source: &'a str,
    /// The message that its last change belongs to
    message: Option<usize>,
    /// Whether nothing tells that it existed at the message
    undated: bool,
    /// Fields that no evidence of that time shows
    inferred: &'a [String],
    /// What it is for: `fact`, `registry` or `index`
    role: EntryRole,
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
    /// `head`, `history`, `backup`: as somebody saw them at that message; `first`: as history first saw them; `inherited`: as of now, nothing
    /// tells how they were
    pub source: &'static str,
    /// The message that they are from
    pub message: Option<usize>,
    /// The variables as they stand
    #[schemars(with = "Option<serde_json::Value>")]
    pub variables: Option<Box<RawValue>>,
}
