//! [`Failure`]: what a user is told when something does not work: a stable code, a sentence, and what to do next.
//!
//! Library errors say what was being done; the kind, the exit code and the hint are decided here, in one place.

use std::io;
use std::sync::Arc;

use forklore_archive::ArchiveError;
use forklore_engine::AddressError;
use forklore_engine::config::ConfigError;
use forklore_engine::history::{HistoryError, PastError};
use forklore_engine::oplog::FindError;
use forklore_engine::state_at::StateError;
use forklore_engine::tx::TxError;
use forklore_engine::usecase::blame::{BlameError, EntryError};
use forklore_engine::usecase::diff::DiffError;
use forklore_engine::usecase::export::ExportError;
use forklore_engine::usecase::fork::ForkError;
use forklore_engine::usecase::heal::HealError;
use forklore_engine::usecase::import::ImportError;
use forklore_engine::usecase::rename::RenameError;
use forklore_engine::usecase::restore::RestoreError as BringError;
use forklore_engine::usecase::show::ShowError;
use forklore_engine::usecase::trash::RestoreError;
use forklore_engine::usecase::undo::UndoError;
use forklore_engine::vault::LoadError;
use forklore_fs::PathError;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// What sort of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The call makes no sense.
    Usage,
    /// The vault, or the state of the story, does not allow it.
    Refused,
    /// The system said no.
    Io,
}

impl Kind {
    /// The exit status of a command that fails like this.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Refused | Self::Io => 1,
            Self::Usage => 2,
        }
    }
}

/// A failure, as a user sees it.
#[derive(Debug, Clone)]
pub struct Failure {
    /// What sort of failure it is
    pub kind: Kind,
    /// Stable code
    pub code: &'static str,
    /// What went wrong, as a sentence
    pub message: String,
    /// What to do next
    pub hint: String,
    /// Boxed to keep the error small: it travels through every function.
    details: Box<Value>,
    broken_pipe: bool,
}

/// A failure as other programs read it: what is under `error`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Told {
    /// Stable code; see docs/formats/findings.md
    pub code: &'static str,
    /// What went wrong, as a sentence
    pub message: String,
    /// What to do next; can be empty
    pub hint: String,
    /// Depends on the code
    pub details: Value,
}

impl Failure {
    /// A failure. What went wrong becomes a sentence.
    pub fn new(kind: Kind, code: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            kind,
            code,
            message: sentence(&message.into()),
            hint: hint.into(),
            details: Box::default(),
            broken_pipe: false,
        }
    }

    /// A command line that makes no sense.
    pub fn usage(message: String) -> Self {
        Self::new(Kind::Usage, "USAGE", message, "Run the command with --help to see how it is called.")
    }

    /// The same with what programs can make use of.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        *self.details = details;
        self
    }

    /// Whether nobody reads what is printed any more.
    pub fn is_broken_pipe(&self) -> bool {
        self.broken_pipe
    }

    /// For other programs.
    pub fn told(&self) -> Told {
        let details = (*self.details).clone();
        Told { code: self.code, message: self.message.clone(), hint: self.hint.clone(), details }
    }

    /// The document that is printed, and answered.
    pub fn as_json(&self) -> Value {
        json!({"error": self.told()})
    }
}

/// Errors from the libraries are phrases; people get sentences.
fn sentence(text: &str) -> String {
    let mut text = text.trim_end().to_owned();
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}

impl From<PathError> for Failure {
    fn from(e: PathError) -> Self {
        let inner = e.source.get_ref().and_then(|inner| inner.downcast_ref::<Arc<HistoryError>>());
        if let Some(history) = inner {
            return history_failure(history);
        }
        let hint = if e.source.to_string().contains("leads out of the vault") {
            "Forklore reads nothing outside the vault. Put the folder itself in the link's place."
        } else if e.is_missing() {
            "The vault changed while it was being read. Try again."
        } else {
            "Look at the file's permissions and at the disk. Nothing was changed."
        };
        let path = e.path.to_string();
        Self::new(Kind::Io, "IO", capital(&e.to_string()), hint).with_details(json!({"path": path}))
    }
}

impl From<HistoryError> for Failure {
    fn from(e: HistoryError) -> Self {
        match e {
            HistoryError::Path(e) => e.into(),
            HistoryError::Config(e) => e.into(),
            e => history_failure(&e),
        }
    }
}

fn history_failure(e: &HistoryError) -> Failure {
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

impl From<ArchiveError> for Failure {
    fn from(e: ArchiveError) -> Self {
        let message = capital(&e.to_string());
        let refused = |code, hint: &str| Self::new(Kind::Refused, code, message.clone(), hint);
        match e {
            ArchiveError::Io(e) => e.into(),
            ArchiveError::NotOurs => {
                refused("NOT_AN_EXPORT", "Name a file that `forklore export` has written.")
            }
            ArchiveError::Newer(_) => refused(
                "EXPORT_NEWER",
                "Nothing was imported. Get the Forklore that wrote it, or a newer one.",
            ),
            ArchiveError::Damaged(_) => refused(
                "EXPORT_DAMAGED",
                "Nothing was imported. Get the file again, or export it again where it comes from.",
            ),
            ArchiveError::Bomb(_) => refused(
                "EXPORT_DAMAGED",
                "Nothing was imported. No real story is like that: do not trust whoever made this file.",
            ),
            ArchiveError::TooLarge(_) => refused(
                "EXPORT_TOO_LARGE",
                "A file in an export can have 8 GB. Export the other chats with --line.",
            ),
            ArchiveError::Changed(_) => refused("CHAT_CHANGED", "Nothing was written. Try again."),
        }
    }
}

impl From<ExportError> for Failure {
    fn from(e: ExportError) -> Self {
        let message = capital(&e.to_string());
        let refused = |code, hint: &str| Self::new(Kind::Refused, code, message.clone(), hint);
        match e {
            ExportError::Empty => {
                refused("EMPTY_STORY", "`forklore stories` tells which stories have chats.")
            }
            ExportError::Unreadable { .. } => {
                refused("CORRUPT_CHAT", "Nothing was written. `forklore check` tells more.")
            }
            ExportError::NoCard(_) => refused("NO_CARD", "Leave --with-card out."),
            ExportError::Changed(_) => {
                refused("CHAT_CHANGED", "Nothing was written. Try again when SillyTavern has saved.")
            }
            ExportError::Archive(e) => e.into(),
            ExportError::History(e) => {
                let e = Self::from(e);
                let hint = format!("{} To export without history: --no-history", e.hint);
                Self { hint, ..e }
            }
            ExportError::Path(e) => e.into(),
        }
    }
}

impl From<ImportError> for Failure {
    fn from(e: ImportError) -> Self {
        let message = capital(&e.to_string());
        match e {
            ImportError::Archive(e) => e.into(),
            ImportError::Address(e) => e.into(),
            ImportError::Tx(e) => e.into(),
            ImportError::History(e) => e.into(),
            ImportError::Path(e) => e.into(),
            ImportError::Changed => {
                Self::new(Kind::Refused, "EXPORT_CHANGED", message, "Nothing was imported. Try again.")
            }
            ImportError::OtherKind { .. } => Self::new(
                Kind::Refused,
                "OTHER_KIND",
                message,
                "Leave --into out, or name a story of the same kind: `forklore stories` lists them.",
            ),
        }
    }
}

impl From<LoadError> for Failure {
    fn from(e: LoadError) -> Self {
        match e {
            LoadError::Path(e) => e.into(),
            LoadError::NotAVault => Self::new(
                Kind::Refused,
                "NO_VAULT",
                e.to_string(),
                "Name a SillyTavern user folder, the one with \"chats\" and \"worlds\" in it: --vault .../data/default-user",
            ),
        }
    }
}

impl From<AddressError> for Failure {
    fn from(e: AddressError) -> Self {
        let message = e.to_string();
        match e {
            AddressError::NoSuchChat { like, .. } => {
                let hint = if like.is_empty() {
                    "Run `forklore tree` to see the chats and their names.".to_owned()
                } else {
                    format!("Did you mean {}?", quoted(&like))
                };
                Self::new(Kind::Refused, "CHAT_NOT_FOUND", message, hint).with_details(json!({"like": like}))
            }
            AddressError::Ambiguous { candidates, .. } => {
                let hint = format!("Say which: {}", quoted(&candidates));
                Self::new(Kind::Refused, "CHAT_AMBIGUOUS", message, hint)
                    .with_details(json!({"candidates": candidates}))
            }
            AddressError::NoSuchStory { like, .. } => {
                let hint = if like.is_empty() {
                    "Run `forklore stories` to see what there is.".to_owned()
                } else {
                    format!("There is {}.", quoted(&like))
                };
                Self::new(Kind::Refused, "STORY_NOT_FOUND", message, hint).with_details(json!({"like": like}))
            }
        }
    }
}

impl From<ShowError> for Failure {
    fn from(e: ShowError) -> Self {
        let message = e.to_string();
        match e {
            ShowError::NoSuchMessage { messages: 0, .. } => Self::new(
                Kind::Refused,
                "MESSAGE_NOT_FOUND",
                message,
                "The chat is empty. Run `forklore check` to see whether its file is damaged.",
            ),
            ShowError::NoSuchMessage { messages, .. } => {
                let hint = format!("The last message is {}.", messages - 1);
                Self::new(Kind::Refused, "MESSAGE_NOT_FOUND", message, hint)
            }
            ShowError::CorruptChat { .. } => {
                let hint =
                    "Run `forklore check` for what is wrong; SillyTavern keeps copies in the backups folder.";
                Self::new(Kind::Refused, "CORRUPT_CHAT", message, hint)
            }
            ShowError::State(e) => e.into(),
            ShowError::Path(e) => e.into(),
        }
    }
}

impl From<DiffError> for Failure {
    fn from(e: DiffError) -> Self {
        let message = e.to_string();
        match e {
            DiffError::NoParent { .. } | DiffError::ParentGone { .. } => Self::new(
                Kind::Refused,
                "NO_PARENT",
                message,
                "Name a second chat, or two messages: forklore diff CHAT --at 20 --at 60",
            ),
            DiffError::Show(e) => e.into(),
        }
    }
}

impl From<ForkError> for Failure {
    fn from(e: ForkError) -> Self {
        let message = e.to_string();
        let refused = |code, hint: &str| Self::new(Kind::Refused, code, message.clone(), hint);
        match e {
            ForkError::NoSuchMessage { messages: 0, .. } => refused(
                "MESSAGE_NOT_FOUND",
                "The chat is empty. Run `forklore check` to see whether its file is damaged.",
            ),
            ForkError::NoSuchMessage { messages, .. } => {
                refused("MESSAGE_NOT_FOUND", &format!("The last message is {}.", messages - 1))
            }
            ForkError::NoSuchSwipe { swipes: 0, .. } => {
                refused("SWIPE_NOT_FOUND", "The message has no swipes. Leave out --swipe.")
            }
            ForkError::NoSuchSwipe { swipes, .. } => {
                refused("SWIPE_NOT_FOUND", &format!("The last swipe is {}.", swipes - 1))
            }
            ForkError::CorruptChat { .. } => refused(
                "CORRUPT_CHAT",
                "Run `forklore check` for what is wrong; SillyTavern keeps copies in the backups folder.",
            ),
            ForkError::NotSaved { .. } => {
                refused("NOT_SAVED", "Save the chat that was forked, for example by opening it, and finish the fork then.")
            }
            ForkError::QueueNotEmpty { count, kinds } => refused(
                "QUEUE_NOT_EMPTY",
                "Wait until the extension is done (--when-ready waits for you), or leave that work to the parent with --ignore-queue.",
            )
            .with_details(json!({"count": count, "types": kinds})),
            ForkError::Unresolvable { .. } => refused(
                "STATE_UNRESOLVABLE",
                "Fork at the last message, or without --strict to get a copy of the lorebook as it is now.",
            ),
            ForkError::Required(warning) => refused(
                warning.code,
                "Strict forks need a finished scene here: choose another message (`forklore show` tells the scenes), or leave --strict and require_scene_break off.",
            ),
            ForkError::InvalidName { .. } => {
                refused("INVALID_NAME", "Choose another name; leave out --name for one like SillyTavern's own.")
            }
            ForkError::NameRequired => {
                refused("INVALID_NAME", "Give one with --name, or set checkpoint.auto_name to true.")
            }
            ForkError::NameTaken(_) => {
                refused("NAME_TAKEN", "Choose another name. Upper and lower case count as the same.")
            }
            ForkError::NotVerified(_) => {
                refused("NOT_VERIFIED", "Nothing was changed. Look at the disk: what was written was not read back.")
            }
            ForkError::Address(e) => e.into(),
            ForkError::State(e) => e.into(),
            ForkError::Tx(e) => e.into(),
            ForkError::Path(e) => e.into(),
        }
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

impl From<RenameError> for Failure {
    fn from(e: RenameError) -> Self {
        let message = e.to_string();
        let refused = |code, hint: &str| Self::new(Kind::Refused, code, message.clone(), hint);
        match e {
            RenameError::CorruptChat { .. } => refused(
                "CORRUPT_CHAT",
                "Run `forklore check` for what is wrong; SillyTavern keeps copies in the backups folder.",
            ),
            RenameError::InvalidName { .. } => refused("INVALID_NAME", "Choose another name."),
            RenameError::NameTaken(_) => {
                refused("NAME_TAKEN", "Choose another name. Upper and lower case count as the same.")
            }
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
                Kind::Refused,
                "NO_EXCHANGE",
                message,
                "Copy the vault to a local disk (ext4, btrfs, XFS, APFS), heal it there, and copy it back with SillyTavern stopped.",
            ),
            HealError::CorruptHeader(_) => Self::new(
                Kind::Refused,
                "CORRUPT_CHAT",
                message,
                "Run `forklore check` for what is wrong; SillyTavern keeps copies in the backups folder.",
            ),
            HealError::State(e) => e.into(),
            HealError::Tx(e) => e.into(),
            HealError::Path(e) => e.into(),
        }
    }
}

impl From<TxError> for Failure {
    fn from(e: TxError) -> Self {
        let message = e.to_string();
        let refused = |code, hint: &str| Self::new(Kind::Refused, code, message.clone(), hint);
        match e {
            TxError::Busy => refused("BUSY", "Try again in a moment. Nothing was changed."),
            TxError::Changed(path) if path.as_str().starts_with("worlds") => {
                refused("BOOK_CHANGED", "Try again. Nothing was changed.")
            }
            TxError::Changed(_) => refused("CHAT_CHANGED", "Try again. Nothing was changed."),
            TxError::Taken(_) => refused("NAME_TAKEN", "Try again with another name. Nothing was changed."),
            TxError::Damaged(_) => refused(
                "OBJECT_DAMAGED",
                "Nothing was changed. The disk, or a tool that syncs it, has spoiled Forklore's copy; look for another one in backups.",
            ),
            TxError::ReadOnly(_) => refused(
                "READ_ONLY",
                "Nothing was changed. Give Forklore (and SillyTavern) the right to write there.",
            ),
            TxError::Link(_) => refused(
                "LINKED",
                "Nothing was changed. Put the file itself in the link's place: only then can it be moved and come back.",
            ),
            TxError::OtherDevice(_) => refused(
                "OTHER_DEVICE",
                "Nothing was changed. Keep the vault's folders on one file system, so that a change can be all or nothing.",
            ),
            TxError::Newer(_) => refused(
                "NEWER_FORMAT",
                "Use the newest Forklore on this vault; this one changes nothing here.",
            ),
            TxError::Unfinished { .. } => Self::new(
                Kind::Io,
                "UNFINISHED_OPERATION",
                message,
                "It is not lost: the next Forklore command on this vault finishes it. Look at the disk and at permissions first.",
            ),
            TxError::Path(e) => e.into(),
        }
    }
}

impl From<FindError> for Failure {
    fn from(e: FindError) -> Self {
        let message = e.to_string();
        match e {
            FindError::NoSuchOperation(_) => Self::new(
                Kind::Refused,
                "OPERATION_NOT_FOUND",
                message,
                "Run `forklore log` to see the operations and their ids.",
            ),
            FindError::Ambiguous(..) => Self::new(
                Kind::Refused,
                "OPERATION_AMBIGUOUS",
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
        Self::new(Kind::Refused, "MOVED_ON", e.to_string(), hint).with_details(json!({"chat": chat}))
    }
}

impl From<UndoError> for Failure {
    fn from(e: UndoError) -> Self {
        let message = e.to_string();
        let refused = |code, hint: &str| Self::new(Kind::Refused, code, message.clone(), hint);
        match e {
            UndoError::Find(e) => e.into(),
            UndoError::Nothing("redo") => {
                refused("NOTHING_TO_REDO", "Only what was undone can be done again. `forklore log` tells what that is.")
            }
            UndoError::Nothing(_) => {
                refused("NOTHING_TO_UNDO", "Forklore has changed nothing here, or all of it is undone already. `forklore log` tells.")
            }
            UndoError::NothingLeft => refused(
                "NOTHING_TO_UNDO",
                "What it made was taken away since. To undo an older operation, name it: `forklore log` tells the ids.",
            ),
            UndoError::Already { by } => {
                refused("ALREADY_UNDONE", &format!("To do it again: forklore undo {by}"))
                    .with_details(json!({"by": by}))
            }
            UndoError::MovedOn { .. } => Self::moved_on(&e, None),
            UndoError::Taken(path) => refused(
                "NAME_TAKEN",
                "Nothing was changed. Rename what is there, or bring the file back under another name with `forklore trash restore`.",
            )
            .with_details(json!({"path": path})),
            UndoError::Expired(path) => {
                refused("EXPIRED", "Nothing was changed. How long things stay there is the setting trash.days.")
                    .with_details(json!({"path": path}))
            }
            UndoError::Tx(e) => e.into(),
            UndoError::Path(e) => e.into(),
        }
    }
}

impl From<RestoreError> for Failure {
    fn from(e: RestoreError) -> Self {
        let message = e.to_string();
        match e {
            RestoreError::NotThere(_) => Self::new(
                Kind::Refused,
                "NOT_IN_TRASH",
                message,
                "Run `forklore trash` to see what is there.",
            ),
            RestoreError::Tx(e) => e.into(),
            RestoreError::Path(e) => e.into(),
        }
    }
}

impl From<StateError> for Failure {
    fn from(e: StateError) -> Self {
        let message = e.to_string();
        match e {
            StateError::CorruptBook { .. } => {
                let hint = "Mend the file in a text editor, or put a copy in its place. Forklore has changed nothing.";
                Self::new(Kind::Refused, "CORRUPT_BOOK", message, hint)
            }
            StateError::Path(e) => e.into(),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(e: ConfigError) -> Self {
        match e {
            ConfigError::Path(e) => e.into(),
            e => config_failure(&e),
        }
    }
}

fn config_failure(e: &ConfigError) -> Failure {
    let message = capital(&e.to_string());
    let refused = |code, hint: String| Failure::new(Kind::Refused, code, message.clone(), hint);
    let mend = "Mend the line in a text editor, or move the file away: then every setting is at its default.";
    match e {
        ConfigError::Path(_) => {
            Failure::new(Kind::Io, "IO", message.clone(), "Look at the file's permissions and at the disk.")
        }
        ConfigError::Syntax { line, .. } => {
            refused("CONFIG_INVALID", mend.to_owned()).with_details(json!({"line": line}))
        }
        ConfigError::UnknownInFile { line, key, like } => {
            let hint =
                like.map_or_else(|| mend.to_owned(), |like| format!("Did you mean \"{like}\"? {mend}"));
            refused("CONFIG_INVALID", hint).with_details(json!({"line": line, "key": key, "like": like}))
        }
        ConfigError::OwnersInFile { line, key, value } => {
            let value = value.as_deref().unwrap_or_default();
            let hint = format!(
                "If you set it yourself: forklore config {key} \"{value}\". If the vault comes from somebody else: forklore config {key} --unset"
            );
            refused("CONFIG_INVALID", hint).with_details(json!({"line": line, "key": key}))
        }
        ConfigError::OwnersOnly { key } => {
            let hint = format!("Set it on the command line of the machine: forklore config {key} PATH");
            refused("NOT_ALLOWED", hint).with_details(json!({"key": key}))
        }
        ConfigError::Owners { .. } => {
            let hint = "Mend the file in a text editor, or move it away.";
            refused("CONFIG_INVALID", hint.to_owned())
        }
        ConfigError::NoHome => {
            refused("CONFIG_INVALID", "Set HOME, or XDG_CONFIG_HOME, to a folder of yours.".to_owned())
        }
        ConfigError::BadInFile { line, key, .. } => {
            let hint = format!("Put it right: forklore config {key} VALUE, or forklore config {key} --unset");
            refused("CONFIG_INVALID", hint).with_details(json!({"line": line, "key": key}))
        }
        ConfigError::UnknownKey { key, like } => {
            let hint = match like {
                Some(like) => format!("Did you mean \"{like}\"?"),
                None => "Run `forklore config` to see all settings.".to_owned(),
            };
            refused("CONFIG_UNKNOWN_KEY", hint).with_details(json!({"key": key, "like": like}))
        }
        ConfigError::BadValue { key, allowed, .. } | ConfigError::NotAList { key, allowed } => {
            refused("CONFIG_BAD_VALUE", format!("It can be {allowed}."))
                .with_details(json!({"key": key, "allowed": allowed}))
        }
        ConfigError::NotListed { key, names, .. } => {
            let hint = match &names[..] {
                [] => "The list is empty.".to_owned(),
                _ => format!("There is {}.", quoted(names)),
            };
            refused("CONFIG_BAD_VALUE", hint).with_details(json!({"key": key, "names": names}))
        }
    }
}

impl From<io::Error> for Failure {
    fn from(e: io::Error) -> Self {
        let broken_pipe = e.kind() == io::ErrorKind::BrokenPipe;
        let error =
            Self::new(Kind::Io, "IO", capital(&e.to_string()), "Look at the disk and at permissions.");
        Self { broken_pipe, ..error }
    }
}

/// A phrase with a capital letter.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}
