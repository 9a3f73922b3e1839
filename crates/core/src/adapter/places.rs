//! [`Places`]: where an extension's data names chats and books. What goes by another name is named anew there.

/// Keys that lead to a value; [`EVERY`] stands for each key of an object.
pub type Path = &'static [&'static str];

/// In a [`Path`]: every key of the object.
pub const EVERY: &str = "*";

/// Where an extension's data names chats and books.
#[derive(Debug, Clone, Copy, Default)]
pub struct Places {
    /// In `chat_metadata`: the chat itself.
    pub own_name: &'static [Path],
    /// In `chat_metadata`: books.
    pub books: &'static [Path],
    /// In an entry of a book: the chat that it was made from.
    pub entry_chats: &'static [Path],
    /// In the `extra` of a message: books.
    pub message_books: &'static [Path],
}

/// The values that a path leads to.
pub fn values<'a>(value: forklore_json::Raw<'a>, path: &[&str]) -> Vec<forklore_json::Raw<'a>> {
    let Some((key, rest)) = path.split_first() else { return vec![value] };
    if *key == EVERY {
        return value.members().flat_map(|(_, value)| values(value, rest)).collect();
    }
    value.get(key).map(|value| values(value, rest)).unwrap_or_default()
}
