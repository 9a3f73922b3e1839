//! [`Pack`]: one immutable file with objects and records. The format is described in `docs/formats/store.md`.

use std::io;
use std::ops::Range;

use forklore_fs::{OpenFile, VaultPath};

use crate::backend::PackName;
use crate::bytes::{Out as _, Reader};
use crate::{Id, StoreError, codec};

/// The version of the format. A pack with a higher number is not read.
pub(crate) const VERSION: u8 = 1;
const MAGIC: &[u8; 7] = b"flstore";
pub(crate) const HEAD: usize = 8;
const TAIL: usize = 8 + 8 + 32 + 8;

/// No object is longer. Far more than anything needs; and whatever a damaged index says, no more is asked of memory.
pub(crate) const LONGEST: usize = 1 << 30;

/// A stretch of compressed objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) offset: u64,
    pub(crate) len: u32,
    pub(crate) raw_len: u32,
    pub(crate) first_object: u32,
    pub(crate) objects: u32,
    pub(crate) base: Option<Base>,
}

/// What a frame was compressed against: the object whose name begins like this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Base {
    pub(crate) head: u64,
    /// How many changes it is away from a version that stands for itself. Always more than the base's own.
    pub(crate) generation: u32,
}

/// An object, as the index names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) id: Id,
    pub(crate) frame: u32,
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// What a pack holds besides the compressed bytes.
#[derive(Debug, Default, Clone)]
pub(crate) struct Index {
    pub(crate) frames: Vec<Frame>,
    pub(crate) objects: Vec<Object>,
    pub(crate) records: Records,
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

    fn encode(&self) -> Result<Vec<u8>, StoreError> {
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
        out.extend(codec::compress(&raw, &[], 3)?);
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
    /// What follows the compressed bytes: index, records, and the seal over both. Returns the name's part of the seal, too.
    pub(crate) fn encode(&self) -> Result<(Vec<u8>, u64), StoreError> {
        let mut out = Vec::new();
        out.number(self.frames.len() as u64);
        for frame in &self.frames {
            out.number(u64::from(frame.len));
            out.number(u64::from(frame.objects));
            let first = frame.first_object as usize;
            for object in &self.objects[first..first + frame.objects as usize] {
                out.id(&object.id);
                out.number(u64::from(object.len));
            }
            out.number(frame.base.map_or(0, |base| u64::from(base.generation)));
            if let Some(base) = frame.base {
                out.extend_from_slice(&base.head.to_le_bytes());
            }
        }
        let index_len = out.len() as u64;
        out.extend(self.records.encode()?);
        let records_len = out.len() as u64 - index_len;
        out.extend_from_slice(&index_len.to_le_bytes());
        out.extend_from_slice(&records_len.to_le_bytes());
        let seal = Id::of(&out);
        out.id(&seal);
        out.extend_from_slice(&head());
        Ok((out, seal.head()))
    }

    fn decode(index: &[u8], records: &[u8], body: u64) -> Option<Self> {
        let mut reader = Reader(index);
        let count = reader.count()?;
        let mut found = Self { frames: Vec::with_capacity(count), ..Self::default() };
        let mut offset = HEAD as u64;
        for number in 0..count {
            let len = reader.small()?;
            let objects = reader.small()?;
            let first_object = found.objects.len().try_into().ok()?;
            let mut raw_len = 0u32;
            for _ in 0..objects {
                let (id, len) = (reader.id()?, reader.small()?);
                found.objects.push(Object { id, frame: number.try_into().ok()?, start: raw_len, len });
                raw_len = raw_len.checked_add(len).filter(|len| *len as usize <= LONGEST)?;
            }
            let base = match reader.small()? {
                0 => None,
                generation => Some(Base { head: u64::from_le_bytes(reader.array()?), generation }),
            };
            found.frames.push(Frame { offset, len, raw_len, first_object, objects, base });
            offset = offset.checked_add(u64::from(len))?;
        }
        found.records = Records::decode(records)?;
        (reader.is_empty() && offset == body).then_some(found)
    }
}

/// What a pack begins with, and ends with.
pub(crate) fn head() -> [u8; HEAD] {
    let [a, b, c, d, e, f, g] = *MAGIC;
    [a, b, c, d, e, f, g, VERSION]
}

/// A pack that was found whole as far as its index and its records go. The file stays open: it can be read even when it was
/// merged into another one and is gone.
pub(crate) struct Pack {
    pub(crate) name: PackName,
    pub(crate) path: VaultPath,
    pub(crate) file: Box<dyn OpenFile>,
    pub(crate) index: Index,
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
        if begin != head() || !tail.ends_with(&head()) {
            return Err(Unusable::Damaged);
        }
        let parsed = (|| {
            let mut reader = Reader(&tail);
            let index_len = u64::from_le_bytes(reader.array()?);
            let records_len = u64::from_le_bytes(reader.array()?);
            Some((index_len, records_len, reader.id()?))
        })();
        let (index_len, records_len, seal) = parsed.ok_or(Unusable::Damaged)?;
        let body = index_len.checked_add(records_len).and_then(|both| tail_at.checked_sub(both));
        let body = body.filter(|body| *body >= HEAD as u64).ok_or(Unusable::Damaged)?;
        let sealed = file.read_range(body..tail_at + 16)?;
        if Id::of(&sealed) != seal || seal.head() != name.seal {
            return Err(Unusable::Damaged);
        }
        // Both lengths fit: they are parts of what was just read.
        let (index, rest) = sealed.split_at(index_len as usize);
        let index = Index::decode(index, &rest[..records_len as usize], body).ok_or(Unusable::Damaged)?;
        Ok(Self { name, path, file, index })
    }

    /// The compressed bytes of a frame.
    pub(crate) fn frame(&self, frame: &Frame) -> io::Result<Vec<u8>> {
        self.file.read_range(frame.offset..frame.offset + u64::from(frame.len))
    }
}
