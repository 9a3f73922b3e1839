//! ST-Auto-Recap ("Auto-Recap & Lorebooks", earlier "Auto-Summarize"): [`AutoRecap`].
//!
//! Per message it keeps a scene with all versions of its recap and, in each, a copy of the whole lorebook; per chat the running recap, a
//! working index, and what it believes the chat and its book are called; in the book registries and a queue; in the settings four
//! objects by chat. Before November 2025 the word was "summary" instead of "recap"; both are read.

mod checkpoint;
mod combined;
mod index;
mod log;
mod queue;
mod registry;
mod running;
mod scene;
mod wrap;
mod write;

use std::sync::Arc;

use forklore_json::{Kind, Raw, object};

use crate::adapter::notes::{BoundBook, CheckpointState, Waiting};
use crate::adapter::own::{OwnEntry, OwnFormat, OwnLine, OwnScene, OwnVersion};
use crate::adapter::places::{EVERY, Path, Places};
use crate::adapter::recap::{CombinedRecap, Projection, RunningRecap, StoredVersion};
use crate::adapter::registry::{IndexRecord, RegistryLine};
use crate::adapter::{Adapter, EntryRole, Noted, Operation, Requeued, Scene, SceneSighting, Work};
use crate::format::book::{Book, EntryImage};
use crate::format::chat::{Header, Message};
use crate::format::revision::Revision;

/// The extension's name.
const NAME: &str = "Auto-Recap";
/// The title of the entry that holds the queue.
const QUEUE_ENTRY: &str = "__operation_queue";
/// The key of `chat_metadata` that says which book the chat has.
const BINDING: &str = "auto_lorebooks";
/// The name of that book below it.
const BOUND: [&str; 2] = [BINDING, "lorebookName"];
/// The key of `chat_metadata` with what is being written into the book.
const PIPELINE: &str = "autoLorebooks";
/// The keys of a message's `extra`, and of the settings: the module's name, and its older one.
const MODULES: [&str; 2] = ["auto_recap_memory", "auto_summarize_memory"];

/// The Auto-Recap adapter.
#[derive(Debug)]
pub struct AutoRecap;

impl Adapter for AutoRecap {
    fn name(&self) -> &'static str {
        NAME
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

    fn wrapped(&self, content: &[u16], entry: Raw<'_>, world: &str) -> Option<Vec<u16>> {
        wrap::wrapped(content, entry, world)
    }

    fn book_template(&self) -> Option<&'static str> {
        Some("z-AutoLB-{{char}}-{{chat}}")
    }

    fn made(&self, metadata: Raw<'_>) -> Option<(String, i64)> {
        let note = metadata.get(BINDING)?;
        let book = note.get(BOUND[1]).and_then(Raw::as_text)?.into_owned();
        Some((book, note.get("attachedAt").and_then(Raw::as_i64)?))
    }

    fn scene(&self, message: Message<'_>) -> Option<(Scene, Vec<SceneSighting>)> {
        scene::scene(message)
    }

    fn takes_notes(&self) -> bool {
        true
    }

    fn noted(&self, message: Message<'_>) -> Vec<Noted> {
        log::noted(message)
    }

    fn recap_text(&self, message: Message<'_>) -> Option<String> {
        scene::recap_text(message)
    }

    fn stored_recap<'a>(&self, message: Message<'a>) -> Option<Raw<'a>> {
        scene::stored_recap(message)
    }

    fn text_hash(&self, text: &str) -> Option<String> {
        Some(text_hash(text))
    }

    fn made_afterwards(&self, comment: &str) -> bool {
        comment.starts_with("event-")
    }

    fn running_keys(&self) -> &'static [&'static str] {
        &running::KEYS
    }

    fn running(&self, metadata: Raw<'_>) -> Option<RunningRecap> {
        running::read(metadata, true)
    }

    fn running_outline(&self, metadata: Raw<'_>) -> Option<RunningRecap> {
        running::read(metadata, false)
    }

    fn versions<'a>(&self, metadata: Raw<'a>) -> Vec<StoredVersion<'a>> {
        running::versions(metadata)
    }

    fn project_running(
        &self,
        metadata: Raw<'_>,
        projection: &Projection,
        chat: &str,
    ) -> (Vec<Revision>, Vec<Vec<u8>>) {
        running::project(metadata, projection, chat)
    }

    fn put_running(
        &self,
        metadata: Raw<'_>,
        versions: &[Vec<u8>],
        current: i64,
        chat: &str,
    ) -> Vec<Revision> {
        running::put(metadata, versions, current, chat)
    }

    fn move_version(&self, version: Raw<'_>, number: i64, scene: Option<usize>) -> Option<Vec<u8>> {
        running::moved(version, number, scene)
    }

    fn combined(&self, metadata: Raw<'_>) -> Option<CombinedRecap> {
        combined::read(metadata)
    }

    fn stored_combined<'a>(&self, metadata: Raw<'a>) -> Option<Raw<'a>> {
        combined::stored(metadata)
    }

    fn put_combined(&self, metadata: Raw<'_>, fitting: Option<&[u8]>, chat: &str) -> Vec<Revision> {
        combined::put(metadata, fitting, chat)
    }

    fn registry_kind<'a>(&self, content: &'a str) -> Option<&'a str> {
        registry::kind_of(content)
    }

    fn registry_title<'a>(&self, comment: &'a str) -> Option<&'a str> {
        comment.strip_prefix(registry::PREFIX)
    }

    fn registry_line(&self, text: &str) -> Option<RegistryLine> {
        registry::line(text)
    }

    fn renumber_line(&self, text: &str, uid: i64) -> Option<String> {
        registry::renumber(text, uid)
    }

    fn index(&self, metadata: Raw<'_>) -> Vec<IndexRecord> {
        index::read(metadata)
    }

    fn reindex(&self, metadata: Raw<'_>, entries: &[EntryImage]) -> Vec<Revision> {
        let there = metadata.at(&index::PATH).is_some();
        there.then(|| Revision::set(&index::PATH, index::made_from(entries))).into_iter().collect()
    }

    fn work(&self, queue: &EntryImage) -> Vec<Work> {
        queue::work(queue)
    }

    fn operations(&self, header: Header<'_>, book: Option<&Book<'_>>) -> Vec<Operation> {
        queue::operations(header, book)
    }

    fn emptied(&self, queue: &[u8]) -> Option<Vec<u8>> {
        queue::emptied(queue)
    }

    fn handled(&self) -> &'static [&'static str] {
        &[
            BINDING,
            PIPELINE,
            queue::OLD_QUEUE,
            "auto_recap",
            checkpoint::KEY,
            checkpoint::RECONSTRUCTED,
            checkpoint::ENTRIES,
            checkpoint::MESSAGE,
            running::KEYS[0],
            running::KEYS[1],
        ]
    }

    fn waiting(&self, metadata: Raw<'_>) -> Waiting {
        queue::waiting(metadata)
    }

    fn requeued(&self, queue: &[u8], archived: Raw<'_>, head: usize, book: &str) -> Option<Requeued> {
        queue::requeued(queue, archived, head, book)
    }

    fn put_waiting(&self, metadata: Raw<'_>, name: &str, archived: Raw<'_>) -> Vec<Revision> {
        queue::put_waiting(metadata, name, archived)
    }

    fn bind(&self, metadata: Raw<'_>, book: Option<BoundBook<'_>>) -> Vec<Revision> {
        let Some(note) = metadata.get(BINDING).filter(|note| note.kind() == Kind::Object) else {
            return Vec::new();
        };
        let Some(BoundBook { name, entries }) = book else {
            let named = note.get(BOUND[1]).is_some();
            return named.then(|| Revision::set(&BOUND, b"null".to_vec())).into_iter().collect();
        };
        // The index that the extension works from is never refreshed by itself: it would offer the parent's entries.
        let index = index::made_from(entries);
        let index = match note.get(index::PATH[1]).filter(|registry| registry.kind() == Kind::Object) {
            Some(_) => Revision::set(&index::PATH, index),
            None => Revision::set(&index::PATH[..2], object(&[(index::PATH[2], index)])),
        };
        vec![Revision::text(&BOUND, name), index]
    }

    fn correct_book(&self, metadata: Raw<'_>, book: &str) -> Vec<Revision> {
        let other = metadata.at(&BOUND).is_some_and(|said| !said.is_text(book));
        other.then(|| Revision::text(&BOUND, book)).into_iter().collect()
    }

    fn checkpoint(&self, state: &CheckpointState<'_>, metadata: Raw<'_>) -> Vec<Revision> {
        checkpoint::write(state, metadata)
    }

    fn checkpoint_scene(&self, metadata: Raw<'_>) -> Option<String> {
        checkpoint::scene(metadata)
    }

    fn places(&self) -> Places {
        Places {
            own_name: &[
                &["auto_recap", "combined_recap", "chat_id"],
                &[checkpoint::KEY, "chat_id"],
                &[running::KEYS[0], "chat_id"],
                &[running::KEYS[1], "chat_id"],
            ],
            books: &[
                &BOUND,
                &[checkpoint::KEY, "cloned_lorebook_name"],
                &[checkpoint::KEY, "original_lorebook_name"],
            ],
            message_books: &[
                &[MODULES[0], "scene_recap_metadata", EVERY, scene::BOOK],
                &[MODULES[1], "scene_summary_metadata", EVERY, scene::BOOK],
            ],
            ..Places::default()
        }
    }

    fn chat_settings(&self) -> &'static [Path] {
        &[
            &[MODULES[0], "chats_enabled"],
            &[MODULES[0], "chat_strip_patterns"],
            &[MODULES[0], "chat_profiles"],
            &[MODULES[0], "chat_sticky_presets"],
        ]
    }

    fn template_setting(&self) -> Option<Path> {
        Some(&[PIPELINE, "nameTemplate"])
    }

    fn selector(&self) -> String {
        format!("{NAME}'s selector")
    }

    fn loses_recaps(&self) -> Option<String> {
        Some(format!("Renaming a chat makes {NAME} forget its running recap."))
    }
}

impl OwnFormat for AutoRecap {
    fn list_title(&self, kind: &str) -> String {
        write::registry_title(kind)
    }

    fn list_text(&self, kind: &str, lines: &[OwnLine]) -> String {
        write::registry_text(kind, lines)
    }

    fn own_entry(&self, own: &OwnEntry, live: Option<&EntryImage>) -> EntryImage {
        write::entry(own, live)
    }

    fn edited(&self, entry: &EntryImage) -> Option<bool> {
        write::edited(entry)
    }

    fn disowned(&self, entry: &EntryImage) -> EntryImage {
        write::disowned(entry)
    }

    fn owned_as(&self, entry: &EntryImage, before: &EntryImage) -> EntryImage {
        write::owned_as(entry, before)
    }

    fn own_snapshot(&self, entry: &EntryImage, book: &str) -> Arc<[u8]> {
        write::snapshot(entry, book).into()
    }

    fn own_scene(&self, scene: &OwnScene<'_>, extra: Raw<'_>) -> (&'static str, Vec<u8>) {
        write::scene(scene, extra)
    }

    fn no_scene(&self, extra: Raw<'_>) -> Option<(&'static str, Option<Vec<u8>>)> {
        write::no_scene(extra)
    }

    fn own_versions(&self, metadata: Raw<'_>, versions: &[OwnVersion], chat: &str) -> Vec<Revision> {
        write::versions(metadata, versions, chat)
    }

    fn own_combined(&self, text: &str, messages: usize, clock: i64, chat: &str) -> Revision {
        combined::made(text, messages, clock, chat)
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
