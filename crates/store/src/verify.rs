//! [`Store::verify`]: everything is read, and compared with its name.

use std::collections::{HashMap, HashSet};

use forklore_fs::{OpenFile, VaultPath};
use rayon::prelude::*;

use crate::document::{Manifest, Unit};
use crate::lookup::Place;
use crate::{Id, Record, Store, StoreError, Writer};

/// What was found when everything was read.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Objects that were read
    pub objects: usize,
    /// Their bytes
    pub bytes: u64,
    /// Objects that are there and cannot be read, or are not what their names say
    pub damaged: Vec<Id>,
    /// Objects that records or documents name, and that are not there
    pub missing: Vec<Id>,
    /// Files that are damaged as a whole: objects and records in them may be lost
    pub files: Vec<VaultPath>,
    /// The numbers of records that name something that cannot be read whole
    pub records: Vec<u64>,
}

impl Verified {
    /// Whether nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.damaged.is_empty() && self.missing.is_empty() && self.files.is_empty() && self.records.is_empty()
    }
}

impl Store {
    /// Reads everything. `roots` are the objects and documents that a record names.
    pub fn verify(&self, roots: &(dyn Fn(&Record<'_>) -> Vec<Id> + Sync)) -> Verified {
        let places = self.objects.places();
        // Pack by pack, so that what was decoded is used while it is there.
        let good: Vec<bool> = places.par_iter().map(|place| self.verified(place).is_ok()).collect();
        let mut verified = Verified { files: self.damaged().cloned().collect(), ..Verified::default() };
        let mut fate: HashMap<Id, bool> = HashMap::with_capacity(places.len());
        let mut complete = HashMap::new();
        for (number, (place, good)) in places.iter().zip(good).enumerate() {
            // What is left of something that was let go is no damage. If a record names it after all, it is missing.
            if !good && !self.is_doubtful(place) && !self.counts(number, &mut complete, 0) {
                continue;
            }
            verified.objects += 1;
            verified.bytes += u64::from(place.object.len);
            *fate.entry(place.object.id).or_default() |= good;
        }
        let mut missing = HashSet::new();
        let mut is_good = |id: &Id| match fate.get(id) {
            Some(good) => *good,
            None => {
                missing.insert(*id);
                false
            }
        };
        let mut known: HashMap<Id, bool> = HashMap::new();
        for record in self.records() {
            let mut whole = true;
            for root in roots(&record) {
                whole &= match known.get(&root) {
                    Some(whole) => *whole,
                    None => {
                        let whole = is_good(&root) && self.segments(&root).iter().all(&mut is_good);
                        known.insert(root, whole);
                        whole
                    }
                };
            }
            if !whole {
                verified.records.push(record.seq);
            }
        }
        verified.damaged = fate.into_iter().filter(|(_, good)| !good).map(|(id, _)| id).collect();
        verified.missing = missing.into_iter().collect();
        verified.damaged.sort_unstable();
        verified.missing.sort_unstable();
        verified
    }

    /// The segments of an object, if it is a document.
    fn segments(&self, id: &Id) -> Vec<Id> {
        let manifest = self.get(id).ok().and_then(|bytes| Manifest::decode(&bytes));
        manifest
            .map(|manifest| manifest.segments.iter().map(|segment| segment.id).collect())
            .unwrap_or_default()
    }
}

impl Writer<'_> {
    /// Puts an object again if it is missing or damaged; says whether it was.
    pub fn mend(&mut self, bytes: &[u8]) -> Result<bool, StoreError> {
        if self.store().get(&Id::of(bytes)).is_ok() {
            return Ok(false);
        }
        self.mending = true;
        let put = self.put(bytes, None);
        self.mending = false;
        put.map(|_| true)
    }

    /// As [`Writer::put_document`], but what of it is there and damaged is put again: for when the list of segments is damaged itself.
    pub fn mend_whole_document(
        &mut self,
        content: &dyn OpenFile,
        units: &mut dyn Iterator<Item = Unit>,
        target: usize,
        previous: Option<&Id>,
    ) -> Result<Id, StoreError> {
        self.mending = true;
        let put = self.put_document(content, units, target, previous);
        self.mending = false;
        put
    }

    /// Puts those segments of a document again that are damaged or missing and that a file still has, at the same distance from its
    /// beginning or its end. Says how many those were.
    pub fn mend_document(&mut self, id: &Id, content: &dyn OpenFile) -> Result<usize, StoreError> {
        let manifest = self.store().manifest(id)?;
        let len = content.identity().map_err(StoreError::Content)?.len;
        let (mut mended, mut at) = (0, 0u64);
        for segment in &manifest.segments {
            let from_end = (at + len).checked_sub(manifest.len);
            if self.store().get(&segment.id).is_err() {
                for start in [Some(at), from_end].into_iter().flatten() {
                    // What the file does not have it cannot mend.
                    let Ok(bytes) = content.read_range(start..start + u64::from(segment.len)) else {
                        continue;
                    };
                    if Id::of(&bytes) == segment.id && self.mend(&bytes)? {
                        mended += 1;
                        break;
                    }
                }
            }
            at += u64::from(segment.len);
        }
        Ok(mended)
    }

    /// Puts again what can be read from files that are damaged, so that it does not depend on them any more. Says how many objects
    /// those were. The files stay.
    pub fn salvage(&mut self) -> Result<usize, StoreError> {
        let doubtful = |place: &&Place| self.store.is_doubtful(place);
        let places: Vec<Place> = self.store.objects.places().iter().filter(doubtful).copied().collect();
        let mut saved = 0;
        for place in places {
            // Whatever it is: if its name in the index is wrong, the right one can be found out.
            let Ok(bytes) = self.store.bytes(&place, 0) else { continue };
            if !self.store.contains(&Id::of(&bytes)) {
                self.put(&bytes, None)?;
                saved += 1;
            }
        }
        Ok(saved)
    }
}
