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

/// The name of a pack: the numbers that its writer had for records, and the beginning of its seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PackName {
    pub(crate) first: u64,
    /// One less than `first` if there were none.
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

    pub(crate) fn pack_path(&self, name: PackName) -> VaultPath {
        self.path(&name.to_string())
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

    /// The right to write; waits for whoever has it, but not forever. Clears away what a killed writer left.
    pub(crate) fn lock(&self) -> Result<Lock, StoreError> {
        self.fs.make_dir(&self.packs())?;
        let path = self.dir.join("lock").unwrap_or_default();
        let start = Instant::now();
        let lock = loop {
            if let Some(lock) = self.fs.lock(&path)? {
                break lock;
            }
            if start.elapsed() > PATIENCE {
                return Err(StoreError::Busy);
            }
            std::thread::sleep(Duration::from_millis(3));
        };
        for node in self.fs.list(&self.packs())? {
            if node.kind == NodeKind::File && node.name.ends_with(".tmp") {
                self.fs.unlink(&self.path(&node.name))?;
            }
        }
        Ok(lock)
    }

    /// Makes a new pack, durable when this returns.
    pub(crate) fn publish(&self, name: PackName, parts: &[Part<'_>]) -> Result<(), StoreError> {
        let temporary = self.path("new.tmp");
        let path = self.pack_path(name);
        let made = self
            .fs
            .assemble(&temporary, parts)
            .and_then(|()| self.fs.sync_file(&temporary))
            .and_then(|()| self.fs.rename_noreplace(&temporary, &path));
        if let Err(e) = made {
            // The next writer would clear it away, too.
            let _swept = self.fs.unlink(&temporary);
            return Err(e.into());
        }
        Ok(self.fs.sync_dir(&self.packs())?)
    }
}
