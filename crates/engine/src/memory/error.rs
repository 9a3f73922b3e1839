//! [`MemoryError`]: why nothing can be told or done about what is remembered.

use forklore_fs::PathError;
use forklore_memory::PromptError;
use forklore_vault::address::AddressError;

use super::answers::AnswerError;
use crate::restore::RestoreError;

/// Why nothing can be told or done about a chat's memory.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// There is no such chat.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// It is not on.
    #[error("Memory is off for \"{0}\"")]
    Off(String),
    /// Another extension keeps it.
    #[error("{keeper} keeps the memory of \"{chat}\"")]
    Kept {
        /// The chat
        chat: String,
        /// The extension
        keeper: String,
    },
    /// What would be taken over is not right.
    #[error("\"{chat}\" has to be healed before its memory is taken over: {why}")]
    Ill {
        /// The chat
        chat: String,
        /// What is wrong
        why: String,
    },
    /// Nobody keeps it, so that there is nothing to take over.
    #[error("No extension keeps the memory of \"{0}\"")]
    NobodyKeeps(String),
    /// What its header says of it is of a newer Forklore, or damaged.
    #[error("What \"{0}\" says of its memory cannot be read")]
    Unreadable(String),
    /// There is no such entry.
    #[error("Memory has no entry \"{0}\"")]
    NoEntry(String),
    /// There is no such entry that waits to be approved.
    #[error("No entry \"{0}\" waits to be approved")]
    NoProposal(String),
    /// There is no such message.
    #[error("There is no message {at}: the chat has {messages}")]
    NoMessage {
        /// The message
        at: usize,
        /// How many there are
        messages: usize,
    },
    /// Nothing that was written is stale there.
    #[error("Nothing that memory wrote of message {0} is stale")]
    NothingToKeep(usize),
    /// The message is in no scene yet.
    #[error("Message {0} is in no scene yet")]
    NoScene(usize),
    /// What is answered is not asked, or not any more.
    #[error("That is not asked any more")]
    NotAsked,
    /// Words that a vault has for its questions cannot be used.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// They are no text.
    #[error("{0} is not UTF-8 text")]
    NoText(String),
    /// Answers cannot be read or kept.
    #[error(transparent)]
    Answers(#[from] AnswerError),
    /// The chat cannot be changed.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
}
