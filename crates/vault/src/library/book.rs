//! [`Book`]: a lorebook's file, and [`Unread`]: why it cannot be read as one.
//!
//! A file that is closed to us, or on a disk that fails, is a lorebook that is damaged: whoever only looks is told of it and goes on with
//! everything else. It is never one that is not there, and never an empty one: see [`Library::open_book`](crate::Library::open_book).

use std::sync::{Arc, OnceLock};

use forklore_core::adapter::{self, Adapter};
use forklore_core::format::book::{Book as ParsedBook, BookError, Entry, EntryImage};
use forklore_core::format::book_map::BookMap;
use forklore_fs::{Identity, PathError};

/// A lorebook's file.
pub struct Book {
    name: String,
    identity: Option<Identity>,
    content: Arc<Content>,
}

/// Why a file cannot be read as a lorebook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// What it holds is no lorebook.
    #[error(transparent)]
    NoBook(#[from] BookError),
    /// The system does not let us read it.
    #[error("{0}")]
    Closed(String),
}

/// What a file holds: the books of forks often are the same, byte by byte.
struct Content {
    bytes: Arc<Vec<u8>>,
    map: Result<BookMap, Unread>,
    keeper: Option<&'static dyn Adapter>,
    /// Every entry on its own, once somebody has asked for them
    images: OnceLock<Vec<EntryImage>>,
}

/// Of a file that is larger, entries are made anew for everybody who asks: they would fill the memory.
const LARGE: usize = 1 << 20;

impl Book {
    pub(super) fn new(name: String, bytes: Vec<u8>, identity: Option<Identity>) -> Self {
        let parsed = ParsedBook::parse(&bytes);
        let keeper = parsed.as_ref().ok().and_then(adapter::keeper);
        let map = parsed.map(|book| book.map(&bytes)).map_err(Unread::from);
        let content = Content { bytes: Arc::new(bytes), map, keeper, images: OnceLock::new() };
        Self { name, identity, content: Arc::new(content) }
    }

    /// One whose file the system does not let us read.
    pub(super) fn closed(name: String, identity: Option<Identity>, why: &PathError) -> Self {
        let map = Err(Unread::Closed(why.to_string()));
        let content = Content { bytes: Arc::default(), map, keeper: None, images: OnceLock::new() };
        Self { name, identity, content: Arc::new(content) }
    }

    /// Another file that holds the same.
    pub(super) fn same(&self, name: String, identity: Option<Identity>) -> Self {
        Self { name, identity, content: self.content.clone() }
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
        self.content.keeper
    }

    /// The book, read by spans.
    pub fn parse(&self) -> Result<ParsedBook<'_>, Unread> {
        self.content.map.as_ref().map(|map| map.book(&self.content.bytes)).map_err(Clone::clone)
    }

    /// Whether the system does not let us read its file.
    pub fn is_closed(&self) -> bool {
        matches!(self.content.map, Err(Unread::Closed(_)))
    }

    /// Every entry where it stands; none if the file is not a book. Of a large one this takes no memory.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        let count = self.content.map.as_ref().map_or(0, BookMap::len);
        (0..count).filter_map(|place| self.entry(place))
    }

    /// The entry at a place.
    pub(crate) fn entry(&self, place: usize) -> Option<Entry<'_>> {
        let map = self.content.map.as_ref().ok()?;
        (place < map.len()).then(|| map.entry(place, &self.content.bytes))
    }

    /// One of its entries on its own, with its bytes in those of the file.
    pub(crate) fn image(&self, entry: Entry<'_>) -> EntryImage {
        entry.image_in(&self.content.bytes, &self.content.bytes)
    }

    /// Every entry on its own; none if the file is not a book.
    pub fn images(&self) -> Vec<EntryImage> {
        let images = || self.entries().map(|entry| self.image(entry)).collect();
        if self.is_large() { images() } else { self.content.images.get_or_init(images).clone() }
    }

    /// Whether it is so large that nobody should hold it twice.
    pub(crate) fn is_large(&self) -> bool {
        self.content.bytes.len() > LARGE
    }

    /// The file's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.content.bytes
    }
}
