//! [`Shelf`]: the library that was read last, for as long as no file is another one.
//!
//! A page asks several times within a second, and a slider for each of its steps. Reading the vault is quick, looking whether anything
//! has changed is quicker: every file that a library rests on is asked for its identity, and nothing else is.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use forklore_core::check::Finding;
use forklore_engine::history;
use forklore_engine::usecase::check::{self, CheckReport};
use forklore_engine::vault::{cache, layout};
use forklore_engine::{Library, Progress, tx};
use forklore_fs::{Identity, NodeKind, PathError, VaultPath, Vfs};
use serde::{Deserialize, Serialize};

use crate::{Failure, now};

/// A library, and what was found out about it.
pub struct Shelved {
    /// The library
    pub library: Library,
    findings: OnceLock<(i64, Vec<Finding>)>,
}

/// So long, in milliseconds, what was found counts as found now: whether work has been waiting for too long depends on the time.
const FRESH: i64 = 5 * 60 * 1000;

/// So often a vault is read again in which others were at work meanwhile, and so long they are given each time.
const PATIENCE: usize = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// Looks at a vault as it is before or after whatever other Forklores do to it, and not in the middle. One that works for very long is not
/// waited for.
pub(crate) fn calmly<T>(fs: &dyn Vfs, look: impl Fn() -> Result<T, Failure>) -> Result<T, Failure> {
    for _ in 0..PATIENCE {
        let before = tx::work(fs)?;
        if !before.at_work {
            let seen = look()?;
            if tx::work(fs)?.is_calm(&before) {
                return Ok(seen);
            }
        }
        std::thread::sleep(PAUSE);
    }
    look()
}

/// Reads a vault [`calmly`].
pub(crate) fn read(fs: &Arc<dyn Vfs>, progress: &dyn Progress) -> Result<Library, Failure> {
    calmly(&**fs, || Ok(Library::load(fs.clone(), progress)?))
}

impl Shelved {
    /// A library that was just read.
    pub fn new(library: Library) -> Self {
        Self { library, findings: OnceLock::new() }
    }

    /// What `check` finds in all of it.
    pub fn findings(&self) -> &[Finding] {
        &self.findings.get_or_init(|| (now(), check::check(&self.library, None, now()).findings)).1
    }

    /// What `check` finds, in all of it or in one chat: what was found before, if that is not long ago.
    pub fn check(&self, only: Option<usize>) -> CheckReport {
        let fresh = |at: &i64| (0..FRESH).contains(&(now() - at));
        match only {
            Some(_) => check::check(&self.library, only, now()),
            None if self.findings.get().is_some_and(|(at, _)| !fresh(at)) => {
                check::check(&self.library, None, now())
            }
            None => CheckReport::of(self.findings().to_vec()),
        }
    }
}

/// The library that was read last.
#[derive(Default)]
pub struct Shelf {
    last: Mutex<Option<(blake3::Hash, Arc<Shelved>)>>,
}

impl Shelf {
    /// The library of these files: the last one, if none of them has changed.
    pub fn library(&self, fs: &Arc<dyn Vfs>, progress: &dyn Progress) -> Result<Arc<Shelved>, Failure> {
        // Before the content: what changes in between makes a stamp that is never met again.
        let stamp = stamp(fs)?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, shelved)) = last.as_ref().filter(|(of, _)| *of == stamp) {
            return Ok(shelved.clone());
        }
        // The old one goes first: a vault can be large.
        *last = None;
        let shelved = Arc::new(Shelved::new(read(fs, progress)?));
        *last = Some((stamp, shelved.clone()));
        Ok(shelved)
    }
}

/// Folders, and how deep they are looked into. History may be elsewhere.
const FOLDERS: [(&str, usize); 7] = [
    (layout::CHATS, 1),
    (layout::GROUP_CHATS, 0),
    (layout::GROUPS, 0),
    (layout::WORLDS, 0),
    (layout::CHARACTERS, 0),
    (layout::BACKUPS, 0),
    (".forklore/tx", 1),
];

/// Where what `check` found is kept, for whoever has no shelf.
const FINDINGS: &str = "findings";

/// What `check` found, and in how many chats.
#[derive(Serialize, Deserialize)]
pub(crate) struct Found {
    /// The version that found it: another one may know better
    version: String,
    pub(crate) chats: usize,
    pub(crate) findings: Vec<Finding>,
}

impl Found {
    /// What was found in files with this stamp.
    pub(crate) fn recall(fs: &dyn Vfs, stamp: &blake3::Hash) -> Option<Self> {
        let bytes = cache::kept(fs, FINDINGS)?;
        let (of, found) = bytes.split_first_chunk::<32>()?;
        let found: Self = (of == stamp.as_bytes()).then(|| serde_json::from_slice(found).ok())??;
        (found.version == env!("CARGO_PKG_VERSION")).then_some(found)
    }

    /// Keeps what was found, if looking again would take long, and if it does not depend on the time.
    pub(crate) fn remember(fs: &dyn Vfs, stamp: &blake3::Hash, report: &CheckReport, chats: usize) {
        if chats < WORTHWHILE || report.timed {
            return;
        }
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let found = Self { version, chats, findings: report.findings.clone() };
        let bytes = serde_json::to_vec(&found).unwrap_or_default();
        cache::keep(fs, FINDINGS, &[&stamp.as_bytes()[..], &bytes].concat());
    }
}

/// In smaller vaults looking takes no longer than remembering.
const WORTHWHILE: usize = 200;

/// A hash over the identities of all files that a library is read from.
pub(crate) fn stamp(fs: &Arc<dyn Vfs>) -> Result<blake3::Hash, PathError> {
    let mut hasher = blake3::Hasher::new();
    for file in [layout::SETTINGS, layout::CONFIG] {
        let file = layout::folder(file);
        // What cannot be looked at is no file that a library could have been read from.
        add(&file, fs.identity(&file).ok().flatten(), &mut hasher);
    }
    for (folder, depth) in FOLDERS {
        add_folder(&**fs, &layout::folder(folder), depth, &mut hasher)?;
    }
    for (file, identity) in history::files(fs) {
        add(&file, identity, &mut hasher);
    }
    Ok(hasher.finalize())
}

fn add_folder(
    fs: &dyn Vfs,
    dir: &VaultPath,
    depth: usize,
    hasher: &mut blake3::Hasher,
) -> Result<(), PathError> {
    for node in fs.list(dir)? {
        // A name that no path can have is none of ours.
        let Ok(path) = dir.join(&node.name) else { continue };
        match node.kind {
            NodeKind::Dir if depth > 0 => add_folder(fs, &path, depth - 1, hasher)?,
            NodeKind::File => add(&path, fs.identity(&path).ok().flatten(), hasher),
            NodeKind::Dir | NodeKind::Other => {
                hasher.update(path.as_str().as_bytes());
            }
        }
    }
    Ok(())
}

fn add(path: &VaultPath, identity: Option<Identity>, hasher: &mut blake3::Hasher) {
    hasher.update(path.as_str().as_bytes()).update(&[0]);
    if let Some(id) = identity {
        for number in [id.file, id.len, id.modified.cast_unsigned(), id.changed.cast_unsigned()] {
            hasher.update(&number.to_le_bytes());
        }
    }
}
