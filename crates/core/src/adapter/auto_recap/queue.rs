//! The queue: JSON text in the entry `__operation_queue`; in the first versions, in `chat_metadata`.

use forklore_json::Raw;

use super::QUEUE_ENTRY;
use crate::adapter::{Operation, Status, Work};
use crate::format::book::{Book, EntryImage};
use crate::format::chat::Header;

/// Keys of an operation's `params` and `metadata` that hold message numbers.
const MESSAGE_KEYS: [&str; 9] = [
    "index",
    "startIndex",
    "endIndex",
    "messageIndex",
    "indexes",
    "scene_index",
    "message_index",
    "start_index",
    "end_index",
];

/// The operations that wait or run for a chat.
pub(super) fn operations(header: Header<'_>, book: Option<&Book<'_>>) -> Vec<Operation> {
    let entry = book.and_then(|book| book.entries().iter().find(|entry| entry.comment() == QUEUE_ENTRY));
    let text = entry.map(|entry| entry.content().into_owned()).unwrap_or_default();
    let mut found = match Raw::parse(text.as_bytes()) {
        Ok(document) => read(document),
        Err(_) if text.trim().is_empty() => Vec::new(),
        // Nobody can tell that nothing waits in it.
        Err(_) => vec![operation(Raw::trust(br#"{"type":"unreadable queue"}"#))],
    };
    if let Some(old) = header.metadata().get("auto_summarize_operation_queue") {
        found.extend(read(old));
    }
    found
}

fn read(document: Raw<'_>) -> Vec<Operation> {
    document.get("queue").unwrap_or(Raw::NULL).elements().map(operation).collect()
}

fn operation(raw: Raw<'_>) -> Operation {
    let text = |key: &str| raw.get(key).and_then(Raw::as_text).map(std::borrow::Cow::into_owned);
    let mut messages = Vec::new();
    for part in ["params", "metadata"] {
        for (key, value) in raw.get(part).unwrap_or(Raw::NULL).members() {
            if MESSAGE_KEYS.iter().any(|known| key.is_text(known)) {
                let numbers = value.as_i64().into_iter().chain(value.elements().filter_map(Raw::as_i64));
                messages.extend(numbers.filter_map(|n| usize::try_from(n).ok()));
            }
        }
    }
    messages.sort_unstable();
    messages.dedup();
    Operation {
        id: text("id").unwrap_or_default(),
        kind: text("type").unwrap_or_default(),
        // Without a status it has not been looked at yet.
        status: text("status").map_or(Status::Pending, |status| Status::read(&status)),
        messages,
        book: raw.at(&["params", "lorebookName"]).and_then(Raw::as_text).map(std::borrow::Cow::into_owned),
        retries: raw.get("retries").and_then(Raw::as_i64).unwrap_or(0),
        error: text("error").filter(|e| !e.is_empty()),
        started: raw.get("started_at").and_then(Raw::as_i64),
    }
}

/// Keys of an operation that tell which scene it works on, the surest first.
const SCENE_KEYS: [(&str, &str); 6] = [
    ("metadata", "message_index"),
    ("metadata", "scene_index"),
    ("params", "messageIndex"),
    ("params", "index"),
    ("metadata", "end_index"),
    ("params", "endIndex"),
];

/// What the operations in a queue entry write: what runs first, then what waits.
pub(super) fn work(entry: &EntryImage) -> Vec<Work> {
    if &*entry.comment != QUEUE_ENTRY {
        return Vec::new();
    }
    let text = entry.content();
    let Ok(document) = Raw::parse(text.as_bytes()) else { return Vec::new() };
    let mut found: Vec<(bool, Work)> =
        document.get("queue").unwrap_or(Raw::NULL).elements().filter_map(work_of).collect();
    found.sort_by_key(|(waits, _)| *waits);
    found.into_iter().map(|(_, work)| work).collect()
}

fn work_of(raw: Raw<'_>) -> Option<(bool, Work)> {
    let text = |path: &[&str]| raw.at(path).and_then(Raw::as_text).map(std::borrow::Cow::into_owned);
    let status = text(&["status"]).map_or(Status::Pending, |status| Status::read(&status));
    let kind = text(&["type"]).unwrap_or_default();
    // Looking for scene breaks writes nothing.
    if !status.is_open() || kind.starts_with("detect_") {
        return None;
    }
    let number = |value: Raw<'_>| value.as_i64().or_else(|| value.as_text()?.parse().ok());
    let scene = SCENE_KEYS.iter().find_map(|(part, key)| raw.at(&[*part, *key]).and_then(Raw::as_i64));
    let scene = usize::try_from(scene?).ok()?;
    let uid =
        ["entryUid", "resolvedUid", "entityId"].iter().find_map(|key| number(raw.at(&["params", *key])?));
    let name = text(&["metadata", "entry_name"]).or_else(|| text(&["params", "entryData", "comment"]));
    let (uid, lists) = if kind == "update_lorebook_registry" { (None, uid) } else { (uid, None) };
    let makes = uid.is_none() && lists.is_none() && name.is_none();
    Some((status == Status::Pending, Work { scene, uid, lists, name, makes }))
}
