//! [`Snapshots`]: states of the book that the scenes of a chat have kept.

use std::sync::Arc;

use forklore_core::format::book::EntryImage;
use serde::{Deserialize, Serialize};

/// States of the book that scenes have kept. Entries that did not change from one to the next are kept once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshots {
    /// The entries.
    pub images: Front<EntryImage>,
    /// The states, by the message they stand in.
    pub sightings: Front<StoredSighting>,
}

/// The first so many of a list, which is shared: a fork has the first of what its parent has.
#[derive(Clone)]
pub struct Front<T> {
    all: Arc<[T]>,
    len: usize,
}

impl<T> Front<T> {
    /// The first so many; `None` if there are not so many.
    pub fn new(all: Arc<[T]>, len: usize) -> Option<Self> {
        (len <= all.len()).then_some(Self { all, len })
    }

    /// The first so many of these, or all.
    #[must_use]
    pub fn first(&self, len: usize) -> Self {
        Self { all: self.all.clone(), len: len.min(self.len) }
    }
}

impl<T> From<Vec<T>> for Front<T> {
    fn from(all: Vec<T>) -> Self {
        Self { len: all.len(), all: all.into() }
    }
}

impl<T> Default for Front<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> std::ops::Deref for Front<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.all[..self.len]
    }
}

impl<T: PartialEq> PartialEq for Front<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Front<T> {}

impl<T: std::fmt::Debug> std::fmt::Debug for Front<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&**self).finish()
    }
}

/// One state of the book.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSighting {
    /// The message that it stands in.
    pub message: usize,
    /// Version of the scene's recap.
    pub version: i64,
    /// When, in milliseconds since 1970.
    pub clock: i64,
    /// Name of the book.
    pub book: Option<String>,
    /// Places of its entries in [`Snapshots::images`]; `None` if they were too many to keep and are to be read again.
    pub entries: Option<Vec<u32>>,
}
