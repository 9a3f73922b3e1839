//! ST-Auto-Recap ("Auto-Recap & Lorebooks", earlier "Auto-Summarize").
//!
//! Per message it keeps a scene with all versions of its recap and, in each, a copy of the whole lorebook ([`scene`]); per
//! chat the [`running`] recap; in the book [`registry`] entries and a [`queue`] entry. Before November 2025 the word was
//! "summary" instead of "recap"; both are read.

pub mod queue;
pub mod registry;
pub mod running;
pub mod scene;

use forklore_json::Raw;

use crate::adapter::{Adapter, EntryRole, Operation, Scene, SceneSighting, Work};
use crate::format::book::{Book, EntryImage};
use crate::format::chat::{Header, Message};

/// The title of the entry that holds the queue.
pub const QUEUE_ENTRY: &str = "__operation_queue";

/// The Auto-Recap adapter.
#[derive(Debug)]
pub struct AutoRecap;

impl Adapter for AutoRecap {
    fn name(&self) -> &'static str {
        "Auto-Recap"
    }

    fn wrote(&self, comment: &str, entry: Raw<'_>) -> bool {
        let text = || entry.get("content").and_then(Raw::as_text).unwrap_or_default();
        comment == QUEUE_ENTRY
            || (comment.starts_with(registry::PREFIX) && registry::kind_of(&text()).is_some())
    }

    fn entry_role(&self, comment: &str) -> EntryRole {
        match comment {
            QUEUE_ENTRY => EntryRole::Queue,
            c if c.starts_with(registry::PREFIX) => EntryRole::Registry,
            c if c.starts_with("__index_") => EntryRole::Index,
            _ => EntryRole::Fact,
        }
    }

    fn scene(&self, message: Message<'_>) -> Option<(Scene, Vec<SceneSighting>)> {
        scene::scene(message)
    }

    fn work(&self, queue: &EntryImage) -> Vec<Work> {
        queue::work(queue)
    }

    fn made(&self, header: Header<'_>) -> Option<(String, i64)> {
        let note = header.metadata().get("auto_lorebooks")?;
        let book = note.get("lorebookName").and_then(Raw::as_text)?.into_owned();
        Some((book, note.get("attachedAt").and_then(Raw::as_i64)?))
    }

    fn operations(&self, header: Header<'_>, book: Option<&Book<'_>>) -> Vec<Operation> {
        queue::operations(header, book)
    }
}

/// The extension's hash of a text: what `event_keys` and `scene_recap_hash` hold.
pub fn text_hash(text: &str) -> String {
    let hash =
        text.trim().encode_utf16().fold(0i32, |h, unit| h.wrapping_mul(31).wrapping_add(i32::from(unit)));
    let mut rest = hash.unsigned_abs();
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(rest % 36, 36).unwrap_or('0'));
        rest /= 36;
        if rest == 0 {
            break;
        }
    }
    digits.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_as_the_extension_does() {
        let vectors = [("", "0"), ("a", "2p"), ("hello", "1n1e4y"), ("  hello ", "1n1e4y")];
        for (text, hash) in vectors {
            assert_eq!(text_hash(text), hash);
        }
        assert_eq!(text_hash(r#"{"stage1":{"sn":"Gate"}}"#), "ku9ly7");
        assert_eq!(text_hash("Zoë 🐉"), "qks7e2");
    }
}
