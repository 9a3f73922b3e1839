//! [`Pack`]: the bulk of what a pass over a chat found, snapshots and a [`Table`] of rows, as it is remembered.

use std::sync::{Arc, OnceLock};

use forklore_core::format::book::EntryImage;
use forklore_core::story::{MessageId, Moment, Row, RowSource, Transcript};
use forklore_fs::{OpenFile, VaultPath};

use super::view::{PackId, View};
use crate::read::scan::Scan;
use crate::read::snapshots::{Front, Snapshots, StoredSighting};

const MAGIC: &[u8; 8] = b"fkl-pck\0";
const VERSION: u32 = 5;
const HEAD: usize = 8 + 4 + 8 * 4;
const ROW: usize = 48;
/// What stands for a time that is not known.
const NEVER: i64 = i64::MIN;
/// How many rows are read and made sure of at once.
const BLOCK: usize = 256;
const BLOCK_HASH: usize = 16;

/// What a pass over a chat found.
pub(super) struct Pack {
    table: Table,
    sightings: Arc<[StoredSighting]>,
    images: Arc<[EntryImage]>,
}

/// Number, title and length of an entry.
type ImageHead<'a> = (Option<i64>, &'a str, usize);

/// A scan as a pack, and what it is called.
pub(super) fn encode(scan: &Scan) -> (Vec<u8>, PackId) {
    let Snapshots { images, sightings } = &scan.snapshots;
    let rows = scan.transcript.len();
    let blob: usize = images.iter().map(|image| image.raw().bytes().len()).sum();
    let mut out = Vec::with_capacity(HEAD + blob + rows * ROW + (64 << 10));
    out.resize(HEAD, 0);
    // Plain data into memory: this cannot fail, and if it did, the cache would just not be read back.
    let mut out = postcard::to_extend(&**sightings, out).unwrap_or_default();
    let heads_at = out.len();
    let heads: Vec<ImageHead<'_>> =
        images.iter().map(|image| (image.uid, &*image.comment, image.raw().bytes().len())).collect();
    out = postcard::to_extend(&heads, out).unwrap_or_default();
    let blob_at = out.len();
    images.iter().for_each(|image| out.extend_from_slice(image.raw().bytes()));
    let hashes_at = out.len();
    let lengths = [heads_at - HEAD, blob_at - heads_at, hashes_at - blob_at, rows];
    let numbers = lengths.iter().flat_map(|n| (*n as u64).to_le_bytes());
    let head = MAGIC.iter().copied().chain(VERSION.to_le_bytes()).chain(numbers);
    out.iter_mut().zip(head).for_each(|(byte, value)| *byte = value);
    let hash_at = hashes_at + rows.div_ceil(BLOCK) * BLOCK_HASH;
    let table_at = hash_at + 32;
    out.resize(table_at, 0);
    for row in scan.transcript.rows_from(0) {
        out.extend_from_slice(&row.start.to_le_bytes());
        out.extend_from_slice(&row.len.to_le_bytes());
        out.extend_from_slice(&u32::from(row.hidden).to_le_bytes());
        out.extend_from_slice(&row.id.0.to_le_bytes());
        out.extend_from_slice(&row.moment.0);
        out.extend_from_slice(&row.sent.unwrap_or(NEVER).to_le_bytes());
    }
    let (first, table) = out.split_at_mut(table_at);
    let (known, hash) = first.split_at_mut(hash_at);
    let hashes = table.chunks(BLOCK * ROW).flat_map(block_hash);
    known[hashes_at..].iter_mut().zip(hashes).for_each(|(byte, value)| *byte = value);
    hash.copy_from_slice(blake3::hash(known).as_bytes());
    let id = std::array::from_fn(|i| hash[i]);
    (out, id)
}

impl Pack {
    /// Reads a pack that starts at some place of a file and goes on to its end; `None` if it is not whole. Of its rows, those are read
    /// that are asked for.
    pub(super) fn read(file: Box<dyn OpenFile>, start: u64) -> Option<Self> {
        let head = file.read_range(start..start + HEAD as u64).ok()?;
        if &head[..8] != MAGIC || u32_at(&head, 8)? != VERSION {
            return None;
        }
        let number = |i: usize| u64_at(&head, 12 + i * 8);
        let [sightings, heads, blob, rows] = [number(0)?, number(1)?, number(2)?, number(3)?];
        let hashes = rows.div_ceil(BLOCK as u64).checked_mul(BLOCK_HASH as u64)?;
        let mut ends = [sightings, heads, blob, hashes];
        let mut end = start.checked_add(HEAD as u64)?;
        for part in &mut ends {
            end = end.checked_add(*part)?;
            *part = end;
        }
        let table_at = end.checked_add(32)?;
        if file.identity().ok()?.len != table_at.checked_add(rows.checked_mul(ROW as u64)?)? {
            return None;
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(&head);
        let mut at = start + HEAD as u64;
        let [sightings, heads, blob, hashes] = ends.map(|end| {
            let part = file.read_range(at..end).ok()?;
            hasher.update(&part);
            at = end;
            Some(part)
        });
        if file.read_range(end..table_at).ok()?[..] != *hasher.finalize().as_bytes() {
            return None;
        }
        let sightings: Vec<StoredSighting> = postcard::from_bytes(&sightings?).ok()?;
        let images = images(&heads?, blob?)?;
        let hashes = hashes?.as_chunks().0.to_vec();
        let blocks = hashes.iter().map(|_| OnceLock::new()).collect();
        let table =
            Table { file: Some(file), at: table_at, rows: usize::try_from(rows).ok()?, hashes, blocks };
        Some(Self { table, sightings: sightings.into(), images })
    }

    /// The same with all rows in memory, made sure of, and the file let go; `None` if one is torn.
    pub(super) fn in_memory(mut self) -> Option<Self> {
        let blocks = 0..self.table.blocks.len();
        blocks.into_iter().try_for_each(|block| self.table.block(block).map(drop))?;
        self.table.file = None;
        Some(self)
    }

    /// All of it.
    pub(super) fn whole(&self, id: PackId) -> View {
        View::whole(id, self.table.rows, self.sightings.len(), self.images.len())
    }

    /// The rows of a part of it, which is `chat`; `again` finds them where the pack turns out to be torn.
    pub(super) fn rows(
        self: &Arc<Self>,
        view: &View,
        chat: &VaultPath,
        again: Option<Again>,
    ) -> Option<RememberedRows> {
        let (pack, view, chat) = (self.clone(), view.clone(), chat.clone());
        let fits = view.rows <= self.table.rows;
        fits.then(|| RememberedRows { pack, view, chat, again, found: OnceLock::new() })
    }

    /// The snapshots of a part of it.
    pub(super) fn snapshots(&self, view: &View) -> Option<Snapshots> {
        let images = Front::new(self.images.clone(), view.images)?;
        Some(Snapshots { images, sightings: Front::new(self.sightings.clone(), view.sightings)? })
    }
}

impl std::fmt::Debug for Pack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} rows, {} sightings", self.table.rows, self.sightings.len())
    }
}

/// Entries out of their heads and one after the other in a buffer, which they share.
fn images(heads: &[u8], blob: Vec<u8>) -> Option<Arc<[EntryImage]>> {
    let heads: Vec<ImageHead<'_>> = postcard::from_bytes(heads).ok()?;
    let blob = Arc::new(blob);
    let mut at = 0usize;
    let image = |(uid, comment, len): ImageHead<'_>| {
        let range = at..at.checked_add(len)?;
        at = range.end;
        EntryImage::in_buffer(uid, comment, &blob, range)
    };
    heads.into_iter().map(image).collect()
}

/// The rows of a pack, in blocks that are read, and made sure of, when one of theirs is asked for.
struct Table {
    /// Stays the same file, whatever becomes of its name. `None` if all is in memory.
    file: Option<Box<dyn OpenFile>>,
    /// Where in the file
    at: u64,
    rows: usize,
    hashes: Vec<[u8; BLOCK_HASH]>,
    blocks: Vec<OnceLock<Option<Box<[u8]>>>>,
}

impl Table {
    /// A row; `None` if its block is torn.
    fn row(&self, n: usize) -> Option<Row> {
        read_row(self.block(n / BLOCK)?.get(n % BLOCK * ROW..)?)
    }

    fn block(&self, number: usize) -> Option<&[u8]> {
        let read = || {
            let rows = (number * BLOCK)..self.rows.min((number + 1) * BLOCK);
            let place = |row: usize| self.at + (row * ROW) as u64;
            let bytes = self.file.as_ref()?.read_range(place(rows.start)..place(rows.end)).ok()?;
            (block_hash(&bytes) == self.hashes[number]).then(|| bytes.into_boxed_slice())
        };
        self.blocks.get(number)?.get_or_init(read).as_deref()
    }
}

fn block_hash(rows: &[u8]) -> [u8; BLOCK_HASH] {
    let hash = blake3::hash(rows);
    std::array::from_fn(|i| hash.as_bytes()[i])
}

/// Reads a chat again, if it still is in the state that is remembered.
pub(super) type Again = Box<dyn Fn() -> Option<Scan> + Send + Sync>;

/// The rows of a remembered transcript.
pub(super) struct RememberedRows {
    pack: Arc<Pack>,
    view: View,
    chat: VaultPath,
    again: Option<Again>,
    /// What reading the chat again has found
    found: OnceLock<Transcript>,
}

impl RememberedRows {
    fn read_again(&self, n: usize) -> Option<Row> {
        if self.found.get().is_none() {
            // Two at once find the same.
            let _first = self.found.set(self.again.as_ref()?()?.transcript);
        }
        self.found.get()?.row(n)
    }
}

/// Where nothing helps: a row without a line, that is like no other, so that nothing is taken for the same that is not.
fn nothing(chat: &VaultPath, n: usize) -> Row {
    let hash = blake3::hash(format!("row {n} of {} could not be read", chat.as_str()).as_bytes());
    let (moment, rest) = hash.as_bytes().split_at(16);
    let id = MessageId(u64_at(rest, 0).unwrap_or_default());
    Row { moment: Moment(std::array::from_fn(|i| moment[i])), id, ..Row::default() }
}

/// The rows of a chat of which nothing can be read any more.
#[derive(Debug)]
pub(super) struct Nothing {
    pub(super) chat: VaultPath,
    pub(super) rows: usize,
}

impl RowSource for Nothing {
    fn count(&self) -> usize {
        self.rows
    }

    fn row(&self, n: usize) -> Row {
        nothing(&self.chat, n)
    }
}

impl RowSource for RememberedRows {
    fn count(&self) -> usize {
        self.view.rows
    }

    fn row(&self, n: usize) -> Row {
        let remembered = self.pack.table.row(n).map(|row| self.view.row(n, row));
        remembered.or_else(|| self.read_again(n)).unwrap_or_else(|| nothing(&self.chat, n))
    }
}

impl std::fmt::Debug for RememberedRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} remembered rows", self.view.rows)
    }
}

fn read_row(r: &[u8]) -> Option<Row> {
    let mut moment = [0; 16];
    moment.copy_from_slice(r.get(24..40)?);
    Some(Row {
        start: u64_at(r, 0)?,
        len: u32_at(r, 8)?,
        hidden: u32_at(r, 12)? != 0,
        id: MessageId(u64_at(r, 16)?),
        moment: Moment(moment),
        sent: Some(u64_at(r, 40)?.cast_signed()).filter(|sent| *sent != NEVER),
    })
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
