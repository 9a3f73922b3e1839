//! [`Vaults`]: the vaults that are open, each behind a token of its own.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use forklore_api::{ErrorCode, Failure};
use forklore_fs::{RealFs, VaultPath, Vfs};
use forklore_journal::{folders, layout};
use tokio::sync::watch;

use crate::answer::refused;
use crate::doorman::Doorman;
use crate::lock::lock;
use crate::secret::secret;
use crate::setup::Setup;
use crate::st_reports;
use crate::vault::{Call, Vault};

/// How often left-overs of forks that nobody settled are looked for.
const SWEEP: Duration = Duration::from_secs(30);

/// The vaults that are open.
pub(crate) struct Vaults {
    /// Hashes of tokens, so that comparing them tells nobody how far he had guessed right
    open: Mutex<HashMap<blake3::Hash, (String, Arc<Vault>)>>,
    key: Option<String>,
    /// How browsers get in
    pub(crate) doorman: Doorman,
    /// Becomes true when the server is about to end: streams of events end then
    pub(crate) ending: watch::Sender<bool>,
    /// If there is no vault yet
    pub(crate) setup: Option<Setup>,
}

impl Vaults {
    pub(crate) fn new(key: Option<String>, port: u16, prefix: &str, setup: Option<Setup>) -> Self {
        let key = key.filter(|key| !key.is_empty());
        let (doorman, ending) = (Doorman::new(port, prefix), watch::Sender::new(false));
        Self { open: Mutex::default(), key, doorman, ending, setup }
    }

    /// Whether this is the key that opens vaults.
    pub(crate) fn is_key(&self, shown: &str) -> bool {
        let hash = |text: &str| blake3::hash(text.as_bytes());
        self.key.as_deref().is_some_and(|key| hash(key) == hash(shown))
    }

    /// The key, for the one who chooses a vault at the first visit.
    pub(crate) fn key_to_choose(&self) -> Option<String> {
        self.key.clone().filter(|_| self.setup.is_some())
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
            refused(ErrorCode::NoVault, message, hint)
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
            if self.key.is_some() && self.setup.is_none() {
                // Whoever manages the server tells what happens, and could not tell anybody while there was none.
                let call = Call { vault: vault.clone(), request: None };
                std::thread::spawn(move || drop(st_reports::catch_up(&call)));
            }
        }
        Ok((token, vault))
    }

    fn all(&self) -> Vec<Arc<Vault>> {
        lock(&self.open).values().map(|(_, vault)| vault.clone()).collect()
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
