//! `checkpoint` and `branch`: a new chat with the whole state of the story at a message.
//!
//! [`ForkRequest`] is what somebody asks for. [`plan()`] decides everything and changes nothing: a [`ForkPlan`] can be printed. [`execute()`] lets it happen, all or nothing.

mod body;
mod book;
mod brought;
mod chat_name;
mod edits;
mod execute;
mod header;
mod plan;
mod queue;
mod refuse;
mod report;
mod request;

use forklore_core::fork::ForkKind;
use forklore_core::fork::names::NameError;
use forklore_fs::PathError;
use forklore_journal::TxError;
use forklore_vault::address::AddressError;
use forklore_vault::state::at::StateError;
use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use self::brought::{Brought, More, Timers};
pub use self::execute::{execute, prepare};
pub use self::plan::{ForkPlan, plan};
pub(crate) use self::plan::{Restored, plan_named, plan_of_past, plan_with};
pub use self::request::ForkRequest;
use super::show::{ShowLeftOut, ShowSource};
use crate::warning::Warning;

/// What was made, or would be.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ForkReport {
    /// Id of the operation; nothing if it was only planned
    pub operation: Option<String>,
    /// Checkpoint or branch
    pub kind: ForkKind,
    /// Address of the fork
    pub chat: String,
    /// Address of the chat it was forked from
    pub parent: String,
    /// The last message
    pub at: usize,
    /// The swipe that it shows, if not the parent's
    pub swipe: Option<usize>,
    /// Identity of that message with everything before it
    pub moment: String,
    /// The lorebook
    pub book: ForkBook,
    /// The running recap
    pub running_recap: ForkRecap,
    /// How many messages the combined recap covers, if there is one
    pub combined_recap: Option<ForkCombined>,
    /// Metadata that is as of now, or as it was first seen, because nothing tells how it was
    pub inherited: Vec<String>,
    /// What else is worth knowing, in sentences
    pub notes: Vec<String>,
    /// What the user should know
    pub warnings: Vec<Warning>,
    /// Files that were made or changed
    pub files: Vec<String>,
    /// Files that could not be changed yet
    pub pending: Vec<String>,
}

/// The lorebook of a fork.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ForkBook {
    /// Its name
    pub name: Option<String>,
    /// The parent's book
    pub from: Option<String>,
    /// How many entries it has, registries, indexes and queue included
    pub entries: usize,
    /// How many of them are of the story: without registries, indexes and queue
    pub facts: usize,
    /// Where its state comes from
    pub source: ShowSource,
    /// Whether the fork goes on using the parent's own
    pub shared: bool,
    /// Entries that nothing dates
    pub undated: usize,
    /// What was left out
    pub left_out: Vec<ShowLeftOut>,
    /// Messages whose scenes still name the parent's book
    pub scenes_naming_parent: Vec<usize>,
}

/// The running recap of a fork.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct ForkRecap {
    /// Number of the version in use
    pub current_version: Option<i64>,
    /// How many versions there are
    pub versions: usize,
    /// How many scenes the version in use covers
    pub scenes: Option<i64>,
    /// How many versions were left to the parent
    pub archived: usize,
}

/// The combined recap of a fork.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ForkCombined {
    /// How many messages it covers
    pub message_count: i64,
}

/// Why no fork was made. Nothing was changed, except where [`TxError`] says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    /// The chat is shorter.
    #[error("Message {at} does not exist: \"{chat}\" has {messages} messages, counted from 0")]
    NoSuchMessage {
        /// What was asked for
        at: usize,
        /// The chat
        chat: String,
        /// How many there are
        messages: usize,
    },
    /// The message has no such swipe.
    #[error("Message {at} has no swipe {swipe}: it has {swipes}, counted from 0")]
    NoSuchSwipe {
        /// The message
        at: usize,
        /// What was asked for
        swipe: usize,
        /// How many there are
        swipes: usize,
    },
    /// The chat's file cannot be read.
    #[error("\"{chat}\" cannot be read: {why}")]
    CorruptChat {
        /// The chat
        chat: String,
        /// What is wrong
        why: String,
    },
    /// The page has what is not on disk, so nobody can tell what the fork was forked from.
    #[error("\"{chat}\" is not saved as the page has it: message {at} is another one, or not there yet")]
    NotSaved {
        /// The chat
        chat: String,
        /// The message
        at: usize,
    },
    /// Work is waiting.
    #[error("{} still in the queue: {}", operations(*.count), .kinds.join(", "))]
    QueueNotEmpty {
        /// How much
        count: usize,
        /// What
        kinds: Vec<String>,
    },
    /// Nothing tells how the book was, and that is required.
    #[error("Nothing tells how the lorebook \"{book}\" was at message {at}")]
    Unresolvable {
        /// The book
        book: String,
        /// The message
        at: usize,
    },
    /// Something is required that is not there.
    #[error("{}", .0.message)]
    Required(Warning),
    /// The name cannot be.
    #[error("\"{name}\" cannot be the name of a chat: {why}")]
    InvalidName {
        /// What was typed
        name: String,
        /// What is wrong with it
        why: NameError,
    },
    /// A name is required.
    #[error("A checkpoint needs a name here")]
    NameRequired,
    /// The name is not free.
    #[error("There is already a chat \"{0}\"")]
    NameTaken(String),
    /// There is no such chat.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The state of the book cannot be told.
    #[error(transparent)]
    State(#[from] StateError),
    /// It could not be done.
    #[error(transparent)]
    Tx(#[from] TxError),
    /// The new book is not what it was meant to be.
    #[error("The new lorebook could not be verified: {0}")]
    NotVerified(String),
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
}

fn operations(n: usize) -> String {
    if n == 1 { "1 operation is".to_owned() } else { format!("{n} operations are") }
}
