//! The book of a chat at a message: [`BookAt`]. What `show` shows, a fork is made of. Its metadata: [`super::metadata`]; its recaps: [`super::recaps`].

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use forklore_core::format::book::EntryImage;
use forklore_core::format::names::book_stem;
use forklore_core::format::record::Uncertain;
use forklore_core::state::{self, Author, Carry, LeftOut, Life, Place, SeenBy, StateEntry, Why};
use forklore_fs::PathError;

use crate::{Book, ChatIx, Library, Lore, Unread};

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
    /// The message that it is from; of a book that nothing dates, the one at which history first saw it, if it is another one now
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
    /// Nothing: a copy of the book as it is now, or as history first saw it
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
    /// Whether, of these, also those come along that one of several made, nobody knows which
    pub perhaps: bool,
    /// Whether the book as it is now counts, with everything since the last scene. Not while work is under way in it.
    pub unfinished: bool,
    /// Whether the book as it is now may simply be taken at the last message
    pub head: bool,
    /// Whether entries that the book was made without, although its line had earned them, are put in
    pub fill: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        Self { undated: true, perhaps: true, unfinished: true, head: true, fill: false }
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
        /// Whether the system does not let us read its file
        closed: bool,
    },
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
}

impl Library {
    /// The book of chat `c` at message `at`.
    pub fn book_at(&self, c: ChatIx, at: usize, wanted: Wanted) -> Result<BookAt, StateError> {
        let found = self.book_with_marks(c, at, wanted)?;
        match self.closed_on_line(c, &found)? {
            // What is made of a state without what one of its books has would lack that for good.
            Some((book, why)) => Err(StateError::CorruptBook { book, why, closed: true }),
            None => Ok(found),
        }
    }

    pub(super) fn book_with_marks(&self, c: ChatIx, at: usize, wanted: Wanted) -> Result<BookAt, StateError> {
        let mut found = self.book_found(c, at, wanted)?;
        self.mark_undated(c, &mut found, wanted.undated);
        Ok(found)
    }

    /// A book of the line that the system does not let us read, by the name that it has now, and why; where it is needed for a state.
    pub(super) fn closed_on_line(
        &self,
        c: ChatIx,
        found: &BookAt,
    ) -> Result<Option<(String, String)>, PathError> {
        if !self.met_closed() || matches!(found.source.kind, SourceKind::Head | SourceKind::None) {
            return Ok(None);
        }
        for life in &self.lore(c)?.lives {
            if let Some(book) = self.book_known_as(&life.book)?
                && let Err(Unread::Closed(why)) = book.parse()
            {
                return Ok(Some((self.names_of(&life.book).last().unwrap_or(&life.book).to_owned(), why)));
            }
        }
        Ok(None)
    }

    /// What came along into a book of the line although nothing dated it is no more certain for being there, until somebody writes on in it.
    /// Whoever wants nothing undated does without it.
    pub(super) fn mark_undated(&self, c: ChatIx, found: &mut BookAt, wanted: bool) {
        let bound = self.chats[c].book_stem().map(|stem| self.known_as(stem));
        let is_bound = |book: &str| bound.is_some_and(|bound| bound == self.known_as(&book_stem(book)));
        let all = self.with_ghosts();
        let line = std::iter::once(c).chain(all.ancestors(c));
        let records = line.filter_map(|chat| all.chats[chat].record.as_ref());
        let made = records.filter(|record| record.book.as_deref().is_some_and(is_bound));
        let undated: HashSet<&Uncertain> = made.flat_map(|record| &record.undated).collect();
        if undated.is_empty() {
            return;
        }
        for entry in &mut found.entries {
            entry.undated |= Uncertain::of(&entry.image).is_some_and(|this| undated.contains(&this));
        }
        if !wanted {
            for entry in found.entries.extract_if(.., |entry| entry.undated) {
                let (uid, comment) = (entry.image.uid, entry.image.comment.clone());
                found.left_out.push(LeftOut { uid, comment, lines: 0, why: Why::Undated });
            }
        }
    }

    fn book_found(&self, c: ChatIx, at: usize, wanted: Wanted) -> Result<BookAt, StateError> {
        let chat = &self.chats[c];
        let Some((name, stem)) = &chat.book else {
            let source = Source { kind: SourceKind::None, message: None, distance: None };
            return Ok(BookAt { name: None, live: None, source, entries: Vec::new(), left_out: Vec::new() });
        };
        let live = self.book(name)?;
        if let Some(Err(e)) = live.as_ref().map(|book| book.parse()) {
            let closed = matches!(e, Unread::Closed(_));
            return Err(StateError::CorruptBook { book: name.clone(), why: e.to_string(), closed });
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
        if let Some(live) = live.as_ref().filter(|live| live.is_large() && !wanted.fill)
            && let Some((source, entries, left_out)) = self.with_ghosts().told_by_few(c, at, wanted, live)?
        {
            let live = Some(live.clone());
            return Ok(BookAt { name: Some(name.clone()), live, source, entries, left_out });
        }
        let lore = self.lore(c)?;
        let (source, entries, left_out) = from_evidence(&lore, at, chat.head(), wanted);
        Ok(BookAt { name: Some(name.clone()), live, source, entries, left_out })
    }

    /// The book of a chat as it is, at its last message, whoever wrote into it.
    pub fn book_as_it_is(&self, c: ChatIx) -> Result<BookAt, StateError> {
        let at = self.chats[c].head();
        let Some(mut found) = self.as_it_is(c, at)? else { return self.book_at(c, at, Wanted::default()) };
        self.mark_undated(c, &mut found, true);
        Ok(found)
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
}

/// A state of a book: where it comes from, its entries, and what does not belong there.
pub(super) type Told = (Source, Vec<StateEntry>, Vec<LeftOut>);

pub(super) fn from_evidence(lore: &Lore, at: usize, head: usize, wanted: Wanted) -> Told {
    let mut known = Cow::Borrowed(&lore.known);
    if wanted.fill {
        known = Cow::Owned(state::filled(&known));
    }
    let own = lore.own.as_deref();
    let carry = Carry { undated: wanted.undated, since: wanted.unfinished, perhaps: wanted.perhaps };
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
    let mut source = Source { kind, message, distance: message.map(|message| at.saturating_sub(message)) };
    let entries: Vec<StateEntry> = found.entries.into_iter().map(whole).collect();
    if let (SourceKind::Degraded, Some(first)) = (kind, lore.looked) {
        // It is what history first saw, and that can be another one than today's.
        let is_todays = |entry: &StateEntry| {
            let today = donors.get(&(entry.image.uid, entry.image.comment.clone()));
            today.is_some_and(|today| {
                today.is_disabled() == entry.image.is_disabled() && today.agrees_with(&entry.image)
            })
        };
        let same = entries.len() == present.len() && entries.iter().all(is_todays);
        (source.message, source.distance) = (Some(first).filter(|_| !same), None);
    }
    (source, entries, found.left_out)
}

/// Whether anything that an extension left tells when something was written into a book.
fn is_dated(life: &Life) -> bool {
    life.sights.iter().any(|sight| matches!(sight.by, SeenBy::Scene(_)))
        || life
            .differences
            .iter()
            .any(|difference| matches!(difference.author, Author::Mark(_) | Author::Replaced(_)))
}
