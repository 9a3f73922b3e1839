//! [`Root`] by handles. Linux resolves a path beneath a folder by itself (`openat2`); elsewhere, for old kernels, and for links with
//! absolute paths that stay inside, we go part by part and follow links ourselves.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::{Rename, Seen, leads_out, not_a_file};
use crate::attributes::Attributes;
use crate::{Identity, NodeKind, VaultPath};

mod android;
mod disk;
mod dress;

#[cfg(target_os = "linux")]
pub(crate) use android::is_here as is_android;

/// More links than this in one path are a circle.
const LINKS: usize = 40;

/// A folder, known by its handle.
#[derive(Debug)]
pub(crate) struct Root {
    path: PathBuf,
    dir: OwnedFd,
}

/// A name in a folder that was reached without leaving the root.
struct Place<'a> {
    dir: Dir<'a>,
    name: OsString,
}

enum Dir<'a> {
    Root(&'a OwnedFd),
    Below(OwnedFd),
}

impl AsFd for Dir<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Dir::Root(dir) => dir.as_fd(),
            Dir::Below(dir) => dir.as_fd(),
        }
    }
}

/// Only to go on from, or to look at: needs no right to read.
#[cfg(any(target_os = "linux", target_os = "android"))]
const HANDLE: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const HANDLE: OFlags = OFlags::RDONLY;

/// A pipe would wait for somebody at its other end, a terminal would become ours.
const QUIET: OFlags = OFlags::CLOEXEC.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

impl Root {
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
        let dir = rustix::fs::open(&path, flags, Mode::empty())?;
        Ok(Self { path, dir })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens what a path leads to.
    fn open(&self, path: &VaultPath, flags: OFlags) -> io::Result<OwnedFd> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if let Some(opened) = self.open_beneath(path, flags) {
            return Ok(opened?);
        }
        let place = self.walk(path)?;
        let flags = flags | OFlags::NOFOLLOW;
        Ok(rustix::fs::openat(&place.dir, &place.name, flags, Mode::empty())?)
    }

    /// The same by the system itself; nothing if it cannot, or will not say whether the path stays inside.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn open_beneath(&self, path: &VaultPath, flags: OFlags) -> Option<rustix::io::Result<OwnedFd>> {
        use rustix::fs::ResolveFlags;
        if android::is_here() {
            return None;
        }
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let path = if path.as_str().is_empty() { "." } else { path.as_str() };
        match rustix::fs::openat2(&self.dir, path, flags, Mode::empty(), resolve) {
            // A link that leads out, or an absolute one; somebody renamed folders meanwhile; an old kernel, a sandbox.
            Err(Errno::XDEV | Errno::AGAIN | Errno::NOSYS | Errno::PERM | Errno::INVAL) => None,
            other => Some(other),
        }
    }

    /// Where a path leads, part by part. The last part may be missing.
    fn walk(&self, path: &VaultPath) -> io::Result<Place<'_>> {
        // The last part comes first.
        let mut left: Vec<OsString> =
            path.as_str().split('/').rev().filter(|part| !part.is_empty()).map(OsString::from).collect();
        let mut folders: Vec<OwnedFd> = Vec::new();
        let mut links = 0;
        while let Some(part) = left.pop() {
            if part == ".." {
                if folders.pop().is_none() {
                    // Up and out; it may come back in.
                    let rest: PathBuf = left.drain(..).rev().collect();
                    left = self.back_inside(&self.path.join("..").join(rest))?;
                    links += 1;
                }
                if links > LINKS {
                    return Err(Errno::LOOP.into());
                }
                continue;
            }
            let here = folders.last().unwrap_or(&self.dir);
            let last = left.is_empty();
            match rustix::fs::readlinkat(here, &part, Vec::new()) {
                Ok(target) => {
                    links += 1;
                    if links > LINKS {
                        return Err(Errno::LOOP.into());
                    }
                    let target = Path::new(OsStr::from_bytes(target.as_bytes()));
                    if target.is_absolute() {
                        folders.clear();
                        left.extend(self.back_inside(target)?);
                    } else {
                        left.extend(parts(target));
                    }
                    continue;
                }
                _ if last => return Ok(place(folders, &self.dir, part)),
                Err(Errno::INVAL) => {}
                Err(e) => return Err(e.into()),
            }
            // What has become a link meanwhile is refused.
            let flags = HANDLE | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            folders.push(rustix::fs::openat(here, &part, flags, Mode::empty())?);
        }
        Ok(place(folders, &self.dir, OsString::from(".")))
    }

    /// The parts of a path of the host below the root, the last one first. They are walked again from the root, so that it does not
    /// matter what becomes of them meanwhile.
    fn back_inside(&self, host: &Path) -> io::Result<Vec<OsString>> {
        let real = host.canonicalize()?;
        real.strip_prefix(&self.path).map(parts).map_err(|_| leads_out())
    }

    /// The folder of a path, and the name there; if that is a link, the link itself is meant.
    fn place(&self, path: &VaultPath) -> io::Result<Place<'_>> {
        let parent = path.parent();
        if path.as_str().is_empty() || parent.as_str().is_empty() {
            let name = if path.as_str().is_empty() { "." } else { path.name() };
            return Ok(Place { dir: Dir::Root(&self.dir), name: name.into() });
        }
        let flags = HANDLE | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Place { dir: Dir::Below(self.open(&parent, flags)?), name: path.name().into() })
    }

    /// A regular file, for reading.
    pub(crate) fn read(&self, path: &VaultPath) -> io::Result<File> {
        self.regular(path, OFlags::RDONLY)
    }

    /// A file whose content can be made durable.
    pub(crate) fn to_sync(&self, path: &VaultPath) -> io::Result<File> {
        self.read(path)
    }

    /// What the disk calls itself.
    pub(crate) fn disk(&self) -> Option<String> {
        disk::name(self.dir.as_fd())
    }

    /// A regular file, for adding to its end.
    pub(crate) fn append(&self, path: &VaultPath) -> io::Result<File> {
        self.regular(path, OFlags::WRONLY | OFlags::APPEND)
    }

    fn regular(&self, path: &VaultPath, flags: OFlags) -> io::Result<File> {
        let file = match self.open(path, flags | QUIET) {
            // A socket, or a pipe without a reader.
            Err(e) if e.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => return Err(not_a_file()),
            other => File::from(other?),
        };
        if file.metadata()?.is_file() { Ok(file) } else { Err(not_a_file()) }
    }

    pub(crate) fn look(&self, path: &VaultPath) -> io::Result<Seen> {
        Ok(seen(&self.stat(path)?))
    }

    fn stat(&self, path: &VaultPath) -> io::Result<Stat> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if let Some(opened) = self.open_beneath(path, HANDLE | OFlags::CLOEXEC) {
            return Ok(rustix::fs::fstat(opened?)?);
        }
        let place = self.walk(path)?;
        let stat = rustix::fs::statat(&place.dir, &place.name, AtFlags::SYMLINK_NOFOLLOW)?;
        // It was none a moment ago.
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink { Err(leads_out()) } else { Ok(stat) }
    }

    /// The names in a folder, and what they are; nothing said of those that are links.
    pub(crate) fn names(&self, dir: &VaultPath) -> io::Result<Vec<(String, Option<NodeKind>)>> {
        let handle = self.open(dir, OFlags::RDONLY | OFlags::DIRECTORY | QUIET)?;
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&handle)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                // Some file systems do not tell.
                FileType::Unknown => {
                    match rustix::fs::statat(&handle, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                        Err(Errno::NOENT) => continue,
                        Err(e) => return Err(e.into()),
                    }
                }
                known => known,
            };
            names.push((name.to_owned(), (kind != FileType::Symlink).then(|| node_kind(kind))));
        }
        Ok(names)
    }

    /// The identities of those of these names in a folder that are files, and no links to any.
    pub(crate) fn files(&self, dir: &VaultPath, names: &[&str]) -> io::Result<Vec<Option<Identity>>> {
        let handle = self.open(dir, HANDLE | OFlags::DIRECTORY | OFlags::CLOEXEC)?;
        let file = |name: &&str| {
            let stat = rustix::fs::statat(&handle, *name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            let seen = seen(&stat);
            (seen.kind == NodeKind::File).then_some(seen.identity)
        };
        Ok(names.iter().map(file).collect())
    }

    /// A new file that only its owner can read, until [`Root::settle_in`].
    pub(crate) fn create_new(&self, path: &VaultPath) -> io::Result<File> {
        let place = self.place(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&place.dir, &place.name, flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    /// Gives a new file to whom its folder belongs, and lets those read it who may read the folder, unless it is `private`.
    pub(crate) fn settle_in(&self, path: &VaultPath, file: &File, private: bool) -> io::Result<()> {
        let dir = dress::of(&rustix::fs::fstat(&self.place(path)?.dir)?);
        let wanted = dir.of_new_file();
        dress::dress(file.as_fd(), &if private { wanted.private() } else { wanted })
    }

    /// The file that a lock stands for, made if need be.
    pub(crate) fn lock_file(&self, path: &VaultPath) -> io::Result<File> {
        match self.regular(path, OFlags::RDWR) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
        match self.create_new(path) {
            Ok(file) => self.settle_in(path, &file, false).map(|()| file),
            // Somebody else was quicker.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => self.regular(path, OFlags::RDWR),
            Err(e) => Err(e),
        }
    }

    pub(crate) fn is_link(&self, path: &VaultPath) -> io::Result<bool> {
        let place = self.place(path)?;
        let stat = rustix::fs::statat(&place.dir, &place.name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
    }

    pub(crate) fn room(&self) -> Option<u64> {
        let disk = rustix::fs::fstatvfs(&self.dir).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    pub(crate) fn can_write(&self, dir: &VaultPath) -> io::Result<bool> {
        use rustix::fs::Access;
        let handle = self.open(dir, HANDLE | OFlags::DIRECTORY | OFlags::CLOEXEC)?;
        Ok(rustix::fs::accessat(handle, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::empty()).is_ok())
    }

    /// Makes one folder; says whether it was not there.
    pub(crate) fn make_dir(&self, dir: &VaultPath, private: bool) -> io::Result<bool> {
        let place = self.place(dir)?;
        match rustix::fs::mkdirat(&place.dir, &place.name, Mode::RWXU) {
            Err(Errno::EXIST) => return Ok(false),
            other => other?,
        }
        let wanted = dress::of(&rustix::fs::fstat(&place.dir)?).of_new_dir();
        let made = self.open(dir, OFlags::RDONLY | OFlags::DIRECTORY | QUIET)?;
        dress::dress(made.as_fd(), &if private { wanted.private() } else { wanted })?;
        Ok(true)
    }

    pub(crate) fn sync_dir(&self, dir: &VaultPath) -> io::Result<()> {
        let handle = self.open(dir, OFlags::RDONLY | OFlags::DIRECTORY | QUIET)?;
        Ok(rustix::fs::fsync(handle)?)
    }

    pub(crate) fn rename(&self, from: &VaultPath, to: &VaultPath, how: Rename) -> io::Result<()> {
        let (from, to) = (self.place(from)?, self.place(to)?);
        match how {
            Rename::Replace => Ok(rustix::fs::renameat(&from.dir, &from.name, &to.dir, &to.name)?),
            Rename::Exchange => exchange(&from, &to),
            Rename::NoReplace => match rename_noreplace(&from, &to) {
                // Where it takes two steps, a kill between them leaves a file with both names: the second step is still to be done.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && is_same_file(&from, &to)? => {
                    Ok(rustix::fs::unlinkat(&from.dir, &from.name, AtFlags::empty())?)
                }
                other => other,
            },
        }
    }

    pub(crate) fn unlink(&self, path: &VaultPath) -> io::Result<()> {
        let place = self.place(path)?;
        Ok(rustix::fs::unlinkat(&place.dir, &place.name, AtFlags::empty())?)
    }

    pub(crate) fn remove_dir(&self, dir: &VaultPath) -> io::Result<()> {
        let place = self.place(dir)?;
        Ok(rustix::fs::unlinkat(&place.dir, &place.name, AtFlags::REMOVEDIR)?)
    }

    pub(crate) fn attributes(&self, path: &VaultPath) -> io::Result<Attributes> {
        let stat = self.stat(path)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(dress::of(&stat));
        }
        let file = self.read(path)?;
        // Of the file that is read, whatever its name is by now.
        let stat = rustix::fs::fstat(&file)?;
        Ok(Attributes { extended: dress::extended(file.as_fd())?, ..dress::of(&stat) })
    }

    pub(crate) fn dress(&self, path: &VaultPath, attributes: &Attributes) -> io::Result<()> {
        let file = self.open(path, OFlags::RDONLY | QUIET)?;
        dress::dress(file.as_fd(), attributes)
    }
}

/// The parts of a relative path, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().rev();
    parts
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .map(|part| part.as_os_str().to_owned())
        .collect()
}

fn place(mut folders: Vec<OwnedFd>, root: &OwnedFd, name: OsString) -> Place<'_> {
    Place { dir: folders.pop().map_or(Dir::Root(root), Dir::Below), name }
}

fn node_kind(kind: FileType) -> NodeKind {
    match kind {
        FileType::RegularFile => NodeKind::File,
        FileType::Directory => NodeKind::Dir,
        _ => NodeKind::Other,
    }
}

#[allow(clippy::unnecessary_cast, trivial_numeric_casts, reason = "the types differ from system to system")]
fn seen(stat: &Stat) -> Seen {
    let nanos = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    Seen {
        kind: node_kind(FileType::from_raw_mode(stat.st_mode)),
        identity: Identity {
            file: stat.st_ino as u64,
            len: stat.st_size as u64,
            modified: nanos(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: nanos(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        },
        device: stat.st_dev as u64,
    }
}

/// Whether two names are names of one file.
fn is_same_file(a: &Place<'_>, b: &Place<'_>) -> io::Result<bool> {
    let of = |place: &Place<'_>| {
        let stat = rustix::fs::statat(&place.dir, &place.name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok::<_, io::Error>((stat.st_dev, stat.st_ino))
    };
    Ok(of(a)? == of(b)?)
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn rename_with(from: &Place<'_>, to: &Place<'_>, flags: rustix::fs::RenameFlags) -> io::Result<()> {
    Ok(rustix::fs::renameat_with(&from.dir, &from.name, &to.dir, &to.name, flags)?)
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn rename_noreplace(from: &Place<'_>, to: &Place<'_>) -> io::Result<()> {
    if android::is_here() {
        return claim_then_rename(from, to);
    }
    match rename_with(from, to, rustix::fs::RenameFlags::NOREPLACE) {
        // The file system cannot do it in one step (NFS, some FUSE): a second name for the file is refused if the first exists.
        Err(e) if e.kind() == io::ErrorKind::Unsupported || e.raw_os_error() == Some(22) => {
            link_then_unlink(from, to)
        }
        other => other,
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn rename_noreplace(from: &Place<'_>, to: &Place<'_>) -> io::Result<()> {
    link_then_unlink(from, to)
}

/// Where there is neither a rename that refuses nor a second name for a file: the name is claimed by an empty file, which only then is
/// replaced. Who saves under the same new name in that very instant would be overwritten; new names are ours alone. A kill in between
/// leaves the empty file, so one that is there counts as a claim: there is nothing in it to lose.
fn claim_then_rename(from: &Place<'_>, to: &Place<'_>) -> io::Result<()> {
    rustix::fs::statat(&from.dir, &from.name, AtFlags::SYMLINK_NOFOLLOW)?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    match rustix::fs::openat(&to.dir, &to.name, flags, Mode::RUSR | Mode::WUSR) {
        Err(Errno::EXIST) => {
            let there = rustix::fs::statat(&to.dir, &to.name, AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(there.st_mode) != FileType::RegularFile || there.st_size != 0 {
                return Err(Errno::EXIST.into());
            }
        }
        claimed => drop(claimed?),
    }
    Ok(rustix::fs::renameat(&from.dir, &from.name, &to.dir, &to.name)?)
}

fn link_then_unlink(from: &Place<'_>, to: &Place<'_>) -> io::Result<()> {
    match rustix::fs::linkat(&from.dir, &from.name, &to.dir, &to.name, AtFlags::empty()) {
        // A file has one name there: exFAT and FAT, some network folders.
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK | Errno::ACCESS) => {
            return claim_then_rename(from, to);
        }
        linked => linked?,
    }
    Ok(rustix::fs::unlinkat(&from.dir, &from.name, AtFlags::empty())?)
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn exchange(a: &Place<'_>, b: &Place<'_>) -> io::Result<()> {
    if android::is_here() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    rename_with(a, b, rustix::fs::RenameFlags::EXCHANGE)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn exchange(_a: &Place<'_>, _b: &Place<'_>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn identity(file: &File) -> io::Result<Identity> {
    Ok(seen(&rustix::fs::fstat(file)?).identity)
}
