//! [`Cache`]: what was decoded lately, within a number of bytes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Frames, and objects that were made from others. Two halves stand in for a list in order of use: what is asked for goes into the young half; when that
/// is full it becomes the old one, and what was not asked for since is dropped.
pub(crate) struct Cache {
    halves: Mutex<Halves>,
    most: usize,
}

/// What stands for the pack, the frame's number, where in it.
pub(crate) type Key = (u64, u32, u32);

#[derive(Default)]
struct Halves {
    young: HashMap<Key, Arc<[u8]>>,
    old: HashMap<Key, Arc<[u8]>>,
    bytes: usize,
}

impl Cache {
    pub(crate) fn new(most: usize) -> Self {
        Self { halves: Mutex::default(), most }
    }

    fn halves(&self) -> MutexGuard<'_, Halves> {
        // Nothing panics while it is held; and half a cache is a cache.
        self.halves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, key: Key) -> Option<Arc<[u8]>> {
        let mut halves = self.halves();
        if let Some(found) = halves.young.get(&key) {
            return Some(found.clone());
        }
        let found = halves.old.remove(&key)?;
        self.add(&mut halves, key, found.clone());
        Some(found)
    }

    pub(crate) fn put(&self, key: Key, raw: Arc<[u8]>) {
        self.add(&mut self.halves(), key, raw);
    }

    fn add(&self, halves: &mut Halves, key: Key, raw: Arc<[u8]>) {
        halves.bytes += raw.len() + 64;
        halves.young.insert(key, raw);
        if halves.bytes > self.most / 2 {
            halves.old = std::mem::take(&mut halves.young);
            halves.bytes = 0;
        }
    }
}
