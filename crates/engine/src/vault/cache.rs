//! What was found out about a chat, kept in `.forklore/cache` so that an unchanged chat is not read again.
//!
//! Disposable: a file that is missing, torn, of another version or about another state of the chat is as good as none. Its
//! format has no promise to anybody; it is described here only.
//!
//! ```text
//! magic "fkl-idx\0"  u32 version  u64 x4 identity  u64 header length + 1, 0 for none  u64 facts length  u64 rows
//! header  facts and snapshots (postcard)  rows (start u64, len u32, hidden u32, id u64, moment 16 bytes)  blake3 of all before (32 bytes)
//! ```

use std::sync::{Arc, Mutex, PoisonError};

use forklore_core::story::{MessageId, Moment, Row, RowSource, Transcript};
use forklore_fs::{Identity, OpenFile, VaultPath, Vfs};

use super::layout;
use super::scan::Scan;

const MAGIC: &[u8; 8] = b"fkl-idx\0";
/// Raised whenever what a scan finds out changes.
const VERSION: u32 = 1;
const ROW: usize = 40;
const HEAD: usize = 8 + 4 + 8 * 7;

/// Chats below this size are as quickly read as remembered.
pub const WORTHWHILE: u64 = 64 << 10;

/// The folder of the cache.
pub fn folder() -> VaultPath {
    layout::folder(&format!("{}/cache", layout::FORKLORE))
}

/// The file in which what is known of a chat is remembered.
pub fn file_of(chat: &VaultPath) -> VaultPath {
    let name = blake3::hash(chat.as_str().as_bytes()).to_hex();
    folder().join(&format!("{}.idx", &name[..32])).unwrap_or_default()
}

/// What is remembered of a chat in this very state.
pub fn recall(fs: &dyn Vfs, chat: &VaultPath, identity: Identity) -> Option<Scan> {
    read(fs.open(&file_of(chat)).ok()?, identity)
}

/// Remembers a scan. A cache that cannot be written (a vault on read-only media) is no reason to fail.
pub fn remember(fs: &dyn Vfs, chat: &VaultPath, identity: Identity, scan: &Scan) {
    let path = file_of(chat);
    let Ok(temporary) = folder().join(&format!("{}.{}.tmp", path.name(), std::process::id())) else { return };
    let written = fs
        .make_dir(&folder())
        .and_then(|()| fs.create(&temporary, &encode(scan, identity)))
        .and_then(|()| fs.replace(&temporary, &path));
    if written.is_err() {
        // Left-overs would be harmless, but they need not stay.
        let _gone = fs.unlink(&temporary);
    }
}

fn encode(scan: &Scan, identity: Identity) -> Vec<u8> {
    let header = scan.header.as_deref();
    let rows = scan.transcript.len();
    let mut out = vec![0; HEAD];
    out.reserve(header.map_or(0, <[u8]>::len) + rows * ROW);
    out.extend_from_slice(header.unwrap_or_default());
    let start = out.len();
    // Plain data into memory: this cannot fail, and if it did, the cache would just not be read back.
    let mut out = postcard::to_extend(&(&scan.facts, &scan.snapshots), out).unwrap_or_default();
    let numbers = [
        identity.file,
        identity.len,
        identity.modified.cast_unsigned(),
        identity.changed.cast_unsigned(),
        header.map_or(0, |h| h.len() as u64 + 1),
        out.len().saturating_sub(start) as u64,
        rows as u64,
    ];
    let numbers = numbers.iter().flat_map(|n| n.to_le_bytes());
    let head = MAGIC.iter().copied().chain(VERSION.to_le_bytes()).chain(numbers);
    out.iter_mut().zip(head).for_each(|(byte, value)| *byte = value);
    for row in scan.transcript.rows_from(0) {
        out.extend_from_slice(&row.start.to_le_bytes());
        out.extend_from_slice(&row.len.to_le_bytes());
        out.extend_from_slice(&u32::from(row.hidden).to_le_bytes());
        out.extend_from_slice(&row.id.0.to_le_bytes());
        out.extend_from_slice(&row.moment.0);
    }
    let hash = blake3::hash(&out);
    out.extend_from_slice(hash.as_bytes());
    out
}

fn read(file: Box<dyn OpenFile>, identity: Identity) -> Option<Scan> {
    let head = file.read_range(0..HEAD as u64).ok()?;
    if &head[..8] != MAGIC || u32_at(&head, 8)? != VERSION {
        return None;
    }
    let mut numbers = [0u64; 7];
    for (i, number) in numbers.iter_mut().enumerate() {
        *number = u64_at(&head, 12 + i * 8)?;
    }
    let [file_number, len, modified, changed, header_len, facts_len, rows] = numbers;
    let (modified, changed) = (modified.cast_signed(), changed.cast_signed());
    let whole = (HEAD as u64).checked_add(header_len.saturating_sub(1))?.checked_add(facts_len)?;
    let whole = whole.checked_add(rows.checked_mul(ROW as u64)?)?.checked_add(32)?;
    if (Identity { file: file_number, len, modified, changed }) != identity
        || file.identity().ok()?.len != whole
    {
        return None;
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(&head);
    let mut at = HEAD as u64;
    let mut take = |n: u64, hasher: &mut blake3::Hasher| {
        let part = file.read_range(at..at + n).ok()?;
        hasher.update(&part);
        at += n;
        Some(part)
    };
    let header = match header_len.checked_sub(1) {
        Some(n) => Some(take(n, &mut hasher)?),
        None => None,
    };
    let (facts, snapshots) = postcard::from_bytes(&take(facts_len, &mut hasher)?).ok()?;
    // The table is the bulk of it, and few of its rows are ever asked for: it is only made sure that they are right.
    let table = at;
    let mut piece = vec![0; 64 << 10];
    let mut left = whole - 32 - table;
    while left > 0 {
        let part = usize::try_from(left).map_or(piece.len(), |left| left.min(piece.len()));
        let read = file.read_at(&mut piece[..part], whole - 32 - left).ok().filter(|read| *read == part)?;
        hasher.update(&piece[..read]);
        left -= read as u64;
    }
    let hash = file.read_range(whole - 32..whole).ok()?;
    if hash[..] != *hasher.finalize().as_bytes() {
        return None;
    }
    let rows = RememberedRows { file, table, count: usize::try_from(rows).ok()?, block: Mutex::default() };
    Some(Scan { header, transcript: Transcript::elsewhere(Arc::new(rows)), facts, snapshots })
}

/// The rows of a remembered transcript, read when they are asked for.
struct RememberedRows {
    /// Stays the same file, whatever becomes of its name.
    file: Box<dyn OpenFile>,
    table: u64,
    count: usize,
    /// The block that was read last, and its number.
    block: Mutex<Option<(usize, Vec<u8>)>>,
}

/// How many rows are read at once.
const BLOCK: usize = 256;

impl RowSource for RememberedRows {
    fn count(&self) -> usize {
        self.count
    }

    fn row(&self, n: usize) -> Row {
        let mut block = self.block.lock().unwrap_or_else(PoisonError::into_inner);
        if block.as_ref().is_none_or(|(number, _)| *number != n / BLOCK) {
            let first = n / BLOCK * BLOCK;
            let rows = BLOCK.min(self.count - first);
            let start = self.table + (first * ROW) as u64;
            // The whole table was read a moment ago: a disk that fails in between leaves rows that are like no others, so that
            // nothing is taken for the same that is not.
            let bytes = self.file.read_range(start..start + (rows * ROW) as u64).unwrap_or_default();
            *block = Some((n / BLOCK, bytes));
        }
        let row = block.as_ref().and_then(|(_, bytes)| read_row(bytes.get(n % BLOCK * ROW..)?));
        row.unwrap_or_else(|| Row { moment: Moment(blake3_of(n)), ..Row::default() })
    }
}

impl std::fmt::Debug for RememberedRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} remembered rows", self.count)
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

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
