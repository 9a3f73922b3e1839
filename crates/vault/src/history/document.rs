//! [`Stored`]: a file in the store, to be read like one on disk; [`scan_stored`] and [`read_book`] read a chat and a book so.

use std::io;
use std::ops::Deref;
use std::sync::Arc;

use forklore_core::format::book::{Book, EntryImage};
use forklore_fs::{Identity, OpenFile};
use forklore_store::{Id, Manifest, Store, StoreError};

use super::HistoryError;
use crate::read::scan::{Scan, scan};

/// A file in the store. `S` is how the store is held.
pub(super) struct Stored<S> {
    store: S,
    manifest: Arc<Manifest>,
    /// Where each segment starts
    starts: Vec<u64>,
}

impl<S: Deref<Target = Store>> Stored<S> {
    /// Opens a document.
    pub(super) fn open(store: S, id: &Id) -> Result<Self, StoreError> {
        let manifest = store.manifest(id)?;
        let starts = manifest.segments.iter().scan(0, |at, segment| {
            let start = *at;
            *at += u64::from(segment.len);
            Some(start)
        });
        let starts = starts.collect();
        Ok(Self { store, manifest, starts })
    }
}

impl<S: Deref<Target = Store> + Send + Sync> OpenFile for Stored<S> {
    fn identity(&self) -> io::Result<Identity> {
        Ok(Identity { file: 0, len: self.manifest.len, modified: 0, changed: 0 })
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        let mut i = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        while filled < buf.len() && i < self.starts.len() {
            let segment = &self.manifest.segments[i];
            let bytes = self.store.get(&segment.id).map_err(io::Error::other)?;
            let skip = usize::try_from((offset + filled as u64).saturating_sub(self.starts[i]))
                .map_err(io::Error::other)?;
            let Some(part) = bytes.get(skip..).filter(|part| !part.is_empty()) else {
                i += 1;
                continue;
            };
            let len = part.len().min(buf.len() - filled);
            buf[filled..filled + len].copy_from_slice(&part[..len]);
            filled += len;
            i += 1;
        }
        Ok(filled)
    }
}

/// The scan of a chat in the store.
pub(super) fn scan_stored(store: &Store, content: &Id, group: bool) -> Result<Scan, HistoryError> {
    let file = Stored::open(store, content)?;
    scan(&file, group).map_err(|e| HistoryError::Unreadable(e.to_string()))
}

/// The entries of a book in the store; `None` if it was not readable as a book.
pub(crate) fn read_book(store: &Store, content: &Id) -> Result<Option<Vec<EntryImage>>, HistoryError> {
    let mut bytes = Vec::new();
    store.read_document(content, &mut bytes)?;
    let bytes = Arc::new(bytes);
    Ok(Book::parse(&bytes).map(|book| book.images_of(&bytes)).ok())
}
