//! `adopt`: marks the line that is the story now. The others stay as they are, and lose the mark if they had it.

use forklore_core::format::revision::Revision;
use forklore_fs::{PathError, VaultPath};
use forklore_journal::operation::{Edit, FileId, Kind};
use forklore_journal::{About, TxError};
use forklore_vault::{Chat, ChatIx, Library};
use schemars::JsonSchema;
use serde::Serialize;

use crate::finder::finder;
use crate::header::edit_of;
use crate::restore::RestoreError;

/// The key of `chat_metadata` with the mark: the chat's identity, so that a copy of the header is not marked.
pub(crate) const MARK: &str = forklore_vault::read::outline::STORY;

/// What is marked, or would be.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AdoptReport {
    /// Id of the operation; nothing if it was only planned, or it is marked already
    pub operation: Option<String>,
    /// Address of the chat that the story goes on with
    pub chat: String,
    /// Addresses of those that had the mark
    pub before: Vec<String>,
    /// Addresses of its relatives, which stay as they are
    pub others: Vec<String>,
    /// Files that were changed
    pub files: Vec<String>,
    /// Files that could not be changed yet
    pub pending: Vec<String>,
}

/// Why nothing was marked. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum AdoptError {
    /// The chat cannot be changed.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// It could not be done.
    #[error(transparent)]
    Tx(#[from] TxError),
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// What is worked out and not yet done.
pub struct AdoptPlan {
    /// What is told of it
    pub report: AdoptReport,
    edits: Vec<Edit>,
    guards: Vec<(VaultPath, FileId)>,
}

/// Whether a chat is marked as the line that is the story now.
pub(crate) fn is_story(chat: &Chat) -> bool {
    chat.story_mark().is_some_and(|mark| mark == chat.slug().unwrap_or(chat.name()))
}

/// What a chat is known by: its slug, or its name where older versions give it none.
fn identity(chat: &Chat) -> String {
    chat.header().slug().map_or_else(|| chat.name().to_owned(), std::borrow::Cow::into_owned)
}

/// Works out how chat `c` becomes the one that the story goes on with.
pub fn plan(library: &Library, c: ChatIx) -> Result<AdoptPlan, AdoptError> {
    let chat = library.chat(c);
    let relatives: Vec<ChatIx> = library
        .chats()
        .map(|(other, _)| other)
        .filter(|other| *other != c && library.related(c, *other))
        .collect();
    let marked: Vec<ChatIx> =
        relatives.iter().copied().filter(|other| is_story(library.chat(*other))).collect();
    let told = |all: &[ChatIx]| all.iter().map(|c| library.address(*c).to_string()).collect();
    let mut report = AdoptReport {
        operation: None,
        chat: library.address(c).to_string(),
        before: told(&marked),
        others: told(&relatives),
        files: Vec::new(),
        pending: Vec::new(),
    };
    let mut changes = Vec::new();
    if !is_story(chat) {
        changes.push((c, Revision::text(&[MARK], &identity(chat))));
    }
    changes.extend(marked.into_iter().map(|other| (other, Revision::without(&[MARK]))));
    let (mut edits, mut guards) = (Vec::new(), Vec::new());
    for (c, revision) in changes {
        let chat = library.chat(c);
        let corrupt = || RestoreError::CorruptHeader(chat.name().to_owned());
        edits.push(edit_of(chat, vec![revision], true).ok_or_else(corrupt)?);
        guards.extend(chat.identity().map(|identity| (chat.path().clone(), identity.into())));
    }
    report.files = edits.iter().map(|edit| edit.target.as_str().to_owned()).collect();
    Ok(AdoptPlan { report, edits, guards })
}

/// Marks it.
pub fn execute(library: &Library, plan: AdoptPlan, now: i64) -> Result<AdoptReport, AdoptError> {
    let mut report = plan.report;
    if plan.edits.is_empty() {
        return Ok(report);
    }
    let mut tx = library.begin(now)?;
    if !tx.can_edit()? {
        return Err(RestoreError::NoExchange.into());
    }
    plan.guards.into_iter().for_each(|(path, file)| tx.guard(path, file));
    plan.edits.into_iter().try_for_each(|edit| tx.edit(edit))?;
    report.operation = Some(tx.id().to_owned());
    let about = About {
        kind: Kind::Adopt,
        chat: Some(report.chat.clone()),
        summary: format!("the story goes on with {}", report.chat),
        undoes: None,
    };
    let outcome = tx.commit(about, &finder(library))?;
    let open = outcome.pending.iter().chain(&outcome.void);
    report.pending = open.map(|path| path.as_str().to_owned()).collect();
    Ok(report)
}
