//! What was found out about a chat, kept in `.forklore/cache` so that an unchanged chat is not read again.
//!
//! Disposable: a file that is missing, torn, of another version or about another state of the chat is as good as none. Its
//! format has no promise to anybody; it is described in `docs/formats/files.md`.
//!
//! There are three kinds of files. An entry is about one chat in one state: whose it is, the header, the facts. A pack (`pack`)
//! holds the bulk, rows and snapshots, of one pass over a chat. A small chat has its pack inside its entry. A large one has it in
//! a file of its own, because a fork needs no other: its entry says which part of its parent's pack it is ([`View`]). Entries of many small
//! chats that are read for the first time come into one file, a [`Bundle`].

mod bundle;
mod derive;
mod pack;
pub(crate) mod view;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use forklore_core::story::Transcript;
use forklore_fs::{Identity, OpenFile, Part, PathError, VaultPath, Vfs};
use forklore_journal::layout;
use forklore_journal::operation::FileId;

pub use self::bundle::Bundle;
pub(crate) use self::bundle::{MANY, MOST};
pub use self::derive::Made;
use self::pack::{Again, Pack, u32_at, u64_at};
pub use self::view::View;
use self::view::{INSIDE, PackId};
use crate::read::facts::Facts;
use crate::read::scan::{Scan, is_large, scan};

const MAGIC: &[u8; 8] = b"fkl-idx\0";
/// Raised whenever what a scan finds out changes.
const VERSION: u32 = 5;
const HEAD: usize = 8 + 4 + 8 * 4 + 8 * 3 + 16;
const HASH: u64 = 32;

/// Chats below this size are as quickly read as remembered.
pub const WORTHWHILE: u64 = 16 << 10;

/// The folder of the cache.
pub fn folder() -> VaultPath {
    layout::folder(&format!("{}/cache", layout::FORKLORE))
}

/// The file in which what is known of a chat is remembered.
pub fn file_of(chat: &VaultPath) -> VaultPath {
    let name = blake3::hash(chat.as_str().as_bytes()).to_hex();
    folder().join(&format!("{}.idx", &name[..32])).unwrap_or_default()
}

/// The file of a pack.
fn pack_file(id: PackId) -> VaultPath {
    folder().join(&format!("{:032x}.pack", u128::from_be_bytes(id))).unwrap_or_default()
}

/// Packs that were read: the chats of a family share them.
#[derive(Debug, Default)]
pub struct Packs(Mutex<HashMap<PackId, Option<Arc<Pack>>>>);

/// So many packs are kept open. The rows of others are read into memory: a system lets nobody have many files open.
const OPEN: usize = 64;

impl Packs {
    fn get(&self, fs: &dyn Vfs, id: PackId) -> Option<Arc<Pack>> {
        // One reads, the others wait for it: they need the same.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let open = known.len() < OPEN;
        let read = || {
            let pack = Pack::read(fs.open(&pack_file(id)).ok()?, 0)?;
            Some(Arc::new(if open { pack } else { pack.in_memory()? }))
        };
        known.entry(id).or_insert_with(read).clone()
    }
}

/// What is remembered of a chat in this very state.
pub fn recall(fs: &dyn Vfs, chat: &VaultPath, identity: Identity) -> Option<Scan> {
    let bundle = Bundle::open(fs);
    recall_as(fs, bundle.as_ref(), chat, identity, None, |id| {
        let pack = Pack::read(fs.open(&pack_file(id)).ok()?, 0)?;
        pack.in_memory().map(Arc::new)
    })
}

/// As [`recall`], for one of many chats, of which few rows are going to be asked for: how long this takes does not depend on how many
/// there are. That one of them is torn is seen late; then the chat is read again.
pub fn recall_with(
    fs: &Arc<dyn Vfs>,
    bundle: Option<&Bundle>,
    packs: &Packs,
    chat: &VaultPath,
    identity: Identity,
    group: bool,
) -> Option<Scan> {
    let (vault, path) = (fs.clone(), chat.clone());
    let again: Again = Box::new(move || {
        // Whoever comes next shall not find it.
        let _gone = vault.unlink(&file_of(&path));
        let file = vault.open(&path).ok()?;
        // As forks are guarded: a backup's hard link, which changes the time of change, makes no other content.
        let same = || file.identity().is_ok_and(|now| FileId::from(now) == FileId::from(identity));
        let scan = same().then(|| scan(&*file, group).ok()).flatten()?;
        same().then_some(scan.transcript)
    });
    recall_as(&**fs, bundle, chat, identity, Some(again), |id| packs.get(&**fs, id))
}

fn recall_as(
    fs: &dyn Vfs,
    bundle: Option<&Bundle>,
    chat: &VaultPath,
    identity: Identity,
    again: Option<Again>,
    pack: impl Fn(PackId) -> Option<Arc<Pack>>,
) -> Option<Scan> {
    // What is in the bundle is a small chat, with all of its rows.
    let inside = |_| None;
    let bundled = bundle.and_then(|bundle| read_entry(bundle.entry(chat)?, chat, identity, None, inside));
    bundled.or_else(|| read_entry(fs.open(&file_of(chat)).ok()?, chat, identity, again, pack))
}

fn read_entry(
    file: Box<dyn OpenFile>,
    chat: &VaultPath,
    identity: Identity,
    again: Option<Again>,
    pack: impl Fn(PackId) -> Option<Arc<Pack>>,
) -> Option<Scan> {
    let head = Head::read(&*file)?;
    if head.identity != identity {
        return None;
    }
    let known = head.rest(&*file)?;
    let pack = match head.pack {
        INSIDE => Arc::new(Pack::read(file, head.end())?.in_memory()?),
        id => pack(id)?,
    };
    let view = known.view.unwrap_or_else(|| pack.whole(head.pack));
    Some(Scan {
        header: known.header,
        transcript: Transcript::elsewhere(Arc::new(pack.rows(&view, chat, again)?)),
        facts: known.facts,
        snapshots: pack.snapshots(&view)?,
        view: (head.pack != INSIDE).then_some(view),
    })
}

/// Remembers a scan. A cache that cannot be written (a vault on read-only media) is no reason to fail.
///
/// Says which part of which pack it is, if others can refer to it.
pub fn remember(fs: &dyn Vfs, chat: &VaultPath, identity: Identity, scan: &Scan) -> Option<View> {
    let (pack, id) = pack::encode(scan);
    let header = scan.header.as_deref();
    if !is_large(identity.len) {
        write_entry(fs, chat, &entry(identity, header, &scan.facts, None, pack.len()), &pack).ok()?;
        return None;
    }
    let view = View::of(&scan.transcript, &scan.snapshots).in_pack(id);
    let file = pack_file(view.pack);
    fs.make_private_dir(&folder()).ok()?;
    // One that is there already, by this name, may be torn: else the chat would not have been read again.
    write(fs, &file, &[Part::Bytes(&pack)]).ok()?;
    drop(pack);
    remember_view(fs, chat, identity, header, &scan.facts, &view);
    Some(view)
}

/// What is remembered of a small chat, to be put into a bundle with others: under which name, and what.
pub(crate) fn small_entry(chat: &VaultPath, identity: Identity, scan: &Scan) -> (String, Vec<u8>) {
    let (pack, _) = pack::encode(scan);
    let mut bytes = entry(identity, scan.header.as_deref(), &scan.facts, None, pack.len());
    bytes.extend_from_slice(&pack);
    (file_of(chat).name().to_owned(), bytes)
}

/// Remembers small chats that are new to the cache: many in one file, of which those stay that are still `there`.
pub(crate) fn remember_small(fs: &dyn Vfs, new: BTreeMap<String, Vec<u8>>, there: &HashSet<String>) {
    // A cache that cannot be written only costs time.
    if new.len() >= MANY {
        let _not_kept = bundle::write_bundle(fs, new, &|name| there.contains(name));
        return;
    }
    for (name, bytes) in new {
        if let (Ok(file), Ok(())) = (folder().join(&name), fs.make_private_dir(&folder())) {
            let _not_kept = write(fs, &file, &[Part::Bytes(&bytes)]);
        }
    }
}

/// Remembers a chat as a part of a pack that is there.
pub(crate) fn remember_view(
    fs: &dyn Vfs,
    chat: &VaultPath,
    identity: Identity,
    header: Option<&[u8]>,
    facts: &Facts,
    view: &View,
) {
    let before = fs.open(&file_of(chat)).ok().and_then(|file| Head::read(&*file)).map(|head| head.pack);
    let written = write_entry(fs, chat, &entry(identity, header, facts, Some(view), 0), &[]);
    if let (Ok(()), Some(old)) = (written, before.filter(|old| *old != INSIDE && *old != view.pack)) {
        // Whatever goes wrong here: what is not removed now is removed by `gc`.
        let _left = forget_unless_needed(fs, old);
    }
}

/// Something that was found out about the vault as a whole, as it was kept under this name.
pub fn kept(fs: &dyn Vfs, name: &str) -> Option<Vec<u8>> {
    let bytes = fs.read(&folder().join(name).ok()?).ok()??;
    let (hash, rest) = bytes.split_first_chunk::<32>()?;
    (blake3::hash(rest).as_bytes() == hash).then(|| rest.to_vec())
}

/// Keeps something that was found out about the vault as a whole, if that can be done.
pub fn keep(fs: &dyn Vfs, name: &str, bytes: &[u8]) {
    let hash = blake3::hash(bytes);
    let parts = [Part::Bytes(hash.as_bytes()), Part::Bytes(bytes)];
    if let (Ok(file), Ok(())) = (folder().join(name), fs.make_private_dir(&folder())) {
        // A cache that cannot be written only costs time.
        let _not_kept = write(fs, &file, &parts);
    }
}

/// Drops what is remembered of all chats but some, by the names of their entries. For `gc`.
pub fn forget_all_but(fs: &dyn Vfs, entries: &HashSet<String>) -> Result<(), PathError> {
    for node in fs.list(&folder())? {
        if node.name.ends_with(".idx")
            && !entries.contains(&node.name)
            && let Ok(path) = folder().join(&node.name)
        {
            remove(fs, &path)?;
        }
    }
    bundle::forget_from_bundle(fs, &|name| entries.contains(name))?;
    let needed = needed_packs(fs)?;
    for node in fs.list(&folder())? {
        let id = node.name.strip_suffix(".pack").and_then(|name| u128::from_str_radix(name, 16).ok());
        if let Some(id) = id.map(u128::to_be_bytes).filter(|id| !needed.contains(id)) {
            remove(fs, &pack_file(id))?;
        }
    }
    Ok(())
}

fn forget_unless_needed(fs: &dyn Vfs, pack: PackId) -> Result<(), PathError> {
    if needed_packs(fs)?.contains(&pack) { Ok(()) } else { remove(fs, &pack_file(pack)) }
}

/// Removes a file of the cache. Everybody who reads the vault looks after the cache, so another may have been quicker.
fn remove(fs: &dyn Vfs, file: &VaultPath) -> Result<(), PathError> {
    fs.unlink(file).or_else(|e| if e.is_missing() { Ok(()) } else { Err(e) })
}

fn needed_packs(fs: &dyn Vfs) -> Result<Vec<PackId>, PathError> {
    let nodes = fs.list(&folder())?;
    let entries = nodes.iter().filter(|node| node.name.ends_with(".idx"));
    let heads = entries.filter_map(|node| {
        let file = fs.open(&folder().join(&node.name).ok()?).ok()?;
        Head::read(&*file)
    });
    Ok(heads.map(|head| head.pack).collect())
}

fn write_entry(fs: &dyn Vfs, chat: &VaultPath, entry: &[u8], pack: &[u8]) -> Result<(), PathError> {
    fs.make_private_dir(&folder())?;
    write(fs, &file_of(chat), &[Part::Bytes(entry), Part::Bytes(pack)])
}

/// Puts a file in place whole. Not synced: what a power cut tears is as good as missing.
fn write(fs: &dyn Vfs, path: &VaultPath, parts: &[Part<'_>]) -> Result<(), PathError> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let unique = (std::process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed));
    let temporary =
        folder().join(&format!("{}.{}.{}.tmp", path.name(), unique.0, unique.1)).unwrap_or_default();
    let written = fs.assemble(&temporary, parts).and_then(|()| fs.replace(&temporary, path));
    if written.is_err() {
        // Left-overs would be harmless, but they need not stay.
        let _gone = fs.unlink(&temporary);
    }
    written
}

/// The bytes of an entry, up to a pack inside of it.
fn entry(
    identity: Identity,
    header: Option<&[u8]>,
    facts: &Facts,
    view: Option<&View>,
    pack_len: usize,
) -> Vec<u8> {
    let mut out = vec![0; HEAD];
    out.extend_from_slice(header.unwrap_or_default());
    let start = out.len();
    // Plain data into memory: this cannot fail, and if it did, the cache would just not be read back.
    let mut out = postcard::to_extend(&(facts, view), out).unwrap_or_default();
    let numbers = [
        identity.file,
        identity.len,
        identity.modified.cast_unsigned(),
        identity.changed.cast_unsigned(),
        header.map_or(0, |h| h.len() as u64 + 1),
        out.len().saturating_sub(start) as u64,
        pack_len as u64,
    ];
    let numbers = numbers.iter().flat_map(|n| n.to_le_bytes());
    let head = MAGIC.iter().copied().chain(VERSION.to_le_bytes()).chain(numbers);
    let head = head.chain(view.map_or(INSIDE, |view| view.pack));
    out.iter_mut().zip(head).for_each(|(byte, value)| *byte = value);
    let hash = blake3::hash(&out);
    out.extend_from_slice(hash.as_bytes());
    out
}

/// The first bytes of an entry.
struct Head {
    bytes: Vec<u8>,
    identity: Identity,
    /// Length of the header, if there is one
    header: Option<u64>,
    /// Length of what else is known
    known: u64,
    pack: PackId,
}

/// What an entry knows of a chat, beyond what is in the pack.
struct Known {
    header: Option<Vec<u8>>,
    facts: Facts,
    view: Option<View>,
}

impl Head {
    fn read(file: &dyn OpenFile) -> Option<Self> {
        let bytes = file.read_range(0..HEAD as u64).ok()?;
        if &bytes[..8] != MAGIC || u32_at(&bytes, 8)? != VERSION {
            return None;
        }
        let number = |i: usize| u64_at(&bytes, 12 + i * 8);
        let identity = Identity {
            file: number(0)?,
            len: number(1)?,
            modified: number(2)?.cast_signed(),
            changed: number(3)?.cast_signed(),
        };
        let pack = *bytes.last_chunk()?;
        let head = Self { identity, header: number(4)?.checked_sub(1), known: number(5)?, pack, bytes };
        let inside = u64_at(&head.bytes, 12 + 6 * 8)?;
        let len = (HEAD as u64).checked_add(head.header.unwrap_or(0))?.checked_add(head.known)?;
        let len = len.checked_add(HASH)?.checked_add(inside)?;
        (file.identity().ok()?.len == len).then_some(head)
    }

    fn rest(&self, file: &dyn OpenFile) -> Option<Known> {
        let rest = file.read_range(HEAD as u64..self.end()).ok()?;
        let (rest, hash) = rest.split_at_checked(rest.len().checked_sub(32)?)?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.bytes).update(rest);
        if hash != hasher.finalize().as_bytes() {
            return None;
        }
        let (header, known) = rest.split_at_checked(usize::try_from(self.header.unwrap_or(0)).ok()?)?;
        let (facts, view) = postcard::from_bytes(known).ok()?;
        Some(Known { header: self.header.map(|_| header.to_vec()), facts, view })
    }

    /// Where the entry ends, and a pack inside of it begins.
    fn end(&self) -> u64 {
        HEAD as u64 + self.header.unwrap_or(0) + self.known + HASH
    }
}
