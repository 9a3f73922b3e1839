//! Why branches were not brought together, or a question was not answered.

use forklore_engine::merge::learn::LearnError;
use forklore_engine::merge::resolve::ResolveError;

use super::{ErrorCode, Failure};

impl From<LearnError> for Failure {
    fn from(e: LearnError) -> Self {
        let message = e.to_string();
        match e {
            LearnError::NoSuchScene { .. } => Self::new(
                ErrorCode::MessageNotFound,
                message,
                "`forklore tree --json` tells where scenes end; --scenes all brings along all of them.",
            ),
            LearnError::Address(e) => e.into(),
            LearnError::Fork(e) => e.into(),
            LearnError::State(e) => e.into(),
            LearnError::Path(e) => e.into(),
        }
    }
}

impl From<ResolveError> for Failure {
    fn from(e: ResolveError) -> Self {
        let message = e.to_string();
        let refused = |code, hint: &str| Self::new(code, message.clone(), hint);
        match e {
            ResolveError::NotLearnt(_) => refused(
                ErrorCode::ConflictNotFound,
                "`forklore check` tells which chats have open questions; `forklore learn` makes such chats.",
            ),
            ResolveError::NoSuchConflict { .. } => {
                refused(ErrorCode::ConflictNotFound, "`forklore resolve CHAT` lists what is open.")
            }
            ResolveError::NoAnswer { .. } => refused(
                ErrorCode::Usage,
                "Say --keep ours or --keep theirs: only texts can be both, or other words.",
            ),
            ResolveError::MovedOn { .. } => refused(
                ErrorCode::MovedOn,
                "Nothing was changed. --keep ours leaves it as it is now and closes the question; --text says what it is to be.",
            ),
            ResolveError::NoBook(_) => refused(
                ErrorCode::NoLorebook,
                "Run `forklore heal` to bring the chat's lorebook back, and answer then.",
            ),
            ResolveError::Address(e) => e.into(),
            ResolveError::Restore(e) => e.into(),
            ResolveError::State(e) => e.into(),
            ResolveError::Tx(e) => e.into(),
            ResolveError::Path(e) => e.into(),
        }
    }
}
