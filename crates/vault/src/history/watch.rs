//! [`Watch`]: recording while SillyTavern runs without the plugin.
//!
//! A sweep over all files' identities is the truth; what the system reports of changes is only a hint that a sweep is worth while.
//! So a lost report costs time and nothing else.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use forklore_core::format::names::is_save_litter;
use forklore_fs::{Identity, NodeKind, PathError, VaultPath, Vfs};
use forklore_journal::layout;

use super::look::Depth;
use super::recorder::{Looked, Recorder};
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
        let there = files(&*self.fs)?;
        let mut changed: Vec<(VaultPath, Option<Identity>)> = Vec::new();
        for (file, identity) in &there {
            if self.swept.get(file) != Some(identity) && !self.recorder.is_known(file, Some(*identity)) {
                changed.push((file.clone(), Some(*identity)));
            }
        }
        let gone = self.recorder.files().filter(|file| !there.contains_key(*file));
        changed.extend(gone.map(|file| (file.clone(), None)));
        self.swept = there.into_iter().collect();
        // Those that are gone come last: a new name for an old chat is known by the chat it was.
        changed.sort_by_key(|(_, identity)| identity.map_or(i64::MAX, |identity| identity.modified));
        progress.start("Recording", changed.iter().filter_map(|(_, i)| *i).map(|i| i.len).sum());
        let mut looked = Looked::default();
        let mut rest = changed.as_slice();
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
        progress.finish();
        // What was being written is looked at again, whatever its identity says then.
        for file in &looked.unfinished {
            self.swept.remove(file);
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
pub fn files(fs: &dyn Vfs) -> Result<BTreeMap<VaultPath, Identity>, PathError> {
    let mut found = BTreeMap::new();
    let mut add = |dir: &VaultPath, extension: &str| -> Result<(), PathError> {
        for node in fs.list(dir)? {
            let wanted =
                node.kind == NodeKind::File && node.name.ends_with(extension) && !is_save_litter(&node.name);
            let Some(path) = dir.join(&node.name).ok().filter(|_| wanted) else { continue };
            // One that went away in between is simply not there.
            if let Some(identity) = fs.identity(&path)? {
                found.insert(path, identity);
            }
        }
        Ok(())
    };
    let chats = layout::folder(layout::CHATS);
    for node in fs.list(&chats)?.iter().filter(|node| node.kind == NodeKind::Dir) {
        if let Ok(dir) = chats.join(&node.name) {
            add(&dir, ".jsonl")?;
        }
    }
    add(&layout::folder(layout::GROUP_CHATS), ".jsonl")?;
    add(&layout::folder(layout::WORLDS), ".json")?;
    Ok(found)
}
