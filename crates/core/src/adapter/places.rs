//! [`Places`]: where an extension's data names chats and books. What goes by another name is named anew there.

/// Keys that lead to a value; [`EVERY`] stands for each key of an object, and each place in a list.
pub type Path = &'static [&'static str];

/// In a [`Path`]: every key of the object, or every place in the list.
pub const EVERY: &str = "*";

/// Where an extension's data names chats and books.
#[derive(Debug, Clone, Copy, Default)]
pub struct Places {
    /// In `chat_metadata`: the chat itself.
    pub own_name: &'static [Path],
    /// In `chat_metadata`: books.
    pub books: &'static [Path],
    /// In `chat_metadata`: the book that the chat's memories go into, instead of the one in `world_info`.
    pub memory_book: Option<Path>,
    /// In `extension_settings`: whether memories go there at all. If they do not, what is named there is left over from a time when they did.
    pub memory_switch: Option<Path>,
    /// In `chat_metadata`: other books that the extension writes into for the chat.
    pub more_books: &'static [Path],
    /// In `extension_settings`: books that the extension writes into, whatever the chat.
    pub settings_books: &'static [Path],
    /// In an entry of a book: the chat that it was made from.
    pub entry_chats: &'static [Path],
    /// In the `extra` of a message: books.
    pub message_books: &'static [Path],
}

/// The values that a path leads to.
pub fn values<'a>(value: forklore_json::Raw<'a>, path: &[&str]) -> Vec<forklore_json::Raw<'a>> {
    let Some((key, rest)) = path.split_first() else { return vec![value] };
    if *key == EVERY {
        let all = value.members().map(|(_, value)| value).chain(value.elements());
        return all.flat_map(|value| values(value, rest)).collect();
    }
    value.get(key).map(|value| values(value, rest)).unwrap_or_default()
}

/// The names at the end of a path, without those that name nothing. Extensions take no notice of space around them.
pub(crate) fn named(value: forklore_json::Raw<'_>, path: Path) -> Vec<String> {
    let names = values(value, path).into_iter().filter_map(forklore_json::Raw::as_text);
    names.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}
