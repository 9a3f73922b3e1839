//! [`RealFs`]: the operating system's files below one folder.
#![allow(clippy::disallowed_methods, reason = "this is the one place that touches the disk")]

use std::collections::HashSet;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::{Fill, Identity, Lock, Node, NodeKind, OpenFile, Part, PathError, VaultPath, Vfs};

/// The real file system below one folder.
///
/// Symbolic links are followed as long as they stay below it; one that leads out is refused with a clear error, so that nothing
/// outside the vault is read or written, whatever a vault copied from elsewhere holds.
#[derive(Debug)]
pub struct RealFs {
    root: PathBuf,
    /// Directories already found to lie below the root: they are asked for again and again.
    known: Mutex<HashSet<VaultPath>>,
    /// Large files that were removed, if they are held.
    removed: Mutex<Option<Vec<File>>>,
}

impl RealFs {
    /// The files below `root`, which must be a folder.
    pub fn new(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        if !root.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { root, known: Mutex::default(), removed: Mutex::default() })
    }

    /// As [`RealFs::new`], making the folder first if it is not there.
    pub fn make(root: &Path) -> io::Result<Self> {
        fs::create_dir_all(root)?;
        Self::new(root)
    }

    /// The folder that everything is below, without links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Takes a folder away, if nothing is in it.
    pub fn remove_empty_dir(&self, dir: &VaultPath) -> Result<(), PathError> {
        self.run("remove", dir, fs::remove_dir)
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
        let host = held.then(|| self.host(path))?;
        let meta = fs::symlink_metadata(&host).ok()?;
        (meta.is_file() && meta.len() >= WORTH_HOLDING).then(|| File::open(host).ok()).flatten()
    }

    fn host(&self, path: &VaultPath) -> PathBuf {
        self.root.join(path.as_str())
    }

    /// Where `path` is on the host, if it stays below the root.
    fn inside(&self, path: &VaultPath) -> io::Result<PathBuf> {
        self.check_dir(&path.parent())?;
        let host = self.host(path);
        match fs::symlink_metadata(&host) {
            Ok(meta) if meta.is_symlink() => self.check_link(&host)?,
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
        Ok(host)
    }

    fn check_dir(&self, dir: &VaultPath) -> io::Result<()> {
        // A poisoned lock only means that another thread died between two inserts; the set is still a set.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains(dir) {
            return Ok(());
        }
        match self.check_link(&self.host(dir)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        }
        known.insert(dir.clone());
        Ok(())
    }

    fn check_link(&self, host: &Path) -> io::Result<()> {
        if host.canonicalize()?.starts_with(&self.root) {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is a link that leads out of the vault"))
    }

    fn run<T>(
        &self,
        doing: &'static str,
        path: &VaultPath,
        act: impl FnOnce(PathBuf) -> io::Result<T>,
    ) -> Result<T, PathError> {
        self.inside(path).and_then(act).map_err(|source| PathError { path: path.clone(), doing, source })
    }
}

impl Vfs for RealFs {
    fn home(&self) -> Option<&Path> {
        Some(self.root())
    }

    fn open(&self, path: &VaultPath) -> Result<Box<dyn OpenFile>, PathError> {
        self.run("open", path, |host| {
            // Opening a pipe would wait for somebody to write into it.
            if !fs::metadata(&host)?.is_file() {
                return Err(io::Error::other("it is not a file"));
            }
            let file = File::open(host)?;
            Ok(Box::new(RealFile(file)) as Box<dyn OpenFile>)
        })
    }

    fn identity(&self, path: &VaultPath) -> Result<Option<Identity>, PathError> {
        let found = self.run("look at", path, |host| Ok(identity(&fs::metadata(host)?)));
        match found {
            Err(e) if e.is_missing() => Ok(None),
            other => other.map(Some),
        }
    }

    fn list(&self, dir: &VaultPath) -> Result<Vec<Node>, PathError> {
        let listed = self.run("list", dir, |host| {
            let mut nodes = Vec::new();
            for entry in fs::read_dir(host)? {
                let entry = entry?;
                let Ok(name) = entry.file_name().into_string() else { continue };
                let mut kind = entry.file_type()?;
                if kind.is_symlink() {
                    let target = self.check_link(&entry.path()).and_then(|()| fs::metadata(entry.path()));
                    let Ok(target) = target else {
                        nodes.push(Node { name, kind: NodeKind::Other });
                        continue;
                    };
                    kind = target.file_type();
                }
                let kind = match kind {
                    k if k.is_file() => NodeKind::File,
                    k if k.is_dir() => NodeKind::Dir,
                    _ => NodeKind::Other,
                };
                nodes.push(Node { name, kind });
            }
            nodes.sort_by(|a, b| a.name.cmp(&b.name));
            Ok(nodes)
        });
        match listed {
            Err(e) if e.is_missing() => Ok(Vec::new()),
            other => other,
        }
    }

    fn assemble(&self, path: &VaultPath, parts: &[Part<'_>]) -> Result<(), PathError> {
        self.run("create", path, |host| {
            let mut file = File::options().write(true).create_new(true).open(host)?;
            let mut written = 0;
            for part in parts {
                match part {
                    Part::Bytes(bytes) => {
                        file.write_all(bytes)?;
                        written += bytes.len() as u64;
                    }
                    Part::Range(from, range) => {
                        copy_range(*from, range.clone(), &mut file, written)?;
                        written += range.end.saturating_sub(range.start);
                    }
                }
            }
            Ok(())
        })
    }

    fn assemble_durably(&self, files: &[(&VaultPath, &[Part<'_>])]) -> Result<(), PathError> {
        let make = |(path, parts): &(&VaultPath, &[Part<'_>])| {
            self.assemble(path, parts)?;
            self.sync_file(path)
        };
        let len = |parts: &[Part<'_>]| parts.iter().map(Part::len).sum::<u64>();
        if files.iter().filter(|(_, parts)| len(parts) >= WORTH_A_THREAD).count() < 2 {
            return files.iter().try_for_each(make);
        }
        std::thread::scope(|scope| {
            let made: Vec<_> = files.iter().map(|file| scope.spawn(move || make(file))).collect();
            let panicked = || {
                Err(PathError {
                    path: files[0].0.clone(),
                    doing: "create",
                    source: io::Error::other("a thread of ours failed"),
                })
            };
            made.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| panicked()))
        })
    }

    fn create_with(&self, path: &VaultPath, fill: &mut Fill<'_>) -> Result<(), PathError> {
        self.run("create", path, |host| {
            let file = File::options().write(true).create_new(true).open(host)?;
            let mut out = io::BufWriter::with_capacity(256 << 10, file);
            fill(&mut out)?;
            out.flush()
        })
    }

    fn append(&self, path: &VaultPath, content: &[u8]) -> Result<(), PathError> {
        self.run("write", path, |host| File::options().append(true).open(host)?.write_all(content))
    }

    fn device(&self, dir: &VaultPath) -> Result<u64, PathError> {
        self.run("look at", dir, |host| {
            #[cfg(unix)]
            let device = std::os::unix::fs::MetadataExt::dev(&fs::metadata(host)?);
            #[cfg(not(unix))]
            let device = fs::metadata(host).map(|_| 0)?;
            Ok(device)
        })
    }

    fn can_write(&self, dir: &VaultPath) -> Result<bool, PathError> {
        self.run("look at", dir, |host| {
            #[cfg(unix)]
            let can = {
                use rustix::fs::Access;
                rustix::fs::access(host, Access::WRITE_OK | Access::EXEC_OK).is_ok()
            };
            #[cfg(not(unix))]
            let can = !fs::metadata(host)?.permissions().readonly();
            Ok(can)
        })
    }

    fn is_link(&self, path: &VaultPath) -> Result<bool, PathError> {
        let found = fs::symlink_metadata(self.host(path));
        match found {
            Ok(meta) => Ok(meta.is_symlink()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(PathError { path: path.clone(), doing: "look at", source }),
        }
    }

    fn lock(&self, path: &VaultPath) -> Result<Option<Lock>, PathError> {
        self.run("lock", path, |host| {
            let file = File::options().create(true).truncate(false).write(true).open(host)?;
            match file.try_lock() {
                Ok(()) => Ok(Some(Lock(Box::new(file)))),
                Err(fs::TryLockError::WouldBlock) => Ok(None),
                Err(fs::TryLockError::Error(e)) => Err(e),
            }
        })
    }

    fn make_dir(&self, dir: &VaultPath) -> Result<(), PathError> {
        self.run("create", dir, fs::create_dir_all)
    }

    fn sync_file(&self, path: &VaultPath) -> Result<(), PathError> {
        self.run("sync", path, |host| File::open(host)?.sync_all())
    }

    fn sync_dir(&self, dir: &VaultPath) -> Result<(), PathError> {
        self.run("sync", dir, |host| {
            if cfg!(unix) {
                File::open(host)?.sync_all()?;
            }
            // Elsewhere a directory cannot be opened; NTFS journals names by itself.
            Ok(())
        })
    }

    fn rename_noreplace(&self, from: &VaultPath, to: &VaultPath) -> Result<(), PathError> {
        self.run("rename", from, |from| {
            let to = self.inside(to)?;
            match rename_noreplace(&from, &to) {
                // Where it takes two steps, a kill between them leaves a file with both names: the second step is still to be done.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && is_same_file(&from, &to)? => {
                    fs::remove_file(from)
                }
                other => other,
            }
        })
    }

    fn replace(&self, from: &VaultPath, to: &VaultPath) -> Result<(), PathError> {
        self.run("rename", from, |from| fs::rename(from, self.inside(to)?))
    }

    fn exchange(&self, a: &VaultPath, b: &VaultPath) -> Result<(), PathError> {
        self.run("exchange", a, |a| exchange(&a, &self.inside(b)?))
    }

    fn unlink(&self, path: &VaultPath) -> Result<(), PathError> {
        let remove = || {
            let held = self.to_hold(path);
            fs::remove_file(self.host(path))?;
            if let Some(removed) = &mut *self.removed.lock().unwrap_or_else(PoisonError::into_inner) {
                removed.extend(held);
            }
            Ok(())
        };
        self.check_dir(&path.parent()).and_then(|()| remove()).map_err(|source| PathError {
            path: path.clone(),
            doing: "remove",
            source,
        })
    }
}

/// Below this a file is let go in no time.
const WORTH_HOLDING: u64 = 16 << 20;

/// Below this a file is made before a thread for it would be.
const WORTH_A_THREAD: u64 = 4 << 20;

/// Blocks that file systems share between files are multiples of this; others are copied.
const SHARED_BLOCK: u64 = 4096;

/// Copies a stretch of one file to the end of another, which is `written` bytes long and has its cursor there.
fn copy_range(
    from: &dyn OpenFile,
    range: std::ops::Range<u64>,
    to: &mut File,
    written: u64,
) -> io::Result<()> {
    let mut at = range.start;
    // A first piece up to the next block, where both files have it at the same place: what follows can then be shared.
    let first = at.next_multiple_of(SHARED_BLOCK);
    if at % SHARED_BLOCK == written % SHARED_BLOCK && range.end > first {
        copy_bytes(from, at..first, to)?;
        let last = range.end - range.end % SHARED_BLOCK;
        at = copy_in_system(from, first..last, to)?;
    } else {
        at = copy_in_system(from, at..range.end, to)?;
    }
    copy_bytes(from, at..range.end, to)
}

/// Lets the system copy as much as it can; returns where it stopped.
#[cfg(target_os = "linux")]
fn copy_in_system(from: &dyn OpenFile, range: std::ops::Range<u64>, to: &mut File) -> io::Result<u64> {
    let Some(file) = from.handle() else { return Ok(range.start) };
    let mut at = range.start;
    while at < range.end {
        let most = usize::try_from(range.end - at).unwrap_or(usize::MAX).min(STRETCH);
        match rustix::fs::copy_file_range(file, Some(&mut at), &*to, None, most) {
            // Not between these two file systems, or not at all: bytes go through our hands then.
            Ok(0)
            | Err(
                rustix::io::Errno::XDEV
                | rustix::io::Errno::INVAL
                | rustix::io::Errno::NOSYS
                | rustix::io::Errno::OPNOTSUPP
                | rustix::io::Errno::PERM,
            ) => break,
            Ok(copied) => start_writing(to, copied),
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(at)
}

/// So much is copied before the disk is told to begin: large enough for one request, small enough for the disk not to idle.
#[cfg(target_os = "linux")]
const STRETCH: usize = 8 << 20;

/// Lets the disk begin with what was just written, so that it works while we copy on; a sync that comes later finds it done.
/// Only advice: whether it is followed does not matter.
#[cfg(target_os = "linux")]
fn start_writing(to: &mut File, copied: usize) {
    use std::io::Seek as _;
    let Ok(end) = to.stream_position() else { return };
    let advice = rustix::fs::Advice::DontNeed;
    let _ignored =
        rustix::fs::fadvise(&*to, end - copied as u64, std::num::NonZeroU64::new(copied as u64), advice);
}

#[cfg(not(target_os = "linux"))]
fn copy_in_system(_from: &dyn OpenFile, range: std::ops::Range<u64>, _to: &mut File) -> io::Result<u64> {
    Ok(range.start)
}

fn copy_bytes(from: &dyn OpenFile, range: std::ops::Range<u64>, to: &mut File) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 20];
    let mut at = range.start;
    while at < range.end {
        let most = usize::try_from(range.end - at).unwrap_or(usize::MAX).min(buffer.len());
        let got = from.read_at(&mut buffer[..most], at)?;
        if got == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        to.write_all(&buffer[..got])?;
        at += got as u64;
    }
    Ok(())
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn rename_with(from: &Path, to: &Path, flags: rustix::fs::RenameFlags) -> io::Result<()> {
    Ok(rustix::fs::renameat_with(rustix::fs::CWD, from, rustix::fs::CWD, to, flags)?)
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn rename_noreplace(from: &Path, to: &Path) -> io::Result<()> {
    match rename_with(from, to, rustix::fs::RenameFlags::NOREPLACE) {
        // The file system cannot do it in one step (NFS, some FUSE): a second name for the file is refused if the first exists.
        Err(e) if e.kind() == io::ErrorKind::Unsupported || e.raw_os_error() == Some(22) => {
            link_then_unlink(from, to)
        }
        other => other,
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn rename_noreplace(from: &Path, to: &Path) -> io::Result<()> {
    link_then_unlink(from, to)
}

fn link_then_unlink(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to)?;
    fs::remove_file(from)
}

/// Whether two names are names of one file.
fn is_same_file(a: &Path, b: &Path) -> io::Result<bool> {
    let of = |path: &Path| fs::symlink_metadata(path).map(|meta| identity(&meta));
    Ok(of(a)? == of(b)?)
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    rename_with(a, b, rustix::fs::RenameFlags::EXCHANGE)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn exchange(_a: &Path, _b: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(unix)]
fn identity(meta: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    let nanos = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    Identity {
        file: meta.ino(),
        len: meta.len(),
        modified: nanos(meta.mtime(), meta.mtime_nsec()),
        changed: nanos(meta.ctime(), meta.ctime_nsec()),
    }
}

#[cfg(not(unix))]
fn identity(meta: &Metadata) -> Identity {
    let since = meta.modified().ok().and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
    let modified = since.map_or(0, |d| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX));
    Identity { file: 0, len: meta.len(), modified, changed: modified }
}

struct RealFile(File);

impl OpenFile for RealFile {
    fn handle(&self) -> Option<&File> {
        Some(&self.0)
    }

    fn identity(&self) -> io::Result<Identity> {
        Ok(identity(&self.0.metadata()?))
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
