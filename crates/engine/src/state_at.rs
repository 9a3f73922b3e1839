//! The state of a chat at a message: [`BookAt`], the recaps, the metadata. What `show` shows, a fork is made of.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use forklore_core::adapter::auto_recap::running::CombinedRecap;
use forklore_core::format::book::EntryImage;
use forklore_core::state::{self, Carry, Evidence, LeftOut, Place, StateEntry};
use forklore_fs::PathError;
use forklore_json::Raw;

use crate::vault::{Book, Library, history_error};

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
    /// Marks of lines that no scene has told: they are this line's all the same (see [`state::untold`])
    pub untold: Vec<u64>,
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

/// Evidence, and the changes that it comes to.
pub(crate) type Known = (Evidence, Vec<state::Change>);

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
    pub fn book_at(&self, c: usize, at: usize, wanted: Wanted) -> Result<BookAt, StateError> {
        let chat = &self.chats[c];
        let Some((name, stem)) = &chat.book else {
            let source = Source { kind: SourceKind::None, message: None, distance: None };
            return Ok(BookAt {
                name: None,
                live: None,
                source,
                entries: Vec::new(),
                left_out: Vec::new(),
                untold: Vec::new(),
            });
        };
        let live = self.book(name)?;
        if let Some(Err(e)) = live.as_ref().map(|book| book.parse()) {
            return Err(StateError::CorruptBook { book: name.clone(), why: e.to_string() });
        }
        let hand_kept = live.as_ref().is_some_and(|book| book.keeper.is_none());
        let alone = hand_kept || self.users_of(stem).iter().all(|user| *user == c || !self.related(c, *user));
        if wanted.head
            && wanted.unfinished
            && at == chat.head()
            && alone
            && let Some(found) = self.as_it_is(c, at)?
        {
            return Ok(found);
        }
        let known = self.known(c)?;
        let evidence = &known.0;
        let (source, entries, left_out) = from_evidence(&known, at, chat.head(), wanted);
        let images: Vec<EntryImage> = entries.iter().map(|entry| entry.image.clone()).collect();
        let untold = if hand_kept { Vec::new() } else { untold(evidence, at, &images) };
        Ok(BookAt { name: Some(name.clone()), live, source, entries, left_out, untold })
    }

    /// The book of a chat as it is, at its last message, whoever wrote into it.
    pub fn book_as_it_is(&self, c: usize) -> Result<BookAt, StateError> {
        let at = self.chats[c].head();
        match self.as_it_is(c, at)? {
            Some(found) => Ok(found),
            None => self.book_at(c, at, Wanted::default()),
        }
    }

    fn as_it_is(&self, c: usize, at: usize) -> Result<Option<BookAt>, StateError> {
        let Some((name, stem)) = &self.chats[c].book else { return Ok(None) };
        let Some(live) = self.book(name)? else { return Ok(None) };
        let Some(now) = self.live(c, stem)? else { return Ok(None) };
        // A book kept by hand has no scenes to be mistaken by.
        let untold = match live.keeper {
            Some(_) => state::untold(&now.entries, &self.last_sighting(c, at)?),
            None => Vec::new(),
        };
        let entry = |image| StateEntry {
            image,
            message: None,
            undated: false,
            inferred: Vec::new(),
            observed: false,
        };
        Ok(Some(BookAt {
            name: Some(name.clone()),
            live: Some(live),
            source: Source { kind: SourceKind::Head, message: Some(at), distance: Some(0) },
            entries: now.entries.into_iter().map(entry).collect(),
            left_out: Vec::new(),
            untold,
        }))
    }

    /// What is known about the book of a chat, and the changes that this comes to. Asked for one message after the other, it is
    /// worked out once.
    pub(crate) fn known(&self, c: usize) -> Result<Arc<Known>, PathError> {
        let mut last = self.last_known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = last.as_ref().filter(|(chat, _)| *chat == c) {
            return Ok(known.clone());
        }
        let mut evidence = self.evidence(c)?;
        self.add_backups(c, &mut evidence)?;
        let changes = state::replay(&evidence);
        let known = Arc::new((evidence, changes));
        *last = Some((c, known.clone()));
        Ok(known)
    }

    /// What `read` finds in the header of a chat as history saw it at a message or last before.
    pub fn header_then<T>(
        &self,
        c: usize,
        at: usize,
        read: &dyn Fn(Raw<'_>) -> Option<T>,
    ) -> Result<Option<(usize, T)>, PathError> {
        match self.history()? {
            Some(history) => history.header_at(self, c, at, read).map_err(history_error),
            None => Ok(None),
        }
    }

    /// The combined recap of a chat at a message: its own if it fits, else the last one that does in history or SillyTavern's backups.
    /// With the bytes of the value, to be put elsewhere.
    pub fn combined_at(&self, c: usize, at: usize) -> Result<Option<(CombinedRecap, Vec<u8>)>, PathError> {
        let read = |metadata: Raw<'_>| {
            let recap = CombinedRecap::read(metadata).filter(|recap| recap.fits(at))?;
            let raw = metadata.at(&["auto_recap", "combined_recap"])?;
            Some((recap, raw.bytes().to_vec()))
        };
        let metadata = self.chats[c].header().metadata();
        if CombinedRecap::read(metadata).is_none() {
            return Ok(None);
        }
        if let Some(own) = read(metadata) {
            return Ok(Some(own));
        }
        match self.header_then(c, at, &read)? {
            Some((_, recap)) => Ok(Some(recap)),
            None => Ok(self.backup_header(c, at, &read)?.map(|(_, recap)| recap)),
        }
    }
}

/// Lines of entries that the last scene of our line did not show.
fn untold(evidence: &Evidence, at: usize, entries: &[EntryImage]) -> Vec<u64> {
    let ours =
        evidence.sightings.iter().filter(|sighting| sighting.ours.is_some_and(|message| message <= at));
    let last = ours.max_by_key(|sighting| (sighting.ours, sighting.clock));
    state::untold(entries, last.map_or(&[], |last| &last.entries))
}

fn from_evidence(
    (evidence, changes): &Known,
    at: usize,
    head: usize,
    wanted: Wanted,
) -> (Source, Vec<StateEntry>, Vec<LeftOut>) {
    let mut changes = Cow::Borrowed(changes);
    if wanted.fill {
        let holes = state::holes(&changes, evidence);
        changes = Cow::Owned(state::filled(changes.into_owned(), &holes));
    }
    let book = evidence.live.as_ref().map(|live| live.book.as_str());
    let carry = Carry { undated: wanted.undated, since: wanted.unfinished };
    let found = state::fold(&changes, at, head, carry, book);
    let dated = !evidence.sightings.is_empty()
        || evidence.live.as_ref().is_some_and(|live| live.marks.iter().any(Option::is_some));
    // History is exact from the message on at which it first saw the book.
    let first = evidence.observed.iter().find_map(|observed| match observed.head {
        Place::Ours(head) => Some(head),
        _ => None,
    });
    let covered = first.is_some_and(|first| first <= at);
    let later = |change: &state::Change| match change.place {
        Place::Start => false,
        Place::Ours(message) | Place::Between { until: message, .. } => message > at,
        _ => true,
    };
    let kind = match (dated, &evidence.live) {
        _ if covered && !changes.iter().any(later) => SourceKind::Unchanged,
        _ if covered => SourceKind::History,
        (true, _) => SourceKind::Scene,
        (false, Some(_)) => SourceKind::Degraded,
        (false, None) => SourceKind::None,
    };
    let donors: HashMap<_, _> = evidence
        .live
        .iter()
        .flat_map(|live| &live.entries)
        .map(|entry| ((entry.uid, entry.comment.clone()), entry))
        .collect();
    let whole = |mut entry: StateEntry| {
        // History saw all of its fields. What it lacks, it lacked.
        if entry.observed {
            return entry;
        }
        let donor = donors.get(&(entry.image.uid, entry.image.comment.clone())).copied();
        let (image, inferred) = state::complete(&entry.image, donor);
        entry.image = image;
        entry.inferred.extend(inferred);
        entry
    };
    let message = if covered { Some(at) } else { found.basis };
    let source = Source { kind, message, distance: message.map(|message| at - message) };
    (source, found.entries.into_iter().map(whole).collect(), found.left_out)
}
