//! [`Act`]: one small thing that happens in a story. A story is a list of them, and says what happened to whoever reads it.
//!
//! An act names chats by letters and entries by titles, and counts messages from the end: one that refers to nothing does nothing,
//! so any act can be left out of a story and the rest is still one.

use std::fmt;

/// Something that happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Messages are written, by turns
    Say {
        /// Where
        chat: char,
        /// How many
        messages: usize,
    },
    /// Another answer is asked for: the last message gets a swipe
    Swipe {
        /// Where
        chat: char,
    },
    /// Auto-Recap processes the scene that ends at a message
    Scene {
        /// Where
        chat: char,
        /// How many messages before the last one it ends
        back: usize,
        /// Titles of entries that it makes
        makes: Vec<String>,
        /// Titles of entries that it finds by number and adds a line to
        adds: Vec<String>,
        /// Titles of entries that it finds by name and adds a line to
        finds: Vec<String>,
        /// Titles of entries that it finds by name and whose whole text it writes anew, as a model merges
        merges: Vec<String>,
        /// An entry that gets another title
        renames: Option<(String, String)>,
        /// Name of an event, which is written when the snapshot is already taken
        event: Option<String>,
    },
    /// Auto-Recap processes its last scene once more
    Again {
        /// Where
        chat: char,
        /// Titles of entries that it adds a line to
        finds: Vec<String>,
    },
    /// MemoryBooks makes a memory
    Memory {
        /// Where
        chat: char,
        /// How many messages before the last one it ends
        back: usize,
        /// Its title, without number
        title: String,
    },
    /// MemoryBooks writes a side prompt anew
    SidePrompt {
        /// Where
        chat: char,
        /// How many messages before the last one its scene ends
        back: usize,
        /// Its name
        title: String,
    },
    /// MemoryBooks makes one entry of the oldest memories that are on, and switches them off
    Arc {
        /// Where
        chat: char,
        /// How many
        sources: usize,
        /// Its title, without number
        title: String,
    },
    /// Somebody changes the book in the World Info panel
    Hand {
        /// The chat that is open
        chat: char,
        /// What they do
        does: Hand,
    },
    /// A fork is made
    Fork {
        /// Of which chat
        chat: char,
        /// What it is called from now on
        new: char,
        /// How many messages before the last one
        back: usize,
        /// By which way
        by: Way,
    },
    /// A chat gets another name
    RenameChat {
        /// Which
        chat: char,
    },
    /// The book of a chat gets another name
    RenameBook {
        /// The chat that is open
        chat: char,
    },
    /// A chat is deleted
    DeleteChat {
        /// Which
        chat: char,
        /// Whether the extension deletes its book with it
        book: bool,
    },
    /// An old message gets other words
    EditMessage {
        /// Where
        chat: char,
        /// How many messages before the last one
        back: usize,
    },
    /// An old message is deleted
    DeleteMessage {
        /// Where
        chat: char,
        /// How many messages before the last one
        back: usize,
    },
    /// The last messages are deleted, and the story goes on from there
    GoBack {
        /// Where
        chat: char,
        /// How many messages
        messages: usize,
    },
    /// SillyTavern makes a backup of a chat
    Backup {
        /// Which
        chat: char,
    },
    /// SillyTavern makes room: the oldest backup goes
    Prune {
        /// The chat that is open
        chat: char,
    },
    /// Forklore looks
    Look,
    /// Forklore looks, and from now on at every save
    Watch,
    /// Forklore is closed: it does not look at saves any more
    Unwatch,
}

/// What is done by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hand {
    /// A new entry
    Add(String),
    /// A line more
    Extend(String),
    /// Another text for its first line
    Reword(String),
    /// Another title
    Rename(String, String),
    /// Off, or on again
    Switch(String),
    /// Another place in the prompt
    Order(String),
    /// Gone
    Delete(String),
}

/// How a fork is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The message's branch button, which extensions listen to
    Button,
    /// A slash command, which they do not
    Slash,
    /// The swipe picker: the last message is another one
    Swipe,
    /// A checkpoint, by slash command: it gets a name, and whoever makes it stays where he is
    Checkpoint,
    /// The file is brought in again: another chat with the same first line
    Import,
}

impl Act {
    /// The chat that it is about.
    pub fn chat(&self) -> Option<char> {
        match self {
            Self::Look | Self::Watch | Self::Unwatch => None,
            Self::Say { chat, .. }
            | Self::Swipe { chat }
            | Self::Scene { chat, .. }
            | Self::Again { chat, .. }
            | Self::Memory { chat, .. }
            | Self::SidePrompt { chat, .. }
            | Self::Arc { chat, .. }
            | Self::Hand { chat, .. }
            | Self::Fork { chat, .. }
            | Self::RenameChat { chat }
            | Self::RenameBook { chat }
            | Self::DeleteChat { chat, .. }
            | Self::EditMessage { chat, .. }
            | Self::DeleteMessage { chat, .. }
            | Self::GoBack { chat, .. }
            | Self::Backup { chat }
            | Self::Prune { chat } => Some(*chat),
        }
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Say { chat, messages } => write!(f, "{chat} says {messages}"),
            Self::Swipe { chat } => write!(f, "{chat} swipes"),
            Self::Scene { chat, back, makes, adds, finds, merges, renames, event } => {
                write!(f, "{chat} scene {back} back")?;
                for (word, titles) in
                    [("makes", makes), ("adds to", adds), ("finds", finds), ("merges", merges)]
                {
                    if !titles.is_empty() {
                        write!(f, "; {word} {}", titles.join(", "))?;
                    }
                }
                if let Some((from, to)) = renames {
                    write!(f, "; renames {from} to {to}")?;
                }
                event.as_ref().map_or(Ok(()), |event| write!(f, "; event {event}"))
            }
            Self::Again { chat, finds } => write!(f, "{chat} scene again; finds {}", finds.join(", ")),
            Self::Memory { chat, back, title } => write!(f, "{chat} memory {title}, {back} back"),
            Self::SidePrompt { chat, back, title } => write!(f, "{chat} side prompt {title}, {back} back"),
            Self::Arc { chat, sources, title } => write!(f, "{chat} arc {title} of {sources} memories"),
            Self::Hand { chat, does } => match does {
                Hand::Add(title) => write!(f, "{chat} by hand: new {title}"),
                Hand::Extend(title) => write!(f, "{chat} by hand: a line for {title}"),
                Hand::Reword(title) => write!(f, "{chat} by hand: other words in {title}"),
                Hand::Rename(from, to) => write!(f, "{chat} by hand: {from} is now {to}"),
                Hand::Switch(title) => write!(f, "{chat} by hand: switches {title}"),
                Hand::Order(title) => write!(f, "{chat} by hand: moves {title}"),
                Hand::Delete(title) => write!(f, "{chat} by hand: deletes {title}"),
            },
            Self::Fork { chat, new, back, by } => {
                let by = match by {
                    Way::Button => "button",
                    Way::Slash => "slash",
                    Way::Swipe => "swipe",
                    Way::Checkpoint => "checkpoint",
                    Way::Import => "import",
                };
                write!(f, "{new} = fork of {chat}, {back} back, by {by}")
            }
            Self::RenameChat { chat } => write!(f, "{chat} gets another name"),
            Self::RenameBook { chat } => write!(f, "{chat}'s book gets another name"),
            Self::DeleteChat { chat, book: true } => write!(f, "{chat} is deleted, with its book"),
            Self::DeleteChat { chat, book: false } => write!(f, "{chat} is deleted"),
            Self::EditMessage { chat, back } => write!(f, "{chat} edits the message {back} back"),
            Self::DeleteMessage { chat, back } => write!(f, "{chat} deletes the message {back} back"),
            Self::GoBack { chat, messages } => write!(f, "{chat} deletes the last {messages}"),
            Self::Backup { chat } => write!(f, "backup of {chat}"),
            Self::Prune { .. } => write!(f, "the oldest backup goes"),
            Self::Look => write!(f, "Forklore looks"),
            Self::Watch => write!(f, "Forklore watches from now on"),
            Self::Unwatch => write!(f, "Forklore watches no more"),
        }
    }
}
