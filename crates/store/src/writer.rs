//! [`Writer`]: what is put and recorded by one process at a time, and happens all at once.

use std::sync::Arc;

use forklore_fs::Lock;

use crate::codec::{self, LEVEL};
use crate::lookup::PENDING;
use crate::pack::{BASES, Base, LONGEST};
use crate::store::generation;
use crate::{Id, Store, StoreError};

/// The right to write. Everything that is put and recorded becomes one pack at [`Writer::commit`]; without it nothing has happened.
pub struct Writer<'s> {
    pub(crate) store: &'s mut Store,
    _lock: Lock,
}

/// What an object is to be stored against.
pub(crate) struct Against {
    pub(crate) base: Base,
    bases: [Option<Id>; BASES],
    context: Vec<u8>,
}

/// Compressed bytes, and what they were compressed against.
pub(crate) type Packed = (Vec<u8>, Against);

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
        if !self.store.contains(&id) {
            let against = self.store.against([base.copied(), None], &[]);
            self.add(id, bytes, against)?;
            self.store.pending.settle(&self.store.backend, false)?;
        }
        Ok(id)
    }

    /// Adds an object that is not there.
    pub(crate) fn add(&mut self, id: Id, bytes: &[u8], against: Option<Against>) -> Result<(), StoreError> {
        let packed = match &against {
            // Bases that cannot be read are no reason to lose what can.
            Some(against) => match self.store.before(against) {
                Ok(prefix) => worth_it(bytes, codec::compress(bytes, &prefix, LEVEL)?)?,
                Err(_) => None,
            },
            None => None,
        };
        self.push(id, bytes, packed.zip(against));
        Ok(())
    }

    /// Adds an object that is not there, compressed against others or as it is.
    pub(crate) fn push(&mut self, id: Id, bytes: &[u8], packed: Option<Packed>) {
        let pending = &mut self.store.pending;
        let object = match packed {
            Some((packed, against)) => {
                pending.add_packed(id, bytes.len(), &packed, against.base, against.context)
            }
            None => pending.add_whole(id, bytes),
        };
        self.store.objects.add(PENDING, object);
    }

    /// Notes something, and says which number it has. The numbers are taken when the writer commits.
    pub fn record(&mut self, payload: &[u8]) -> u64 {
        let records = &mut self.store.pending.records;
        let seq = self.store.next + records.len() as u64;
        records.push(seq, payload);
        seq
    }

    /// Lets everything happen: one new file, durable when this returns.
    pub fn commit(self) -> Result<(), StoreError> {
        let store = &mut *self.store;
        if store.pending.is_empty() {
            return Ok(());
        }
        store.pending.publish(&store.backend, store.next)?;
        store.refresh()?;
        // What was to happen has happened. Tidying up can fail, and be done by the next one.
        let _tidied = store.tidy();
        Ok(())
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        self.store.roll_back();
    }
}

impl Store {
    /// What the next version of `bases` is stored against: mostly those themselves, but every so often older versions, so that no
    /// version is many steps away from one that stands for itself.
    pub(crate) fn against(&self, bases: [Option<Id>; BASES], context: &[Id]) -> Option<Against> {
        let generation =
            |id: &Id| self.objects.get(id).and_then(|place| self.frame(place)).map(|f| generation(&f));
        let first = bases[0].filter(|id| id.head() != 0)?;
        // A second base is for once: chains of twos would become trees.
        let second = bases[1].filter(|id| id.head() != 0 && generation(id).is_some_and(|g| g < 8));
        let new =
            generation(&first)?.max(second.and_then(|id| generation(&id)).unwrap_or(0)).checked_add(1)?;
        let older = |mut id: Id| {
            while generation(&id)? > step_back(new) {
                let frame = self.frame(self.objects.get(&id)?)?;
                let head = frame.base?.heads[0];
                let places = self.objects.by_head(head).map(|place| place.object.id);
                id = places.into_iter().find(|older| generation(older) < generation(&id))?;
            }
            Some(id)
        };
        let bases = [Some(older(first)?), second.and_then(older)];
        let base = Base {
            generation: new,
            heads: bases.map(|base| base.map_or(0, |id| id.head())),
            context: context.len() as u32,
        };
        Some(Against { base, bases, context: context.iter().flat_map(|id| *id.as_bytes()).collect() })
    }

    /// The bytes that come before an object that is stored against others.
    pub(crate) fn before(&self, against: &Against) -> Result<Arc<[u8]>, StoreError> {
        let mut parts =
            against.bases.iter().flatten().map(|id| self.get(id)).collect::<Result<Vec<_>, _>>()?;
        match (parts.pop(), parts.is_empty() && against.context.is_empty()) {
            (Some(only), true) => Ok(only),
            (last, _) => {
                let parts = parts.iter().chain(&last).map(|part| &**part).chain([&*against.context]);
                Ok(parts.collect::<Vec<_>>().concat().into())
            }
        }
    }
}

/// `packed`, unless the object is as well off without a base.
pub(crate) fn worth_it(raw: &[u8], packed: Vec<u8>) -> Result<Option<Vec<u8>>, StoreError> {
    if packed.len() <= raw.len() / 8 {
        return Ok(Some(packed));
    }
    let alone = codec::compress(raw, &[], LEVEL)?.len();
    Ok((packed.len() < alone * 3 / 4).then_some(packed))
}

/// The generation that a new version of generation `new` is stored against: one less, but at a multiple of 8 eight less, at one of 64
/// sixty-four less, and so on. A chain is then at most 7 steps long for each digit that the number has to base 8, and a
/// difference covers many versions only rarely.
fn step_back(new: u32) -> u32 {
    new - (1 << (new.trailing_zeros() / 3 * 3))
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
