//! [`ErrorCode`]: every code that a failure can have, in one table, with what sort of failure it is, the HTTP status that goes with it, and
//! what to do next wherever the code alone tells that: for who types commands, and for who is at a page, where nobody does.

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
    ($($variant:ident = $name:literal, $kind:ident, $status:literal $(, $hint:literal)? $(=> $to_do:literal)?;)*) => {
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

            /// What to do next at a page, where the hint of a failure names a command.
            pub fn to_do(self) -> Option<&'static str> {
                match self {
                    $($(Self::$variant => Some($to_do),)?)*
                    Self::Required(_) => Some("The settings ask for a finished scene here: choose another message, or let this one fork do without."),
                    _ => None,
                }
            }
        }
    };
}

codes! {
    AlreadyUndone = "ALREADY_UNDONE", Refused, 409
        => "To do it again, take back what undid it: the log has it.";
    BookChanged = "BOOK_CHANGED", Refused, 409;
    Busy = "BUSY", Refused, 409, "Try again in a moment. Nothing was changed.";
    CannotListen = "CANNOT_LISTEN", Refused, 409;
    ChatAmbiguous = "CHAT_AMBIGUOUS", Refused, 409;
    ChatChanged = "CHAT_CHANGED", Refused, 409;
    ChatDeleted = "CHAT_DELETED", Refused, 409
        => "Bring the chat back first.";
    ChatNotFound = "CHAT_NOT_FOUND", Refused, 404
        => "It may have been renamed or deleted meanwhile: look for it in the list of chats.";
    CodeUsed = "CODE_USED", Refused, 401;
    ConfigBadValue = "CONFIG_BAD_VALUE", Refused, 409;
    ConfigInvalid = "CONFIG_INVALID", Refused, 409
        => "The file of settings has to be put right on the machine; moved away, every setting is at its default.";
    ConfigUnclear = "CONFIG_UNCLEAR", Refused, 409;
    ConfigUnknownKey = "CONFIG_UNKNOWN_KEY", Refused, 404
        => "Load the page again: it may be of another version.";
    ConflictNotFound = "CONFLICT_NOT_FOUND", Refused, 404
        => "Load the page again: the question may be answered already.";
    CorruptBook = "CORRUPT_BOOK", Refused, 409;
    CorruptChat = "CORRUPT_CHAT", Refused, 409, "Run `forklore check` for what is wrong; SillyTavern keeps copies in the backups folder."
        => "The file is damaged. SillyTavern keeps copies in the backups folder.";
    EmptyStory = "EMPTY_STORY", Refused, 409;
    EntryAmbiguous = "ENTRY_AMBIGUOUS", Refused, 409;
    EntryNotFound = "ENTRY_NOT_FOUND", Refused, 409
        => "Look for it at another message.";
    Expired = "EXPIRED", Refused, 409
        => "Nothing was changed. How long things stay in the trash is one of the settings.";
    ExportChanged = "EXPORT_CHANGED", Refused, 409;
    ExportDamaged = "EXPORT_DAMAGED", Refused, 409;
    ExportNewer = "EXPORT_NEWER", Refused, 409;
    ExportTooLarge = "EXPORT_TOO_LARGE", Refused, 409;
    FolderTaken = "FOLDER_TAKEN", Refused, 409;
    HistoryForeign = "HISTORY_FOREIGN", Refused, 409
        => "Every vault has its own history; this one needs another folder for it. Chats and lorebooks are not affected.";
    HistoryMoved = "HISTORY_MOVED", Refused, 409
        => "The vault was moved, or copied: on the machine that Forklore runs on it can be told which of both goes on. Chats and lorebooks are not affected.";
    HistoryNewer = "HISTORY_NEWER", Refused, 409;
    HistoryUnreadable = "HISTORY_UNREADABLE", Io, 500
        => "Try again, and look whether the disk that it is on is there. Chats and lorebooks are not affected.";
    InvalidName = "INVALID_NAME", Refused, 409
        => "Choose another name.";
    Io = "IO", Io, 500;
    Linked = "LINKED", Refused, 409;
    MemoryIll = "MEMORY_ILL", Refused, 409
        => "Heal the chat first.";
    MemoryKept = "MEMORY_KEPT", Refused, 409
        => "Take over what the extension has kept, and turn it off for this chat; or leave memory to it.";
    MemoryOff = "MEMORY_OFF", Refused, 409
        => "Turn memory on for this chat first.";
    NotesUnreadable = "NOTES_UNREADABLE", Refused, 409, "Look at the file .forklore/notes.json, or move it away: then there are no notes." => "Look at the file notes.json in the folder .forklore, or move it away: then there are no notes.";
    MessageNotFound = "MESSAGE_NOT_FOUND", Refused, 404
        => "The chat is empty; perhaps its file is damaged. SillyTavern keeps copies in the backups folder.";
    MovedOn = "MOVED_ON", Refused, 409
        => "Nothing was changed. To be rid of it all the same, move the chat to the trash: nothing is lost there.";
    NameTaken = "NAME_TAKEN", Refused, 409, "Choose another name. Upper and lower case count as the same."
        => "Choose another name, or rename what is there. Upper and lower case count as the same.";
    NewerFormat = "NEWER_FORMAT", Refused, 409;
    NothingNew = "NOTHING_NEW", Refused, 409;
    NothingToRedo = "NOTHING_TO_REDO", Refused, 409
        => "Only what was undone can be done again.";
    NothingToRestore = "NOTHING_TO_RESTORE", Refused, 409;
    NothingToUndo = "NOTHING_TO_UNDO", Refused, 409
        => "Forklore has changed nothing here, or it is undone already. The log tells.";
    NotAllowed = "NOT_ALLOWED", Refused, 403
        => "This can be set only on the command line of the machine.";
    NotAnExport = "NOT_AN_EXPORT", Refused, 409;
    NotConfirmed = "NOT_CONFIRMED", Refused, 409
        => "Nothing was changed. Look at what would be, and confirm it.";
    NotInTrash = "NOT_IN_TRASH", Refused, 404
        => "It may have come back already: look into the trash again.";
    NotSaved = "NOT_SAVED", Refused, 409;
    NotSeen = "NOT_SEEN", Refused, 409
        => "Choose a later state: the history of the chat tells what was seen.";
    NotVerified = "NOT_VERIFIED", Refused, 409;
    NoCard = "NO_CARD", Refused, 409;
    NoExchange = "NO_EXCHANGE", Refused, 409
        => "Bring the state back as a branch instead: that changes no file that is there.";
    NoHistory = "NO_HISTORY", Refused, 409
        => "History begins when the story is played with Forklore running.";
    NoLorebook = "NO_LOREBOOK", Refused, 409
        => "Bind one to the chat in SillyTavern.";
    NoParent = "NO_PARENT", Refused, 409
        => "Choose a second chat, or two messages.";
    NoPicture = "NO_PICTURE", Refused, 404;
    NoRoute = "NO_ROUTE", Refused, 404;
    NoSillytavern = "NO_SILLYTAVERN", Refused, 409;
    NoToken = "NO_TOKEN", Refused, 401;
    NoVault = "NO_VAULT", Refused, 409
        => "Name the folder that SillyTavern is in, or the folder of a user in it: the one with \"chats\" and \"worlds\".";
    ObjectDamaged = "OBJECT_DAMAGED", Refused, 409;
    ObservationNotFound = "OBSERVATION_NOT_FOUND", Refused, 409
        => "Choose one from the history of the chat.";
    OperationAmbiguous = "OPERATION_AMBIGUOUS", Refused, 409
        => "Choose it in the log.";
    OperationNotFound = "OPERATION_NOT_FOUND", Refused, 404
        => "Choose it in the log.";
    OtherDevice = "OTHER_DEVICE", Refused, 409;
    OtherKind = "OTHER_KIND", Refused, 409;
    Overloaded = "OVERLOADED", Refused, 503;
    PickNotFound = "PICK_NOT_FOUND", Refused, 404
        => "Load the page again: it is not there any more.";
    QueueNotEmpty = "QUEUE_NOT_EMPTY", Refused, 409
        => "Wait until the extension is done, let Forklore wait for it, or leave that work to the parent.";
    ReadOnly = "READ_ONLY", Refused, 409;
    SillytavernTooOld = "SILLYTAVERN_TOO_OLD", Refused, 409;
    StateUnresolvable = "STATE_UNRESOLVABLE", Refused, 409
        => "Choose a later message, or be content with the lorebook as it is now.";
    StoryNotFound = "STORY_NOT_FOUND", Refused, 404
        => "It may have been renamed or deleted meanwhile: look for it in the list of stories.";
    SwipeNotFound = "SWIPE_NOT_FOUND", Refused, 404
        => "The message has no swipes.";
    TooLarge = "TOO_LARGE", Refused, 413;
    TooMany = "TOO_MANY", Refused, 409;
    TooSlow = "TOO_SLOW", Refused, 408;
    UnfinishedOperation = "UNFINISHED_OPERATION", Io, 500;
    Usage = "USAGE", Usage, 400
        => "Load the page again: it may be of another version.";
    WaitNotFound = "WAIT_NOT_FOUND", Refused, 404;
    WrongHost = "WRONG_HOST", Refused, 403
        => "Use the address that `forklore serve` prints.";
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
