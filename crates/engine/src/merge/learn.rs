//! `learn`: a branch of one chat with what happened in another: its lorebook as it has become there, and chosen scenes as entries.

use forklore_config::Config;
use forklore_core::adapter::{EntryRole, Keepers, entry_role, recap};
use forklore_core::fork::ForkKind;
use forklore_core::format::book::EntryImage;
use forklore_core::format::chat::Message;
use forklore_core::format::record::Learnt;
use forklore_core::merge::{Merged, Sides, Took, merge};
use forklore_core::state::{StateEntry, complete};
use forklore_fs::{PathError, VaultPath};
use forklore_json::{Raw, quote};
use forklore_vault::address::AddressError;
use forklore_vault::state::at::{StateError, Wanted};
use forklore_vault::{ChatIx, Library};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::OpenConflict;
use super::base::{self, Base, BaseKind};
use super::ill::{Ill, wanted};
use super::left::{left, timers};
use crate::fork::{self, Brought, ForkBook, ForkError, ForkPlan, ForkRequest};
use crate::history::Did;
use crate::memory::Along;
use crate::warning::Warning;

/// What is to be brought along.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LearnRequest {
    /// Address of the chat that goes on
    pub chat: String,
    /// Address of the chat whose lore comes along
    pub from: String,
    /// The last message of the branch; the last one of the chat if left out
    pub at: Option<usize>,
    /// As the other chat was at this message; at its last one if left out
    pub upto: Option<usize>,
    /// Messages of the other chat that end scenes which come along as entries
    #[serde(default)]
    pub scenes: Vec<usize>,
    /// All scenes that the other chat has played since the two parted come along as entries
    #[serde(default)]
    pub all_scenes: bool,
    /// Name of the new chat; one like SillyTavern's own is made if left out
    pub name: Option<String>,
    /// Go on although work waits in the queue
    #[serde(default)]
    pub ignore_queue: bool,
    /// Change nothing
    #[serde(default)]
    pub dry_run: bool,
}

/// What was brought along, or would be.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LearnReport {
    /// Id of the operation; nothing if it was only planned, or there was nothing to bring along
    pub operation: Option<String>,
    /// Address of the branch; nothing if there was nothing to bring along
    pub chat: Option<String>,
    /// Address of the chat that goes on
    pub parent: String,
    /// The last message of it
    pub at: usize,
    /// Address of the chat whose lore came along
    pub from: String,
    /// The last message of it that counted
    pub upto: usize,
    /// What the two had in common
    pub base: LearnBase,
    /// What is as the other chat has it; without registries and indexes, which are made anew
    pub taken: Vec<LearnTaken>,
    /// Scenes that came along as entries
    pub scenes: Vec<LearnScene>,
    /// What both have changed in different ways: the book has what the chat that goes on says
    pub conflicts: Vec<OpenConflict>,
    /// What is not brought along, in sentences
    pub left: Vec<String>,
    /// Chats that should be healed first: their lorebooks hold what is not theirs, or lack what is. Only what belongs to their own line counts
    pub heal_first: Vec<String>,
    /// The lorebook of the branch
    pub book: Option<ForkBook>,
    /// What the user should know
    pub warnings: Vec<Warning>,
    /// Files that were made or changed
    pub files: Vec<String>,
    /// Files that could not be changed yet
    pub pending: Vec<String>,
}

/// What two chats had in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LearnBase {
    /// `parted`: the state where they parted; `merged`: the state of the other chat when it was last brought along; `none`: nothing tells
    pub kind: &'static str,
    /// The message of the chat that goes on (`parted`), or of the one that was brought along (`merged`)
    pub message: Option<usize>,
}

/// Something that is as the other chat has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LearnTaken {
    /// Number of the entry
    pub uid: Option<i64>,
    /// Its title
    pub title: String,
    /// What happened to it
    pub did: Did,
    /// Fields that changed
    pub fields: Vec<String>,
}

/// A scene that came along.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LearnScene {
    /// The message of the other chat that ends it
    pub message: usize,
    /// Title of the entry
    pub title: String,
}

/// Why nothing was brought along. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// No recapped scene ends there.
    #[error("No scene of \"{chat}\" with a recap ends at message {message}")]
    NoSuchScene {
        /// The chat
        chat: String,
        /// The message
        message: usize,
    },
    /// There is no such chat.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The branch cannot be made.
    #[error(transparent)]
    Fork(#[from] ForkError),
    /// The state of a book cannot be told.
    #[error(transparent)]
    State(#[from] StateError),
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// What is worked out and not yet done.
pub struct LearnPlan {
    /// What is told of it
    pub report: LearnReport,
    fork: Option<Box<ForkPlan>>,
    /// File of the chat whose lore comes along
    from: VaultPath,
}

impl LearnPlan {
    /// The chat whose lore comes along, if it does: what it is now is what the next time goes on from.
    pub fn brings(&self) -> Option<&VaultPath> {
        self.fork.as_ref().map(|_| &self.from)
    }
}

/// Works out what is brought along. `slug` is a fresh identity, `now` the time in milliseconds since 1970.
pub fn plan(
    library: &Library,
    request: &LearnRequest,
    config: &Config,
    slug: &str,
    now: i64,
) -> Result<LearnPlan, LearnError> {
    let (a, b) = (library.find_chat(&request.chat)?, library.find_chat(&request.from)?);
    let (at, upto) = (place(library, a, request.at)?, place(library, b, request.upto)?);
    let ill = Ill::of(library, b).filter(|_| a != b);
    let mut ours = library.book_at(a, at, Wanted::default())?;
    let mut theirs = library.book_at(b, upto, wanted(ill.as_ref()))?;
    let mut base = base::find(library, a, at, b, upto)?;
    let (was, there) = (images(&ours.entries), images(&theirs.entries));
    let along = Along::of(library.chat(a), at, (library, b, upto));
    along.before(&mut base.entries, &mut ours.entries, &mut theirs.entries);
    let sides = Sides { base: &base.entries, a: &ours.entries, b: &theirs.entries, numbers: &base.numbers };
    let mut merged = merge(sides);
    let other = library.chat(b);
    let keepers =
        Keepers::new(|adapter| theirs.entries.iter().any(|e| adapter.wrote(&e.image.comment, e.image.raw())));
    unmark(&mut merged, &keepers);
    let memory = along.after(&was, &there, &mut merged.entries);
    as_held(&mut merged);
    let scenes = scenes(library, request, b, upto, &base, &mut merged.entries)?;
    let slug_of = |c: ChatIx| library.chat(c).header().slug().unwrap_or_default().into_owned();
    let learnt = Learnt {
        file: other.name().to_owned(),
        slug: slug_of(b),
        message: upto,
        moment: other.transcript().moment(upto).map(|moment| moment.to_string()).unwrap_or_default(),
        numbers: merged.numbers.clone(),
        conflicts: merged.conflicts.clone(),
    };
    let mut report = LearnReport {
        operation: None,
        chat: None,
        parent: library.address(a).to_string(),
        at,
        from: library.address(b).to_string(),
        upto,
        base: base_told(&base),
        taken: taken(&merged),
        scenes,
        conflicts: merged.conflicts.iter().map(OpenConflict::of).collect(),
        left: left(library, (a, at), (b, upto), &base, &merged)?,
        heal_first: ill.iter().map(|ill| ill.chat.clone()).collect(),
        book: None,
        warnings: ill.iter().map(Ill::warning).collect(),
        files: Vec::new(),
        pending: Vec::new(),
    };
    if merged.taken.is_empty() && report.conflicts.is_empty() && report.scenes.is_empty() {
        return Ok(LearnPlan { report, fork: None, from: other.path().clone() });
    }
    let timers = timers(library, (b, upto), &merged)?;
    let forking = ForkRequest {
        kind: Some(ForkKind::Branch),
        at: Some(at),
        name: request.name.clone(),
        ignore_queue: request.ignore_queue,
        strict: Some(false),
        copy_book: true,
        dry_run: request.dry_run,
        ..ForkRequest::of(library.address(a).to_string())
    };
    let brought = Brought {
        entries: Some(merged.entries),
        book: theirs.name.clone(),
        learnt: Some(learnt),
        more: None,
        timers,
        memory,
    };
    let mut fork = fork::plan_with(library, &forking, config, slug, now, brought)?;
    // What is brought along must be what was looked at.
    let read = theirs
        .live
        .as_ref()
        .and_then(|live| Some((library.books().get(live.name())?.clone(), live.identity()?)));
    let other = other.identity().map(|identity| (other.path().clone(), identity));
    let guards = other.into_iter().chain(read).map(|(path, identity)| (path, identity.into()));
    fork.guards.extend(guards.collect::<Vec<_>>().into_iter().filter(|_| a != b));
    report.chat = Some(fork.report.chat.clone());
    report.book = Some(fork.report.book.clone());
    report.warnings.extend(fork.report.warnings.iter().cloned());
    report.files.clone_from(&fork.report.files);
    Ok(LearnPlan { report, fork: Some(Box::new(fork)), from: library.chat(b).path().clone() })
}

/// Makes the branch, if there is something to bring along.
pub fn execute(library: &Library, plan: LearnPlan, now: i64) -> Result<LearnReport, LearnError> {
    let Some(fork) = plan.fork else { return Ok(plan.report) };
    let done = fork::execute(library, *fork, now)?;
    Ok(LearnReport { operation: done.operation, pending: done.pending, ..plan.report })
}

/// The message that is meant.
pub(super) fn place(library: &Library, c: ChatIx, at: Option<usize>) -> Result<usize, ForkError> {
    let chat = library.chat(c);
    if let Some(why) = chat.unreadable() {
        return Err(ForkError::CorruptChat { chat: chat.name().to_owned(), why: why.to_owned() });
    }
    let at = at.unwrap_or(chat.head());
    let messages = chat.transcript().len();
    if at >= messages {
        return Err(ForkError::NoSuchMessage { at, chat: chat.name().to_owned(), messages });
    }
    Ok(at)
}

fn images(entries: &[StateEntry]) -> Vec<EntryImage> {
    entries.iter().map(|entry| entry.image.clone()).collect()
}

/// What stands of a whole entry that is asked for is what the book has: whoever answers compares the two.
fn as_held(merged: &mut Merged) {
    let entries = &merged.entries;
    for asked in merged.conflicts.iter_mut().filter(|conflict| conflict.is_whole()) {
        let here = entries.iter().find(|entry| entry.uid == asked.uid && *entry.comment == *asked.title);
        let side = asked.a.as_mut().or(asked.b.as_mut());
        if let (Some(side), Some(here)) = (side, here) {
            here.raw().bytes().clone_into(side);
        }
    }
}

/// Entries that are new here do not say any more from which messages they were written: those are another line's.
fn unmark(merged: &mut Merged, keepers: &Keepers) {
    for taken in merged.taken.iter().filter(|taken| taken.what == Took::Added) {
        let here =
            merged.entries.iter_mut().find(|entry| entry.uid == taken.uid && *entry.comment == *taken.title);
        if let Some(entry) = here {
            *entry = keepers.taken_over(entry);
        }
    }
}

pub(super) fn base_told(base: &Base) -> LearnBase {
    let (kind, message) = match base.kind {
        BaseKind::Merged(message) | BaseKind::MergedThere(message) => ("merged", Some(message)),
        BaseKind::Parted(message) => ("parted", Some(message)),
        BaseKind::Unknown => ("none", None),
    };
    LearnBase { kind, message }
}

fn taken(merged: &Merged) -> Vec<LearnTaken> {
    let facts = merged.taken.iter().filter(|taken| entry_role(&taken.title) == EntryRole::Fact);
    let told = facts.map(|taken| {
        let (did, fields) = match &taken.what {
            Took::Added => (Did::Added, Vec::new()),
            Took::Changed(fields) => (Did::Changed, fields.clone()),
            Took::Removed => (Did::Removed, Vec::new()),
        };
        LearnTaken { uid: taken.uid, title: taken.title.clone(), did, fields }
    });
    told.collect()
}

/// The scenes that were chosen, as new entries.
fn scenes(
    library: &Library,
    request: &LearnRequest,
    b: ChatIx,
    upto: usize,
    base: &Base,
    entries: &mut Vec<EntryImage>,
) -> Result<Vec<LearnScene>, LearnError> {
    let other = library.chat(b);
    let parted = base.common.map_or(0, |(_, last)| last + 1);
    let recapped = other.facts().scenes.iter().filter(|(message, scene)| scene.recapped && *message <= upto);
    let recapped: Vec<(usize, Option<&str>)> =
        recapped.map(|(m, scene)| (*m, scene.name.as_deref())).collect();
    let chosen: Vec<usize> = if request.all_scenes {
        recapped.iter().map(|(message, _)| *message).filter(|message| *message >= parted).collect()
    } else {
        request.scenes.clone()
    };
    let mut told = Vec::new();
    for message in chosen {
        let missing = || LearnError::NoSuchScene { chat: other.name().to_owned(), message };
        let (_, name) = recapped.iter().find(|(at, _)| *at == message).ok_or_else(missing)?;
        let line = library.message_line(b, message)?.unwrap_or_default();
        let text = Message::parse(&line).ok().and_then(recap::text).ok_or_else(missing)?;
        let what = name.map_or_else(|| format!("scene at message {message}"), str::to_owned);
        let title = format!("From {}: {what}", other.name());
        // Whoever brought it along before has it.
        if entries.iter().any(|entry| *entry.comment == *title) {
            continue;
        }
        let uid = (0..).find(|uid| !entries.iter().any(|entry| entry.uid == Some(*uid))).unwrap_or(0);
        entries.push(scene_entry(uid, &title, &text));
        told.push(LearnScene { message, title });
    }
    Ok(told)
}

/// A recap as an entry that is always active: nobody knows by which words it would be called for.
pub(in crate::merge) fn scene_entry(uid: i64, title: &str, text: &str) -> EntryImage {
    let json = [
        format!(r#"{{"uid":{uid},"comment":"#).as_bytes(),
        &quote(title),
        br#","content":"#,
        &quote(text),
        br#","constant":true,"addMemo":true}"#,
    ]
    .concat();
    complete(&EntryImage::new(Some(uid), title, Raw::trust(&json)), None).0
}
