//! [`fingerprint()`]: what a book says in few signs.

use std::borrow::Cow;

use forklore_json::{Kind, Raw};

use super::layout::lay_out;
use crate::adapter::{EntryRole, entry_role};
use crate::format::book::{Book, Entry};

/// What a book says, as 32 hex digits: number, title, text, keys and switch of every entry but the queue, in any order.
///
/// SillyTavern may save the file anew, with other white space and more fields, and it stays the same.
pub fn fingerprint(book: &Book<'_>) -> String {
    let prints = book.entries().iter().filter_map(print);
    let mut prints: Vec<[u8; 32]> = prints.collect();
    prints.sort_unstable();
    blake3::hash(prints.as_flattened()).to_hex()[..32].to_owned()
}

/// What one entry says; nothing if it is the queue.
fn print(entry: &Entry<'_>) -> Option<[u8; 32]> {
    let comment = entry.comment();
    if entry_role(&comment) == EntryRole::Queue {
        return None;
    }
    let [content, keys, disable] = entry.said();
    let mut hasher = blake3::Hasher::new();
    // Every text with its length before it: what ends one cannot begin the next.
    let mut tell = |text: &[u8]| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text);
    };
    tell(entry.uid().map(|uid| uid.to_string()).unwrap_or_default().as_bytes());
    tell(comment.as_bytes());
    tell(&content.map(text_of).unwrap_or_default());
    tell(&[u8::from(disable.is_some_and(Raw::is_truthy))]);
    match keys {
        Some(list) if list.kind() == Kind::Array => list.elements().for_each(|key| tell(&text_of(key))),
        Some(odd) => tell(&text_of(odd)),
        None => {}
    }
    Some(hasher.finalize().into())
}

/// The text of a value; of one that should be a text but is not, its bytes.
fn text_of(value: Raw<'_>) -> Cow<'_, [u8]> {
    value.as_wtf8().unwrap_or_else(|| Cow::Owned(lay_out(value.bytes(), None)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprint_is_of_what_is_said() {
        let of = |book: &str| fingerprint(&Book::parse(book.as_bytes()).unwrap());
        let base = r#"{"entries":{"1":{"uid":1,"key":["a"],"comment":"A","content":"x"},"2":{"uid":2,"content":"y"},"9":{"uid":9,"comment":"__operation_queue","content":"q"}}}"#;
        let same = r#"{"entries": [{"uid":2,"content":"\u0079","displayIndex":3},{"comment":"A","disable":false,"content":"x","key":[ "a" ],"uid":1.0}]}"#;
        assert_eq!(of(base), of(same));
        assert_eq!(of(base).len(), 32);
        for (old, new) in [
            (r#""x""#, r#""x ""#),
            (r#""A""#, r#""a""#),
            (r#"["a"]"#, r#"["a","b"]"#),
            (r#"["a"]"#, r#"[]"#),
            (r#""uid":2"#, r#""uid":3"#),
            (r#""uid":2"#, r#""uid":2,"disable":true"#),
        ] {
            assert_ne!(of(base), of(&base.replace(old, new)), "{old} -> {new}");
        }
    }
}
