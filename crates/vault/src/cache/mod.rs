//! What was found out about a chat, kept in `.forklore/cache` so that an unchanged chat is not read again.
//!
//! Disposable: a file that is missing, torn, of another version or about another state of the chat is as good as none. Its
//! format has no promise to anybody; it is described in `docs/formats/files.md`.
//!
//! There are three kinds of files. An entry (`entry`) is about one chat in one state: first whose it is, the facts, and an outline of the header,
//! which every command needs; then the header. A pack (`pack`) holds the bulk, rows and snapshots, of one pass over a chat. A small chat has
//! its pack inside its entry. A large one has it in a file of its own, because a fork needs no other: its entry says which part of its parent's
//! pack it is ([`View`]). Entries of many small chats that are read for the first time come into one file, a [`Bundle`].

mod bundle;
mod derive;
mod entry;
mod pack;
pub(crate) mod view;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use forklore_core::story::{Moment, Transcript};
use forklore_fs::{Identity, Part, PathError, VaultPath, Vfs};
use forklore_journal::layout;
use forklore_journal::operation::FileId;

pub use self::bundle::Bundle;
pub(crate) use self::bundle::{MANY, MOST, file as bundle_file};
pub use self::derive::Made;
pub(crate) use self::entry::Entry;
use self::entry::Front;
use self::pack::{Again, Pack, u64_at};
pub use self::view::View;
use self::view::{INSIDE, PackId};
use crate::library::body::{Body, Later};
use crate::read::facts::Facts;
use crate::read::outline::Outline;
use crate::read::scan::{Scan, is_large, scan};
use crate::read::snapshots::Snapshots;

/// Chats below this size are as quickly read as remembered.
pub const WORTHWHILE: u64 = 16 << 10;

/// The folder of the cache.
pub fn folder() -> VaultPath {
    layout::folder(&format!("{}/cache", layout::FORKLORE))
}

/// The file in which what is known of a chat is remembered.
pub fn file_of(chat: &VaultPath) -> VaultPath {
    folder().join(&name_of(key_of(chat))).unwrap_or_default()
}

/// What an entry is found by: the first bytes of the hash of the chat's path.
pub(crate) type Key = [u8; 16];

pub(crate) fn key_of(chat: &VaultPath) -> Key {
    let hash = blake3::hash(chat.as_str().as_bytes());
    std::array::from_fn(|i| hash.as_bytes()[i])
}

/// The name of an entry's file.
fn name_of(key: Key) -> String {
    format!("{:032x}.idx", u128::from_be_bytes(key))
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
    let pack = |id| Pack::read(fs.open(&pack_file(id)).ok()?, 0)?.in_memory().map(Arc::new);
    let alone = || {
        let (front, body) = Front::open(&*fs.open(&file_of(chat)).ok()?, identity)?;
        whole(front, body, chat, pack)
    };
    let bundled = || {
        let (front, body) = Bundle::open(fs)?.entry(key_of(chat), identity)?;
        whole(front, body, chat, pack)
    };
    alone().or_else(bundled)
}

/// All of an entry; `None` if a part of it is torn.
fn whole(
    front: Front,
    body: Vec<u8>,
    chat: &VaultPath,
    pack: impl Fn(PackId) -> Option<Arc<Pack>>,
) -> Option<Scan> {
    let (header, pack) = front.open_body(body, pack)?;
    let view = front.view.unwrap_or_else(|| pack.whole(front.pack));
    Some(Scan {
        header,
        outline: front.outline,
        transcript: Transcript::elsewhere(Arc::new(pack.rows(&view, chat, None)?)),
        facts: front.facts,
        snapshots: pack.snapshots(&view)?,
        view: (front.pack != INSIDE).then_some(view),
    })
}

/// What is remembered of one of many chats. Its bulk is read when it is asked for.
pub(crate) struct Recalled {
    pub(crate) outline: Outline,
    pub(crate) facts: Facts,
    /// The moments that its scenes end with, if they are known beforehand
    pub(crate) at_scenes: Vec<Moment>,
    pub(crate) rows: usize,
    pub(crate) body: Arc<Later>,
    /// Where it is remembered, if others can be remembered as a part of it
    pub(crate) view: Option<View>,
}

/// Where things are remembered, for one who reads many chats.
pub(crate) struct Known {
    fs: Arc<dyn Vfs>,
    bundle: Option<Arc<Bundle>>,
    packs: Packs,
}

impl Known {
    pub(crate) fn of(fs: &Arc<dyn Vfs>) -> Self {
        let bundle = Bundle::open(&**fs).and_then(Bundle::with_fronts).map(Arc::new);
        Self { fs: fs.clone(), bundle, packs: Packs::default() }
    }

    /// Whether many small chats were never remembered together: then most of them are to be read.
    pub(crate) fn is_new(&self) -> bool {
        self.bundle.is_none()
    }

    /// What is remembered of a chat in this very state. That a part of its bulk is torn is seen late; then the chat is read again.
    pub(crate) fn recall(&self, chat: &VaultPath, identity: Identity, group: bool) -> Option<Recalled> {
        self.bundled(chat, identity, group).or_else(|| self.alone(chat, identity, group))
    }

    /// A small one, from the bundle: its bulk is not even read.
    fn bundled(&self, chat: &VaultPath, identity: Identity, group: bool) -> Option<Recalled> {
        let key = key_of(chat);
        let bundle = self.bundle.as_ref()?;
        let front = bundle.front(key, identity)?;
        let (source, vault, read) = (bundle.clone(), self.fs.clone(), self.again(chat, identity, group));
        let again = Box::new(move || {
            bundle::forget_bundle(&*vault);
            read()
        });
        Some(later(front, chat, move || source.body(key), again))
    }

    fn alone(&self, chat: &VaultPath, identity: Identity, group: bool) -> Option<Recalled> {
        let (front, body) = Front::open(&*self.fs.open(&file_of(chat)).ok()?, identity)?;
        let again = self.again(chat, identity, group);
        if front.pack == INSIDE {
            // It may be another file by the time it is asked for.
            return Some(later(front, chat, move || Some(body.clone()), again));
        }
        let (header, pack) = front.open_body(body, |id| self.packs.get(&*self.fs, id))?;
        let view = front.view?;
        let rows = Transcript::elsewhere(Arc::new(pack.rows(&view, chat, Some(again))?));
        let body = Body::new(header.unwrap_or_default(), rows, pack.snapshots(&view)?);
        let Front { outline, facts, at_scenes, .. } = front;
        Some(Recalled {
            outline,
            facts,
            at_scenes,
            rows: view.rows,
            body: Later::here(body),
            view: Some(view),
        })
    }

    /// Reads a chat again, if it still is in the state that is remembered. Whoever comes next shall not find what was torn.
    fn again(&self, chat: &VaultPath, identity: Identity, group: bool) -> Again {
        let (vault, path) = (self.fs.clone(), chat.clone());
        Box::new(move || {
            let _gone = vault.unlink(&file_of(&path));
            let file = vault.open(&path).ok()?;
            // As forks are guarded: a backup's hard link, which changes the time of change, makes no other content.
            let same = || file.identity().is_ok_and(|now| FileId::from(now) == FileId::from(identity));
            let scan = same().then(|| scan(&*file, group).ok()).flatten()?;
            same().then_some(scan)
        })
    }
}

/// A small chat, whose bulk is made sure of when it is asked for.
fn later(
    front: Front,
    chat: &VaultPath,
    bytes: impl Fn() -> Option<Vec<u8>> + Send + Sync + 'static,
    again: Again,
) -> Recalled {
    let Front { outline, facts, at_scenes, rows, header, .. } = front;
    let chat = chat.clone();
    let read = move || {
        let body = || {
            let (header, pack) = entry::open_inside(header, bytes()?)?;
            let view = pack.whole(INSIDE);
            let rows = Transcript::elsewhere(Arc::new(pack.rows(&view, &chat, None)?));
            Some(Body::new(header.unwrap_or_default(), rows, pack.snapshots(&view)?))
        };
        let torn = || {
            let nothing = || Transcript::elsewhere(Arc::new(pack::Nothing { chat: chat.clone(), rows }));
            again().map_or_else(|| Body::new(Vec::new(), nothing(), Snapshots::default()), Body::of)
        };
        body().unwrap_or_else(torn)
    };
    Recalled { outline, facts, at_scenes, rows, body: Later::new(read), view: None }
}

/// Remembers a scan. A cache that cannot be written (a vault on read-only media) is no reason to fail.
///
/// Says which part of which pack it is, if others can refer to it.
pub fn remember(fs: &dyn Vfs, chat: &VaultPath, identity: Identity, scan: &Scan) -> Option<View> {
    if !is_large(identity.len) {
        let (_, entry) = small_entry(chat, identity, scan);
        write_entry(fs, key_of(chat), &entry).ok()?;
        return None;
    }
    let (pack, id) = pack::encode(scan);
    let view = View::of(&scan.transcript, &scan.snapshots).in_pack(id);
    let file = pack_file(view.pack);
    fs.make_private_dir(&folder()).ok()?;
    // One that is there already, by this name, may be torn: else the chat would not have been read again.
    write(fs, &file, &[Part::Bytes(&pack)]).ok()?;
    drop(pack);
    remember_view(fs, chat, identity, scan.header.as_deref(), &scan.outline, &scan.facts, &view);
    Some(view)
}

/// What is remembered of a small chat, to be put into a bundle with others: under which key, and what.
pub(crate) fn small_entry(chat: &VaultPath, identity: Identity, scan: &Scan) -> (Key, Entry) {
    let (pack, _) = pack::encode(scan);
    let known = (&scan.outline, &scan.facts, None);
    let ends = scan.facts.scenes.iter().map(|(message, _)| scan.transcript.moment(*message));
    let at_scenes: Vec<[u8; 16]> = ends.map(|moment| moment.unwrap_or_default().0).collect();
    let rows = (scan.transcript.len(), &at_scenes[..]);
    (key_of(chat), Entry::new(identity, scan.header.as_deref(), known, rows, pack))
}

/// Remembers a few small chats that are new to the cache.
pub(crate) fn remember_small(fs: &dyn Vfs, new: BTreeMap<Key, Entry>) {
    for (key, entry) in new {
        // A cache that cannot be written only costs time.
        let _not_kept = write_entry(fs, key, &entry);
    }
}

/// Remembers many small chats that are new to the cache in one file, together with those of before that are still `there`. None of them can be a
/// part of another.
pub(crate) fn remember_many(fs: &dyn Vfs, new: &BTreeMap<Key, Entry>, there: &[VaultPath]) -> Option<View> {
    let there: HashSet<Key> = there.iter().map(key_of).collect();
    // A cache that cannot be written only costs time.
    let _not_kept = bundle::write_bundle(fs, new, &|key| there.contains(&key));
    None
}

/// Remembers a chat as a part of a pack that is there.
pub(crate) fn remember_view(
    fs: &dyn Vfs,
    chat: &VaultPath,
    identity: Identity,
    header: Option<&[u8]>,
    outline: &Outline,
    facts: &Facts,
    view: &View,
) {
    let before = fs.open(&file_of(chat)).ok().and_then(|file| entry::pack_of(&*file));
    let entry = Entry::new(identity, header, (outline, facts, Some(view)), (view.rows, &[]), Vec::new());
    let written = write_entry(fs, key_of(chat), &entry);
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
    bundle::forget_from_bundle(fs, &|key| entries.contains(&name_of(key)))?;
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
        entry::pack_of(&*file)
    });
    Ok(heads.collect())
}

fn write_entry(fs: &dyn Vfs, key: Key, entry: &Entry) -> Result<(), PathError> {
    fs.make_private_dir(&folder())?;
    let file = folder().join(&name_of(key)).unwrap_or_default();
    write(fs, &file, &[Part::Bytes(&entry.front), Part::Bytes(&entry.header), Part::Bytes(&entry.pack)])
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
