//! The names of books. SillyTavern gives a book another name by saving it anew and deleting the old one, and only the open chat follows:
//! headers, notes of extensions, scenes and history speak of it by names that are gone. Here it is one book, under the first of them.

use crate::ChatIx;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::OnceLock;

use forklore_core::adapter::{Keepers, Mark};
use forklore_core::format::book::EntryImage;
use forklore_core::format::names::{book_stem, chat_stem};
use forklore_fs::PathError;

use crate::history::{By, Timeline, history_error};
use crate::library::{Book, Library};

/// Names that are gone and those that came after them.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// The first name of a book, by those that it had later
    first: HashMap<String, String>,
    /// The names that a book had after its first, by that, in their order: the last is the one that it has now
    later: HashMap<String, Vec<String>>,
}

impl Library {
    /// The name that a book is known by.
    pub(crate) fn known_as<'a>(&'a self, stem: &'a str) -> &'a str {
        self.names().first.get(stem).map_or(stem, String::as_str)
    }

    /// All names of a book that is known by one, in their order: the last is the one that it has now.
    pub(crate) fn names_of<'a>(&'a self, stem: &'a str) -> impl Iterator<Item = &'a str> {
        [stem].into_iter().chain(self.names().later.get(stem).into_iter().flatten().map(String::as_str))
    }

    /// Every name that is known to have become another one, with the first one of its book, in order.
    pub(crate) fn all_names(&self) -> BTreeMap<&str, &str> {
        self.names().first.iter().map(|(later, first)| (later.as_str(), first.as_str())).collect()
    }

    /// A book as it is now, by the name that it is known by.
    pub(crate) fn book_known_as(&self, stem: &str) -> Result<Option<std::sync::Arc<Book>>, PathError> {
        self.book(self.names_of(stem).last().unwrap_or(stem))
    }

    /// The books that a chat was seen bound to, by the names that they are known by, as [`Timeline::bindings_of`].
    pub(crate) fn bindings(&self, chat: ChatIx) -> Vec<(&str, u64, usize)> {
        let history = self.history().ok().flatten();
        let mut bindings =
            history.map(|history| history.bindings_of(&self.chats[chat].path)).unwrap_or_default();
        bindings.iter_mut().for_each(|(book, ..)| *book = self.known_as(book));
        bindings.dedup_by(|later, earlier| later.0 == earlier.0);
        bindings
    }

    /// The books that a chat was bound to only after this one.
    pub(crate) fn bound_after(&self, chat: ChatIx, stem: &str) -> Vec<&str> {
        let bindings = self.bindings(chat);
        let first = bindings.iter().position(|(had, ..)| *had == stem).unwrap_or(bindings.len());
        let (before, after) = bindings.split_at(first);
        let had = |book: &str| before.iter().any(|(had, ..)| *had == book);
        after.iter().map(|(book, ..)| *book).filter(|book| !had(book)).collect()
    }

    fn names(&self) -> &Names {
        // What cannot be read tells nothing.
        self.memo.slot::<OnceLock<Names>>().get_or_init(|| self.find_names().unwrap_or_default())
    }

    fn find_names(&self) -> Result<Names, PathError> {
        let told: BTreeSet<(String, String)> = self.told_names()?.into_iter().collect();
        // Where two say something different of a name, it is not known.
        let is_sure = |(before, after): &&(String, String)| {
            let others = told.iter().filter(|(b, a)| b == before || a == after);
            others.count() == 1
        };
        let later: BTreeMap<&str, &str> =
            told.iter().filter(is_sure).map(|(before, after)| (before.as_str(), after.as_str())).collect();
        let mut names = Names::default();
        for first in later.keys().filter(|name| !later.values().any(|after| after == *name)) {
            let after = std::iter::successors(later.get(first), |name| later.get(*name));
            let after: Vec<String> = after.map(|name| (*name).to_owned()).collect();
            names.first.extend(after.iter().map(|name| (name.clone(), (*first).to_owned())));
            names.later.insert((*first).to_owned(), after);
        }
        Ok(names)
    }

    /// Names that are gone, each with the one that a chat which had it has instead.
    fn told_names(&self) -> Result<Vec<(String, String)>, PathError> {
        let mut told = Vec::new();
        let history = self.history()?;
        // A fork that was seen with another book first did not get this one from the chat above.
        let was_first = |fork: &crate::Chat, stem: &str| {
            let seen = history.map(|history| history.bindings_of(&fork.path)).unwrap_or_default();
            seen.first().is_none_or(|(first, ..)| *first == stem)
        };
        // What forks are bound to that is gone, where they part, and their names, by the chat above.
        let mut gone_forks: HashMap<ChatIx, Vec<(&str, usize, &str)>> = HashMap::new();
        for fork in &self.chats {
            if let (Some(above), Some(at)) = (fork.lineage.parent, fork.lineage.fork_message)
                && let Some(stem) = self.gone(fork).filter(|stem| was_first(fork, stem))
            {
                gone_forks.entry(above).or_default().push((stem, at, &fork.name));
            }
        }
        for (c, chat) in ChatIx::each(&self.chats) {
            // A book that other stories use as well did not begin as one of this chat's.
            let is_ours = |stem: &str| self.is_used_by_relatives(stem, c);
            let Some(now) = chat.book_stem().filter(|stem| is_ours(stem)) else { continue };
            for (before, after) in
                history.into_iter().flat_map(|history| bound_after_another(history, chat, now))
            {
                if self.is_next_name(&before, &after)? {
                    told.push((before, after));
                }
            }
            if let Some(before) = self.written_before(c, now)? {
                told.push((before, now.to_owned()));
            }
            let gone = [self.gone_above(c, now)?, self.gone_below(c, now, &gone_forks)?];
            if gone.iter().any(Option::is_some) && !self.is_made_as(now) {
                told.extend(gone.into_iter().flatten().map(|before| (before, now.to_owned())));
            }
            for copy in chat.copies() {
                // SillyTavern's forks have the header of their parent, with its notes.
                let above = chat.lineage.parent.and_then(|parent| self.chats[parent].book_stem());
                let (stem, source) = (book_stem(&copy.copy), book_stem(&copy.source));
                let parent =
                    self.once_named(chat.story, &chat_stem(&copy.parent)).filter(|parent| *parent != c);
                // Who was forked from that chat, and has the note of a chat that is not there, has another name by now.
                let renamed = parent.is_some()
                    && parent == chat.lineage.parent
                    && self.named(chat.story, &chat_stem(&copy.chat)).is_none();
                let own_note =
                    || chat.main_chat().is_some_and(|main| chat_stem(main) == chat_stem(&copy.parent));
                let is_own = copy.chat == chat.name || above == Some(&stem) || renamed || own_note();
                if is_own && self.is_next_name(&stem, now)? {
                    told.push((stem, now.to_owned()));
                }
                if let Some(bound) =
                    parent.and_then(|parent| self.chats[parent].book_stem()).filter(|stem| is_ours(stem))
                    && self.is_next_name(&source, bound)?
                {
                    told.push((source, bound.to_owned()));
                }
            }
        }
        Ok(told)
    }

    /// The last other book that a scene which was played in a chat was written into, if that is gone, and the one that the chat has instead
    /// goes on with it. An extension that notes when it made the book notes its new name as well: then it is older than the scene.
    fn written_before(&self, c: ChatIx, now: &str) -> Result<Option<String>, PathError> {
        let chat = &self.chats[c];
        let own = |message: usize| chat.lineage.fork_message.is_none_or(|fork| message > fork);
        let scenes = chat.facts.scenes.iter().filter(|(message, _)| own(*message));
        let put_behind = self.put_behind(c);
        let elsewhere =
            |message: usize, begun: i64| put_behind.iter().any(|put| put.tells_elsewhere(message, begun));
        let last = scenes
            .flat_map(|(message, scene)| scene.versions.iter().map(move |version| (*message, version)))
            .filter(|(message, version)| !elsewhere(*message, version.started))
            .filter_map(|(message, version)| Some((message, version, book_stem(version.book.as_deref()?))))
            .filter(|(.., book)| book != now)
            .max_by_key(|(_, version, _)| version.clock);
        let Some((message, version, before)) = last else { return Ok(None) };
        let is_older = |(book, made): (&str, i64)| book_stem(book) == now && made <= version.clock;
        if self.books.contains_key(&before) || !chat.made().any(is_older) {
            return Ok(None);
        }
        let kept = chat.snapshots.sightings.iter().find(|kept| {
            (kept.message, kept.version, kept.clock) == (message, version.number, version.clock)
        });
        let (Some(kept), Some(book)) = (kept, self.book(now)?.filter(|book| book.parse().is_ok())) else {
            return Ok(None);
        };
        Ok(goes_on(&self.entries_of(c, kept)?, &book.images()).then_some(before))
    }

    /// The book of a chat above that is gone, if the one that a chat has instead holds what was made there: it was shared, and got another
    /// name. Whoever makes a copy for a fork notes that.
    fn gone_above(&self, c: ChatIx, now: &str) -> Result<Option<String>, PathError> {
        let (mut below, mut above) = (c, Vec::new());
        for chat in self.ancestors(c) {
            let limit = self.chats[below].lineage.shared().unwrap_or(0);
            above.push((&self.chats[chat], limit));
            below = chat;
        }
        // Of nearly all chats the one above has its book: only of the others a book is read.
        let Some(before) = above.first().and_then(|(there, _)| self.gone(there)) else { return Ok(None) };
        let marks = self.marks_in(now)?;
        let users = self.users_of(now);
        let is_theirs = |there: &crate::Chat, limit: usize, mark: &Mark| match mark.chat.as_deref() {
            Some(chat) => mark.message <= there.head() && chat_stem(chat) == there.name,
            None => {
                let beyond = limit < mark.message && mark.message <= there.head();
                beyond && users.iter().all(|user| self.chats[*user].head() < mark.message)
            }
        };
        let mut had = above.iter().take_while(|(there, _)| there.book_stem() == Some(before));
        let proven = had.any(|(there, limit)| marks.iter().any(|mark| is_theirs(there, *limit, mark)));
        Ok(proven.then(|| before.to_owned()))
    }

    /// The book of a fork that is gone, if the one that the chat above has now holds what had been made there by then, or what the fork
    /// made: a fork is bound to what the chat above was bound to.
    fn gone_below(
        &self,
        c: ChatIx,
        now: &str,
        gone_forks: &HashMap<ChatIx, Vec<(&str, usize, &str)>>,
    ) -> Result<Option<String>, PathError> {
        let Some(gone) = gone_forks.get(&c) else { return Ok(None) };
        let marks = self.marks_in(now)?;
        let name = &self.chats[c].name;
        let proven = gone.iter().find(|(before, limit, fork)| {
            let tells = |mark: &Mark| {
                let chat = mark.chat.as_deref().map(chat_stem);
                let is_by = |name: &str| chat.as_deref() == Some(name);
                is_by(fork) || (is_by(name) && mark.message <= *limit)
            };
            marks.iter().any(tells) && !self.is_made_as(before)
        });
        Ok(proven.map(|(before, ..)| (*before).to_owned()))
    }

    /// The name of a chat's book that is not there any more.
    fn gone<'a>(&self, chat: &'a crate::Chat) -> Option<&'a str> {
        chat.book_stem().filter(|stem| !self.books.contains_key(*stem))
    }

    /// What tells of the entries of a book who made them.
    fn marks_in(&self, stem: &str) -> Result<Vec<Mark>, PathError> {
        let Some(book) = self.book(stem)?.filter(|book| book.parse().is_ok()) else { return Ok(Vec::new()) };
        let entries = book.images();
        let keepers = Keepers::new(|adapter| adapter.kept(&entries));
        Ok(entries
            .iter()
            .flat_map(|entry| keepers.layers(entry, &entries))
            .filter_map(|(mark, _)| mark)
            .collect())
    }

    /// Whether a book that a chat has instead of one that is gone can be that one.
    fn is_next_name(&self, before: &str, after: &str) -> Result<bool, PathError> {
        if before == after || self.books.contains_key(before) || self.is_made_as(after) {
            return Ok(false);
        }
        let Some(history) = self.history()? else { return Ok(self.books.contains_key(after)) };
        let track = |stem: &str| {
            let file = forklore_journal::layout::book(stem);
            file.map(|file| history.track(&file).to_vec()).unwrap_or_default()
        };
        let (old, new) = (track(before), track(after));
        let last = history.last_look(before).map_err(history_error)?;
        let first = match history.first_look(after).map_err(history_error)? {
            Some((_, entries)) => Some(entries),
            None => self.book(after)?.filter(|book| book.parse().is_ok()).map(|book| book.images()),
        };
        // What Forklore was seen to write is a book of its own.
        let by = new.first().map(|first| &history.seen[*first].observation.by);
        if matches!(by, Some(By::Operation(_))) {
            return Ok(false);
        }
        let came_later = match (old.first(), new.first()) {
            (Some(old), Some(new)) => old < new,
            // A backup may tell of a name that was gone when somebody looked for the first time.
            (None, Some(new)) => history.is_first_look(*new),
            _ => true,
        };
        Ok(came_later && first.is_some_and(|first| last.is_none_or(|last| goes_on(&last, &first))))
    }

    /// Whether somebody says to have made a book of this name.
    fn is_made_as(&self, stem: &str) -> bool {
        let made = |chat: &crate::Chat| {
            let record = chat.record.as_ref().and_then(|record| record.book.as_deref());
            record.is_some_and(|book| book_stem(book) == stem)
                || chat.made().any(|(book, _)| book_stem(book) == stem)
                || chat.copies().iter().any(|copy| book_stem(&copy.copy) == stem)
        };
        self.made_by_forklore(stem) || self.chats.iter().any(made)
    }
}

/// The books that a chat had one after the other, in pairs; the last is the one that it has now.
fn bound_after_another(history: &Timeline, chat: &crate::Chat, now: &str) -> Vec<(String, String)> {
    let bindings = history.bindings_of(&chat.path);
    let mut books: Vec<&str> = bindings.iter().map(|(book, ..)| *book).chain([now]).collect();
    books.dedup();
    books.windows(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect()
}

/// Whether a book can be what became of another: something of it is in both, or there was nothing in it.
fn goes_on(before: &[EntryImage], after: &[EntryImage]) -> bool {
    let texts: HashSet<_> = before.iter().map(|entry| entry.content()).collect();
    before.is_empty() || after.iter().any(|entry| texts.contains(&entry.content()))
}
