//! [`Vault`]: one vault, and what is known of it while the server runs. [`Call`] is a request about it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use forklore_api::{ErrorCode, Failure, LibraryCache, OpenVault};
use forklore_fs::{Hints, RealFs};
use forklore_journal::Recovered;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};

use crate::answer::{Refused, refused};
use crate::events::{Event, ForkTold, Telling, VaultChange};
use crate::lock::lock;
use crate::patience::Slow;
use crate::recording::Recording;
use crate::under_way::UnderWay;

/// How long a change is tried again that something [passing](passes) stands against, before that is told.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often it looks again.
const GLANCE: Duration = Duration::from_millis(50);
/// How often it is seen whether anybody still listens to changes on disk.
const GLIMPSE: Duration = Duration::from_secs(5);
/// How soon after one change on disk the next is told of.
const PAUSE: Duration = Duration::from_millis(400);
/// How many forks are remembered for pages that want to know what became of them.
const RECENT: usize = 20;
/// How many look at one vault at the same time. More would only wait for each other inside.
const LOOKING: usize = 6;
/// How many may wait for that, and how many for changing something.
const LOOKS: usize = 1000;
const CHANGES: usize = 64;
/// How many listen to the events of one vault.
const LISTENERS: usize = 64;

/// One vault, and what is known of it while the server runs.
pub(crate) struct Vault {
    pub(crate) root: PathBuf,
    /// What changes the vault goes through here, one after the other
    gate: Mutex<()>,
    /// How many may look, and how many change something, before they take a thread
    looking: Queue,
    changing: Queue,
    listening: Arc<Semaphore>,
    events: broadcast::Sender<Event>,
    recent: Mutex<VecDeque<ForkTold>>,
    /// Forks that are not made yet
    pub(crate) under_way: UnderWay,
    pub(crate) counter: AtomicU64,
    /// What was read of it last
    library_cache: LibraryCache,
    /// Pages that take long
    pub(crate) slow: Slow,
    /// Whether somebody looks at its files, for those who listen
    watched: AtomicBool,
    /// Keeps history
    pub(crate) recording: Recording,
}

impl Vault {
    pub(crate) fn new(root: PathBuf) -> Self {
        let events = broadcast::channel(256).0;
        Self {
            recording: Recording::of(root.clone(), events.clone()),
            root,
            gate: Mutex::default(),
            looking: Queue::new(LOOKING, LOOKS),
            changing: Queue::new(1, CHANGES),
            listening: Arc::new(Semaphore::new(LISTENERS)),
            library_cache: LibraryCache::default(),
            slow: Slow::default(),
            events,
            recent: Mutex::default(),
            under_way: UnderWay::default(),
            counter: AtomicU64::new(0),
            watched: AtomicBool::new(false),
        }
    }

    /// The name of its folder.
    pub(crate) fn name(&self) -> String {
        self.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Its files. Made anew for every request: what leads out of the vault is found out each time, not remembered.
    pub(crate) fn fs(&self) -> Result<Arc<RealFs>, Failure> {
        let fs = RealFs::new(&self.root).map_err(|e| {
            let message = format!("The vault {} cannot be opened: {e}", self.name());
            Failure::new(ErrorCode::Io, message, "Look whether the folder is still there.")
        })?;
        Ok(Arc::new(fs))
    }

    /// What happens from now on, for as long as the permit is kept.
    pub(crate) fn listen(&self) -> Result<(broadcast::Receiver<Event>, OwnedSemaphorePermit), Failure> {
        let permit = self.listening.clone().try_acquire_owned().map_err(|_| overloaded("listen to"))?;
        Ok((self.events.subscribe(), permit))
    }

    /// Tells of changes on disk, whoever makes them, as long as somebody listens. SillyTavern without the plugin, the command line
    /// and text editors do not say that they change something.
    pub(crate) fn watch(self: &Arc<Self>) {
        if self.watched.swap(true, Ordering::SeqCst) {
            return;
        }
        let vault = self.clone();
        std::thread::spawn(move || {
            let folders = ["chats", "group chats", "worlds", "characters", "groups"];
            let folders = folders.map(|name| vault.root.join(name));
            let hints = Hints::of(&folders.each_ref().map(PathBuf::as_path));
            loop {
                let changed = hints.wait(GLIMPSE);
                if vault.events.receiver_count() == 0 {
                    vault.watched.store(false, Ordering::SeqCst);
                    // Somebody who came in between saw that it was watched.
                    if vault.events.receiver_count() > 0 {
                        vault.watch();
                    }
                    return;
                }
                if changed {
                    vault.recording.nudge("files");
                    vault.tell(Event::Files);
                    std::thread::sleep(PAUSE);
                }
            }
        });
    }

    /// Tells everybody who listens.
    pub(crate) fn tell(&self, event: Event) {
        if let Event::Fork(fork) = &event {
            let mut recent = lock(&self.recent);
            recent.push_front(fork.clone());
            recent.truncate(RECENT);
        }
        // Nobody may be listening.
        let _nobody = self.events.send(event);
    }

    /// The last forks that SillyTavern saved, newest first.
    pub(crate) fn recent(&self, chat: Option<&str>) -> Vec<ForkTold> {
        let recent = lock(&self.recent);
        recent.iter().filter(|fork| chat.is_none_or(|chat| fork.chat == chat)).cloned().collect()
    }

    /// A number that no other thing here has.
    pub(crate) fn number(&self) -> u64 {
        self.counter.fetch_add(1, Ordering::Relaxed)
    }

    /// Finishes what was cut off, or never settled.
    pub(crate) fn settle(self: &Arc<Self>) {
        let call = Call { vault: self.clone(), request: None };
        let settled = call.change(|open| {
            open.recover();
            Ok(())
        });
        // What cannot be finished now is told by `check`.
        drop(settled);
    }
}

/// Those who wait for a vault. Each vault has its own, so that no vault waits for another one's work.
struct Queue {
    turns: Arc<Semaphore>,
    waiting: AtomicUsize,
    most: usize,
}

impl Queue {
    fn new(turns: usize, most: usize) -> Self {
        Self { turns: Arc::new(Semaphore::new(turns)), waiting: AtomicUsize::new(0), most }
    }

    /// A turn, after those who came before.
    async fn turn(&self) -> Result<OwnedSemaphorePermit, Failure> {
        /// Whoever goes away while waiting waits no longer.
        struct InLine<'a>(&'a AtomicUsize);
        impl Drop for InLine<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let _in_line = InLine(&self.waiting);
        if before >= self.most {
            return Err(overloaded("wait for"));
        }
        self.turns.clone().acquire_owned().await.map_err(|_| overloaded("wait for"))
    }
}

fn overloaded(what: &str) -> Failure {
    let message = format!("Too many requests {what} this vault already");
    refused(ErrorCode::Overloaded, message, "Try again in a moment; close pages that are not needed.")
}

/// What a request does with a vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// It looks
    Look,
    /// It changes something
    Change,
}

/// A request about a vault.
pub(crate) struct Call {
    pub(crate) vault: Arc<Vault>,
    /// What the request calls itself, for events that tell how far it is
    pub(crate) request: Option<String>,
}

impl Call {
    /// Does work on a thread of its own, when it is its turn: the engine is not asynchronous.
    pub(crate) async fn work<T: Send + 'static>(
        self,
        kind: Work,
        act: impl FnOnce(&Self) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Refused> {
        let queue = if kind == Work::Look { &self.vault.looking } else { &self.vault.changing };
        let turn = queue.turn().await?;
        let work = move || {
            let done = act(&self);
            drop(turn);
            done
        };
        // The engine does not panic; if it ever does, others are served all the same.
        let done = tokio::task::spawn_blocking(work).await.map_err(|_| Refused::Died)?;
        Ok(done?)
    }

    /// Asks without changing anything.
    pub(crate) fn ask<T>(
        &self,
        call: impl FnOnce(&OpenVault<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let progress = Telling::new(self.vault.events.clone(), self.request.clone());
        // Looking settles nothing, so nothing is told of it.
        let told = |_: &[Recovered]| {};
        let library_cache = Some(&self.vault.library_cache);
        call(&OpenVault {
            fs: self.vault.fs()?,
            progress: &progress,
            told: &told,
            settle: false,
            library_cache,
        })
    }

    /// Asks for a change: after the ones before it, and with some patience for another Forklore that is at work, and for saves.
    pub(crate) fn change<T>(
        &self,
        mut call: impl FnMut(&OpenVault<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let _turn = lock(&self.vault.gate);
        let progress = Telling::new(self.vault.events.clone(), self.request.clone());
        let told = |found: &[Recovered]| {
            if !found.is_empty() {
                self.vault.tell(Event::Change(VaultChange::vault()));
            }
        };
        let open = OpenVault {
            fs: self.vault.fs()?,
            progress: &progress,
            told: &told,
            settle: false,
            library_cache: None,
        };
        let start = Instant::now();
        loop {
            match call(&open) {
                Err(failure) if passes(&failure) && start.elapsed() < PATIENCE => {
                    std::thread::sleep(GLANCE);
                }
                done => {
                    self.vault.recording.nudge("Forklore");
                    return done;
                }
            }
        }
    }
}

/// Whether what stands against a change passes by itself: another Forklore is at work, or SillyTavern saved while we were. Nothing was
/// changed then, and what is asked for is worked out anew from what is there now.
pub(crate) fn passes(failure: &Failure) -> bool {
    matches!(failure.code, ErrorCode::Busy | ErrorCode::ChatChanged | ErrorCode::BookChanged)
}
