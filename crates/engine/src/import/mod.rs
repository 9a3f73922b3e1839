//! `import`: a story from a file that `export` wrote. [`plan()`] reads all of it, verifies it, and finds names that are free;
//! [`execute()`] lets it happen, all or nothing.
//!
//! The file can come from anybody. Nothing in it is used as a path: chats and books get names by Forklore's own rules, in folders that
//! Forklore chooses. Whatever is in it is read bit by bit.

mod execute;
mod found;
mod media;
mod plan;
mod source;

use forklore_archive::ArchiveError;
use forklore_fs::PathError;
use forklore_journal::TxError;
use forklore_store::StoreError;
use forklore_vault::address::AddressError;
use forklore_vault::history::HistoryError;
use schemars::JsonSchema;
use serde::Serialize;

pub use self::execute::execute;
pub use self::plan::{ImportPlan, plan};
use crate::warning::Warning;

/// What a user asks for.
#[derive(Debug, Clone, Default)]
pub struct ImportRequest {
    /// The story that the chats are to join; the one of the same name, or a new one, if nothing is said
    pub into: Option<String>,
}

/// What was imported.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ImportReport {
    /// Id of the operation; nothing if it was only planned
    pub operation: Option<String>,
    /// The folder of the character, or the id of the group, that the chats join
    pub story: String,
    /// Whether there is no such character or group yet
    pub new_story: bool,
    /// When it was exported, in milliseconds since 1970
    pub exported: i64,
    /// The chats
    pub chats: Vec<Imported>,
    /// The lorebooks
    pub books: Vec<Imported>,
    /// The images and files that chats link to
    pub media: Vec<ImportedMedia>,
    /// How many images and files are here already
    pub media_here: usize,
    /// The file of the character's card or of the group, if it is imported
    pub card: Option<String>,
    /// Saves of chats and books that history saw
    pub observations: usize,
    /// Bytes of the new files
    pub bytes: u64,
    /// What is in the file and stays there, and why
    pub left: Vec<Left>,
    /// What the user should know
    pub warnings: Vec<Warning>,
}

/// A chat or a book that is imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Imported {
    /// The name that it had
    pub from: String,
    /// Its file
    pub path: String,
    /// The name that it has now
    pub name: String,
}

/// An image or a file that is imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ImportedMedia {
    /// Where it was
    pub from: String,
    /// Its file: where it was, or beside it if there is another one
    pub path: String,
}

/// Something that is not imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Left {
    /// What it is
    pub what: String,
    /// Why it is left
    pub why: String,
}

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file is no good.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The file was changed between planning and doing.
    #[error("the file was changed while it was read")]
    Changed,
    /// There is no such story.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// Chats of a group cannot join a character, nor the other way round.
    #[error("Chats of a {from} cannot join a {to}")]
    OtherKind {
        /// What the file holds chats of
        from: &'static str,
        /// What they are to join
        to: &'static str,
    },
    /// It could not be done.
    #[error(transparent)]
    Tx(#[from] TxError),
    /// History said no.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
}

impl ImportError {
    fn damaged(why: &str) -> Self {
        Self::Archive(ArchiveError::Damaged(why.to_owned()))
    }

    /// What is wrong with history that arrives is wrong with the file.
    fn of_arrival(e: HistoryError) -> Self {
        match e {
            HistoryError::Unreadable(_)
            | HistoryError::Store(StoreError::Missing(_) | StoreError::NotADocument(_)) => {
                Self::damaged(&format!("its history is not whole ({e})"))
            }
            e => Self::History(e),
        }
    }
}
