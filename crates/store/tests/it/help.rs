//! Documents for the tests: lines with keys, and what happens to them.

use std::io;
use std::sync::Arc;

use forklore_fs::{Identity, OpenFile, RealFs, SimFs, VaultPath, Vfs};
use forklore_store::{Id, Record, Store, StoreError, Unit};

/// The store's directory.
pub(crate) fn dir() -> VaultPath {
    VaultPath::new(".forklore/history").unwrap()
}

pub(crate) fn sim() -> Arc<SimFs> {
    Arc::new(SimFs::new())
}

pub(crate) fn real() -> (tempfile::TempDir, Arc<dyn Vfs>) {
    let folder = tempfile::tempdir().unwrap();
    let fs = RealFs::new(folder.path()).unwrap();
    (folder, Arc::new(fs))
}

pub(crate) fn open(fs: &Arc<impl Vfs + 'static>) -> Store {
    Store::open(fs.clone(), dir()).unwrap()
}

/// A file's content in memory.
pub(crate) struct Content(pub(crate) Vec<u8>);

impl OpenFile for Content {
    fn identity(&self) -> io::Result<Identity> {
        Ok(Identity { file: 0, len: self.0.len() as u64, modified: 0, changed: 0 })
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = self.0.get(offset as usize..).unwrap_or_default();
        let len = rest.len().min(buf.len());
        buf[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }
}

/// A document of lines, each with the key that it keeps when its text changes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Doc(pub(crate) Vec<(u64, String)>);

impl Doc {
    /// So many lines of text that does not compress to nothing.
    pub(crate) fn of(lines: u64, seed: u64) -> Self {
        Self((0..lines).map(|n| (seed << 32 | (n + 1), line(seed, n))).collect())
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|(_, text)| text.as_bytes().iter().copied().chain([b'\n'])).collect()
    }

    pub(crate) fn units(&self) -> Vec<Unit> {
        self.0.iter().map(|(key, text)| Unit { len: text.len() as u64 + 1, key: *key }).collect()
    }
}

pub(crate) fn line(seed: u64, n: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ n.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mut text = format!("{{\"name\":\"Ana\",\"is_system\":false,\"n\":{n},\"mes\":\"");
    for _ in 0..40 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text.push_str(&format!("{:x} ", state & 0xffff));
    }
    text + "\"}"
}

/// Puts a document and a record of it, and commits.
pub(crate) fn save(
    store: &mut Store,
    doc: &Doc,
    target: usize,
    previous: Option<&Id>,
) -> Result<Id, StoreError> {
    let mut writer = store.writer()?;
    let id = writer.put_document(&Content(doc.bytes()), &mut doc.units().into_iter(), target, previous)?;
    writer.record(id.to_string().as_bytes());
    writer.commit()?;
    Ok(id)
}

pub(crate) fn read(store: &Store, id: &Id) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    store.read_document(id, &mut bytes)?;
    Ok(bytes)
}

/// Bytes of all files of the store.
pub(crate) fn size(fs: &dyn Vfs) -> u64 {
    let packs = dir().join("packs").unwrap();
    let nodes = fs.list(&packs).unwrap();
    let len = |name: &str| fs.identity(&packs.join(name).unwrap()).unwrap().unwrap().len;
    nodes.iter().map(|node| len(&node.name)).sum()
}

/// What the records of these tests name: the document whose name they are.
pub(crate) fn roots(record: &Record<'_>) -> Vec<Id> {
    String::from_utf8_lossy(record.payload).parse().into_iter().collect()
}
