//! Why the past cannot be told, or not be brought back.

use forklore_engine::blame::{BlameError, EntryError};
use forklore_engine::fork::ForkError;
use forklore_engine::restore::RestoreError;
use forklore_vault::history::{HistoryError, PastError};
use serde_json::json;

use super::config::config_failure;
use super::{ErrorCode, Failure, capital, quoted};

impl From<HistoryError> for Failure {
    fn from(e: HistoryError) -> Self {
        match e {
            HistoryError::Path(e) => e.into(),
            HistoryError::Config(e) => e.into(),
            e => history_failure(&e).because(e),
        }
    }
}

pub(super) fn history_failure(e: &HistoryError) -> Failure {
    let message = capital(&e.to_string());
    let told = |code, hint: &str| Failure::new(code, message.clone(), hint);
    let typed = |code, hint: &str| Failure::typed(code, message.clone(), hint);
    match e {
        HistoryError::Newer { .. } => told(
            ErrorCode::HistoryNewer,
            "Get the Forklore that wrote it, or a newer one. Chats and lorebooks are not affected.",
        ),
        HistoryError::Elsewhere { .. } => typed(
            ErrorCode::HistoryUnreadable,
            "Plug the disk in, or set another folder: forklore config history.dir PATH",
        ),
        HistoryError::Foreign { .. } => typed(
            ErrorCode::HistoryForeign,
            "Every vault has its own. Move that folder away, or choose another: forklore config history.dir PATH. Chats and lorebooks are not affected.",
        ),
        HistoryError::Moved { dir, .. } => typed(
            ErrorCode::HistoryMoved,
            &format!("If this is the vault that was there: forklore config history.dir \"{dir}\""),
        ),
        HistoryError::Config(e) => config_failure(e),
        HistoryError::Path(_) | HistoryError::Store(_) | HistoryError::Unreadable(_) => typed(
            ErrorCode::HistoryUnreadable,
            "Try again; `forklore check --deep` tells what is wrong. Chats and lorebooks are not affected.",
        ),
    }
}

impl From<PastError> for Failure {
    fn from(e: PastError) -> Self {
        let message = e.to_string();
        let typed = |code, hint: &str| Self::typed(code, message.clone(), hint);
        match e {
            PastError::NoHistory => typed(
                ErrorCode::NoHistory,
                "Run `forklore watch` while you play, or `forklore watch --once` now and then: from then on there is one.",
            ),
            PastError::NoSuchObservation(_) => {
                typed(ErrorCode::ObservationNotFound, "`forklore history CHAT` tells the numbers.")
            }
            PastError::NotYet { .. } | PastError::TooEarly { .. } | PastError::NeverSeen(_) => typed(
                ErrorCode::NotSeen,
                "`forklore history CHAT` tells what was seen and when. `forklore show CHAT --at N` tells what other evidence knows.",
            ),
            PastError::Address(e) => e.into(),
            PastError::History(e) => e.into(),
            PastError::Load(e) => e.into(),
            PastError::Path(e) => e.into(),
        }
    }
}

impl From<EntryError> for Failure {
    fn from(e: EntryError) -> Self {
        let message = e.to_string();
        match e {
            EntryError::NoSuchEntry { like, removed, .. } => {
                let code = ErrorCode::EntryNotFound;
                let failure = match (&like[..], removed) {
                    (_, Some(at)) => {
                        let hint = format!("It was removed at message {at}: look before that.");
                        Self::new(code, message, hint)
                    }
                    ([], None) => Self::typed(
                        code,
                        message,
                        "`forklore blame CHAT` lists the entries with their numbers.",
                    ),
                    (like, None) => Self::new(code, message, format!("Did you mean {}?", quoted(like))),
                };
                failure.with_details(json!({"like": like, "removed": removed}))
            }
            EntryError::Ambiguous { candidates, .. } => {
                let hint = format!("Say which, by its number: {}", candidates.join(", "));
                Self::new(ErrorCode::EntryAmbiguous, message, hint)
                    .with_details(json!({"candidates": candidates}))
            }
        }
    }
}

impl From<BlameError> for Failure {
    fn from(e: BlameError) -> Self {
        let message = e.to_string();
        match e {
            BlameError::NoSuchMessage { messages: 0, .. } => Self::typed(
                ErrorCode::MessageNotFound,
                message,
                "The chat is empty. Run `forklore check` to see whether its file is damaged.",
            ),
            BlameError::NoSuchMessage { messages, .. } => {
                let hint = format!("The last message is {}.", messages - 1);
                Self::new(ErrorCode::MessageNotFound, message, hint)
            }
            BlameError::NoBook(_) => {
                Self::typed(ErrorCode::NoLorebook, message, "`forklore tree` tells which chats have one.")
            }
            BlameError::Entry(e) => e.into(),
            BlameError::State(e) => e.into(),
            BlameError::Path(e) => e.into(),
        }
    }
}

impl From<RestoreError> for Failure {
    fn from(e: RestoreError) -> Self {
        let message = e.to_string();
        let refused = |code, hint: &str| Self::new(code, message.clone(), hint);
        let typed = |code, hint: &str| Self::typed(code, message.clone(), hint);
        match e {
            RestoreError::WhichState(_) => Self::typed(
                ErrorCode::Usage,
                message,
                "Say --at MESSAGE, --when TIME or --observation NUMBER; `forklore history CHAT` tells what there is.",
            ),
            RestoreError::ChatGone(_) => {
                typed(ErrorCode::ChatDeleted, "Bring the chat back first: forklore restore CHAT")
            }
            RestoreError::NoBook(_) => refused(
                ErrorCode::NoLorebook,
                "Bind one to the chat in SillyTavern, or bring a state of the chat back that had one.",
            ),
            RestoreError::Unknown { .. } => typed(
                ErrorCode::StateUnresolvable,
                "`forklore history CHAT --book` tells since when the lorebook is known. `forklore watch` records from now on.",
            ),
            RestoreError::Same(_) => refused(ErrorCode::NothingToRestore, "Nothing was changed."),
            RestoreError::NameTaken(_) => typed(
                ErrorCode::NameTaken,
                "Choose another name with --as. Upper and lower case count as the same.",
            ),
            RestoreError::NoExchange => typed(
                ErrorCode::NoExchange,
                "Bring the state back as a branch instead (without --book and --entry): that changes no file that is there.",
            ),
            RestoreError::CorruptHeader(_) => Self::plain(ErrorCode::CorruptChat, message),
            RestoreError::Entry(e) => e.into(),
            RestoreError::Past(e) => e.into(),
            RestoreError::Fork(ForkError::QueueNotEmpty { count, kinds }) => typed(
                ErrorCode::QueueNotEmpty,
                "Wait until the extension is done, or go on without that work with --ignore-queue.",
            )
            .with_details(json!({"count": count, "types": kinds})),
            RestoreError::Fork(e) => e.into(),
            RestoreError::State(e) => e.into(),
            RestoreError::Tx(e) => e.into(),
            RestoreError::Path(e) => e.into(),
        }
    }
}
