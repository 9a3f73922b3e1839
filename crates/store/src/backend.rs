//! [`Backend`]: where packs are kept. Everything that touches the store's directory is here, and it is little: packs are files
//! that never change, with names that are never used twice. An object storage could stand in.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use forklore_fs::{Lock, NodeKind, OpenFile, Part, VaultPath, Vfs};

use crate::StoreError;

/// How long a writer waits for another one.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long it waits before it looks again.
const PAUSE: Duration = Duration::from_millis(3);

/// The name of a pack: the numbers that its writer took, at least one, and the beginning of its seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PackName {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) seal: u64,
}

impl fmt::Display for PackName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:012}-{:012}-{:016x}.pack", self.first, self.last, self.seal)
    }
}

impl FromStr for PackName {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.strip_suffix(".pack").ok_or(())?.splitn(3, '-');
        let mut part = || parts.next().ok_or(());
        let name = Self {
            first: part()?.parse().map_err(drop)?,
            last: part()?.parse().map_err(drop)?,
            seal: u64::from_str_radix(part()?, 16).map_err(drop)?,
        };
        // Only names as they are made: else two names could stand for one pack.
        if name.to_string() == text { Ok(name) } else { Err(()) }
    }
}

pub(crate) struct Backend {
    fs: Arc<dyn Vfs>,
    dir: VaultPath,
}

impl Backend {
    pub(crate) fn new(fs: Arc<dyn Vfs>, dir: VaultPath) -> Self {
        Self { fs, dir }
    }

    fn packs(&self) -> VaultPath {
        // A constant name is always good, and so is a pack's: digits, dashes and a dot.
        self.dir.join("packs").unwrap_or_default()
    }

    fn path(&self, name: &str) -> VaultPath {
        self.packs().join(name).unwrap_or_default()
    }

    /// The file that is being written. Whoever has the lock is the only one.
    fn draft(&self) -> VaultPath {
        self.path("new.tmp")
    }

    pub(crate) fn pack_path(&self, name: PackName) -> VaultPath {
        self.path(&name.to_string())
    }

    /// Whose store it is, if that was ever said. What is torn was never said.
    pub(crate) fn owner(&self) -> Result<Option<String>, StoreError> {
        let bytes = self.fs.read(&self.owner_path())?;
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        Ok(text.and_then(|text| text.strip_suffix('\n').map(str::to_owned)).filter(|text| !text.is_empty()))
    }

    fn owner_path(&self) -> VaultPath {
        self.dir.join("vault").unwrap_or_default()
    }

    /// Says whose store it is. Only for whoever has the lock.
    fn bind(&self, owner: &str) -> Result<(), StoreError> {
        match self.owner()? {
            Some(other) if other == owner => return Ok(()),
            Some(_) => return Err(StoreError::Foreign),
            None => {}
        }
        let (new, path) = (self.path("vault.tmp"), self.owner_path());
        self.fs.create(&new, format!("{owner}\n").as_bytes())?;
        self.fs.sync_file(&new)?;
        self.fs.replace(&new, &path)?;
        Ok(self.fs.sync_dir(&self.dir)?)
    }

    /// All packs, oldest first.
    pub(crate) fn list(&self) -> Result<Vec<PackName>, StoreError> {
        let nodes = self.fs.list(&self.packs())?;
        let files = nodes.into_iter().filter(|node| node.kind == NodeKind::File);
        Ok(files.filter_map(|node| node.name.parse().ok()).collect())
    }

    /// A pack; `None` if it is gone.
    pub(crate) fn open(&self, name: PackName) -> Result<Option<Box<dyn OpenFile>>, StoreError> {
        match self.fs.open(&self.pack_path(name)) {
            Ok(file) => Ok(Some(file)),
            Err(e) if e.is_missing() => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// The right to write; waits for whoever has it, but not forever. Clears away what a killed writer left. A store that nobody has yet is
    /// `owner`'s from then on.
    pub(crate) fn lock(&self, owner: Option<&str>) -> Result<Lock, StoreError> {
        self.fs.make_private_dir(&self.dir)?;
        self.fs.make_dir(&self.packs())?;
        let start = Instant::now();
        // Who waits looks again every few moments, and would never find the lock free if its holder took it again at once. So
        // whoever wants it has to be next first, and only one can be.
        let next = self.wait_for("next", start)?;
        let lock = self.wait_for("lock", start)?;
        drop(next);
        for node in self.fs.list(&self.packs())? {
            if node.kind == NodeKind::File && node.name.ends_with(".tmp") {
                self.fs.unlink(&self.path(&node.name))?;
            }
        }
        owner.map_or(Ok(()), |owner| self.bind(owner))?;
        Ok(lock)
    }

    fn wait_for(&self, name: &str, start: Instant) -> Result<Lock, StoreError> {
        let path = self.dir.join(name).unwrap_or_default();
        loop {
            if let Some(lock) = self.fs.lock(&path)? {
                return Ok(lock);
            }
            if start.elapsed() > PATIENCE {
                return Err(StoreError::Busy);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Begins the file that is being written.
    pub(crate) fn begin_draft(&self, parts: &[Part<'_>]) -> Result<(), StoreError> {
        Ok(self.fs.assemble(&self.draft(), parts)?)
    }

    /// Adds to the file that is being written.
    pub(crate) fn add_to_draft(&self, bytes: &[u8]) -> Result<(), StoreError> {
        Ok(self.fs.append(&self.draft(), bytes)?)
    }

    /// What was written so far, for reading.
    pub(crate) fn open_draft(&self) -> Result<Box<dyn OpenFile>, StoreError> {
        Ok(self.fs.open(&self.draft())?)
    }

    /// Makes the file that is being written a pack, durable when this returns.
    pub(crate) fn publish_draft(&self, name: PackName) -> Result<(), StoreError> {
        self.fs.sync_file(&self.draft())?;
        self.fs.rename_noreplace(&self.draft(), &self.pack_path(name))?;
        Ok(self.fs.sync_dir(&self.packs())?)
    }

    /// Gives up the file that is being written. If even that fails, the next writer clears it away.
    pub(crate) fn drop_draft(&self) {
        let _swept = self.fs.unlink(&self.draft());
    }

    /// Makes what was removed stay so.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        Ok(self.fs.sync_dir(&self.packs())?)
    }

    /// Takes a pack away. What it held must be durable elsewhere, or not wanted.
    pub(crate) fn remove(&self, name: PackName) -> Result<(), StoreError> {
        match self.fs.unlink(&self.pack_path(name)) {
            Err(e) if !e.is_missing() => Err(e.into()),
            _ => Ok(()),
        }
    }
}
