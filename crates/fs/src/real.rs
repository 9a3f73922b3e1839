//! [`RealFs`]: the operating system's files below one folder.
#![allow(clippy::disallowed_methods, reason = "this is the one place that touches the disk")]

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::attributes::Attributes;
use crate::beneath::{Rename, Root, identity};
use crate::copy::copy_range;
use crate::guarantee::Guarantee;
use crate::{Fill, Identity, Lock, New, Node, NodeKind, OpenFile, Part, PathError, VaultPath, Vfs};

/// The real file system below one folder.
///
/// Symbolic links are followed as long as they stay below it; one that leads out is refused with a clear error, so that nothing
/// outside the vault is read or written, whatever a vault copied from elsewhere holds.
///
/// What is made belongs to whom the folder around it belongs, and is not more readable than that folder.
#[derive(Debug)]
pub struct RealFs {
    root: Root,
    /// Whether what is made is for its owner alone, whatever the folder is.
    private: bool,
    /// Large files that were removed, if they are held.
    removed: Mutex<Option<Vec<File>>>,
}

impl RealFs {
    /// The files below `root`, which must be a folder.
    pub fn new(root: &Path) -> io::Result<Self> {
        Ok(Self { root: Root::new(root)?, private: false, removed: Mutex::default() })
    }

    /// As [`RealFs::new`], making the folder first if it is not there. What is made is for its owner alone.
    pub fn make(root: &Path) -> io::Result<Self> {
        let mut folders = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut folders, 0o700);
        folders.recursive(true).create(root)?;
        Ok(Self::new(root)?.private())
    }

    /// From now on what is made here is for its owner alone, whatever the folder is.
    #[must_use]
    pub fn private(self) -> Self {
        Self { private: true, ..self }
    }

    /// The folder that everything is below, without links.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// How many bytes there is room for, where the system tells.
    pub fn room(&self) -> Option<u64> {
        self.root.room()
    }

    /// Takes a folder away, if nothing is in it.
    pub fn remove_empty_dir(&self, dir: &VaultPath) -> Result<(), PathError> {
        self.run("remove", dir, Root::remove_dir)
    }

    /// From now on large files that are removed are held open. To let go of hundreds of megabytes takes the system as long as to write
    /// some of them, and it does so when the last hand opens: [`RealFs::removed`] gives them to somebody who has the time.
    pub fn hold_removed(&self) {
        self.removed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
    }

    /// The files that were held, which are held no longer.
    pub fn removed(&self) -> Vec<File> {
        self.removed.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
    }

    /// A file that is about to be removed, if it is to be held.
    fn to_hold(&self, path: &VaultPath) -> Option<File> {
        // Elsewhere a file that is open keeps its name.
        let held = cfg!(unix) && self.removed.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if !held || self.root.is_link(path).ok()? {
            return None;
        }
        let seen = self.root.look(path).ok()?;
        let large = seen.kind == NodeKind::File && seen.identity.len >= WORTH_HOLDING;
        large.then(|| self.root.read(path).ok()).flatten()
    }

    fn run<'a, T>(
        &self,
        doing: &'static str,
        path: &'a VaultPath,
        act: impl FnOnce(&Root, &'a VaultPath) -> io::Result<T>,
    ) -> Result<T, PathError> {
        act(&self.root, path).map_err(|source| PathError { path: path.clone(), doing, source })
    }

    /// Makes a file that nobody else can read before it is whole.
    fn make_file(
        &self,
        path: &VaultPath,
        like: Option<&Attributes>,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<File, PathError> {
        self.run("create", path, |root, path| {
            let mut file = root.create_new(path)?;
            fill(&mut file)?;
            match like {
                Some(like) => root.dress(path, like)?,
                None => root.settle_in(path, &file, self.private)?,
            }
            Ok(file)
        })
    }

    fn assemble_like(
        &self,
        path: &VaultPath,
        parts: &[Part<'_>],
        like: Option<&Attributes>,
    ) -> Result<File, PathError> {
        self.make_file(path, like, |file| {
            let mut written = 0;
            for part in parts {
                match part {
                    Part::Bytes(bytes) => file.write_all(bytes)?,
                    Part::Range(from, range) => copy_range(*from, range.clone(), file, written)?,
                }
                written += part.len();
            }
            Ok(())
        })
    }
}

impl Vfs for RealFs {
    fn home(&self) -> Option<&Path> {
        Some(self.root())
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::of(self.root.disk().as_deref())
    }

    fn open(&self, path: &VaultPath) -> Result<Box<dyn OpenFile>, PathError> {
        Ok(Box::new(RealFile(self.run("open", path, Root::read)?)))
    }

    fn identity(&self, path: &VaultPath) -> Result<Option<Identity>, PathError> {
        match self.run("look at", path, Root::look) {
            Err(e) if e.is_missing() => Ok(None),
            other => other.map(|seen| Some(seen.identity)),
        }
    }

    fn identities(&self, dir: &VaultPath, names: &[&str]) -> Vec<Option<Identity>> {
        // Where a link leads is looked at for each.
        let one = |name: &str| self.identity(&dir.join(name).ok()?).ok()?;
        let files = self.root.files(dir, names).unwrap_or_else(|_| vec![None; names.len()]);
        files.into_iter().zip(names).map(|(file, name)| file.or_else(|| one(name))).collect()
    }

    fn attributes(&self, path: &VaultPath) -> Result<Option<Attributes>, PathError> {
        match self.run("look at", path, Root::attributes) {
            Err(e) if e.is_missing() => Ok(None),
            other => other.map(Some),
        }
    }

    fn list(&self, dir: &VaultPath) -> Result<Vec<Node>, PathError> {
        let names = match self.run("list", dir, Root::names) {
            Err(e) if e.is_missing() => return Ok(Vec::new()),
            other => other?,
        };
        // Where a link leads decides what it is; one that leads out or nowhere is nothing.
        let kind = |name: &str| Some(self.root.look(&dir.join(name).ok()?).ok()?.kind);
        let nodes = names.into_iter().map(|(name, known)| {
            let kind = known.or_else(|| kind(&name)).unwrap_or(NodeKind::Other);
            Node { name, kind }
        });
        let mut nodes: Vec<Node> = nodes.collect();
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(nodes)
    }

    fn assemble(&self, path: &VaultPath, parts: &[Part<'_>]) -> Result<(), PathError> {
        self.assemble_like(path, parts, None).map(drop)
    }

    fn assemble_durably(&self, files: &[New<'_>]) -> Result<(), PathError> {
        let make = |new: &New<'_>| {
            let file = self.assemble_like(new.path, new.parts, Some(new.like))?;
            self.run("sync", new.path, |_, _| file.sync_all())
        };
        let len = |new: &New<'_>| new.parts.iter().map(Part::len).sum::<u64>();
        if files.iter().filter(|new| len(new) >= WORTH_A_THREAD).count() < 2 {
            return files.iter().try_for_each(make);
        }
        std::thread::scope(|scope| {
            let made: Vec<_> = files.iter().map(|new| scope.spawn(move || make(new))).collect();
            let panicked = || {
                Err(PathError {
                    path: files[0].path.clone(),
                    doing: "create",
                    source: io::Error::other("a thread of ours failed"),
                })
            };
            made.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| panicked()))
        })
    }

    fn create_with(&self, path: &VaultPath, fill: &mut Fill<'_>) -> Result<(), PathError> {
        let made = self.make_file(path, None, |file| {
            let mut out = io::BufWriter::with_capacity(256 << 10, file);
            fill(&mut out)?;
            out.flush()
        });
        made.map(drop)
    }

    fn append(&self, path: &VaultPath, content: &[u8]) -> Result<(), PathError> {
        self.run("write", path, |root, path| root.append(path)?.write_all(content))
    }

    fn dress(&self, path: &VaultPath, attributes: &Attributes) -> Result<(), PathError> {
        self.run("set the owner and mode of", path, |root, path| root.dress(path, attributes))
    }

    fn device(&self, dir: &VaultPath) -> Result<u64, PathError> {
        Ok(self.run("look at", dir, Root::look)?.device)
    }

    fn can_write(&self, dir: &VaultPath) -> Result<bool, PathError> {
        self.run("look at", dir, Root::can_write)
    }

    fn is_link(&self, path: &VaultPath) -> Result<bool, PathError> {
        match self.run("look at", path, Root::is_link) {
            Err(e) if e.is_missing() => Ok(false),
            other => other,
        }
    }

    fn lock(&self, path: &VaultPath) -> Result<Option<Lock>, PathError> {
        self.run("lock", path, |root, path| {
            let file = root.lock_file(path)?;
            match file.try_lock() {
                Ok(()) => Ok(Some(Lock(Box::new(file)))),
                Err(fs::TryLockError::WouldBlock) => Ok(None),
                Err(fs::TryLockError::Error(e)) => Err(e),
            }
        })
    }

    fn make_dir(&self, dir: &VaultPath) -> Result<(), PathError> {
        self.make_dirs(dir, self.private)
    }

    fn make_private_dir(&self, dir: &VaultPath) -> Result<(), PathError> {
        self.make_dirs(dir, true)?;
        self.run("close", dir, |root, dir| {
            let is = root.attributes(dir)?;
            if is.mode & 0o077 == 0 {
                return Ok(());
            }
            match root.dress(dir, &is.private()) {
                // It is somebody else's, who lets us in: that is for them to change.
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(()),
                closed => closed,
            }
        })
    }

    fn sync_file(&self, path: &VaultPath) -> Result<(), PathError> {
        self.run("sync", path, |root, path| root.to_sync(path)?.sync_all())
    }

    fn sync_dir(&self, dir: &VaultPath) -> Result<(), PathError> {
        self.run("sync", dir, Root::sync_dir)
    }

    fn rename_noreplace(&self, from: &VaultPath, to: &VaultPath) -> Result<(), PathError> {
        self.run("rename", from, |root, from| root.rename(from, to, Rename::NoReplace))
    }

    fn replace(&self, from: &VaultPath, to: &VaultPath) -> Result<(), PathError> {
        self.run("rename", from, |root, from| root.rename(from, to, Rename::Replace))
    }

    fn exchange(&self, a: &VaultPath, b: &VaultPath) -> Result<(), PathError> {
        self.run("exchange", a, |root, a| root.rename(a, b, Rename::Exchange))
    }

    fn unlink(&self, path: &VaultPath) -> Result<(), PathError> {
        self.run("remove", path, |root, path| {
            let held = self.to_hold(path);
            root.unlink(path)?;
            if let Some(removed) = &mut *self.removed.lock().unwrap_or_else(PoisonError::into_inner) {
                removed.extend(held);
            }
            Ok(())
        })
    }
}

impl RealFs {
    fn make_dirs(&self, dir: &VaultPath, private: bool) -> Result<(), PathError> {
        self.run("create", dir, |root, dir| {
            let mut missing = Vec::new();
            let mut at = dir.clone();
            loop {
                match root.look(&at) {
                    Ok(seen) if seen.kind == NodeKind::Dir => break,
                    Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
                    Err(e) if e.kind() == io::ErrorKind::NotFound => missing.push(at.clone()),
                    Err(e) => return Err(e),
                }
                at = at.parent();
            }
            // Another may be making them, too.
            missing.iter().rev().try_for_each(|dir| root.make_dir(dir, private).map(drop))
        })
    }
}

/// Below this a file is let go in no time.
const WORTH_HOLDING: u64 = 16 << 20;

/// Below this a file is made before a thread for it would be.
const WORTH_A_THREAD: u64 = 4 << 20;

struct RealFile(File);

impl OpenFile for RealFile {
    fn handle(&self) -> Option<&File> {
        Some(&self.0)
    }

    fn identity(&self) -> io::Result<Identity> {
        identity(&self.0)
    }

    fn read_at(&self, mut buf: &mut [u8], mut offset: u64) -> io::Result<usize> {
        let wanted = buf.len();
        while !buf.is_empty() {
            #[cfg(unix)]
            let read = std::os::unix::fs::FileExt::read_at(&self.0, buf, offset);
            #[cfg(windows)]
            let read = std::os::windows::fs::FileExt::seek_read(&self.0, buf, offset);
            match read {
                Ok(0) => break,
                Ok(n) => {
                    buf = &mut buf[n..];
                    offset += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(wanted - buf.len())
    }
}
