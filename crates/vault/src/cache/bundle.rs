//! [`Bundle`]: what is remembered of many small chats, in one file. A vault of thousands of them is read for the first time in little more than
//! the time that reading takes: making a file for each takes longer than that.
//!
//! The file holds entries as they would stand in files of their own, behind a list of where each is. A chat that changes gets a file of
//! its own, and what the bundle has of it counts no more, because it is about another state of the chat.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::sync::Arc;

use forklore_fs::{Identity, OpenFile, Part, PathError, VaultPath, Vfs};

use super::{file_of, folder, u64_at, write};

const FILE: &str = "bundle";
const MAGIC: &[u8; 8] = b"fkl-bdl\0";
/// The mark, the length of the list, and a hash of it.
const HEAD: usize = 8 + 8 + 32;

/// So many chats that are new to the cache are worth a bundle; fewer get a file each.
pub(crate) const MANY: usize = 64;
/// So much is put into one at once; what is more gets files of its own.
pub(crate) const MOST: usize = 64 << 20;

fn file() -> VaultPath {
    folder().join(FILE).unwrap_or_default()
}

/// What is remembered of many small chats.
pub struct Bundle {
    file: Arc<dyn OpenFile>,
    file_identity: Identity,
    /// Where each entry is: its first byte and its length, by the name that its file would have
    places: BTreeMap<String, (u64, u64)>,
}

impl Bundle {
    /// The bundle of a vault; `None` if there is none, or if it is torn.
    pub fn open(fs: &dyn Vfs) -> Option<Self> {
        let file: Arc<dyn OpenFile> = fs.open(&file()).ok()?.into();
        let head = file.read_range(0..HEAD as u64).ok()?;
        let len = u64_at(&head, 8)?;
        let end = (HEAD as u64).checked_add(len)?;
        let file_identity = file.identity().ok()?;
        if &head[..8] != MAGIC || end > file_identity.len {
            return None;
        }
        let list = file.read_range(HEAD as u64..end).ok()?;
        if head[16..] != *blake3::hash(&list).as_bytes() {
            return None;
        }
        let lengths: Vec<(String, u64)> = postcard::from_bytes(&list).ok()?;
        let mut places = BTreeMap::new();
        let mut at = end;
        for (name, len) in lengths {
            places.insert(name, (at, len));
            at = at.checked_add(len)?;
        }
        Some(Self { file, file_identity, places })
    }

    /// The entry of a chat, as if it had a file of its own. It is read at once: all of it is going to be asked for, in small pieces.
    pub(super) fn entry(&self, chat: &VaultPath) -> Option<Box<dyn OpenFile>> {
        let (identity, bytes) = (self.file_identity, self.bytes(file_of(chat).name())?);
        Some(Box::new(Within { identity: Identity { len: bytes.len() as u64, ..identity }, bytes }))
    }

    /// Names of its entries.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.places.keys()
    }

    fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        let (start, len) = *self.places.get(name)?;
        self.file.read_range(start..start.checked_add(len)?).ok()
    }
}

/// Puts a bundle in place: entries that are new, and those of the one before that are `kept`.
pub(super) fn write_bundle(
    fs: &dyn Vfs,
    new: BTreeMap<String, Vec<u8>>,
    kept: &dyn Fn(&str) -> bool,
) -> Result<(), PathError> {
    let mut entries = new;
    if let Some(before) = Bundle::open(fs) {
        let known: HashSet<String> = entries.keys().cloned().collect();
        for name in before.names().filter(|name| kept(name) && !known.contains(*name)) {
            entries.extend(before.bytes(name).map(|bytes| (name.clone(), bytes)));
        }
    }
    let lengths: Vec<(&String, u64)> =
        entries.iter().map(|(name, bytes)| (name, bytes.len() as u64)).collect();
    // Plain data into memory: this cannot fail, and if it did, the cache would just not be read back.
    let list = postcard::to_allocvec(&lengths).unwrap_or_default();
    let mut head = MAGIC.to_vec();
    head.extend_from_slice(&(list.len() as u64).to_le_bytes());
    head.extend_from_slice(blake3::hash(&list).as_bytes());
    let mut parts = vec![Part::Bytes(&head), Part::Bytes(&list)];
    parts.extend(entries.values().map(|bytes| Part::Bytes(bytes)));
    fs.make_private_dir(&folder())?;
    write(fs, &file(), &parts)
}

/// Forgets entries of the bundle that are not `kept`. For `gc`.
pub(super) fn forget_from_bundle(fs: &dyn Vfs, kept: &dyn Fn(&str) -> bool) -> Result<(), PathError> {
    match Bundle::open(fs) {
        Some(bundle) if bundle.names().all(|name| kept(name)) => Ok(()),
        Some(_) => write_bundle(fs, BTreeMap::new(), kept),
        None => super::remove(fs, &file()),
    }
}

/// A part of a file, as a file.
struct Within {
    identity: Identity,
    bytes: Vec<u8>,
}

impl OpenFile for Within {
    fn identity(&self) -> io::Result<Identity> {
        Ok(self.identity)
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let left =
            usize::try_from(offset).ok().and_then(|offset| self.bytes.get(offset..)).unwrap_or_default();
        let len = left.len().min(buf.len());
        buf[..len].copy_from_slice(&left[..len]);
        Ok(len)
    }
}
