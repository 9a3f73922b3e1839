//! [`Book`]: a lorebook's file.

use std::sync::Arc;

use forklore_core::adapter::{self, Adapter};
use forklore_core::format::book::{Book as ParsedBook, BookError, BookMap, EntryImage};
use forklore_fs::Identity;

/// A lorebook's file.
pub struct Book {
    name: String,
    identity: Option<Identity>,
    bytes: Arc<Vec<u8>>,
    map: Result<BookMap, BookError>,
    keeper: Option<&'static dyn Adapter>,
}

impl Book {
    pub(super) fn new(name: String, bytes: Vec<u8>, identity: Option<Identity>) -> Self {
        let parsed = ParsedBook::parse(&bytes);
        let keeper = parsed.as_ref().ok().and_then(adapter::keeper);
        let map = parsed.map(|book| book.map(&bytes));
        Self { name, identity, bytes: Arc::new(bytes), map, keeper }
    }

    /// File stem.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which file was read.
    pub fn identity(&self) -> Option<Identity> {
        self.identity
    }

    /// What keeps it, if it is not kept by hand.
    pub fn keeper(&self) -> Option<&'static dyn Adapter> {
        self.keeper
    }

    /// The book, read by spans.
    pub fn parse(&self) -> Result<ParsedBook<'_>, BookError> {
        self.map.as_ref().map(|map| map.book(&self.bytes)).map_err(Clone::clone)
    }

    /// Every entry on its own; none if the file is not a book.
    pub fn images(&self) -> Vec<EntryImage> {
        self.parse().map(|book| book.images_of(&self.bytes)).unwrap_or_default()
    }

    /// The file's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
