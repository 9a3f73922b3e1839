//! [`ErrorCode`]: every code that a failure can have, in one table, with what sort of failure it is, the HTTP status that goes with it, and
//! what to do next wherever the code alone tells that.

use std::fmt;

use forklore_engine::warning::WarningCode;
use serde::{Serialize, Serializer};

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

macro_rules! codes {
    ($($variant:ident = $name:literal, $kind:ident, $status:literal $(, $hint:literal)?;)*) => {
        /// What went wrong, as programs know it. Codes are stable: docs/formats/findings.md lists them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs, reason = "docs/formats/findings.md tells what each is, and a test holds it to that")]
        pub enum ErrorCode {
            $($variant,)*
            /// What would be a warning is required here.
            Required(WarningCode),
        }

        impl ErrorCode {
            /// The stable name.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Required(warning) => warning.as_str(),
                }
            }

            /// What sort of failure it is.
            pub fn kind(self) -> Kind {
                match self {
                    $(Self::$variant => Kind::$kind,)*
                    Self::Required(_) => Kind::Refused,
                }
            }

            /// The HTTP status that goes with it.
            pub fn status(self) -> u16 {
                match self {
                    $(Self::$variant => $status,)*
                    Self::Required(_) => 409,
                }
            }

            /// What to do next, where the code alone tells it.
            pub fn hint(self) -> &'static str {
                match self {
                    $($(Self::$variant => $hint,)?)*
                    Self::Required(_) => "Strict forks need a finished scene here: choose another message (`forklore show` tells the scenes), or leave --strict and require_scene_break off.",
                    _ => "",
                }
            }
        }
    };
}

codes! {
    AlreadyUndone = "ALREADY_UNDONE", Refused, 409;
    BookChanged = "BOOK_CHANGED", Refused, 409;
    Busy = "BUSY", Refused, 409, "Try again in a moment. Nothing was changed.";
    CannotListen = "CANNOT_LISTEN", Refused, 409;
    ChatAmbiguous = "CHAT_AMBIGUOUS", Refused, 409;
    ChatChanged = "CHAT_CHANGED", Refused, 409;
    ChatDeleted = "CHAT_DELETED", Refused, 409;
    ChatNotFound = "CHAT_NOT_FOUND", Refused, 404;
    CodeUsed = "CODE_USED", Refused, 401;
    ConfigBadValue = "CONFIG_BAD_VALUE", Refused, 409;
    ConfigInvalid = "CONFIG_INVALID", Refused, 409;
    ConfigUnclear = "CONFIG_UNCLEAR", Refused, 409;
    ConfigUnknownKey = "CONFIG_UNKNOWN_KEY", Refused, 404;
    ConflictNotFound = "CONFLICT_NOT_FOUND", Refused, 404;
    CorruptBook = "CORRUPT_BOOK", Refused, 409;
    CorruptChat = "CORRUPT_CHAT", Refused, 409, "Run `forklore check` for what is wrong; SillyTavern keeps copies in the backups folder.";
    EmptyStory = "EMPTY_STORY", Refused, 409;
    EntryAmbiguous = "ENTRY_AMBIGUOUS", Refused, 409;
    EntryNotFound = "ENTRY_NOT_FOUND", Refused, 409;
    Expired = "EXPIRED", Refused, 409;
    ExportChanged = "EXPORT_CHANGED", Refused, 409;
    ExportDamaged = "EXPORT_DAMAGED", Refused, 409;
    ExportNewer = "EXPORT_NEWER", Refused, 409;
    ExportTooLarge = "EXPORT_TOO_LARGE", Refused, 409;
    FolderTaken = "FOLDER_TAKEN", Refused, 409;
    HistoryForeign = "HISTORY_FOREIGN", Refused, 409;
    HistoryMoved = "HISTORY_MOVED", Refused, 409;
    HistoryNewer = "HISTORY_NEWER", Refused, 409;
    HistoryUnreadable = "HISTORY_UNREADABLE", Io, 500;
    InvalidName = "INVALID_NAME", Refused, 409;
    Io = "IO", Io, 500;
    Linked = "LINKED", Refused, 409;
    MessageNotFound = "MESSAGE_NOT_FOUND", Refused, 404;
    MovedOn = "MOVED_ON", Refused, 409;
    NameTaken = "NAME_TAKEN", Refused, 409, "Choose another name. Upper and lower case count as the same.";
    NewerFormat = "NEWER_FORMAT", Refused, 409;
    NothingToRedo = "NOTHING_TO_REDO", Refused, 409;
    NothingToRestore = "NOTHING_TO_RESTORE", Refused, 409;
    NothingToUndo = "NOTHING_TO_UNDO", Refused, 409;
    NotAllowed = "NOT_ALLOWED", Refused, 403;
    NotAnExport = "NOT_AN_EXPORT", Refused, 409;
    NotConfirmed = "NOT_CONFIRMED", Refused, 409;
    NotInTrash = "NOT_IN_TRASH", Refused, 404;
    NotSaved = "NOT_SAVED", Refused, 409;
    NotSeen = "NOT_SEEN", Refused, 409;
    NotVerified = "NOT_VERIFIED", Refused, 409;
    NoCard = "NO_CARD", Refused, 409;
    NoExchange = "NO_EXCHANGE", Refused, 409;
    NoHistory = "NO_HISTORY", Refused, 409;
    NoLorebook = "NO_LOREBOOK", Refused, 409;
    NoParent = "NO_PARENT", Refused, 409;
    NoPicture = "NO_PICTURE", Refused, 404;
    NoRoute = "NO_ROUTE", Refused, 404;
    NoSillytavern = "NO_SILLYTAVERN", Refused, 409;
    NoToken = "NO_TOKEN", Refused, 401;
    NoVault = "NO_VAULT", Refused, 409;
    ObjectDamaged = "OBJECT_DAMAGED", Refused, 409;
    ObservationNotFound = "OBSERVATION_NOT_FOUND", Refused, 409;
    OperationAmbiguous = "OPERATION_AMBIGUOUS", Refused, 409;
    OperationNotFound = "OPERATION_NOT_FOUND", Refused, 404;
    OtherDevice = "OTHER_DEVICE", Refused, 409;
    OtherKind = "OTHER_KIND", Refused, 409;
    Overloaded = "OVERLOADED", Refused, 503;
    QueueNotEmpty = "QUEUE_NOT_EMPTY", Refused, 409;
    ReadOnly = "READ_ONLY", Refused, 409;
    SillytavernTooOld = "SILLYTAVERN_TOO_OLD", Refused, 409;
    StateUnresolvable = "STATE_UNRESOLVABLE", Refused, 409;
    StoryNotFound = "STORY_NOT_FOUND", Refused, 404;
    SwipeNotFound = "SWIPE_NOT_FOUND", Refused, 404;
    TooLarge = "TOO_LARGE", Refused, 413;
    TooMany = "TOO_MANY", Refused, 409;
    TooSlow = "TOO_SLOW", Refused, 408;
    UnfinishedOperation = "UNFINISHED_OPERATION", Io, 500;
    Usage = "USAGE", Usage, 400;
    WaitNotFound = "WAIT_NOT_FOUND", Refused, 404;
    WrongHost = "WRONG_HOST", Refused, 403;
    WrongMethod = "WRONG_METHOD", Usage, 405;
    WrongOrigin = "WRONG_ORIGIN", Refused, 403;
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
