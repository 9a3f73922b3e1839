//! [`plan`]: everything about a fork, worked out; nothing done.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use forklore_config::{Config, Undated};
use forklore_core::adapter::notes::CheckpointState;
use forklore_core::adapter::settings::Fate;
use forklore_core::adapter::{self, Adapter, EntryRole, Keepers, entry_role, recap, registry};
use forklore_core::fork::book::{self as new_book, Content};
use forklore_core::fork::header::{self as core_header, Revision};
use forklore_core::fork::names::{self, BookStyle, TemplateValues};
use forklore_core::fork::{ForkKind, swipe};
use forklore_core::format::book::{Book, EntryImage};
use forklore_core::format::chat::Message;
use forklore_core::format::names::{book_stem, chat_stem};
use forklore_core::format::record::{ForkRecord, RECORD_VERSION};
use forklore_core::state::{Contamination, StateEntry};
use forklore_core::story::lineage::{Link, ParentNote};
use forklore_core::story::swipe_moments;
use forklore_fs::{OpenFile, PathError, VaultPath, Vfs};
use forklore_journal as journal;
use forklore_journal::layout;
use forklore_journal::operation::{Edit, FileId, Json, JsonChange, Listed, Place};
use forklore_json::Raw;
use forklore_vault::address::Address;
use forklore_vault::state::at::{BookAt, SourceKind, Wanted};
use forklore_vault::{Library, StoryKind};
use serde_json::json;

use super::header::{Binding, revise};
use super::refuse::{Surroundings, before, judge};
use super::{ForkBook, ForkCombined, ForkError, ForkRecap, ForkReport, Request};
use crate::bring::Bring;
use crate::chat_settings;
use crate::show::{ShowLeftOut, why};
use crate::warning::{Warning, WarningCode};

/// A fork that is worked out and not yet made.
pub struct ForkPlan {
    /// What is told of it
    pub report: ForkReport,
    /// File of the fork
    pub(super) target: VaultPath,
    /// Its header line
    pub(crate) header: Vec<u8>,
    /// Number of the parent
    pub(super) chat: usize,
    /// The parent's file, where to find it, which it was when the plan was made, and what of it comes along
    pub(super) fs: Arc<dyn Vfs>,
    pub(super) parent: VaultPath,
    pub(super) body: Range<u64>,
    /// Its last line, if not the parent's
    pub(super) last: Option<Vec<u8>>,
    /// File and content of its book
    pub(super) book: Option<(VaultPath, Arc<Vec<u8>>)>,
    /// Files that tell whose the book is to be
    pub(super) models: Vec<VaultPath>,
    /// Edits of files that SillyTavern writes, too
    pub(crate) edits: Vec<Edit>,
    /// Files that must not change before it happens
    pub(super) guards: Vec<(VaultPath, FileId)>,
    /// The new chat's slug
    pub(super) slug: String,
    /// What it is a past state of, if it is one
    pub(super) restored: Option<Restored>,
    /// Images and files that come back with a past state
    pub(crate) media: Bring,
}

impl ForkPlan {
    /// Everything that the fork links to and that is gone comes back with it, if history kept it with the chat `of`.
    pub(crate) fn bring(
        &mut self,
        library: &Library,
        of: &VaultPath,
        until: Option<u64>,
    ) -> Result<(), PathError> {
        let file = self.fs.open(&self.parent)?;
        self.media = Bring::with(library, &*file, Some(self.body.end), of, until)?;
        self.report.files.extend(self.media.paths().map(|path| path.as_str().to_owned()));
        self.report.warnings.extend(self.media.warning());
        Ok(())
    }

    /// The name of the fork.
    pub(crate) fn name(&self) -> &str {
        let file = self.target.name();
        file.strip_suffix(".jsonl").unwrap_or(file)
    }
}

/// What a fork brings back that is not in its parent any more.
#[derive(Debug, Clone)]
pub(crate) struct Restored {
    /// The observation that it is from
    pub(crate) seq: u64,
    /// The last message that the parent still has
    pub(crate) message: usize,
    /// The moment of that message
    pub(crate) moment: String,
    /// The parent's slug, as it is now
    pub(crate) parent_slug: String,
    /// Whether the book comes along as it was, whatever is known of it
    pub(crate) as_it_was: bool,
}

/// Works a fork out. `slug` is a fresh identity for it, `now` the time in milliseconds since 1970.
pub fn plan(
    library: &Library,
    request: &Request,
    config: &Config,
    slug: &str,
    now: i64,
) -> Result<ForkPlan, ForkError> {
    plan_of(library, request, config, slug, now, None)
}

/// As [`plan`], of a chat in a library of the past.
pub(crate) fn plan_of(
    library: &Library,
    request: &Request,
    config: &Config,
    slug: &str,
    now: i64,
    restored: Option<Restored>,
) -> Result<ForkPlan, ForkError> {
    let waiting = before(library, request)?;
    let name = &fork_name(library, request, config)?;
    plan_as(library, request, config, slug, now, Settled { waiting, name, restored })
}

/// Works a fork out whose name SillyTavern has chosen already.
pub(crate) fn plan_named(
    library: &Library,
    request: &Request,
    config: &Config,
    slug: &str,
    now: i64,
    name: &str,
) -> Result<ForkPlan, ForkError> {
    let waiting = before(library, request)?;
    plan_as(library, request, config, slug, now, Settled { waiting, name, restored: None })
}

/// What is settled about a fork before it is worked out.
struct Settled<'a> {
    /// How much work waits in the queue
    waiting: usize,
    /// Its name
    name: &'a str,
    /// What it is a past state of, if it is one
    restored: Option<Restored>,
}

fn plan_as(
    library: &Library,
    request: &Request,
    config: &Config,
    slug: &str,
    now: i64,
    settled: Settled<'_>,
) -> Result<ForkPlan, ForkError> {
    let Settled { waiting, name, restored } = settled;
    let c = request.chat;
    let chat = &library.chats[c];
    let line = library.message_line(c, request.at)?.unwrap_or_default();
    let message = Message::new(Raw::parse(&line).unwrap_or(Raw::NULL));
    let last = request.swipe.map(|k| other_swipe(request, message, k)).transpose()?.flatten();
    // What was told of the shown swipe is not told of another one: the state is that of the message before.
    let state_at = if last.is_some() { request.at.saturating_sub(1) } else { request.at };
    let wanted = Wanted {
        undated: config.fork.undated == Undated::Carry,
        unfinished: waiting == 0,
        head: last.is_none(),
        fill: false,
    };
    let found = match &restored {
        Some(Restored { as_it_was: true, .. }) => library.book_as_it_is(c)?,
        _ => library.book_at(c, state_at, wanted)?,
    };
    let scene_of = |line: &Vec<u8>| {
        let (scene, sightings) = adapter::scene(Message::new(Raw::trust(line)))?;
        let mut chosen = sightings.iter().filter(|seen| seen.version == scene.current);
        let snapshot = chosen.any(|seen| !seen.entries.is_empty());
        Some((scene, snapshot))
    };
    let swiped = last.as_ref().map(scene_of);
    let around = {
        let running = chat.running.as_ref();
        let projection = running.map(|r| r.project(state_at, &|version| library.scene_of(c, version)));
        let shown = swiped.as_ref().map(|shown| shown.as_ref().map(|(scene, snapshot)| (scene, *snapshot)));
        Surroundings::of(library, c, request.at, shown, projection.as_ref())
    };
    let mut warnings = judge(request, config, &around, &found)?;
    if waiting > 0 {
        let message = format!(
            "What waits in the queue ({waiting}) stayed with the parent: what it would write is not in the fork"
        );
        warnings.push(Warning { code: WarningCode::QueueIgnored, message });
    }
    if request.kind == ForkKind::Checkpoint && request.link && config.fork.link_parent {
        let mut links = chat.facts.links();
        let flag = links.find(|(message, link, _)| *message == request.at && *link == Link::Bookmark);
        // One that leads nowhere is no loss.
        if let Some(old) = flag.and_then(|(_, _, name)| library.named(chat.story, &chat_stem(name))) {
            let old = &library.chats[old].name;
            let message = format!(
                "The flag of message {} led to \"{old}\", and leads to the new checkpoint now; \"{old}\" is still there",
                request.at
            );
            warnings.push(Warning { code: WarningCode::FlagReplaced, message });
        }
    }
    let stem = chat.book_stem().unwrap_or_default();
    let machine_kept = found.live.is_some() && library.is_machine_kept(stem)?;
    if found.source.kind == SourceKind::Head && machine_kept {
        warn_of_stains(&library.contamination(c)?, &mut warnings);
    }
    let book = plan_book(library, request, config, name, &found, &mut warnings)?;
    // Read as SillyTavern will: what is wrong with it is found before anything is written.
    let read = book.buffer().map(|bytes| Book::parse(bytes)).transpose();
    let read = read.map_err(|e| ForkError::NotVerified(e.to_string()))?;
    let images = read.as_ref().zip(book.buffer()).map(|(read, buffer)| read.images_of(buffer));
    let images: Vec<EntryImage> = images.unwrap_or_default();
    check_registries(&images, &found, &mut warnings);
    let binding = match &book {
        BookPlan::Own { name, .. } => Binding::Own { name, entries: &images },
        BookPlan::Shared => Binding::Same,
        BookPlan::None => Binding::Unbound,
    };
    let revised = revise(library, c, state_at, name, &binding, true)?;
    let file = library.fs.open(&chat.path)?;
    let (header_end, carriage_return) = header_end(library, c, &*file)?;
    let row = chat.transcript.row(request.at).unwrap_or_default();
    if row.start < header_end || row.len == 0 {
        // What is remembered of the chat is torn, and the chat itself could not be read again.
        let why = format!("message {} cannot be found in it", request.at);
        return Err(ForkError::CorruptChat { chat: chat.name.clone(), why });
    }
    let body_end = if last.is_some() { row.start } else { row.start + u64::from(row.len) };
    let moment = match (&last, request.swipe) {
        (Some(_), Some(k)) => swipe_moments(chat.transcript.moment_before(request.at), message)
            .get(k)
            .copied()
            .unwrap_or_default(),
        _ => row.moment,
    };

    let mut revisions =
        vec![Revision::text(&["integrity"], slug), Revision::text(&["main_chat"], &chat.name)];
    revisions.extend(revised.revisions);
    let header = Some(chat.header().raw()).filter(|raw| *raw != Raw::NULL);
    let broken = |e: forklore_json::EditError| ForkError::CorruptChat {
        chat: chat.name.clone(),
        why: format!("its header cannot be edited ({e})"),
    };
    let so_far = core_header::apply(header, &revisions).map_err(broken)?;
    let metadata = Raw::trust(&so_far).get("chat_metadata").unwrap_or(Raw::NULL);
    let texts: Vec<String> = warnings.iter().map(|w| w.message.clone()).collect();
    let shown = last.as_deref().map_or(message, |line| Message::new(Raw::trust(line)));
    let scene_name = around.scene.and_then(|scene| scene.name.as_deref());
    let state = CheckpointState {
        now,
        message: request.at,
        chat: name,
        queue_was_empty: waiting == 0,
        has_scene_break: around.scene.is_some(),
        scene_name,
        scene_recap: recap::stored(shown).map(Raw::bytes),
        book: book.name(),
        entries: images.len(),
        reconstructed: matches!(found.source.kind, SourceKind::Scene),
        original_book: chat.book.as_ref().map(|(name, _)| name.as_str()),
        warnings: &texts,
    };
    let mut more: Vec<Revision> =
        adapter::ALL.iter().flat_map(|adapter| adapter.checkpoint(&state, metadata)).collect();
    let record = record(
        library,
        request,
        name,
        slug,
        now,
        &moment.to_string(),
        &book,
        read.as_ref(),
        metadata,
        restored.as_ref(),
    );
    let left_out = left_out(library, &found);
    let archive: Vec<(&str, Vec<u8>)> = revised.archive.iter().map(|(k, v)| (*k, v.clone())).collect();
    let kept = [
        ("inherited", json!(revised.inherited).to_string().into_bytes()),
        ("archive", core_header::object(&with_queue(archive, &found))),
    ];
    let about_book = [
        ("from", json!(chat.book.as_ref().map(|(name, _)| name)).to_string().into_bytes()),
        ("source", serde_json::to_vec(&crate::show::ShowSource::from(found.source)).unwrap_or_default()),
        ("left_out", serde_json::to_vec(&left_out).unwrap_or_default()),
        ("undated", json!(undated(&found)).to_string().into_bytes()),
    ];
    more.push(Revision::set(&["forklore"], record.write(&about_book, &kept)));
    let mut header = core_header::apply(Some(Raw::trust(&so_far)), &more).map_err(broken)?;
    if carriage_return {
        header.push(b'\r');
    }
    if chat.kept.is_none() && body_end.saturating_sub(header_end) > 1 << 20 {
        journal::pad(&mut header, header_end);
    }

    let (target, address) = place(library, c, name)?;
    // Where older versions keep the metadata of a group's chats, a fork has it in the same place.
    let kept = chat.kept.is_some().then(|| std::mem::take(&mut header));
    let edits = edits(library, request, config, name, kept.as_deref())?;
    let running = chat.running.as_ref();
    let projection = revised.projection.unwrap_or_default();
    let current = projection.current.and_then(|i| running?.versions.get(i));
    let mut files: Vec<String> = Vec::new();
    files.extend(book.path().map(|path| path.as_str().to_owned()));
    files.push(target.as_str().to_owned());
    files.extend(edits.iter().map(|edit: &Edit| edit.target.as_str().to_owned()));
    // The past does not change while we look at it.
    let mut guards: Vec<(VaultPath, FileId)> = Vec::new();
    guards.extend(chat.identity.filter(|_| restored.is_none()).map(|id| (chat.path.clone(), id.into())));
    if let (Some(live), BookPlan::Own { .. }, None) = (&found.live, &book, &restored)
        && let (Some(path), Some(id)) = (library.books.get(&live.name), live.identity)
    {
        guards.push((path.clone(), id.into()));
    }
    let of_story = |comment: &str| entry_role(comment) == EntryRole::Fact;
    let (entries, facts) = match &book {
        BookPlan::Shared => {
            let live = found.live.as_ref().and_then(|book| book.parse().ok());
            live.map_or((0, 0), |book| {
                let facts = book.entries().iter().filter(|entry| of_story(&entry.comment())).count();
                (book.entries().len(), facts)
            })
        }
        _ => (images.len(), images.iter().filter(|image| of_story(&image.comment)).count()),
    };
    let report = ForkReport {
        operation: None,
        kind: request.kind,
        chat: address.to_string(),
        parent: library.address(c).to_string(),
        at: request.at,
        swipe: request.swipe,
        moment: moment.to_string(),
        book: ForkBook {
            name: match &book {
                BookPlan::Shared => found.name.clone(),
                other => other.name().map(str::to_owned),
            },
            from: found.name.clone(),
            entries,
            facts,
            source: found.source.into(),
            shared: matches!(book, BookPlan::Shared),
            undated: undated(&found).len(),
            left_out,
            scenes_naming_parent: naming_parent(library, c, request.at, &book),
        },
        running_recap: ForkRecap {
            current_version: current.map(|version| version.version),
            versions: projection.kept.len(),
            scenes: projection.current.and_then(|i| recap::versions(chat.header().metadata()).get(i)?.scenes),
            archived: projection.dropped.len(),
        },
        combined_recap: revised.combined.map(|r| ForkCombined { message_count: r.message_count }),
        inherited: revised.inherited,
        notes: revised.note.into_iter().collect(),
        warnings,
        files,
        pending: Vec::new(),
    };
    Ok(ForkPlan {
        report,
        target,
        header,
        chat: c,
        models: library.models_of_book(c),
        fs: library.fs.clone(),
        parent: chat.path.clone(),
        body: header_end..body_end,
        last,
        book: match book {
            BookPlan::Own { path, bytes, .. } => Some((path, bytes)),
            _ => None,
        },
        edits,
        guards,
        slug: slug.to_owned(),
        restored,
        media: Bring::default(),
    })
}

/// The line of the last message with another swipe shown; nothing if it is the one that is shown anyway.
fn other_swipe(request: &Request, message: Message<'_>, k: usize) -> Result<Option<Vec<u8>>, ForkError> {
    let swipes = message.swipes().count();
    let shown = message.raw().get("swipe_id").and_then(Raw::as_i64).unwrap_or(0);
    let line = swipe::show(message.raw(), k);
    match line {
        None => Err(ForkError::NoSuchSwipe { at: request.at, swipe: k, swipes }),
        Some(_) if i64::try_from(k) == Ok(shown) => Ok(None),
        some => Ok(some),
    }
}

/// Where the header line ends, and whether with a carriage return; for a chat without a header, where the first message starts.
fn header_end(library: &Library, c: usize, file: &dyn OpenFile) -> Result<(u64, bool), ForkError> {
    let chat = &library.chats[c];
    let fail = |source| PathError { path: chat.path.clone(), doing: "read", source };
    if chat.header().raw() == Raw::NULL || chat.kept.is_some() {
        return Ok((chat.transcript.row(0).map_or(0, |row| row.start), false));
    }
    let line = journal::header_line(file).map_err(fail)?;
    let last = file.read_range(line.end.saturating_sub(1)..line.end).map_err(fail)?;
    Ok((line.end, last == b"\r"))
}

/// The name of the fork: as typed, by the user's template, or as SillyTavern would make it.
fn fork_name(library: &Library, request: &Request, config: &Config) -> Result<String, ForkError> {
    let chat = &library.chats[request.chat];
    // Names are compared without regard to case: on some systems they are the same file.
    let dir = chat.path.parent();
    let mut used: HashSet<String> =
        library.fs.list(&dir)?.iter().map(|node| node.name.to_lowercase()).collect();
    let story = &library.stories[chat.story];
    for name in library.groups.get(&story.folder).into_iter().flat_map(|group| &group.chats) {
        used.insert(format!("{}.jsonl", chat_stem(name).to_lowercase()));
    }
    let taken = |stem: &str| used.contains(&format!("{}.jsonl", stem.to_lowercase()));
    if let Some(typed) = &request.name {
        let name = names::typed(typed).map_err(|why| ForkError::InvalidName { name: typed.clone(), why })?;
        return if taken(&name) { Err(ForkError::NameTaken(name)) } else { Ok(name) };
    }
    // The name of a chat that is gone is not free while others say that they come from it: they would get a new parent.
    let siblings = story.chats.iter().map(|c| &library.chats[*c]);
    let parents = siblings.filter_map(|chat| chat.header().main_chat().map(|name| name.to_lowercase()));
    let remembered: HashSet<String> = parents.collect();
    let taken = |stem: &str| taken(stem) || remembered.contains(&stem.to_lowercase());
    if request.kind == ForkKind::Checkpoint {
        if !config.checkpoint.auto_name {
            return Err(ForkError::NameRequired);
        }
        let real: Vec<_> = chat
            .facts
            .scenes
            .iter()
            .filter(|(message, scene)| *message <= request.at && scene.is_real())
            .collect();
        let values = TemplateValues {
            scene_number: Some(real.len()).filter(|n| *n > 0),
            scene_name: real.last().and_then(|(_, scene)| scene.name.as_deref()),
            message: request.at,
            chat: &chat.name,
        };
        let template = &config.checkpoint.name_template;
        if !template.is_empty()
            && let Some(name) = names::from_template(template, &values, &taken)
        {
            return Ok(name);
        }
    }
    Ok(names::automatic(&chat.name, request.kind, &taken))
}

/// File and address of a new chat beside another.
fn place(library: &Library, c: usize, name: &str) -> Result<(VaultPath, Address), ForkError> {
    let dir = library.chats[c].path.parent();
    let invalid = |_| ForkError::NameTaken(name.to_owned());
    let target = dir.join(&format!("{name}.jsonl")).map_err(invalid)?;
    Ok((target, Address { chat: name.to_owned(), ..library.address(c) }))
}

/// What becomes of the book.
enum BookPlan {
    /// The fork has its own
    Own { name: String, path: VaultPath, bytes: Arc<Vec<u8>> },
    /// The fork goes on using the parent's
    Shared,
    /// There is none
    None,
}

impl BookPlan {
    fn name(&self) -> Option<&str> {
        match self {
            Self::Own { name, .. } => Some(name),
            Self::Shared | Self::None => None,
        }
    }

    fn buffer(&self) -> Option<&Arc<Vec<u8>>> {
        match self {
            Self::Own { bytes, .. } => Some(bytes),
            Self::Shared | Self::None => None,
        }
    }

    fn path(&self) -> Option<&VaultPath> {
        match self {
            Self::Own { path, .. } => Some(path),
            Self::Shared | Self::None => None,
        }
    }
}

fn plan_book(
    library: &Library,
    request: &Request,
    config: &Config,
    fork: &str,
    found: &BookAt,
    warnings: &mut Vec<Warning>,
) -> Result<BookPlan, ForkError> {
    let c = request.chat;
    let (Some(name), Some(stem)) = (&found.name, library.chats[c].book_stem()) else {
        return Ok(BookPlan::None);
    };
    let hand_kept = found.live.is_some() && !library.is_machine_kept(stem)?;
    if hand_kept
        && !request.copy_book
        && let Some(reason) = stays_shared(library, c, config, stem)
    {
        let message = format!(
            "The fork goes on using the lorebook \"{name}\", which {reason} (--copy-book gives it a copy)"
        );
        // How exact a copy would be does not matter where none is made.
        warnings
            .retain(|warning| !matches!(warning.code, WarningCode::StateInexact | WarningCode::StateOlder));
        warnings.push(Warning { code: WarningCode::BookStaysShared, message });
        return Ok(BookPlan::Shared);
    }
    if found.live.is_none() && found.entries.is_empty() {
        return Ok(BookPlan::None);
    }
    let active = library.also_active(c, stem);
    if !active.is_empty() {
        let message = format!(
            "The lorebook \"{name}\" is also active {}: in the fork, it and the fork's own copy are active at once",
            active.join(" and ")
        );
        warnings.push(Warning { code: WarningCode::BookAlsoGlobal, message });
    }
    let own = book_name(library, c, fork, name, found, &[]);
    let path = layout::book(&own).map_err(|_| ForkError::NameTaken(own.clone()))?;
    Ok(BookPlan::Own { bytes: Arc::new(book_bytes(found, &own, fork)), name: own, path })
}

/// The content of a new book with the state that was found.
pub(crate) fn book_bytes(found: &BookAt, name: &str, owner: &str) -> Vec<u8> {
    let live = found.live.as_ref().and_then(|book| book.parse().ok());
    // Some extensions leave entries alone that say they are another chat's.
    let keepers =
        Keepers::new(|adapter| found.entries.iter().any(|e| adapter.wrote(&e.image.comment, e.image.raw())));
    let entries: Vec<EntryImage> =
        found.entries.iter().map(|entry| keepers.hand_over(&entry.image, owner)).collect();
    let same = entries.iter().zip(&found.entries).all(|(image, entry)| *image == entry.image);
    let as_it_is = match found.source.kind {
        SourceKind::Head => same,
        SourceKind::Degraded => same && is_todays(found),
        _ => false,
    };
    match &live {
        Some(book) if as_it_is => new_book::assemble(Content::AsItIs(book), name),
        _ => new_book::assemble(Content::Entries { over: live.as_ref(), entries: &entries }, name),
    }
}

/// Whether a state that nothing dates is the book of today. History may have seen the book only after the message: then it is less.
fn is_todays(found: &BookAt) -> bool {
    let live = found.live.as_ref().map(|live| live.images()).unwrap_or_default();
    let todays: HashMap<(Option<i64>, &str), &EntryImage> =
        live.iter().map(|image| ((image.uid, &*image.comment), image)).collect();
    let is_same = |entry: &StateEntry| {
        let today = todays.get(&(entry.image.uid, &*entry.image.comment));
        // A switch that is not told of is on.
        let same_switch = |today: &EntryImage| today.is_disabled() == entry.image.is_disabled();
        today.is_some_and(|today| same_switch(today) && today.agrees_with(&entry.image))
    };
    found.left_out.is_empty() && found.entries.len() == live.len() && found.entries.iter().all(is_same)
}

/// The name of a new book for a chat.
pub(crate) fn book_name(
    library: &Library,
    c: usize,
    fork: &str,
    old: &str,
    found: &BookAt,
    also_used: &[String],
) -> String {
    // A name that a chat has for a book which is gone is not free: an open page may still write that book.
    let bound = library.chats.iter().filter_map(|chat| chat.book_stem());
    let used =
        library.books.keys().map(String::as_str).chain(bound).chain(also_used.iter().map(String::as_str));
    let used: HashSet<String> = used.map(str::to_lowercase).collect();
    let taken = |stem: &str| used.contains(&stem.to_lowercase());
    let chat = &library.chats[c];
    let keeper = match &found.live {
        Some(book) => book.keeper,
        None => scene_keeper(library, c),
    };
    let character = &library.stories[chat.story].name;
    let style = match keeper.and_then(|keeper| library.settings.book_template(keeper)) {
        Some(template) => BookStyle::Template { template, character },
        // It carries the chat's name already: a number is enough to tell the two apart.
        None if old.ends_with(fork) => BookStyle::Template { template: old, character },
        None => BookStyle::After { book: names::first_book(old, &line_names(library, c)) },
    };
    names::book(style, fork, &taken)
}

/// What a chat and those that it comes from are called, and what they were called when they got their books.
fn line_names(library: &Library, c: usize) -> Vec<&str> {
    let mut names = Vec::new();
    let mut here = Some(c);
    while let Some(chat) = here.map(|c| &library.chats[c]).filter(|_| names.len() < 2 * library.chats.len()) {
        names.push(chat.name.as_str());
        names.extend(chat.record.as_ref().map(|record| record.owner_file.as_str()));
        here = chat.lineage.parent;
    }
    names
}

/// Who made a chat's scenes: a book that is gone cannot tell who kept it.
fn scene_keeper(library: &Library, c: usize) -> Option<&'static dyn Adapter> {
    let (message, _) = library.chats[c].facts.scenes.first()?;
    let line = library.message_line(c, *message).ok()??;
    adapter::scene_keeper(Message::parse(&line).ok()?)
}

/// Why a book that is kept by hand is not copied for a fork.
pub(crate) fn stays_shared(library: &Library, c: usize, config: &Config, stem: &str) -> Option<String> {
    if config.books.shared.iter().any(|pinned| book_stem(pinned) == stem) {
        return Some("is pinned as shared in the settings".to_owned());
    }
    let others = library.users_of(stem).iter().filter(|user| !library.related(c, **user)).count();
    match others {
        0 => None,
        1 => Some("another chat uses that has nothing to do with this one".to_owned()),
        n => Some(format!("{n} chats use that have nothing to do with this one")),
    }
}

/// What another line wrote into the book comes along with it, and stays what it is: another line's.
fn warn_of_stains(contamination: &[Contamination], warnings: &mut Vec<Warning>) {
    let Some(first) = contamination.first() else { return };
    let more = if contamination.len() > 1 {
        format!(" and {} more", contamination.len() - 1)
    } else {
        String::new()
    };
    let message = format!(
        "The lorebook holds what another line wrote ({}{more}), and so does the fork's copy: run `forklore heal` first",
        first.comment
    );
    warnings.push(Warning { code: WarningCode::EntryForeign, message });
}

fn undated(found: &BookAt) -> Vec<i64> {
    found.entries.iter().filter(|entry| entry.undated).filter_map(|entry| entry.image.uid).collect()
}

fn left_out(library: &Library, found: &BookAt) -> Vec<ShowLeftOut> {
    let out = found.left_out.iter();
    out.map(|out| ShowLeftOut {
        uid: out.uid,
        comment: out.comment.to_string(),
        lines: out.lines,
        why: why(library, out.why),
    })
    .collect()
}

/// Registries of the fork that list what it does not have.
fn check_registries(images: &[EntryImage], found: &BookAt, warnings: &mut Vec<Warning>) {
    let dangling = registry::dangling(images);
    if dangling.is_empty() {
        return;
    }
    // What the parent's registries get wrong already is the parent's affair, and `check` tells of it.
    let old: HashSet<i64> = found
        .live
        .as_ref()
        .map(|book| registry::dangling(&book.images()).iter().filter_map(|line| line.uid).collect())
        .unwrap_or_default();
    let new: Vec<&str> = dangling
        .iter()
        .filter(|l| l.uid.is_none_or(|uid| !old.contains(&uid)))
        .map(|l| l.name.as_str())
        .collect();
    if !new.is_empty() {
        let message =
            format!("Registries of the fork list entries that it does not have: {}", new.join(", "));
        warnings.push(Warning { code: WarningCode::RegistryDangling, message });
    }
}

/// Messages of the fork whose scenes name a book that is not the fork's.
fn naming_parent(library: &Library, c: usize, at: usize, book: &BookPlan) -> Vec<usize> {
    let BookPlan::Own { .. } = book else { return Vec::new() };
    let scenes = library.chats[c].facts.scenes.iter().filter(|(message, _)| *message <= at);
    let naming = scenes.filter(|(_, scene)| scene.versions.iter().any(|version| version.book.is_some()));
    naming.map(|(message, _)| *message).collect()
}

/// The queue that stays with the parent joins what the record keeps.
fn with_queue<'a>(mut archive: Vec<(&'a str, Vec<u8>)>, found: &BookAt) -> Vec<(&'a str, Vec<u8>)> {
    let live = found.live.as_ref().and_then(|book| book.parse().ok());
    let queue = live.as_ref().and_then(|book| {
        let queue = book.entries().iter().find(|e| entry_role(&e.comment()) == EntryRole::Queue)?;
        let content = queue.raw.get("content")?;
        new_book::empty_queue(&queue.comment(), &content.as_text()?).map(|_| content)
    });
    archive.extend(queue.map(|content| ("queue", content.bytes().to_vec())));
    archive
}

#[allow(clippy::too_many_arguments, reason = "a record draws on everything that was worked out")]
fn record(
    library: &Library,
    request: &Request,
    name: &str,
    slug: &str,
    now: i64,
    moment: &str,
    book: &BookPlan,
    read: Option<&Book<'_>>,
    metadata: Raw<'_>,
    restored: Option<&Restored>,
) -> ForkRecord {
    let c = request.chat;
    let chat = &library.chats[c];
    let (root, depth) = root_of(library, c);
    let fingerprint = read.map(new_book::fingerprint);
    ForkRecord {
        version: RECORD_VERSION,
        kind: request.kind.as_str().to_owned(),
        owner_file: name.to_owned(),
        owner_slug: slug.to_owned(),
        parent_file: chat.name.clone(),
        parent_slug: restored.map_or_else(
            || chat.header().slug().unwrap_or_default().into_owned(),
            |restored| restored.parent_slug.clone(),
        ),
        message: restored.map_or(request.at, |restored| restored.message),
        moment: restored.map_or(moment, |restored| &restored.moment).to_owned(),
        root,
        depth: depth + 1,
        book: book.name().map(str::to_owned),
        baseline: Some(core_header::baseline(metadata, request.at + 1, moment.to_owned(), fingerprint)),
        accepted: Vec::new(),
        created: now,
        adopted: false,
        restored: restored.map(|restored| restored.seq),
    }
}

/// The chat that a line of forks began with, also if it is gone, and how many forks lie between.
pub(crate) fn root_of(library: &Library, c: usize) -> (String, usize) {
    let (mut here, mut depth) = (c, 0);
    loop {
        let lineage = &library.chats[here].lineage;
        match (lineage.parent, &lineage.note) {
            (Some(parent), _) if depth < library.chats.len() => here = parent,
            (None, Some(ParentNote::Missing(name))) => return (name.clone(), depth + 1),
            _ => return (library.chats[here].name.clone(), depth),
        }
        depth += 1;
    }
}

/// Edits of files that SillyTavern writes, too: what points at the fork.
fn edits(
    library: &Library,
    request: &Request,
    config: &Config,
    name: &str,
    header: Option<&[u8]>,
) -> Result<Vec<Edit>, ForkError> {
    let c = request.chat;
    let chat = &library.chats[c];
    let story = &library.stories[chat.story];
    let mut edits = Vec::new();
    if story.kind == StoryKind::Group
        && let Some(group) = library.groups.get(&story.folder)
        && let Ok(target) = layout::folder(layout::GROUPS).join(&format!("{}.json", group.file))
    {
        let mut changes = vec![JsonChange::include(&["chats"], name)];
        if let Some(metadata) = header.and_then(|header| Raw::trust(header).get("chat_metadata")) {
            let bytes = library.fs.read(&target)?.unwrap_or_default();
            let now = Raw::parse(&bytes).unwrap_or(Raw::NULL);
            changes.extend(JsonChange::set_in(now, &["past_metadata", name], Json::new(metadata.bytes())));
        }
        edits.push(Edit::new(target, Place::Document, changes));
    }
    edits.extend(chat_settings::follow(library, c, Fate::Forked { from: &chat.name, to: name })?);
    if request.link && config.fork.link_parent {
        edits.extend(link_edit(library, c, request.at, request.kind, name)?);
    }
    Ok(edits)
}

/// The link on the parent's message.
pub(crate) fn link_edit(
    library: &Library,
    c: usize,
    at: usize,
    kind: ForkKind,
    name: &str,
) -> Result<Option<Edit>, ForkError> {
    let chat = &library.chats[c];
    let Some(row) = chat.transcript.row(at) else { return Ok(None) };
    let line = library.message_line(c, at)?.unwrap_or_default();
    let raw = Raw::parse(&line).unwrap_or(Raw::NULL);
    let change = match kind {
        ForkKind::Branch => {
            let path = ["extra", "branches"];
            JsonChange::Include(Listed::new_in(raw, &path, name))
        }
        ForkKind::Checkpoint => {
            let set = JsonChange::set_in(raw, &["extra", "bookmark_link"], Json::text(name));
            let Some(set) = set else { return Ok(None) };
            set
        }
    };
    let place = Place::Message { index: at, id: row.id.0 };
    Ok(Some(Edit::new(chat.path.clone(), place, vec![change])))
}
