//! [`Bundle`]: what is remembered of many small chats, in one file. A vault of thousands of them is read for the first time in little more than
//! the time that reading takes: making a file for each takes longer than that.
//!
//! The file holds entries as they would stand in files of their own: behind a list of where each is come their fronts, which are read at once,
//! and then the rest of each. A chat that changes gets a file of its own, and what the bundle has of it counts no more, because it is about another
//! state of the chat.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use forklore_fs::{Identity, OpenFile, Part, PathError, VaultPath, Vfs};

use super::entry::{Entry, Front};
use super::{Key, folder, u64_at, write};

const FILE: &str = "bundle";
const MAGIC: &[u8; 8] = b"fkl-bd2\0";
/// The mark, the length of the list, a hash of it, and one of all fronts.
const HEAD: usize = 8 + 8 + 32 + 32;

/// So many chats that are new to the cache are worth a bundle; fewer get a file each.
pub(crate) const MANY: usize = 64;
/// So much is put into one at once; what is more gets files of its own.
pub(crate) const MOST: usize = 64 << 20;

/// The file of the bundle.
pub(crate) fn file() -> VaultPath {
    folder().join(FILE).unwrap_or_default()
}

/// What is remembered of many small chats.
pub struct Bundle {
    file: Box<dyn OpenFile>,
    places: HashMap<Key, Place>,
    /// Where all fronts are, and their hash
    fronts_at: Range<u64>,
    fronts_hash: [u8; 32],
    /// All fronts, once they were read and made sure of
    fronts: Vec<u8>,
}

/// Where an entry is in the file.
#[derive(Clone)]
struct Place {
    front: Range<u64>,
    body: Range<u64>,
}

/// An entry in the list: what it is found by, and how long its front and the rest of it are.
type Listed = (Key, u64, u64);

impl Bundle {
    /// The bundle of a vault; `None` if there is none, or if it is torn.
    pub fn open(fs: &dyn Vfs) -> Option<Self> {
        let file = fs.open(&file()).ok()?;
        let head = file.read_range(0..HEAD as u64).ok()?;
        let list = HEAD as u64..(HEAD as u64).checked_add(u64_at(&head, 8)?)?;
        let len = file.identity().ok()?.len;
        if &head[..8] != MAGIC || list.end > len {
            return None;
        }
        let list = file.read_range(list.clone()).ok().map(|bytes| (list.end, bytes))?;
        if head[16..48] != *blake3::hash(&list.1).as_bytes() {
            return None;
        }
        let (start, listed): (u64, Vec<Listed>) = (list.0, postcard::from_bytes(&list.1).ok()?);
        let fronts = listed.iter().try_fold(start, |end, (_, front, _)| end.checked_add(*front))?;
        let (mut front, mut body) = (start, fronts);
        let mut places = HashMap::with_capacity(listed.len());
        for (key, front_len, body_len) in listed {
            let place = Place { front: front..front + front_len, body: body..body.checked_add(body_len)? };
            (front, body) = (place.front.end, place.body.end);
            places.insert(key, place);
        }
        let fronts_hash = *head.last_chunk()?;
        let whole = body == len;
        whole.then(|| Self { file, places, fronts_at: start..fronts, fronts_hash, fronts: Vec::new() })
    }

    /// With all fronts, for one who asks for many; `None` if one is torn.
    pub(super) fn with_fronts(mut self) -> Option<Self> {
        self.fronts = self.file.read_range(self.fronts_at.clone()).ok()?;
        (*blake3::hash(&self.fronts).as_bytes() == self.fronts_hash).then_some(self)
    }

    /// The front of an entry, if it is about a chat in this state. Asked of one [`Bundle::with_fronts`].
    pub(super) fn front(&self, key: Key, identity: Identity) -> Option<Front> {
        let Place { front, .. } = self.places.get(&key)?;
        let place = |at: u64| usize::try_from(at - self.fronts_at.start).ok();
        Front::trust(self.fronts.get(place(front.start)?..place(front.end)?)?, identity)
    }

    /// The rest of an entry, which may be torn.
    pub(super) fn body(&self, key: Key) -> Option<Vec<u8>> {
        self.file.read_range(self.places.get(&key)?.body.clone()).ok()
    }

    /// An entry, if it is about a chat in this state: its front, and the rest of it, which may be torn.
    pub(super) fn entry(&self, key: Key, identity: Identity) -> Option<(Front, Vec<u8>)> {
        let front = self.file.read_range(self.places.get(&key)?.front.clone()).ok()?;
        Some((Front::read(&front, identity)?, self.body(key)?))
    }
}

/// Puts a bundle in place: entries that are new, and those of the one before that are `kept`.
pub(super) fn write_bundle(
    fs: &dyn Vfs,
    new: &BTreeMap<Key, Entry>,
    kept: &dyn Fn(Key) -> bool,
) -> Result<(), PathError> {
    let before = Bundle::open(fs).and_then(Bundle::with_fronts);
    let old =
        before.as_ref().map(|before| before.places.iter().map(move |(key, place)| (before, key, place)));
    let mut old: Vec<(&Bundle, &Key, &Place)> =
        old.into_iter().flatten().filter(|(_, key, _)| kept(**key) && !new.contains_key(*key)).collect();
    old.sort_by_key(|(_, key, _)| **key);
    let length = |range: &Range<u64>| range.end - range.start;
    let mut listed: Vec<Listed> = Vec::with_capacity(new.len() + old.len());
    let mut fronts: Vec<u8> = Vec::new();
    let mut bodies: Vec<Part<'_>> = Vec::with_capacity(2 * new.len() + old.len());
    for (key, entry) in new {
        listed.push((*key, entry.front.len() as u64, (entry.header.len() + entry.pack.len()) as u64));
        fronts.extend_from_slice(&entry.front);
        bodies.extend([Part::Bytes(&entry.header), Part::Bytes(&entry.pack)]);
    }
    for (before, key, place) in old {
        let at = |at: u64| usize::try_from(at - before.fronts_at.start).unwrap_or(usize::MAX);
        let front = before.fronts.get(at(place.front.start)..at(place.front.end)).unwrap_or_default();
        listed.push((*key, front.len() as u64, length(&place.body)));
        fronts.extend_from_slice(front);
        bodies.push(Part::Range(&*before.file, place.body.clone()));
    }
    // Plain data into memory: this cannot fail, and if it did, the cache would just not be read back.
    let list = postcard::to_allocvec(&listed).unwrap_or_default();
    let mut head = MAGIC.to_vec();
    head.extend_from_slice(&(list.len() as u64).to_le_bytes());
    head.extend_from_slice(blake3::hash(&list).as_bytes());
    head.extend_from_slice(blake3::hash(&fronts).as_bytes());
    let mut parts = vec![Part::Bytes(&head), Part::Bytes(&list), Part::Bytes(&fronts)];
    parts.append(&mut bodies);
    fs.make_private_dir(&folder())?;
    write(fs, &file(), &parts)
}

/// Forgets entries of the bundle that are not `kept`. For `gc`.
pub(super) fn forget_from_bundle(fs: &dyn Vfs, kept: &dyn Fn(Key) -> bool) -> Result<(), PathError> {
    match Bundle::open(fs) {
        Some(bundle) if bundle.places.keys().all(|key| kept(*key)) => Ok(()),
        Some(_) => write_bundle(fs, &BTreeMap::new(), kept),
        None => super::remove(fs, &file()),
    }
}

/// Takes the bundle away: something in it is torn.
pub(super) fn forget_bundle(fs: &dyn Vfs) {
    // What stays only costs time.
    let _left = super::remove(fs, &file());
}
