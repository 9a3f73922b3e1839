//! The queue: JSON text in the entry `__operation_queue`; in the first versions, in `chat_metadata`.

use forklore_json::{Kind, PathPart, Raw, Splice, apply_all, list, quote, set};

use super::{NAME, PIPELINE, QUEUE_ENTRY};
use crate::adapter::notes::Waiting;
use crate::adapter::{Operation, Requeued, Status, Work};
use crate::format::book::{Book, EntryImage};
use crate::format::chat::Header;
use crate::format::revision::Revision;

/// Where the first versions of the extension had their queue in `chat_metadata`.
pub(super) const OLD_QUEUE: &str = "auto_summarize_operation_queue";

/// What the extension writes when nothing waits.
const EMPTY: &str = r#"{
  "queue": [],
  "current_operation_id": null,
  "paused": false,
  "version": 1,
  "queueVersion": 0
}"#;

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
    if let Some(old) = header.metadata().get(OLD_QUEUE) {
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
        of: NAME,
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

/// The text of a queue entry, in WTF-8, with no operations in it; `None` if it has none already. What is cut in the middle of a
/// character stays as it is.
pub(super) fn emptied(content: &[u8]) -> Option<Vec<u8>> {
    let document = Raw::parse(content).ok().filter(|document| document.kind() == Kind::Object);
    let Some(document) = document else { return Some(EMPTY.as_bytes().to_vec()) };
    let [queue, current] = document.pick(["queue", "current_operation_id"]);
    let is_empty = |list: Raw<'_>| list.kind() == Kind::Array && list.elements().next().is_none();
    let busy = queue.filter(|list| !is_empty(*list)).map(|_| ("queue", &b"[]"[..]));
    let running =
        current.filter(|id| id.kind() != Kind::Null).map(|_| ("current_operation_id", &b"null"[..]));
    let edits = busy.into_iter().chain(running);
    let edits = edits.filter_map(|(key, value)| set(document, &[PathPart::key(key)], value).ok());
    let edits: Vec<Splice> = edits.map(|edit| edit.moved(document, content)).collect();
    (!edits.is_empty()).then(|| apply_all(content, &edits))
}

/// A queue with archived work put back. It is paused, so that somebody looks at it first: it was meant for another chat.
pub(super) fn requeued(queue: &[u8], archived: Raw<'_>, head: usize, book: &str) -> Option<Requeued> {
    let kept = Raw::parse(queue).ok().filter(|document| document.kind() == Kind::Object);
    let document = kept.unwrap_or(Raw::trust(EMPTY.as_bytes()));
    let known: Vec<String> = read(document).into_iter().map(|operation| operation.id).collect();
    let mut requeued = Requeued { text: Vec::new(), taken: Vec::new(), left: Vec::new() };
    let waiting = document.get("queue").unwrap_or(Raw::NULL).elements();
    let mut all: Vec<Vec<u8>> = waiting.map(|one| one.bytes().to_vec()).collect();
    let version = document.get("queueVersion").unwrap_or(Raw::trust(b"0"));
    let archived = archived.get("queue").unwrap_or(archived);
    for raw in archived.elements() {
        let told = operation(raw);
        if !told.status.is_open() || (!told.id.is_empty() && known.contains(&told.id)) {
            continue;
        }
        if told.messages.iter().any(|message| *message > head) {
            requeued.left.push(told);
            continue;
        }
        // Of another version of the queue it would be thrown away; under its old book's name it would write into that.
        let mut bytes = raw.bytes().to_vec();
        for (path, value) in [
            (&["status"][..], &b"\"pending\""[..]),
            (&["queueVersion"], version.bytes()),
            (&["params", "lorebookName"], &quote(book)),
        ] {
            let there = Raw::trust(&bytes).at(path).is_some();
            let steps: Vec<PathPart<'_>> = path.iter().map(|name| PathPart::key(name)).collect();
            if let Some(splice) = there.then(|| set(Raw::trust(&bytes), &steps, value).ok()).flatten() {
                bytes = splice.apply(&bytes);
            }
        }
        all.push(bytes);
        requeued.taken.push(told);
    }
    requeued.text = document.bytes().to_vec();
    for (key, value) in [("queue", list(&all)), ("paused", b"true".to_vec())] {
        let splice = set(Raw::trust(&requeued.text), &[PathPart::key(key)], &value).ok()?;
        requeued.text = splice.apply(&requeued.text);
    }
    Some(requeued)
}

/// What puts work back that the pipeline had noted for its operations.
pub(super) fn put_waiting(metadata: Raw<'_>, name: &str, archived: Raw<'_>) -> Vec<Revision> {
    if name != "pending" {
        return Vec::new();
    }
    let known = metadata.at(&[PIPELINE, "pendingOps"]).unwrap_or(Raw::NULL);
    let members = archived.members().filter_map(|(key, value)| Some((key.as_text()?, value)));
    let new = members.filter(|(key, _)| known.get(key).is_none());
    new.map(|(key, value)| Revision::set(&[PIPELINE, "pendingOps", &key], value.bytes().to_vec())).collect()
}

/// Work that waits in `chat_metadata`.
pub(super) fn waiting(metadata: Raw<'_>) -> Waiting {
    let mut waiting = Waiting::default();
    let places: [(&str, [&str; 2], &[u8]); 2] =
        [("pending", [PIPELINE, "pendingOps"], b"{}"), ("old_queue", [OLD_QUEUE, "queue"], b"[]")];
    for (name, path, empty) in places {
        let work = metadata.at(&path);
        let has_any = |work: &Raw<'_>| work.members().next().is_some() || work.elements().next().is_some();
        if let Some(work) = work.filter(has_any) {
            waiting.revisions.push(Revision::set(&path, empty.to_vec()));
            waiting.kept.push((name, work.bytes().to_vec()));
        }
    }
    waiting
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty_queue(text: &str) -> Option<String> {
        emptied(text.as_bytes()).map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn only_the_operations_go() {
        let text =
            r#" { "queue":[{"id":"op_1"}],  "paused": true,"current_operation_id": "op_1", "x":1e400 } "#;
        let emptied = empty_queue(text).unwrap();
        assert_eq!(emptied, r#" { "queue":[],  "paused": true,"current_operation_id": null, "x":1e400 } "#);
        assert_eq!(empty_queue(&emptied), None, "once is enough");
    }

    #[test]
    fn archived_work_waits_again_and_nothing_runs() {
        let queue =
            br#"{"queue":[{"id":"op_9"}],"current_operation_id":null,"paused":false,"queueVersion":3}"#;
        let archived = Raw::trust(
            br#"{"queue":[{"id":"op_1","type":"a","status":"in_progress","queueVersion":1,"params":{"index":4,"lorebookName":"Old"}},
                {"id":"op_2","status":"pending","params":{"index":9}},{"id":"op_3","status":"completed"},{"id":"op_9"}],"paused":false}"#,
        );
        let made = requeued(queue, archived, 5, "New").unwrap();
        let text = String::from_utf8(made.text).unwrap();
        assert_eq!(
            text,
            r#"{"queue":[{"id":"op_9"},{"id":"op_1","type":"a","status":"pending","queueVersion":3,"params":{"index":4,"lorebookName":"New"}}],"current_operation_id":null,"paused":true,"queueVersion":3}"#
        );
        let ids = |all: &[Operation]| all.iter().map(|one| one.id.clone()).collect::<Vec<_>>();
        assert_eq!((ids(&made.taken), ids(&made.left)), (vec!["op_1".to_owned()], vec!["op_2".to_owned()]));
    }

    #[test]
    fn what_is_empty_stays() {
        for text in
            [EMPTY, "{}", r#"{"queue":[ ]}"#, r#"{"queue":[],"current_operation_id":null,"z":"\ud800"}"#]
        {
            assert_eq!(empty_queue(text), None);
        }
    }

    #[test]
    fn what_is_no_queue_becomes_one() {
        for text in ["", "not JSON", "[1]", "null", "{\"queue\":["] {
            assert_eq!(empty_queue(text).unwrap(), EMPTY);
        }
        assert_eq!(empty_queue(r#"{"queue":"odd"}"#).unwrap(), r#"{"queue":[]}"#);
    }
}
