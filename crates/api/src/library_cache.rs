//! [`LibraryCache`]: the library that was read last, for as long as no file is another one.
//!
//! A page asks several times within a second, and a slider for each of its steps. Reading the vault is quick, looking whether anything
//! has changed is quicker: every file that a library rests on is asked for its identity, and nothing else is.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use forklore_core::check::Finding;
use forklore_engine::check::{self, CheckReport};
use forklore_engine::show::{self, ShowError, ShowReport};
use forklore_fs::{Identity, NodeKind, PathError, VaultPath, Vfs};
use forklore_journal as journal;
use forklore_journal::layout;
use forklore_vault::{ChatIx, Library, Progress, cache, history};
use serde::{Deserialize, Serialize};

use crate::{ErrorCode, Failure, now};

/// How long a library is kept that nothing has changed, if it depends on the time what is found in it; in milliseconds.
const LONGEST: i64 = 60_000;

/// A library, and what was found out about it.
pub struct SharedLibrary {
    /// The library
    pub library: Library,
    checked: OnceLock<CheckReport>,
    /// When it was read, in milliseconds since 1970
    read: i64,
    /// The states that were looked at last, newest first: a slider comes from where it was
    shown: Mutex<VecDeque<(Place, Arc<ShowReport>)>>,
}

/// A message of a chat.
type Place = (ChatIx, usize);
/// So many states are kept.
const STATES: usize = 8;

/// So often a vault is read again in which others were at work meanwhile, and so long they are given each time.
const TRIES: usize = 10;
const PAUSE: Duration = Duration::from_millis(20);
/// So long one who works is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// Looks at a vault as it is before or after whatever other Forklores do to it, and not in the middle. Who is disturbed again and again
/// makes the others wait while he looks `undisturbed`. One that works for very long is not waited for.
pub(crate) fn calmly<T>(
    fs: &dyn Vfs,
    look: impl Fn() -> Result<T, Failure>,
    undisturbed: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    for _ in 0..TRIES {
        let before = journal::work(fs)?;
        if !before.at_work {
            let seen = look()?;
            if journal::work(fs)?.is_calm(&before) {
                return Ok(seen);
            }
        }
        std::thread::sleep(PAUSE);
    }
    let _held = journal::hold(fs, PATIENCE);
    undisturbed()
}

/// Reads a vault [`calmly`].
pub(crate) fn read(fs: &Arc<dyn Vfs>, progress: &dyn Progress) -> Result<Library, Failure> {
    let look = || Ok(Library::load(fs.clone(), progress)?);
    calmly(&**fs, look, look)
}

impl SharedLibrary {
    /// A library that was just read.
    pub fn new(library: Library) -> Self {
        Self { library, checked: OnceLock::new(), read: now(), shown: Mutex::default() }
    }

    /// What `check` finds in all of it.
    pub fn findings(&self) -> &[Finding] {
        &self.whole().findings
    }

    /// What `check` says of one chat, or of all.
    pub fn check(&self, only: Option<ChatIx>) -> CheckReport {
        only.map_or_else(|| self.whole().clone(), |c| check::check(&self.library, Some(c), now()))
    }

    /// The state of a chat at a message, or at its last one.
    pub fn show(&self, chat: ChatIx, at: Option<usize>) -> Result<Arc<ShowReport>, ShowError> {
        let kept = || self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = at
            && let Some((_, state)) = kept().iter().find(|(place, _)| *place == (chat, at))
        {
            return Ok(state.clone());
        }
        let state = Arc::new(show::show(&self.library, chat, at)?);
        let mut shown = kept();
        shown.push_front(((chat, state.at), state.clone()));
        shown.truncate(STATES);
        Ok(state)
    }

    fn whole(&self) -> &CheckReport {
        self.checked.get_or_init(|| check::check(&self.library, None, now()))
    }
}

/// The library that was read last.
///
/// Whoever asks gets what was on disk after he asked: somebody looks then, for all who wait by that time. So two hundred readers are two
/// looks, and a vault that changes every second is read every second, not once for every reader.
#[derive(Default)]
pub struct LibraryCache {
    state: Mutex<State>,
    looked: Condvar,
}

#[derive(Default)]
struct State {
    /// How many looks were begun
    begun: u64,
    /// Which of them is under way
    under_way: bool,
    /// Number of the last one that is over, and what came of it
    over: u64,
    outcome: Option<Result<Arc<SharedLibrary>, Failure>>,
    last: Option<(blake3::Hash, Arc<SharedLibrary>)>,
}

impl LibraryCache {
    /// The library of these files: the last one, if none of them has changed.
    pub fn library(&self, fs: &Arc<dyn Vfs>, progress: &dyn Progress) -> Result<Arc<SharedLibrary>, Failure> {
        let mut state = self.state();
        // One that is under way may have seen the files before they became what the caller knows them to be.
        let enough = state.begun + 1;
        while state.over < enough {
            if state.under_way {
                state = self.looked.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.begun += 1;
            state.under_way = true;
            let (mine, last) = (state.begun, state.last.take());
            drop(state);
            let mut look = Look { library_cache: self, mine, outcome: None };
            look.outcome = Some(fresh(last, fs, progress));
            drop(look);
            state = self.state();
        }
        state.outcome.clone().unwrap_or_else(|| Err(abandoned()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Stamped = (blake3::Hash, Arc<SharedLibrary>);

/// A look that is under way; when it is over, however it went, those who wait go on.
struct Look<'a> {
    library_cache: &'a LibraryCache,
    mine: u64,
    outcome: Option<Result<Stamped, Failure>>,
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        let outcome = self.outcome.take().unwrap_or_else(|| Err(abandoned()));
        let mut state = self.library_cache.state();
        state.under_way = false;
        state.over = self.mine;
        state.outcome = Some(outcome.as_ref().map(|(_, shared)| shared.clone()).map_err(Clone::clone));
        state.last = outcome.ok();
        drop(state);
        self.library_cache.looked.notify_all();
    }
}

fn abandoned() -> Failure {
    Failure::new(ErrorCode::Io, "The vault could not be read", "Try again.")
}

/// The last library if it still is what is on disk, else the one that is.
fn fresh(last: Option<Stamped>, fs: &Arc<dyn Vfs>, progress: &dyn Progress) -> Result<Stamped, Failure> {
    // Before the content: what changes in between makes a stamp that is never met again.
    let stamp = stamp(fs)?;
    // Some findings depend on the time: what has been waiting, what is left over.
    let is_timed = |last: &SharedLibrary| last.checked.get().is_some_and(|report| report.timed);
    let is_young = |last: &SharedLibrary| (0..LONGEST).contains(&(now() - last.read));
    if let Some(last) = last.filter(|(of, last)| *of == stamp && (!is_timed(last) || is_young(last))) {
        return Ok(last);
    }
    // The old one is gone by now, unless somebody works with it: a vault can be large.
    Ok((stamp, Arc::new(SharedLibrary::new(read(fs, progress)?))))
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

/// Where what `check` found is kept, for whoever keeps no library.
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
