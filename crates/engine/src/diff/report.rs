//! [`DiffReport`]: how one state becomes another, as plain data (`docs/formats/json.md`).

use forklore_core::adapter::EntryRole;
use forklore_core::diff::{Effect, Identity, ListDiff, Quiet, TextDiff};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::show::{ShowCombined, ShowOperation, ShowSource};
use crate::warning::Warning;

/// The version of this document's form.
pub const VERSION: u32 = 1;

/// How one state becomes another.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffReport {
    /// Version of the document's form
    pub version: u32,
    /// What is compared
    pub a: DiffSide,
    /// With what
    pub b: DiffSide,
    /// Why these two
    pub chosen: Chosen,
    /// Whether nothing differs
    pub same: bool,
    /// The messages
    pub transcript: DiffTranscript,
    /// The lorebook
    pub book: DiffBook,
    /// Registries that differ
    pub registries: Vec<DiffRegistry>,
    /// The running recap
    pub running_recap: DiffRunning,
    /// The combined recap, if it differs
    pub combined_recap: Option<DiffCombined>,
    /// Variables that differ
    pub variables: Vec<DiffValue>,
    /// What differs in the author's note
    pub note: Vec<DiffValue>,
    /// What else differs in the chat's metadata
    pub metadata: Vec<DiffValue>,
    /// Sticky and cooldown effects
    pub timed_effects: DiffTimed,
    /// The queue
    pub queue: DiffQueue,
}

impl DiffReport {
    /// Whether nothing differs, the messages apart.
    pub fn is_state_same(&self) -> bool {
        let (timed, queue) = (&self.timed_effects, &self.queue);
        self.book.is_empty()
            && self.registries.is_empty()
            && self.running_recap.is_empty()
            && self.combined_recap.is_none()
            && [&self.variables, &self.note, &self.metadata].iter().all(|list| list.is_empty())
            && timed.added.is_empty()
            && timed.removed.is_empty()
            && timed.changed.is_empty()
            && queue.added.is_empty()
            && queue.removed.is_empty()
            && queue.changed.is_empty()
    }
}

/// Why two states are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Chosen {
    /// Both were asked for
    Asked,
    /// A fork was named: the other one is its parent
    Parent,
    /// One message was named: the other one is the last
    Head,
}

/// One side.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffSide {
    /// Address of the chat
    pub chat: String,
    /// The message
    pub at: usize,
    /// How many messages the chat has
    pub messages: usize,
    /// Identity of the message with everything before it
    pub moment: String,
    /// The last scene that was finished
    pub scene: Option<DiffScene>,
    /// The lorebook
    pub book: DiffSideBook,
    /// Keys of the metadata of which nothing tells how they were
    pub inherited: Vec<String>,
    /// The same in words
    pub notes: Vec<String>,
    /// What is not as exact as it could be
    pub warnings: Vec<Warning>,
}

/// A scene.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffScene {
    /// The message that it ends with
    pub message: usize,
    /// Its title
    pub name: Option<String>,
}

/// The lorebook of one side.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffSideBook {
    /// Its name as the chat has it
    pub name: Option<String>,
    /// Where its state comes from
    pub source: ShowSource,
    /// How many entries it has, the queue left out
    pub entries: usize,
}

/// The messages of two sides.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffTranscript {
    /// `same`, `edited`, `ahead`, `behind`, `parted` or `apart`
    pub relation: &'static str,
    /// The last message in common
    pub common: Option<DiffCommon>,
    /// `certain`, `likely` or `guess`
    pub confidence: &'static str,
    /// Whether they part at another swipe of the next message
    pub swipe: bool,
    /// The messages that follow the last one in common
    pub next: DiffNext,
    /// How many messages follow in each
    pub after: DiffAfter,
    /// Older messages that are not the same
    pub edits: Vec<DiffEdit>,
}

/// The last message that two sides have in common.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffCommon {
    /// Its number in the first
    pub a: usize,
    /// Its number in the second
    pub b: usize,
    /// The moment there; nothing if older messages differ
    pub moment: Option<String>,
}

/// The messages at which two sides part.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffNext {
    /// In the first
    pub a: Option<DiffMessage>,
    /// In the second
    pub b: Option<DiffMessage>,
}

/// One message.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffMessage {
    /// Its number
    pub message: usize,
    /// Who speaks
    pub speaker: String,
    /// What is said
    pub text: String,
}

/// How many messages two sides have for themselves at their ends.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct DiffAfter {
    /// The first
    pub a: usize,
    /// The second
    pub b: usize,
}

/// Older messages that are not the same.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffEdit {
    /// Those of the first
    pub a: Option<DiffSpan>,
    /// Those of the second
    pub b: Option<DiffSpan>,
    /// How the text differs, if it is one message in each
    pub text: Option<TextDiff>,
}

/// Messages one after the other.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct DiffSpan {
    /// The first of them
    pub from: usize,
    /// The last of them
    pub to: usize,
}

/// The lorebook, registries left out.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffBook {
    /// How many entries are the same in both
    pub same: usize,
    /// Entries that only the second has
    pub added: Vec<DiffEntry>,
    /// Entries that only the first has
    pub removed: Vec<DiffEntry>,
    /// Entries that differ
    pub changed: Vec<DiffChange>,
}

impl DiffBook {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

/// An entry that one side does not have.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffEntry {
    /// Its number
    pub uid: Option<i64>,
    /// Its title
    pub comment: String,
    /// What it is for: `fact` or `index`
    pub role: EntryRole,
    /// Its text
    pub content: String,
    /// Its keys
    pub keys: Vec<String>,
    /// Whether it is switched off
    pub disable: bool,
    /// The message that its last change belongs to
    pub message: Option<usize>,
    /// Whether nothing tells that it existed there
    pub undated: bool,
    /// All its other fields
    #[schemars(with = "serde_json::Value")]
    pub fields: Box<RawValue>,
}

/// An entry that differs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffChange {
    /// Its number in the second
    pub uid: Option<i64>,
    /// Its title in the second
    pub comment: String,
    /// What it is for: `fact` or `index`
    pub role: EntryRole,
    /// How it is known to be the same entry
    pub by: Identity,
    /// Number, title and origin in the first
    pub a: DiffName,
    /// Number, title and origin in the second
    pub b: DiffName,
    /// Whether all of it probably means nothing
    pub quiet: bool,
    /// What differs
    pub fields: Vec<DiffField>,
}

/// What an entry goes by on one side.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffName {
    /// Its number
    pub uid: Option<i64>,
    /// Its title
    pub comment: String,
    /// The message that its last change belongs to
    pub message: Option<usize>,
    /// Whether nothing tells that it existed there
    pub undated: bool,
}

/// A field that differs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffField {
    /// Its name
    pub field: String,
    /// `added`, `removed` or `changed`
    pub change: &'static str,
    /// Its value before
    #[schemars(with = "Option<serde_json::Value>")]
    pub before: Option<Box<RawValue>>,
    /// Its value after
    #[schemars(with = "Option<serde_json::Value>")]
    pub after: Option<Box<RawValue>>,
    /// How the text differs, if both are texts
    pub text: Option<TextDiff>,
    /// How the list differs, if both are lists of texts
    pub list: Option<ListDiff>,
    /// Why it probably means nothing
    pub quiet: Option<Quiet>,
}

/// A registry that differs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffRegistry {
    /// Its number
    pub uid: Option<i64>,
    /// Its title
    pub comment: String,
    /// `added`, `removed` or `changed`
    pub change: &'static str,
    /// Rows that only the second has
    pub added: Vec<DiffRow>,
    /// Rows that only the first has
    pub removed: Vec<DiffRow>,
    /// Rows that differ
    pub changed: Vec<DiffRowChange>,
    /// Whether something besides rows differs: other lines, or their order
    pub other: bool,
    /// The fields that differ, the text included
    pub fields: Vec<DiffField>,
}

/// One row of a registry.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffRow {
    /// The entry that it lists
    pub uid: Option<i64>,
    /// That entry's name
    pub name: String,
    /// Other names of it
    pub aliases: Vec<String>,
    /// What it is, in a few words
    pub synopsis: String,
}

/// A row that differs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffRowChange {
    /// The row before
    pub before: DiffRow,
    /// The row after
    pub after: DiffRow,
    /// How its other names differ
    pub aliases: ListDiff,
    /// How its synopsis differs
    pub synopsis: TextDiff,
}

/// The running recap.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffRunning {
    /// Number of the version in use in the first
    pub before: Option<i64>,
    /// Number of the version in use in the second
    pub after: Option<i64>,
    /// How the text in use differs; empty if it does not
    pub text: TextDiff,
    /// How many versions are the same
    pub same: usize,
    /// Versions that only the second has
    pub added: Vec<DiffVersion>,
    /// Versions that only the first has
    pub removed: Vec<DiffVersion>,
    /// Versions with one number that are not the same
    pub changed: Vec<DiffVersionChange>,
}

impl DiffRunning {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.before == self.after
            && self.text.is_empty()
            && self.added.is_empty()
            && self.removed.is_empty()
            && self.changed.is_empty()
    }
}

/// One version of the running recap.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffVersion {
    /// Its number
    pub version: i64,
    /// The scene that was merged last
    pub new_scene_index: usize,
    /// Its text
    pub content: Option<String>,
}

/// Two versions with the same number.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffVersionChange {
    /// The one before
    pub before: DiffVersion,
    /// The one after
    pub after: DiffVersion,
    /// How the text differs
    pub text: TextDiff,
}

/// The combined recap.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffCombined {
    /// The one before
    pub before: Option<ShowCombined>,
    /// The one after
    pub after: Option<ShowCombined>,
    /// How the text differs
    pub text: TextDiff,
}

/// A value that differs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffValue {
    /// Keys that lead there
    pub path: Vec<String>,
    /// `added`, `removed` or `changed`
    pub change: &'static str,
    /// The value before
    #[schemars(with = "Option<serde_json::Value>")]
    pub before: Option<Box<RawValue>>,
    /// The value after
    #[schemars(with = "Option<serde_json::Value>")]
    pub after: Option<Box<RawValue>>,
    /// How the text differs, if both are texts
    pub text: Option<TextDiff>,
}

/// Sticky and cooldown effects.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffTimed {
    /// Those that only the second has
    pub added: Vec<DiffEffect>,
    /// Those that only the first has
    pub removed: Vec<DiffEffect>,
    /// Those that differ
    pub changed: Vec<DiffEffectChange>,
}

/// One effect.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffEffect {
    /// The effect
    #[serde(flatten)]
    pub effect: Effect,
    /// Title of the entry, if it is of the chat's own book
    pub comment: Option<String>,
}

/// An effect that differs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffEffectChange {
    /// The effect before
    pub before: DiffEffect,
    /// The effect after
    pub after: DiffEffect,
}

/// The queue.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffQueue {
    /// Operations that only the second has
    pub added: Vec<ShowOperation>,
    /// Operations that only the first has
    pub removed: Vec<ShowOperation>,
    /// Operations that differ
    pub changed: Vec<DiffOperationChange>,
}

/// An operation that differs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffOperationChange {
    /// The operation before
    pub before: ShowOperation,
    /// The operation after
    pub after: ShowOperation,
}
