//! The metadata of a chat as of a message, for another owner: what a new fork's header says, and a healed chat's.

mod inherited;

use std::sync::Arc;

use forklore_core::adapter::bindings::CHAT_BOOK;
use forklore_core::adapter::notes::BoundBook;
use forklore_core::adapter::places::Path;
use forklore_core::adapter::recap::{CombinedRecap, Projection};
use forklore_core::adapter::{self, Adapter};
use forklore_core::fork::header::is_handled;
use forklore_core::fork::timed::{self, Form};
use forklore_core::format::book::EntryImage;
use forklore_core::format::record;
use forklore_core::format::revision::{self, Revision};
use forklore_fs::PathError;
use forklore_journal::operation::{Edit, Json, JsonChange, Place};
use forklore_json::{Kind, Raw, list};
use forklore_vault::state::metadata::{MetadataAt, MetadataSource};
use forklore_vault::state::recaps::KnownRecap;
use forklore_vault::{Chat, ChatIx, Library};

use crate::memory_record;

/// The book that the metadata is to go with.
pub(crate) enum Binding<'a> {
    /// The one that it goes with now
    Same,
    /// Another one, with these entries
    Own { name: &'a str, entries: &'a [EntryImage] },
    /// None
    Unbound,
}

/// Metadata as of a message.
#[derive(Default)]
pub(crate) struct Revised {
    pub(crate) revisions: Vec<Revision>,
    /// The running recap with what it had lost, and which of its versions belong here
    pub(crate) running: Option<(Arc<KnownRecap>, Projection)>,
    /// The combined recap that fits
    pub(crate) combined: Option<CombinedRecap>,
    /// Members of the record that keep what is left out
    pub(crate) archive: Vec<(&'static str, Vec<u8>)>,
    /// Keys of which nothing tells how they were
    pub(crate) inherited: Vec<String>,
    /// The same in words
    pub(crate) notes: Vec<String>,
}

/// The metadata of chat `c` as of message `at`, for a chat called `owner`. Work that waits is left to the parent of a `fresh` fork;
/// a chat that stays with its book keeps it.
pub(crate) fn revise(
    library: &Library,
    c: ChatIx,
    at: usize,
    owner: &str,
    binding: &Binding<'_>,
    fresh: bool,
) -> Result<Revised, PathError> {
    let chat = library.chat(c);
    let metadata = chat.header().metadata();
    let mut revised = Revised::default();
    revised.revisions.extend(bind(library, c, binding));
    let known = if fresh { library.running_recap(c)? } else { library.running_recap_to_heal(c)? };
    if let Some(known) = known {
        let projection = known.project(at);
        let (revisions, dropped) = known.revisions(metadata, &projection, owner);
        revised.revisions.extend(revisions);
        if !dropped.is_empty() {
            revised.archive.push(("running", list(&dropped)));
        }
        revised.running = Some((known, projection));
    }
    let fitting = library.combined_at(c, at)?;
    let bytes = fitting.as_ref().map(|(_, bytes)| bytes.as_slice());
    if let Some((keeper, stored)) = combined(metadata) {
        if bytes != Some(stored.bytes()) {
            revised.archive.push(("combined", stored.bytes().to_vec()));
        }
        revised.revisions.extend(keeper.put_combined(metadata, bytes, owner));
    }
    revised.combined = fitting.map(|(recap, _)| recap);
    if fresh || !matches!(binding, Binding::Same) {
        for waiting in adapter::ALL.iter().map(|adapter| adapter.waiting(metadata)) {
            revised.revisions.extend(waiting.revisions);
            revised.archive.extend(waiting.kept);
        }
        revised.revisions.extend(timers(library, c, at, binding)?);
    }
    revised.revisions.extend(memory_record::trimmed(metadata, at));
    let known = revised.revisions.len();
    as_of(library, c, at, &mut revised)?;
    if let Binding::Own { entries, .. } = binding {
        // Extensions keep notes about their book in the header. Those that somebody saw at the message are about the book of then: what was
        // made of its messages later is in the fork's, too.
        let seen = revision::apply(Some(chat.header().raw()), &revised.revisions[known..]).ok();
        let seen = seen.as_deref().and_then(|header| Raw::trust(header).get("chat_metadata"));
        let metadata = seen.unwrap_or(metadata);
        let notes = adapter::ALL.iter().flat_map(|adapter| adapter.revisions(metadata, entries, at));
        revised.revisions.extend(notes);
    }
    // What an extension had noted by then names the book that the chat had then.
    let notes = noted(library, c, binding);
    let seen = |place: &Revision| revised.revisions.iter().any(|known| known.path == place.path[..2]);
    let notes: Vec<Revision> =
        notes.into_iter().filter(|note| !matches!(binding, Binding::Same) || seen(note)).collect();
    revised.revisions.extend(notes);
    Ok(revised)
}

/// What binding chat `c` to another book with these entries changes in its header.
pub(crate) fn rebind(
    library: &Library,
    c: ChatIx,
    name: &str,
    entries: &[EntryImage],
) -> Result<Vec<Revision>, PathError> {
    let chat = library.chat(c);
    let binding = Binding::Own { name, entries };
    let mut revisions = bind(library, c, &binding);
    revisions.extend(noted(library, c, &binding));
    revisions.extend(timers(library, c, chat.head(), &binding)?);
    Ok(revisions)
}

/// Revisions of a chat's header as an edit of its file, or of its group's, where older versions keep it. `None` if the header holds what
/// no operation can name.
pub(crate) fn edit_of(chat: &Chat, revisions: Vec<Revision>, required: bool) -> Option<Edit> {
    let header = chat.header().raw();
    let mut changes = Vec::new();
    // What is no object has room for nothing: as in a fork (`revision::apply`), an empty one takes its place first.
    if let Some(odd) = header.get("chat_metadata").filter(|metadata| metadata.kind() != Kind::Object) {
        changes.push(JsonChange::set(&["chat_metadata"], Some(Json::new(odd.bytes())?), Json::new(b"{}")));
    }
    for revision in revisions {
        let path: Vec<&str> = revision.path.iter().map(String::as_str).collect();
        let to = match revision.to {
            Some(value) => Some(Json::new(&value)?),
            None => None,
        };
        changes.push(JsonChange::set_in(header, &path, to)?);
    }
    Some(Edit { required, ..header_edit(chat, changes) })
}

/// Changes of a chat's header as an edit of the file that holds it.
pub(crate) fn header_edit(chat: &Chat, mut changes: Vec<JsonChange>) -> Edit {
    let Some((file, kept)) = chat.kept() else {
        return Edit::new(chat.path().clone(), Place::Header, changes);
    };
    let mut missing = kept.missing;
    for change in &mut changes {
        // Nothing but values is changed in headers.
        let JsonChange::Set { path, made, .. } = change else { continue };
        path.splice(..1, kept.path.iter().cloned());
        *made += std::mem::take(&mut missing);
    }
    Edit::new(file.clone(), Place::Document, changes)
}

/// The combined recap where it stands, whether it can be read or not, and who keeps it.
fn combined<'a>(metadata: Raw<'a>) -> Option<(&'static dyn Adapter, Raw<'a>)> {
    adapter::ALL.into_iter().find_map(|adapter| Some((adapter, adapter.stored_combined(metadata)?)))
}

/// What binds chat `c` where SillyTavern and the extensions that go by its binding look. Where an extension's note names the story's book,
/// the one that SillyTavern binds is the user's, and stays.
fn bind(library: &Library, c: ChatIx, binding: &Binding<'_>) -> Vec<Revision> {
    let book = match binding {
        Binding::Same => return Vec::new(),
        Binding::Unbound => None,
        Binding::Own { name, entries } => Some(BoundBook { name, entries }),
    };
    let chat = library.chat(c);
    let metadata = chat.header().metadata();
    if !library.places_of_book(c).contains(&CHAT_BOOK) {
        // A fork that waits for its book was saved without any.
        let parent = chat.lineage().parent.filter(|_| chat.book().is_none());
        let users = parent.and_then(|parent| library.chat_book(parent));
        return users.map(|name| Revision::text(CHAT_BOOK, name)).into_iter().collect();
    }
    let mut revisions = vec![match book {
        Some(book) => Revision::text(CHAT_BOOK, book.name),
        None => Revision::without(CHAT_BOOK),
    }];
    revisions.extend(adapter::ALL.iter().flat_map(|adapter| adapter.bind(metadata, book)));
    revisions
}

/// What binds chat `c` where an extension's note names the story's book.
fn noted(library: &Library, c: ChatIx, binding: &Binding<'_>) -> Vec<Revision> {
    let book = match binding {
        Binding::Same => library.chat(c).book().map(|(name, _)| name),
        Binding::Unbound => None,
        Binding::Own { name, .. } => Some(*name),
    };
    let metadata = library.chat(c).header().metadata();
    let places = library.places_of_book(c).into_iter().filter(|place| *place != CHAT_BOOK);
    let revision = |place: Path| match book {
        Some(name) => Some(Revision::text(place, name)),
        None => metadata.at(place).map(|_| Revision::without(place)),
    };
    places.filter_map(revision).collect()
}

/// Sticky and cooldown effects: those that have begun by then, under the name of the book that they go with now.
fn timers(
    library: &Library,
    c: ChatIx,
    at: usize,
    binding: &Binding<'_>,
) -> Result<Option<Revision>, PathError> {
    let chat = library.chat(c);
    let now = chat.header().metadata().get("timedWorldInfo");
    let read = |then: Raw<'_>| Some(then.get("timedWorldInfo").map(|timers| timers.bytes().to_vec()));
    let then = if at < chat.head() { library.header_then(c, at, &read)? } else { None };
    let timers = match &then {
        Some((_, then)) => then.as_deref().map(Raw::trust),
        None => now,
    };
    let Some(timers) = timers else { return Ok(now.map(|_| Revision::without(&["timedWorldInfo"]))) };
    let visible = chat.transcript().rows_from(0).take(at + 1).filter(|row| !row.hidden).count();
    // A fork that waits for its book still has the effects of its parent's.
    let waiting = record::Pending::read(chat.header().metadata()).and_then(|pending| pending.book);
    let old = chat.book().map(|(name, _)| name.to_owned()).or(waiting);
    let rekeyed = match (binding, &old) {
        (Binding::Own { name, entries }, Some(old)) => {
            let form = form_of(library, timers, old)?;
            let entry = |uid: i64| entries.iter().find(|entry| entry.uid == Some(uid)).cloned();
            timed::rekey(timers, old, name, &entry, visible, form)
        }
        // Nothing changes its name; what has not begun yet goes all the same.
        _ => timed::rekey(timers, "\u{0}", "\u{0}", &|_| None, visible, Form::Plain),
    };
    let changed = now.is_none_or(|now| !Raw::trust(&rekeyed).says_the_same(now));
    Ok(changed.then(|| Revision::set(&["timedWorldInfo"], rekeyed)))
}

/// What of another chat's effects goes on in a new book of the chat that goes on: `entries` gives the entry here for a number there.
pub(crate) fn timers_along(
    library: &Library,
    (there, upto): (ChatIx, usize),
    (here, at): (ChatIx, usize),
    timers: Raw<'_>,
    book: &str,
    entries: &dyn Fn(i64) -> Option<EntryImage>,
) -> Result<Vec<Revision>, PathError> {
    let visible = |c: ChatIx, at: usize| {
        library.chat(c).transcript().rows_from(0).take(at + 1).filter(|row| !row.hidden).count()
    };
    let Some((old, _)) = library.chat(there).book() else { return Ok(Vec::new()) };
    let counts = (visible(there, upto), visible(here, at));
    let form = form_of(library, timers, old)?;
    Ok(timed::along(timers, (old, book), entries, counts, form))
}

/// Which form of its entries' texts the browser hashed for a book.
fn form_of(library: &Library, timers: Raw<'_>, book: &str) -> Result<Form, PathError> {
    let live = library.book(book)?;
    let live = live.as_ref().and_then(|book| book.parse().ok());
    let keeper = live.as_ref().and_then(adapter::keeper);
    let known = live.as_ref().and_then(|live| form(timers, live, book));
    Ok(known.or_else(|| keeper.map(Form::Wrapped)).unwrap_or(Form::Plain))
}

/// Which form of an entry's text the browser hashed: one effect whose entry has not changed since tells it for all.
fn form(timers: Raw<'_>, book: &forklore_core::format::book::Book<'_>, name: &str) -> Option<Form> {
    timers.members().flat_map(|(_, effects)| effects.members()).find_map(|(key, effect)| {
        let key = key.as_text()?;
        let uid: i64 = key.strip_prefix(name)?.strip_prefix('.')?.parse().ok()?;
        let entry = book.entries().iter().find(|entry| entry.uid() == Some(uid))?;
        let hash = effect.get("hash").and_then(Raw::as_i64).and_then(|n| u64::try_from(n).ok())?;
        Form::of(hash, entry.raw, name)
    })
}

/// Everything as of the message, as far as anything tells; what nothing tells is said.
fn as_of(library: &Library, c: ChatIx, at: usize, revised: &mut Revised) -> Result<(), PathError> {
    let then = library.metadata_at(c, at)?;
    if then.sight.source != MetadataSource::Head {
        as_seen(library.chat(c).header().metadata(), &then.members, revised);
    }
    (revised.inherited, revised.notes) = inherited(&then, at);
    Ok(())
}

/// What of a chat's metadata at a message nothing tells: the keys, and the same in words.
pub(crate) fn inherited(then: &MetadataAt, at: usize) -> (Vec<String>, Vec<String>) {
    (then.unsure.iter().map(|unsure| unsure.key.clone()).collect(), inherited::notes(then, at))
}

/// The metadata that was seen at the message: every key that nobody handles is as it was then.
fn as_seen(now: Raw<'_>, then: &[(String, Vec<u8>)], revised: &mut Revised) {
    let free = |key: &str| !is_handled(key);
    for (key, value) in then.iter().filter(|(key, _)| free(key)) {
        if now.get(key).map(Raw::bytes) != Some(value) {
            revised.revisions.push(Revision::set(&[key], value.clone()));
        }
    }
    for (key, _) in now.members() {
        let Some(key) = key.as_text().filter(|key| free(key)) else { continue };
        if !then.iter().any(|(then, _)| *then == *key) {
            revised.revisions.push(Revision::without(&[&key]));
        }
    }
}
