//! Why branches were not brought together, or a question was not answered.

use forklore_engine::merge::adopt::AdoptError;
use forklore_engine::merge::append::AppendError;
use forklore_engine::merge::learn::LearnError;
use forklore_engine::merge::pick::PickError;
use forklore_engine::merge::resolve::ResolveError;

use super::{ErrorCode, Failure};

impl From<LearnError> for Failure {
    fn from(e: LearnError) -> Self {
        let message = e.to_string();
        match e {
            LearnError::NoSuchScene { .. } => Self::typed(
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
        let typed = |code, hint: &str| Self::typed(code, message.clone(), hint);
        match e {
            ResolveError::NotLearnt(_) => typed(
                ErrorCode::ConflictNotFound,
                "`forklore check` tells which chats have open questions; `forklore learn` makes such chats.",
            ),
            ResolveError::NoSuchConflict { .. } => {
                typed(ErrorCode::ConflictNotFound, "`forklore resolve CHAT` lists what is open.")
            }
            ResolveError::Ambiguous { .. } => typed(
                ErrorCode::Usage,
                "Say more of the id. `forklore resolve CHAT` without one is about all that is open.",
            ),
            ResolveError::NoAnswer { .. } => typed(
                ErrorCode::Usage,
                "Say --keep ours or --keep theirs: only texts can be both, or other words.",
            ),
            ResolveError::MovedOn { .. } => typed(
                ErrorCode::MovedOn,
                "Nothing was changed. --keep ours leaves it as it is now and closes the question; --text says what it is to be.",
            ),
            ResolveError::NoBook(_) => typed(
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

impl From<AdoptError> for Failure {
    fn from(e: AdoptError) -> Self {
        match e {
            AdoptError::Restore(e) => e.into(),
            AdoptError::Tx(e) => e.into(),
            AdoptError::Path(e) => e.into(),
        }
    }
}

impl From<AppendError> for Failure {
    fn from(e: AppendError) -> Self {
        let message = e.to_string();
        match e {
            AppendError::NothingNew { .. } => {
                Self::new(ErrorCode::NothingNew, message, "Nothing was changed, and nothing has to be.")
            }
            AppendError::Address(e) => e.into(),
            AppendError::Fork(e) => e.into(),
            AppendError::Path(e) => e.into(),
        }
    }
}

impl From<PickError> for Failure {
    fn from(e: PickError) -> Self {
        let message = e.to_string();
        let missing = |hint: &str| Self::typed(ErrorCode::PickNotFound, message.clone(), hint);
        match e {
            PickError::Same(_) => {
                Self::new(ErrorCode::NothingNew, message, "Nothing was changed, and nothing has to be.")
            }
            PickError::NotHere { .. } => missing("Take the whole entry over: leave --field out."),
            PickError::NotLeftOut { .. } => missing(
                "`forklore show CHAT --at N` lists what was left out; `forklore pick CHAT --from OTHER --entry` takes an entry from any chat.",
            ),
            PickError::NotPutAside { .. } => {
                missing("`forklore heal` tells what it puts aside, and for whom.")
            }
            PickError::NoVariable { .. } | PickError::NoNote(_) => {
                missing("`forklore show CHAT --at N --json` tells what there was.")
            }
            PickError::NoSuchVersion { .. } | PickError::NoCombined(_) => {
                missing("`forklore show CHAT --at N` tells which recaps there are.")
            }
            PickError::NoWork { .. } => missing(
                "Name the fork whose record has it with --from; `forklore show` tells what waits now.",
            ),
            PickError::TooFar { .. } => {
                missing("Take an older one over: say --at with a message that this chat has, too.")
            }
            PickError::Entry(e) => e.into(),
            PickError::Address(e) => e.into(),
            PickError::Restore(e) => e.into(),
            PickError::State(e) => e.into(),
            PickError::Tx(e) => e.into(),
            PickError::Path(e) => e.into(),
        }
    }
}
