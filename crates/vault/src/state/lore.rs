//! [`Lore`]: what a chat's line knows of its books, worked out once; the lives of books that it comes from.

use crate::ChatIx;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use forklore_core::adapter::{BookCopy, EntryRole, entry_role};
use forklore_core::format::book::EntryImage;
use forklore_core::format::names::{book_stem, chat_stem};
use forklore_core::state::{
    Base, BookEvidence, Carry, Cause, Content, Known, Life, Line, Made, SeenBy, Sight, Thing, Witness, fold,
};
use forklore_fs::PathError;

use crate::library::Library;
use crate::state::evidence::VaultCast;
use crate::state::kept_lives::KeptLives;

/// What a chat's line knows of its books.
pub struct Lore {
    /// The changes, as the line sees them.
    pub known: Known,
    /// The lives of its books; those that others are copies of come first.
    pub lives: Vec<Arc<Life>>,
    /// The life of the book that it is bound to.
    pub own: Option<Arc<Life>>,
    /// The message of the line at which history first saw one of its books: from there on it is exact.
    pub looked: Option<usize>,
}

impl Lore {
    /// The book as it is now, each entry with what it is.
    pub fn present(&self) -> &[(Thing, EntryImage)] {
        self.own.as_ref().map_or(&[], |own| &own.present)
    }
}

/// A book that an extension made as a copy of another.
pub(crate) struct CopiedBook {
    /// The chat that it was made for
    pub(crate) chat: ChatIx,
    /// The name of that chat when it was made
    pub(crate) named: String,
    pub(crate) stem: String,
    pub(crate) source: String,
    /// Name of the chat that it was made from
    pub(crate) parent: String,
    pub(crate) time: i64,
}

/// What was found out last.
#[derive(Default)]
struct LastLore(Mutex<Option<(ChatIx, Arc<Lore>)>>);

impl Library {
    /// What a chat's line knows of its books. Asked for one message after the other, it is worked out once.
    pub fn lore(&self, c: ChatIx) -> Result<Arc<Lore>, PathError> {
        let all = self.with_ghosts();
        if !std::ptr::eq(all, self) {
            return all.lore(c);
        }
        {
            let last = self.memo.slot::<LastLore>().0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, lore)) = last.as_ref().filter(|(chat, _)| *chat == c) {
                return Ok(lore.clone());
            }
        }
        let mut lives = Lives::default();
        let mut books = self.books_of_line(c);
        for stem in &books {
            lives.add(self, stem)?;
        }
        let own = self.chats[c].book_stem().map(|stem| self.known_as(stem));
        let own = own.and_then(|stem| lives.found.iter().find(|life| *life.book == *stem)).cloned();
        // A book that began as a copy goes on with what its line had. One that did not has nothing of other books.
        if let Some(own) = &own {
            books = vec![own.book.to_string()];
        }
        let lore = Arc::new(self.lore_of(c, own, lives.with_sources(&books)));
        let mut last = self.memo.slot::<LastLore>().0.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some((c, lore.clone()));
        Ok(lore)
    }

    /// What a chat's line knows of books, of which one is its own.
    pub(super) fn lore_of(&self, c: ChatIx, own: Option<Arc<Life>>, lives: Vec<Arc<Life>>) -> Lore {
        Lore { known: self.seen_by(c, &lives), looked: self.first_look(c, &lives), own, lives }
    }

    fn seen_by(&self, c: ChatIx, lives: &[Arc<Life>]) -> Known {
        let lives: Vec<&Life> = lives.iter().map(|life| &**life).collect();
        let ours = |chat: ChatIx, message: usize| Some(self.place_here(chat, message, c));
        let (cast, ancestors) = (VaultCast(self), self.line_above(c).to_vec());
        let left = |chat: ChatIx, book: &str| self.left(chat, book);
        Known::of(&lives, &Line { chat: c, ancestors, ours: &ours, left: &left, cast: &cast })
    }

    /// The first message of a chat, or of those above it up to where it left them, at which history saw one of these books.
    fn first_look(&self, c: ChatIx, lives: &[Arc<Life>]) -> Option<usize> {
        let above = self.line_above(c);
        let here = |chat: ChatIx, message: usize| match above.iter().find(|above| above.chat == chat) {
            _ if chat == c => Some(message),
            Some(above) if message <= above.limit => Some(self.place_here(chat, message, c)),
            _ => None,
        };
        let looks = lives.iter().flat_map(|life| &life.sights).filter_map(|sight| match &sight.by {
            SeenBy::Look(_, heads) => Some(heads),
            _ => None,
        });
        let mut first: HashMap<ChatIx, usize> = HashMap::new();
        for (chat, head) in looks.flatten() {
            first.entry(*chat).and_modify(|first| *first = head.to.min(*first)).or_insert(head.to);
        }
        first.into_iter().filter_map(|(chat, message)| here(chat, message)).min()
    }

    /// The first observation that shows a chat bound to another book than this one, which it had before.
    fn left(&self, chat: ChatIx, book: &str) -> Option<u64> {
        let own = self.chats[chat].book_stem().map(|stem| self.known_as(stem));
        let bindings = if own == Some(book) { Vec::new() } else { self.bindings(chat) };
        let last = bindings.iter().rposition(|(had, ..)| *had == book)?;
        Some(bindings.get(last + 1).map_or(u64::MAX, |(_, seq, _)| *seq))
    }

    /// The book that a chat had before this one, if history tells.
    fn had_before(&self, chat: ChatIx, book: &str) -> Option<String> {
        let bindings = self.bindings(chat);
        let first = bindings.iter().position(|(had, ..)| *had == book).unwrap_or(bindings.len());
        bindings.get(first.checked_sub(1)?).map(|(had, ..)| (*had).to_owned())
    }

    /// The last snapshot of the book that the chat above has and that is not there: who has another one went on with that one under its
    /// new name, because SillyTavern tells only the open chat. With the message of the chat, the time, and when its scene began.
    fn lost_above(&self, chat: ChatIx, book: &str, until: i64) -> Option<(usize, i64, &String, i64)> {
        let here = &self.chats[chat];
        let above = self.chats[here.lineage.parent?].book_stem().filter(|above| *above != book)?;
        let (name, told) = self.scenes().get_key_value(above)?;
        let taken = told.iter().flat_map(|told| {
            told.snapshots
                .iter()
                .map(move |(time, ..)| (*time, told.scene.started))
                .filter(|(time, _)| *time <= until)
        });
        let (taken, started) = taken.max()?;
        Some((here.lineage.fork_message?, taken, name, started))
    }

    /// The last message that a chat had when it was bound to this book instead of another one, if history tells of that.
    fn rebound(&self, chat: ChatIx, book: &str) -> Option<usize> {
        let here = &self.chats[chat];
        let bindings = self.bindings(chat);
        match bindings.iter().position(|(had, ..)| *had == book) {
            Some(first) => bindings.get(first).filter(|_| first > 0).map(|(_, _, head)| *head),
            None => {
                let is_own = here.book_stem().is_some_and(|stem| self.known_as(stem) == book);
                bindings.last().filter(|_| is_own).map(|_| here.head())
            }
        }
    }

    /// The books that a chat's line had: its own, those of the chats above it, and those that its scenes were written into.
    pub(super) fn books_of_line(&self, c: ChatIx) -> Vec<String> {
        let mut stems: Vec<String> = Vec::new();
        let mut line: Vec<ChatIx> = self.line_above(c).iter().map(|above| above.chat).collect();
        line.reverse();
        line.push(c);
        let history = self.history().ok().flatten();
        for chat in line {
            // A past state that was brought back goes on from the books of then.
            let restored = history.and_then(|history| history.restored(self, chat));
            let books = restored.into_iter().flat_map(|(_, books)| books);
            stems.extend(books.map(|book| self.known_as(&book).to_owned()));
            let own = self.chats[chat].book_stem().map(|stem| self.known_as(stem));
            let had = self.bindings(chat).into_iter().map(|(book, ..)| book);
            stems.extend(had.filter(|book| own != Some(*book)).map(str::to_owned));
            stems.extend(self.told_books(chat).into_iter().map(str::to_owned));
            stems.extend(own.map(str::to_owned));
        }
        let mut seen = HashSet::new();
        stems.retain(|stem| seen.insert(stem.clone()));
        stems
    }

    /// The books that a chat's line had when it got a new one, and the one that the chat itself had just before, if any.
    fn line_with(&self, owner: ChatIx, stem: &str) -> (Vec<String>, Option<String>) {
        // What the chat was bound to only later tells nothing of how this one began.
        let later = self.bound_after(owner, stem);
        let mut line = self.books_of_line(owner);
        line.retain(|other| other != stem && !later.contains(&other.as_str()));
        (line, self.had_before(owner, stem))
    }

    /// The books that extensions made as copies of others.
    pub(crate) fn copies(&self) -> &[CopiedBook] {
        self.memo.slot::<OnceLock<Vec<CopiedBook>>>().get_or_init(|| {
            let of = |(chat, here): (ChatIx, &crate::Chat)| {
                // SillyTavern's forks copy the header of their parent: only the chat that is or was bound to the copy is the one.
                let bound = here.book_stem().map(|stem| self.known_as(stem));
                let own = |copy: &BookCopy, stem: &str| {
                    bound == Some(stem) || copy.chat == here.name || self.had(chat, stem)
                };
                let copies = here.copies().iter().cloned().filter_map(|copy| {
                    let (stem, source) = (book_stem(&copy.copy), book_stem(&copy.source));
                    let (stem, source) = (self.known_as(&stem).to_owned(), self.known_as(&source).to_owned());
                    if !own(&copy, &stem) {
                        return None;
                    }
                    let named = chat_stem(&copy.chat);
                    Some(CopiedBook { chat, named, stem, source, parent: copy.parent, time: copy.time })
                });
                copies.collect::<Vec<_>>()
            };
            let mut all: Vec<CopiedBook> = ChatIx::each(&self.chats).flat_map(of).collect();
            // A later fork that shares the copy has the same note.
            let mut seen: HashMap<String, ChatIx> = HashMap::new();
            all.sort_by_key(|copy| self.depth(copy.chat));
            all.retain(|copy| seen.insert(copy.stem.clone(), copy.chat).is_none());
            all
        })
    }

    fn depth(&self, chat: ChatIx) -> usize {
        self.ancestors(chat).count()
    }
}

/// How much of a state the first sight of a book shows, word by word.
fn shown_of(state: &[(Thing, EntryImage)], evidence: &BookEvidence) -> usize {
    let whole = |sight: &'_ Sight| matches!(sight.content, Content::Whole(_));
    let first = evidence.sights.iter().filter(|sight| whole(sight)).min_by_key(|sight| sight.time);
    let Some(Content::Whole(entries)) = first.map(|sight| &sight.content) else { return 0 };
    let shown: HashSet<(&str, std::borrow::Cow<'_, str>)> =
        entries.iter().map(|entry| (&*entry.comment, entry.content())).collect();
    state.iter().filter(|(_, entry)| shown.contains(&(&*entry.comment, entry.content()))).count()
}

/// Whether the first sight of a book shows what it was made with and nothing else, title by title and word by word, but for what extensions keep
/// there for themselves. Of what nothing dates any may have been left out.
fn is_begun_as(made: &Made<'_>, evidence: &BookEvidence) -> bool {
    let whole = |sight: &'_ Sight| matches!(sight.content, Content::Whole(_));
    let first = evidence.sights.iter().filter(|sight| whole(sight)).min_by_key(|sight| sight.time);
    let Some(Content::Whole(entries)) = first.map(|sight| &sight.content) else { return false };
    let facts = |entries: &mut dyn Iterator<Item = &EntryImage>| -> HashSet<(String, String)> {
        let facts = entries.filter(|entry| entry_role(&entry.comment) == EntryRole::Fact);
        facts.map(|entry| (entry.comment.to_string(), entry.content().into_owned())).collect()
    };
    let shown = facts(&mut entries.iter());
    let had = facts(&mut made.things.iter().map(|(_, entry)| entry));
    let certain = facts(&mut made.certain.iter().map(|(_, entry)| entry));
    !shown.is_empty() && shown.is_subset(&had) && certain.is_subset(&shown)
}

/// Lives of books that are being worked out, those that others are copies of first.
///
/// Books can say that they are copies of each other. Then one of them has to come first, and what is worked out depends on which: things
/// have other numbers. Whatever rests on such a life is *entangled*: it goes with the lives that were worked out together with it, and
/// with no others.
#[derive(Default)]
struct Lives {
    /// Books whose lives are being worked out, and whether they are entangled
    building: Vec<(String, bool)>,
    found: Vec<Arc<Life>>,
    entangled: HashSet<String>,
}

impl Lives {
    fn add(&mut self, library: &Library, stem: &str) -> Result<Option<Arc<Life>>, PathError> {
        if let Some(life) = self.found.iter().find(|life| *life.book == *stem).cloned() {
            if self.entangled.contains(stem) {
                self.entangle(self.building.len().saturating_sub(1));
            }
            return Ok(Some(life));
        }
        // Only what is not entangled was kept: it is the same whatever was asked for before.
        if let Some(life) = library.memo.slot::<KeptLives>().get(stem) {
            // It comes with what it was worked out from, as if that had been done now.
            for source in &life.sources {
                self.add(library, source)?;
            }
            self.found.push(life.clone());
            return Ok(Some(life));
        }
        if let Some(place) = self.building.iter().position(|(building, _)| building == stem) {
            // A ring: this book is being worked out already, further up. Everything from there on rests on where we came in.
            self.entangle(place);
            return Ok(None);
        }
        self.building.push((stem.to_owned(), false));
        let life = self.build(library, stem);
        let entangled = self.building.pop().is_some_and(|(_, entangled)| entangled);
        let life = life?;
        self.found.push(life.clone());
        if entangled {
            self.entangled.insert(stem.to_owned());
            self.entangle(self.building.len().saturating_sub(1));
        } else {
            library.memo.slot::<KeptLives>().keep(stem, life.clone());
        }
        Ok(Some(life))
    }

    /// The lives of some books, each after those that it was worked out from: whatever else was asked for is not among them.
    fn with_sources(&self, books: &[String]) -> Vec<Arc<Life>> {
        let mut lives: Vec<Arc<Life>> = Vec::new();
        let find = |book: &str| self.found.iter().find(|life| *life.book == *book);
        for life in books.iter().filter_map(|book| find(book)) {
            for life in life.sources.iter().filter_map(|book| find(book)).chain([life]) {
                if !lives.iter().any(|known| known.book == life.book) {
                    lives.push(life.clone());
                }
            }
        }
        lives
    }

    /// Everything that is being worked out, from one on.
    fn entangle(&mut self, from: usize) {
        self.building.iter_mut().skip(from).for_each(|(_, entangled)| *entangled = true);
    }

    fn build(&mut self, library: &Library, stem: &str) -> Result<Arc<Life>, PathError> {
        let evidence = library.evidence(stem)?;
        let cast = VaultCast(library);
        let Some(owner) = evidence.owner else {
            return Ok(Arc::new(Life::of(evidence, &Base::Nothing, &cast)));
        };
        // Who says most about how the book began comes first: a note of the extension that copied it, our own record, the snapshots
        // that its chat carries, and last that the chat was bound to another one before.
        if let Some(copy) = library.copies().iter().find(|copy| copy.stem == stem)
            && let Some(source) = self.add(library, &copy.source)?
        {
            let chat = &library.chats[copy.chat];
            let at = chat.lineage.fork_message.unwrap_or(chat.head());
            let sight = source.sights.iter().rposition(|sight| sight.time <= copy.time);
            let base = sight.map_or(Base::Nothing, |sight| Base::Present(&source, sight, at));
            return Ok(Arc::new(Life::of(evidence, &base, &cast)));
        }
        let chat = &library.chats[owner];
        let record = chat.record.as_ref();
        if let Some(record) =
            record.filter(|record| record.made_book().is_some_and(|book| book_stem(book) == stem))
        {
            let begun = record.baseline.as_ref().map(|baseline| baseline.messages.saturating_sub(1));
            let begun = begun.unwrap_or(record.message);
            // Messages may have been deleted since.
            let parent = chat.lineage.parent.filter(|_| !record.adopted);
            let fork = parent.map_or(begun, |parent| library.fork_of(owner, parent).1);
            let at = begun.min(fork).min(chat.head());
            let looked = evidence.sights.iter().find_map(|sight| match &sight.witness {
                Witness::Look(look) => Some(look.seq),
                _ => None,
            });
            let line = library.line_with(owner, stem);
            let base = Base::Made(self.made(library, line, owner, at, (record.created, looked))?);
            return Ok(Arc::new(Life::of(evidence, &base, &cast)));
        }
        // Who got a book that is word for word what his line had then got it from us, whatever his last scene shows besides.
        let rebound = library.rebound(owner, stem);
        if let Some(at) = rebound {
            let line = library.line_with(owner, stem);
            let made = self.made(library, line, owner, at, (0, None))?;
            if is_begun_as(&made, &evidence) {
                return Ok(Arc::new(Life::of(evidence, &Base::Made(made), &cast)));
            }
        }
        // Elsewhere a fork's book begins as the last snapshot that the fork carries; so does a book that was renamed.
        let fork = chat.lineage.fork_message.filter(|_| chat.lineage.is_fork());
        let latest = |sight: &Sight| match &sight.witness {
            Witness::Look(look) => look.not_after,
            _ => sight.time,
        };
        let first = evidence.sights.iter().map(latest).min().unwrap_or(i64::MAX);
        let gone = |book: &str| library.book(book).is_ok_and(|book| book.is_none());
        let carried = library.scenes_of(owner).filter(|(book, _)| *book != stem).flat_map(|(book, told)| {
            told.iter().filter_map(move |told| {
                let message = told.scene.carried_by(owner)?;
                let taken =
                    told.snapshots.iter().map(|(time, ..)| *time).filter(|time| *time <= first).max()?;
                Some((message, taken, book, told.scene.started))
            })
        });
        // What the fork itself has played since was written into its own book; or into this one, when that had another name.
        let begun = |message: usize, book: &str| fork.is_none_or(|fork| message <= fork) || gone(book);
        let last = carried.filter(|(message, _, book, _)| begun(*message, book)).max();
        let lost = library.lost_above(owner, stem, first).filter(|(_, _, book, _)| gone(book));
        // A book that goes on under another name has what came after the last snapshot that our chat carries; one that was built from
        // that has not.
        let mut found: Option<(usize, Arc<Life>, Option<usize>, usize)> = None;
        for (at, taken, book, started) in last.into_iter().chain(lost) {
            let Some(source) = self.add(library, book)? else { continue };
            let is = |sight: &forklore_core::state::SightOf| match sight.by {
                SeenBy::Scene(n) => source.scenes[n].started == started && sight.time >= taken,
                _ => false,
            };
            let sight = source.sights.iter().position(is);
            let shown = sight.map_or(0, |sight| shown_of(&source.state_after(sight), &evidence));
            if found.as_ref().is_none_or(|(best, ..)| *best < shown) {
                found = Some((shown, source, sight, at));
            }
        }
        if let Some((_, source, sight, at)) = found {
            let base = sight.map_or(Base::Nothing, |sight| Base::Copy(&source, sight, at));
            return Ok(Arc::new(Life::of(evidence, &base, &cast)));
        }
        // Bound to another book, the line goes on from what it had.
        if let Some(at) = rebound {
            let line = library.line_with(owner, stem);
            let base = Base::Made(self.made(library, line, owner, at, (0, None))?);
            return Ok(Arc::new(Life::of(evidence, &base, &cast)));
        }
        // The book of a parent that is gone was made from what whoever is beyond it had.
        if let Some(beyond) = chat.lineage.beyond.filter(|_| evidence.lost) {
            let mut line = library.books_of_line(beyond.chat);
            line.retain(|other| other != stem);
            let base = Base::Made(self.made(library, (line, None), owner, beyond.message, (0, None))?);
            return Ok(Arc::new(Life::of(evidence, &base, &cast)));
        }
        Ok(Arc::new(Life::of(evidence, &Base::Nothing, &cast)))
    }

    /// What the line of a chat had, in these books, when it got a new one at a message. The time is 0 if it is not known; `looked` is the
    /// first observation of the new book.
    fn made(
        &mut self,
        library: &Library,
        (line, before): (Vec<String>, Option<String>),
        owner: ChatIx,
        at: usize,
        (time, looked): (i64, Option<u64>),
    ) -> Result<Made<'_>, PathError> {
        for other in &line {
            self.add(library, other)?;
        }
        let before = before.filter(|before| self.found.iter().any(|life| *life.book == **before));
        let lives = self.with_sources(before.as_ref().map_or(&line[..], std::slice::from_ref));
        let known = library.seen_by(owner, &lives);
        let state = |known: &Known, undated: bool| -> Vec<(Thing, EntryImage)> {
            let state = fold(known, at, usize::MAX, Carry { undated, since: true, perhaps: undated }, None);
            state.entries.into_iter().filter_map(|entry| Some((entry.thing?, entry.image))).collect()
        };
        // What a hand did may have been done after the fork was made, while the chat above had not gone on. The clock of a look says
        // only that it was not earlier: what was first seen when the new book had been seen already may have come after it.
        let before = known.changes.iter().filter(|change| {
            let by_hand = matches!(change.cause, Cause::Hand | Cause::Seen);
            let later = change.clock > time || looked.is_some_and(|looked| change.observed > Some(looked));
            !by_hand || time <= 0 || !later
        });
        let certain = state(&known.with(before.cloned().collect()), false);
        let used = |life: &&Arc<Life>| lives.iter().any(|used| used.book == life.book);
        let sources = self.found.iter().filter(used).map(|life| &**life).collect();
        let time = if time > 0 { time } else { i64::MIN };
        Ok(Made { things: state(&known, true), certain, sources, at, time })
    }
}
