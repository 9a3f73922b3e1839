//! [`Warning`]: something that a report has to say beside what was asked. Its [`WarningCode`] is stable: programs rely on it. The table
//! of codes tells what to do about it, for who types commands and for who is at a page.

use schemars::JsonSchema;
use serde::Serialize;

/// Something the user should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Warning {
    /// Stable code
    #[schemars(with = "String")]
    pub code: WarningCode,
    /// A sentence
    pub message: String,
    /// What to do about it at a command line; left out if there is nothing
    #[serde(skip_serializing_if = "str::is_empty")]
    pub hint: &'static str,
    /// What to do about it at a page; left out if there is nothing
    #[serde(skip_serializing_if = "str::is_empty")]
    pub to_do: &'static str,
}

impl Warning {
    /// A warning; what to do about it is told by its code.
    pub fn new(code: WarningCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: code.hint(), to_do: code.to_do() }
    }

    /// A name has lost what no file can be called, as SillyTavern takes it off, too; nothing if it is as it was typed.
    pub(crate) fn cleaned(typed: &str, name: &str) -> Option<Self> {
        let message = format!("It is called \"{name}\": no file can be called \"{typed}\"");
        (typed != name).then(|| Self::new(WarningCode::NameCleaned, message))
    }

    /// For who types commands: what it is, and what to do.
    pub fn typed(&self) -> String {
        let message = self.message.trim_end_matches('.');
        if self.hint.is_empty() { format!("{message}.") } else { format!("{message}. {}", self.hint) }
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal $(, typed $hint:literal, shown $to_do:literal)?;)*) => {
        /// What a warning is about.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
        pub enum WarningCode {
            $($(#[doc = $doc])* #[serde(rename = $name)] $variant,)*
        }

        impl WarningCode {
            /// The stable name.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

                fn hint(self) -> &'static str {
                match self {
                    $($(Self::$variant => $hint,)?)*
                    _ => "",
                }
            }

                fn to_do(self) -> &'static str {
                match self {
                    $($(Self::$variant => $to_do,)?)*
                    _ => "",
                }
            }
        }
    };
}

impl std::fmt::Display for WarningCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

codes! {
    /// What an export holds is in the vault already.
    AlreadyHere = "ALREADY_HERE";
    /// The first message that follows answers something that is not there.
    AnswersElse = "ANSWERS_ELSE";
    /// A book is also active globally, for the character or for a persona.
    BookAlsoGlobal = "BOOK_ALSO_GLOBAL";
    /// The book has gone on since the state that a chat comes back in.
    BookChangedSince = "BOOK_CHANGED_SINCE";
    /// The chat's book cannot be read.
    BookDamaged = "BOOK_DAMAGED",
        typed "Mend the file, or give Forklore the right to read it: `forklore check` tells more.",
        shown "Mend the file, or give Forklore the right to read it.";
    /// Others are bound to the book that comes back.
    BookLeftToOthers = "BOOK_LEFT_TO_OTHERS";
    /// The chat's book is not there.
    BookMissing = "BOOK_MISSING";
    /// Others use the book, too.
    BookShared = "BOOK_SHARED",
        typed "Run `forklore heal` first: it gives every chat its own.",
        shown "Heal the story first: then every chat has its own.";
    /// The fork goes on sharing a book.
    BookStaysShared = "BOOK_STAYS_SHARED",
        typed "--copy-book gives it a copy.",
        shown "It can have its own copy, if you ask for one.";
    /// It is the chat that SillyTavern opens.
    CurrentChat = "CURRENT_CHAT";
    /// The book holds another line's story.
    EntryForeign = "ENTRY_FOREIGN",
        typed "Run `forklore heal` first.",
        shown "Heal the chat first.";
    /// The flag of the message led to another checkpoint.
    FlagReplaced = "FLAG_REPLACED";
    /// Forks were made from the chat.
    HasForks = "HAS_FORKS";
    /// The other chat's lorebook holds what is not its own, or lacks what is.
    HealFirst = "HEAL_FIRST",
        typed "`forklore heal CHAT` does it, and `forklore undo` takes it back.",
        shown "Heal it, then come back: nothing is lost by it.";
    /// Images and files do not come along.
    MediaLeft = "MEDIA_LEFT",
        typed "To take them along: --media",
        shown "";
    /// Images and files are gone.
    MediaMissing = "MEDIA_MISSING",
        typed "`forklore config history.media true` keeps such files from then on.",
        shown "Forklore can keep such files from now on: it is one of its settings.";
    /// Images and files have another name now.
    MediaRenamed = "MEDIA_RENAMED";
    /// A name has lost what no file can be called.
    NameCleaned = "NAME_CLEANED";
    /// The story's character is not there.
    NoCard = "NO_CARD";
    /// The story's group is not there.
    NoGroup = "NO_GROUP";
    /// The chat has no book of its own.
    NoLorebook = "NO_LOREBOOK";
    /// A scene is not in the running recap, or there is none.
    NoRunningRecap = "NO_RUNNING_RECAP";
    /// The message does not end a scene.
    NoSceneBreak = "NO_SCENE_BREAK";
    /// The scene has no recap.
    NoSceneRecap = "NO_SCENE_RECAP";
    /// The scene kept no snapshot of the book.
    NoSceneSnapshot = "NO_SCENE_SNAPSHOT";
    /// A chat comes back in a state that was not its last.
    NotTheLast = "NOT_THE_LAST";
    /// Work in the queue stays with the parent.
    QueueIgnored = "QUEUE_IGNORED";
    /// Work that was taken back waits for somebody to let it run.
    QueuePaused = "QUEUE_PAUSED",
        typed "Look at it in the extension's queue, and let it go on there.",
        shown "Look at it in the extension's queue, and let it go on there.";
    /// A registry lists entries that are not there.
    RegistryDangling = "REGISTRY_DANGLING";
    /// Nothing tells the state at this message.
    StateInexact = "STATE_INEXACT";
    /// The state is as of an earlier message.
    StateOlder = "STATE_OLDER";
    /// A group that is gone does not list the chat.
    Unlisted = "UNLISTED";
}
