//! Why the past cannot be told, or not be brought back.

use forklore_engine::blame::{BlameError, EntryError};
use forklore_engine::fork::ForkError;
use forklore_engine::restore::RestoreError as BringError;
use forklore_vault::history::{HistoryError, PastError};
use serde_json::json;

use super::config::config_failure;
use super::{Failure, Kind, capital, quoted};

impl From<HistoryError> for Failure {
    fn from(e: HistoryError) -> Self {
        match e {
            HistoryError::Path(e) => e.into(),
            HistoryError::Config(e) => e.into(),
            e => history_failure(&e),
        }
    }
}

pub(super) fn history_failure(e: &HistoryError) -> Failure {
    let message = capital(&e.to_string());
    let told = |kind, code, hint: &str| Failure::new(kind, code, message.clone(), hint);
    match e {
        HistoryError::Newer { .. } => told(
            Kind::Refused,
            "HISTORY_NEWER",
            "Get the Forklore that wrote it, or a newer one. Chats and lorebooks are not affected.",
        ),
        HistoryError::Elsewhere { .. } => told(
            Kind::Refused,
            "HISTORY_UNREADABLE",
            "Plug the disk in, or set another folder: forklore config history.dir PATH",
        ),
        HistoryError::Foreign { .. } => told(
            Kind::Refused,
            "HISTORY_FOREIGN",
            "Every vault has its own. Move that folder away, or choose another: forklore config history.dir PATH. Chats and lorebooks are not affected.",
        ),
        HistoryError::Moved { dir, .. } => told(
            Kind::Refused,
            "HISTORY_MOVED",
            &format!("If this is the vault that was there: forklore config history.dir \"{dir}\""),
        ),
        HistoryError::Config(e) => config_failure(e),
        HistoryError::Path(_) | HistoryError::Store(_) | HistoryError::Unreadable(_) => told(
            Kind::Io,
            "HISTORY_UNREADABLE",
            "Try again; `forklore check --deep` tells what is wrong. Chats and lorebooks are not affected.",
        ),
    }
}

impl From<PastError> for Failure {
    fn from(e: PastError) -> Self {
        let message = e.to_string();
        let refused = |code, hint: &str| Self::new(Kind::Refused, code, message.clone(), hint);
        match e {
            PastError::NoHistory => refused(
                "NO_HISTORY",
                "Run `forklore watch` while you play, or `forklore watch --once` now and then: from then on there is one.",
            ),
            PastError::NoSuchObservation(_) => {
                refused("OBSERVATION_NOT_FOUND", "`forklore history CHAT` tells the numbers.")
            }
            PastError::NotYet { .. } | PastError::TooEarly { .. } | PastError::NeverSeen(_) => refused(
                "NOT_SEEN",
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
                let hint = match (&like[..], removed) {
                    (_, Some(message)) => {
                        format!("It was removed at message {message}: look before that, with --at.")
                    }
                    ([], None) => "`forklore blame CHAT` lists the entries with their numbers.".to_owned(),
                    (like, None) => format!("Did you mean {}?", quoted(like)),
                };
                Self::new(Kind::Refused, "ENTRY_NOT_FOUND", message, hint)
                    .with_details(json!({"like": like, "removed": removed}))
            }
            EntryError::Ambiguous { candidates, .. } => {
                let hint = format!("Say which, by its number: {}", candidates.join(", "));
                Self::new(Kind::Refused, "ENTRY_AMBIGUOUS", message, hint)
                    .with_details(json!({"candidates": candidates}))
            }
        }
    }
}

impl From<BlameError> for Failure {
    fn from(e: BlameError) -> Self {
        let message = e.to_string();
        match e {
            BlameError::NoSuchMessage { messages: 0, .. } => Self::new(
                Kind::Refused,
                "MESSAGE_NOT_FOUND",
                message,
                "The chat is empty. Run `forklore check` to see whether its file is damaged.",
            ),
            BlameError::NoSuchMessage { messages, .. } => {
                let hint = format!("The last message is {}.", messages - 1);
                Self::new(Kind::Refused, "MESSAGE_NOT_FOUND", message, hint)
            }
            BlameError::NoBook(_) => Self::new(
                Kind::Refused,
                "NO_LOREBOOK",
                message,
                "`forklore tree` tells which chats have one.",
            ),
            BlameError::Entry(e) => e.into(),
            BlameError::State(e) => e.into(),
            BlameError::Path(e) => e.into(),
        }
    }
}

impl From<BringError> for Failure {
    fn from(e: BringError) -> Self {
        let message = e.to_string();
        let refused = |code, hint: &str| Self::new(Kind::Refused, code, message.clone(), hint);
        match e {
            BringError::WhichState(_) => Self::new(
                Kind::Usage,
                "USAGE",
                message,
                "Say --at MESSAGE, --when TIME or --observation NUMBER; `forklore history CHAT` tells what there is.",
            ),
            BringError::ChatGone(_) => {
                refused("CHAT_DELETED", "Bring the chat back first: forklore restore CHAT")
            }
            BringError::NoBook(_) => refused(
                "NO_LOREBOOK",
                "Bind one to the chat in SillyTavern, or bring a state of the chat back that had one.",
            ),
            BringError::Unknown { .. } => refused(
                "STATE_UNRESOLVABLE",
                "`forklore history CHAT --book` tells since when the lorebook is known. `forklore watch` records from now on.",
            ),
            BringError::Same(_) => refused("NOTHING_TO_RESTORE", "Nothing was changed."),
            BringError::NameTaken(_) => refused(
                "NAME_TAKEN",
                "Choose another name with --as. Upper and lower case count as the same.",
            ),
            BringError::NoExchange => refused(
                "NO_EXCHANGE",
                "Bring the state back as a branch instead (without --book and --entry): that changes no file that is there.",
            ),
            BringError::CorruptHeader(_) => refused(
                "CORRUPT_CHAT",
                "Run `forklore check` for what is wrong; SillyTavern keeps copies in the backups folder.",
            ),
            BringError::Entry(e) => e.into(),
            BringError::Past(e) => e.into(),
            BringError::Fork(ForkError::QueueNotEmpty { count, kinds }) => refused(
                "QUEUE_NOT_EMPTY",
                "Wait until the extension is done, or go on without that work with --ignore-queue.",
            )
            .with_details(json!({"count": count, "types": kinds})),
            BringError::Fork(e) => e.into(),
            BringError::State(e) => e.into(),
            BringError::Tx(e) => e.into(),
            BringError::Path(e) => e.into(),
        }
    }
}
