//! [`Manifest`]: a document as a list of [`Segment`]s; [`Cutter`]: where it is cut.
//!
//! Cuts depend on what units *are*, not on their bytes: of all units that could begin a segment, the one with the lowest hash of
//! its key does. And a unit that began a segment of the previous version begins one again. So a message that is hidden, or an
//! extension that writes something into every message, moves no cut, and every segment finds its earlier version.

use std::collections::{HashMap, VecDeque};

use forklore_fs::OpenFile;

use crate::bytes::{Out as _, Reader};
use crate::pack::BASES;
use crate::{Id, StoreError};

/// A document: its bytes are those of its segments, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Bytes of the document.
    pub len: u64,
    /// What it consists of, in order.
    pub segments: Vec<Segment>,
}

/// A stretch of a document that is one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// The object
    pub id: Id,
    /// Its bytes
    pub len: u32,
    /// How many units begin in it.
    pub units: u32,
    /// The key of the unit that it begins with; if it begins within one, what it begins after is mixed in.
    pub key: u64,
}

/// A part of a document that is not cut unless it is very large: a line of a chat, an entry of a book, or what is between two
/// entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// Its bytes.
    pub len: u64,
    /// A hash of what it is (which message, which entry), not of its bytes. 0 says that it is nothing by itself: no segment
    /// begins with it, if that can be helped.
    pub key: u64,
}

impl Manifest {
    /// The bytes of a manifest: what changes together is close together, so that differences are small.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(16 + 48 * self.segments.len());
        out.extend_from_slice(MAGIC);
        out.number(self.len);
        out.number(self.segments.len() as u64);
        for segment in &self.segments {
            out.id(&segment.id);
            out.number(u64::from(segment.len));
            out.number(u64::from(segment.units));
            out.extend_from_slice(&segment.key.to_le_bytes());
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        if reader.take(MAGIC.len())? != MAGIC {
            return None;
        }
        let len = reader.number()?;
        let count = reader.count()?;
        let mut segments = Vec::with_capacity(count);
        for _ in 0..count {
            let (id, len, units) = (reader.id()?, reader.small()?, reader.small()?);
            segments.push(Segment { id, len, units, key: u64::from_le_bytes(reader.array()?) });
        }
        let sum: u64 = segments.iter().map(|segment| u64::from(segment.len)).sum();
        (reader.is_empty() && sum == len).then_some(Self { len, segments })
    }
}

const MAGIC: &[u8; 8] = b"fldoc\0\0\x01";

/// How long segments are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    /// No shorter, unless it is the last one or a large unit follows.
    min: u64,
    /// Never longer.
    max: u64,
    /// So much there must be before a cut of the previous version is taken over.
    least: u64,
    /// Units beyond this are large: they are cut by themselves, into pieces of about `piece` bytes. What makes a message large is mostly
    /// something that other messages have, too, such as a copy of a whole book; small pieces find more of that.
    large: u64,
    piece: usize,
}

impl Sizes {
    pub(crate) fn around(target: usize) -> Self {
        let target = target.clamp(256, 16 << 20);
        let t = target as u64;
        Self { min: t / 4, max: t * 7 / 4, least: t / 8, large: t / 2, piece: target / 4 }
    }
}

/// Where the next segment ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) at: u64,
    pub(crate) len: u32,
    pub(crate) units: u32,
    pub(crate) key: u64,
    /// The numbers of the segments of the previous version that it was most likely made of.
    pub(crate) bases: [Option<usize>; BASES],
    /// The object, if it was found out on the way.
    pub(crate) known: Option<Id>,
}

/// Cuts a document into segments.
pub(crate) struct Cutter<'a> {
    content: &'a dyn OpenFile,
    units: &'a mut dyn Iterator<Item = Unit>,
    sizes: Sizes,
    before: Option<Before<'a>>,
    /// Units of the segment that is being made, and what they add up to.
    open: VecDeque<Unit>,
    bytes: u64,
    large: Option<Large>,
    /// A unit that was taken and has to wait until the open ones are a segment.
    waiting: Option<Unit>,
    /// Where the next segment begins.
    at: u64,
    /// Where the units taken so far end.
    taken: u64,
    len: u64,
    buffer: Vec<u8>,
}

/// What is left of a unit that is larger than a segment may be.
#[derive(Clone, Copy)]
struct Large {
    left: u64,
    unit: u64,
    /// The key of the next piece.
    key: u64,
    /// Whether that is the first.
    first: bool,
}

impl<'a> Cutter<'a> {
    pub(crate) fn new(
        content: &'a dyn OpenFile,
        len: u64,
        units: &'a mut dyn Iterator<Item = Unit>,
        sizes: Sizes,
        before: Option<&'a Manifest>,
    ) -> Self {
        Self {
            content,
            units,
            sizes,
            before: before.map(Before::new),
            open: VecDeque::new(),
            bytes: 0,
            large: None,
            waiting: None,
            at: 0,
            taken: 0,
            len,
            buffer: Vec::new(),
        }
    }

    fn take(&mut self) -> Result<Option<Unit>, StoreError> {
        if let Some(unit) = self.waiting.take() {
            return Ok(Some(unit));
        }
        loop {
            let rest = self.len - self.taken;
            let unit = match self.units.next() {
                Some(unit) => unit,
                None if rest > 0 => Unit { len: rest, key: 0 },
                None => return Ok(None),
            };
            if unit.len > rest {
                return Err(StoreError::Shrunk);
            }
            self.taken += unit.len;
            if unit.len > 0 {
                return Ok(Some(unit));
            }
        }
    }

    /// The first `count` open units become a segment.
    fn close(&mut self, count: usize) -> Cut {
        let key = self.open.front().map_or(0, |unit| unit.key);
        let next = self.open.get(count).or(self.waiting.as_ref()).map(|unit| unit.key);
        let len: u64 = self.open.drain(..count).map(|unit| unit.len).sum();
        self.bytes -= len;
        self.cut(len, count as u32, key, next)
    }

    fn cut(&mut self, len: u64, units: u32, key: u64, next: Option<u64>) -> Cut {
        let at = self.at;
        let bases = self.before.as_mut().map(|before| before.made_of(key, at, len, next)).unwrap_or_default();
        self.at += len;
        // No segment is longer than `max`, which is small.
        Cut { at, len: len as u32, units, key, bases, known: None }
    }

    /// How many of the open units, which are too many, make the next segment.
    fn choose(&self) -> usize {
        let (mut best, mut last, mut sum) = (None, 1, 0);
        for (i, (unit, next)) in self.open.iter().zip(self.open.iter().skip(1)).enumerate() {
            sum += unit.len;
            if sum > self.sizes.max {
                break;
            }
            last = i + 1;
            if sum >= self.sizes.min && next.key != 0 {
                let rank = (mix(next.key), i + 1);
                best = Some(best.map_or(rank, |best: (u64, usize)| best.min(rank)));
            }
        }
        best.map_or(last, |(_, count)| count)
    }

    fn advance(&mut self) -> Result<Option<Cut>, StoreError> {
        loop {
            if let Some(large) = self.large {
                return self.piece(large).map(Some);
            }
            if self.bytes > self.sizes.max {
                let count = self.choose();
                return Ok(Some(self.close(count)));
            }
            let Some(unit) = self.take()? else {
                let count = self.open.len();
                return Ok((count > 0).then(|| self.close(count)));
            };
            let is_large = unit.len > self.sizes.large;
            let began = || self.before.as_ref().is_some_and(|before| before.began(unit.key));
            if !self.open.is_empty() && (is_large || (self.bytes >= self.sizes.least && began())) {
                self.waiting = Some(unit);
                let count = self.open.len();
                return Ok(Some(self.close(count)));
            }
            if is_large {
                self.large = Some(Large { left: unit.len, unit: unit.key, key: unit.key, first: true });
            } else {
                self.bytes += unit.len;
                self.open.push_back(unit);
            }
        }
    }

    /// The next piece of a unit that is too large for one segment: it is cut where its bytes say so.
    fn piece(&mut self, large: Large) -> Result<Cut, StoreError> {
        let most = large.left.min(2 * self.sizes.piece as u64) as usize;
        self.buffer.resize(most, 0);
        if self.content.read_at(&mut self.buffer, self.at).map_err(StoreError::Content)? < most {
            return Err(StoreError::Shrunk);
        }
        // If it is what it was, it is cut where it was cut: no need to look for that.
        let same = self.before.as_ref().and_then(|before| {
            let segment = before.nearest(large.key).and_then(|number| before.segments.get(number))?;
            let bytes = self.buffer.get(..segment.len as usize)?;
            (Id::of(bytes) == segment.id).then_some((bytes.len(), segment.id))
        });
        let (len, known) = match same {
            Some((len, id)) if len == most || len >= self.sizes.piece / 2 => (len, Some(id)),
            _ => (content_cut(&self.buffer, self.sizes.piece), None),
        };
        let hash =
            self.buffer[len.saturating_sub(WINDOW)..len].iter().fold(0, |hash, byte| gear(hash, *byte));
        let key = mix(large.unit) ^ hash;
        let left = large.left - len as u64;
        self.large = (left > 0).then_some(Large { left, key, first: false, ..large });
        let next = self.large.map(|large| large.key);
        let cut = self.cut(len as u64, u32::from(large.first), large.key, next);
        Ok(Cut { known, ..cut })
    }
}

impl Iterator for Cutter<'_> {
    type Item = Result<Cut, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

/// The previous version: where its segments began.
struct Before<'a> {
    segments: &'a [Segment],
    starts: HashMap<u64, Vec<u32>>,
    offsets: Vec<u64>,
    /// The segment that was found last, and how far behind its place its new version begins.
    last: usize,
    shift: i64,
}

impl<'a> Before<'a> {
    fn new(manifest: &'a Manifest) -> Self {
        let mut starts: HashMap<u64, Vec<u32>> = HashMap::with_capacity(manifest.segments.len());
        let mut offsets = Vec::with_capacity(manifest.segments.len());
        let mut offset = 0;
        for (number, segment) in manifest.segments.iter().enumerate() {
            starts.entry(segment.key).or_default().push(number as u32);
            offsets.push(offset);
            offset += u64::from(segment.len);
        }
        Self { segments: &manifest.segments, starts, offsets, last: 0, shift: 0 }
    }

    fn began(&self, key: u64) -> bool {
        key != 0 && self.starts.contains_key(&key)
    }

    /// The segment that began with this key; of several the one nearest to where we are.
    fn nearest(&self, key: u64) -> Option<usize> {
        let same = self.starts.get(&key)?;
        same.iter().map(|number| *number as usize).min_by_key(|number| number.abs_diff(self.last + 1))
    }

    /// The segment that was at this place.
    fn at(&self, place: u64) -> Option<usize> {
        let place = place.saturating_add_signed(-self.shift);
        self.offsets.partition_point(|offset| *offset <= place).checked_sub(1)
    }

    /// The segments that one with this key, at this place, was most likely made of; `next` is the key of the one after it.
    fn made_of(&mut self, key: u64, at: u64, len: u64, next: Option<u64>) -> [Option<usize>; BASES] {
        let Some(first) = self.nearest(key).filter(|_| key != 0) else {
            return [self.at(at + len / 2), None];
        };
        self.last = first;
        self.shift = at as i64 - self.offsets.get(first).map_or(0, |offset| *offset as i64);
        // If what follows is what followed then, it is all of that one and nothing else.
        let follows = next.is_none() || self.segments.get(first + 1).map(|segment| segment.key) == next;
        // Else something was taken out that another one began with. What is left of that is the end of this one.
        let end = next.and_then(|next| self.nearest(next)).and_then(|number| number.checked_sub(1));
        let second = end.or_else(|| self.at(at + len - 1)).filter(|second| !follows && *second != first);
        [Some(first), second]
    }
}

/// Spreads a key over all bits.
const fn mix(key: u64) -> u64 {
    let mut z = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number for each byte, as good as random (splitmix64 from 0).
static GEAR: [u64; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = mix((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        i += 1;
    }
    table
};

/// So many bytes a hash covers: each doubling pushes the oldest one out.
const WINDOW: usize = 64;

fn gear(hash: u64, byte: u8) -> u64 {
    (hash << 1).wrapping_add(GEAR[byte as usize])
}

/// Where these bytes are cut, after about `target`: after the first few whose hash begins with enough zeros, but not too early.
fn content_cut(bytes: &[u8], target: usize) -> usize {
    let from = (target / 2).min(bytes.len());
    let mask = u64::MAX << (64 - from.max(2).ilog2());
    let mut hash = bytes[from.saturating_sub(WINDOW)..from].iter().fold(0, |hash, byte| gear(hash, *byte));
    for (i, byte) in bytes.iter().enumerate().skip(from) {
        hash = gear(hash, *byte);
        if hash & mask == 0 {
            return i + 1;
        }
    }
    bytes.len()
}
