//! Why nothing could be told or done about what is remembered.

use forklore_engine::memory::{AnswerError, MemoryError};

use super::{ErrorCode, Failure, capital};

impl From<MemoryError> for Failure {
    fn from(e: MemoryError) -> Self {
        let message = e.to_string();
        let typed = |code, hint: &str| Self::typed(code, message.clone(), hint);
        match e {
            MemoryError::Off(_) => typed(
                ErrorCode::MemoryOff,
                "`forklore memory on CHAT` turns it on, and tells first what it would cost.",
            ),
            MemoryError::Kept { .. } => typed(
                ErrorCode::MemoryKept,
                "Two memories would write over each other. `forklore memory on CHAT --take-over` goes on from what the extension has kept; turn it off for this chat then.",
            ),
            MemoryError::Ill { .. } => typed(
                ErrorCode::MemoryIll,
                "`forklore heal CHAT` tells what it would do, and does it with --yes.",
            ),
            MemoryError::NobodyKeeps(_) => typed(
                ErrorCode::NothingNew,
                "`forklore memory on CHAT`, without --take-over, starts from its messages.",
            ),
            MemoryError::Unreadable(_) => typed(
                ErrorCode::NewerFormat,
                "Nothing was changed. Update Forklore if a newer one has kept it; else an older copy of the chat, from its backups, has it whole.",
            ),
            MemoryError::NoEntry(_) => {
                typed(ErrorCode::EntryNotFound, "`forklore show CHAT` lists the entries of its lorebook.")
            }
            MemoryError::NoProposal(_) => {
                typed(ErrorCode::EntryNotFound, "`forklore memory status CHAT` lists those that do.")
            }
            MemoryError::NoMessage { .. } => typed(
                ErrorCode::MessageNotFound,
                "Messages are counted from 0, as SillyTavern shows them with its message ids on.",
            ),
            MemoryError::NothingToKeep(_) => {
                typed(ErrorCode::NothingNew, "`forklore memory status CHAT` tells which scenes are stale.")
            }
            MemoryError::NoScene(_) => {
                typed(ErrorCode::NothingNew, "`forklore memory status CHAT` lists the scenes.")
            }
            MemoryError::NotAsked => typed(
                ErrorCode::NothingNew,
                "The chat has changed since, or it was answered already. Ask what is missing now.",
            ),
            MemoryError::Prompt(_) | MemoryError::NoText(_) => typed(
                ErrorCode::ConfigInvalid,
                "`forklore memory prompts` tells where your own words are. Mend the file, or delete it to ask in Forklore's.",
            ),
            MemoryError::Answers(e) => e.into(),
            MemoryError::Address(e) => e.into(),
            MemoryError::Restore(e) => e.into(),
            MemoryError::Path(e) => e.into(),
        }
    }
}

impl From<AnswerError> for Failure {
    fn from(e: AnswerError) -> Self {
        match e {
            AnswerError::History(e) => e.into(),
            AnswerError::Newer(_) => {
                Self::new(ErrorCode::HistoryNewer, capital(&e.to_string()), "Nothing was changed.")
            }
            AnswerError::Store(_) | AnswerError::Unreadable(_) => Self::new(
                ErrorCode::HistoryUnreadable,
                capital(&e.to_string()),
                "Chats and lorebooks are not affected. `forklore doctor` looks at history.",
            )
            .because(e),
        }
    }
}
