//! What is remembered, written into a chat and its book as one operation: scenes into messages, the recap and the record into the header,
//! entries into a book of the chat's own.

use std::collections::HashSet;

use forklore_core::adapter::own::{OwnEntry, OwnScene, OwnVersion, Role};
use forklore_core::adapter::{self, OWN};
use forklore_core::fork::book::{Content, assemble, fingerprint};
use forklore_core::fork::names::{self, BookStyle};
use forklore_core::format::book::{Book as ParsedBook, EntryImage};
use forklore_core::format::chat::Message;
use forklore_core::format::revision::Revision;
use forklore_fs::{Part, VaultPath};
use forklore_journal::operation::{Edit, FileId, Json, JsonChange, Kind, Place};
use forklore_journal::{About, layout};
use forklore_json::Raw;
use forklore_memory::Standing;
use forklore_vault::{Book, Library};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;

use super::drawn::Drawn;
use super::error::MemoryError;
use super::shape::{Numbers, entries};
use super::survey::Survey;
use crate::finder::finder;
use crate::header::{edit_of, rebind};
use crate::memory_record::{MemoryRecord, WrittenScene};
use crate::pending::PendingEdit;
use crate::restore::RestoreError;

/// What was written, or would be.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MemoryReport {
    /// Id of the operation; nothing if it was only planned, or everything is written already
    pub operation: Option<String>,
    /// Address of the chat
    pub chat: String,
    /// Name of its lorebook
    pub book: Option<String>,
    /// Scenes that are remembered
    pub scenes: usize,
    /// Entries that memory has in the book
    pub entries: usize,
    /// Files that were made or changed
    pub files: Vec<String>,
    /// Files that could not be changed yet
    pub pending: Vec<String>,
    /// What was changed in the chat's own file, and where its header is in another one, for a page that has them in memory: its next save
    /// would go over it
    pub edits: Vec<PendingEdit>,
}

/// What is worked out and not yet done.
pub struct MemoryPlan {
    /// What is told of it
    pub report: MemoryReport,
    summary: String,
    new_book: Option<(VaultPath, Vec<u8>)>,
    edits: Vec<Edit>,
    guards: Vec<(VaultPath, FileId)>,
}

impl MemoryPlan {
    /// Whether everything is written already.
    pub fn is_nothing(&self) -> bool {
        self.edits.is_empty() && self.new_book.is_none()
    }
}

/// Works out what has to be written so that the files say what is remembered. While something is asked again that was written once, what
/// was written stays.
pub fn plan(library: &Library, survey: &Survey, now: i64) -> Result<MemoryPlan, MemoryError> {
    let chat = library.chat(survey.c);
    let standing = &survey.memory.standing;
    let mut report = MemoryReport {
        operation: None,
        chat: library.address(survey.c).to_string(),
        book: chat.book().map(|(name, _)| name.to_owned()),
        scenes: standing.len(),
        entries: 0,
        files: Vec::new(),
        pending: Vec::new(),
        edits: Vec::new(),
    };
    // What has to be asked first may be what was written once; then that stays for now.
    let fewer = standing.len() < survey.record.scenes.len();
    if (fewer && !survey.memory.missing.is_empty())
        || (standing.is_empty() && survey.record.scenes.is_empty())
    {
        let (summary, new_book, edits, guards) = Default::default();
        return Ok(MemoryPlan { report, summary, new_book, edits, guards });
    }
    let target = Target::of(library, survey)?;
    let mut record = survey.record.clone();
    let mut numbers = Numbers::new(&mut record.uids, &target.others);
    let last = standing.last().map(|last| with_decisions(survey, last));
    let mut images = target.images(&last.map(|last| entries(&last, &mut numbers)).unwrap_or_default());
    images.extend(waiting(survey, &images, &target.own));
    report.entries = images.len();
    report.book = Some(target.name.clone());
    let (scenes, messages) = scenes(library, survey, &target, &mut numbers, now)?;
    // A scene that was written and is another one by now: the recap as one text has to be asked anew.
    if scenes.iter().zip(&record.scenes).any(|(now, before)| now.keys != before.keys) {
        record.combined = None;
    }
    record.scenes = scenes;
    record.written = images.iter().map(|image| image.comment.to_string()).collect();
    let mut edits = messages;
    edits.extend(moved(library, survey)?);
    let (new_book, book_edit) = target.write(&images);
    edits.extend(book_edit);
    let mut revisions = Vec::new();
    if let Some((_, bytes)) = &new_book {
        record.made = ParsedBook::parse(bytes).ok().map(|book| fingerprint(&book));
        let all: Vec<EntryImage> = target.others.iter().chain(&images).cloned().collect();
        revisions.extend(rebind(library, survey.c, &target.name, &all)?);
    }
    let metadata = chat.header().metadata();
    let versions = standing.iter().zip(&record.scenes).map(|(standing, written)| OwnVersion {
        last: written.last,
        clock: written.clock,
        content: standing.recap.text(),
        taken: written.taken,
    });
    let versions: Vec<OwnVersion> = versions.collect();
    let mut recap = OWN.own_versions(metadata, &versions, chat.name());
    if let Some((_, text, messages)) = &survey.combined {
        recap.push(OWN.own_combined(text, *messages, now, chat.name()));
        record.combined = record.scenes.last().map(|scene| scene.last);
    }
    // A chat that was only played on, or forked, needs no operation to say so.
    if edits.is_empty() && new_book.is_none() {
        record.written.clone_from(&survey.recorded.written);
    }
    if record != survey.recorded || !edits.is_empty() || new_book.is_some() {
        record.head = chat.head();
    }
    recap.push(record.revision());
    // What is there already needs no operation.
    recap.retain(|revision| !says(chat.header().raw(), revision));
    revisions.extend(recap);
    if !revisions.is_empty() {
        let corrupt = || RestoreError::CorruptHeader(chat.name().to_owned());
        edits.push(edit_of(chat, revisions, new_book.is_some()).ok_or_else(corrupt)?);
    }
    report.files = new_book
        .iter()
        .map(|(path, _)| path)
        .chain(edits.iter().map(|edit| &edit.target))
        .map(|path| path.as_str().to_owned())
        .collect();
    report.files.dedup();
    let mut guards: Vec<(VaultPath, FileId)> = Vec::new();
    guards.extend(chat.identity().map(|identity| (chat.path().clone(), identity.into())));
    guards.extend(target.guard(library));
    let summary = format!("wrote down what is remembered of {} ({} scenes)", report.chat, report.scenes);
    Ok(MemoryPlan { report, summary, new_book, edits, guards })
}

/// Writes it.
pub fn execute(
    library: &Library,
    survey: &Survey,
    plan: MemoryPlan,
    now: i64,
) -> Result<MemoryReport, MemoryError> {
    if plan.is_nothing() {
        return Ok(plan.report);
    }
    let mut report = plan.report;
    let mut tx = library.begin(now).map_err(RestoreError::from)?;
    if !tx.can_edit().map_err(RestoreError::from)? {
        return Err(RestoreError::NoExchange.into());
    }
    if let Some((path, bytes)) = &plan.new_book {
        tx.publish(path.clone(), &[Part::Bytes(bytes)], &library.models_of_book(survey.c))
            .map_err(RestoreError::from)?;
    }
    plan.guards.into_iter().for_each(|(path, file)| tx.guard(path, file));
    let chat = library.chat(survey.c);
    let header = chat.kept().map_or(chat.path(), |(file, _)| file);
    let of_chat = plan.edits.iter().filter(|edit| edit.target == *chat.path() || edit.target == *header);
    let told = |edit: &Edit| PendingEdit::of(library, tx.id(), Some(report.chat.clone()), edit);
    report.edits = of_chat.map(told).collect();
    for edit in plan.edits {
        tx.edit(edit).map_err(RestoreError::from)?;
    }
    report.operation = Some(tx.id().to_owned());
    let about =
        About { kind: Kind::Memory, chat: Some(report.chat.clone()), summary: plan.summary, undoes: None };
    let outcome = tx.commit(about, &finder(library)).map_err(RestoreError::from)?;
    report.pending =
        outcome.pending.iter().chain(&outcome.void).map(|path| path.as_str().to_owned()).collect();
    Ok(report)
}

/// Refuses where another extension keeps the chat's memory: before anything is asked.
pub fn allowed(library: &Library, survey: &Survey) -> Result<(), MemoryError> {
    Target::of(library, survey).map(drop)
}

/// Writes down what was decided about a chat's memory, and nothing else.
pub fn decided(
    library: &Library,
    survey: &Survey,
    record: &MemoryRecord,
    what: &str,
    now: i64,
) -> Result<MemoryReport, MemoryError> {
    let chat = library.chat(survey.c);
    let corrupt = || RestoreError::CorruptHeader(chat.name().to_owned());
    let mut report = MemoryReport {
        operation: None,
        chat: library.address(survey.c).to_string(),
        book: chat.book().map(|(name, _)| name.to_owned()),
        scenes: survey.memory.standing.len(),
        entries: 0,
        files: Vec::new(),
        pending: Vec::new(),
        edits: Vec::new(),
    };
    if *record == survey.recorded {
        return Ok(report);
    }
    let edit = edit_of(chat, vec![record.revision()], false).ok_or_else(corrupt)?;
    report.files.push(edit.target.as_str().to_owned());
    let summary = format!("{what} {}", report.chat);
    let guards = chat.identity().map(|identity| (chat.path().clone(), identity.into())).into_iter().collect();
    let plan = MemoryPlan { report, summary, new_book: None, edits: vec![edit], guards };
    execute(library, survey, plan, now)
}

/// Entries that say something else by now, of which no version was approved that could be shown: they stay as they were.
fn waiting(survey: &Survey, shown: &[EntryImage], before: &[EntryImage]) -> Vec<EntryImage> {
    let titles: HashSet<String> = survey.proposals.iter().map(|proposal| proposal.entity.title()).collect();
    let shown: HashSet<&str> = shown.iter().map(|entry| &*entry.comment).collect();
    let waits = |entry: &&EntryImage| {
        OWN.edited(entry).is_some() && titles.contains(&*entry.comment) && !shown.contains(&*entry.comment)
    };
    before.iter().filter(waits).cloned().collect()
}

/// The last scene's state, with what was decided after it.
fn with_decisions(survey: &Survey, last: &Standing) -> Standing {
    Standing { entities: survey.memory.entities.clone(), ..last.clone() }
}

/// The scenes of the record, and the edits of messages that end them. What is written from the same answers is not written again.
fn scenes(
    library: &Library,
    survey: &Survey,
    target: &Target,
    numbers: &mut Numbers<'_>,
    now: i64,
) -> Result<(Vec<WrittenScene>, Vec<Edit>), MemoryError> {
    let chat = library.chat(survey.c);
    let (mut written, mut edits) = (Vec::new(), Vec::new());
    let mut drawn = Drawn::default();
    let mut same = true;
    for (i, standing) in survey.memory.standing.iter().enumerate() {
        let before = survey.record.scenes.get(i);
        let last = standing.scene.last();
        same = same && before.is_some_and(|b| b.last == last && b.keys == standing.rests_on);
        // Which of two scenes left the book later is told by their times: no two are the same.
        let after = written.last().map_or(i64::MIN, |before: &WrittenScene| before.clock + 1);
        let clock = before.map_or(now, |before| before.clock).max(after);
        let taken = same && before.is_some_and(|before| before.taken);
        written.push(WrittenScene { last, clock, keys: standing.rests_on.clone(), taken });
        if taken {
            continue;
        }
        let Some((line, row)) = library.message_line(survey.c, last)?.zip(chat.transcript().row(last)) else {
            continue;
        };
        let Ok(message) = Message::parse(&line) else { continue };
        let sightings = adapter::scene(message).map(|(_, sightings)| sightings).unwrap_or_default();
        if same && !sightings.is_empty() {
            continue;
        }
        let own = entries(standing, numbers);
        let old = sightings.last().map(|sighting| sighting.entries.clone()).unwrap_or_default();
        // What people had beside memory's entries when the scene was first written; now, if it is new.
        let others = match (before, sightings.into_iter().last()) {
            (Some(_), Some(sighting)) => {
                sighting.entries.into_iter().filter(|entry| OWN.edited(entry).is_none()).collect()
            }
            _ => target.others.clone(),
        };
        let mut all = drawn.images(&own, |entry| target.image(entry));
        all.extend(waiting(survey, &all, &old));
        all.extend(others);
        let wrote = wrote(survey, i, &own);
        let learnt: Vec<(String, String, Vec<String>)> = standing
            .facts
            .learnt
            .iter()
            .map(|learnt| {
                let lines = learnt.facts.iter().map(|said| said.text.clone()).collect();
                (learnt.kind.clone(), learnt.name.clone(), lines)
            })
            .collect();
        let facts = &standing.facts;
        let title = if facts.title.is_empty() { "Scene" } else { &facts.title };
        let scene = OwnScene {
            title,
            first: standing.scene.messages.start,
            last,
            clock,
            developments: &facts.happened,
            open: &facts.open,
            state: &facts.state,
            resolved: &facts.resolved,
            entities: &learnt,
            book: &target.name,
            entries: &drawn.snapshots(&all, &target.name),
            wrote: &wrote,
        };
        let (key, value) = OWN.own_scene(&scene, message.extra());
        let change =
            Json::new(&value).and_then(|to| JsonChange::set_in(message.raw(), &["extra", key], Some(to)));
        let place = Place::Message { index: last, id: row.id.0 };
        edits.extend(change.map(|change| Edit::new(chat.path().clone(), place, vec![change])));
    }
    Ok((written, edits))
}

/// Edits of messages that ended a scene once and do not any more.
fn moved(library: &Library, survey: &Survey) -> Result<Vec<Edit>, MemoryError> {
    let chat = library.chat(survey.c);
    let ends: HashSet<usize> = survey.memory.standing.iter().map(|standing| standing.scene.last()).collect();
    let mut edits = Vec::new();
    for (at, _) in chat.facts().scenes.iter().filter(|(at, _)| !ends.contains(at)) {
        let Some((line, row)) = library.message_line(survey.c, *at)?.zip(chat.transcript().row(*at)) else {
            continue;
        };
        let Ok(message) = Message::parse(&line) else { continue };
        let Some((key, to)) = OWN.no_scene(message.extra()) else { continue };
        let to = to.and_then(|to| Json::new(&to));
        let change = JsonChange::set_in(message.raw(), &["extra", key], to);
        let place = Place::Message { index: *at, id: row.id.0 };
        edits.extend(change.map(|change| Edit::new(chat.path().clone(), place, vec![change])));
    }
    Ok(edits)
}

/// Numbers of the entries that a scene changed.
fn wrote(survey: &Survey, i: usize, own: &[OwnEntry]) -> Vec<i64> {
    let touched: HashSet<String> = survey.memory.standing[i]
        .entities
        .iter()
        .filter(|entity| entity.scenes().contains(&i))
        .map(|entity| entity.title())
        .collect();
    own.iter()
        .filter(|entry| entry.role == Role::Fact && touched.contains(&entry.title))
        .map(|entry| entry.uid)
        .collect()
}

/// The book that memory writes into.
struct Target {
    name: String,
    path: VaultPath,
    /// The chat's own book, if it can be written into as it is
    live: Option<Arc<Book>>,
    /// Its entries that are not memory's, or those that a new book starts with
    others: Vec<EntryImage>,
    /// Those that are
    own: Vec<EntryImage>,
}

impl Target {
    /// The chat's own book; a new one with a copy of what it is bound to, if others use that, too.
    fn of(library: &Library, survey: &Survey) -> Result<Self, MemoryError> {
        let chat = library.chat(survey.c);
        let bound = match chat.book() {
            Some((name, stem)) => library.open_book(name)?.map(|book| (name, stem, book)),
            None => None,
        };
        let images = bound.as_ref().map(|(.., book)| book.images()).unwrap_or_default();
        let is_own = |entry: &EntryImage| {
            // What was taken over is not marked before it is first written.
            (OWN.edited(entry).is_some() || survey.record.taken.is_some())
                && entry.uid.is_some()
                && survey.record.uids.get(&*entry.comment).copied() == entry.uid
        };
        let (own, others): (Vec<EntryImage>, Vec<EntryImage>) =
            images.into_iter().partition(|entry| is_own(entry));
        let keeper = bound.as_ref().and_then(|(.., book)| book.keeper());
        if let Some(keeper) = keeper.filter(|_| own.is_empty() && survey.record.taken.is_none()) {
            return Err(MemoryError::Kept { chat: chat.name().to_owned(), keeper: keeper.name().to_owned() });
        }
        let mine = bound.filter(|(_, stem, book)| {
            library.users_of(stem) == [survey.c] && book.parse().is_ok_and(|book| !book.is_list())
        });
        if let Some((name, stem, book)) = mine {
            let path = library.books().get(stem).cloned().unwrap_or_default();
            return Ok(Self { name: name.to_owned(), path, live: Some(book), others, own });
        }
        let used: HashSet<String> = library.books().keys().map(|stem| stem.to_lowercase()).collect();
        let taken = |stem: &str| used.contains(&stem.to_lowercase());
        let character = library.story(chat.story()).name();
        let style = BookStyle::Template { template: "{{char}} - {{chat}} - memory", character };
        let name = names::book(style, chat.name(), &taken);
        let path = layout::book(&name).map_err(|_| RestoreError::NameTaken(name.clone()))?;
        Ok(Self { name, path, live: None, others, own })
    }

    /// Memory's entries as they become there.
    fn images(&self, entries: &[OwnEntry]) -> Vec<EntryImage> {
        entries.iter().map(|entry| self.image(entry)).collect()
    }

    fn image(&self, entry: &OwnEntry) -> EntryImage {
        OWN.own_entry(entry, self.own.iter().find(|live| live.uid == Some(entry.uid)))
    }

    /// A new book, or what changes in the one that is there.
    fn write(&self, images: &[EntryImage]) -> (Option<(VaultPath, Vec<u8>)>, Option<Edit>) {
        let Some(book) = &self.live else {
            let all: Vec<EntryImage> = self.others.iter().chain(images).cloned().collect();
            let bytes = assemble(Content::Entries { over: None, entries: &all }, &self.name);
            return (Some((self.path.clone(), bytes)), None);
        };
        let Ok(parsed) = book.parse() else { return (None, None) };
        let mut changes = Vec::new();
        for image in images {
            let Some(uid) = image.uid else { continue };
            let now = self.own.iter().find(|entry| entry.uid == Some(uid));
            if now == Some(image) {
                continue;
            }
            changes.extend(set(&parsed, uid, Some(image)));
        }
        for gone in self.own.iter().filter(|entry| !images.iter().any(|image| image.uid == entry.uid)) {
            changes.extend(gone.uid.and_then(|uid| set(&parsed, uid, None)));
        }
        let edit = (!changes.is_empty()).then(|| Edit::new(self.path.clone(), Place::Document, changes));
        (None, edit)
    }

    fn guard(&self, library: &Library) -> Option<(VaultPath, FileId)> {
        let book = self.live.as_ref()?;
        library.books().get(book.name()).cloned().zip(book.identity().map(FileId::from))
    }
}

/// The change that puts an entry into a book, or takes it out.
fn set(book: &ParsedBook<'_>, uid: i64, image: Option<&EntryImage>) -> Option<JsonChange> {
    let to = match image {
        Some(image) => Some(Json::new(image.raw().bytes())?),
        None => None,
    };
    JsonChange::set_in(book.raw(), &["entries", &uid.to_string()], to)
}

/// Whether a header says what a revision would make it say.
fn says(header: Raw<'_>, revision: &Revision) -> bool {
    let path: Vec<&str> = revision.path.iter().map(String::as_str).collect();
    header.at(&path).map(Raw::bytes) == revision.to.as_deref()
}
