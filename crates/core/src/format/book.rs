//! Lorebooks: [`Book`] is a parsed file, [`EntryImage`] one entry on its own, wherever it was seen.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use forklore_json::{Kind, Raw, SyntaxError, quote};
use serde::{Deserialize, Serialize};

use super::fields::Fields;
use super::span::Span;

/// A lorebook file, read by spans.
#[derive(Debug, Clone)]
pub struct Book<'a> {
    pub(super) raw: Raw<'a>,
    pub(super) entries: Vec<Entry<'a>>,
}

/// One entry where it stands in its file.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Key in the map of entries; `None` if the file has a list instead.
    pub key: Option<Raw<'a>>,
    /// The entry itself.
    pub raw: Raw<'a>,
    /// What everybody asks for, where it is in the entry.
    pub(super) common: [Span; COMMON.len()],
}

/// Fields that are found once, when a book is read: number, title, text, keys, switch.
pub(super) const COMMON: [&str; 5] = ["uid", "comment", "content", "key", "disable"];

/// Why a file is not a lorebook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BookError {
    /// The file is not JSON.
    #[error("it is not JSON: {0}")]
    Syntax(#[from] SyntaxError),
    /// The one key that every lorebook has is missing.
    #[error("it has no list of entries")]
    NoEntries,
    /// Nobody could open it.
    #[error("it is larger than 4 GB")]
    TooLarge,
}

impl<'a> Book<'a> {
    /// Reads a book. Entries may be a map, as SillyTavern writes them, or a list, as some tools do.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, BookError> {
        let (mut list, mut entries) = (None, Vec::new());
        let (mut within, mut common) = (Vec::new(), [Raw::NULL; COMMON.len()]);
        let bytes = bytes.strip_prefix(super::chat::BOM).unwrap_or(bytes);
        if u32::try_from(bytes.len()).is_err() {
            return Err(BookError::TooLarge);
        }
        // One walk: the fields of an entry come before the entry, entries before the list.
        let raw = Raw::parse_nested::<3>(bytes, |path, value| match path {
            [Some(top), _, Some(field)] if is_entries(*top) => {
                if let Some(i) = COMMON.iter().position(|name| field.is_text(name)) {
                    common[i] = value;
                }
            }
            [Some(top), key] if is_entries(*top) => {
                // What was not found is in no entry.
                let fields = std::mem::replace(&mut common, [Raw::NULL; COMMON.len()]);
                let common = fields.map(|field| Span::of(field, value.bytes()).unwrap_or(Span::NONE));
                within.push(Entry { key: *key, raw: value, common });
            }
            [Some(top)] if is_entries(*top) => {
                list = Some(value);
                entries = std::mem::take(&mut within);
            }
            _ => {}
        })?;
        let list = list.ok_or(BookError::NoEntries)?;
        if !matches!(list.kind(), Kind::Object | Kind::Array) {
            return Err(BookError::NoEntries);
        }
        Ok(Self { raw, entries })
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
        self.images_in(&Arc::new(self.raw.bytes().to_vec()), self.raw.bytes())
    }

    /// As [`Book::images`], for a book that was read from a buffer that can be shared: nothing is copied.
    pub fn images_of(&self, buffer: &Arc<Vec<u8>>) -> Vec<EntryImage> {
        self.images_in(buffer, buffer)
    }

    /// `buffer` holds the same as `bytes`, of which the entries are slices.
    fn images_in(&self, buffer: &Arc<Vec<u8>>, bytes: &[u8]) -> Vec<EntryImage> {
        self.entries.iter().map(|entry| entry.image_in(buffer, bytes)).collect()
    }
}

fn is_entries(key: Raw<'_>) -> bool {
    key.is_text("entries")
}

impl<'a> Entry<'a> {
    /// The uid that the entry itself claims, else its key.
    pub fn uid(self) -> Option<i64> {
        self.field(0).and_then(Raw::as_i64).or_else(|| self.key_number())
    }

    /// One of [`COMMON`].
    fn field(self, i: usize) -> Option<Raw<'a>> {
        self.common[i].get(self.raw.bytes())
    }

    /// Whether the entry itself tells a number.
    pub fn is_numbered(self) -> bool {
        self.field(0).is_some()
    }

    /// The title.
    pub fn comment(self) -> Cow<'a, str> {
        self.field(1).and_then(Raw::as_text).unwrap_or_default()
    }

    /// The text.
    pub fn content(self) -> Cow<'a, str> {
        self.field(2).and_then(Raw::as_text).unwrap_or_default()
    }

    /// Text, keys and switch, as they stand in the file.
    pub fn said(self) -> [Option<Raw<'a>>; 3] {
        [self.field(2), self.field(3), self.field(4)]
    }

    /// The entry on its own, every field known.
    pub fn image(self) -> EntryImage {
        EntryImage::new(self.uid(), &self.comment(), self.raw)
    }

    /// As [`Entry::image`], with its bytes in a buffer that can be shared; `buffer` holds the same as `bytes`, of which the entry is a slice.
    pub fn image_in(self, buffer: &Arc<Vec<u8>>, bytes: &[u8]) -> EntryImage {
        let place = self.raw.range_in(bytes);
        let image = place.and_then(|range| EntryImage::in_buffer(self.uid(), &self.comment(), buffer, range));
        image.unwrap_or_else(|| self.image())
    }

    /// Whether both have the same number and the same bytes.
    pub fn is(self, other: Entry<'_>) -> bool {
        self.raw.bytes() == other.raw.bytes() && self.uid() == other.uid()
    }

    fn key_number(self) -> Option<i64> {
        self.key.and_then(Raw::as_text)?.parse().ok()
    }
}

/// One entry as some evidence shows it: perhaps not with every field.
///
/// The bytes are the entry's own where they come from a book. Two images say the same when all fields that both have are equal. It is a
/// pointer: evidence holds every entry many times.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Image", into = "Image")]
pub struct EntryImage(Arc<Image>);

/// What an [`EntryImage`] shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Image {
    /// Number of the entry in its book; `None` if it has none.
    pub uid: Option<i64>,
    /// The title.
    pub comment: Arc<str>,
    /// The entry as a JSON value.
    raw: Shared,
}

impl std::ops::Deref for EntryImage {
    type Target = Image;

    fn deref(&self) -> &Image {
        &self.0
    }
}

impl From<Image> for EntryImage {
    fn from(image: Image) -> Self {
        Self(Arc::new(image))
    }
}

impl From<EntryImage> for Image {
    fn from(image: EntryImage) -> Self {
        Arc::unwrap_or_clone(image.0)
    }
}

/// Some of the bytes of a buffer that others use, too: evidence is compared and copied a lot.
#[derive(Clone)]
struct Shared {
    buffer: Arc<Vec<u8>>,
    /// Where in it; nowhere is everywhere
    span: Span,
    look: Look,
}

/// What the bytes of an entry look like: a hash of the text, but for the two lowest bits, of which one says whether it is switched off, and the other
/// that this was found out already. It is asked for again and again, and a book can have a million entries.
#[derive(Default)]
struct Look(AtomicU64);

impl Look {
    const KNOWN: u64 = 1;
    const DISABLED: u64 = 2;
}

impl Clone for Look {
    fn clone(&self) -> Self {
        Self(AtomicU64::new(self.0.load(Ordering::Relaxed)))
    }
}

impl Shared {
    fn new(bytes: Vec<u8>) -> Self {
        Self { buffer: Arc::new(bytes), span: Span::NONE, look: Look::default() }
    }

    fn bytes(&self) -> &[u8] {
        self.span.slice(&self.buffer).unwrap_or(&self.buffer)
    }

    /// Whether both are the same bytes of the same buffer, so that nothing needs to be compared.
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.buffer, &other.buffer) && self.span == other.span
    }
}

impl PartialEq for Shared {
    fn eq(&self, other: &Self) -> bool {
        self.is(other) || self.bytes() == other.bytes()
    }
}

impl Eq for Shared {}

impl std::hash::Hash for Shared {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.bytes().hash(state);
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", String::from_utf8_lossy(self.bytes()))
    }
}

impl Serialize for Shared {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Bytes as bytes, not as a list of numbers.
        serializer.serialize_bytes(self.bytes())
    }
}

impl<'de> Deserialize<'de> for Shared {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Shared;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
                Ok(Shared::new(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Visitor)
    }
}

impl EntryImage {
    /// An image of an entry. What is not an object counts as one without fields.
    pub fn new(uid: Option<i64>, comment: &str, raw: Raw<'_>) -> Self {
        Image { uid, comment: comment.into(), raw: Shared::new(raw.bytes().to_vec()) }.into()
    }

    /// An image of these bytes, which must be a JSON value.
    pub fn owned(uid: Option<i64>, comment: &str, bytes: Vec<u8>) -> Self {
        Image { uid, comment: comment.into(), raw: Shared::new(bytes) }.into()
    }

    /// An image of nothing but a title and a text, which is JSON.
    pub fn of_words(uid: Option<i64>, comment: &str, content: Raw<'_>) -> Self {
        let mut bytes = b"{\"comment\":".to_vec();
        bytes.extend_from_slice(&quote(comment));
        bytes.extend_from_slice(b",\"content\":");
        bytes.extend_from_slice(content.bytes());
        bytes.push(b'}');
        Self::owned(uid, comment, bytes)
    }

    /// An image whose bytes are some of a buffer's, which must be a JSON value; `None` if it has no such bytes.
    pub fn in_buffer(
        uid: Option<i64>,
        comment: &str,
        buffer: &Arc<Vec<u8>>,
        range: Range<usize>,
    ) -> Option<Self> {
        buffer.get(range.clone())?;
        let raw = Shared { buffer: buffer.clone(), span: Span::new(range)?, look: Look::default() };
        Some(Image { uid, comment: comment.into(), raw }.into())
    }

    /// The entry as a JSON value.
    pub fn raw(&self) -> Raw<'_> {
        Raw::trust(self.0.raw.bytes())
    }

    /// The text.
    pub fn content(&self) -> Cow<'_, str> {
        self.raw().get("content").and_then(Raw::as_text).unwrap_or_default()
    }

    /// A hash of the text, and whether the entry is switched off: found out once for all who share it.
    pub(crate) fn look(&self) -> (u64, bool) {
        // Whoever comes second finds the same.
        let known = &self.0.raw.look.0;
        let mut look = known.load(Ordering::Relaxed);
        if look == 0 {
            let [content, disable] = self.raw().pick(["content", "disable"]);
            let mut hasher = DefaultHasher::new();
            content.and_then(Raw::as_text).unwrap_or_default().hash(&mut hasher);
            let disabled = if disable.is_some_and(Raw::is_truthy) { Look::DISABLED } else { 0 };
            look = hasher.finish() & !(Look::KNOWN | Look::DISABLED) | Look::KNOWN | disabled;
            known.store(look, Ordering::Relaxed);
        }
        (look & !Look::DISABLED, look & Look::DISABLED != 0)
    }

    /// How many bytes it takes.
    pub fn size(&self) -> usize {
        self.0.raw.bytes().len() + self.comment.len()
    }

    /// Whether the entry is switched off.
    pub fn is_disabled(&self) -> bool {
        self.raw().get("disable").is_some_and(Raw::is_truthy)
    }

    /// Whether both show the same entry in the same state, as far as both know.
    pub fn agrees_with(&self, other: &EntryImage) -> bool {
        if self.0.raw == other.0.raw {
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
        let quoted = quote(content);
        self.with_field("content", Raw::trust(&quoted))
    }

    /// The same image with one field replaced or added.
    #[must_use]
    pub fn with_field(&self, field: &str, value: Raw<'_>) -> Self {
        let raw = self.raw();
        match forklore_json::set(raw, &[forklore_json::PathPart::key(field)], value.bytes()) {
            Ok(splice) => {
                // The title is kept beside the bytes.
                let title = value.as_text().filter(|_| field == "comment");
                let comment = title.map_or_else(|| self.comment.clone(), Arc::from);
                Image { uid: self.uid, comment, raw: Shared::new(splice.apply(raw.bytes())) }.into()
            }
            // Not an object: there is no place for a field.
            Err(_) => self.clone(),
        }
    }

    /// The same bytes with another number and title, wherever those are known from.
    #[must_use]
    pub fn called(self, uid: Option<i64>, comment: Arc<str>) -> Self {
        if self.uid == uid && self.comment == comment {
            return self;
        }
        Image { uid, comment, ..self.into() }.into()
    }

    /// The same image under another number.
    #[must_use]
    pub fn renumbered(&self, uid: i64) -> Self {
        let image = self.with_field("uid", Raw::trust(uid.to_string().as_bytes()));
        Image { uid: Some(uid), ..image.into() }.into()
    }

    /// The same image without one field.
    #[must_use]
    pub fn without_field(&self, field: &str) -> Self {
        let raw = self.raw();
        match forklore_json::remove(raw, &[forklore_json::PathPart::key(field)]) {
            Some(splice) => {
                let raw = Shared::new(splice.apply(raw.bytes()));
                Image { uid: self.uid, comment: self.comment.clone(), raw }.into()
            }
            None => self.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_that_of_the_bytes_whatever_became_of_them() {
        let book =
            Book::parse(br#"{"entries":{"0":{"uid":0,"comment":"A","content":"Te\u0078t"}}}"#).unwrap();
        let entry = book.images().remove(0);
        assert_eq!(entry.look(), entry.look());
        // The same text in other words.
        assert_eq!(entry.look(), entry.with_content("Text").look());
        assert_eq!(entry.look(), entry.clone().called(Some(3), "B".into()).look());
        assert_ne!(entry.look().0, entry.with_content("Other").look().0);
        assert_ne!(entry.look().0, entry.without_field("content").look().0);
        let off = entry.with_field("disable", Raw::trust(b"true"));
        assert_eq!((off.look(), off.is_disabled()), ((entry.look().0, true), true));
        assert_eq!(off.with_field("disable", Raw::trust(b"false")).look(), entry.look());
    }

    #[test]
    fn regression_a_title_that_is_set_is_the_entrys_title() {
        let book = Book::parse(br#"{"entries":{"0":{"uid":0,"comment":"Old","content":"Text"}}}"#).unwrap();
        let entry = book.images()[0].with_field("comment", Raw::trust(br#""New""#));
        assert_eq!((&*entry.comment, entry.content().as_ref()), ("New", "Text"));
        assert_eq!(entry.raw().get("comment").and_then(Raw::as_text).as_deref(), Some("New"));
    }
}
