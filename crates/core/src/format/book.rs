//! Lorebooks: [`Book`] is a parsed file, [`EntryImage`] one entry on its own, wherever it was seen.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use forklore_json::{Kind, Raw, SyntaxError};
use serde::{Deserialize, Serialize};

/// A lorebook file, read by spans.
#[derive(Debug, Clone)]
pub struct Book<'a> {
    raw: Raw<'a>,
    entries: Vec<Entry<'a>>,
}

/// One entry where it stands in its file.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Key in the map of entries; `None` if the file has a list instead.
    pub key: Option<Raw<'a>>,
    /// The entry itself.
    pub raw: Raw<'a>,
    /// Its own number and its title, which everybody asks for.
    uid: Option<Raw<'a>>,
    comment: Option<Raw<'a>>,
}

/// Why a file is not a lorebook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BookError {
    /// The file is not JSON.
    #[error("it is not JSON: {0}")]
    Syntax(#[from] SyntaxError),
    /// The one key that every lorebook has is missing.
    #[error("it has no list of entries")]
    NoEntries,
}

impl<'a> Book<'a> {
    /// Reads a book. Entries may be a map, as SillyTavern writes them, or a list, as some tools do.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, BookError> {
        let mut list = None;
        let raw = Raw::parse_members(bytes.strip_prefix(super::chat::BOM).unwrap_or(bytes), |key, value| {
            if key.is_text("entries") {
                list = Some(value);
            }
        })?;
        let list = list.ok_or(BookError::NoEntries)?;
        let entries = match list.kind() {
            Kind::Object => list.members().map(|(key, raw)| Entry::of(Some(key), raw)).collect(),
            Kind::Array => list.elements().map(|raw| Entry::of(None, raw)).collect(),
            _ => return Err(BookError::NoEntries),
        };
        Ok(Self { raw, entries })
    }

    /// Where everything is, to find it again without reading the book anew: see [`BookMap`].
    pub fn map(&self, bytes: &'a [u8]) -> BookMap {
        let range = |raw: Raw<'a>| raw.range_in(bytes).unwrap_or(0..0);
        let entry = |e: &Entry<'a>| EntryMap {
            key: e.key.map(range),
            raw: range(e.raw),
            uid: e.uid.map(range),
            comment: e.comment.map(range),
        };
        BookMap { raw: range(self.raw), entries: self.entries.iter().map(entry).collect() }
    }

    /// The whole document.
    pub fn raw(&self) -> Raw<'a> {
        self.raw
    }

    /// The entries in file order.
    pub fn entries(&self) -> &[Entry<'a>] {
        &self.entries
    }

    /// Whether the entries are a list, which SillyTavern cannot edit.
    pub fn is_list(&self) -> bool {
        self.entries.first().is_some_and(|e| e.key.is_none())
    }

    /// Every entry on its own.
    pub fn images(&self) -> Vec<EntryImage> {
        self.entries.iter().map(|e| e.image()).collect()
    }
}

/// Where the entries of a book are in its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookMap {
    raw: Range<usize>,
    entries: Vec<EntryMap>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct EntryMap {
    key: Option<Range<usize>>,
    raw: Range<usize>,
    uid: Option<Range<usize>>,
    comment: Option<Range<usize>>,
}

impl BookMap {
    /// The book in the bytes that the map was made of.
    pub fn book<'a>(&self, bytes: &'a [u8]) -> Book<'a> {
        let at = |range: &Range<usize>| Raw::trust(&bytes[range.clone()]);
        let entry = |e: &EntryMap| Entry {
            key: e.key.as_ref().map(at),
            raw: at(&e.raw),
            uid: e.uid.as_ref().map(at),
            comment: e.comment.as_ref().map(at),
        };
        Book { raw: at(&self.raw), entries: self.entries.iter().map(entry).collect() }
    }
}

impl<'a> Entry<'a> {
    fn of(key: Option<Raw<'a>>, raw: Raw<'a>) -> Self {
        let [uid, comment] = raw.pick(["uid", "comment"]);
        Self { key, raw, uid, comment }
    }

    /// The uid that the entry itself claims, else its key.
    pub fn uid(self) -> Option<i64> {
        self.uid.and_then(Raw::as_i64).or_else(|| self.key_number())
    }

    /// Whether the entry itself tells a number.
    pub fn is_numbered(self) -> bool {
        self.uid.is_some()
    }

    /// The title.
    pub fn comment(self) -> Cow<'a, str> {
        self.comment.and_then(Raw::as_text).unwrap_or_default()
    }

    /// The text.
    pub fn content(self) -> Cow<'a, str> {
        self.raw.get("content").and_then(Raw::as_text).unwrap_or_default()
    }

    /// The entry on its own, every field known.
    pub fn image(self) -> EntryImage {
        EntryImage::new(self.uid(), &self.comment(), self.raw)
    }

    fn key_number(self) -> Option<i64> {
        self.key.and_then(Raw::as_text)?.parse().ok()
    }
}

/// One entry as some evidence shows it: perhaps not with every field.
///
/// The bytes are the entry's own where they come from a book. Two images say the same when all fields that both have are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EntryImage {
    /// Number of the entry in its book; `None` if it has none.
    pub uid: Option<i64>,
    /// The title.
    pub comment: Arc<str>,
    /// The entry as a JSON value. Shared, because evidence is compared and copied a lot.
    #[serde(with = "shared_bytes")]
    raw: Arc<[u8]>,
}

/// Bytes as bytes, not as a list of numbers.
mod shared_bytes {
    use std::sync::Arc;

    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &Arc<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[u8]>, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Arc<[u8]>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
                Ok(bytes.into())
            }
        }
        deserializer.deserialize_bytes(Visitor)
    }
}

impl EntryImage {
    /// An image of an entry. What is not an object counts as one without fields.
    pub fn new(uid: Option<i64>, comment: &str, raw: Raw<'_>) -> Self {
        Self { uid, comment: comment.into(), raw: raw.bytes().into() }
    }

    /// The entry as a JSON value.
    pub fn raw(&self) -> Raw<'_> {
        Raw::trust(&self.raw)
    }

    /// The text.
    pub fn content(&self) -> Cow<'_, str> {
        self.raw().get("content").and_then(Raw::as_text).unwrap_or_default()
    }

    /// How many bytes it takes.
    pub fn size(&self) -> usize {
        self.raw.len() + self.comment.len()
    }

    /// Whether the entry is switched off.
    pub fn is_disabled(&self) -> bool {
        self.raw().get("disable").is_some_and(Raw::is_truthy)
    }

    /// Whether both show the same entry in the same state, as far as both know.
    pub fn agrees_with(&self, other: &EntryImage) -> bool {
        if Arc::ptr_eq(&self.raw, &other.raw) || self.raw == other.raw {
            return true;
        }
        if self.uid != other.uid || self.comment != other.comment {
            return false;
        }
        let theirs = Fields::of(other.raw());
        self.raw().members().all(|(key, value)| {
            // Number and title were compared above, in the form that every kind of evidence agrees on.
            let told = key.is_text("comment") || key.is_text("uid");
            told || theirs.get(key).is_none_or(|other| value.says_the_same(other))
        })
    }

    /// The same image with another text.
    #[must_use]
    pub fn with_content(&self, content: &str) -> Self {
        let quoted = forklore_json::quote(content);
        self.with_field("content", Raw::trust(&quoted))
    }

    /// The same image with one field replaced or added.
    #[must_use]
    pub fn with_field(&self, field: &str, value: Raw<'_>) -> Self {
        let raw = self.raw();
        match forklore_json::set(raw, &[forklore_json::Step::key(field)], value.bytes()) {
            Ok(splice) => Self { raw: splice.apply(raw.bytes()).into(), ..self.clone() },
            // Not an object: there is no place for a field.
            Err(_) => self.clone(),
        }
    }
}

/// The fields of an object, looked through once.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    members: Vec<(Raw<'a>, Raw<'a>)>,
    /// Whether a key is written with escapes: the rare case in which keys are compared as texts.
    odd: bool,
}

impl<'a> Fields<'a> {
    /// Looks through an object.
    pub fn of(object: Raw<'a>) -> Self {
        let members: Vec<_> = object.members().collect();
        let odd = members.iter().any(|(key, _)| has_escapes(*key));
        Self { members, odd }
    }

    /// The value of a key that stands in another object.
    pub fn get(&self, key: Raw<'_>) -> Option<Raw<'a>> {
        let mut from_last = self.members.iter().rev();
        let found = if self.odd || has_escapes(key) {
            let text = key.as_text()?;
            from_last.find(|(k, _)| k.is_text(&text))
        } else {
            from_last.find(|(k, _)| k.bytes() == key.bytes())
        };
        found.map(|(_, value)| *value)
    }

    /// Keys and values in file order.
    pub fn iter(&self) -> impl Iterator<Item = (Raw<'a>, Raw<'a>)> {
        self.members.iter().copied()
    }
}

fn has_escapes(key: Raw<'_>) -> bool {
    key.bytes().contains(&b'\\')
}
