//! `trash` and `gc`: what was removed and can come back; books that nothing needs any more; what is old enough to go for good.

use std::collections::{BTreeMap, HashSet};

use forklore_fs::{PathError, VaultPath};
use forklore_journal as journal;
use forklore_journal::operation::{Kind, ObjectId, Operation, Retire};
use forklore_journal::oplog::{OpLog, time};
use forklore_journal::{About, TxError, layout, object_path};
use forklore_vault::history::watch::is_chat;
use forklore_vault::{Library, cache};
use schemars::JsonSchema;
use serde::Serialize;

use super::finder::finder;
use crate::bring::Bring;
use crate::warning::Warning;

/// What is in the trash.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TrashReport {
    /// Newest first
    pub items: Vec<TrashItem>,
    /// How many bytes it all takes
    pub bytes: u64,
}

/// A file in the trash.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TrashItem {
    /// The operation that put it there
    pub operation: String,
    /// Its name in the vault
    pub path: String,
    /// Its length
    pub bytes: u64,
    /// When it went there, as RFC 3339
    pub at: String,
    /// When `gc` may remove it for good; nothing if never
    pub expires: Option<String>,
    /// Its content
    pub object: String,
}

const DAY: i64 = 24 * 60 * 60 * 1000;

/// Lists the trash; `days` is the age at which things may go, 0 for never.
pub fn list(library: &Library, log: &OpLog, days: u32) -> Result<TrashReport, PathError> {
    let mut items = Vec::new();
    for (operation, retire) in log.trash(&**library.fs())?.into_iter().rev() {
        items.push(item(operation, retire, days));
    }
    let bytes = items.iter().map(|item: &TrashItem| item.bytes).sum();
    Ok(TrashReport { items, bytes })
}

fn item(operation: &Operation, retire: &Retire, days: u32) -> TrashItem {
    TrashItem {
        operation: operation.id.clone(),
        path: retire.target.as_str().to_owned(),
        bytes: retire.file.bytes,
        at: time(operation.at),
        expires: (days > 0).then(|| time(operation.at.saturating_add(i64::from(days) * DAY))),
        object: retire.object.to_string(),
    }
}

/// What came back.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct UntrashReport {
    /// Id of the operation; nothing if it was only planned
    pub operation: Option<String>,
    /// The file as it was called
    pub path: String,
    /// The file as it is called now
    pub restored: String,
    /// Images and files that its messages link to, were gone, and come back with it
    pub media: Vec<String>,
    /// What the user should know
    pub warnings: Vec<Warning>,
}

/// What came back of an operation of which some has come back before.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RestRestored {
    /// Id of the operation; nothing if it was only planned
    pub operation: Option<String>,
    /// The files as they are called now
    pub restored: Vec<String>,
    /// What the user should know
    pub warnings: Vec<Warning>,
}

/// Why nothing came back.
#[derive(Debug, thiserror::Error)]
pub enum UntrashError {
    /// There is no such file in the trash.
    #[error("There is no \"{0}\" in the trash")]
    NotThere(String),
    /// It could not be done.
    #[error(transparent)]
    Tx(#[from] TxError),
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// Brings one file back, under its name or, if that is taken, beside it. `item` is its path, or its name.
pub fn restore(
    library: &Library,
    log: &OpLog,
    item: &str,
    dry_run: bool,
    now: i64,
) -> Result<UntrashReport, UntrashError> {
    let trash = log.trash(&**library.fs())?;
    let called = |path: &VaultPath| {
        let stem = path.name().rsplit_once('.').map_or(path.name(), |(stem, _)| stem);
        path.as_str() == item || path.name() == item || stem == item
    };
    let found = trash.iter().rev().find(|(_, retire)| called(&retire.target));
    let (_, retire) = found.ok_or_else(|| UntrashError::NotThere(item.to_owned()))?;
    let target = free_name(library, &retire.target)?;
    let bring = linked_by(library, &retire.target, &retire.object)?;
    let mut report = UntrashReport {
        operation: None,
        path: retire.target.as_str().to_owned(),
        restored: target.as_str().to_owned(),
        media: bring.paths().map(|path| path.as_str().to_owned()).collect(),
        warnings: bring.warning().into_iter().collect(),
    };
    if dry_run {
        return Ok(report);
    }
    let mut tx = library.begin(now)?;
    bring.stage(library, &mut tx)?;
    tx.publish_object(target, &retire.object)?;
    report.operation = Some(tx.id().to_owned());
    let about = About {
        kind: Kind::Restore,
        chat: None,
        summary: format!("brought {} back from the trash", report.restored),
        undoes: None,
    };
    tx.commit(about, &finder(library))?;
    Ok(report)
}

/// Brings back together what an operation took away and is still in the trash.
pub fn restore_rest(
    library: &Library,
    log: &OpLog,
    taken: &Operation,
    dry_run: bool,
    now: i64,
) -> Result<RestRestored, UntrashError> {
    let trash = log.trash(&**library.fs())?;
    let rest: Vec<&Retire> =
        trash.iter().filter(|(by, _)| by.id == taken.id).map(|(_, retire)| *retire).collect();
    if rest.is_empty() {
        return Err(UntrashError::NotThere(taken.summary.clone()));
    }
    let mut report = RestRestored { operation: None, restored: Vec::new(), warnings: Vec::new() };
    let mut files = Vec::new();
    for retire in rest {
        let target = free_name(library, &retire.target)?;
        let bring = linked_by(library, &retire.target, &retire.object)?;
        report.restored.push(target.as_str().to_owned());
        report.warnings.extend(bring.warning());
        files.push((target, &retire.object, bring));
    }
    if dry_run {
        return Ok(report);
    }
    let mut tx = library.begin(now)?;
    for (target, object, bring) in files {
        bring.stage(library, &mut tx)?;
        tx.publish_object(target, object)?;
    }
    report.operation = Some(tx.id().to_owned());
    let about = About {
        kind: Kind::Restore,
        chat: taken.chat.clone(),
        summary: format!("brought {} back from the trash", report.restored.join(", ")),
        undoes: None,
    };
    tx.commit(about, &finder(library))?;
    Ok(report)
}

/// What comes back from history with a file of the trash: if it is a chat, what it links to and is gone.
pub(super) fn linked_by(
    library: &Library,
    target: &VaultPath,
    object: &ObjectId,
) -> Result<Bring, PathError> {
    if !is_chat(target) {
        return Ok(Bring::default());
    }
    let file = library.fs().open(&object_path(object))?;
    Bring::with(library, &*file, None, target, None)
}

/// The name itself, or the first of `name (2)`, `name (3)` that is free.
fn free_name(library: &Library, wanted: &VaultPath) -> Result<VaultPath, PathError> {
    let dir = wanted.parent();
    let used: HashSet<String> =
        library.fs().list(&dir)?.iter().map(|node| node.name.to_lowercase()).collect();
    let (stem, extension) = wanted.name().rsplit_once('.').unwrap_or((wanted.name(), ""));
    let numbered = (2..).map(|n| format!("{stem} ({n}).{extension}"));
    let mut names = std::iter::once(wanted.name().to_owned()).chain(numbered);
    let free = names.find(|name| !used.contains(&name.to_lowercase())).unwrap_or_default();
    Ok(dir.join(&free).unwrap_or_else(|_| wanted.clone()))
}

/// What was cleaned up.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct GcReport {
    /// Id of the operation that put books into the trash; nothing if there were none, or it was only planned
    pub operation: Option<String>,
    /// Books that nothing refers to any more, now in the trash
    pub books: Vec<String>,
    /// Books of extensions that nothing refers to, left where they are
    pub orphans: Vec<String>,
    /// Files that left the trash for good
    pub expired: Vec<TrashItem>,
    /// How many bytes that freed
    pub freed: u64,
}

/// What to clean up.
#[derive(Debug, Clone, Copy)]
pub struct GcRequest<'a> {
    /// This book alone, whoever made it, if nothing refers to it; and nothing else
    pub book: Option<&'a str>,
    /// Whether books that an extension made go, too, if nothing refers to them
    pub orphans: bool,
    /// Age in days at which things leave the trash for good; 0 for never
    pub days: u32,
    /// Whether to change nothing
    pub dry_run: bool,
}

/// Cleans up.
pub fn gc(library: &Library, log: &OpLog, request: GcRequest<'_>, now: i64) -> Result<GcReport, TxError> {
    let mut report = GcReport::default();
    let mut retire: Vec<VaultPath> = Vec::new();
    // What was only brought back is not of Forklore's making.
    let makes = |op: &&Operation| {
        let made = match op.kind {
            Kind::Checkpoint
            | Kind::Branch
            | Kind::Heal
            | Kind::Learn
            | Kind::Append
            | Kind::Resolve
            | Kind::Pick
            | Kind::Memory => true,
            // What comes back from the trash comes alone, or with what it links to.
            Kind::Restore => op.steps.iter().filter(|step| !layout::is_media(step.target())).count() > 1,
            // What was imported is its makers'; `orphans` covers what an extension keeps.
            Kind::Import | Kind::Delete | Kind::Rename | Kind::Adopt | Kind::Gc | Kind::Undo => false,
        };
        // What was made by an operation that was undone since is gone: a file of that name is somebody else's.
        made && log.undone_by(&op.id).is_none()
    };
    let made: HashSet<&VaultPath> =
        log.operations.iter().filter(makes).flat_map(Operation::publishes).map(|p| &p.target).collect();
    for (stem, path) in library.books() {
        if request.book.is_some_and(|book| book != stem) || !library.referring_to(stem, &[]).is_empty() {
            continue;
        }
        let book = library.book(stem)?;
        // Nobody knows what is in one that cannot be read, so nobody knows that it is not needed.
        if book.as_ref().is_some_and(|book| book.is_closed()) {
            continue;
        }
        let kept = book.is_some_and(|book| book.keeper().is_some());
        if request.book.is_some() || made.contains(path) || (kept && request.orphans) {
            report.books.push(stem.clone());
            retire.push(path.clone());
        } else if kept {
            report.orphans.push(stem.clone());
        }
    }
    let mut old = expired(library, log, if request.book.is_some() { 0 } else { request.days }, now)?;
    // The same content may have come back and go again now: then it is young.
    for path in &retire {
        old.remove(&journal::hash(&**library.fs(), path)?.0);
    }
    report.expired = old.values().flatten().cloned().collect();
    report.freed = old.values().filter_map(|items| items.first()).map(|item| item.bytes).sum();
    if request.dry_run {
        return Ok(report);
    }
    let mut tx = library.begin(now)?;
    if !retire.is_empty() {
        for path in retire {
            tx.retire(path)?;
        }
        report.operation = Some(tx.id().to_owned());
        let books = if report.books.len() == 1 { "1 lorebook" } else { "lorebooks" };
        let about = About {
            kind: Kind::Gc,
            chat: None,
            summary: format!(
                "moved {books} that nothing refers to into the trash: {}",
                report.books.join(", ")
            ),
            undoes: None,
        };
        tx.commit(about, &finder(library))?;
    }
    for object in old.keys() {
        library.fs().unlink(&object_path(object))?;
    }
    forget_cache(library)?;
    Ok(report)
}

/// Objects of the trash whose every use is old enough, with the files they were.
fn expired(
    library: &Library,
    log: &OpLog,
    days: u32,
    now: i64,
) -> Result<BTreeMap<ObjectId, Vec<TrashItem>>, PathError> {
    let mut old: BTreeMap<ObjectId, Vec<TrashItem>> = BTreeMap::new();
    if days == 0 {
        return Ok(old);
    }
    // All uses of an object, also by deletions that were undone: those could be redone as long as they are young.
    let limit = now.saturating_sub(i64::from(days) * DAY);
    let mut young: HashSet<&ObjectId> = HashSet::new();
    for operation in &log.operations {
        for retire in operation.retires() {
            if operation.at > limit {
                young.insert(&retire.object);
            } else if library.fs().identity(&object_path(&retire.object))?.is_some() {
                // A file that went more than once is one file.
                let files = old.entry(retire.object.clone()).or_default();
                files.retain(|file: &TrashItem| file.path != retire.target.as_str());
                files.push(item(operation, retire, days));
            }
        }
    }
    old.retain(|object, _| !young.contains(object));
    Ok(old)
}

/// Drops what is remembered of chats that are no longer there.
fn forget_cache(library: &Library) -> Result<(), PathError> {
    let mut known: HashSet<String> =
        library.chats().map(|(_, chat)| cache::file_of(chat.path()).name().to_owned()).collect();
    let backups = layout::folder(layout::BACKUPS);
    // What is remembered of backups is kept while nobody knows which there are.
    let Ok(nodes) = library.fs().list(&backups) else { return Ok(()) };
    for node in nodes {
        if let Ok(path) = backups.join(&node.name) {
            known.insert(cache::file_of(&path).name().to_owned());
        }
    }
    cache::forget_all_but(&**library.fs(), &known)
}
