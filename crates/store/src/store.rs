//! [`Store`]: all packs, read.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use forklore_fs::{VaultPath, Vfs};

use crate::backend::{Backend, PackName};
use crate::cache::Cache;
use crate::pack::{Base, Frame, Index, Object, Pack, Unusable};
use crate::{Id, Manifest, StoreError, Writer, codec};

/// Bytes of decoded objects that are kept.
const CACHE: usize = 16 << 20;

/// No chain of versions is longer, however an index reads.
const DEEPEST: usize = 256;

/// Objects and records of a directory, as they were at [`Store::open`] or the last [`Store::refresh`].
///
/// Reading needs no lock and takes no notice of writers, which only add packs, or put several together and then remove them: files
/// that are open stay readable.
pub struct Store {
    pub(crate) backend: Backend,
    pub(crate) packs: Vec<Pack>,
    damaged: Vec<(PackName, VaultPath)>,
    pub(crate) objects: Lookup,
    /// Number of a record, number of its pack, number in its pack; in order.
    rows: Vec<(u64, u32, u32)>,
    pub(crate) next: u64,
    pub(crate) pending: Pending,
    cache: Cache,
}

/// A record: something small that was noted, in the order in which it was noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its number. Numbers grow, with gaps.
    pub seq: u64,
    /// What was noted
    pub payload: &'a [u8],
}

/// Where an object is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) pack: u32,
    pub(crate) object: Object,
    next: u32,
}

/// The number of the pack that is being written.
pub(crate) const PENDING: u32 = u32::MAX;
const NONE: u32 = u32::MAX;

/// Where objects are, by name and by the beginning of the name.
#[derive(Default)]
pub(crate) struct Lookup {
    heads: HashMap<u64, u32>,
    places: Vec<Place>,
}

impl Lookup {
    /// All objects whose names begin like this: one, as good as always.
    pub(crate) fn by_head(&self, head: u64) -> impl Iterator<Item = &Place> {
        let mut at = self.heads.get(&head).copied().unwrap_or(NONE);
        std::iter::from_fn(move || {
            let place = self.places.get(at as usize)?;
            at = place.next;
            Some(place)
        })
    }

    pub(crate) fn get(&self, id: &Id) -> Option<&Place> {
        self.by_head(id.head()).find(|place| place.object.id == *id)
    }

    pub(crate) fn add(&mut self, pack: u32, object: Object) {
        // Fewer than 2^32 objects: their entries alone would not fit into memory.
        let new = self.places.len() as u32;
        let next = self.heads.insert(object.id.head(), new).unwrap_or(NONE);
        self.places.push(Place { pack, object, next });
    }

    /// Takes back what was added since there were `len`.
    fn truncate(&mut self, len: usize) {
        while self.places.len() > len {
            let Some(place) = self.places.pop() else { break };
            match place.next {
                NONE => self.heads.remove(&place.object.id.head()),
                next => self.heads.insert(place.object.id.head(), next),
            };
        }
    }

    fn len(&self) -> usize {
        self.places.len()
    }
}

/// What a writer has put and not committed.
#[derive(Default)]
pub(crate) struct Pending {
    pub(crate) index: Index,
    /// The compressed bytes of its frames.
    pub(crate) body: Vec<u8>,
    /// For the cache: no two writers have the same.
    pub(crate) key: u64,
    /// How many objects there were before.
    committed: usize,
}

impl Store {
    /// Opens the store in `dir`; if there is no such directory, an empty one.
    pub fn open(fs: Arc<dyn Vfs>, dir: VaultPath) -> Result<Self, StoreError> {
        let mut store = Self {
            backend: Backend::new(fs, dir),
            packs: Vec::new(),
            damaged: Vec::new(),
            objects: Lookup::default(),
            rows: Vec::new(),
            next: 1,
            pending: Pending::default(),
            cache: Cache::new(CACHE),
        };
        store.refresh()?;
        Ok(store)
    }

    /// Sees what other processes have added since.
    pub fn refresh(&mut self) -> Result<(), StoreError> {
        let mut old = HashMap::new();
        // A pack that is listed and gone was put together with others: the list that has the result is taken instead.
        let mut tries = 0;
        while !self.read_packs(&mut old)? {
            tries += 1;
            if tries > 100 {
                return Err(StoreError::Restless);
            }
        }
        self.objects = Lookup::default();
        self.rows.clear();
        for (number, pack) in self.packs.iter().enumerate() {
            // Fewer than 2^32 packs: each is an open file.
            let number = number as u32;
            for object in &pack.index.objects {
                self.objects.add(number, *object);
            }
            let records = pack.index.records.iter().enumerate();
            self.rows.extend(records.map(|(row, (seq, _))| (seq, number, row as u32)));
        }
        self.rows.sort_unstable();
        self.rows.dedup_by_key(|row| row.0);
        let names = self.packs.iter().map(|pack| pack.name).chain(self.damaged.iter().map(|(name, _)| *name));
        self.next = names.map(|name| name.last.saturating_add(1)).max().unwrap_or(1).max(self.next);
        self.begin_pending();
        Ok(())
    }

    /// Reads those that are not in `old`; says whether all were there.
    fn read_packs(&mut self, old: &mut HashMap<PackName, Pack>) -> Result<bool, StoreError> {
        old.extend(self.packs.drain(..).map(|pack| (pack.name, pack)));
        self.damaged.clear();
        for name in self.backend.list()? {
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
        Ok(true)
    }

    /// All records, in order.
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        self.rows.iter().filter_map(|(seq, pack, row)| {
            let (_, payload) = self.packs.get(*pack as usize)?.index.records.get(*row as usize)?;
            Some(Record { seq: *seq, payload })
        })
    }

    /// Files that are packs by their name and cannot be read. What they hold is missing.
    pub fn damaged(&self) -> impl Iterator<Item = &VaultPath> {
        self.damaged.iter().map(|(_, path)| path)
    }

    /// Whether there is such an object.
    pub fn contains(&self, id: &Id) -> bool {
        self.objects.get(id).is_some()
    }

    /// An object's bytes, verified.
    pub fn get(&self, id: &Id) -> Result<Arc<[u8]>, StoreError> {
        let place = self.objects.get(id).ok_or(StoreError::Missing(*id))?;
        let raw = self.frame_of(place, 0)?;
        let frame = self.frame(place).ok_or(StoreError::Missing(*id))?;
        if frame.objects == 1 {
            return Ok(raw);
        }
        slice(&raw, &place.object).map(Arc::from).ok_or(StoreError::Missing(*id))
    }

    /// How long an object is; `None` if there is no such object.
    pub fn len_of(&self, id: &Id) -> Option<u32> {
        self.objects.get(id).map(|place| place.object.len)
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

    /// Takes the right to write, waiting for another writer for a while, and sees what was added since.
    pub fn writer(&mut self) -> Result<Writer<'_>, StoreError> {
        Writer::begin(self)
    }

    fn frame(&self, place: &Place) -> Option<Frame> {
        let index = match place.pack {
            PENDING => &self.pending.index,
            pack => &self.packs.get(pack as usize)?.index,
        };
        index.frames.get(place.object.frame as usize).copied()
    }

    pub(crate) fn base_of(&self, id: &Id) -> Option<Base> {
        self.frame(self.objects.get(id)?)?.base
    }

    /// The frame that an object is in, decoded and verified.
    fn frame_of(&self, place: &Place, depth: usize) -> Result<Arc<[u8]>, StoreError> {
        let id = place.object.id;
        let damaged = || self.damage(place);
        let frame = self.frame(place).ok_or_else(damaged)?;
        let key = match place.pack {
            PENDING => (self.pending.key, place.object.frame),
            pack => (self.packs[pack as usize].name.seal, place.object.frame),
        };
        if let Some(raw) = self.cache.get(key) {
            return Ok(raw);
        }
        let packed = match place.pack {
            PENDING => {
                let start = frame.offset as usize;
                self.pending.body[start..start + frame.len as usize].to_vec()
            }
            pack => self.packs[pack as usize].frame(&frame).map_err(|_| damaged())?,
        };
        let len = frame.raw_len as usize;
        let raw = match frame.base {
            None => codec::decompress(&packed, len, &[]).map_err(|_| damaged())?,
            Some(base) => {
                if depth > DEEPEST {
                    return Err(damaged());
                }
                self.decode_against(base, &packed, len, id, depth).map_err(|e| e.unwrap_or_else(damaged))?
            }
        };
        if !self.is_what_it_says(place, &frame, &raw) {
            return Err(damaged());
        }
        let raw: Arc<[u8]> = raw.into();
        self.cache.put(key, raw.clone());
        Ok(raw)
    }

    /// Tries every object that the base can be: names are cut short in an index.
    fn decode_against(
        &self,
        base: Base,
        packed: &[u8],
        len: usize,
        id: Id,
        depth: usize,
    ) -> Result<Vec<u8>, Option<StoreError>> {
        let mut why = None;
        for place in self.objects.by_head(base.head) {
            let generation = self.frame(place).and_then(|frame| frame.base).map_or(0, |base| base.generation);
            if generation >= base.generation {
                continue;
            }
            match self.frame_of(place, depth + 1) {
                Ok(raw) => {
                    let prefix = slice(&raw, &place.object).unwrap_or_default();
                    match codec::decompress(packed, len, prefix) {
                        Ok(raw) if Id::of(&raw) == id => return Ok(raw),
                        _ => {}
                    }
                }
                Err(e) => why = Some(e),
            }
        }
        Err(why)
    }

    fn is_what_it_says(&self, place: &Place, frame: &Frame, raw: &[u8]) -> bool {
        let index = match place.pack {
            PENDING => &self.pending.index,
            pack => &self.packs[pack as usize].index,
        };
        let first = frame.first_object as usize;
        let objects = &index.objects[first..first + frame.objects as usize];
        objects.iter().all(|object| slice(raw, object).is_some_and(|bytes| Id::of(bytes) == object.id))
    }

    fn damage(&self, place: &Place) -> StoreError {
        let path = match place.pack {
            PENDING => VaultPath::root(),
            pack => self.packs[pack as usize].path.clone(),
        };
        StoreError::Damaged { id: place.object.id, path }
    }

    /// Forgets what was put and not committed.
    pub(crate) fn roll_back(&mut self) {
        let committed = self.pending.committed.min(self.objects.len());
        self.objects.truncate(committed);
        self.begin_pending();
    }

    fn begin_pending(&mut self) {
        let key = self.pending.key + 1;
        self.pending = Pending { key, committed: self.objects.len(), ..Pending::default() };
    }
}

fn slice<'a>(raw: &'a [u8], object: &Object) -> Option<&'a [u8]> {
    let start = object.start as usize;
    raw.get(start..start + object.len as usize)
}
