//! [`Entry`]: what is remembered of one chat in one state, as it stands on disk. Its [`Front`], which every command needs, is made sure of by
//! itself; the rest of it, the header line and the pack of a chat that is not large, when it is asked for.

use std::io;
use std::sync::Arc;

use forklore_core::story::Moment;
use forklore_fs::{Identity, OpenFile};

use super::pack::{Pack, u32_at, u64_at};
use super::view::{INSIDE, PackId, View};
use crate::read::facts::Facts;
use crate::read::outline::Outline;

const MAGIC: &[u8; 8] = b"fkl-idx\0";
/// Raised whenever what a scan finds out changes.
const VERSION: u32 = 9;
/// The mark, the version, the identity of the chat, how long its parts are, and which pack it belongs to.
const HEAD: usize = 8 + 4 + 8 * 4 + 8 * 3 + 16;
const HASH: usize = 32;

/// An entry that is to be written, in parts that stand one after the other.
pub(crate) struct Entry {
    pub(super) front: Vec<u8>,
    pub(super) header: Vec<u8>,
    pub(super) pack: Vec<u8>,
}

impl Entry {
    /// `pack` is empty if it is in a file of its own.
    pub(super) fn new(
        identity: Identity,
        header: Option<&[u8]>,
        (outline, facts, view): (&Outline, &Facts, Option<&View>),
        (rows, at_scenes): (usize, &[[u8; 16]]),
        mut pack: Vec<u8>,
    ) -> Self {
        // Thousands of them wait to be written together.
        pack.shrink_to_fit();
        let line = header.unwrap_or_default();
        let known = (outline, facts, view, rows, *blake3::hash(line).as_bytes(), at_scenes);
        // Plain data into memory: this cannot fail, and if it did, the cache would just not be read back.
        let mut front = postcard::to_extend(&known, vec![0; HEAD]).unwrap_or_default();
        let numbers = [
            identity.file,
            identity.len,
            identity.modified.cast_unsigned(),
            identity.changed.cast_unsigned(),
            front.len().saturating_sub(HEAD) as u64,
            header.map_or(0, |line| line.len() as u64 + 1),
            pack.len() as u64,
        ];
        let numbers = numbers.iter().flat_map(|n| n.to_le_bytes());
        let head = MAGIC.iter().copied().chain(VERSION.to_le_bytes()).chain(numbers);
        let head = head.chain(view.map_or(INSIDE, |view| view.pack));
        front.iter_mut().zip(head).for_each(|(byte, value)| *byte = value);
        let hash = blake3::hash(&front);
        front.extend_from_slice(hash.as_bytes());
        Self { front, header: line.to_vec(), pack }
    }

    /// How many bytes it is.
    pub(crate) fn len(&self) -> usize {
        self.front.len() + self.header.len() + self.pack.len()
    }
}

/// What is known of a chat as it stands in an entry: [`Front`] without what its head tells.
type Known = (Outline, Facts, Option<View>, usize, [u8; HASH], Vec<[u8; 16]>);

/// The length of a header line, if there is one, and its hash.
pub(super) type HeaderLine = (Option<usize>, [u8; HASH]);

/// What every command needs to know of a chat.
pub(super) struct Front {
    pub(super) outline: Outline,
    pub(super) facts: Facts,
    /// The moments that scenes end with, in their order; none of a chat that has its rows elsewhere
    pub(super) at_scenes: Vec<Moment>,
    pub(super) view: Option<View>,
    /// How many messages it has
    pub(super) rows: usize,
    pub(super) header: HeaderLine,
    pub(super) pack: PackId,
}

/// The first bytes of an entry.
struct Head {
    identity: Identity,
    /// Length of what is known
    known: usize,
    /// Length of the header, if there is one
    header: Option<usize>,
    /// Length of a pack inside
    inside: usize,
    pack: PackId,
}

impl Head {
    fn read(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..HEAD)?;
        if &bytes[..8] != MAGIC || u32_at(bytes, 8)? != VERSION {
            return None;
        }
        let number = |i: usize| u64_at(bytes, 12 + i * 8);
        let length = |i: usize| usize::try_from(number(i)?).ok();
        let identity = Identity {
            file: number(0)?,
            len: number(1)?,
            modified: number(2)?.cast_signed(),
            changed: number(3)?.cast_signed(),
        };
        let (known, header, inside) = (length(4)?, length(5)?.checked_sub(1), length(6)?);
        Some(Self { identity, known, header, inside, pack: *bytes.last_chunk()? })
    }

    /// Where what every command needs ends.
    fn front(&self) -> Option<usize> {
        HEAD.checked_add(self.known)?.checked_add(HASH)
    }

    /// Where all of it ends.
    fn end(&self) -> Option<usize> {
        self.front()?.checked_add(self.header.unwrap_or(0))?.checked_add(self.inside)
    }
}

/// The pack that the entry in a file belongs to.
pub(super) fn pack_of(file: &dyn OpenFile) -> Option<PackId> {
    let head = Head::read(&file.read_range(0..HEAD as u64).ok()?)?;
    (file.identity().ok()?.len == head.end()? as u64).then_some(head.pack)
}

impl Front {
    /// Reads the entry in a file, if it is about a chat in this state: what every command needs, and the bytes of the rest.
    pub(super) fn open(file: &dyn OpenFile, identity: Identity) -> Option<(Self, Vec<u8>)> {
        let len = file.identity().ok()?.len;
        let mut bytes = file.read_range(0..len).ok()?;
        let head = Head::read(&bytes).filter(|head| head.identity == identity)?;
        if head.end()? != bytes.len() {
            return None;
        }
        let body = bytes.split_off(head.front()?);
        Some((Self::read(&bytes, identity)?, body))
    }

    /// Reads a front that may be torn.
    pub(super) fn read(bytes: &[u8], identity: Identity) -> Option<Self> {
        let (front, hash) = bytes.split_at_checked(bytes.len().checked_sub(HASH)?)?;
        if blake3::hash(front).as_bytes() != hash {
            return None;
        }
        Self::trust(bytes, identity)
    }

    /// Reads a front that is known to be whole, if it is about a chat in this state.
    pub(super) fn trust(bytes: &[u8], identity: Identity) -> Option<Self> {
        let head = Head::read(bytes)?;
        if head.identity != identity || head.front()? != bytes.len() {
            return None;
        }
        let known = bytes.get(HEAD..bytes.len() - HASH)?;
        let (outline, facts, view, rows, hash, at_scenes): Known = postcard::from_bytes(known).ok()?;
        let at_scenes = at_scenes.into_iter().map(Moment).collect();
        Some(Self { outline, facts, at_scenes, view, rows, header: (head.header, hash), pack: head.pack })
    }

    /// The header line, and the pack; `None` if one of them is torn.
    pub(super) fn open_body(
        &self,
        body: Vec<u8>,
        pack: impl Fn(PackId) -> Option<Arc<Pack>>,
    ) -> Option<(Option<Vec<u8>>, Arc<Pack>)> {
        match self.pack {
            INSIDE => open_inside(self.header, body),
            id => Some((header_of(self.header, &body)?, pack(id)?)),
        }
    }
}

/// The header line and the pack of a chat that is not large; `None` if one of them is torn.
pub(super) fn open_inside(line: HeaderLine, body: Vec<u8>) -> Option<(Option<Vec<u8>>, Arc<Pack>)> {
    let header = header_of(line, &body)?;
    let start = line.0.unwrap_or(0) as u64;
    let pack = Pack::read(Box::new(Within(body)), start)?.in_memory()?;
    Some((header, Arc::new(pack)))
}

fn header_of((len, hash): HeaderLine, body: &[u8]) -> Option<Option<Vec<u8>>> {
    let line = body.get(..len.unwrap_or(0))?;
    (*blake3::hash(line).as_bytes() == hash).then(|| len.map(|_| line.to_vec()))
}

/// Bytes, as a file.
struct Within(Vec<u8>);

impl OpenFile for Within {
    fn identity(&self) -> io::Result<Identity> {
        Ok(Identity { file: 0, len: self.0.len() as u64, modified: 0, changed: 0 })
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = usize::try_from(offset).ok().and_then(|offset| self.0.get(offset..)).unwrap_or_default();
        let len = left.len().min(buf.len());
        buf[..len].copy_from_slice(&left[..len]);
        Ok(len)
    }
}
