//! Making a fork: pure parts. [`ForkKind`] is what the user asked for.
//!
//! * [`names`]: what the fork and its book are called.
//! * [`book`]: the file of its lorebook.
//! * [`header`]: what of the parent's header the fork has for its own.
//! * [`rename`]: what in a chat or a book names another one, when that goes by another name.
//! * [`swipe`]: the last message with another swipe shown.
//! * [`timed`]: SillyTavern's sticky and cooldown effects, which name the book and would be lost under a new name.

pub mod book;
pub mod header;
pub mod names;
pub mod rename;
pub mod swipe;
pub mod timed;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The two kinds of fork that SillyTavern knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ForkKind {
    /// Play goes on in the fork.
    Branch,
    /// The fork is kept to come back to; play goes on in the parent.
    Checkpoint,
}

impl ForkKind {
    /// The kind as one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Branch => "branch",
            Self::Checkpoint => "checkpoint",
        }
    }
}
