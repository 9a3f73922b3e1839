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
use forklore_fs::Vfs;
use forklore_journal as journal;
use forklore_vault::{ChatIx, Library, Progress};

use crate::found::{Found, Stamp};
use crate::{ErrorCode, Failure, now};

/// How long a library is kept that nothing has changed, if it depends on the time what is found in it; in milliseconds.
const LONGEST: i64 = 60_000;

/// A library, and what was found out about it.
pub struct SharedLibrary {
    /// The library
    pub library: Library,
    /// Of its files, before they were read
    stamp: Stamp,
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
    /// Reads a library [`calmly`].
    pub(crate) fn read(fs: &Arc<dyn Vfs>, progress: &dyn Progress) -> Result<Self, Failure> {
        // Before the content: what changes in between makes a stamp that is never met again.
        let stamp = Stamp::of(fs);
        Ok(Self::new(read(fs, progress)?, stamp))
    }

    /// A library that was just read, and the stamp that its files had before.
    pub(crate) fn new(library: Library, stamp: Stamp) -> Self {
        Self { library, stamp, checked: OnceLock::new(), read: now(), shown: Mutex::default() }
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

    /// Nothing has changed, nothing is worked out; else it is for what has changed.
    fn whole(&self) -> &CheckReport {
        self.checked.get_or_init(|| {
            let (library, fs) = (&self.library, self.library.fs());
            if let Some(found) = Found::recall(&**fs, &self.stamp) {
                return found.report();
            }
            if !Found::is_worthwhile(library) {
                return check::check(library, None, now());
            }
            let report = check::check_changed(library, now());
            if !library.met_closed() && Stamp::of(fs) == self.stamp {
                Found::remember(&**fs, &self.stamp, &report, library.chats().len());
            }
            report
        })
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
    last: Option<Arc<SharedLibrary>>,
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

/// A look that is under way; when it is over, however it went, those who wait go on.
struct Look<'a> {
    library_cache: &'a LibraryCache,
    mine: u64,
    outcome: Option<Result<Arc<SharedLibrary>, Failure>>,
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        let outcome = self.outcome.take().unwrap_or_else(|| Err(abandoned()));
        let mut state = self.library_cache.state();
        state.under_way = false;
        state.over = self.mine;
        state.outcome = Some(outcome.clone());
        state.last = outcome.ok();
        drop(state);
        self.library_cache.looked.notify_all();
    }
}

fn abandoned() -> Failure {
    Failure::new(ErrorCode::Io, "The vault could not be read", "Try again.")
}

/// The last library if it still is what is on disk, else the one that is.
fn fresh(
    last: Option<Arc<SharedLibrary>>,
    fs: &Arc<dyn Vfs>,
    progress: &dyn Progress,
) -> Result<Arc<SharedLibrary>, Failure> {
    let stamp = Stamp::of(fs);
    // Some findings depend on the time: what has been waiting, what is left over. So does whether a disk that failed works again.
    let is_timed = |last: &SharedLibrary| {
        last.library.met_closed() || last.checked.get().is_some_and(|report| report.timed)
    };
    let is_young = |last: &SharedLibrary| (0..LONGEST).contains(&(now() - last.read));
    if let Some(last) = last.filter(|last| last.stamp == stamp && (!is_timed(last) || is_young(last))) {
        return Ok(last);
    }
    // The old one is gone by now, unless somebody works with it: a vault can be large.
    Ok(Arc::new(SharedLibrary::new(read(fs, progress)?, stamp)))
}
