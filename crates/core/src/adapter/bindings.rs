//! [`Bindings`]: the books that a header binds a chat to. SillyTavern has one place for that, `world_info`; extensions have others, which
//! [`Places`](super::places::Places) tells.

use forklore_json::Raw;
use serde::{Deserialize, Serialize};

use super::ALL;
use super::places::{Path, values};
use crate::format::chat::Header;

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

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        let memory = self.memory.as_ref().map(|(_, book)| book);
        self.chat.iter().chain(memory).chain(&self.more).map(String::as_str)
    }
}

/// The names at the end of a path, without those that name nothing. Extensions take no notice of space around them.
pub(crate) fn named(value: Raw<'_>, path: Path) -> Vec<String> {
    let names = values(value, path).into_iter().filter_map(Raw::as_text);
    names.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}
