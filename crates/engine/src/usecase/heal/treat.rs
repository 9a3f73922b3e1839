//! What one chat needs: [`treat`] looks at its findings and works out a [`Treatment`].

use std::collections::BTreeMap;

use forklore_core::check::{Code, Finding, Severity};
use forklore_core::fork::book::{self as new_book, Content, fingerprint};
use forklore_core::fork::header::{self as core_header, Revision};
use forklore_core::fork::{ForkKind, registry};
use forklore_core::format::book::{Book, EntryImage};
use forklore_core::format::names::{book_stem, chat_stem};
use forklore_core::format::record::{self, ForkRecord, RECORD_VERSION};
use forklore_core::state::{Why, holes};
use forklore_core::story::lineage::{Kind, Link, ParentNote};
use forklore_fs::VaultPath;
use forklore_json::{Kind as JsonKind, Raw};

use super::{Action, Choice, Decide, HealError, Question};
use crate::config::{Config, Undated};
use crate::state_at::{BookAt, Wanted};
use crate::tx::operation::{Change, Edit, Json, Listed, Place};
use crate::usecase::fork::header::{Binding, Revised, edit_of, revise};
use crate::usecase::fork::plan::{book_bytes, book_name, root_of, stays_shared};
use crate::vault::{Library, layout};

/// What one chat gets.
pub(super) struct Treatment {
    /// A fresh slug, if anything but its record changes
    pub(super) slug: Option<String>,
    /// A new book: file, name, content
    pub(super) book: Option<(VaultPath, String, Vec<u8>)>,
    /// The book that it is bound to from now on, if that changes
    pub(super) binding: Option<Option<String>>,
    pub(super) actions: Vec<Action>,
    /// Whether that book is also its parent's, by choice
    shared: bool,
    revised: Revised,
    /// Whether it gets a record
    adopt: bool,
    main_chat: Option<String>,
    links: Vec<Edit>,
    quarantine: Vec<Vec<u8>>,
    /// Lines of the new book that no scene has told
    accepted: Vec<String>,
}

/// Codes that mean that a chat must not go on with the book it is bound to.
const WRONG_BOOK: [Code; 5] =
    [Code::BookMissing, Code::BookForeign, Code::BookShared, Code::EntryFromFuture, Code::EntryForeign];

/// What chat `c` needs; nothing if it is well.
pub(super) fn treat(
    library: &Library,
    c: usize,
    findings: &[&Finding],
    config: &Config,
    decide: &Decide<'_>,
    names: &[String],
) -> Result<Option<Treatment>, HealError> {
    let chat = &library.chats[c];
    let header = chat.header();
    if chat.unreadable.is_some()
        || header.raw().kind() != JsonKind::Object
        || record::is_newer(header.metadata())
    {
        return Ok(None);
    }
    let has = |code: Code| findings.iter().any(|f| f.code == code);
    let address = library.address(c).to_string();
    let mut treatment = Treatment {
        slug: None,
        book: None,
        binding: None,
        actions: Vec::new(),
        shared: false,
        revised: Revised::default(),
        adopt: false,
        main_chat: None,
        links: Vec::new(),
        quarantine: Vec::new(),
        accepted: Vec::new(),
    };
    let mut did = |code: Code, book: Option<&str>, did: String| {
        treatment.actions.push(Action { code, chat: address.clone(), book: book.map(str::to_owned), did });
    };
    let mut wrong: Vec<Code> = WRONG_BOOK
        .into_iter()
        .filter(|code| findings.iter().any(|f| f.code == *code && f.severity == Severity::Error))
        .collect();
    if has_holes(library, c)? {
        wrong.push(Code::BookDamaged);
    }
    let mut remedy = None;
    if let (Some(code), Some((name, _))) = (wrong.first(), &chat.book) {
        // A fork that shares may get its own unasked; a chat that leaves a book which was made for it may not.
        let owner = chat
            .book_stem()
            .is_some_and(|stem| library.owner_of(stem) == Some(c) || library.users_of(stem).len() < 2);
        let ask_first = owner && !matches!(code, Code::BookMissing | Code::BookForeign);
        let text = findings.iter().find(|f| f.code == *code).map(|f| f.message.clone()).unwrap_or_default();
        let (chat, book, choices) = (address.clone(), name.clone(), choices(library, c));
        let question = Question { code: *code, chat, book, text, choices, ask_first };
        remedy = decide(&question).map(|choice| (choice, name.clone()));
    } else if let Some(pending) = record::Pending::read(chat.header().metadata()) {
        wrong.push(Code::PendingFork);
        let text = findings
            .iter()
            .find(|f| f.code == Code::PendingFork)
            .map(|f| f.message.clone())
            .unwrap_or_default();
        let (code, book) = (Code::PendingFork, pending.book.unwrap_or_default());
        let (chat, choices) = (address.clone(), choices(library, c));
        let question = Question { code, chat, book: book.clone(), text, choices, ask_first: false };
        remedy = decide(&question).map(|choice| (choice, book));
    }
    let mut new_images: Option<(String, Vec<EntryImage>)> = None;
    let mut unbound = false;
    let mut shared: Option<String> = None;
    if let Some((choice, old)) = &remedy {
        match own_book(library, c, *choice, old, config, names)? {
            Own::Book { name, path, bytes, quarantine, how } => {
                let images = Book::parse(&bytes).map(|book| book.images()).unwrap_or_default();
                for code in &wrong {
                    did(*code, Some(&name), format!("{how}: {} entries", images.len()));
                }
                treatment.quarantine = quarantine;
                treatment.binding = Some(Some(name.clone()));
                treatment.book = Some((path, name.clone(), bytes));
                new_images = Some((name, images));
            }
            Own::Rebind { name } => {
                let images = library.book(&name)?.map(|book| book.images()).unwrap_or_default();
                did(Code::BookForeign, Some(&name), "bound to its own lorebook again".to_owned());
                treatment.binding = Some(Some(name.clone()));
                new_images = Some((name, images));
            }
            Own::Shared { name } => {
                did(Code::PendingFork, Some(&name), "goes on using its parent's lorebook".to_owned());
                treatment.binding = Some(Some(name.clone()));
                treatment.shared = true;
                shared = Some(name);
            }
            Own::Detach { how } => {
                for code in &wrong {
                    did(*code, None, how.to_owned());
                }
                treatment.binding = Some(None);
                unbound = true;
            }
            Own::Accept => {
                for code in &wrong {
                    did(*code, Some(old), "accepted as it is".to_owned());
                    treatment.accepted.push(code.as_str().to_owned());
                }
            }
            Own::Impossible => {}
        }
    }
    let same_book = treatment.binding.is_none();
    // A copy has no record to be wrong without; it gets one where it is given a book, so that the book is known to be its own.
    let adoptable = chat.lineage.is_fork() || (chat.lineage.kind == Kind::Copy && !same_book);
    let undecided = same_book && treatment.accepted.is_empty();
    // A fork that waits for its book goes on waiting until something is done about that.
    let waits = undecided && record::is_pending(header.metadata());
    treatment.adopt = adoptable && !waits && (chat.record.is_none() || !undecided);
    let recap = has(Code::RecapFromFuture) || has(Code::RecapForeign);
    let stale = has(Code::RegistryIndexStale);
    if !same_book || recap || stale || treatment.adopt {
        let binding = match &new_images {
            Some((name, entries)) => Binding::Own { name, entries },
            None if unbound => Binding::Unbound,
            None => Binding::Same,
        };
        treatment.revised = revise(library, c, chat.head(), &chat.name, &binding, false)?;
        if let Some(name) = &shared {
            treatment.revised.revisions.push(Revision::text(&["world_info"], name));
        }
        // Extensions that make forks leave the parent's name behind; the binding is what counts.
        let said = chat.header().metadata().at(&["auto_lorebooks", "lorebookName"]);
        if let (true, Some(said), Some((name, _))) = (same_book, said, &chat.book)
            && !said.is_text(name)
        {
            treatment.revised.revisions.push(Revision::text(&["auto_lorebooks", "lorebookName"], name));
        }
        if same_book && stale {
            let entries = chat.book.as_ref().map(|(name, _)| library.book(name)).transpose()?.flatten();
            let entries = entries.map(|book| book.images()).unwrap_or_default();
            let index = Revision::set(&["auto_lorebooks", "registry", "index"], registry::index(&entries));
            treatment.revised.revisions.push(index);
        }
        if stale && (same_book || new_images.is_some()) {
            did(Code::RegistryIndexStale, None, "index made anew from its registries".to_owned());
        }
        if let Some(projection) = treatment.revised.projection.as_ref().filter(|p| !p.dropped.is_empty()) {
            let n = projection.dropped.len();
            for code in [Code::RecapFromFuture, Code::RecapForeign].into_iter().filter(|code| has(*code)) {
                did(
                    code,
                    None,
                    if n == 1 {
                        "1 version of the running recap put aside".to_owned()
                    } else {
                        format!("{n} versions of the running recap put aside")
                    },
                );
            }
        }
        if has(Code::QueueForeign) && new_images.is_some() {
            did(Code::QueueForeign, None, "the new lorebook's queue is empty".to_owned());
        }
    }
    if treatment.adopt && has(Code::UnrecordedFork) {
        did(Code::UnrecordedFork, None, "adopted: its lineage is recorded now".to_owned());
    }
    // Of several chats with one identity the one that it was made for keeps it.
    let twin = treatment.adopt && library.has_twin(c);
    if twin && has(Code::SlugDuplicate) {
        did(Code::SlugDuplicate, None, "given an identity of its own".to_owned());
    }
    if let Some(ParentNote::Renamed(old)) = &chat.lineage.note
        && let Some(parent) = chat.lineage.parent
    {
        let now = &library.chats[parent].name;
        if chat.header().main_chat().is_some_and(|name| chat_stem(&name) == *old) {
            treatment.main_chat = Some(now.clone());
            did(Code::ParentRenamed, None, format!("says \"{now}\" now where it said \"{old}\""));
        }
    }
    treatment.links = renamed_links(library, c);
    for _ in &treatment.links {
        did(Code::LinkDangling, None, "a link follows the fork that was renamed".to_owned());
    }
    let nameless = treatment.adopt && chat.header().slug().is_none();
    // A tab that has the chat open must not bring the old state back silently: with another slug SillyTavern asks it to reload.
    let changes = treatment.binding.is_some() || !treatment.revised.revisions.is_empty();
    if changes || twin || nameless {
        treatment.slug = Some(crate::fresh_slug());
    }
    let nothing = treatment.revised.revisions.is_empty()
        && treatment.binding.is_none()
        && !treatment.adopt
        && treatment.main_chat.is_none()
        && treatment.links.is_empty();
    Ok((!nothing).then_some(treatment))
}

/// Whether the book of a fork that was made elsewhere was made without what the fork's line had earned.
fn has_holes(library: &Library, c: usize) -> Result<bool, HealError> {
    let chat = &library.chats[c];
    let alone = chat.book_stem().is_some_and(|stem| library.users_of(stem).len() < 2);
    if chat.record.is_some() || !chat.lineage.is_fork() || !alone {
        return Ok(false);
    }
    let lore = library.lore(c)?;
    Ok(!holes(&lore.known, chat.head(), lore.present()).is_empty())
}

/// What becomes of the book.
enum Own {
    Book {
        name: String,
        path: VaultPath,
        bytes: Vec<u8>,
        quarantine: Vec<Vec<u8>>,
        how: &'static str,
    },
    /// The book that was made for the chat is still there.
    Rebind {
        name: String,
    },
    /// A fork that waits for its book goes on using its parent's, which is kept by hand.
    Shared {
        name: String,
    },
    Detach {
        how: &'static str,
    },
    Accept,
    /// Nothing to copy from
    Impossible,
}

/// What somebody can choose for the book of a chat.
fn choices(library: &Library, c: usize) -> Vec<Choice> {
    let chat = &library.chats[c];
    let parent = chat.lineage.parent.and_then(|p| library.chats[p].book_stem());
    let copy = parent.or(chat.book_stem()).is_some_and(|stem| library.books.contains_key(stem));
    let mut all = vec![Choice::Rebuild, Choice::Empty];
    all.extend(copy.then_some(Choice::Copy));
    all.push(Choice::Detach);
    all.extend(chat.lineage.is_fork().then_some(Choice::Accept));
    all
}

fn own_book(
    library: &Library,
    c: usize,
    choice: Choice,
    old: &str,
    config: &Config,
    names: &[String],
) -> Result<Own, HealError> {
    let chat = &library.chats[c];
    let recorded = chat.record.as_ref().and_then(|record| record.book.clone());
    if choice == Choice::Rebuild
        && let Some(own) = recorded.filter(|own| book_stem(own) != book_stem(old))
        && library.books.contains_key(&book_stem(&own))
        && library.known_to_refer_to(&book_stem(&own), &[c]).is_empty()
    {
        return Ok(Own::Rebind { name: own });
    }
    let wanted =
        Wanted { undated: config.fork.undated == Undated::Carry, unfinished: true, head: false, fill: true };
    let pending = chat.book.is_none();
    let found = match (pending, chat.lineage.parent, chat.lineage.fork_message) {
        // A fork that SillyTavern saved without a book: what its parent had at that message, and nothing half done.
        (true, Some(parent), Some(at)) => {
            let idle = !library.operations(parent)?.iter().any(|op| op.status.is_open());
            let found = library.book_at(parent, at, Wanted { head: idle, unfinished: idle, ..wanted })?;
            let hand_kept = found.live.as_ref().is_some_and(|book| book.keeper.is_none());
            let stem = library.chats[parent].book_stem().unwrap_or_default();
            let none = found.name.is_none() || (found.live.is_none() && found.entries.is_empty());
            match (choice, &found.name) {
                (Choice::Rebuild, _) if none => {
                    return Ok(Own::Detach { how: "its parent has no lorebook that it could have" });
                }
                (Choice::Rebuild, Some(name))
                    if hand_kept && stays_shared(library, parent, config, stem).is_some() =>
                {
                    return Ok(Own::Shared { name: name.clone() });
                }
                _ => found,
            }
        }
        (true, ..) if choice == Choice::Rebuild => return Ok(Own::Impossible),
        _ => library.book_at(c, chat.head(), wanted)?,
    };
    let old = found.name.clone().unwrap_or_else(|| old.to_owned());
    let name = book_name(library, c, &chat.name, &old, &found, names);
    let Ok(path) = layout::book(&name) else { return Ok(Own::Impossible) };
    let empty = |over: Option<&Book<'_>>| new_book::assemble(Content::Entries { over, entries: &[] }, &name);
    let (bytes, how) = match choice {
        // Nothing tells what was in it. An empty one would look as if all were well, and the file may yet come back.
        Choice::Rebuild if found.live.is_none() && found.entries.is_empty() => return Ok(Own::Impossible),
        Choice::Rebuild => {
            (book_bytes(&found, &name, &chat.name), "a lorebook of its own with what its own line has earned")
        }
        Choice::Empty => (empty(None), "a new lorebook, empty"),
        Choice::Copy => {
            let from = chat.lineage.parent.and_then(|p| library.chats[p].book.clone()).map(|(name, _)| name);
            let from = from.or_else(|| chat.book.as_ref().map(|(name, _)| name.clone()));
            let Some(live) = from.map(|name| library.book(&name)).transpose()?.flatten() else {
                return Ok(Own::Impossible);
            };
            let Ok(book) = live.parse() else { return Ok(Own::Impossible) };
            let how = if chat.lineage.parent.is_some() {
                "a copy of the parent's lorebook as it is now"
            } else {
                "a copy of its lorebook as it is now"
            };
            (new_book::assemble(Content::AsItIs(&book), &name), how)
        }
        Choice::Detach => return Ok(Own::Detach { how: "bound to no lorebook any more" }),
        // Only a fork has a record to note it in.
        Choice::Accept if chat.lineage.is_fork() => return Ok(Own::Accept),
        Choice::Accept => return Ok(Own::Impossible),
    };
    let quarantine = if choice == Choice::Rebuild { quarantined(&found) } else { Vec::new() };
    Ok(Own::Book { name, path, bytes, quarantine, how })
}

/// Entries that nothing attributes: they stay with the chat that the book was made for, and in this one's record.
fn quarantined(found: &BookAt) -> Vec<Vec<u8>> {
    let images = found.live.as_ref().map(|book| book.images()).unwrap_or_default();
    let out = found.left_out.iter().filter(|out| out.why == Why::Unattributed);
    out.filter_map(|out| images.iter().find(|e| e.uid == out.uid && e.comment == out.comment))
        // Books are laid out in many lines; the record lies in the chat's first one.
        .map(|image| forklore_json::compact(image.raw()))
        .collect()
}

/// Links of this chat's messages to forks that go by another name now.
fn renamed_links(library: &Library, c: usize) -> Vec<Edit> {
    let chat = &library.chats[c];
    let mut edits = Vec::new();
    for (message, link, name) in chat.facts.links() {
        let stem = chat_stem(name);
        let story = &library.stories[chat.story];
        let inherited =
            chat.lineage.parent.is_some() && chat.lineage.fork_message.is_some_and(|fork| message <= fork);
        if inherited || story.chats.iter().any(|d| library.chats[*d].name == stem) {
            continue;
        }
        let was = |d: &&usize| {
            let other = &library.chats[**d];
            let record = other.record.as_ref().is_some_and(|record| record.owner_file == stem);
            record && other.lineage.parent == Some(c) && other.lineage.fork_message == Some(message)
        };
        let (Some(now), Some(row)) = (story.chats.iter().find(was), chat.transcript.row(message)) else {
            continue;
        };
        let now = &library.chats[*now].name;
        let changes = match link {
            Link::Bookmark => {
                vec![Change::set(&["extra", "bookmark_link"], Json::text(name), Json::text(now))]
            }
            Link::Branch => {
                let mut beside =
                    chat.facts.links().filter(|(m, link, _)| *m == message && *link == Link::Branch);
                let at = beside.position(|(_, _, other)| other == name);
                let listed = |text: &str| Listed::new(&["extra", "branches"], text).at(at);
                vec![Change::Exclude(listed(name)), Change::Include(listed(now))]
            }
        };
        let place = Place::Message { index: message, id: row.id.0 };
        edits.push(Edit::new(chat.path.clone(), place, changes));
    }
    edits
}

impl Treatment {
    /// The edits that it means. `slugs` are those that chats get in the same operation.
    pub(super) fn edit(
        &self,
        library: &Library,
        c: usize,
        slugs: &BTreeMap<usize, String>,
        now: i64,
    ) -> Result<Vec<Edit>, HealError> {
        let chat = &library.chats[c];
        let header = chat.header();
        let corrupt = || HealError::CorruptHeader(chat.name.clone());
        let mut revisions: Vec<Revision> = Vec::new();
        revisions.extend(self.slug.as_ref().map(|slug| Revision::text(&["integrity"], slug)));
        revisions.extend(self.main_chat.as_ref().map(|name| Revision::text(&["main_chat"], name)));
        revisions.extend(self.revised.revisions.iter().cloned());
        if self.adopt {
            let so_far = core_header::apply(Some(header.raw()), &revisions).map_err(|_| corrupt())?;
            let metadata = Raw::trust(&so_far).get("chat_metadata").unwrap_or(Raw::NULL);
            revisions.push(Revision::set(&["forklore"], self.record(library, c, metadata, slugs, now)));
        }
        let mut edits = self.links.clone();
        if !revisions.is_empty() {
            edits.push(edit_of(chat, revisions, self.binding.is_some()).ok_or_else(corrupt)?);
        }
        Ok(edits)
    }

    fn record(
        &self,
        library: &Library,
        c: usize,
        metadata: Raw<'_>,
        slugs: &BTreeMap<usize, String>,
        now: i64,
    ) -> Vec<u8> {
        let chat = &library.chats[c];
        let parent = chat.lineage.parent;
        let slug_of = |p: usize| {
            let given = slugs.get(&p).cloned();
            given.unwrap_or_else(|| library.chats[p].header().slug().unwrap_or_default().into_owned())
        };
        let parent_file = match (parent, &chat.lineage.note) {
            (Some(p), _) => library.chats[p].name.clone(),
            (None, Some(ParentNote::Missing(name) | ParentNote::Renamed(name))) => name.clone(),
            (None, None) => String::new(),
        };
        let message = chat.lineage.fork_message.unwrap_or(chat.head()).min(chat.head());
        let moment = chat.transcript.moment(message).map(|m| m.to_string()).unwrap_or_default();
        let head = chat.transcript.moment(chat.head()).map(|m| m.to_string()).unwrap_or_default();
        let (root, depth) = root_of(library, c);
        let print = self.book.as_ref().and_then(|(_, _, bytes)| Some(fingerprint(&Book::parse(bytes).ok()?)));
        let bound = match &self.binding {
            Some(binding) => binding.clone().filter(|_| !self.shared),
            // Only a book that nobody else uses is the chat's own.
            None => chat
                .book
                .as_ref()
                .filter(|(_, stem)| library.users_of(stem).len() < 2 && library.books.contains_key(stem))
                .map(|(name, _)| name.clone()),
        };
        let old = chat.record.clone().unwrap_or_default();
        let mut accepted = old.accepted;
        accepted.extend(self.accepted.iter().cloned());
        let record = ForkRecord {
            version: RECORD_VERSION,
            kind: match chat.lineage.kind {
                Kind::Checkpoint => ForkKind::Checkpoint.as_str().to_owned(),
                Kind::Copy => "copy".to_owned(),
                Kind::Branch | Kind::Main => ForkKind::Branch.as_str().to_owned(),
            },
            owner_file: chat.name.clone(),
            owner_slug: self.slug.clone().unwrap_or_else(|| header_slug(chat.header().metadata())),
            parent_file,
            parent_slug: parent.map(slug_of).unwrap_or_default(),
            message,
            moment,
            root,
            depth,
            book: bound,
            baseline: Some(core_header::baseline(metadata, chat.transcript.len(), head, print)),
            accepted,
            created: now,
            adopted: true,
            restored: old.restored,
        };
        let archive: Vec<(&str, Vec<u8>)> =
            self.revised.archive.iter().map(|(key, value)| (*key, value.clone())).collect();
        let kept =
            [("archive", core_header::object(&archive)), ("quarantine", core_header::list(&self.quarantine))];
        record.write(&[], &kept)
    }
}

fn header_slug(metadata: Raw<'_>) -> String {
    metadata.get("integrity").and_then(Raw::as_text).unwrap_or_default().into_owned()
}
