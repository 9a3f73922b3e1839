//! [`empty_queue`]: the extension's queue without its operations.

use std::borrow::Cow;

use forklore_json::{Kind, Raw, Splice, Step, apply_all, quote_wtf8, set};

use super::moved;

/// What Auto-Recap writes when nothing waits.
const EMPTY: &str = r#"{
  "queue": [],
  "current_operation_id": null,
  "paused": false,
  "version": 1,
  "queueVersion": 0
}"#;

/// The text of a queue entry with no operations in it; `None` if it has none already.
///
/// Operations name messages and entries of the chat that they were made in: in a fork they would run a second time.
pub fn empty_queue(content: &str) -> Option<String> {
    let emptied = emptied(content.as_bytes())?;
    Some(String::from_utf8_lossy(&emptied).into_owned())
}

/// As [`empty_queue`], in WTF-8: a text that is cut in the middle of a character stays as it is.
fn emptied(content: &[u8]) -> Option<Cow<'static, [u8]>> {
    let document = Raw::parse(content).ok().filter(|document| document.kind() == Kind::Object);
    let Some(document) = document else { return Some(Cow::Borrowed(EMPTY.as_bytes())) };
    let [queue, current] = document.pick(["queue", "current_operation_id"]);
    let is_empty = |list: Raw<'_>| list.kind() == Kind::Array && list.elements().next().is_none();
    let busy = queue.filter(|list| !is_empty(*list)).map(|_| ("queue", &b"[]"[..]));
    let running =
        current.filter(|id| id.kind() != Kind::Null).map(|_| ("current_operation_id", &b"null"[..]));
    let edits = busy.into_iter().chain(running);
    let edits = edits.filter_map(|(key, value)| set(document, &[Step::key(key)], value).ok());
    let edits: Vec<Splice> = edits.map(|edit| moved(edit, document, content)).collect();
    (!edits.is_empty()).then(|| Cow::Owned(apply_all(content, &edits)))
}

/// The splice in a queue entry that empties it; `None` if it is empty.
pub(super) fn emptying(entry: Raw<'_>) -> Option<Splice> {
    let content = entry.get("content").and_then(Raw::as_wtf8).unwrap_or_default();
    let quoted = quote_wtf8(&emptied(&content)?);
    set(entry, &[Step::key("content")], &quoted).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_operations_go() {
        let text =
            r#" { "queue":[{"id":"op_1"}],  "paused": true,"current_operation_id": "op_1", "x":1e400 } "#;
        let emptied = empty_queue(text).unwrap();
        assert_eq!(emptied, r#" { "queue":[],  "paused": true,"current_operation_id": null, "x":1e400 } "#);
        assert_eq!(empty_queue(&emptied), None, "once is enough");
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

    #[test]
    fn a_text_cut_in_the_middle_of_an_emoji_survives() {
        let entry = br#"{"content":"{\"queue\":[1],\"note\":\"\ud83d\"}"}"#;
        let entry = Raw::parse(entry).unwrap();
        let emptied = emptying(entry).unwrap().apply(entry.bytes());
        assert_eq!(emptied, br#"{"content":"{\"queue\":[],\"note\":\"\ud83d\"}"}"#);
    }
}
