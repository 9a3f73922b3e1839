//! [`empty_queue`]: an extension's queue without its operations.

use forklore_json::{PathPart, Raw, Splice, quote_wtf8, set};

use crate::adapter::queue_keeper;

/// The text of a queue entry with no operations in it; `None` if it has none already.
///
/// Operations name messages and entries of the chat that they were made in: in a fork they would run a second time.
pub fn empty_queue(comment: &str, content: &str) -> Option<String> {
    let emptied = queue_keeper(comment)?.emptied(content.as_bytes())?;
    Some(String::from_utf8_lossy(&emptied).into_owned())
}

/// The splice in a queue entry that empties it; `None` if it is empty.
pub(super) fn emptying(comment: &str, entry: Raw<'_>) -> Option<Splice> {
    let content = entry.get("content").and_then(Raw::as_wtf8).unwrap_or_default();
    let quoted = quote_wtf8(&queue_keeper(comment)?.emptied(&content)?);
    set(entry, &[PathPart::key("content")], &quoted).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cut_in_the_middle_of_an_emoji_survives() {
        let entry = br#"{"content":"{\"queue\":[1],\"note\":\"\ud83d\"}"}"#;
        let entry = Raw::parse(entry).unwrap();
        let emptied = emptying("__operation_queue", entry).unwrap().apply(entry.bytes());
        assert_eq!(emptied, br#"{"content":"{\"queue\":[],\"note\":\"\ud83d\"}"}"#);
    }
}
