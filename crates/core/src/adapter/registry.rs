//! Registries: entries whose text lists other entries, a [`RegistryLine`] each; and the working index of them that an extension keeps
//! in a chat's metadata ([`IndexRecord`]).
//!
//! How a line is written only an adapter knows: everything here asks all of them.

use forklore_json::Raw;

use super::{ALL, EntryRole, entry_role};
use crate::format::book::EntryImage;

/// One line of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryLine {
    /// The entry it refers to; `None` if the extension has ids of its own for it.
    pub uid: Option<i64>,
    /// The entry's name, as the registry has it.
    pub name: String,
    /// Other names of it.
    pub aliases: Vec<String>,
    /// What it is, in a few words; may be empty.
    pub synopsis: String,
    /// The line as it stands.
    pub text: String,
}

/// One record of the working index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexRecord {
    /// The entry it refers to.
    pub uid: i64,
    /// The entry's name.
    pub name: String,
}

/// The type that a registry lists, as its text tells; `None` if it is no registry.
pub fn kind_of(content: &str) -> Option<&str> {
    ALL.iter().find_map(|adapter| adapter.registry_kind(content))
}

/// The type that a registry lists, as its title tells; the title itself if it does not.
pub fn kind_in_title(comment: &str) -> &str {
    ALL.iter().find_map(|adapter| adapter.registry_title(comment)).unwrap_or(comment)
}

/// One line of a registry; `None` if it is no line of any known syntax.
pub fn line(text: &str) -> Option<RegistryLine> {
    ALL.iter().find_map(|adapter| adapter.registry_line(text))
}

/// A line of a registry for an entry that has another number now; `None` if it names none.
pub fn renumbered(text: &str, uid: i64) -> Option<String> {
    ALL.iter().find_map(|adapter| adapter.renumber_line(text, uid))
}

/// The lines of a registry. What is no line of any known syntax is skipped.
pub fn lines(content: &str) -> Vec<RegistryLine> {
    content.lines().filter_map(line).collect()
}

/// The old registry text with the new text's line for one uid, in the new text's order.
pub fn with_line_of(old: &str, new: &str, uid: i64) -> String {
    let old_lines: Vec<&str> = old.lines().collect();
    let mut lines: Vec<&str> = new
        .lines()
        .filter(|line| old_lines.contains(line) || self::line(line).is_some_and(|l| l.uid == Some(uid)))
        .collect();
    lines.extend(old_lines.iter().filter(|line| !new.lines().any(|l| l == **line)));
    lines.join("\n")
}

/// Every line of every registry in a book, with the type that the registry lists.
pub fn listed(entries: &[EntryImage]) -> Vec<(String, RegistryLine)> {
    let mut found = Vec::new();
    for entry in entries.iter().filter(|entry| entry_role(&entry.comment) == EntryRole::Registry) {
        let content = entry.content();
        // Without its first line it is no registry for the extension either.
        let Some(kind) = kind_of(&content) else { continue };
        found.extend(lines(&content).into_iter().map(|line| (kind.to_owned(), line)));
    }
    found
}

/// Lines that name entries which are not in the book.
pub fn dangling(entries: &[EntryImage]) -> Vec<RegistryLine> {
    let is_there = |uid| entries.iter().any(|entry| entry.uid == Some(uid));
    let lines = listed(entries).into_iter().map(|(_, line)| line);
    lines.filter(|line| line.uid.is_some_and(|uid| !is_there(uid))).collect()
}

/// The working index in `chat_metadata`.
pub fn index(metadata: Raw<'_>) -> Vec<IndexRecord> {
    ALL.iter().flat_map(|adapter| adapter.index(metadata)).collect()
}
