//! [`Writer`]: what is put and recorded by one process at a time, and happens all at once.

use std::sync::Arc;

use forklore_fs::Lock;

use crate::codec::{self, Compressor, LEVEL};
use crate::delta::Delta;
use crate::lookup::PENDING;
use crate::pack::{BASES, LONGEST, Link};
use crate::pending::Form;
use crate::{Id, Store, StoreError};

/// The right to write. Everything that is put and recorded becomes one pack at [`Writer::commit`]; without it nothing has happened.
pub struct Writer<'s> {
    pub(crate) store: &'s mut Store,
    /// Whether what is there counts only if it can be read.
    pub(crate) mending: bool,
    _lock: Lock,
}

/// What an object is to be stored as a version of.
pub(crate) struct Against {
    pub(crate) link: Link,
    pub(crate) bases: [Option<Id>; BASES],
    pub(crate) context: Vec<u8>,
}

impl Store {
    /// Takes the right to write, waiting for another writer for a while, and sees what was added since.
    pub fn writer(&mut self) -> Result<Writer<'_>, StoreError> {
        let lock = self.backend.lock(self.owner.as_deref())?;
        self.refresh()?;
        Ok(Writer { store: self, mending: false, _lock: lock })
    }
}

impl Writer<'_> {
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
        if !self.has(&id) {
            let against = self.store.against([base.copied(), None], &[]);
            self.add(id, bytes, against)?;
            self.store.pending.settle(&self.store.backend, false)?;
        }
        Ok(id)
    }

    /// Whether an object need not be put.
    pub(crate) fn has(&self, id: &Id) -> bool {
        self.store.contains(id) && (!self.mending || self.store.get(id).is_ok())
    }

    /// Adds an object that is not there.
    pub(crate) fn add(&mut self, id: Id, bytes: &[u8], against: Option<Against>) -> Result<(), StoreError> {
        // Bases that cannot be read are no reason to lose what can.
        let old = against.and_then(|against| Some((self.store.old_version(&against).ok()?, against)));
        let Some((old, against)) = old else {
            self.push(id, bytes.len(), Form::Whole(bytes), Vec::new());
            return Ok(());
        };
        let form = against.form(&old, bytes, &mut Compressor::new())?;
        self.push(id, bytes.len(), form, against.context);
        Ok(())
    }

    /// Adds an object that is not there, in the form that was found for it.
    pub(crate) fn push(&mut self, id: Id, len: usize, form: Form<'_>, context: Vec<u8>) {
        let object = self.store.pending.add(id, len, form, context);
        self.store.objects.add(PENDING, object);
    }

    /// Notes something, and says which number it has. The numbers are taken when the writer commits.
    pub fn record(&mut self, payload: &[u8]) -> u64 {
        let records = &mut self.store.pending.records;
        let seq = self.store.next + records.len() as u64;
        records.push(seq, payload);
        seq
    }

    /// Lets a record go: once this is committed it is not among the records any more. What it named stays until [`Store::prune`].
    pub fn forget(&mut self, seq: u64) {
        match self.store.pending.forgotten.last_mut() {
            Some((_, to)) if to.checked_add(1) == Some(seq) => *to = seq,
            _ => self.store.pending.forgotten.push((seq, seq)),
        }
    }

    /// Lets everything happen: one new file, durable when this returns.
    pub fn commit(mut self) -> Result<(), StoreError> {
        self.flush()
    }

    /// As [`Writer::commit`], and keeps the right to write.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        let store = &mut *self.store;
        if store.pending.is_empty() {
            return Ok(());
        }
        // A pack without records takes a number, too: else the same change, made twice, would have the same name.
        let count = store.pending.records.len().max(1) as u64;
        store.pending.publish(&store.backend, store.next, store.next + count - 1)?;
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
    /// What the next version of `bases` is stored as a version of: mostly those themselves, but every so often older ones, so that no
    /// version is many steps away from one that stands for itself.
    pub(crate) fn against(&self, bases: [Option<Id>; BASES], context: &[Id]) -> Option<Against> {
        // Of an object that was put again it is the higher one: whichever place can be read later, what is made here comes after it.
        let latest = |id: &Id| self.objects.all(id).max_by_key(|place| place.object.generation());
        let generation = |id: &Id| latest(id).map(|place| place.object.generation());
        let usable = |id: &Id| id.head() != 0 && self.contains(id);
        let first = bases[0].filter(usable)?;
        // A second base is for once: chains of twos would become trees.
        let second = bases[1].filter(usable).filter(|id| generation(id) < Some(8));
        let new =
            generation(&first)?.max(second.and_then(|id| generation(&id)).unwrap_or(0)).checked_add(1)?;
        let older = |mut id: Id| {
            while generation(&id)? > step_back(new) {
                let head = latest(&id)?.object.link?.heads[0];
                let mut places = self.objects.by_head(head).map(|place| place.object.id);
                id = places.find(|older| generation(older) < generation(&id))?;
            }
            Some(id)
        };
        let bases = [Some(older(first)?), second.and_then(older)];
        let heads = bases.map(|base| base.map_or(0, |id| id.head()));
        let link = Link { generation: new, heads, context: context.len() as u32 };
        Some(Against { link, bases, context: context.iter().flat_map(|id| *id.as_bytes()).collect() })
    }

    /// The bytes that an object is a version of.
    pub(crate) fn old_version(&self, against: &Against) -> Result<Arc<[u8]>, StoreError> {
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

impl Against {
    /// The form in which a new version takes the least.
    pub(crate) fn form<'a, 'b>(
        &self,
        old: &'b [u8],
        new: &'a [u8],
        compressor: &mut Compressor<'b>,
    ) -> Result<Form<'a>, StoreError> {
        let difference = Delta::between(old, new);
        if let Some(difference) = &difference
            && difference.is_fine()
        {
            return Ok(Form::Difference(difference.encode(), self.link));
        }
        // Something new: what it has in common with the old version besides is worth knowing, too.
        let packed = compressor.compress(new, old, LEVEL)?;
        if difference.is_none() && packed.len() > new.len() / 16 {
            let alone = codec::compress(new, &[], LEVEL)?.len();
            if packed.len() >= alone * 3 / 4 {
                return Ok(Form::Whole(new));
            }
        }
        Ok(Form::Follows(packed, self.link))
    }
}

/// The generation that a new version of generation `new` is stored against: one less, but at a multiple of 32 thirty-two less, at
/// one of 1,024 that many less, and so on. A chain is then at most 31 steps long for each digit that the number has to base 32, and a
/// difference covers many versions only rarely.
fn step_back(new: u32) -> u32 {
    new - (1 << (new.trailing_zeros() / 5 * 5))
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
            assert!(steps <= 4 * 31, "{steps}");
        }
        assert_eq!([1, 31, 32, 33, 64, 1024, 1056].map(step_back), [0, 30, 0, 32, 32, 0, 1024]);
    }
}
