//! [`Store::prune`]: what no record needs any more is removed, by making packs without it.
//!
//! What is needed is worked out from all records that are left: the objects that they name, the segments of those that are documents,
//! and whatever any of these is stored as a version of. Then one pack after the other is made anew without the rest. A new pack
//! names the one that it takes the place of, so each of these steps has happened or has not, and any number of them can have: records
//! that were forgotten do not count already, and nothing else is taken away from anyone. Between two steps there can be objects whose
//! bases are gone; no record needs those, and they do not count as being there ([`Store::contains`]).

use std::collections::HashSet;

use crate::backend::PackName;
use crate::codec::Compressor;
use crate::document::Manifest;
use crate::pack::{Frame, Link, Object, Pack};
use crate::pending::{Form, Pending};
use crate::writer::Against;
use crate::{Id, Record, Store, StoreError};

/// What was removed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Pruned {
    /// Objects that nothing needed
    pub objects: usize,
    /// Records that had been forgotten
    pub records: usize,
    /// Bytes of files before
    pub before: u64,
    /// Bytes of files after
    pub after: u64,
}

/// What something takes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Footprint {
    /// Objects, those included that others are stored as versions of
    pub objects: usize,
    /// Bytes on disk, about: objects that were compressed together share what that takes.
    pub stored: u64,
    /// Bytes of the objects
    pub raw: u64,
}

/// What is to stay: objects by pack, frame and place in it, and records by number.
struct Needed {
    objects: HashSet<(u64, u32, u32)>,
    records: HashSet<u64>,
}

impl Store {
    /// Removes what no record needs. `roots` are the objects and documents that a record names; `None` if the record makes no sense.
    /// They are asked of the store as it is now, under the lock: what a record names can itself name others.
    ///
    /// Nothing happens then, nor if something is damaged that has to be read to know what is needed.
    pub fn prune(
        &mut self,
        roots: &dyn Fn(&Self, &Record<'_>) -> Option<Vec<Id>>,
    ) -> Result<Pruned, StoreError> {
        let _lock = self.backend.lock(self.owner.as_deref())?;
        self.refresh()?;
        self.remove_replaced()?;
        if let Some(path) = self.damaged().next() {
            return Err(StoreError::NotWhole(path.to_string()));
        }
        let mut named: Vec<Id> = Vec::new();
        for record in self.records() {
            named.extend(roots(self, &record).ok_or(StoreError::NotUnderstood(record.seq))?);
        }
        let needed = self.needed(named)?;
        // The numbers of packs change with every one that is made anew; names do not.
        let needed =
            Needed { objects: self.places_of(&needed), records: self.records().map(|r| r.seq).collect() };
        let mut pruned = Pruned { before: self.size(), ..Pruned::default() };
        let names: Vec<PackName> = self.packs.iter().map(|pack| pack.name).collect();
        for name in names {
            let Some(number) = self.packs.iter().position(|pack| pack.name == name) else { continue };
            if let Some(pending) = self.without(&self.packs[number], &needed, &mut pruned)? {
                self.make_anew(name, pending)?;
            }
        }
        self.drop_lists()?;
        pruned.after = self.size();
        Ok(pruned)
    }

    /// What these objects and documents take, without what they share with each other counted twice.
    pub fn footprint(&self, roots: impl IntoIterator<Item = Id>) -> Result<Footprint, StoreError> {
        let needed = self.needed(roots.into_iter().collect())?;
        let mut footprint = Footprint::default();
        for (place, _) in self.objects.places().iter().zip(needed).filter(|(_, needed)| *needed) {
            let Some(frame) = self.frame(place) else { continue };
            let object = &place.object;
            footprint.objects += 1;
            footprint.raw += u64::from(object.len);
            footprint.stored +=
                u64::from(frame.len) * u64::from(object.stored) / u64::from(frame.raw_len.max(1)) + 48;
        }
        Ok(footprint)
    }

    /// Bytes of all files.
    pub fn size(&self) -> u64 {
        self.packs.iter().map(|pack| pack.len).sum()
    }

    /// For each object whether it is needed for what is named.
    fn needed(&self, named: Vec<Id>) -> Result<Vec<bool>, StoreError> {
        let mut needed = vec![false; self.objects.len()];
        let mut open: Vec<usize> = Vec::new();
        let mut seen = HashSet::new();
        for id in named.into_iter().filter(|id| seen.insert(*id)) {
            // What a record names and is not there cannot be lost any more; what is there must be readable.
            if self.objects.all(&id).all(|place| self.is_doubtful(place)) {
                continue;
            }
            let bytes = self.get(&id).map_err(|e| StoreError::NotWhole(e.to_string()))?;
            let segments = Manifest::decode(&bytes).map(|manifest| manifest.segments).unwrap_or_default();
            for id in segments.iter().map(|segment| segment.id).chain([id]) {
                let places = self.objects.numbers(id.head());
                open.extend(places.filter(|n| self.objects.places()[*n].object.id == id && !needed[*n]));
                while let Some(number) = open.pop() {
                    if std::mem::replace(&mut needed[number], true) {
                        continue;
                    }
                    let object = &self.objects.places()[number].object;
                    let Some(link) = &object.link else { continue };
                    let bases = link.heads().flat_map(|head| self.objects.numbers(head));
                    let older = |n: &usize| self.objects.places()[*n].object.generation() < link.generation;
                    open.extend(bases.filter(older).filter(|n| !needed[*n]));
                }
            }
        }
        Ok(needed)
    }

    /// Where objects are, by pack, frame and place in it.
    fn places_of(&self, needed: &[bool]) -> HashSet<(u64, u32, u32)> {
        let places = self.objects.places().iter().zip(needed).filter(|(_, needed)| **needed);
        let key = |pack: u32, object: &Object| {
            Some((self.packs.get(pack as usize)?.name.seal, object.frame, object.start))
        };
        places.filter_map(|(place, _)| key(place.pack, &place.object)).collect()
    }

    /// What is to take the place of a pack; `None` if all of it is needed.
    fn without(
        &self,
        pack: &Pack,
        needed: &Needed,
        pruned: &mut Pruned,
    ) -> Result<Option<Pending>, StoreError> {
        let is_needed =
            |object: &&Object| needed.objects.contains(&(pack.name.seal, object.frame, object.start));
        let dropped = pack.index.objects.iter().filter(|object| !is_needed(object)).count();
        let mut pending = Pending::replacing(pack.name);
        let records = pack.index.records.iter().filter(|(seq, _)| needed.records.contains(seq));
        records.for_each(|(seq, payload)| pending.records.push(seq, payload));
        let forgotten = pack.index.records.len() - pending.records.len();
        if dropped == 0 && forgotten == 0 {
            return Ok(None);
        }
        pruned.objects += dropped;
        pruned.records += forgotten;
        pending.forgotten.clone_from(&pack.index.forgotten);
        let made = self.fill(pack, &is_needed, &mut pending);
        if made.is_err() {
            pending.abandon(&self.backend);
        }
        made.map(|()| Some(pending))
    }

    /// Adds the objects of a pack that are needed.
    fn fill(
        &self,
        pack: &Pack,
        is_needed: &dyn Fn(&&Object) -> bool,
        pending: &mut Pending,
    ) -> Result<(), StoreError> {
        for frame in self.copy_frames(pack, is_needed, pending)? {
            for object in pack.index.objects_of(frame).iter().filter(is_needed) {
                self.add_again(pack, frame, object, pending)?;
                pending.settle(&self.backend, false)?;
            }
        }
        Ok(())
    }

    /// Lists of what is forgotten have done their work when no pack holds any of it.
    fn drop_lists(&mut self) -> Result<(), StoreError> {
        let counted: HashSet<u64> = self.records().map(|record| record.seq).collect();
        let counts = |pack: &Pack| pack.index.records.iter().all(|(seq, _)| counted.contains(&seq));
        let all_gone = self.packs.iter().all(counts);
        let lists = self.packs.iter().filter(|pack| all_gone && !pack.index.forgotten.is_empty());
        let names: Vec<PackName> = lists.map(|pack| pack.name).collect();
        if !names.is_empty() {
            // No pack that was removed may come back when its records are not listed any more.
            self.backend.sync()?;
        }
        for name in names {
            let Some(pack) = self.packs.iter().find(|pack| pack.name == name) else { continue };
            let mut pending = Pending::replacing(name);
            pack.index.records.iter().for_each(|(seq, payload)| pending.records.push(seq, payload));
            let made = self.fill(pack, &|_| true, &mut pending);
            if made.is_err() {
                pending.abandon(&self.backend);
            }
            made?;
            self.make_anew(name, pending)?;
        }
        Ok(())
    }

    /// Takes over all frames that are needed as they are; says which are needed otherwise.
    fn copy_frames<'p>(
        &self,
        pack: &'p Pack,
        is_needed: &dyn Fn(&&Object) -> bool,
        pending: &mut Pending,
    ) -> Result<Vec<&'p Frame>, StoreError> {
        let mut apart = Vec::new();
        // From which object on everything was taken over: names of objects that precede one may be part of what it is made from.
        let mut unbroken = 0;
        for frame in &pack.index.frames {
            let objects = pack.index.objects_of(frame);
            let first = frame.first_object as usize;
            let has_context = |(at, object): (usize, &Object)| {
                object.link.is_none_or(|link| unbroken + link.context as usize <= first + at)
            };
            if objects.iter().all(|object| is_needed(&object)) && objects.iter().enumerate().all(has_context)
            {
                let packed = pack.packed(frame);
                let packed = packed.map_err(|source| StoreError::Read { path: pack.path.clone(), source })?;
                pending.copy(frame, objects, &packed);
                pending.settle(&self.backend, false)?;
            } else {
                unbroken = first + objects.len();
                if objects.iter().any(|object| is_needed(&object)) {
                    apart.push(frame);
                }
            }
        }
        Ok(apart)
    }

    /// Adds an object whose frame is not taken over.
    fn add_again(
        &self,
        pack: &Pack,
        frame: &Frame,
        object: &Object,
        pending: &mut Pending,
    ) -> Result<(), StoreError> {
        let unreadable = |e: StoreError| StoreError::NotWhole(e.to_string());
        let len = object.len as usize;
        match &object.link {
            Some(link) if link.context == 0 && !frame.follows => {
                let raw = self.frame_of(pack, object, frame).map_err(unreadable)?;
                let difference =
                    object.of(&raw).ok_or_else(|| StoreError::NotWhole(pack.path.to_string()))?;
                pending.add(object.id, len, Form::Difference(difference.to_vec(), *link), Vec::new());
            }
            Some(link) => {
                // Without the names that precede it.
                let bytes = self.get(&object.id).map_err(unreadable)?;
                let older =
                    |head| self.objects.by_head(head).find(|p| p.object.generation() < link.generation);
                let bases = link.heads.map(|head| older(head).map(|place| place.object.id));
                if bases.iter().flatten().count() < link.heads().count() {
                    // It was put again because of that; now it can be read here, too.
                    pending.add(object.id, len, Form::Whole(&bytes), Vec::new());
                    return Ok(());
                }
                let against = Against { link: Link { context: 0, ..*link }, bases, context: Vec::new() };
                let old = self.old_version(&against).map_err(unreadable)?;
                let form = against.form(&old, &bytes, &mut Compressor::new())?;
                pending.add(object.id, len, form, Vec::new());
            }
            None => {
                let bytes = self.get(&object.id).map_err(unreadable)?;
                pending.add(object.id, len, Form::Whole(&bytes), Vec::new());
            }
        }
        Ok(())
    }

    /// Puts what is left of a pack into its place.
    fn make_anew(&mut self, name: PackName, mut pending: Pending) -> Result<(), StoreError> {
        // An empty pack is of use only if it keeps its numbers from being given again.
        let keeps_numbers = name.last + 1 == self.next;
        if pending.is_empty() && !keeps_numbers {
            self.backend.remove(name)?;
        } else {
            let made = pending.publish(&self.backend, name.first, name.last);
            if made.is_err() {
                pending.abandon(&self.backend);
            }
            made?;
        }
        self.refresh()?;
        self.remove_replaced()
    }
}
