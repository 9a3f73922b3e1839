//! The state of a chat at a message: [`BookAt`], the recaps, the metadata. What `show` shows, a fork is made of.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use forklore_core::adapter;
use forklore_core::adapter::recap::CombinedRecap;
use forklore_core::format::book::EntryImage;
use forklore_core::state::{self, Author, Carry, LeftOut, Life, Place, SeenBy, StateEntry};
use forklore_fs::PathError;
use forklore_json::Raw;

use crate::{Book, ChatIx, Library, Lore, history_error};

/// The book of a chat at a message.
#[derive(Clone)]
pub struct BookAt {
    /// The name that the chat has for it; `None` if none is bound
    pub name: Option<String>,
    /// The book as it is now; `None` if there is no such file
    pub live: Option<Arc<Book>>,
    /// Where the state comes from
    pub source: Source,
    /// Its entries, every field filled
    pub entries: Vec<StateEntry>,
    /// What is known and does not belong there
    pub left_out: Vec<LeftOut>,
}

/// Where the state of a book comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// What decided
    pub kind: SourceKind,
    /// The message that it is from
    pub message: Option<usize>,
    /// How many messages before the asked one that is
    pub distance: Option<usize>,
}

/// What decided about the state of a book.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// It is the last message: the book as it is now
    Head,
    /// Nothing has changed since, and history proves it: the book as it is now
    Unchanged,
    /// What history saw
    History,
    /// Scenes and other evidence that extensions left
    Scene,
    /// Nothing: a copy of the book as it is now
    Degraded,
    /// There is no book
    None,
}

impl SourceKind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Unchanged => "unchanged",
            Self::History => "history",
            Self::Scene => "scene",
            Self::Degraded => "degraded",
            Self::None => "none",
        }
    }
}

/// The metadata of a chat at a message.
pub struct MetadataAt {
    /// Where it comes from
    pub source: MetadataSource,
    /// The message that it is from
    pub message: Option<usize>,
    /// Its keys and values
    pub members: Vec<(String, Vec<u8>)>,
}

/// What tells the metadata of a chat at a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataSource {
    /// It is the last message: as it is now
    Head,
    /// History saw it then
    History,
    /// One of SillyTavern's backups has it
    Backup,
    /// Nothing is that old: as history first saw it
    First,
    /// Nothing: as it is now
    Inherited,
}

impl MetadataSource {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::History => "history",
            Self::Backup => "backup",
            Self::First => "first",
            Self::Inherited => "inherited",
        }
    }
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// Whether entries come along that nothing dates
    pub undated: bool,
    /// Whether the book as it is now counts, with everything since the last scene. Not while work is under way in it.
    pub unfinished: bool,
    /// Whether the book as it is now may simply be taken at the last message
    pub head: bool,
    /// Whether entries that the book was made without, although its line had earned them, are put in
    pub fill: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        Self { undated: true, unfinished: true, head: true, fill: false }
    }
}

/// Why there is no state.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The chat's book cannot be read.
    #[error("The lorebook \"{book}\" cannot be read: {why}")]
    CorruptBook {
        /// The book
        book: String,
        /// What is wrong
        why: String,
    },
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
}

impl Library {
    /// The book of chat `c` at message `at`.
    pub fn book_at(&self, c: ChatIx, at: usize, wanted: Wanted) -> Result<BookAt, StateError> {
        let chat = &self.chats[c];
        let Some((name, stem)) = &chat.book else {
            let source = Source { kind: SourceKind::None, message: None, distance: None };
            return Ok(BookAt { name: None, live: None, source, entries: Vec::new(), left_out: Vec::new() });
        };
        let live = self.book(name)?;
        if let Some(Err(e)) = live.as_ref().map(|book| book.parse()) {
            return Err(StateError::CorruptBook { book: name.clone(), why: e.to_string() });
        }
        let hand_kept = live.is_some() && !self.is_machine_kept(stem)?;
        let alone = hand_kept || self.users_of(stem).iter().all(|user| *user == c || !self.related(c, *user));
        // At the last message the book is what it is, and nothing has to be worked out; unless a relative writes into it, too, whose
        // part would have to come out.
        if wanted.head
            && wanted.unfinished
            && at == chat.head()
            && alone
            && let Some(found) = self.as_it_is(c, at)?
        {
            return Ok(found);
        }
        if wanted.undated && !wanted.fill && live.is_some() && self.is_apart(c, stem)? {
            let undated = at < chat.head();
            if let Some(entries) = state::of_today(&self.evidence(stem)?, undated) {
                let kind = if entries.is_empty() { SourceKind::None } else { SourceKind::Degraded };
                let source = Source { kind, message: None, distance: None };
                return Ok(BookAt { name: Some(name.clone()), live, source, entries, left_out: Vec::new() });
            }
        }
        let lore = self.lore(c)?;
        let (source, entries, left_out) = from_evidence(&lore, at, chat.head(), wanted);
        Ok(BookAt { name: Some(name.clone()), live, source, entries, left_out })
    }

    /// Whether a chat is alone in the world with its book: no history, no relatives, no scenes, nobody who made the book from another.
    fn is_apart(&self, c: ChatIx, stem: &str) -> Result<bool, PathError> {
        let copied =
            || self.copies().iter().any(|copy| copy.stem == stem || copy.source == stem || copy.chat == c);
        Ok(self.history()?.is_none()
            && self.users_of(stem) == [c]
            && self.family(c).len() < 2
            && self.chats[c].lineage.parent.is_none()
            && self.chats[c].record.is_none()
            && self.known_as(stem) == stem
            && self.names_of(stem).count() == 1
            && self.told_books(c).is_empty()
            && !copied())
    }

    /// The book of a chat as it is, at its last message, whoever wrote into it.
    pub fn book_as_it_is(&self, c: ChatIx) -> Result<BookAt, StateError> {
        let at = self.chats[c].head();
        match self.as_it_is(c, at)? {
            Some(found) => Ok(found),
            None => self.book_at(c, at, Wanted::default()),
        }
    }

    fn as_it_is(&self, c: ChatIx, at: usize) -> Result<Option<BookAt>, StateError> {
        let Some((name, _)) = &self.chats[c].book else { return Ok(None) };
        let Some(live) = self.book(name)?.filter(|live| live.parse().is_ok()) else { return Ok(None) };
        let entries = live.images().into_iter().map(StateEntry::plain).collect();
        Ok(Some(BookAt {
            name: Some(name.clone()),
            live: Some(live),
            source: Source { kind: SourceKind::Head, message: Some(at), distance: Some(0) },
            entries,
            left_out: Vec::new(),
        }))
    }

    /// What `read` finds in the header of a chat as history saw it at a message or last before.
    pub fn header_then<T>(
        &self,
        c: ChatIx,
        at: usize,
        read: &dyn Fn(Raw<'_>) -> Option<T>,
    ) -> Result<Option<(usize, T)>, PathError> {
        match self.history()? {
            Some(history) => history.header_at(self, c, at, read).map_err(history_error),
            None => Ok(None),
        }
    }

    /// The metadata of a chat at a message: what was seen of it last until then. Where nothing is that old, the first that history saw
    /// of it is better than what it is now.
    pub fn metadata_at(&self, c: ChatIx, at: usize) -> Result<MetadataAt, PathError> {
        // A key that stands twice counts as readers count it.
        let every = |metadata: Raw<'_>| {
            let mut members: Vec<(String, Vec<u8>)> = Vec::new();
            for key in metadata.members().filter_map(|(key, _)| key.as_text()) {
                let value = metadata.get(&key).filter(|_| !members.iter().any(|(known, _)| *known == *key));
                members.extend(value.map(|value| (key.into_owned(), value.bytes().to_vec())));
            }
            Some(members)
        };
        let metadata = self.chats[c].header().metadata();
        let now = |source| MetadataAt { source, message: None, members: every(metadata).unwrap_or_default() };
        if at >= self.chats[c].head() {
            return Ok(MetadataAt { message: Some(at), ..now(MetadataSource::Head) });
        }
        let told = |source, (message, members)| MetadataAt { source, message: Some(message), members };
        let history = self.header_then(c, at, &every)?.map(|found| told(MetadataSource::History, found));
        let message = history.as_ref().and_then(|found| found.message);
        if message < Some(at) {
            // Of two at the same message, what history saw counts.
            let backup = self.backup_header(c, at, &every)?.filter(|(kept, _)| Some(*kept) > message);
            if let Some(backup) = backup {
                return Ok(told(MetadataSource::Backup, backup));
            }
        }
        if let Some(found) = history {
            return Ok(found);
        }
        let first = match self.history()? {
            Some(history) => history.first_header(self, c, &every).map_err(history_error)?,
            None => None,
        };
        Ok(first.map_or_else(|| now(MetadataSource::Inherited), |first| told(MetadataSource::First, first)))
    }

    /// The combined recap of a chat at a message: its own if it fits, else the last one that does in history or SillyTavern's backups.
    /// With the bytes of the value, to be put elsewhere.
    pub fn combined_at(&self, c: ChatIx, at: usize) -> Result<Option<(CombinedRecap, Vec<u8>)>, PathError> {
        let metadata = self.chats[c].header().metadata();
        let keeper = adapter::ALL.into_iter().find(|adapter| adapter.combined(metadata).is_some());
        let Some(keeper) = keeper else { return Ok(None) };
        let read = |metadata: Raw<'_>| {
            let recap = keeper.combined(metadata).filter(|recap| recap.fits(at))?;
            Some((recap, keeper.stored_combined(metadata)?.bytes().to_vec()))
        };
        if let Some(own) = read(metadata) {
            return Ok(Some(own));
        }
        match self.header_then(c, at, &read)? {
            Some((_, recap)) => Ok(Some(recap)),
            None => Ok(self.backup_header(c, at, &read)?.map(|(_, recap)| recap)),
        }
    }
}

fn from_evidence(
    lore: &Lore,
    at: usize,
    head: usize,
    wanted: Wanted,
) -> (Source, Vec<StateEntry>, Vec<LeftOut>) {
    let mut known = Cow::Borrowed(&lore.known);
    if wanted.fill {
        known = Cow::Owned(state::filled(&known));
    }
    let own = lore.own.as_deref();
    let carry = Carry { undated: wanted.undated, since: wanted.unfinished };
    let found = state::fold(&known, at, head, carry, own.map(|own| &*own.book));
    let dated = lore.lives.iter().any(|life| is_dated(life));
    let covered = lore.looked.is_some_and(|first| first <= at);
    let later = |change: &state::Change| match change.place {
        Place::Start => false,
        Place::Ours(message) | Place::Between { until: message, .. } | Place::Met { until: message, .. } => {
            message > at
        }
        _ => true,
    };
    let present = lore.present();
    // From the first look of history on everything is known, and if nothing came later the book of today is the answer. Before that
    // scenes tell; where there are none either, there is only the book of today, or nothing.
    let kind = match (dated, present.is_empty()) {
        _ if covered && !known.changes.iter().any(later) => SourceKind::Unchanged,
        _ if covered => SourceKind::History,
        (true, _) => SourceKind::Scene,
        (false, false) => SourceKind::Degraded,
        (false, true) => SourceKind::None,
    };
    // Snapshots keep only some fields of an entry: the rest comes from what it is today.
    let donors: HashMap<_, _> =
        present.iter().map(|(_, entry)| ((entry.uid, entry.comment.clone()), entry)).collect();
    // Numbers that the book itself gives twice are its own affair.
    let mut numbers: HashMap<Option<i64>, usize> = HashMap::new();
    present.iter().for_each(|(_, entry)| *numbers.entry(entry.uid).or_default() += 1);
    let numbered: HashMap<_, _> =
        present.iter().filter(|(_, e)| numbers[&e.uid] > 1).map(|(t, e)| (t, e)).collect();
    let whole = |mut entry: StateEntry| {
        let doubled = entry.thing.as_ref().and_then(|thing| numbered.get(thing));
        if let Some(uid) = doubled.and_then(|doubled| doubled.raw().get("uid")) {
            entry.image = EntryImage::new(
                doubled.and_then(|e| e.uid),
                &entry.image.comment,
                entry.image.with_field("uid", uid).raw(),
            );
            entry.inferred.retain(|field| field != "uid");
        }
        // History saw all of its fields. What it lacks, it lacked.
        if entry.observed {
            return entry;
        }
        let donor = donors.get(&(entry.image.uid, entry.image.comment.clone())).copied();
        // The mark of today's text is not one of an earlier text.
        let earlier = donor.filter(|donor| donor.content() != entry.image.content());
        let unmarked = earlier.zip(own).map(|(donor, own)| own.keepers.without_mark(donor));
        let (image, inferred) = state::complete(&entry.image, unmarked.as_ref().or(donor));
        entry.image = image;
        entry.inferred.extend(inferred);
        entry
    };
    let message = if covered { Some(at) } else { found.basis };
    let source = Source { kind, message, distance: message.map(|message| at.saturating_sub(message)) };
    (source, found.entries.into_iter().map(whole).collect(), found.left_out)
}

/// Whether anything that an extension left tells when something was written into a book.
fn is_dated(life: &Life) -> bool {
    life.sights.iter().any(|sight| matches!(sight.by, SeenBy::Scene(_)))
        || life
            .differences
            .iter()
            .any(|difference| matches!(difference.author, Author::Mark(_) | Author::Replaced(_)))
}
