//! [`Vaults`]: the vaults that are open, each behind a token of its own. [`Vault`] is one of them, [`Call`] a request about it.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use forklore_api::{Desk, Failure, Kind, Shelf};
use forklore_engine::tx::{Recovered, folders};
use forklore_engine::vault::layout;
use forklore_fs::{Hints, RealFs, VaultPath, Vfs};
use tokio::sync::broadcast;

use crate::Setup;
use crate::answer::refused;
use crate::events::{Change, Event, ForkTold, Telling};
use crate::hook::{Ticket, Wish};
use crate::recording::Recording;
use crate::waits::Waiting;

/// How long a change waits for another Forklore that is at work, before it says `BUSY`.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often it looks again.
const GLANCE: Duration = Duration::from_millis(50);
/// How often it is seen whether anybody still listens to changes on disk.
const GLIMPSE: Duration = Duration::from_secs(5);
/// How soon after one change on disk the next is told of.
const PAUSE: Duration = Duration::from_millis(400);
/// How often left-overs of forks that nobody settled are looked for.
const SWEEP: Duration = Duration::from_secs(30);
/// How many forks are remembered for pages that want to know what became of them.
const RECENT: usize = 20;

/// The vaults that are open.
pub(crate) struct Vaults {
    /// Hashes of tokens, so that comparing them tells nobody how far he had guessed right
    open: Mutex<HashMap<blake3::Hash, (String, Arc<Vault>)>>,
    key: Option<blake3::Hash>,
    /// Name of the cookie that holds a browser's token. Cookies are for all ports of a machine, so it has the port in its name.
    pub(crate) cookie: String,
    /// The path that the cookie is for
    pub(crate) path: String,
    /// If there is no vault yet
    pub(crate) setup: Option<Setup>,
}

impl Vaults {
    pub(crate) fn new(key: Option<String>, port: u16, prefix: &str, setup: Option<Setup>) -> Self {
        let key = key.filter(|key| !key.is_empty()).map(|key| blake3::hash(key.as_bytes()));
        Self {
            open: Mutex::default(),
            key,
            cookie: format!("forklore-{port}"),
            path: format!("{prefix}/"),
            setup,
        }
    }

    /// Whether this is the key that opens vaults.
    pub(crate) fn is_key(&self, shown: &str) -> bool {
        self.key == Some(blake3::hash(shown.as_bytes()))
    }

    /// The vault that a token stands for.
    pub(crate) fn find(&self, token: &str) -> Option<Arc<Vault>> {
        let open = lock(&self.open);
        open.get(&blake3::hash(token.as_bytes())).map(|(_, vault)| vault.clone())
    }

    /// Opens a vault, or finds it open: its token and its name.
    pub(crate) fn open(&self, root: &Path) -> Result<(String, Arc<Vault>), Failure> {
        let no_vault = || {
            let message = format!("{} holds no SillyTavern chats", root.display());
            let hint = "Name a SillyTavern user folder, the one with \"chats\" and \"worlds\" in it.";
            refused("NO_VAULT", message, hint)
        };
        let fs = Some(root).filter(|root| root.is_absolute()).and_then(|root| RealFs::new(root).ok());
        let fs = fs.ok_or_else(no_vault)?;
        let entries = fs.list(&VaultPath::root())?;
        if !layout::is_vault(&entries.iter().map(|node| node.name.as_str()).collect::<Vec<_>>()) {
            return Err(no_vault());
        }
        let root = fs.root().to_owned();
        let (token, vault, fresh) = {
            let mut open = lock(&self.open);
            match open.values().find(|(_, vault)| vault.root == root) {
                Some((token, vault)) => (token.clone(), vault.clone(), false),
                None => {
                    let token = secret();
                    let vault = Arc::new(Vault::new(root));
                    open.insert(blake3::hash(token.as_bytes()), (token.clone(), vault.clone()));
                    (token, vault, true)
                }
            }
        };
        if fresh {
            vault.settle();
            vault.recording.nudge("opened");
        }
        Ok((token, vault))
    }

    fn all(&self) -> Vec<Arc<Vault>> {
        lock(&self.open).values().map(|(_, vault)| vault.clone()).collect()
    }
}

/// 244 random bits.
pub(crate) fn secret() -> String {
    format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple())
}

/// Takes a lock. A thread that died while it had it left nothing half done: what is in there is only ever replaced as a whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One vault, and what is known of it while the server runs.
pub(crate) struct Vault {
    root: PathBuf,
    /// What changes the vault goes through here, one after the other
    gate: Mutex<()>,
    events: broadcast::Sender<Event>,
    recent: Mutex<VecDeque<ForkTold>>,
    pub(crate) tickets: Mutex<HashMap<String, Ticket>>,
    pub(crate) wishes: Mutex<HashMap<String, Wish>>,
    pub(crate) waits: Mutex<Vec<Arc<Waiting>>>,
    pub(crate) counter: AtomicU64,
    /// What was read of it last
    shelf: Shelf,
    /// Whether somebody looks at its files, for those who listen
    watched: AtomicBool,
    /// Keeps history
    pub(crate) recording: Recording,
}

impl Vault {
    fn new(root: PathBuf) -> Self {
        Self {
            recording: Recording::of(root.clone()),
            root,
            gate: Mutex::default(),
            shelf: Shelf::default(),
            events: broadcast::channel(256).0,
            recent: Mutex::default(),
            tickets: Mutex::default(),
            wishes: Mutex::default(),
            waits: Mutex::default(),
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
            Failure::new(Kind::Io, "IO", message, "Look whether the folder is still there.")
        })?;
        Ok(Arc::new(fs))
    }

    /// What happens from now on.
    pub(crate) fn listen(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
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
    fn settle(self: &Arc<Self>) {
        let call = Call { vault: self.clone(), request: None };
        let settled = call.change(|desk| {
            desk.recover();
            Ok(())
        });
        // What cannot be finished now is told by `check`.
        drop(settled);
    }
}

/// Every now and then: forks whose chat never came are taken back, those whose chat did come are finished.
pub(crate) async fn sweep(vaults: Arc<Vaults>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        let vaults = vaults.all();
        let swept = tokio::task::spawn_blocking(move || {
            for vault in vaults {
                let is_clean = |fs: Arc<RealFs>| fs.list(&folders::tx()).is_ok_and(|left| left.is_empty());
                if !vault.fs().is_ok_and(is_clean) {
                    vault.settle();
                }
            }
        });
        // It is tried again anyway.
        drop(swept.await);
    }
}

/// A request about a vault.
pub(crate) struct Call {
    pub(crate) vault: Arc<Vault>,
    /// What the request calls itself, for events that tell how far it is
    pub(crate) request: Option<String>,
}

impl Call {
    /// Asks without changing anything.
    pub(crate) fn ask<T>(&self, call: impl FnOnce(&Desk<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
        let progress = Telling::new(&self.vault, self.request.clone());
        // Looking settles nothing, so nothing is told of it.
        let told = |_: &[Recovered]| {};
        let shelf = Some(&self.vault.shelf);
        call(&Desk { fs: self.vault.fs()?, progress: &progress, told: &told, settle: false, shelf })
    }

    /// Asks for a change: after the ones before it, and with some patience for another Forklore that is at work.
    pub(crate) fn change<T>(
        &self,
        mut call: impl FnMut(&Desk<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let _turn = lock(&self.vault.gate);
        let progress = Telling::new(&self.vault, self.request.clone());
        let told = |found: &[Recovered]| {
            if !found.is_empty() {
                self.vault.tell(Event::Change(Change::vault()));
            }
        };
        let desk =
            Desk { fs: self.vault.fs()?, progress: &progress, told: &told, settle: false, shelf: None };
        let start = Instant::now();
        loop {
            match call(&desk) {
                Err(failure) if failure.code == "BUSY" && start.elapsed() < PATIENCE => {
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
