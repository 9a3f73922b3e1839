//! [`Root`] by paths, for systems without handles of folders. A link that is put in place between the check and the use is not noticed.

#![allow(clippy::disallowed_methods, reason = "this is the one place that touches the disk")]

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::{Rename, Seen, leads_out, not_a_file};
use crate::attributes::Attributes;
use crate::{Identity, NodeKind, VaultPath};

/// A folder without links in its path.
#[derive(Debug)]
pub(crate) struct Root {
    path: PathBuf,
}

impl Root {
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        if path.is_dir() { Ok(Self { path }) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
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
        File::open(host)
    }

    pub(crate) fn append(&self, path: &VaultPath) -> io::Result<File> {
        File::options().append(true).open(self.inside(path)?)
    }

    pub(crate) fn look(&self, path: &VaultPath) -> io::Result<Seen> {
        let meta = fs::metadata(self.inside(path)?)?;
        Ok(Seen { kind: kind(meta.file_type()), identity: of(&meta), device: 0 })
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
        None
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

    /// A directory cannot be opened here; NTFS journals names by itself.
    pub(crate) fn sync_dir(&self, dir: &VaultPath) -> io::Result<()> {
        self.inside(dir).map(drop)
    }

    pub(crate) fn rename(&self, from: &VaultPath, to: &VaultPath, how: Rename) -> io::Result<()> {
        let (from, to) = (self.place(from)?, self.place(to)?);
        match how {
            Rename::Replace => fs::rename(from, to),
            Rename::Exchange => Err(io::ErrorKind::Unsupported.into()),
            Rename::NoReplace => {
                fs::hard_link(&from, to)?;
                fs::remove_file(from)
            }
        }
    }

    pub(crate) fn unlink(&self, path: &VaultPath) -> io::Result<()> {
        fs::remove_file(self.place(path)?)
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

fn of(meta: &Metadata) -> Identity {
    let since = meta.modified().ok().and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
    let modified = since.map_or(0, |d| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX));
    Identity { file: 0, len: meta.len(), modified, changed: modified }
}

pub(crate) fn identity(file: &File) -> io::Result<Identity> {
    Ok(of(&file.metadata()?))
}
