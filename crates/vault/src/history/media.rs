//! [`KeptFile`]: an image or a file that a chat linked to, as it was when the chat was seen. The list of them is an object of the
//! store; a chat that goes on has nearly the same list again, so it costs what was added.

use std::collections::{BTreeMap, HashMap};

use forklore_fs::{Identity, OpenFile, VaultPath, Vfs};
use forklore_store::{Id, Store, StoreError, Writer};
use serde::{Deserialize, Serialize};

use super::{HistoryError, units};
use crate::read::media::{self, Found, Linked, Links};

/// How large the segments of images and files are, about. Little of them is ever the same, so that small ones would be of no use.
const SEGMENT: usize = 1 << 20;

/// A file that was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptFile {
    /// Its name in the vault
    pub(super) file: VaultPath,
    /// The whole file, a document
    pub(super) content: Id,
    /// Its length
    bytes: u64,
    /// When it was last changed, in nanoseconds since 1970: one that still says the same is not read again
    modified: i64,
}

/// What is known of files in this process, by their names.
pub(super) type Known = HashMap<VaultPath, (Identity, Id)>;

/// Reads a list.
pub(super) fn read(store: &Store, list: &Id) -> Result<Vec<KeptFile>, HistoryError> {
    let bytes = match store.get(list) {
        // What is not there cannot be lost any more.
        Err(StoreError::Missing(_)) => return Ok(Vec::new()),
        bytes => bytes?,
    };
    let line =
        |line: &[u8]| serde_json::from_slice(line).map_err(|e| HistoryError::Unreadable(e.to_string()));
    bytes.split(|byte| *byte == b'\n').filter(|text| !text.is_empty()).map(line).collect()
}

/// A list as it is written, a file a line: what is added changes nothing else.
fn write(list: &[KeptFile]) -> Result<Vec<u8>, HistoryError> {
    let mut bytes = Vec::new();
    for kept in list {
        serde_json::to_writer(&mut bytes, kept).map_err(|e| HistoryError::Unreadable(e.to_string()))?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

/// One look at what a chat links to.
pub(super) struct Keeper<'a, 's> {
    pub(super) fs: &'a dyn Vfs,
    pub(super) writer: &'a mut Writer<'s>,
    pub(super) known: &'a mut Known,
    /// So many bytes of files are still read that are not known yet
    pub(super) room: u64,
}

impl Keeper<'_, '_> {
    /// Keeps what a chat links to, and gives the list; `None` if there is nothing. `before` is the list of the time before.
    pub(super) fn keep(&mut self, links: &Links, before: Option<&Id>) -> Result<Option<Id>, HistoryError> {
        if links.is_empty() {
            return Ok(None);
        }
        let old = before.map(|list| read(self.writer.store(), list)).transpose()?.unwrap_or_default();
        let old: BTreeMap<VaultPath, KeptFile> =
            old.into_iter().map(|kept| (kept.file.clone(), kept)).collect();
        let mut list: BTreeMap<VaultPath, KeptFile> = BTreeMap::new();
        for linked in links {
            if let Some(kept) = self.one(linked, &old)? {
                list.insert(kept.file.clone(), kept);
            }
        }
        let list: Vec<KeptFile> = list.into_values().collect();
        if list.is_empty() { Ok(None) } else { Ok(Some(self.writer.put(&write(&list)?, before)?)) }
    }

    fn one(
        &mut self,
        linked: &Linked,
        old: &BTreeMap<VaultPath, KeptFile>,
    ) -> Result<Option<KeptFile>, HistoryError> {
        let Some(Found { path, file, identity }) = media::find(self.fs, linked) else {
            // It is gone, and still linked to: what it was is known.
            return Ok(linked.places().find_map(|place| old.get(place)).cloned());
        };
        let before = old.get(&path);
        if let Some(same) =
            before.filter(|old| (old.bytes, old.modified) == (identity.len, identity.modified))
        {
            return Ok(Some(same.clone()));
        }
        let content = match self.known.get(&path) {
            Some((known, content)) if *known == identity => Some(*content),
            _ if identity.len > self.room => None,
            _ => {
                self.room -= identity.len;
                self.put(&*file, identity)?
            }
        };
        let Some(content) = content else { return Ok(before.cloned()) };
        self.known.insert(path.clone(), (identity, content));
        // Copying a vault changes the times of its files, and that is nothing new.
        Ok(Some(match before.filter(|old| old.content == content) {
            Some(same) => same.clone(),
            None => KeptFile { file: path, content, bytes: identity.len, modified: identity.modified },
        }))
    }

    /// A file as a document; nothing if it cannot be read, or is being written: the chat is recorded all the same.
    fn put(&mut self, file: &dyn OpenFile, identity: Identity) -> Result<Option<Id>, HistoryError> {
        let mut units = units::of_anything(identity.len);
        match self.writer.put_document(file, &mut units, SEGMENT, None) {
            Ok(content) => Ok(Some(content).filter(|_| file.identity().ok() == Some(identity))),
            Err(StoreError::Shrunk | StoreError::Content(_)) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }
}
