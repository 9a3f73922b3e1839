//! Why something was not changed, or not taken back.

use forklore_engine::fork::ForkError;
use forklore_engine::heal::HealError;
use forklore_engine::rename::RenameError;
use forklore_engine::trash::UntrashError;
use forklore_engine::undo::UndoError;
use forklore_fs::VaultPath;
use forklore_journal::TxError;
use forklore_journal::layout;
use forklore_journal::oplog::FindError;
use serde_json::json;

use super::{ErrorCode, Failure};

impl From<ForkError> for Failure {
    fn from(e: ForkError) -> Self {
        let message = e.to_string();
        let refused = |code, hint: &str| Self::new(code, message.clone(), hint);
        let typed = |code, hint: &str| Self::typed(code, message.clone(), hint);
        match e {
            ForkError::NoSuchMessage { messages: 0, .. } => typed(
                ErrorCode::MessageNotFound,
                "The chat is empty. Run `forklore check` to see whether its file is damaged.",
            ),
            ForkError::NoSuchMessage { messages, .. } => {
                refused(ErrorCode::MessageNotFound, &format!("The last message is {}.", messages - 1))
            }
            ForkError::NoSuchSwipe { swipes: 0, .. } => {
                typed(ErrorCode::SwipeNotFound, "The message has no swipes. Leave out --swipe.")
            }
            ForkError::NoSuchSwipe { swipes, .. } => {
                refused(ErrorCode::SwipeNotFound, &format!("The last swipe is {}.", swipes - 1))
            }
            ForkError::CorruptChat { .. } => Self::plain(ErrorCode::CorruptChat, message),
            ForkError::NotSaved { .. } => {
                refused(ErrorCode::NotSaved, "Save the chat that was forked, for example by opening it, and finish the fork then.")
            }
            ForkError::QueueNotEmpty { count, kinds } => typed(
                ErrorCode::QueueNotEmpty,
                "Wait until the extension is done (--when-ready waits for you), or leave that work to the parent with --ignore-queue.",
            )
            .with_details(json!({"count": count, "types": kinds})),
            ForkError::Unresolvable { .. } => typed(
                ErrorCode::StateUnresolvable,
                "Fork at the last message, or without --strict to get a copy of the lorebook as it is now.",
            ),
            ForkError::Required(warning) => Self::plain(ErrorCode::Required(warning.code), message),
            ForkError::InvalidName { .. } => {
                typed(ErrorCode::InvalidName, "Choose another name; leave out --name for one like SillyTavern's own.")
            }
            ForkError::NameRequired => {
                typed(ErrorCode::InvalidName, "Give one with --name, or set checkpoint.auto_name to true.")
            }
            ForkError::NameTaken(_) => {
                Self::plain(ErrorCode::NameTaken, message)
            }
            ForkError::NotVerified(_) => {
                refused(ErrorCode::NotVerified, "Nothing was changed. Look at the disk: what was written was not read back.")
            }
            ForkError::Address(e) => e.into(),
            ForkError::State(e) => e.into(),
            ForkError::Tx(e) => e.into(),
            ForkError::Path(e) => e.into(),
        }
    }
}

impl From<RenameError> for Failure {
    fn from(e: RenameError) -> Self {
        let message = e.to_string();
        let refused = |code, hint: &str| Self::new(code, message.clone(), hint);
        match e {
            RenameError::CorruptChat { .. } => Self::plain(ErrorCode::CorruptChat, message),
            RenameError::InvalidName { .. } => refused(ErrorCode::InvalidName, "Choose another name."),
            RenameError::NameTaken(_) => Self::plain(ErrorCode::NameTaken, message),
            RenameError::Tx(e) => e.into(),
            RenameError::Path(e) => e.into(),
        }
    }
}

impl From<HealError> for Failure {
    fn from(e: HealError) -> Self {
        let message = e.to_string();
        match e {
            HealError::NoExchange => Self::new(
                ErrorCode::NoExchange,
                message,
                "Copy the vault to a local disk (ext4, btrfs, XFS, APFS), heal it there, and copy it back with SillyTavern stopped.",
            ),
            HealError::CorruptHeader(_) => Self::plain(ErrorCode::CorruptChat, message),
            HealError::State(e) => e.into(),
            HealError::Tx(e) => e.into(),
            HealError::Path(e) => e.into(),
        }
    }
}

impl From<TxError> for Failure {
    fn from(e: TxError) -> Self {
        let message = e.to_string();
        let refused = |code, hint: &str| Self::new(code, message.clone(), hint);
        match e {
            TxError::Busy => Self::plain(ErrorCode::Busy, message),
            TxError::Changed(path) => {
                let book = layout::is_book(&path);
                let code = if book { ErrorCode::BookChanged } else { ErrorCode::ChatChanged };
                let message = format!("{} was saved while Forklore was working", called(&path));
                Self::new(code, message, "Try again. Nothing was changed.")
            }
            TxError::Taken(path) => {
                let message = format!("{} came into being while Forklore was working", called(&path));
                Self::new(ErrorCode::NameTaken, message, "Try again with another name. Nothing was changed.")
            }
            TxError::Damaged(_) => refused(
                ErrorCode::ObjectDamaged,
                "Nothing was changed. The disk, or a tool that syncs it, has spoiled Forklore's copy; look for another one in backups.",
            ),
            TxError::ReadOnly(_) => refused(
                ErrorCode::ReadOnly,
                "Nothing was changed. Give Forklore (and SillyTavern) the right to write there.",
            ),
            TxError::Link(_) => refused(
                ErrorCode::Linked,
                "Nothing was changed. Put the file itself in the link's place: only then can it be moved and come back.",
            ),
            TxError::OtherDevice(_) => refused(
                ErrorCode::OtherDevice,
                "Nothing was changed. Keep the vault's folders on one file system, so that a change can be all or nothing.",
            ),
            TxError::Newer(_) => refused(
                ErrorCode::NewerFormat,
                "Use the newest Forklore on this vault; this one changes nothing here.",
            ),
            TxError::Unfinished { .. } => Self::new(
                ErrorCode::UnfinishedOperation,
                message,
                "It is not lost: the next Forklore command on this vault finishes it. Look at the disk and at permissions first.",
            ),
            TxError::Path(e) => e.into(),
        }
    }
}

/// What people call a file of SillyTavern's.
fn called(path: &VaultPath) -> String {
    let parts: Vec<&str> = path.as_str().split('/').collect();
    match parts[..] {
        ["chats", _, file] => format!("The chat \"{}\"", file.trim_end_matches(".jsonl")),
        ["group chats", file] => format!("The group's chat \"{}\"", file.trim_end_matches(".jsonl")),
        ["worlds", file] => format!("The lorebook \"{}\"", file.trim_end_matches(".json")),
        _ => path.to_string(),
    }
}

impl From<FindError> for Failure {
    fn from(e: FindError) -> Self {
        let message = e.to_string();
        match e {
            FindError::NoSuchOperation(_) => Self::typed(
                ErrorCode::OperationNotFound,
                message,
                "Run `forklore log` to see the operations and their ids.",
            ),
            FindError::Ambiguous(..) => Self::typed(
                ErrorCode::OperationAmbiguous,
                message,
                "Give more of the id. `forklore log` tells it in full.",
            ),
        }
    }
}

impl Failure {
    /// As any [`UndoError`], with the chat that the story went on in.
    pub(crate) fn moved_on(e: &UndoError, chat: Option<&str>) -> Self {
        let name = chat.map_or_else(|| "CHAT".to_owned(), |chat| format!("\"{chat}\""));
        let hint = format!(
            "Nothing was changed. To be rid of it all the same: `forklore delete {name}` moves it to the trash, and nothing is lost."
        );
        let message = match e {
            UndoError::MovedOn { path, why } => format!("{} has gone on since: {why}", called(path)),
            _ => e.to_string(),
        };
        Self::typed(ErrorCode::MovedOn, message, hint).with_details(json!({"chat": chat}))
    }
}

impl From<UndoError> for Failure {
    fn from(e: UndoError) -> Self {
        let message = e.to_string();
        let typed = |code, hint: &str| Self::typed(code, message.clone(), hint);
        match e {
            UndoError::Find(e) => e.into(),
            UndoError::NothingToRedo => {
                typed(ErrorCode::NothingToRedo, "Only what was undone can be done again. `forklore log` tells what that is.")
            }
            UndoError::NothingToUndo => {
                typed(ErrorCode::NothingToUndo, "Forklore has changed nothing here, or all of it is undone already. `forklore log` tells.")
            }
            UndoError::NothingLeft => typed(
                ErrorCode::NothingToUndo,
                "What it made was taken away since. To undo an older operation, name it: `forklore log` tells the ids.",
            ),
            UndoError::Already { by } => {
                typed(ErrorCode::AlreadyUndone, &format!("To do it again: forklore undo {by}"))
                    .with_details(json!({"by": by}))
            }
            UndoError::MovedOn { .. } => Self::moved_on(&e, None),
            UndoError::Taken(path) => Self::typed(
                ErrorCode::NameTaken,
                format!("{} cannot come back: there is one of that name", called(&path)),
                "Nothing was changed. Rename what is there, or bring the file back under another name with `forklore trash restore`.",
            )
            .with_details(json!({"path": path})),
            UndoError::Expired(path) => Self::typed(
                ErrorCode::Expired,
                format!("{} cannot come back: it is no longer in the trash", called(&path)),
                "Nothing was changed. How long things stay there is the setting trash.days.",
            )
            .with_details(json!({"path": path})),
            UndoError::Tx(e) => e.into(),
            UndoError::Path(e) => e.into(),
        }
    }
}

impl From<UntrashError> for Failure {
    fn from(e: UntrashError) -> Self {
        let message = e.to_string();
        match e {
            UntrashError::NotThere(_) => {
                Self::typed(ErrorCode::NotInTrash, message, "Run `forklore trash` to see what is there.")
            }
            UntrashError::Tx(e) => e.into(),
            UntrashError::Path(e) => e.into(),
        }
    }
}
