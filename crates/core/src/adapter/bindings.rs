//! [`Bindings`]: the books that a header binds a chat to, and which of them is the story's. SillyTavern has one place for that,
//! [`CHAT_BOOK`]; extensions have others, which [`Places`](super::places::Places) tells.

use serde::{Deserialize, Serialize};

use super::ALL;
use super::places::{Path, named};
use crate::format::chat::Header;
use crate::format::names::book_stem;
use crate::format::settings::Settings;

/// Where SillyTavern names a chat's book in `chat_metadata`.
pub const CHAT_BOOK: Path = &["world_info"];

/// The books that a header binds a chat to, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bindings {
    /// SillyTavern's own: its entries are active in the chat
    pub chat: Option<String>,
    /// The one that an extension notes for the chat's memories: name of the extension, and of the book
    pub memory: Option<(String, String)>,
    /// What extensions write into besides
    pub more: Vec<String>,
}

impl Bindings {
    /// Of a header.
    pub fn of(header: Header<'_>) -> Self {
        let metadata = header.metadata();
        let memory = ALL.iter().find_map(|adapter| {
            let book = named(metadata, adapter.places().memory_book?).into_iter().next()?;
            Some((adapter.name().to_owned(), book))
        });
        let more = ALL.iter().flat_map(|adapter| adapter.places().more_books);
        let more = more.flat_map(|path| named(metadata, path)).collect();
        Self { chat: header.book().map(std::borrow::Cow::into_owned), memory, more }
    }

    /// The book of the story, with its memories, and where in `chat_metadata` it is named. Where an extension's note names one, that is it:
    /// what SillyTavern binds besides is a book of the user's, as those of characters are.
    pub fn story(&self, settings: &Settings) -> Option<(&str, Path)> {
        let chat = self.chat.as_deref().map(|book| (book, CHAT_BOOK));
        let Some((by, book)) = &self.memory else { return chat };
        let noted = note_of(by).map(|place| (book.as_str(), place));
        if settings.without_notes.contains(&by.as_str()) { chat.or(noted) } else { noted.or(chat) }
    }

    /// Where a book is named that is the story's, or could be, by its stem.
    pub fn places(&self, stem: &str) -> Vec<Path> {
        let chat = self.chat.as_deref().filter(|book| book_stem(book) == stem);
        let noted = self.memory.as_ref().filter(|(_, book)| book_stem(book) == stem);
        let noted = noted.and_then(|(by, _)| note_of(by));
        chat.map(|_| CHAT_BOOK).into_iter().chain(noted).collect()
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        let memory = self.memory.as_ref().map(|(_, book)| book);
        self.chat.iter().chain(memory).chain(&self.more).map(String::as_str)
    }
}

/// Where an extension of this name notes the book for a chat's memories.
fn note_of(extension: &str) -> Option<Path> {
    ALL.iter().find(|adapter| adapter.name() == extension)?.places().memory_book
}
