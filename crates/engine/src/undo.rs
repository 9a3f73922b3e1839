//! `undo` and `redo`: an operation the other way round. Edits are reverted in whatever the files hold now; files that were made go
//! to the trash, files that went there come back.

use std::collections::HashSet;

use forklore_core::fork::book::fingerprint;
use forklore_core::format::names::{book_stem, chat_stem};
use forklore_fs::{PathError, VaultPath};
use forklore_journal as journal;
use forklore_journal::operation::{
    Awaits, Edit, FileId, JsonChange, Kind, ObjectId, Operation, Publish, Step,
};
use forklore_journal::oplog::{FindError, OpLog};
use forklore_journal::{About, TxError, layout, object_path};
use forklore_json::Raw;
use forklore_vault::read::media::{self, Linked};
use forklore_vault::{Chat, ChatIx, Library};
use schemars::JsonSchema;
use serde::Serialize;

use super::finder::finder;
use super::trash::linked_by;
use crate::bring::Bring;
use crate::memory_record::MemoryRecord;

/// What was undone.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct UndoReport {
    /// Id of the new operation; nothing if it was only planned
    pub operation: Option<String>,
    /// The operation that was undone
    pub undoes: String,
    /// What is no longer done, or is done again
    pub summary: String,
    /// Whether it is done again: what was undone is an undo
    pub redo: bool,
    /// Files that went to the trash
    pub removed: Vec<String>,
    /// Files that came back
    pub restored: Vec<String>,
    /// Files whose edits were reverted
    pub edited: Vec<String>,
    /// Files whose edits others have changed since, so that they stay
    pub left: Vec<String>,
}

/// Why something cannot be undone. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// There is no such operation.
    #[error(transparent)]
    Find(#[from] FindError),
    /// Nothing was done that is not undone.
    #[error("There is nothing to undo")]
    NothingToUndo,
    /// Nothing was undone.
    #[error("There is nothing to redo")]
    NothingToRedo,
    /// It was undone before.
    #[error("That was undone already, by {by}")]
    Already {
        /// The operation that undid it
        by: String,
    },
    /// The story went on in what it made.
    #[error("{path} has gone on since: {why}")]
    MovedOn {
        /// The file
        path: VaultPath,
        /// What happened
        why: String,
    },
    /// There is a file where one is to come back.
    #[error("{0} cannot come back: there is a file of that name")]
    Taken(VaultPath),
    /// The trash was emptied.
    #[error("{0} cannot come back: it is no longer in the trash")]
    Expired(VaultPath),
    /// Nothing of it is left.
    #[error("Nothing is left of it")]
    NothingLeft,
    /// It could not be done.
    #[error(transparent)]
    Tx(#[from] TxError),
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// An undo that is worked out.
pub struct UndoPlan {
    /// What is told of it
    pub report: UndoReport,
    publish: Vec<(VaultPath, ObjectId)>,
    edits: Vec<Edit>,
    retire: Vec<(VaultPath, FileId)>,
    /// Images and files that come back from history with chats
    media: Bring,
    chat: Option<String>,
}

/// Works out how to revert an operation: the named one, else the last; `redo` means the last undo.
pub fn plan(library: &Library, log: &OpLog, id: Option<&str>, redo: bool) -> Result<UndoPlan, UndoError> {
    let operation = match (id, redo) {
        (Some(id), _) => log.find(id)?,
        (None, false) => log.last_done().ok_or(UndoError::NothingToUndo)?,
        (None, true) => log.last_undo().ok_or(UndoError::NothingToRedo)?,
    };
    if let Some(by) = log.undone_by(&operation.id) {
        return Err(UndoError::Already { by: by.to_owned() });
    }
    let (origin, turns) = log.origin(operation);
    let mut plan = UndoPlan {
        report: UndoReport {
            operation: None,
            undoes: operation.id.clone(),
            summary: origin.summary.clone(),
            redo: turns % 2 == 1,
            removed: Vec::new(),
            restored: Vec::new(),
            edited: Vec::new(),
            left: Vec::new(),
        },
        publish: Vec::new(),
        edits: Vec::new(),
        retire: Vec::new(),
        media: Bring::default(),
        chat: operation.chat.clone(),
    };
    // What points at a file goes before the file: the other way round than it came.
    for step in operation.steps.iter().rev() {
        match step {
            Step::Publish(publish) => plan.remove(library, log, operation, publish)?,
            Step::Retire(retire) => {
                if library.fs().identity(&object_path(&retire.object))?.is_none() {
                    return Err(UndoError::Expired(retire.target.clone()));
                }
                if library.fs().identity(&retire.target)?.is_some() {
                    return Err(UndoError::Taken(retire.target.clone()));
                }
                plan.report.restored.push(retire.target.as_str().to_owned());
                plan.publish.push((retire.target.clone(), retire.object.clone()));
            }
            Step::Edit(edit) => plan.revert(library, &as_if_alone(log, operation, edit))?,
        }
    }
    if let Some(awaits) = &operation.awaits {
        plan.remove_awaited(library, awaits)?;
    }
    plan.leave_linked(library);
    plan.bring_linked(library)?;
    plan.check_references(library)?;
    plan.forget_lost_links(library, log, operation);
    if plan.publish.is_empty() && plan.retire.is_empty() && plan.edits.is_empty() {
        return Err(UndoError::NothingLeft);
    }
    Ok(plan)
}

impl UndoPlan {
    fn remove(
        &mut self,
        library: &Library,
        log: &OpLog,
        operation: &Operation,
        publish: &Publish,
    ) -> Result<(), UndoError> {
        let Some(now) = library.fs().identity(&publish.target)?.map(FileId::from) else { return Ok(()) };
        // An image that somebody has put another one in the place of is theirs.
        if layout::is_media(&publish.target) && !log.made(operation, &publish.target).contains(&now) {
            self.report.left.push(publish.target.as_str().to_owned());
            return Ok(());
        }
        if !log.made(operation, &publish.target).contains(&now)
            && let Some(why) = moved_on(library, operation, &publish.target)?
        {
            return Err(UndoError::MovedOn { path: publish.target.clone(), why });
        }
        self.report.removed.push(publish.target.as_str().to_owned());
        self.retire.push((publish.target.clone(), now));
        Ok(())
    }

    /// The chat that SillyTavern wrote for the fork goes before its book, if it is still the fork as it was made.
    fn remove_awaited(&mut self, library: &Library, awaits: &Awaits) -> Result<(), UndoError> {
        let Some(chat) = library.chat_at(&awaits.target).map(|(_, chat)| chat) else { return Ok(()) };
        let own = chat.header().slug().as_deref() == Some(&*awaits.slug);
        let Some(now) = chat.identity().filter(|_| own) else { return Ok(()) };
        if let Some(why) = chat_moved_on(chat) {
            return Err(UndoError::MovedOn { path: awaits.target.clone(), why });
        }
        self.report.removed.insert(0, awaits.target.as_str().to_owned());
        self.retire.insert(0, (awaits.target.clone(), now.into()));
        Ok(())
    }

    /// An image or a file that a chat links to which stays, stays with it.
    fn leave_linked(&mut self, library: &Library) {
        if !self.retire.iter().any(|(path, _)| layout::is_media(path)) {
            return;
        }
        let mut used: HashSet<VaultPath> = HashSet::new();
        for (c, chat) in library.chats() {
            if self.retire.iter().any(|(path, _)| path == chat.path()) {
                continue;
            }
            match media::of_chat(library, c) {
                Ok(links) => used.extend(links.iter().flat_map(Linked::places).cloned()),
                // One that cannot be read may link to all of them.
                Err(_) => {
                    let all = self.retire.iter().map(|(path, _)| path);
                    used.extend(all.filter(|path| layout::is_media(path)).cloned());
                }
            }
        }
        let Self { retire, report, .. } = self;
        retire.retain(|(path, _)| !used.contains(path));
        report.removed.retain(|path| !used.iter().any(|used| used.as_str() == path));
    }

    /// What a chat that comes back links to, and is gone, comes back with it.
    fn bring_linked(&mut self, library: &Library) -> Result<(), UndoError> {
        for (target, object) in &self.publish {
            self.media.add(linked_by(library, target, object)?);
        }
        let back: HashSet<VaultPath> = self.publish.iter().map(|(path, _)| path.clone()).collect();
        self.media.leave(|path| back.contains(path));
        self.report.restored.extend(self.media.paths().map(|path| path.as_str().to_owned()));
        Ok(())
    }

    /// A book that somebody else has come to use, or that the fork uses under another name of its own, does not go.
    fn check_references(&self, library: &Library) -> Result<(), UndoError> {
        let goes = |path: &VaultPath| self.retire.iter().any(|(retired, _)| retired == path);
        let reverts = |chat: &Chat, edit: &Edit| match chat.kept() {
            None => edit.target == *chat.path(),
            // Of the group's file, the part that is this chat's.
            Some((file, kept)) => {
                let within = |change: &JsonChange| matches!(change, JsonChange::Set { path, .. } if path.starts_with(&kept.path));
                edit.target == *file && edit.changes.iter().any(within)
            }
        };
        let reverted = |chat: &Chat| self.edits.iter().any(|edit| edit.required && reverts(chat, edit));
        let chats = library.chats();
        let except: Vec<ChatIx> =
            chats.filter(|(_, chat)| goes(chat.path()) || reverted(chat)).map(|(c, _)| c).collect();
        for (path, _) in &self.retire {
            let book = library.books().iter().find(|(_, book)| *book == path);
            let Some((stem, _)) = book else { continue };
            if let Some(who) = library.known_to_refer_to(stem, &except).first() {
                return Err(UndoError::MovedOn { path: path.clone(), why: format!("{who} uses it") });
            }
        }
        Ok(())
    }

    /// A message's link that would lead to a checkpoint which Forklore has taken away since is better none. One that led nowhere before
    /// is none of our affair.
    fn forget_lost_links(&mut self, library: &Library, log: &OpLog, operation: &Operation) {
        let taken_away = |name: &str| {
            let later = log.operations.iter().filter(|later| later.id > operation.id);
            { later }
                .flat_map(Operation::retires)
                .any(|retire| retire.target.name().strip_suffix(".jsonl") == Some(name))
        };
        let back: Vec<&str> =
            self.publish.iter().filter_map(|(path, _)| path.name().strip_suffix(".jsonl")).collect();
        for change in self.edits.iter_mut().flat_map(|edit| &mut edit.changes) {
            if let JsonChange::Set { path, to, .. } = change
                && path.last().is_some_and(|key| key == "bookmark_link")
                && let Some(name) =
                    to.as_ref().and_then(|to| Raw::trust(to.bytes()).as_text().map(|t| chat_stem(&t)))
                && !library.chats().any(|(_, chat)| chat.name() == name)
                && !back.contains(&name.as_str())
                && taken_away(&name)
            {
                *to = None;
            }
        }
    }

    fn revert(&mut self, library: &Library, edit: &Edit) -> Result<(), UndoError> {
        let inverse = edit.inverse();
        let name = edit.target.as_str().to_owned();
        match journal::would_edit(&**library.fs(), &inverse, &finder(library))? {
            journal::Would::Edit => {
                if !self.report.edited.contains(&name) {
                    self.report.edited.push(name);
                }
                self.edits.push(inverse);
            }
            journal::Would::Nothing => {}
            journal::Would::Conflict if edit.required => {
                let why = "what was changed in it has been changed again".to_owned();
                return Err(UndoError::MovedOn { path: edit.target.clone(), why });
            }
            journal::Would::Conflict => self.report.left.push(name),
        }
        Ok(())
    }
}

/// The edit as if operations before it that are undone by now had never been: what they found there is what it would have found, and
/// what they made it would have made.
fn as_if_alone(log: &OpLog, operation: &Operation, edit: &Edit) -> Edit {
    let mut edit = edit.clone();
    // What is done again is done as it was.
    let others = if edit.back { &[][..] } else { &log.operations[..] };
    for earlier in others.iter().rev().filter(|earlier| earlier.id < operation.id) {
        let same_place =
            |theirs: &&Edit| theirs.target == edit.target && theirs.place.is_that_of(&edit.place);
        let Some(theirs) = earlier.edits().filter(|theirs| !theirs.back).find(same_place) else { continue };
        if log.undone_by(&earlier.id).is_none() {
            break;
        }
        edit.blanks = theirs.blanks;
        for ours in &mut edit.changes {
            theirs.changes.iter().for_each(|theirs| ours.follows(theirs));
        }
    }
    edit
}

/// What happened in a file since it was made; nothing if SillyTavern only wrote the same thing anew.
fn moved_on(library: &Library, operation: &Operation, path: &VaultPath) -> Result<Option<String>, UndoError> {
    if let Some(chat) = library.chat_at(path).map(|(_, chat)| chat) {
        return Ok(chat_moved_on(chat));
    }
    if path.parent() != layout::folder(layout::WORLDS) {
        return Ok(Some("it was changed".to_owned()));
    }
    let Some(stem) = path.name().strip_suffix(".json") else { return Ok(Some("it was changed".to_owned())) };
    // The chat that the book was made for knows what the book started with.
    let made_with = |chat: &&Chat| {
        operation.publishes().any(|p| p.target == *chat.path())
            || operation.edits().any(|e| e.target == *chat.path())
            // SillyTavern has saved the chat itself.
            || operation.awaits.as_ref().is_some_and(|awaited| awaited.target == *chat.path())
    };
    let baseline = library.chats().map(|(_, chat)| chat).filter(made_with).find_map(|chat| {
        let record = chat.record()?;
        let own = record.book.as_deref().is_some_and(|book| book_stem(book) == stem);
        record.baseline.as_ref().filter(|_| own)?.book.clone()
    });
    let remembered = library.chats().map(|(_, chat)| chat).filter(made_with).find_map(|chat| {
        let own = chat.book_stem() == Some(stem);
        MemoryRecord::of(chat.header()).filter(|_| own)?.made
    });
    let baseline = baseline.or(remembered);
    let book = library.open_book(stem)?;
    let now = book.as_ref().and_then(|book| Some(fingerprint(&book.parse().ok()?)));
    let same = baseline.is_some() && baseline == now;
    Ok((!same).then(|| "its entries have changed".to_owned()))
}

fn chat_moved_on(chat: &Chat) -> Option<String> {
    if let Some(why) = chat.unreadable() {
        return Some(format!("it cannot be read ({why})"));
    }
    let changed = Some("it was changed".to_owned());
    let Some(baseline) = chat.record().and_then(|record| record.baseline.as_ref()) else {
        return changed;
    };
    let messages = chat.transcript().len();
    if messages > baseline.messages {
        let more = messages - baseline.messages;
        return Some(if more == 1 { "1 new message".to_owned() } else { format!("{more} new messages") });
    }
    let moment = chat.transcript().moment(chat.head()).map(|moment| moment.to_string());
    if messages < baseline.messages || moment.as_deref() != Some(&*baseline.moment) { changed } else { None }
}

/// Does it.
pub fn execute(library: &Library, plan: UndoPlan, now: i64) -> Result<UndoReport, UndoError> {
    let mut tx = library.begin(now)?;
    plan.media.stage(library, &mut tx)?;
    for (target, object) in &plan.publish {
        tx.publish_object(target.clone(), object)?;
    }
    plan.edits.into_iter().try_for_each(|edit| tx.edit(edit))?;
    for (target, file) in plan.retire {
        // Somebody may have played on since it was looked at.
        tx.guard(target.clone(), file);
        tx.retire(target)?;
    }
    let mut report = plan.report;
    report.operation = Some(tx.id().to_owned());
    let about = About {
        kind: Kind::Undo,
        chat: plan.chat,
        summary: format!("{} of: {}", if report.redo { "redo" } else { "undo" }, report.summary),
        undoes: Some(report.undoes.clone()),
    };
    let outcome = tx.commit(about, &finder(library))?;
    report.left.extend(outcome.void.iter().chain(&outcome.pending).map(|path| path.as_str().to_owned()));
    Ok(report)
}
