//! What is still to be done: forks that wait for their book, and links that an open page has saved over.

use forklore_core::format::record::Pending;
use forklore_fs::PathError;
use forklore_journal as journal;
use forklore_journal::operation::{Edit, Json, JsonChange, Kind, Operation, Place};
use forklore_journal::oplog::{OpLog, time};
use forklore_journal::{Would, layout};
use forklore_vault::{ChatIx, Library};
use schemars::JsonSchema;
use serde::Serialize;

use super::finder::finder;

/// What is still to be done.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PendingReport {
    /// Forks that wait for their book
    pub forks: Vec<PendingFork>,
    /// Links and lists that are not there any more
    pub edits: Vec<PendingEdit>,
}

/// A fork that waits for its book.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PendingFork {
    /// Its address
    pub chat: String,
    /// Why: the code of an error
    pub code: String,
    /// The same for people
    pub message: String,
    /// When it was saved, as RFC 3339
    pub since: String,
    /// The book that its parent was bound to
    pub book: Option<String>,
}

/// A link or list that Forklore set and that is not there any more.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PendingEdit {
    /// The operation that set it
    pub operation: String,
    /// Address of the fork that it is about
    pub chat: Option<String>,
    /// The file
    pub file: String,
    /// The message in it, for a link
    pub message: Option<usize>,
    /// What is to be changed
    pub changes: Vec<PendingChange>,
}

impl PendingEdit {
    /// An edit as a page makes it that has the file in memory.
    pub(crate) fn of(library: &Library, operation: &str, chat: Option<String>, edit: &Edit) -> Self {
        Self {
            operation: operation.to_owned(),
            chat,
            file: edit.target.as_str().to_owned(),
            message: message(library, edit),
            changes: edit.changes.iter().map(change).collect(),
        }
    }
}

/// One change, below the message, the header's line, the group or the settings.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PendingChange {
    /// A value is set
    Set {
        /// Keys that lead there
        path: Vec<String>,
        /// The value
        #[schemars(with = "serde_json::Value")]
        set: Json,
    },
    /// A value goes
    Remove {
        /// Keys that lead there
        path: Vec<String>,
        /// Always true
        remove: bool,
    },
    /// A text joins a list
    Include {
        /// Keys that lead to the list
        path: Vec<String>,
        /// The text
        include: String,
    },
    /// A text leaves a list
    Exclude {
        /// Keys that lead to the list
        path: Vec<String>,
        /// The text
        exclude: String,
    },
}

/// The fork that chat `c` is, if it waits for its book.
pub fn pending_fork(library: &Library, c: ChatIx) -> Option<PendingFork> {
    let pending = Pending::read(library.chat(c).header().metadata())?;
    Some(PendingFork {
        chat: library.address(c).to_string(),
        code: pending.code,
        message: pending.message,
        since: time(pending.since),
        book: pending.book,
    })
}

/// Everything that is still to be done; of chat `only` alone if it is given: its own book, and links in its own file.
pub fn pending(library: &Library, log: &OpLog, only: Option<ChatIx>) -> Result<PendingReport, PathError> {
    let meant = |c: &ChatIx| only.is_none_or(|only| only == *c);
    let forks = library.chat_ixs().filter(meant).filter_map(|c| pending_fork(library, c)).collect();
    let file = only.map(|c| library.chat(c).path());
    let mut edits = Vec::new();
    let counts = |op: &&Operation| {
        matches!(op.kind, Kind::Checkpoint | Kind::Branch) && log.undone_by(&op.id).is_none()
    };
    let known = finder(library);
    for operation in log.operations.iter().filter(counts).filter(|op| is_there(library, op)) {
        for edit in operation.edits().filter(|edit| file.is_none_or(|file| edit.target == *file)) {
            if journal::would_edit(&**library.fs(), edit, &known)? == Would::Edit {
                edits.push(PendingEdit::of(library, &operation.id, operation.chat.clone(), edit));
            }
        }
    }
    Ok(PendingReport { forks, edits })
}

/// Whether the fork that an operation made is still there, under its name: nothing is to point at one that is gone.
fn is_there(library: &Library, operation: &Operation) -> bool {
    let chats = [layout::CHATS, layout::GROUP_CHATS];
    let made = operation.publishes().map(|publish| &publish.target);
    let mut made = made.chain(operation.awaits.as_ref().map(|awaits| &awaits.target));
    made.any(|path| {
        let top = path.as_str().split('/').next().unwrap_or_default();
        chats.contains(&top) && library.chats().any(|(_, chat)| chat.path() == path)
    })
}

/// Where the message of a link stands by now.
fn message(library: &Library, edit: &Edit) -> Option<usize> {
    let Place::Message { index, id } = edit.place else { return None };
    let chat = library.chat_at(&edit.target).map(|(_, chat)| chat)?;
    let is = |at: usize| chat.transcript().row(at).is_some_and(|row| row.id.0 == id);
    if is(index) { Some(index) } else { (0..chat.transcript().len()).find(|at| is(*at)) }
}

fn change(change: &JsonChange) -> PendingChange {
    match change.clone() {
        JsonChange::Set { path, to: Some(set), .. } => PendingChange::Set { path, set },
        JsonChange::Set { path, to: None, .. } => PendingChange::Remove { path, remove: true },
        JsonChange::Include(listed) => PendingChange::Include { path: listed.path, include: listed.text },
        JsonChange::Exclude(listed) => PendingChange::Exclude { path: listed.path, exclude: listed.text },
    }
}
