//! `delete`, `rename`, `log`, `undo`, `redo`, `trash`, `gc`.

use forklore_config::Config;
use forklore_engine::delete::{self, DeleteReport};
use forklore_engine::needed::{self, NeededReport};
use forklore_engine::rename::{self, RenameReport};
use forklore_engine::trash::{
    self, GcReport, GcRequest, RestRestored, TrashReport, UntrashError, UntrashReport,
};
use forklore_engine::undo::{self, UndoError, UndoReport};
use forklore_journal::operation::Operation;
use forklore_journal::oplog::{FindError, LogEntry, LogReport, OpLog};
use forklore_vault::Library;
use forklore_vault::history::Timeline;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Failure, OpenVault, now};

/// A chat that something is done with.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Deletion {
    /// Address of the chat
    pub chat: String,
    /// Change nothing
    #[serde(default)]
    pub dry_run: bool,
}

/// A chat that gets another name.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Renaming {
    /// Address of the chat
    pub chat: String,
    /// Its new name
    pub name: String,
    /// Change nothing
    #[serde(default)]
    pub dry_run: bool,
}

/// How much of the log.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// How many operations; all if left out
    pub limit: Option<usize>,
}

/// What is to be undone.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Undoing {
    /// Id of the operation, or the beginning of it; the last one that is not undone if left out
    pub operation: Option<String>,
    /// Change nothing
    #[serde(default)]
    pub dry_run: bool,
}

/// That the last undo is to be done again.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Redoing {
    /// Change nothing
    #[serde(default)]
    pub dry_run: bool,
}

/// What is to come back.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Restoring {
    /// File as the trash lists it, or its name; or an operation
    pub item: String,
    /// Change nothing
    #[serde(default)]
    pub dry_run: bool,
}

/// What is to be cleaned up.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cleaning {
    /// Move this lorebook alone into the trash, whoever made it, if nothing refers to it
    pub book: Option<String>,
    /// Lorebooks that a memory extension made and nothing refers to go, too
    #[serde(default)]
    pub orphans: bool,
    /// Change nothing
    #[serde(default)]
    pub dry_run: bool,
}

/// What came back: a file, or all that an operation took away.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Restored {
    /// A file
    File(UntrashReport),
    /// All of an operation
    Operation(UndoReport),
    /// What was left of an operation
    Rest(RestRestored),
}

/// What an operation did, file by file. All are named inside the vault.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Action {
    /// What the log tells of it
    #[serde(flatten)]
    pub entry: LogEntry,
    /// Files that it made, or brought back
    pub made: Vec<String>,
    /// Files that it moved to the trash
    pub removed: Vec<String>,
    /// Files that it changed
    pub edited: Vec<String>,
    /// Why it cannot be undone any more; nothing if it can be
    pub stays: Option<String>,
}

/// What Forklore did, newest first, with what each operation touched.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Actions {
    /// Newest first
    pub actions: Vec<Action>,
    /// How many there are in all
    pub all: usize,
    /// Files in the log that cannot be read
    pub unreadable: Vec<String>,
    /// The operation that `redo` would do again
    pub redo: Option<String>,
}

/// Deletes a chat.
pub fn delete(open: &OpenVault<'_>, deletion: &Deletion) -> Result<DeleteReport, Failure> {
    let library = open.library_to_change(deletion.dry_run)?;
    let plan = delete::plan(&library, library.find_chat(&deletion.chat)?)?;
    if deletion.dry_run { Ok(plan.report) } else { Ok(delete::execute(&library, plan, now())?) }
}

/// Gives a chat another name.
pub fn rename(open: &OpenVault<'_>, renaming: &Renaming) -> Result<RenameReport, Failure> {
    let library = open.library_to_change(renaming.dry_run)?;
    let plan = rename::plan(&library, library.find_chat(&renaming.chat)?, &renaming.name)?;
    if renaming.dry_run { Ok(plan.report) } else { Ok(rename::execute(&library, plan, now())?) }
}

/// The log, and how many operations it holds in all.
pub fn log(open: &OpenVault<'_>, limit: &Limit) -> Result<(LogReport, usize), Failure> {
    let fs = open.settled();
    let mut report = OpLog::read(fs)?.report(fs)?;
    let all = report.operations.len();
    report.operations.truncate(limit.limit.unwrap_or(usize::MAX));
    Ok((report, all))
}

/// The log, with what each operation touched.
pub fn actions(open: &OpenVault<'_>, limit: &Limit) -> Result<Actions, Failure> {
    let fs = open.settled();
    let log = OpLog::read(fs)?;
    let report = log.report(fs)?;
    let all = report.operations.len();
    let newest_first = report.operations.into_iter().zip(log.operations.iter().rev());
    let actions = newest_first.take(limit.limit.unwrap_or(usize::MAX)).map(|(entry, op)| touched(entry, op));
    let redo = log.last_undo().map(|op| op.id.clone());
    let mut actions: Vec<Action> = actions.collect();
    let shared = open.shared()?;
    for action in actions.iter_mut().filter(|action| action.is_offered()) {
        action.stays =
            undo::plan(&shared.library, &log, Some(&action.entry.id), false).err().map(|e| stays(&e));
    }
    Ok(Actions { actions, all, unreadable: report.unreadable, redo })
}

/// Why something cannot be undone any more, in words for the log.
fn stays(e: &UndoError) -> String {
    match e {
        UndoError::MovedOn { why, .. } => format!("Stays: {why} since."),
        UndoError::Taken(_) => "Stays: there is another file of that name by now.".to_owned(),
        UndoError::Expired(_) => "Stays: what it took away has left the trash.".to_owned(),
        UndoError::NothingLeft => "Nothing is left of it.".to_owned(),
        other => format!("Stays: {other}."),
    }
}

impl Action {
    /// Whether somebody would think of undoing it: it is no undo, and not undone.
    pub fn is_offered(&self) -> bool {
        self.entry.undone_by.is_none() && self.entry.undoes.is_none()
    }
}

/// What one operation did; its id, or the beginning of it, must be unique.
pub fn action(open: &OpenVault<'_>, id: &str) -> Result<(Action, Option<String>), Failure> {
    let found = OpLog::read(&*open.fs)?.find(id)?.id.clone();
    let actions = actions(open, &Limit::default())?;
    let missing = || Failure::from(FindError::NoSuchOperation(id.to_owned()));
    let action = actions.actions.into_iter().find(|action| action.entry.id == found).ok_or_else(missing)?;
    Ok((action, actions.redo))
}

fn touched(entry: LogEntry, operation: &Operation) -> Action {
    let mut edited: Vec<String> = operation.edits().map(|edit| edit.target.as_str().to_owned()).collect();
    edited.dedup();
    Action {
        entry,
        made: operation.publishes().map(|publish| publish.target.as_str().to_owned()).collect(),
        removed: operation.retires().map(|retire| retire.target.as_str().to_owned()).collect(),
        edited,
        stays: None,
    }
}

/// Undoes an operation.
pub fn undo(open: &OpenVault<'_>, undoing: &Undoing) -> Result<UndoReport, Failure> {
    let library = open.library_to_change(undoing.dry_run)?;
    let log = OpLog::read(&*open.fs)?;
    revert(&library, &log, undoing.operation.as_deref(), false, undoing.dry_run)
}

/// Does again what was undone last.
pub fn redo(open: &OpenVault<'_>, redoing: &Redoing) -> Result<UndoReport, Failure> {
    let library = open.library_to_change(redoing.dry_run)?;
    let log = OpLog::read(&*open.fs)?;
    revert(&library, &log, None, true, redoing.dry_run)
}

/// Reverts an operation, or works out how.
fn revert(
    library: &Library,
    log: &OpLog,
    id: Option<&str>,
    redo: bool,
    dry_run: bool,
) -> Result<UndoReport, Failure> {
    let done = undo::plan(library, log, id, redo)
        .and_then(|plan| if dry_run { Ok(plan.report) } else { undo::execute(library, plan, now()) });
    done.map_err(|e| match &e {
        UndoError::MovedOn { path, .. } => {
            let chat = library.chat_at(path).map(|(c, _)| c);
            let chat = chat.map(|c| library.address(c).to_string());
            let of_operation =
                || id.and_then(|id| log.find(id).ok()).or_else(|| log.last_done())?.chat.clone();
            Failure::moved_on(&e, chat.or_else(of_operation).as_deref())
        }
        _ => e.into(),
    })
}

/// What is in the trash, and the age in days at which it may go.
pub fn trash(open: &OpenVault<'_>) -> Result<(TrashReport, u32), Failure> {
    let shared = open.shared()?;
    let log = OpLog::read(&*open.fs)?;
    let days = Config::load(&*open.fs)?.trash.days;
    Ok((trash::list(&shared.library, &log, days)?, days))
}

/// Images and files that must stay although no chat links to them: what is in the trash needs them.
pub fn needed(open: &OpenVault<'_>) -> Result<NeededReport, Failure> {
    let fs = open.settled();
    let history = Timeline::load(&open.fs)?;
    let days = Config::load(fs)?.trash.days;
    Ok(needed::needed(fs, &OpLog::read(fs)?, history.as_ref(), days, now())?)
}

/// Brings something back, and says what else went to the trash with it.
pub fn restore(open: &OpenVault<'_>, restoring: &Restoring) -> Result<(Restored, Vec<String>), Failure> {
    let Restoring { item, dry_run } = restoring;
    let library = open.library_to_change(*dry_run)?;
    let log = OpLog::read(&*open.fs)?;
    let listed = trash::list(&library, &log, 0)?.items;
    match trash::restore(&library, &log, item, *dry_run, now()) {
        Ok(report) => {
            let operation = listed.iter().find(|item| item.path == report.path).map(|item| &item.operation);
            let others = listed.iter().filter(|item| Some(&item.operation) == operation);
            let others = others.map(|item| item.path.clone()).filter(|path| *path != report.path).collect();
            Ok((Restored::File(report), others))
        }
        // An operation that put nothing into the trash is no way to get something out of it.
        Err(e @ UntrashError::NotThere(_)) => match log.find(item) {
            Ok(operation) if operation.retires().next().is_some() => {
                let all = revert(&library, &log, Some(item), false, *dry_run).map(Restored::Operation);
                // Some of it may be back already, or be wanted in spite of what came since.
                let rest = |whole: Failure| {
                    let rest = trash::restore_rest(&library, &log, operation, *dry_run, now());
                    rest.map(Restored::Rest).map_err(|e| match e {
                        UntrashError::NotThere(_) => whole,
                        e => e.into(),
                    })
                };
                Ok((all.or_else(rest)?, Vec::new()))
            }
            _ => Err(e.into()),
        },
        Err(e) => Err(e.into()),
    }
}

/// Cleans up.
pub fn gc(open: &OpenVault<'_>, cleaning: &Cleaning) -> Result<GcReport, Failure> {
    let library = open.library_to_change(cleaning.dry_run)?;
    let log = OpLog::read(&*open.fs)?;
    let days = Config::load(&*open.fs)?.trash.days;
    let (book, orphans) = (cleaning.book.as_deref(), cleaning.orphans);
    let request = GcRequest { book, orphans, days, dry_run: cleaning.dry_run };
    Ok(trash::gc(&library, &log, request, now())?)
}
