//! [`Store`]: all packs, read.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

use forklore_fs::{VaultPath, Vfs};

use crate::backend::{Backend, PackName};
use crate::cache::Cache;
use crate::lookup::{Lookup, PENDING, Place};
use crate::pack::{Frame, Health, Link, Object, Pack, Unusable};
use crate::pending::Pending;
use crate::{Id, Manifest, StoreError, codec, delta};

/// Bytes of decoded objects that are kept.
const CACHE: usize = 16 << 20;

/// No chain of versions is longer, whatever an index says.
const DEEPEST: usize = 256;

/// Objects and records of a directory, as they were at [`Store::open`] or the last [`Store::refresh`].
///
/// Reading needs no lock and takes no notice of writers, which only add packs, or put several together and then remove them: files
/// that are open stay readable.
pub struct Store {
    pub(crate) backend: Backend,
    pub(crate) packs: Vec<Pack>,
    /// Packs that others have taken the place of. They are only waiting to be removed.
    pub(crate) replaced: Vec<PackName>,
    damaged: Vec<(PackName, VaultPath)>,
    pub(crate) objects: Lookup,
    /// Number of a record, number of its pack, number in its pack; in order.
    rows: Vec<(u64, u32, u32)>,
    pub(crate) next: u64,
    pub(crate) pending: Pending,
    /// How many objects there were before those that are pending.
    committed: usize,
    /// For the cache: no two writers of this store have the same.
    writers: u64,
    cache: Cache,
    /// Whose it is, for writers
    pub(crate) owner: Option<String>,
}

/// A record: something small that was noted, in the order in which it was noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its number. Numbers grow, with gaps.
    pub seq: u64,
    /// What was noted
    pub payload: &'a [u8],
}

impl Store {
    /// Opens the store in `dir`; if there is no such directory, an empty one.
    pub fn open(fs: Arc<dyn Vfs>, dir: VaultPath) -> Result<Self, StoreError> {
        let mut store = Self {
            backend: Backend::new(fs, dir),
            packs: Vec::new(),
            replaced: Vec::new(),
            damaged: Vec::new(),
            objects: Lookup::default(),
            rows: Vec::new(),
            next: 1,
            pending: Pending::default(),
            committed: 0,
            writers: 0,
            cache: Cache::new(CACHE),
            owner: None,
        };
        store.refresh()?;
        Ok(store)
    }

    /// Whose store it is, if it was ever written on somebody's behalf.
    pub fn owner(&self) -> Result<Option<String>, StoreError> {
        self.backend.owner()
    }

    /// The same store, on behalf of `owner`: another one's is refused, and one that is nobody's is bound to `owner` when it is next written.
    pub fn on_behalf_of(mut self, owner: String) -> Result<Self, StoreError> {
        if self.owner()?.is_some_and(|other| other != owner) {
            return Err(StoreError::Foreign);
        }
        self.owner = Some(owner);
        Ok(self)
    }

    /// Sees what other processes have added since.
    pub fn refresh(&mut self) -> Result<(), StoreError> {
        let before: Vec<PackName> = self.packs.iter().map(|pack| pack.name).collect();
        let mut old = HashMap::new();
        // A pack that is listed and gone was put together with others: the list that has the result is taken instead.
        let mut tries = 0;
        while !self.read_packs(&mut old)? {
            tries += 1;
            if tries > 100 {
                return Err(StoreError::Restless);
            }
        }
        // Mostly there are only new ones, and what is known of the others holds.
        let grown = self.packs.iter().map(|pack| pack.name).take(before.len()).eq(before.iter().copied())
            && self.packs[before.len()..].iter().all(|pack| pack.index.forgotten.is_empty());
        let from = if grown { before.len() } else { 0 };
        self.add_packs(from);
        Ok(())
    }

    /// The packs that are there at one time. A folder is not listed at once: a pack that is put there meanwhile can be passed over, and
    /// those that it replaces be gone when their turn comes. The next list has it, so two that are the same are right.
    fn listed(&self) -> Result<Vec<PackName>, StoreError> {
        let list = || {
            let mut names = self.backend.list()?;
            names.sort_unstable();
            Ok::<_, StoreError>(names)
        };
        let mut names = list()?;
        for _ in 0..100 {
            let again = list()?;
            if again == names {
                return Ok(names);
            }
            names = again;
        }
        Err(StoreError::Restless)
    }

    /// Reads those that are not in `old`; says whether all were there.
    fn read_packs(&mut self, old: &mut HashMap<PackName, Pack>) -> Result<bool, StoreError> {
        let order: Vec<PackName> = self.packs.iter().map(|pack| pack.name).collect();
        old.extend(self.packs.drain(..).map(|pack| (pack.name, pack)));
        self.damaged.clear();
        let mut names = self.listed()?;
        // Those that were known keep their numbers.
        let known: HashMap<PackName, usize> = order.into_iter().zip(0..).collect();
        names.sort_by_key(|name| (known.get(name).copied().unwrap_or(usize::MAX), *name));
        for name in names.iter().copied() {
            if let Some(pack) = old.remove(&name) {
                self.packs.push(pack);
                continue;
            }
            let Some(file) = self.backend.open(name)? else { return Ok(false) };
            let path = self.backend.pack_path(name);
            match Pack::read(name, path.clone(), file) {
                Ok(pack) => self.packs.push(pack),
                Err(Unusable::Damaged) => self.damaged.push((name, path)),
                Err(Unusable::Newer(version)) => return Err(StoreError::Newer { path, version }),
                Err(Unusable::Io(source)) => return Err(StoreError::Read { path, source }),
            }
        }
        let gone: HashSet<PackName> =
            self.packs.iter().flat_map(|p| p.index.replaces.iter().copied()).collect();
        self.replaced = names.into_iter().filter(|name| gone.contains(name)).collect();
        self.packs.retain(|pack| !gone.contains(&pack.name));
        self.damaged.retain(|(name, _)| !gone.contains(name));
        Ok(true)
    }

    /// Takes in what the packs from number `from` on hold; those before are known.
    fn add_packs(&mut self, from: usize) {
        self.roll_back();
        if from == 0 {
            self.objects = Lookup::default();
            self.rows.clear();
        }
        let forgotten: Vec<(u64, u64)> =
            self.packs.iter().flat_map(|pack| pack.index.forgotten.iter().copied()).collect();
        let counts = |seq: u64| !forgotten.iter().any(|(from, to)| (*from..=*to).contains(&seq));
        for (number, pack) in self.packs.iter().enumerate().skip(from) {
            // Fewer than 2^32 packs: each is an open file.
            let number = number as u32;
            for object in &pack.index.objects {
                self.objects.add(number, *object);
            }
            let records = pack.index.records.iter().enumerate().filter(|(_, (seq, _))| counts(*seq));
            self.rows.extend(records.map(|(row, (seq, _))| (seq, number, row as u32)));
        }
        self.rows.sort_unstable();
        self.rows.dedup_by_key(|row| row.0);
        let names = self.packs.iter().map(|pack| pack.name).chain(self.damaged.iter().map(|(name, _)| *name));
        self.next = names.map(|name| name.last.saturating_add(1)).max().unwrap_or(1).max(self.next);
        self.committed = self.objects.len();
    }

    /// All records, in order.
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        self.rows.iter().filter_map(|(seq, pack, row)| {
            let (_, payload) = self.packs.get(*pack as usize)?.index.records.get(*row as usize)?;
            Some(Record { seq: *seq, payload })
        })
    }

    /// Files of the store that are damaged, as far as can be seen without reading every object: what they hold may be missing.
    pub fn damaged(&self) -> impl Iterator<Item = &VaultPath> {
        let bad = self.packs.iter().filter(|pack| pack.health != Health::Good).map(|pack| &pack.path);
        self.damaged.iter().map(|(_, path)| path).chain(bad)
    }

    /// Whether there is such an object, and everything that it is a version of.
    pub fn contains(&self, id: &Id) -> bool {
        let mut known = HashMap::new();
        let mut numbers = self.objects.numbers(id.head());
        numbers.any(|number| {
            self.objects.places()[number].object.id == *id && self.counts(number, &mut known, 0)
        })
    }

    /// Whether everything is there that the object with this number in the lookup is a version of. Pruning that was interrupted leaves
    /// objects without it: nothing needs those, and nothing may be built on them. `known` is what was found out on the way.
    pub(crate) fn counts(&self, number: usize, known: &mut HashMap<usize, bool>, depth: usize) -> bool {
        let place = &self.objects.places()[number];
        if self.is_doubtful(place) {
            return false;
        }
        let Some(link) = &place.object.link else { return true };
        if let Some(counts) = known.get(&number) {
            return *counts;
        }
        let older = |base: &usize| self.objects.places()[*base].object.generation() < link.generation;
        let mut is_there =
            |head| self.objects.numbers(head).filter(older).any(|base| self.counts(base, known, depth + 1));
        let counts = depth <= DEEPEST && link.heads().all(&mut is_there);
        known.insert(number, counts);
        counts
    }

    /// Whether an object is only known from an index that is damaged.
    pub(crate) fn is_doubtful(&self, place: &Place) -> bool {
        self.packs.get(place.pack as usize).is_some_and(|pack| pack.health == Health::Doubtful)
    }

    /// An object's bytes, verified.
    pub fn get(&self, id: &Id) -> Result<Arc<[u8]>, StoreError> {
        let mut error = StoreError::Missing(*id);
        for doubtful in [false, true] {
            for place in self.objects.all(id).filter(|place| self.is_doubtful(place) == doubtful) {
                match self.verified(place) {
                    Ok(bytes) => return Ok(bytes),
                    Err(e) => error = e,
                }
            }
        }
        Err(error)
    }

    /// The bytes of an object in this very place.
    pub(crate) fn verified(&self, place: &Place) -> Result<Arc<[u8]>, StoreError> {
        let bytes = self.bytes(place, 0)?;
        // What is a version of something was verified when it was made from it.
        if place.object.link.is_none() && Id::of(&bytes) != place.object.id {
            return Err(self.damage(place));
        }
        Ok(bytes)
    }

    /// How long an object is; `None` if there is no such object.
    pub fn len_of(&self, id: &Id) -> Option<u32> {
        self.objects.all(id).next().map(|place| place.object.len)
    }

    /// A document's list of segments.
    pub fn manifest(&self, id: &Id) -> Result<Arc<Manifest>, StoreError> {
        let bytes = self.get(id)?;
        Manifest::decode(&bytes).map(Arc::new).ok_or(StoreError::NotADocument(*id))
    }

    /// Writes a document's bytes to `out`, one segment after the other.
    pub fn read_document(&self, id: &Id, out: &mut dyn io::Write) -> Result<(), StoreError> {
        for segment in &self.manifest(id)?.segments {
            out.write_all(&self.get(&segment.id)?).map_err(StoreError::Out)?;
        }
        Ok(())
    }

    pub(crate) fn frame(&self, place: &Place) -> Option<Frame> {
        match place.pack {
            PENDING => self.pending.frame(place.object.frame).copied(),
            pack => self.packs.get(pack as usize)?.index.frames.get(place.object.frame as usize).copied(),
        }
    }

    /// An object's bytes; verified, if it is a version of something.
    pub(crate) fn bytes(&self, place: &Place, depth: usize) -> Result<Arc<[u8]>, StoreError> {
        let damaged = || self.damage(place);
        let object = &place.object;
        let frame = self.frame(place).ok_or_else(damaged)?;
        let Some(link) = &object.link else {
            let raw = self.raw(place, &frame)?;
            if frame.objects == 1 {
                return Ok(raw);
            }
            return object.of(&raw).map(Arc::from).ok_or_else(damaged);
        };
        let key = (self.key(place.pack), object.frame, object.start);
        if let Some(bytes) = self.cache.get(key) {
            return Ok(bytes);
        }
        if depth > DEEPEST {
            return Err(damaged());
        }
        let stored =
            if frame.follows { self.packed(place, &frame)?.into() } else { self.raw(place, &frame)? };
        let len = object.len as usize;
        let mut found = None;
        let mut attempt = |old: &[u8]| {
            found = if frame.follows {
                codec::decompress(&stored, len, old).ok()
            } else {
                object.of(&stored).and_then(|difference| delta::apply(old, difference, len))
            };
            found.as_ref().is_some_and(|bytes| Id::of(bytes) == object.id)
        };
        let heads: Vec<u64> = link.heads().collect();
        let context = self.context(place, link).ok_or_else(damaged)?;
        if !self.try_bases(link, &heads, &context, &mut Vec::new(), depth, &mut attempt)? {
            return Err(damaged());
        }
        let bytes: Arc<[u8]> = found.ok_or_else(damaged)?.into();
        self.cache.put(key, bytes.clone());
        Ok(bytes)
    }

    /// Lets `attempt` try everything that an old version can be, until it says that it was that. It is one thing, as good as always:
    /// but names are cut short in an index.
    fn try_bases(
        &self,
        link: &Link,
        heads: &[u64],
        context: &[u8],
        old: &mut Vec<u8>,
        depth: usize,
        attempt: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<bool, StoreError> {
        let Some((head, rest)) = heads.split_first() else {
            old.extend_from_slice(context);
            return Ok(attempt(old));
        };
        let len = old.len();
        for place in self.objects.by_head(*head).filter(|p| p.object.generation() < link.generation) {
            // If it was put again, one of them will do.
            let Ok(bytes) = self.bytes(place, depth + 1) else { continue };
            old.truncate(len);
            old.extend_from_slice(&bytes);
            if self.try_bases(link, rest, context, old, depth, attempt)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The names of the objects that precede one in its pack, as many as its link says.
    fn context(&self, place: &Place, link: &Link) -> Option<Vec<u8>> {
        let count = link.context as usize;
        if count == 0 {
            return Some(Vec::new());
        }
        if place.pack == PENDING {
            return self.pending.context_of(&place.object.id).map(<[u8]>::to_vec);
        }
        let index = &self.packs.get(place.pack as usize)?.index;
        let frame = index.frames.get(place.object.frame as usize)?;
        let within = index.objects_of(frame).iter().position(|object| object.start == place.object.start)?;
        let end = frame.first_object as usize + within;
        let before = index.objects.get(end.checked_sub(count)?..end)?;
        Some(before.iter().flat_map(|object| *object.id.as_bytes()).collect())
    }

    /// For the cache: what stands for a pack.
    fn key(&self, pack: u32) -> u64 {
        self.packs.get(pack as usize).map_or(self.writers, |pack| pack.name.seal)
    }

    /// The raw bytes of a frame that was not compressed as what follows something.
    fn raw(&self, place: &Place, frame: &Frame) -> Result<Arc<[u8]>, StoreError> {
        let key = (self.key(place.pack), place.object.frame, WHOLE_FRAME);
        if let Some(raw) = self.cache.get(key) {
            return Ok(raw);
        }
        if place.pack == PENDING
            && let Some(raw) = self.pending.queued(place.object.frame)
        {
            return Ok(raw.into());
        }
        let packed = self.packed(place, frame)?;
        let raw = codec::decompress(&packed, frame.raw_len as usize, &[]).map_err(|_| self.damage(place))?;
        let raw: Arc<[u8]> = raw.into();
        self.cache.put(key, raw.clone());
        Ok(raw)
    }

    /// The raw bytes of the frame of an object in a pack.
    pub(crate) fn frame_of(
        &self,
        pack: &Pack,
        object: &Object,
        frame: &Frame,
    ) -> Result<Arc<[u8]>, StoreError> {
        let mut places = self.objects.all(&object.id);
        let place =
            places.find(|place| self.packs.get(place.pack as usize).is_some_and(|p| p.name == pack.name));
        self.raw(place.ok_or(StoreError::Missing(object.id))?, frame)
    }

    /// The compressed bytes of a frame.
    fn packed(&self, place: &Place, frame: &Frame) -> Result<Vec<u8>, StoreError> {
        let packed = match self.packs.get(place.pack as usize) {
            None => self.pending.packed(frame),
            Some(pack) => pack.packed(frame),
        };
        packed.map_err(|_| self.damage(place))
    }

    pub(crate) fn damage(&self, place: &Place) -> StoreError {
        let path = self.packs.get(place.pack as usize).map_or_else(VaultPath::root, |pack| pack.path.clone());
        StoreError::Damaged { id: place.object.id, path }
    }

    /// Forgets what was put and not committed.
    pub(crate) fn roll_back(&mut self) {
        self.pending.abandon(&self.backend);
        self.objects.truncate(self.committed);
        self.pending = Pending::default();
        self.writers += 1;
    }
}

/// In the cache, where an object's place in its frame would be: the whole frame.
const WHOLE_FRAME: u32 = u32::MAX;
