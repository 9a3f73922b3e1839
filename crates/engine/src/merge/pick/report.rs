//! What was taken over ([`PickReport`]), or why nothing was ([`PickError`]).

use forklore_fs::PathError;
use forklore_journal::TxError;
use forklore_vault::address::AddressError;
use forklore_vault::state::at::StateError;
use schemars::JsonSchema;
use serde::Serialize;

use crate::blame::EntryError;
use crate::history::Did;
use crate::restore::RestoreError;
use crate::warning::Warning;

/// What was taken over, or would be.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PickReport {
    /// Id of the operation; nothing if it was only planned
    pub operation: Option<String>,
    /// Address of the chat that has it now
    pub chat: String,
    /// Address of the chat that it is from
    pub from: String,
    /// The message of that chat that it is as of
    pub at: usize,
    /// The observation that it is from, if that is a past that is gone
    pub observation: Option<u64>,
    /// When that was, as RFC 3339
    pub seen: Option<String>,
    /// `entry`, `variable`, `note`, `recap`, `combined_recap` or `queue`
    pub what: &'static str,
    /// Title of the entry, name of the variable, number of the version, how many operations
    pub name: String,
    /// Number of the entry here
    pub uid: Option<i64>,
    /// Whether it is new here, or changed
    pub did: Did,
    /// Fields that changed
    pub fields: Vec<String>,
    /// What was here
    pub before: Option<String>,
    /// What is here now
    pub after: String,
    /// Name of the new lorebook, if it makes one
    pub book: Option<String>,
    /// What the user should know
    pub warnings: Vec<Warning>,
    /// Files that were made or changed
    pub files: Vec<String>,
    /// Files that could not be changed yet
    pub pending: Vec<String>,
}

/// Why nothing was taken over. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum PickError {
    /// It is so already.
    #[error("{0} is the same there: there is nothing to take over")]
    Same(String),
    /// A field goes into an entry that is there.
    #[error("\"{chat}\" has no entry \"{title}\" whose field could be taken over")]
    NotHere {
        /// The chat
        chat: String,
        /// The entry
        title: String,
    },
    /// The fork was not made without it.
    #[error("Nothing that \"{chat}\" was made without is called {wanted:?}")]
    NotLeftOut {
        /// The chat
        chat: String,
        /// What was asked for
        wanted: String,
    },
    /// Nothing like that was put aside.
    #[error("Nothing that was put aside for \"{chat}\" is called {wanted:?}")]
    NotPutAside {
        /// The chat
        chat: String,
        /// What was asked for
        wanted: String,
    },
    /// There is no such variable.
    #[error("\"{chat}\" has no variable \"{name}\" at message {at}")]
    NoVariable {
        /// The chat
        chat: String,
        /// The variable
        name: String,
        /// The message
        at: usize,
    },
    /// There is no author's note.
    #[error("\"{0}\" has no author's note")]
    NoNote(String),
    /// There is no such version.
    #[error("\"{chat}\" has no version {number} of the running recap, and none was archived for it")]
    NoSuchVersion {
        /// The chat
        chat: String,
        /// The number
        number: i64,
    },
    /// There is no combined recap.
    #[error("\"{0}\" has no combined recap")]
    NoCombined(String),
    /// The combined recap tells of messages that are not there.
    #[error("The combined recap tells of {covers} messages, and \"{chat}\" has {has}")]
    TooFar {
        /// The chat
        chat: String,
        /// How many messages it tells of
        covers: i64,
        /// How many there are
        has: usize,
    },
    /// No work was archived, or all of it is about messages that are not there.
    #[error("No work that \"{chat}\" could do is archived with \"{from}\"")]
    NoWork {
        /// The chat
        chat: String,
        /// The chat that has the archive
        from: String,
    },
    /// There is no such entry.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// There is no such chat.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The chat or its book cannot be changed, or there is no such past.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// The state of a book cannot be told.
    #[error(transparent)]
    State(#[from] StateError),
    /// It could not be done.
    #[error(transparent)]
    Tx(#[from] TxError),
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
}
