//! A book, or one entry of it, put back to what it was: in a new book that the chat is bound to.

use std::collections::BTreeMap;
use std::sync::Arc;

use forklore_core::adapter::{EntryRole, entry_role, registry};
use forklore_core::fork::book::{Content, assemble, fingerprint};
use forklore_core::format::book::{Book as Parsed, EntryImage};
use forklore_core::format::revision::Revision;
use forklore_core::state::Change;
use forklore_fs::{Part, VaultPath};
use forklore_journal::operation::{Edit, FileId, Kind};
use forklore_journal::oplog::time;
use forklore_journal::{About, layout};
use forklore_json::Raw;
use forklore_vault::history::Past;
use forklore_vault::state::at::{BookAt, SourceKind, Wanted};
use forklore_vault::{Book, Chat, ChatIx, Library};

use super::{
    Act, RestoreError, RestorePlan, RestoreReport, RestoreRequest, RestoreTarget, RestoredBook,
    RestoredEntry, When, phrase, until,
};
use crate::blame::choose;
use crate::finder::finder;
use crate::fork::ForkError;
use crate::header::{edit_of, rebind};
use crate::heal::unneeded;
use crate::history::{Did, differing};
use crate::memory::{MemoryRecord, put_back};
use crate::merge::adopt;
use crate::new_book;
use crate::warning::{Warning, WarningCode};

pub(super) fn plan(
    library: &Library,
    request: &RestoreRequest,
    slug: &str,
) -> Result<RestorePlan, RestoreError> {
    let c = match library.find_chat(&request.chat) {
        Ok(c) => c,
        Err(e) => {
            let gone = library.find_gone(&request.chat)?;
            return Err(gone.map_or_else(|| e.into(), |_| RestoreError::ChatGone(request.chat.clone())));
        }
    };
    let chat = library.chat(c);
    if let Some(why) = chat.unreadable() {
        return Err(ForkError::CorruptChat { chat: chat.name().to_owned(), why: why.to_owned() }.into());
    }
    refuse_work(library, c, request.ignore_queue)?;
    let (past, found) = state(library, c, request)?;
    let bound = chat.book();
    let old = bound.map(|(name, _)| name.to_owned()).or_else(|| found.name.clone());
    let Some(old) = old else { return Err(RestoreError::NoBook(chat.name().to_owned())) };
    let now = library.open_book(&old)?.filter(|_| bound.is_some());
    let present = now.as_ref().and_then(|book| Some(book.parse().ok()?.images())).unwrap_or_default();
    let at = match request.when {
        When::Message(at) => at,
        _ => found.source.message.unwrap_or(chat.head()),
    };
    let name = new_book::name(library, c, chat.name(), &old, &found, &[]);
    let path = layout::book(&name).map_err(|_| RestoreError::NameTaken(name.clone()))?;
    let (what, bytes, title) = match &request.what {
        RestoreTarget::Entry(wanted) => {
            let images = entry(library, c, wanted, at, &found, &present)?;
            let over = now.as_ref().and_then(|book| book.parse().ok());
            let content = Content::Entries { over: over.as_ref(), entries: &images.0 };
            ("entry", assemble(content, &name), format!("The entry \"{}\"", images.1))
        }
        _ => ("book", new_book::bytes(&found, &name, chat.name()), "The lorebook".to_owned()),
    };
    let mut images = parsed(&bytes)?.images();
    let memory = put_back(library, c, (c, at), &present, &mut images);
    let bytes = match &memory {
        Some(_) => {
            let over = parsed(&bytes)?;
            assemble(Content::Entries { over: Some(&over), entries: &images }, &name)
        }
        None => bytes,
    };
    // Read as SillyTavern will: what is wrong with it is found before anything is written.
    let read = parsed(&bytes)?;
    let entries = changes(&present, &images);
    if entries.is_empty() && now.is_some() {
        return Err(RestoreError::Same(title));
    }
    let mut revisions = vec![Revision::text(&["integrity"], slug)];
    revisions.extend(rebind(library, c, &name, &images)?);
    let print = fingerprint(&read);
    revisions.extend(own_record(chat, slug, &name, &print));
    // Whoever takes it back can tell whether anybody has written into the book since.
    revisions.extend(memory.map(|memory| MemoryRecord { made: Some(print), ..memory }.revision()));
    let edit =
        edit_of(chat, revisions, true).ok_or_else(|| RestoreError::CorruptHeader(chat.name().to_owned()))?;
    let rebound = BTreeMap::from([(c, Some(name.clone()))]);
    let retire = unneeded(library, &rebound)?;
    let mut guards: Vec<(VaultPath, FileId)> = Vec::new();
    guards.extend(chat.identity().map(|identity| (chat.path().clone(), identity.into())));
    if let Some((path, identity)) =
        now.as_ref().and_then(|book| Some((library.books().get(book.name())?, book.identity()?)))
    {
        guards.push((path.clone(), identity.into()));
    }
    let address = library.address(c).to_string();
    let files = [&path].into_iter().chain([&edit.target]).chain(&retire);
    let report = RestoreReport {
        operation: None,
        what,
        chat: address.clone(),
        of: address,
        at,
        observation: past.as_ref().map(|past| past.seq),
        seen: past.as_ref().map(|past| time(past.clock)),
        book: RestoredBook { name: Some(name), from: Some(old.clone()), entries: images.len(), made: true },
        entries,
        media: Vec::new(),
        warnings: warnings(library, c, &old, &found, at),
        files: files.map(|path| path.as_str().to_owned()).collect(),
        pending: Vec::new(),
    };
    let bind = Bind { book: (path, bytes), edit, retire, guards };
    Ok(RestorePlan { report, act: Act::Bind(bind) })
}

fn parsed(bytes: &[u8]) -> Result<Parsed<'_>, ForkError> {
    Parsed::parse(bytes).map_err(|e| ForkError::NotVerified(e.to_string()))
}

/// The new book's queue is empty: work that waits in the old one would be lost.
pub(crate) fn refuse_work(library: &Library, c: ChatIx, ignore_queue: bool) -> Result<(), RestoreError> {
    let waiting = library.operations(c)?;
    let mut kinds: Vec<String> =
        waiting.into_iter().filter(|op| op.status.is_open()).map(|op| op.kind).collect();
    let count = kinds.len();
    if count == 0 || ignore_queue {
        return Ok(());
    }
    kinds.sort();
    kinds.dedup();
    Err(ForkError::QueueNotEmpty { count, kinds }.into())
}

/// The book as it was; with the place in history, if it is exactly what was seen there.
fn state(
    library: &Library,
    c: ChatIx,
    request: &RestoreRequest,
) -> Result<(Option<Past>, BookAt), RestoreError> {
    let chat = library.chat(c);
    let unknown = || RestoreError::Unknown { chat: chat.name().to_owned(), when: phrase(request.when) };
    let (past, found) = match request.when {
        When::Last => return Err(RestoreError::WhichState(chat.name().to_owned())),
        When::Message(at) => {
            let messages = chat.transcript().len();
            if at >= messages {
                return Err(ForkError::NoSuchMessage { at, chat: chat.name().to_owned(), messages }.into());
            }
            (None, library.book_at(c, at, Wanted::default())?)
        }
        When::Time(_) | When::Observation(_) => {
            let past = library.find_past(chat.path(), until(library, request.when)?)?;
            let then = library.past(&past)?;
            let t = then.chat_at(&past.file).map(|(c, _)| c).ok_or_else(unknown)?;
            let found = then.book_as_it_is(t)?;
            (Some(past), found)
        }
    };
    if found.name.is_none() {
        return Err(RestoreError::NoBook(chat.name().to_owned()));
    }
    match found.source.kind {
        SourceKind::Degraded | SourceKind::None => Err(unknown()),
        _ => Ok((past, found)),
    }
}

/// The entries of the book with one of them as it was, and its title.
fn entry(
    library: &Library,
    c: ChatIx,
    wanted: &str,
    at: usize,
    found: &BookAt,
    present: &[EntryImage],
) -> Result<(Vec<EntryImage>, String), RestoreError> {
    let facts: Vec<&EntryImage> = found
        .entries
        .iter()
        .map(|entry| &entry.image)
        .filter(|image| entry_role(&image.comment) != EntryRole::Queue)
        .collect();
    let titles: Vec<(Option<i64>, &str)> = facts.iter().map(|image| (image.uid, &*image.comment)).collect();
    let then = facts[choose(&titles, wanted, at)?];
    let mut images = present.to_vec();
    let lore = library.lore(c)?;
    let place = images
        .iter()
        .position(|image| image.uid == then.uid && image.comment == then.comment)
        .or_else(|| images.iter().position(|image| is_renamed(&lore.known.changes, then, image)));
    let mut back = then.clone();
    match place {
        Some(i) => images[i] = back.clone(),
        None => {
            // SillyTavern gives the numbers of deleted entries to new ones.
            if let Some(free) = back.uid.filter(|uid| images.iter().any(|image| image.uid == Some(*uid))) {
                let next = (0..).find(|uid| !images.iter().any(|image| image.uid == Some(*uid)));
                let number = next.unwrap_or(free).to_string();
                let raw = back.with_field("uid", Raw::trust(number.as_bytes()));
                back = EntryImage::new(next, &back.comment, raw.raw());
            }
            images.push(back.clone());
        }
    }
    // The registry lists it again, as it did then.
    if let (Some(was), Some(uid)) = (then.uid, back.uid)
        && was == uid
    {
        for then in facts.iter().filter(|image| entry_role(&image.comment) == EntryRole::Registry) {
            let lists =
                |image: &EntryImage| registry::lines(&image.content()).iter().any(|l| l.uid == Some(uid));
            let now = images.iter_mut().find(|image| image.comment == then.comment);
            if let Some(now) = now.filter(|now| lists(then) && !lists(now)) {
                let text = registry::with_line_of(&now.content(), &then.content(), uid);
                *now = now.with_content(&text);
            }
        }
    }
    Ok((images, back.comment.to_string()))
}

/// Whether an entry that has the number of an earlier one is that one, under another title.
fn is_renamed(changes: &[Change], then: &EntryImage, now: &EntryImage) -> bool {
    let mut title = then.comment.clone();
    for change in changes {
        if let (Some(before), Some(after)) = (&change.before, &change.after)
            && before.uid == then.uid
            && before.comment == title
        {
            title = after.comment.clone();
        }
    }
    then.uid.is_some() && now.uid == then.uid && now.comment == title
}

/// What becomes of entries, from one state of a book to another.
fn changes(before: &[EntryImage], after: &[EntryImage]) -> Vec<RestoredEntry> {
    let told = |image: &&EntryImage| entry_role(&image.comment) != EntryRole::Queue;
    let same = |a: &EntryImage, b: &EntryImage| a.uid == b.uid && (a.comment == b.comment || a.uid.is_some());
    let told_of = |image: &EntryImage, did: Did, fields: Vec<String>| RestoredEntry {
        uid: image.uid,
        comment: image.comment.to_string(),
        did,
        fields,
    };
    let mut found = Vec::new();
    for old in before.iter().filter(told).filter(|old| !after.iter().any(|new| same(old, new))) {
        found.push(told_of(old, Did::Removed, Vec::new()));
    }
    for new in after.iter().filter(told) {
        match before.iter().find(|old| same(old, new)) {
            None => found.push(told_of(new, Did::Added, Vec::new())),
            Some(old) => {
                let fields = differing(old.raw(), new.raw());
                if !fields.is_empty() {
                    found.push(told_of(new, Did::Changed, fields));
                }
            }
        }
    }
    found
}

/// What becomes of others by a chat's getting another book than `old`.
pub(crate) fn warnings(library: &Library, c: ChatIx, old: &str, found: &BookAt, at: usize) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let Some(stem) = library.chat(c).book_stem() else { return warnings };
    let others = library.users_of(stem).iter().filter(|user| **user != c).count();
    if others > 0 {
        let who =
            if others == 1 { "Another chat goes".to_owned() } else { format!("{others} other chats go") };
        let message = format!("{who} on using the lorebook \"{old}\" as it is");
        warnings.push(Warning::new(WarningCode::BookLeftToOthers, message));
    }
    let active = library.also_active(c, stem);
    if !active.is_empty() {
        let message = format!(
            "The lorebook \"{old}\" is also active {}: it and the new one are active at once",
            active.join(" and ")
        );
        warnings.push(Warning::new(WarningCode::BookAlsoGlobal, message));
    }
    if let Some(distance) = found.source.distance.filter(|distance| *distance > 0) {
        let message =
            format!("What is known of the lorebook is from {distance} messages before message {at}");
        warnings.push(Warning::new(WarningCode::StateOlder, message));
    }
    warnings
}

/// Whether two files say the same of every entry.
pub(super) fn same_book(a: &Arc<Book>, b: &Arc<Book>) -> bool {
    if a.bytes() == b.bytes() {
        return true;
    }
    match (a.parse(), b.parse()) {
        (Ok(a), Ok(b)) => changes(&a.images(), &b.images()).is_empty(),
        _ => false,
    }
}

/// What goes by a chat's identity, for one that gets another.
pub(crate) fn identified(chat: &Chat, slug: &str) -> Vec<Revision> {
    let mut revisions = Vec::new();
    if chat.record().is_some() {
        revisions.push(Revision::text(&["forklore", "owner", "slug"], slug));
    }
    if adopt::is_story(chat) {
        revisions.push(Revision::text(&[adopt::MARK], slug));
    }
    revisions
}

/// What a record says of its owner and its book, for a chat that gets another identity and another book.
pub(crate) fn own_record(chat: &Chat, slug: &str, book: &str, print: &str) -> Vec<Revision> {
    let mut revisions = identified(chat, slug);
    let Some(record) = chat.record() else { return revisions };
    revisions.push(Revision::text(&["forklore", "book", "name"], book));
    if record.baseline.is_some() {
        revisions.push(Revision::text(&["forklore", "baseline", "book"], print));
    }
    revisions
}

/// A new book, and the chat bound to it.
pub(crate) struct Bind {
    pub(crate) book: (VaultPath, Vec<u8>),
    pub(crate) edit: Edit,
    /// The old book, if nothing needs it any more
    pub(crate) retire: Vec<VaultPath>,
    pub(crate) guards: Vec<(VaultPath, FileId)>,
}

impl Bind {
    pub(super) fn execute(
        self,
        library: &Library,
        report: RestoreReport,
        now: i64,
    ) -> Result<RestoreReport, RestoreError> {
        let what = match (&report.entries[..], report.what) {
            ([one], "entry") => format!("entry \"{}\"", one.comment),
            (_, "entry") => "an entry".to_owned(),
            _ => "the lorebook".to_owned(),
        };
        let when = match report.observation {
            Some(seq) => format!("observation {seq}"),
            None => format!("message {}", report.at),
        };
        let about = About {
            kind: Kind::Restore,
            chat: Some(report.chat.clone()),
            summary: format!("put {what} of {} back to {when}", report.chat),
            undoes: None,
        };
        let (operation, pending) = self.commit(library, about, now)?;
        Ok(RestoreReport { operation: Some(operation), pending, ..report })
    }

    /// Lets it happen, as one operation: its id, and files that could not be changed yet.
    pub(crate) fn commit(
        self,
        library: &Library,
        about: About,
        now: i64,
    ) -> Result<(String, Vec<String>), RestoreError> {
        let mut tx = library.begin(now)?;
        if !tx.can_edit()? {
            return Err(RestoreError::NoExchange);
        }
        let (path, bytes) = &self.book;
        let chat = library.chat_at(&self.edit.target).map(|(c, _)| c);
        let models = chat.map(|c| library.models_of_book(c)).unwrap_or_default();
        tx.publish(path.clone(), &[Part::Bytes(bytes)], &models)?;
        self.guards.into_iter().for_each(|(path, file)| tx.guard(path, file));
        tx.edit(self.edit)?;
        for path in self.retire {
            tx.retire(path)?;
        }
        let operation = tx.id().to_owned();
        let outcome = tx.commit(about, &finder(library))?;
        let pending = outcome.pending.iter().chain(&outcome.void).map(|p| p.as_str().to_owned()).collect();
        Ok((operation, pending))
    }
}
