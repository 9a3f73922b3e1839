//! [`Keeper`]s: who keeps every save, and how.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::saves::Files;
use super::{bytes_in, target_dir};
use xtask::tools;

/// Keeps the files as they are now, each time.
pub(super) trait Keeper {
    fn name(&self) -> &'static str;

    /// Keeps the files; says how much memory it took, if it can be told.
    fn keep(&self) -> Result<u64>;

    /// How many bytes everything that is kept takes.
    fn bytes(&self) -> Result<u64>;

    /// What one would do every now and then.
    fn clean_up(&self) -> Result<()> {
        Ok(())
    }
}

/// All that keep versions.
type Keepers = Vec<Box<dyn Keeper>>;

/// Those that there are on this machine, and why others are not.
pub(super) fn all(dir: &Path, files: &Files) -> Result<(Keepers, Vec<String>)> {
    let files = files.folder.clone();
    let mut missing = Vec::new();
    let store = Forklore { store: dir.join("forklore"), files: files.clone() };
    fs::create_dir_all(&store.store)?;
    let copies = Copies { folder: dir.join("backups"), files: files.clone() };
    fs::create_dir_all(&copies.folder)?;
    let mut all: Vec<Box<dyn Keeper>> = vec![Box::new(store), Box::new(copies)];
    match Git::new(dir.join("git"), files.clone()) {
        Ok(git) => all.push(Box::new(git)),
        Err(e) => missing.push(format!("git: {e:#}")),
    }
    match tools::restic().map_err(anyhow::Error::msg).and_then(|_| Restic::new(dir, files)) {
        Ok(restic) => all.push(Box::new(restic)),
        Err(e) => missing.push(format!("{e:#}")),
    }
    Ok((all, missing))
}

/// Runs a command; says how much memory it took.
fn run(command: &mut Command) -> Result<u64> {
    let mut timed = Command::new("/usr/bin/time");
    timed.args(["--format", "%M"]).arg(command.get_program()).args(command.get_args());
    for (key, value) in command.get_envs() {
        timed.env(key, value.unwrap_or_default());
    }
    if let Some(folder) = command.get_current_dir() {
        timed.current_dir(folder);
    }
    let output = timed.stdout(Stdio::null()).output();
    let output = output.context("GNU time is needed to see the memory: apt-get install time")?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{:?} failed: {text}", command.get_program());
    }
    let kilobytes: u64 =
        text.lines().last().unwrap_or_default().trim().parse().context("GNU time said no number")?;
    Ok(kilobytes * 1024)
}

/// Forklore's store.
struct Forklore {
    store: PathBuf,
    files: PathBuf,
}

impl Keeper for Forklore {
    fn name(&self) -> &'static str {
        "Forklore"
    }

    fn keep(&self) -> Result<u64> {
        run(Command::new(target_dir().join("release/forklore-bench"))
            .arg("keep")
            .arg(&self.store)
            .arg(&self.files))
    }

    fn bytes(&self) -> Result<u64> {
        bytes_in(&self.store)
    }
}

/// What SillyTavern does with chats: a copy of the whole file for each save. (It keeps the last fifty.)
struct Copies {
    folder: PathBuf,
    files: PathBuf,
}

impl Keeper for Copies {
    fn name(&self) -> &'static str {
        "whole copies"
    }

    fn keep(&self) -> Result<u64> {
        // Only what was saved since.
        let saved = |path: &Path| fs::metadata(path)?.modified();
        let mut last = None;
        for node in fs::read_dir(&self.folder)? {
            last = last.max(Some(saved(&node?.path())?));
        }
        let number = fs::read_dir(&self.folder)?.count();
        for (n, node) in fs::read_dir(&self.files)?.enumerate() {
            let file = node?.path();
            if Some(saved(&file)?) > last {
                fs::copy(file, self.folder.join(format!("{number}-{n}")))?;
            }
        }
        Ok(0)
    }

    fn bytes(&self) -> Result<u64> {
        bytes_in(&self.folder)
    }
}

/// A commit for each save.
struct Git {
    repository: PathBuf,
    files: PathBuf,
}

impl Git {
    fn new(repository: PathBuf, files: PathBuf) -> Result<Self> {
        fs::create_dir_all(&repository)?;
        let git = Self { repository, files };
        run(git.command().args(["init", "--quiet"]))?;
        for (key, value) in [("user.name", "bench"), ("user.email", "bench@example.org"), ("gc.auto", "0")] {
            run(git.command().args(["config", key, value]))?;
        }
        Ok(git)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command.arg("--git-dir").arg(self.repository.join(".git")).arg("--work-tree").arg(&self.files);
        command.current_dir(&self.files);
        command
    }
}

impl Keeper for Git {
    fn name(&self) -> &'static str {
        "git"
    }

    fn keep(&self) -> Result<u64> {
        let memory = run(self.command().args(["add", "--all"]))?;
        run(self.command().args(["commit", "--quiet", "--allow-empty", "--message", "save"]))?;
        Ok(memory)
    }

    fn bytes(&self) -> Result<u64> {
        bytes_in(&self.repository)
    }

    fn clean_up(&self) -> Result<()> {
        run(self.command().args(["gc", "--quiet", "--prune=now"])).map(drop)
    }
}

/// A backup for each save.
struct Restic {
    repository: PathBuf,
    cache: PathBuf,
    files: PathBuf,
}

impl Restic {
    fn new(dir: &Path, files: PathBuf) -> Result<Self> {
        let restic = Self { repository: dir.join("restic"), cache: dir.join("restic-cache"), files };
        run(restic.command().args(["init", "--repository-version", "latest"]))?;
        Ok(restic)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("restic");
        command.env("RESTIC_REPOSITORY", &self.repository).env("RESTIC_PASSWORD", "bench");
        command.env("RESTIC_CACHE_DIR", &self.cache).current_dir(&self.files);
        command
    }
}

impl Keeper for Restic {
    fn name(&self) -> &'static str {
        "restic"
    }

    fn keep(&self) -> Result<u64> {
        run(self.command().args(["backup", "--quiet", "."]))
    }

    fn bytes(&self) -> Result<u64> {
        bytes_in(&self.repository)
    }
}
