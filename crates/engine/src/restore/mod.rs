//! `restore`: the past comes back, and never over the present.
//!
//! A past state of a chat becomes a new branch; a chat that was deleted comes back under its name; a book, or one entry of it, is put back
//! into a new book that the chat is bound to, because pages keep books in memory and write them back whole. [`plan`] works it out
//! and changes nothing; [`execute`] makes it one operation, which `undo` takes back.

pub(crate) mod book;
mod chat;
mod deleted;

use forklore_config::Config;
use forklore_fs::PathError;
use forklore_journal::operation::Kind;
use forklore_journal::oplog::time;
use forklore_journal::{About, Tx, TxError};
use forklore_vault::Library;
use forklore_vault::address::AddressError;
use forklore_vault::history::{HistoryError, PastError};
use forklore_vault::state::at::StateError;
use schemars::JsonSchema;
use serde::Serialize;

use super::blame::EntryError;
use super::finder::finder;
use super::fork::{self, ForkError};
use crate::warning::Warning;

/// What a user asks for.
#[derive(Debug, Clone)]
pub struct RestoreRequest {
    /// The chat, as typed
    pub chat: String,
    /// What of it
    pub what: RestoreTarget,
    /// As of when
    pub when: When,
    /// Name of the new chat, as typed
    pub name: Option<String>,
    /// Whether work that waits in the queue is no reason to refuse
    pub ignore_queue: bool,
}

/// What comes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestoreTarget {
    /// The chat, with its book
    Chat,
    /// The book of a chat that is there
    Book,
    /// One entry of that book, by number or title
    Entry(String),
}

/// The time that it comes back from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// As it was last, before it was deleted
    Last,
    /// As of this message
    Message(usize),
    /// As it was at this time, in milliseconds since 1970
    Time(i64),
    /// As it was when this observation was made
    Observation(u64),
}

/// What came back, or would.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "BroughtBack")]
pub struct RestoreReport {
    /// Id of the operation; nothing if it was only planned
    pub operation: Option<String>,
    /// `branch`, `chat`, `book` or `entry`
    pub what: &'static str,
    /// Address of the chat that has it now
    pub chat: String,
    /// Address of the chat that it is a past state of
    pub of: String,
    /// The message that it is as of; the last one of the chat as it was
    pub at: usize,
    /// The observation that it is from, if it is exactly what was seen then
    pub observation: Option<u64>,
    /// When that was, as RFC 3339
    pub seen: Option<String>,
    /// The lorebook
    pub book: RestoredBook,
    /// What becomes of entries; only where a book or an entry is put back
    pub entries: Vec<RestoredEntry>,
    /// Images and files that its messages link to, were gone, and come back with it
    pub media: Vec<String>,
    /// What the user should know
    pub warnings: Vec<Warning>,
    /// Files that were made or changed
    pub files: Vec<String>,
    /// Files that could not be changed yet
    pub pending: Vec<String>,
}

impl RestoreReport {
    /// Ends the operation, and tells what became of it.
    fn commit(mut self, tx: Tx, library: &Library, summary: String) -> Result<Self, RestoreError> {
        self.operation = Some(tx.id().to_owned());
        let about = About { kind: Kind::Restore, chat: Some(self.chat.clone()), summary, undoes: None };
        let outcome = tx.commit(about, &finder(library))?;
        self.pending = outcome.pending.iter().chain(&outcome.void).map(|p| p.as_str().to_owned()).collect();
        Ok(self)
    }
}

/// The lorebook of what came back.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct RestoredBook {
    /// Its name
    pub name: Option<String>,
    /// The name that it had, or that the chat was bound to until now
    pub from: Option<String>,
    /// How many entries it has
    pub entries: usize,
    /// Whether its file is new
    pub made: bool,
}

/// What becomes of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RestoredEntry {
    /// Its number
    pub uid: Option<i64>,
    /// Its title
    pub comment: String,
    /// What becomes of it
    pub did: super::history::Did,
    /// Fields that change
    pub fields: Vec<String>,
}

/// Why nothing came back. Nothing was changed, except where [`TxError`] says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The chat is there, and nothing says which of its states is meant.
    #[error("\"{0}\" is there, and nothing says which of its past states is to come back")]
    WhichState(String),
    /// A deleted chat has no book to put anything into.
    #[error("\"{0}\" was deleted: its lorebook comes back with it, not alone")]
    ChatGone(String),
    /// No book is bound to the chat.
    #[error("No lorebook is bound to \"{0}\"")]
    NoBook(String),
    /// Nothing tells how the book was.
    #[error("Nothing tells how the lorebook of \"{chat}\" was {when}")]
    Unknown {
        /// The chat
        chat: String,
        /// When
        when: String,
    },
    /// There is nothing to do.
    #[error("{0} is as it was then: there is nothing to put back")]
    Same(String),
    /// The name is not free.
    #[error("There is already a chat \"{0}\"")]
    NameTaken(String),
    /// The file system cannot let files trade names, so nothing that SillyTavern may write is touched.
    #[error("On this file system chats cannot be changed without the risk of losing a save")]
    NoExchange,
    /// A header cannot be edited.
    #[error("The header of \"{0}\" cannot be edited")]
    CorruptHeader(String),
    /// There is no such entry.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// There is no such past.
    #[error(transparent)]
    Past(#[from] PastError),
    /// The branch cannot be made.
    #[error(transparent)]
    Fork(#[from] ForkError),
    /// The state of the book cannot be told.
    #[error(transparent)]
    State(#[from] StateError),
    /// It could not be done.
    #[error(transparent)]
    Tx(#[from] TxError),
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
}

impl From<AddressError> for RestoreError {
    fn from(e: AddressError) -> Self {
        Self::Past(e.into())
    }
}

impl From<HistoryError> for RestoreError {
    fn from(e: HistoryError) -> Self {
        Self::Past(e.into())
    }
}

/// What is worked out and not yet done.
pub struct RestorePlan {
    /// What is told of it
    pub report: RestoreReport,
    act: Act,
}

enum Act {
    Branch(Box<fork::ForkPlan>),
    Back(deleted::Back),
    Bind(book::Bind),
}

impl RestorePlan {
    /// Whether a chat is bound to another book by it: that is asked first.
    pub fn asks(&self) -> bool {
        matches!(self.act, Act::Bind(_))
    }
}

/// Works out how something comes back. `slug` is a fresh identity, `now` the time in milliseconds since 1970.
pub fn plan(
    library: &Library,
    request: &RestoreRequest,
    config: &Config,
    slug: &str,
    now: i64,
) -> Result<RestorePlan, RestoreError> {
    match &request.what {
        RestoreTarget::Chat => chat::plan(library, request, config, slug, now),
        RestoreTarget::Book | RestoreTarget::Entry(_) => book::plan(library, request, slug),
    }
}

/// Lets it happen.
pub fn execute(library: &Library, plan: RestorePlan, now: i64) -> Result<RestoreReport, RestoreError> {
    match plan.act {
        Act::Branch(fork) => {
            let done = fork::execute(library, *fork, now)?;
            Ok(RestoreReport { operation: done.operation, pending: done.pending, ..plan.report })
        }
        Act::Back(back) => back.execute(library, plan.report, now),
        Act::Bind(bind) => bind.execute(library, plan.report, now),
    }
}

/// The last observation that counts for what was asked; `None` if all do.
pub(crate) fn until(library: &Library, when: When) -> Result<Option<u64>, RestoreError> {
    let history = library.history()?.ok_or(PastError::NoHistory)?;
    match when {
        When::Last | When::Message(_) => Ok(None),
        When::Observation(seq) => history
            .find(seq)
            .map(|seen| Some(seen.seq))
            .ok_or_else(|| PastError::NoSuchObservation(seq).into()),
        When::Time(clock) => match (history.last_by(clock), history.seen.first()) {
            (Some(seq), _) => Ok(Some(seq)),
            (None, first) => {
                let first = first.map_or(0, |seen| seen.observation.clock);
                Err(PastError::TooEarly { first }.into())
            }
        },
    }
}

/// A phrase for the time that was asked for.
fn phrase(when: When) -> String {
    match when {
        When::Last => "last".to_owned(),
        When::Message(at) => format!("at message {at}"),
        When::Time(clock) => format!("at {}", time(clock)),
        When::Observation(seq) => format!("at observation {seq}"),
    }
}
