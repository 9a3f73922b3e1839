//! Who is bound to a book: chats, and everything else that makes a book active.

use forklore_core::adapter::bindings::CHAT_BOOK;
use forklore_core::adapter::places::Path;
use forklore_core::format::book::EntryImage;
use forklore_core::format::names::book_stem;
use forklore_core::format::record::is_pending;
use forklore_fs::PathError;
use forklore_journal::layout;

use crate::history::{Observed, Timeline, history_error, read_book};
use crate::{ChatIx, Library};

impl Library {
    /// Where in `chat_metadata` the book of a chat's story is named, wherever it is: an extension's note and SillyTavern's own place can name
    /// the same one. A fork that waits for its book is to have it where its parent has it.
    pub fn places_of_book(&self, c: ChatIx) -> Vec<Path> {
        let chat = &self.chats[c];
        let Some(stem) = chat.book_stem() else {
            let parent = chat.lineage.parent.filter(|_| is_pending(chat.header().metadata()));
            return vec![parent.map_or(CHAT_BOOK, |parent| self.chats[parent].place)];
        };
        let mut places = vec![chat.place];
        places.extend(chat.outline.bindings.places(stem).into_iter().filter(|place| *place != chat.place));
        places
    }

    /// The book that SillyTavern binds a chat to, by name, also if another one is its story's.
    pub fn chat_book(&self, c: ChatIx) -> Option<&str> {
        self.chats[c].outline.bindings.chat.as_deref()
    }

    /// Where else than in its chats a book is active for a chat, in phrases.
    pub fn also_active(&self, c: ChatIx, stem: &str) -> Vec<&'static str> {
        let is = |book: &String| book_stem(book) == *stem;
        let story = &self.stories[self.chats[c].story];
        let card = self.cards.get(&story.folder).and_then(|card| card.book.as_ref());
        let settings = &self.settings;
        let mut by: Vec<&str> = Vec::new();
        if settings.global_books.iter().any(is) {
            by.push("in every chat");
        }
        if card.is_some_and(is)
            || settings.character_books.iter().any(|(who, book)| *who == story.folder && is(book))
        {
            by.push("for the character");
        }
        if settings.persona_books.iter().any(is) {
            by.push("for a persona");
        }
        by
    }

    /// Who refers to a book, in phrases, counted from the files themselves; chats in `except` do not count.
    pub fn referring_to(&self, stem: &str, except: &[ChatIx]) -> Vec<String> {
        let mut found = self.known_to_refer_to(stem, except);
        found.extend(self.may_refer());
        found
    }

    /// Whoever may refer to any book, in phrases: what a chat that cannot be read says is not known, nor what is in a folder that cannot.
    pub fn may_refer(&self) -> impl Iterator<Item = String> {
        let chats = self.chats.iter().filter(|chat| chat.unreadable.is_some());
        let chats = chats.map(|chat| format!("\"{}\", which cannot be read,", chat.name));
        chats.chain(self.not_read.iter().map(|path| format!("{path}, which cannot be read,")))
    }

    /// As [`Self::referring_to`], as far as files can be read: what cannot be stands in nobody's way.
    pub fn known_to_refer_to(&self, stem: &str, except: &[ChatIx]) -> Vec<String> {
        let is = |book: &str| book_stem(book) == stem;
        let chats = self.users_of(stem).iter().filter(|c| !except.contains(*c));
        let mut found: Vec<String> = chats.map(|c| format!("\"{}\"", self.chats[*c].name)).collect();
        // A fork that was made for the book and is bound elsewhere for now still counts.
        for (c, chat) in ChatIx::each(&self.chats) {
            let own = chat.record.as_ref().and_then(|record| record.book.as_deref()).is_some_and(is);
            if own && !except.contains(&c) && !chat.is_bound_to(stem) {
                found.push(format!("the record of \"{}\"", chat.name));
            }
        }
        let settings = &self.settings;
        if settings.global_books.iter().any(|book| is(book)) {
            found.push("the list of global lorebooks".to_owned());
        }
        for (who, _) in settings.character_books.iter().filter(|(_, book)| is(book)) {
            found.push(format!("the character \"{who}\""));
        }
        for (who, _) in self.cards.iter().filter(|(_, card)| card.book.as_deref().is_some_and(is)) {
            found.push(format!("the character \"{who}\""));
        }
        if settings.persona_books.iter().any(|book| is(book)) {
            found.push("a persona".to_owned());
        }
        if settings.extension_books.iter().any(|book| is(book)) {
            found.push("an extension's settings".to_owned());
        }
        found
    }

    /// The name that a book has now which is not there any more. SillyTavern gives a book another name by saving it anew and deleting the
    /// old one, and only the open chat follows: so it is the book that history saw come, after the other was last seen and with the
    /// very same entries, and that is nobody else's.
    pub fn renamed_book(&self, stem: &str, chat: ChatIx) -> Result<Option<String>, PathError> {
        let (Some(history), Ok(old)) = (self.history()?, layout::book(stem)) else { return Ok(None) };
        let Some((went, entries)) = sight(history, history.track(&old).iter().rev())? else {
            return Ok(None);
        };
        for (other, path) in &self.books {
            let track = history.track(path);
            let older = track.first().is_some_and(|first| *first < went);
            if older || !self.known_to_refer_to(other, &[chat]).is_empty() {
                continue;
            }
            let then = match sight(history, track.iter())? {
                Some((_, then)) => Some(then),
                // Nobody has looked since.
                None => self.book(other)?.map(|book| book.images()),
            };
            if then.is_some_and(|then| is_same(&entries, &then)) {
                return Ok(Some(other.clone()));
            }
        }
        Ok(None)
    }
}

/// The first of these observations that shows a book, and its entries.
fn sight<'a>(
    history: &Timeline,
    mut track: impl Iterator<Item = &'a usize>,
) -> Result<Option<(usize, Vec<EntryImage>)>, PathError> {
    let book = track.find_map(|i| match &history.seen[*i].observation.what {
        Observed::Book(book) => Some((*i, book.content)),
        _ => None,
    });
    let Some((i, content)) = book else { return Ok(None) };
    Ok(read_book(history.store(), &content).map_err(history_error)?.map(|entries| (i, entries)))
}

/// Whether both are the same entries, and not nothing: any two empty books are alike.
fn is_same(a: &[EntryImage], b: &[EntryImage]) -> bool {
    !a.is_empty() && a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.uid == b.uid && a.agrees_with(b))
}
