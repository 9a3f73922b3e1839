//! Who is bound to a book: chats, and everything else that makes a book active.

use forklore_core::format::names::book_stem;

use crate::Library;

impl Library {
    /// Where else than in its chats a book is active for a chat, in phrases.
    pub fn also_active(&self, c: usize, stem: &str) -> Vec<&'static str> {
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
    pub fn referring_to(&self, stem: &str, except: &[usize]) -> Vec<String> {
        let mut found = self.known_to_refer_to(stem, except);
        // A chat that cannot be read may refer to anything.
        let unread = self.chats.iter().filter(|chat| chat.unreadable.is_some());
        found.extend(unread.map(|chat| format!("\"{}\", which cannot be read,", chat.name)));
        found.extend(self.not_read.iter().map(|path| format!("{path}, which cannot be read,")));
        found
    }

    /// As [`Self::referring_to`], as far as files can be read: what cannot be stands in nobody's way.
    pub fn known_to_refer_to(&self, stem: &str, except: &[usize]) -> Vec<String> {
        let is = |book: &str| book_stem(book) == stem;
        let chats = self.users_of(stem).iter().filter(|c| !except.contains(*c));
        let mut found: Vec<String> = chats.map(|c| format!("\"{}\"", self.chats[*c].name)).collect();
        // A fork that was made for the book and is bound elsewhere for now still counts.
        for (c, chat) in self.chats.iter().enumerate() {
            let own = chat.record.as_ref().and_then(|record| record.book.as_deref()).is_some_and(is);
            if own && !except.contains(&c) && chat.book_stem() != Some(stem) {
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
        found
    }
}
