//! [`BookMap`]: where everything is in the bytes of a lorebook, to find it again without reading them anew.

use forklore_json::Raw;

use super::book::{Book, COMMON, Entry};
use super::span::Span;

/// Where the entries of a book are in its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookMap {
    raw: Span,
    entries: Vec<EntryMap>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct EntryMap {
    key: Span,
    raw: Span,
    common: [Span; COMMON.len()],
}

impl Book<'_> {
    /// Where everything is, to find it again without reading the book anew.
    pub fn map(&self, bytes: &[u8]) -> BookMap {
        let span = |raw: Raw<'_>| Span::of(raw, bytes).unwrap_or(Span::NONE);
        let entry = |e: &Entry<'_>| EntryMap {
            key: e.key.map_or(Span::NONE, span),
            raw: span(e.raw),
            common: e.common,
        };
        BookMap { raw: span(self.raw), entries: self.entries.iter().map(entry).collect() }
    }
}

impl BookMap {
    /// The book in the bytes that the map was made of.
    pub fn book<'a>(&self, bytes: &'a [u8]) -> Book<'a> {
        let raw = self.raw.get(bytes).unwrap_or(Raw::NULL);
        Book { raw, entries: (0..self.len()).map(|place| self.entry(place, bytes)).collect() }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// One of the entries in the bytes that the map was made of.
    pub fn entry<'a>(&self, place: usize, bytes: &'a [u8]) -> Entry<'a> {
        let EntryMap { key, raw, common } = &self.entries[place];
        Entry { key: key.get(bytes), raw: raw.get(bytes).unwrap_or(Raw::NULL), common: *common }
    }
}
