//! [`Operation`]: one act of Forklore in its final form: what it is, and the [`Step`]s that it consists of.
//!
//! The same sealed bytes are the intent while the act is under way and the entry in the log once it is done, so there is
//! never a moment at which the two could differ. Nothing in it is ever changed afterwards; undoing is an act of its own, whose
//! steps are these the other way round.

mod change;
mod id;

use forklore_fs::VaultPath;
use serde::{Deserialize, Serialize};

pub use self::change::{Edit, Json, JsonChange, Listed, Place};
pub use self::id::{FileId, ObjectId};

/// One act of Forklore.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Operation {
    /// Version of the format
    pub version: u32,
    /// Its id. Ids sort by time.
    pub id: String,
    /// What it does
    pub kind: Kind,
    /// When, in milliseconds since 1970
    pub at: i64,
    /// Address of the chat that it is about
    pub chat: Option<String>,
    /// What it did, in a sentence
    pub summary: String,
    /// The operation that it undoes
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<String>,
    /// The file that another program is to write before this counts
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaits: Option<Awaits>,
    /// What is done, in this order
    pub steps: Vec<Step>,
}

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Makes a checkpoint
    Checkpoint,
    /// Makes a branch
    Branch,
    /// Adopts and isolates forks, repairs what `check` found
    Heal,
    /// Moves a chat and its own book to the trash
    Delete,
    /// Brings something back
    Restore,
    /// Brings along what happened in another line
    Learn,
    /// Answers what two lines do not agree on
    Resolve,
    /// Marks the line that is the story now
    Adopt,
    /// Plays another line's messages after a chat's own
    Append,
    /// Takes one thing over from elsewhere
    Pick,
    /// Writes down what is remembered
    Memory,
    /// Brings a story in from another vault
    Import,
    /// Gives a chat another name
    Rename,
    /// Cleans up
    Gc,
    /// Reverts another operation
    Undo,
}

impl Kind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Checkpoint => "checkpoint",
            Self::Branch => "branch",
            Self::Heal => "heal",
            Self::Delete => "delete",
            Self::Restore => "restore",
            Self::Learn => "learn",
            Self::Resolve => "resolve",
            Self::Adopt => "adopt",
            Self::Append => "append",
            Self::Pick => "pick",
            Self::Memory => "memory",
            Self::Import => "import",
            Self::Rename => "rename",
            Self::Gc => "gc",
            Self::Undo => "undo",
        }
    }
}

/// A chat that SillyTavern is about to write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Awaits {
    /// Its file
    pub target: VaultPath,
    /// The slug that it will have
    pub slug: String,
    /// Until when it is waited for, in milliseconds since 1970
    pub until: i64,
}

/// One change of one file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// A new file appears under its name.
    Publish(Publish),
    /// A file leaves its name and is kept as an object.
    Retire(Retire),
    /// A file that others write, too, is edited.
    Edit(Edit),
}

impl Operation {
    /// The files that it makes.
    pub fn publishes(&self) -> impl Iterator<Item = &Publish> {
        self.steps.iter().filter_map(|step| match step {
            Step::Publish(publish) => Some(publish),
            _ => None,
        })
    }

    /// The files that it takes away.
    pub fn retires(&self) -> impl Iterator<Item = &Retire> {
        self.steps.iter().filter_map(|step| match step {
            Step::Retire(retire) => Some(retire),
            _ => None,
        })
    }

    /// The edits that it makes.
    pub fn edits(&self) -> impl Iterator<Item = &Edit> {
        self.steps.iter().filter_map(|step| match step {
            Step::Edit(edit) => Some(edit),
            _ => None,
        })
    }
}

impl Step {
    /// The file that it is about.
    pub fn target(&self) -> &VaultPath {
        match self {
            Self::Publish(Publish { target, .. })
            | Self::Retire(Retire { target, .. })
            | Self::Edit(Edit { target, .. }) => target,
        }
    }
}

/// A new file appears under its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publish {
    /// Its name
    pub target: VaultPath,
    /// Its name in the staging folder until then
    pub staged: String,
    /// The file itself, to know it again under its final name
    pub file: FileId,
}

/// A file leaves its name and is kept as an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retire {
    /// Its name
    pub target: VaultPath,
    /// Its content
    pub object: ObjectId,
    /// The file that is meant: one that was saved since stays where it is
    pub file: FileId,
}
