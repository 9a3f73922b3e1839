//! [`Pack`]: one immutable file with objects and records. The format is described in `docs/formats/store.md`.

use std::io;
use std::ops::Range;

use forklore_fs::{OpenFile, VaultPath};

use crate::backend::PackName;
use crate::bytes::{Out as _, Reader};
use crate::codec::{self, CodecError};
use crate::{Id, StoreError};

/// The version of the format. A pack with a higher number is not read.
pub(crate) const VERSION: u8 = 1;
const MAGIC: &[u8; 7] = b"flstore";
pub(crate) const HEAD: usize = 8;
const TAIL: usize = 8 + 8 + 16 + 16 + 8 + HEAD;

/// No object is longer. Far more than anything needs; and whatever a damaged index says, no more is asked of memory.
pub(crate) const LONGEST: usize = 1 << 30;

/// No frame has more bases.
pub(crate) const BASES: usize = 2;

/// A stretch of compressed bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) offset: u64,
    pub(crate) len: u32,
    pub(crate) raw_len: u32,
    pub(crate) first_object: u32,
    pub(crate) objects: u32,
    /// Whether it was compressed as what follows the bases of its only object, and holds the object itself. Else it holds objects
    /// that stand for themselves, or differences.
    pub(crate) follows: bool,
}

/// What an object is a version of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    /// How many changes it is away from a version that stands for itself. Always more than those of its bases.
    pub(crate) generation: u32,
    /// How the names of the objects begin that it was made from; 0 where there is none. Their bytes, one after the other, are the old
    /// version.
    pub(crate) heads: [u64; BASES],
    /// To the old version also belong the names of this many objects that precede it in its pack.
    pub(crate) context: u32,
}

impl Link {
    pub(crate) fn heads(&self) -> impl Iterator<Item = u64> {
        self.heads.into_iter().filter(|head| *head != 0)
    }
}

/// An object, as the index names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) id: Id,
    pub(crate) len: u32,
    pub(crate) frame: u32,
    /// Where in its frame it is, or the difference that makes it.
    pub(crate) start: u32,
    pub(crate) stored: u32,
    pub(crate) link: Option<Link>,
}

impl Object {
    pub(crate) fn generation(&self) -> u32 {
        self.link.map_or(0, |link| link.generation)
    }

    /// What its frame holds of it.
    pub(crate) fn of<'a>(&self, frame: &'a [u8]) -> Option<&'a [u8]> {
        frame.get(self.start as usize..self.start as usize + self.stored as usize)
    }
}

/// What a pack holds besides the compressed bytes.
#[derive(Debug, Default, Clone)]
pub(crate) struct Index {
    pub(crate) frames: Vec<Frame>,
    pub(crate) objects: Vec<Object>,
    pub(crate) records: Records,
    /// Packs whose place it takes: if one of them is still there, it does not count.
    pub(crate) replaces: Vec<PackName>,
    /// Numbers of records that do not count, wherever they are: from, to and with.
    pub(crate) forgotten: Vec<(u64, u64)>,
}

/// Records and their numbers, ascending.
#[derive(Debug, Default, Clone)]
pub(crate) struct Records {
    bytes: Vec<u8>,
    rows: Vec<(u64, Range<usize>)>,
}

impl Records {
    pub(crate) fn push(&mut self, seq: u64, payload: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(payload);
        self.rows.push((seq, start..self.bytes.len()));
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn get(&self, row: usize) -> Option<(u64, &[u8])> {
        let (seq, range) = self.rows.get(row)?;
        Some((*seq, self.bytes.get(range.clone())?))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> {
        (0..self.len()).filter_map(|row| self.get(row))
    }

    fn encode(&self) -> Result<Vec<u8>, CodecError> {
        let mut raw = Vec::with_capacity(self.bytes.len() + 4 * self.rows.len() + 8);
        raw.number(self.rows.len() as u64);
        let mut before = 0;
        for (seq, range) in &self.rows {
            raw.number(seq.saturating_sub(before));
            raw.number(range.len() as u64);
            before = *seq;
        }
        raw.extend_from_slice(&self.bytes);
        let mut out = Vec::new();
        out.number(raw.len() as u64);
        out.extend(codec::compress(&raw, &[], codec::LEVEL)?);
        Ok(out)
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let len = usize::try_from(reader.number()?).ok().filter(|len| *len <= LONGEST)?;
        let raw = codec::decompress(reader.0, len, &[]).ok()?;
        let mut reader = Reader(&raw);
        let count = reader.count()?;
        let (mut rows, mut seq, mut start) = (Vec::with_capacity(count), 0u64, 0usize);
        for _ in 0..count {
            seq = seq.checked_add(reader.number()?)?;
            let end = start.checked_add(usize::try_from(reader.number()?).ok()?)?;
            rows.push((seq, start..end));
            start = end;
        }
        (reader.0.len() == start).then(|| Self { bytes: reader.0.to_vec(), rows })
    }
}

impl Index {
    /// What follows the compressed bytes: index, records, and the seal over both. And the part of the seal that goes into the name.
    pub(crate) fn encode(&self) -> Result<(Vec<u8>, u64), StoreError> {
        let mut out = Vec::new();
        out.number(self.frames.len() as u64);
        for frame in &self.frames {
            out.number(u64::from(frame.len));
            out.number(u64::from(frame.objects) << 1 | u64::from(frame.follows));
            for object in self.objects_of(frame) {
                out.id(&object.id);
                out.number(u64::from(object.len));
                out.number(u64::from(object.generation()));
                if let Some(link) = &object.link {
                    // Two numbers in one: contexts are rare.
                    out.number(link.heads().count() as u64 + u64::from(link.context) * (BASES as u64 + 1));
                    link.heads().for_each(|head| out.extend_from_slice(&head.to_le_bytes()));
                    if !frame.follows {
                        out.number(u64::from(object.stored));
                    }
                }
            }
        }
        out.number(self.replaces.len() as u64);
        for name in &self.replaces {
            out.number(name.first);
            out.number(name.last);
            out.extend_from_slice(&name.seal.to_le_bytes());
        }
        out.number(self.forgotten.len() as u64);
        for (from, to) in &self.forgotten {
            out.number(*from);
            out.number(*to);
        }
        let records = self.records.encode()?;
        let mut tail = Vec::with_capacity(TAIL);
        tail.extend_from_slice(&(out.len() as u64).to_le_bytes());
        tail.extend_from_slice(&(records.len() as u64).to_le_bytes());
        tail.extend_from_slice(&short(&out));
        tail.extend_from_slice(&short(&records));
        let seal = Id::of(&tail).head();
        tail.extend_from_slice(&seal.to_le_bytes());
        tail.extend_from_slice(&head());
        out.extend(records);
        out.extend(tail);
        Ok((out, seal))
    }

    fn decode(index: &[u8], body: u64) -> Option<Self> {
        let mut reader = Reader(index);
        let mut found = Self::default();
        let mut offset = HEAD as u64;
        for number in 0..reader.count()? {
            let len = reader.small()?;
            let first_object = u32::try_from(found.objects.len()).ok()?;
            let what = reader.small()?;
            let (objects, follows) = (what >> 1, what & 1 == 1);
            let mut raw_len = 0u32;
            for _ in 0..objects {
                let (id, len, generation) = (reader.id()?, reader.small()?, reader.small()?);
                let before = u32::try_from(found.objects.len()).ok()?;
                let link =
                    if generation > 0 { Some(Link::decode(generation, &mut reader, before)?) } else { None };
                let stored = if link.is_some() && !follows { reader.small()? } else { len };
                let frame = u32::try_from(number).ok()?;
                found.objects.push(Object { id, len, frame, start: raw_len, stored, link });
                raw_len = raw_len.checked_add(stored).filter(|len| *len as usize <= LONGEST)?;
                if len as usize > LONGEST || (follows && (objects > 1 || link.is_none())) {
                    return None;
                }
            }
            found.frames.push(Frame { offset, len, raw_len, first_object, objects, follows });
            offset = offset.checked_add(u64::from(len))?;
        }
        for _ in 0..reader.count()? {
            let (first, last) = (reader.number()?, reader.number()?);
            found.replaces.push(PackName { first, last, seal: u64::from_le_bytes(reader.array()?) });
        }
        for _ in 0..reader.count()? {
            found.forgotten.push((reader.number()?, reader.number()?));
        }
        (reader.is_empty() && offset == body).then_some(found)
    }

    pub(crate) fn objects_of(&self, frame: &Frame) -> &[Object] {
        let first = frame.first_object as usize;
        self.objects.get(first..first + frame.objects as usize).unwrap_or_default()
    }
}

impl Link {
    fn decode(generation: u32, reader: &mut Reader<'_>, objects_before: u32) -> Option<Self> {
        let both = reader.number()?;
        let (context, count) = (both / (BASES as u64 + 1), both % (BASES as u64 + 1));
        let context = u32::try_from(context).ok().filter(|context| *context <= objects_before)?;
        let mut heads = [0; BASES];
        for head in heads.iter_mut().take(usize::try_from(count).ok()?) {
            *head = u64::from_le_bytes(reader.array()?);
        }
        Some(Self { generation, heads, context })
    }
}

/// What a pack begins with, and ends with.
pub(crate) fn head() -> [u8; HEAD] {
    let [a, b, c, d, e, f, g] = *MAGIC;
    [a, b, c, d, e, f, g, VERSION]
}

/// Half a hash: enough to see damage.
fn short(bytes: &[u8]) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&Id::of(bytes).as_bytes()[..16]);
    half
}

/// A pack, open for reading. The file stays open: it can be read even when it was put together with others and is gone.
pub(crate) struct Pack {
    pub(crate) name: PackName,
    pub(crate) path: VaultPath,
    pub(crate) file: Box<dyn OpenFile>,
    pub(crate) len: u64,
    pub(crate) index: Index,
    pub(crate) health: Health,
}

/// What is left of a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Health {
    /// Index and records are what they were. Objects tell for themselves.
    Good,
    /// The records are lost.
    NoRecords,
    /// The index is not what it was. It is taken as a hint: an object that it leads to, and that is what its name says, is good.
    Doubtful,
}

/// Why a pack cannot be used.
#[derive(Debug)]
pub(crate) enum Unusable {
    /// It is of a version that this Forklore does not know.
    Newer(u8),
    Damaged,
    Io(io::Error),
}

impl From<io::Error> for Unusable {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof { Self::Damaged } else { Self::Io(error) }
    }
}

impl Pack {
    pub(crate) fn read(name: PackName, path: VaultPath, file: Box<dyn OpenFile>) -> Result<Self, Unusable> {
        let len = file.identity()?.len;
        let begin = file.read_range(0..HEAD as u64)?;
        if begin[..MAGIC.len()] == *MAGIC && begin[MAGIC.len()] > VERSION {
            return Err(Unusable::Newer(begin[MAGIC.len()]));
        }
        let tail_at =
            len.checked_sub(TAIL as u64).filter(|at| *at >= HEAD as u64).ok_or(Unusable::Damaged)?;
        let tail = file.read_range(tail_at..len)?;
        let (told, rest) = tail.split_at(TAIL - 8 - HEAD);
        if begin != head()
            || rest != [name.seal.to_le_bytes(), head()].concat()
            || Id::of(told).head() != name.seal
        {
            return Err(Unusable::Damaged);
        }
        let mut reader = Reader(told);
        let mut number = || reader.array().map(u64::from_le_bytes).ok_or(Unusable::Damaged);
        let (index_len, records_len) = (number()?, number()?);
        let body = index_len.checked_add(records_len).and_then(|both| tail_at.checked_sub(both));
        let body = body.filter(|body| *body >= HEAD as u64).ok_or(Unusable::Damaged)?;
        let both = file.read_range(body..tail_at)?;
        // Both lengths fit: they are parts of what was just read.
        let (index_bytes, record_bytes) = both.split_at(index_len as usize);
        let records = (short(record_bytes) == told[32..]).then(|| Records::decode(record_bytes)).flatten();
        let mut health = if records.is_some() { Health::Good } else { Health::NoRecords };
        if short(index_bytes) != told[16..32] {
            health = Health::Doubtful;
        }
        let mut index = Index::decode(index_bytes, body).ok_or(Unusable::Damaged)?;
        index.records = records.unwrap_or_default();
        if health == Health::Doubtful {
            // It may not say what others are worth.
            index.replaces.clear();
            index.forgotten.clear();
        }
        Ok(Self { name, path, file, len, index, health })
    }

    /// Where the compressed bytes are.
    pub(crate) fn body(&self) -> Range<u64> {
        let end = self.index.frames.last().map_or(HEAD as u64, |frame| frame.offset + u64::from(frame.len));
        HEAD as u64..end
    }

    /// The compressed bytes of a frame.
    pub(crate) fn packed(&self, frame: &Frame) -> io::Result<Vec<u8>> {
        self.file.read_range(frame.offset..frame.offset + u64::from(frame.len))
    }
}
