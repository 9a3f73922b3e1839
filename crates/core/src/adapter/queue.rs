//! [`Operation`]: work that waits or runs in an extension's queue; [`Work`]: what such work says that it writes; [`Requeued`]: archived
//! work that is in a queue again.

use crate::format::book::EntryImage;

/// One piece of work in an extension's queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Name of the extension whose work it is
    pub of: &'static str,
    /// Its id
    pub id: String,
    /// What it does, in the extension's words
    pub kind: String,
    /// How far it is
    pub status: Status,
    /// Messages that it refers to
    pub messages: Vec<usize>,
    /// The book that it would write, if it says
    pub book: Option<String>,
    /// How often it was tried again
    pub retries: i64,
    /// What went wrong last
    pub error: Option<String>,
    /// When it was started, in milliseconds since 1970
    pub started: Option<i64>,
}

/// A queue that archived work was put back into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requeued {
    /// The text of the queue entry, in WTF-8
    pub text: Vec<u8>,
    /// What is in it again
    pub taken: Vec<Operation>,
    /// What is about messages that the chat does not have
    pub left: Vec<Operation>,
}

/// How far an operation is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Waits
    Pending,
    /// Runs
    InProgress,
    /// Failed and waits to be tried again
    Retrying,
    /// Over, in the extension's word for it: completed, failed, cancelled
    Over(String),
}

impl Status {
    /// Reads the extension's word.
    pub fn read(text: &str) -> Self {
        match text {
            "pending" => Self::Pending,
            "in_progress" => Self::InProgress,
            "retrying" => Self::Retrying,
            other => Self::Over(other.to_owned()),
        }
    }

    /// The extension's word for it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Retrying => "retrying",
            Self::Over(word) => word,
        }
    }

    /// Whether the work is still to be done.
    pub fn is_open(&self) -> bool {
        !matches!(self, Self::Over(_))
    }
}

/// A piece of work on a scene that is under way: what it writes belongs to the scene, wherever the story is by then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// The message that the scene ends with.
    pub scene: usize,
    /// Number of the entry that it writes, if it says.
    pub uid: Option<i64>,
    /// Number of the entry whose line in a registry it writes.
    pub lists: Option<i64>,
    /// Name of the entry that it makes, if it says.
    pub name: Option<String>,
    /// Whether it can make entries that it does not name.
    pub makes: bool,
}

impl Work {
    /// Whether it says that it writes this entry.
    pub fn names(&self, entry: &EntryImage) -> bool {
        let titled = |name: &str| {
            let (comment, name) = (entry.comment.to_lowercase(), name.to_lowercase());
            !name.is_empty()
                && comment
                    .strip_suffix(name.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.ends_with('-'))
        };
        (self.uid.is_some() && self.uid == entry.uid) || self.name.as_deref().is_some_and(titled)
    }
}
