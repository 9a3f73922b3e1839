//! [`Watch`]: recording while SillyTavern runs without the plugin.
//!
//! A sweep over all files' identities is the truth; what the system reports of changes is only a hint that a sweep is worth while.
//! So a lost report costs time and nothing else. A file or folder that cannot be read is looked at again by every sweep, and what history
//! knows of it stays: it is not gone.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use forklore_core::format::names::is_save_litter;
use forklore_fs::{Identity, NodeKind, PathError, VaultPath, Vfs};
use forklore_journal::layout;

use super::look::Depth;
use super::recorder::{Closed, Looked, Recorder};
use super::{By, HistoryError};
use crate::progress::Progress;

/// So much is recorded at once, in bytes of files: others who record are not to wait long.
const BATCH: u64 = 64 << 20;

/// Keeps recording.
pub struct Watch {
    fs: Arc<dyn Vfs>,
    recorder: Recorder,
    /// Files as the last sweep saw them
    swept: HashMap<VaultPath, Identity>,
}

impl Watch {
    /// Opens the history of a vault.
    pub fn open(fs: Arc<dyn Vfs>) -> Result<Self, HistoryError> {
        let recorder = Recorder::open(fs.clone())?;
        Ok(Self { fs, recorder, swept: HashMap::new() })
    }

    /// What it records with.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// One sweep over the vault: whatever has changed since the last one is recorded.
    pub fn sweep(&mut self, now: i64, progress: &dyn Progress) -> Result<Looked, HistoryError> {
        self.sweep_as(&By::Watch, now, progress)
    }

    /// The same, for somebody who knows more about what has changed.
    pub fn sweep_as(&mut self, by: &By, now: i64, progress: &dyn Progress) -> Result<Looked, HistoryError> {
        if self.recorder.heed_settings() {
            self.swept.clear();
        }
        let Files { there, closed } = files(&*self.fs)?;
        let mut changed: Vec<(VaultPath, Option<Identity>)> = Vec::new();
        for (file, identity) in &there {
            if self.swept.get(file) != Some(identity) && !self.recorder.is_known(file, Some(*identity)) {
                changed.push((file.clone(), Some(*identity)));
            }
        }
        // What is in a folder that cannot be read may be there as well as not.
        let is_closed =
            |file: &VaultPath| closed.iter().any(|closed| closed.path == *file || is_in(file, &closed.path));
        let gone = self.recorder.files().filter(|file| !there.contains_key(*file) && !is_closed(file));
        changed.extend(gone.map(|file| (file.clone(), None)));
        self.swept = there.into_iter().collect();
        // Those that are gone come last: a new name for an old chat is known by the chat it was.
        changed.sort_by_key(|(_, identity)| identity.map_or(i64::MAX, |identity| identity.modified));
        progress.start("Recording", changed.iter().filter_map(|(_, i)| *i).map(|i| i.len).sum());
        let looked = self.look_at(&changed, by, now, progress);
        progress.finish();
        let mut looked = looked.inspect_err(|_| self.swept.clear())?;
        looked.closed.extend(closed);
        // What was being written, or could not be read, is looked at again, whatever its identity says then.
        for file in looked.unfinished.iter().chain(looked.closed.iter().map(|closed| &closed.path)) {
            self.swept.remove(file);
        }
        Ok(looked)
    }

    /// Looks at files, as many at once as others can wait for.
    fn look_at(
        &mut self,
        changed: &[(VaultPath, Option<Identity>)],
        by: &By,
        now: i64,
        progress: &dyn Progress,
    ) -> Result<Looked, HistoryError> {
        let mut looked = Looked::default();
        let mut rest = changed;
        while !rest.is_empty() {
            let mut bytes = 0;
            let size =
                |(_, identity): &(VaultPath, Option<Identity>)| identity.map_or(0, |identity| identity.len);
            let fits = rest.iter().take_while(|file| {
                bytes += size(file);
                bytes <= BATCH
            });
            let (batch, later) = rest.split_at(fits.count().max(1));
            let names: Vec<VaultPath> = batch.iter().map(|(file, _)| file.clone()).collect();
            looked.add(self.recorder.look_on(&looked, &names, by, Depth::Whole, now)?);
            progress.advance(batch.iter().map(size).sum());
            rest = later;
        }
        Ok(looked)
    }
}

/// Whether a file is one that history looks at: a chat or a book.
pub fn is_watched(file: &VaultPath) -> bool {
    is_chat(file) || (is_below(file, layout::WORLDS, 1) && file.as_str().ends_with(".json"))
}

/// Whether a file is a chat, by its name.
pub fn is_chat(file: &VaultPath) -> bool {
    let chat = is_below(file, layout::CHATS, 2) || is_below(file, layout::GROUP_CHATS, 1);
    chat && file.as_str().ends_with(".jsonl")
}

fn is_below(file: &VaultPath, folder: &str, depth: usize) -> bool {
    let rest = file.as_str().strip_prefix(folder);
    rest.is_some_and(|rest| rest.starts_with('/') && rest.matches('/').count() == depth)
}

/// The chats and books of a vault.
#[derive(Debug, Default)]
pub struct Files {
    /// Those that are there
    pub there: BTreeMap<VaultPath, Identity>,
    /// Files and folders that cannot be looked at: nobody knows what is in those folders
    pub closed: Vec<Closed>,
}

/// Whether a file is in a folder, or further below it.
fn is_in(file: &VaultPath, folder: &VaultPath) -> bool {
    file.as_str().strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
}

/// The chats and books of a vault. Without the list of its stories nothing can be told; one story that is closed hides only itself.
pub fn files(fs: &dyn Vfs) -> Result<Files, PathError> {
    let mut found = Files::default();
    let chats = layout::folder(layout::CHATS);
    for node in fs.list(&chats)?.iter().filter(|node| node.kind == NodeKind::Dir) {
        if let Ok(dir) = chats.join(&node.name) {
            found.add(fs, &dir, ".jsonl");
        }
    }
    found.add(fs, &layout::folder(layout::GROUP_CHATS), ".jsonl");
    found.add(fs, &layout::folder(layout::WORLDS), ".json");
    Ok(found)
}

impl Files {
    fn add(&mut self, fs: &dyn Vfs, dir: &VaultPath, extension: &str) {
        let nodes = match fs.list(dir) {
            Ok(nodes) => nodes,
            Err(e) => return self.closed.push(Closed::new(dir, &e)),
        };
        for node in nodes {
            let wanted =
                node.kind == NodeKind::File && node.name.ends_with(extension) && !is_save_litter(&node.name);
            let Some(path) = dir.join(&node.name).ok().filter(|_| wanted) else { continue };
            match fs.identity(&path) {
                Ok(Some(identity)) => drop(self.there.insert(path, identity)),
                // One that went away in between is simply not there.
                Ok(None) => {}
                Err(e) => self.closed.push(Closed::new(&path, &e)),
            }
        }
    }
}
