//! [`Stored`]: a file in the store, to be read like one on disk.

use std::io;
use std::ops::Deref;
use std::sync::Arc;

use forklore_fs::{Identity, OpenFile};
use forklore_store::{Id, Manifest, Store, StoreError};

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
