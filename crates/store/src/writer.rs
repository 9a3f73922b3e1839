//! [`Writer`]: what is put and recorded by one process at a time, and happens all at once.

use std::io;

use forklore_fs::{Lock, OpenFile, Part};

use crate::backend::PackName;
use crate::document::{Cutter, Manifest, Segment, Sizes, Unit};
use crate::pack::{self, Base, Frame, LONGEST, Object};
use crate::store::PENDING;
use crate::{Id, Store, StoreError, codec};

/// The level of zstd.
const LEVEL: i32 = 3;

/// The right to write. Everything that is put and recorded becomes one pack at [`Writer::commit`]; without it nothing has happened.
pub struct Writer<'s> {
    store: &'s mut Store,
    _lock: Lock,
}

impl<'s> Writer<'s> {
    pub(crate) fn begin(store: &'s mut Store) -> Result<Self, StoreError> {
        let lock = store.backend.lock()?;
        store.refresh()?;
        Ok(Self { store, _lock: lock })
    }

    /// The store, with what was put and is not yet committed. Records that are not committed are not among its records.
    pub fn store(&self) -> &Store {
        self.store
    }

    /// Puts an object, unless it is there. If it resembles another one, `base`, little more than the difference is stored.
    pub fn put(&mut self, bytes: &[u8], base: Option<&Id>) -> Result<Id, StoreError> {
        if bytes.len() > LONGEST {
            return Err(StoreError::TooLarge(bytes.len()));
        }
        let id = Id::of(bytes);
        if self.store.contains(&id) {
            return Ok(id);
        }
        let mut base = base.and_then(|base| self.base_for(base));
        let mut packed = match &base {
            // A base that cannot be read is no reason to lose what can.
            Some((base_id, _)) => match self.store.get(base_id) {
                Ok(prefix) => codec::compress(bytes, &prefix, LEVEL)?,
                Err(_) => {
                    base = None;
                    codec::compress(bytes, &[], LEVEL)?
                }
            },
            None => codec::compress(bytes, &[], LEVEL)?,
        };
        if base.is_some() && packed.len() > bytes.len() / 4 {
            let alone = codec::compress(bytes, &[], LEVEL)?;
            if alone.len() <= packed.len() {
                (packed, base) = (alone, None);
            }
        }
        self.push(id, bytes.len(), &packed, base.map(|(_, base)| base));
        Ok(id)
    }

    fn push(&mut self, id: Id, len: usize, packed: &[u8], base: Option<Base>) {
        let pending = &mut self.store.pending;
        // All lengths are at most LONGEST, which fits.
        let frame = pending.index.frames.len() as u32;
        let object = Object { id, frame, start: 0, len: len as u32 };
        pending.index.frames.push(Frame {
            offset: pending.body.len() as u64,
            len: packed.len() as u32,
            raw_len: len as u32,
            first_object: pending.index.objects.len() as u32,
            objects: 1,
            base,
        });
        pending.body.extend_from_slice(packed);
        pending.index.objects.push(object);
        self.store.objects.add(PENDING, object);
    }

    /// What the next version of `base` is stored against: mostly `base` itself, but every so often an older version, so that no
    /// version is many steps away from one that stands for itself.
    fn base_for(&self, base: &Id) -> Option<(Id, Base)> {
        let generation = |id: &Id| self.store.base_of(id).map_or(0, |base| base.generation);
        self.store.objects.get(base)?;
        let new = generation(base).checked_add(1)?;
        let wanted = step_back(new);
        let mut chosen = *base;
        while generation(&chosen) > wanted {
            let head = self.store.base_of(&chosen)?.head;
            let older =
                self.store.objects.by_head(head).find(|p| generation(&p.object.id) < generation(&chosen))?;
            chosen = older.object.id;
        }
        Some((chosen, Base { head: chosen.head(), generation: new }))
    }

    /// Puts a document: its bytes are cut into segments of about `target` bytes at the boundaries of `units`, and what is put last is
    /// the list of them, whose name is returned.
    ///
    /// `previous` is the earlier version, or the document that this one was made from. It is cut where that was cut, so that
    /// segments that have not changed are the same objects, and those that have are stored as differences.
    ///
    /// If the units end before the content does, the rest counts as one more; content that ends before the units do is
    /// [`StoreError::Shrunk`].
    pub fn put_document(
        &mut self,
        content: &dyn OpenFile,
        units: &mut dyn Iterator<Item = Unit>,
        target: usize,
        previous: Option<&Id>,
    ) -> Result<Id, StoreError> {
        // A previous version that is damaged or gone only costs space.
        let before = previous.and_then(|id| self.store.manifest(id).ok());
        let before = before.as_deref();
        let len = content.identity().map_err(StoreError::Content)?.len;
        let mut segments = Vec::new();
        let mut at = 0;
        for cut in Cutter::new(content, len, units, Sizes::around(target), before) {
            let cut = cut?;
            let bytes = read(content, at, cut.len)?;
            let base = cut.base.and_then(|base| before?.segments.get(base)).map(|segment| segment.id);
            let id = self.put(&bytes, base.as_ref())?;
            segments.push(Segment { id, len: cut.len, units: cut.units, key: cut.key });
            at += u64::from(cut.len);
        }
        let manifest = Manifest { len: at, segments };
        self.put(&manifest.encode(), previous)
    }

    /// Notes something, and says which number it has. The numbers are taken when the writer commits.
    pub fn record(&mut self, payload: &[u8]) -> u64 {
        let records = &mut self.store.pending.index.records;
        let seq = self.store.next + records.len() as u64;
        records.push(seq, payload);
        seq
    }

    /// Bytes that wait in memory to be written.
    pub fn waiting(&self) -> usize {
        self.store.pending.body.len()
    }

    /// Lets everything happen: one new file, durable when this returns.
    pub fn commit(mut self) -> Result<(), StoreError> {
        self.flush()
    }

    /// As [`Writer::commit`], and keeps the right to write.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        let store = &mut *self.store;
        let records = store.pending.index.records.len() as u64;
        if store.pending.index.frames.is_empty() && records == 0 {
            return Ok(());
        }
        let (sealed, seal) = store.pending.index.encode()?;
        let name = PackName { first: store.next, last: store.next + records - 1, seal };
        let parts = [Part::Bytes(&pack::head()), Part::Bytes(&store.pending.body), Part::Bytes(&sealed)];
        store.backend.publish(name, &parts)?;
        store.refresh()
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        self.store.roll_back();
    }
}

/// The generation that a new version of generation `new` is stored against: one less, but at a multiple of 8 eight less, at one of 64
/// sixty-four less, and so on. A chain is then at most 7 steps long for each digit that the number has to base 8, and a
/// difference covers many versions only rarely.
fn step_back(new: u32) -> u32 {
    new - (1 << (new.trailing_zeros() / 3 * 3))
}

fn read(content: &dyn OpenFile, at: u64, len: u32) -> Result<Vec<u8>, StoreError> {
    content.read_range(at..at + u64::from(len)).map_err(|source| match source.kind() {
        io::ErrorKind::UnexpectedEof => StoreError::Shrunk,
        _ => StoreError::Content(source),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_version_is_far_from_one_that_stands_for_itself() {
        for mut generation in 1..100_000u32 {
            let mut steps = 0;
            while generation > 0 {
                generation = step_back(generation);
                steps += 1;
            }
            assert!(steps <= 6 * 7, "{steps}");
        }
        assert_eq!([1, 7, 8, 9, 16, 64, 72].map(step_back), [0, 6, 0, 8, 8, 0, 64]);
    }
}
