//! `resolve`: what two lines do not agree on is answered.
//!
//! An answer that changes the lorebook makes a new one that the chat is bound to, because pages keep books in memory and write them back
//! whole; what was edited since is not overwritten.

use std::collections::BTreeMap;

use forklore_core::adapter::{EntryRole, entry_role, registry};
use forklore_core::fork::book::{Content, assemble, fingerprint};
use forklore_core::format::book::{Book as Parsed, EntryImage};
use forklore_core::format::record::Learnt;
use forklore_core::format::revision::Revision;
use forklore_core::merge::{Answer, Answered, Conflict};
use forklore_fs::{PathError, VaultPath};
use forklore_journal::operation::{Edit, FileId, Kind};
use forklore_journal::{About, TxError, layout};
use forklore_json::{PathPart, Raw};
use forklore_vault::Library;
use forklore_vault::address::AddressError;
use forklore_vault::state::at::StateError;
use schemars::JsonSchema;
use serde::Serialize;

use super::{OpenConflict, learnt};
use crate::finder::finder;
use crate::header::{edit_of, rebind};
use crate::heal::unneeded;
use crate::new_book;
use crate::restore::RestoreError;
use crate::restore::book::{Bind, own_record, refuse_work};

/// What is answered.
#[derive(Debug, Clone)]
pub struct ResolveRequest {
    /// Address of the chat
    pub chat: String,
    /// The conflict, or the beginning of its id; all that are open if left out
    pub id: Option<String>,
    /// The answer; nothing to look at what is open
    pub answer: Option<Answer>,
    /// Whether work that waits in the queue is no reason to refuse
    pub ignore_queue: bool,
}

/// What is open, and what was answered.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ResolveReport {
    /// Id of the operation; nothing if nothing was answered, or it was only planned
    pub operation: Option<String>,
    /// Address of the chat
    pub chat: String,
    /// Name of the chat that was brought along
    pub from: String,
    /// What was answered
    pub answered: Vec<OpenConflict>,
    /// What is open
    pub open: Vec<OpenConflict>,
    /// Name of the new lorebook, if an answer makes one
    pub book: Option<String>,
    /// Files that were made or changed
    pub files: Vec<String>,
    /// Files that could not be changed yet
    pub pending: Vec<String>,
}

/// Why nothing was answered. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// Nothing was brought along into the chat.
    #[error("Nothing was brought along into \"{0}\"")]
    NotLearnt(String),
    /// There is no such conflict.
    #[error("\"{chat}\" has no open question {id}")]
    NoSuchConflict {
        /// The chat
        chat: String,
        /// What was asked for
        id: String,
    },
    /// Several ids begin like that.
    #[error("Several open questions of \"{chat}\" begin with {id}: {}", ids.join(", "))]
    Ambiguous {
        /// The chat
        chat: String,
        /// What was asked for
        id: String,
        /// Those that it may mean
        ids: Vec<String>,
    },
    /// The answer makes no sense there.
    #[error("{id}, the {field} of \"{title}\", cannot be answered like that")]
    NoAnswer {
        /// The conflict
        id: String,
        /// The field
        field: String,
        /// The entry
        title: String,
    },
    /// Somebody has changed it since.
    #[error("The {field} of \"{title}\" was changed since the two were brought together")]
    MovedOn {
        /// The field
        field: String,
        /// The entry
        title: String,
    },
    /// The chat's book is not there.
    #[error("The lorebook of \"{0}\" is not there")]
    NoBook(String),
    /// There is no such chat.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The book cannot be changed.
    #[error(transparent)]
    Restore(#[from] RestoreError),
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

/// What is worked out and not yet done.
pub struct ResolvePlan {
    /// What is told of it
    pub report: ResolveReport,
    act: Act,
}

enum Act {
    /// Nothing was answered
    Look,
    /// Only the record changes
    Note(Edit, Vec<(VaultPath, FileId)>),
    /// The chat gets a new book
    Bind(Box<Bind>),
}

impl ResolvePlan {
    /// Whether the chat is bound to another book by it: that is asked first.
    pub fn asks(&self) -> bool {
        matches!(self.act, Act::Bind(_))
    }
}

/// Works an answer out. `slug` is a fresh identity.
pub fn plan(library: &Library, request: &ResolveRequest, slug: &str) -> Result<ResolvePlan, ResolveError> {
    let c = library.find_chat(&request.chat)?;
    let chat = library.chat(c);
    let learnt = learnt(chat).ok_or_else(|| ResolveError::NotLearnt(chat.name().to_owned()))?;
    let meant =
        |conflict: &&Conflict| request.id.as_ref().is_none_or(|id| conflict.id().starts_with(id.as_str()));
    let chosen: Vec<&Conflict> = learnt.conflicts.iter().filter(meant).collect();
    if let (Some(id), true) = (&request.id, chosen.is_empty()) {
        return Err(ResolveError::NoSuchConflict { chat: chat.name().to_owned(), id: id.clone() });
    }
    if let (Some(id), [_, _, ..]) = (&request.id, &chosen[..]) {
        let ids = chosen.iter().map(|conflict| conflict.id()).collect();
        return Err(ResolveError::Ambiguous { chat: chat.name().to_owned(), id: id.clone(), ids });
    }
    let told = |conflicts: &[&Conflict]| -> Vec<OpenConflict> {
        conflicts.iter().map(|conflict| OpenConflict::of(conflict)).collect()
    };
    let mut report = ResolveReport {
        operation: None,
        chat: library.address(c).to_string(),
        from: learnt.file.clone(),
        answered: Vec::new(),
        open: told(&chosen),
        book: None,
        files: Vec::new(),
        pending: Vec::new(),
    };
    let Some(answer) = request.answer.as_ref().filter(|_| !chosen.is_empty()) else {
        return Ok(ResolvePlan { report, act: Act::Look });
    };
    let (name, _) = chat.book().ok_or_else(|| ResolveError::NoBook(chat.name().to_owned()))?;
    let live = library.open_book(name)?.ok_or_else(|| ResolveError::NoBook(chat.name().to_owned()))?;
    let before = live.images();
    let mut images = before.clone();
    for conflict in &chosen {
        apply(&mut images, conflict, answer)?;
    }
    let open: Vec<Conflict> = learnt.conflicts.iter().filter(|one| !chosen.contains(one)).cloned().collect();
    report.answered = told(&chosen);
    report.open = told(&open.iter().collect::<Vec<_>>());
    let open = Learnt { conflicts: open, ..Learnt::default() };
    let answered = Revision::set(&["forklore", "learnt", "conflicts"], open.write_conflicts());
    let corrupt = || RestoreError::CorruptHeader(chat.name().to_owned());
    let mut guards: Vec<(VaultPath, FileId)> = Vec::new();
    guards.extend(chat.identity().map(|identity| (chat.path().clone(), identity.into())));
    guards.extend(library.books().get(live.name()).cloned().zip(live.identity().map(FileId::from)));
    if images == before {
        let edit = edit_of(chat, vec![answered], true).ok_or_else(corrupt)?;
        report.files.push(edit.target.as_str().to_owned());
        return Ok(ResolvePlan { report, act: Act::Note(edit, guards) });
    }
    refuse_work(library, c, request.ignore_queue)?;
    let found = library.book_as_it_is(c)?;
    let new = new_book::name(library, c, chat.name(), name, &found, &[]);
    let path = layout::book(&new).map_err(|_| RestoreError::NameTaken(new.clone()))?;
    let over = live.parse().ok();
    let bytes = assemble(Content::Entries { over: over.as_ref(), entries: &images }, &new);
    // Read as SillyTavern will: what is wrong with it is found before anything is written.
    let read = Parsed::parse(&bytes).map_err(|_| corrupt())?;
    let mut revisions = vec![Revision::text(&["integrity"], slug)];
    revisions.extend(rebind(library, c, &new, &read.images())?);
    revisions.extend(own_record(chat, slug, &new, &fingerprint(&read)));
    revisions.push(answered);
    let edit = edit_of(chat, revisions, true).ok_or_else(corrupt)?;
    let retire = unneeded(library, &BTreeMap::from([(c, Some(new.clone()))]))?;
    let files = [&path, &edit.target].into_iter().chain(&retire);
    report.files = files.map(|path| path.as_str().to_owned()).collect();
    report.book = Some(new);
    let bind = Bind { book: (path, bytes), edit, retire, guards };
    Ok(ResolvePlan { report, act: Act::Bind(Box::new(bind)) })
}

/// Lets it happen.
pub fn execute(library: &Library, plan: ResolvePlan, now: i64) -> Result<ResolveReport, ResolveError> {
    let ResolvePlan { mut report, act } = plan;
    let what = match &report.answered[..] {
        [one] => format!("a question about \"{}\"", one.title),
        all => format!("{} questions", all.len()),
    };
    let about = About {
        kind: Kind::Resolve,
        chat: Some(report.chat.clone()),
        summary: format!("answered {what} in {}", report.chat),
        undoes: None,
    };
    match act {
        Act::Look => {}
        Act::Note(edit, guards) => {
            let mut tx = library.begin(now)?;
            if !tx.can_edit()? {
                return Err(RestoreError::NoExchange.into());
            }
            guards.into_iter().for_each(|(path, file)| tx.guard(path, file));
            tx.edit(edit)?;
            report.operation = Some(tx.id().to_owned());
            let outcome = tx.commit(about, &finder(library))?;
            report.pending =
                outcome.pending.iter().chain(&outcome.void).map(|path| path.as_str().to_owned()).collect();
        }
        Act::Bind(bind) => {
            let (operation, pending) = bind.commit(library, about, now)?;
            (report.operation, report.pending) = (Some(operation), pending);
        }
    }
    Ok(report)
}

/// One answer, in the entries of the book.
fn apply(images: &mut Vec<EntryImage>, conflict: &Conflict, answer: &Answer) -> Result<(), ResolveError> {
    let field = if conflict.is_whole() { "whole".to_owned() } else { conflict.field.join(".") };
    let title = conflict.title.clone();
    let Some(answered) = conflict.answer(answer) else {
        return Err(ResolveError::NoAnswer { id: conflict.id(), field, title });
    };
    let held = conflict.held();
    // What stands there is the answer, whatever it has become since.
    if answered == held {
        return Ok(());
    }
    let moved_on = || ResolveError::MovedOn { field: field.clone(), title: title.clone() };
    let here = images.iter().position(|image| image.uid == conflict.uid && *image.comment == *conflict.title);
    let Some(here) = here else {
        return if answered == Answered::Nothing && conflict.is_whole() { Ok(()) } else { Err(moved_on()) };
    };
    let path: Vec<&str> = conflict.field.iter().map(String::as_str).collect();
    let now = images[here].raw().at(&path);
    let as_held = match (&held, now) {
        (Answered::Value(held), Some(now)) => now.says_the_same(Raw::trust(held)),
        (Answered::Nothing, None) => true,
        _ => false,
    };
    if !as_held && !matches!(answer, Answer::Text(_)) {
        return Err(moved_on());
    }
    if conflict.is_whole() {
        images.remove(here);
        conflict.uid.into_iter().for_each(|uid| unlist(images, uid));
        return Ok(());
    }
    let image = &images[here];
    images[here] = match (&path[..], &answered) {
        ([name], Answered::Value(value)) => image.with_field(name, Raw::trust(value)),
        ([name], Answered::Nothing) => image.without_field(name),
        (path, answered) => {
            let steps: Vec<PathPart<'_>> = path.iter().map(|name| PathPart::key(name)).collect();
            let splice = match answered {
                Answered::Value(value) => forklore_json::set(image.raw(), &steps, value).ok(),
                Answered::Nothing => forklore_json::remove(image.raw(), &steps),
            };
            let bytes = splice.ok_or_else(moved_on)?.apply(image.raw().bytes());
            EntryImage::new(image.uid, &image.comment, Raw::trust(&bytes))
        }
    };
    Ok(())
}

/// Registries do not list any more what is gone.
fn unlist(images: &mut [EntryImage], uid: i64) {
    for image in images.iter_mut().filter(|image| entry_role(&image.comment) == EntryRole::Registry) {
        let content = image.content().into_owned();
        let stays = |line: &&str| registry::line(line).is_none_or(|row| row.uid != Some(uid));
        let text = content.split('\n').filter(stays).collect::<Vec<_>>().join("\n");
        if text != content {
            *image = image.with_content(&text);
        }
    }
}
