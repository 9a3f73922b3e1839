//! [`Pack`]: the bulk of what a pass over a chat found, rows and snapshots, as it is remembered.

use std::sync::{Arc, Mutex, PoisonError};

use forklore_core::format::book::EntryImage;
use forklore_core::story::{MessageId, Moment, Row, RowSource};
use forklore_fs::OpenFile;

use super::view::View;
use super::{PackId, u32_at, u64_at};
use crate::vault::scan::{Front, Scan, Snapshots, StoredSighting};

const MAGIC: &[u8; 8] = b"fkl-pck\0";
const VERSION: u32 = 1;
const HEAD: usize = 8 + 4 + 8 * 4;
const ROW: usize = 40;

/// What a pass over a chat found.
pub(super) struct Pack {
    /// Stays the same file, whatever becomes of its name.
    file: Arc<dyn OpenFile>,
    /// Where in the file the rows are
    table: u64,
    rows: usize,
    sightings: Arc<[StoredSighting]>,
    images: Arc<[EntryImage]>,
}

/// Number, title and length of an entry.
type ImageHead<'a> = (Option<i64>, &'a str, usize);

/// A scan as a pack.
pub(super) fn encode(scan: &Scan) -> Vec<u8> {
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
    let lengths = [heads_at - HEAD, blob_at - heads_at, out.len() - blob_at, rows];
    for row in scan.transcript.rows_from(0) {
        out.extend_from_slice(&row.start.to_le_bytes());
        out.extend_from_slice(&row.len.to_le_bytes());
        out.extend_from_slice(&u32::from(row.hidden).to_le_bytes());
        out.extend_from_slice(&row.id.0.to_le_bytes());
        out.extend_from_slice(&row.moment.0);
    }
    let numbers = lengths.iter().flat_map(|n| (*n as u64).to_le_bytes());
    let head = MAGIC.iter().copied().chain(VERSION.to_le_bytes()).chain(numbers);
    out.iter_mut().zip(head).for_each(|(byte, value)| *byte = value);
    let hash = blake3::hash(&out);
    out.extend_from_slice(hash.as_bytes());
    out
}

/// What an encoded pack is called.
pub(super) fn id(pack: &[u8]) -> PackId {
    let hash = pack.last_chunk::<32>().copied().unwrap_or_default();
    std::array::from_fn(|i| hash[i])
}

impl Pack {
    /// Reads a pack that starts at some place of a file and goes on to its end; `None` if it is not whole.
    pub(super) fn read(file: Box<dyn OpenFile>, start: u64) -> Option<Self> {
        let head = file.read_range(start..start + HEAD as u64).ok()?;
        if &head[..8] != MAGIC || u32_at(&head, 8)? != VERSION {
            return None;
        }
        let number = |i: usize| u64_at(&head, 12 + i * 8);
        let [sightings, heads, blob, rows] = [number(0)?, number(1)?, number(2)?, number(3)?];
        let table = start.checked_add(HEAD as u64)?.checked_add(sightings)?.checked_add(heads)?;
        let table = table.checked_add(blob)?;
        let end = table.checked_add(rows.checked_mul(ROW as u64)?)?;
        if file.identity().ok()?.len != end.checked_add(32)? {
            return None;
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(&head);
        let mut at = start + HEAD as u64;
        let mut take = |n: u64, hasher: &mut blake3::Hasher| {
            let part = file.read_range(at..at + n).ok()?;
            hasher.update(&part);
            at += n;
            Some(part)
        };
        let sightings: Vec<StoredSighting> = postcard::from_bytes(&take(sightings, &mut hasher)?).ok()?;
        let heads = take(heads, &mut hasher)?;
        let images = images(&heads, take(blob, &mut hasher)?)?;
        // The table is the bulk of it, and few of its rows are ever asked for: it is only made sure that they are right.
        let mut piece = vec![0; 64 << 10];
        let mut at = table;
        while at < end {
            let part = usize::try_from(end - at).map_or(piece.len(), |left| left.min(piece.len()));
            let read = file.read_at(&mut piece[..part], at).ok().filter(|read| *read == part)?;
            hasher.update(&piece[..read]);
            at += read as u64;
        }
        if file.read_range(end..end + 32).ok()?[..] != *hasher.finalize().as_bytes() {
            return None;
        }
        let rows = usize::try_from(rows).ok()?;
        Some(Self { file: file.into(), table, rows, sightings: sightings.into(), images })
    }

    /// All of it.
    pub(super) fn whole(&self, id: PackId) -> View {
        View::whole(id, self.rows, self.sightings.len(), self.images.len())
    }

    /// The rows of a part of it.
    pub(super) fn rows(&self, view: &View) -> Option<RememberedRows> {
        let (file, table) = (self.file.clone(), self.table);
        (view.rows <= self.rows).then(|| RememberedRows {
            file,
            table,
            view: view.clone(),
            block: Mutex::default(),
        })
    }

    /// The snapshots of a part of it.
    pub(super) fn snapshots(&self, view: &View) -> Option<Snapshots> {
        let images = Front::new(self.images.clone(), view.images)?;
        Some(Snapshots { images, sightings: Front::new(self.sightings.clone(), view.sightings)? })
    }
}

impl std::fmt::Debug for Pack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} rows, {} sightings", self.rows, self.sightings.len())
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

/// The rows of a remembered transcript, read when they are asked for.
pub(super) struct RememberedRows {
    file: Arc<dyn OpenFile>,
    table: u64,
    view: View,
    /// The block that was read last, and its number.
    block: Mutex<Option<(usize, Vec<u8>)>>,
}

/// How many rows are read at once.
const BLOCK: usize = 256;

impl RowSource for RememberedRows {
    fn count(&self) -> usize {
        self.view.rows
    }

    fn row(&self, n: usize) -> Row {
        let mut block = self.block.lock().unwrap_or_else(PoisonError::into_inner);
        if block.as_ref().is_none_or(|(number, _)| *number != n / BLOCK) {
            let first = n / BLOCK * BLOCK;
            let rows = BLOCK.min(self.view.rows - first);
            let start = self.table + (first * ROW) as u64;
            // The whole table was read a moment ago: a disk that fails in between leaves rows that are like no others, so that
            // nothing is taken for the same that is not.
            let bytes = self.file.read_range(start..start + (rows * ROW) as u64).unwrap_or_default();
            *block = Some((n / BLOCK, bytes));
        }
        let row = block.as_ref().and_then(|(_, bytes)| read_row(bytes.get(n % BLOCK * ROW..)?));
        let row = row.map(|row| self.view.row(n, row));
        row.unwrap_or_else(|| Row { moment: Moment(blake3_of(n)), ..Row::default() })
    }
}

impl std::fmt::Debug for RememberedRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} remembered rows", self.view.rows)
    }
}

fn blake3_of(n: usize) -> [u8; 16] {
    let hash = blake3::hash(format!("row {n} could not be read").as_bytes());
    std::array::from_fn(|i| hash.as_bytes()[i])
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
    })
}
