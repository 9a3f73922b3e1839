//! [`Root`] by paths, for Windows, which has no calls relative to handles of folders. A link that is put in place between the check and the
//! use is not noticed; to make one takes an administrator there.
//!
//! Paths are the system's own long ones (`\\\\?\\C:\\…`): they have no limit of 260 characters, and no name in them means a device. What people are
//! shown is the short one.

#![allow(clippy::disallowed_methods, reason = "this is the one place that touches the disk")]

use std::fs::{self, File};
use std::io;
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::{Rename, Seen, leads_out, not_a_file};
use crate::attributes::Attributes;
use crate::held::patiently;
use crate::steps::{self, Steps};
use crate::{Identity, NodeKind, VaultPath, path};

/// To look at a file or folder without reading it.
const READ_ATTRIBUTES: u32 = 0x80;
/// Folders are opened, too.
const BACKUP_SEMANTICS: u32 = 0x0200_0000;
/// Seconds between 1601 and 1970, in the unit in which Windows counts.
const EPOCH: i64 = 116_444_736_000_000_000;

/// A folder without links in its path.
#[derive(Debug)]
pub(crate) struct Root {
    /// As the system takes it
    path: PathBuf,
    /// As people write it
    shown: PathBuf,
}

impl Root {
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let shown = path::shown(&path);
        if path.is_dir() { Ok(Self { path, shown }) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.shown
    }

    fn host(&self, path: &VaultPath) -> PathBuf {
        self.path.join(path.as_str())
    }

    /// Where a path is on the host, if it stays below the root.
    fn inside(&self, path: &VaultPath) -> io::Result<PathBuf> {
        self.place(path)?;
        let host = self.host(path);
        match fs::symlink_metadata(&host) {
            Ok(meta) if meta.is_symlink() => self.check(&host)?,
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
        Ok(host)
    }

    /// The same for a name that may be a link itself.
    fn place(&self, path: &VaultPath) -> io::Result<PathBuf> {
        self.check(&self.host(&path.parent()))?;
        Ok(self.host(path))
    }

    fn check(&self, host: &Path) -> io::Result<()> {
        if host.canonicalize()?.starts_with(&self.path) { Ok(()) } else { Err(leads_out()) }
    }

    pub(crate) fn read(&self, path: &VaultPath) -> io::Result<File> {
        let host = self.inside(path)?;
        if !fs::metadata(&host)?.is_file() {
            return Err(not_a_file());
        }
        patiently(|| File::open(&host))
    }

    /// A file whose content can be made durable: Windows flushes only what it may write.
    pub(crate) fn to_sync(&self, path: &VaultPath) -> io::Result<File> {
        let host = self.inside(path)?;
        patiently(|| File::options().read(true).write(true).open(&host))
    }

    pub(crate) fn append(&self, path: &VaultPath) -> io::Result<File> {
        File::options().append(true).open(self.inside(path)?)
    }

    pub(crate) fn look(&self, path: &VaultPath) -> io::Result<Seen> {
        let host = self.inside(path)?;
        let mut options = File::options();
        options.access_mode(READ_ATTRIBUTES).custom_flags(BACKUP_SEMANTICS);
        let file = patiently(|| options.open(&host))?;
        let told = forklore_windows::information(&file)?;
        let kind = kind(file.metadata()?.file_type());
        Ok(Seen { kind, identity: of(&told), device: u64::from(told.volume) })
    }

    pub(crate) fn names(&self, dir: &VaultPath) -> io::Result<Vec<(String, Option<NodeKind>)>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.inside(dir)?)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let found = entry.file_type()?;
            names.push((name, (!found.is_symlink()).then(|| kind(found))));
        }
        Ok(names)
    }

    /// The identities of those of these names in a folder that are files.
    pub(crate) fn files(&self, dir: &VaultPath, names: &[&str]) -> io::Result<Vec<Option<Identity>>> {
        let file = |name: &&str| {
            let seen = self.look(&dir.join(name).ok()?).ok()?;
            (seen.kind == NodeKind::File).then_some(seen.identity)
        };
        Ok(names.iter().map(file).collect())
    }

    pub(crate) fn create_new(&self, path: &VaultPath) -> io::Result<File> {
        File::options().write(true).create_new(true).open(self.place(path)?)
    }

    pub(crate) fn settle_in(&self, _path: &VaultPath, _file: &File, _private: bool) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn lock_file(&self, path: &VaultPath) -> io::Result<File> {
        File::options().create(true).truncate(false).write(true).open(self.inside(path)?)
    }

    pub(crate) fn is_link(&self, path: &VaultPath) -> io::Result<bool> {
        Ok(fs::symlink_metadata(self.place(path)?)?.is_symlink())
    }

    pub(crate) fn room(&self) -> Option<u64> {
        forklore_windows::room(&self.path).ok()
    }

    pub(crate) fn disk(&self) -> Option<String> {
        let volume = forklore_windows::volume(&self.path).ok()?;
        Some(if volume.is_remote { "network".to_owned() } else { volume.system })
    }

    pub(crate) fn can_write(&self, dir: &VaultPath) -> io::Result<bool> {
        Ok(!fs::metadata(self.inside(dir)?)?.permissions().readonly())
    }

    pub(crate) fn make_dir(&self, dir: &VaultPath, _private: bool) -> io::Result<bool> {
        match fs::create_dir(self.place(dir)?) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            other => other.map(|()| true),
        }
    }

    /// NTFS keeps a journal of names, in their order; a folder cannot be flushed here.
    pub(crate) fn sync_dir(&self, dir: &VaultPath) -> io::Result<()> {
        self.inside(dir).map(drop)
    }

    pub(crate) fn rename(&self, from: &VaultPath, to: &VaultPath, how: Rename) -> io::Result<()> {
        match how {
            Rename::Replace => {
                let (from, to) = (self.place(from)?, self.place(to)?);
                patiently(|| fs::rename(&from, &to))
            }
            Rename::Exchange if !self.has_numbers() => Err(io::ErrorKind::Unsupported.into()),
            Rename::Exchange => steps::exchange(self, from, to),
            Rename::NoReplace => Steps::rename_noreplace(self, from, to),
        }
    }

    /// Whether a file keeps its number under another name: on FAT and exFAT it is made of its place in a folder. Without one, a save that
    /// comes in between could not be told from what was there.
    fn has_numbers(&self) -> bool {
        self.disk().is_some_and(|system| matches!(system.as_str(), "NTFS" | "ReFS"))
    }

    pub(crate) fn unlink(&self, path: &VaultPath) -> io::Result<()> {
        let host = self.place(path)?;
        patiently(|| fs::remove_file(&host))
    }

    pub(crate) fn remove_dir(&self, dir: &VaultPath) -> io::Result<()> {
        fs::remove_dir(self.place(dir)?)
    }

    pub(crate) fn attributes(&self, path: &VaultPath) -> io::Result<Attributes> {
        self.look(path).map(|_| Attributes::default())
    }

    pub(crate) fn dress(&self, path: &VaultPath, _attributes: &Attributes) -> io::Result<()> {
        self.look(path).map(drop)
    }
}

fn kind(found: fs::FileType) -> NodeKind {
    match found {
        found if found.is_file() => NodeKind::File,
        found if found.is_dir() => NodeKind::Dir,
        _ => NodeKind::Other,
    }
}

fn of(told: &forklore_windows::Information) -> Identity {
    let since_1970 = |time: i64| time.saturating_sub(EPOCH).saturating_mul(100);
    Identity {
        file: told.index,
        len: told.len,
        modified: since_1970(told.written),
        changed: since_1970(told.changed),
    }
}

pub(crate) fn identity(file: &File) -> io::Result<Identity> {
    Ok(of(&forklore_windows::information(file)?))
}

impl Steps for Root {
    /// By its handle: the file that was looked at is the one that moves, and a save that takes its name meanwhile stays.
    fn rename_noreplace(&self, from: &VaultPath, to: &VaultPath) -> io::Result<()> {
        let (from, to) = (self.place(from)?, self.place(to)?);
        let moved = patiently(|| {
            let file = forklore_windows::open_to_rename(&from)?;
            forklore_windows::rename_opened(&file, &to)
        });
        match moved {
            // Network folders may know the older call alone.
            Err(e) if e.kind() == io::ErrorKind::Unsupported || e.raw_os_error() == Some(INVALID) => {
                patiently(|| forklore_windows::move_without_replacing(&from, &to))
            }
            other => other,
        }
    }

    fn sync_dir(&self, dir: &VaultPath) -> io::Result<()> {
        Self::sync_dir(self, dir)
    }
}

/// What Windows says where it does not know a call's argument.
const INVALID: i32 = 87;
