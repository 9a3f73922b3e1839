//! [`Context`]: what every command needs to know of its call, and how it asks the vault.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use forklore_api::{Failure, OpenVault, note};
use forklore_fs::{RealFs, Vfs};
use forklore_journal::Recovered;

use crate::find;
use crate::ui::{self, Bar};

/// What every command needs to know of its call.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) json: bool,
    pub(crate) dry_run: bool,
    pub(crate) vault: Option<PathBuf>,
}

impl Context {
    /// `vault` is where the call says that it is.
    pub(crate) fn new(vault: Option<&Path>, json: bool, dry_run: bool) -> Self {
        let named =
            vault.map(Path::to_owned).or_else(|| std::env::var_os("FORKLORE_VAULT").map(PathBuf::from));
        // An empty name is no name: that is how shells unset things.
        Self { json, dry_run, vault: named.filter(|dir| !dir.as_os_str().is_empty()) }
    }

    /// Opens the vault without reading it.
    pub(crate) fn vault(&self) -> Result<Arc<RealFs>, Failure> {
        Ok(Arc::new(find::open(self.vault.as_deref())?))
    }

    /// Whether somebody sits there who can be asked.
    pub(crate) fn is_interactive(&self) -> bool {
        !self.json && io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    /// Whether the user agrees: he said yes already, or is asked now. Anything but a yes is a no, and so is nobody there.
    pub(crate) fn agrees(&self, yes: bool, ask: impl FnOnce() -> io::Result<()>) -> bool {
        let mut answer = String::new();
        let asked = || ask().and_then(|()| io::stdin().lock().read_line(&mut answer)).is_ok();
        yes || (self.is_interactive()
            && asked()
            && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// Asks the vault something, and records what was done to it.
    pub(crate) fn ask<T>(
        &self,
        call: impl FnOnce(&OpenVault<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.ask_in(&self.vault()?, call)
    }

    /// As [`Context::ask`], for what puts a large file in the place of another: nobody waits until the system has let go of that.
    pub(crate) fn ask_to_replace<T>(
        &self,
        call: impl FnOnce(&OpenVault<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let real = self.vault()?;
        real.hold_removed();
        self.ask_in(&real, call)
    }

    /// As [`Context::ask`], of a vault that is open already.
    pub(crate) fn ask_in<T>(
        &self,
        real: &Arc<RealFs>,
        call: impl FnOnce(&OpenVault<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let told = |found: &[Recovered]| ui::recovered(self.json, found);
        let fs: Arc<dyn Vfs> = real.clone();
        let before = note::operations(&*fs);
        let bar = Bar::new(self.json);
        let answer = call(&OpenVault {
            fs: fs.clone(),
            progress: &bar,
            told: &told,
            settle: true,
            library_cache: None,
        })?;
        // What was done is done: that it could not be recorded is only told.
        if let Err(e) = note::since(&fs, &before, &|id| in_background(real, id).is_ok()) {
            ui::not_noted(self.json, &e.message);
        }
        Ok(answer)
    }
}

/// `CREATE_NO_WINDOW`
#[cfg(windows)]
const NO_WINDOW: u32 = 0x0800_0000;

/// Starts a process that records what an operation touched. It also lets go of the largest file that was removed, as its input, which it
/// does not read: that takes a while, and nobody should wait for it.
fn in_background(vault: &RealFs, id: &str) -> io::Result<()> {
    let mut command = std::process::Command::new(std::env::current_exe()?);
    command.arg("--vault").arg(vault.root()).args(["watch", "--operation", id]);
    let removed = vault.removed().into_iter().max_by_key(|file| file.metadata().map_or(0, |meta| meta.len()));
    command.stdin(removed.map_or_else(Stdio::null, Stdio::from));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    // Windows would open a window for it where there is none yet, as below SillyTavern.
    #[cfg(windows)]
    std::os::windows::process::CommandExt::creation_flags(&mut command, NO_WINDOW);
    command.spawn().map(drop)
}
