//! The one place where Forklore touches the disk.
//!
//! * [`Vfs`] is the seam: everything above asks it, with [`VaultPath`]s that cannot leave the vault.
//! * [`RealFs`] is the operating system. It follows symbolic links inside the vault and refuses those that lead out, also if they
//!   come into being while it looks.
//! * [`Attributes`] are owner, mode and extended attributes of a file: what takes a file's place has the same.
//! * [`SimFs`] is the simulator: a file system in memory that knows what a power cut would leave, and can be stopped
//!   before any operation. It is the second implementation that keeps the seam honest.
//!
//! * [`Guarantee`] says what the disk below a vault promises.
//! * [`Hints`] tells when it may be worth to look again.
//!
//! "Not there" and "cannot be read" are different answers everywhere: see [`PathError::is_missing`].

mod atomic;
mod attributes;
mod beneath;
mod copy;
mod guarantee;
#[cfg(any(windows, test))]
mod held;
mod hints;
mod path;
mod real;
mod sim;
mod steps;

use std::io;

pub use atomic::put;
pub use attributes::Attributes;
pub use guarantee::{Grade, Guarantee};
pub use hints::Hints;
pub use path::{BadPath, VaultPath, canonical, shown};
pub use real::RealFs;
pub use sim::{Crash, SimFs};
pub use steps::{aside, waits_beside};

/// What makes a file the same file as before: if any of it changed, what was known of the content no longer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity {
    /// Number of the file on its device; 0 where the system has none.
    pub file: u64,
    /// Length in bytes.
    pub len: u64,
    /// Time of the last change of content, in nanoseconds since 1970.
    pub modified: i64,
    /// Time of the last change of content or attributes, in nanoseconds since 1970. Cannot be set back by a copying tool.
    pub changed: i64,
}

impl Identity {
    /// Whether it is the same file with the same content, whatever its name is by now: a rename touches `changed` alone.
    pub fn is_same_content(&self, other: &Identity) -> bool {
        (self.file, self.len, self.modified) == (other.file, other.len, other.modified)
    }
}

/// A piece of a file that is being made.
#[derive(Clone)]
pub enum Part<'a> {
    /// These bytes
    Bytes(&'a [u8]),
    /// A stretch of another file. Where the file system can share blocks between files, nothing is copied.
    Range(&'a dyn OpenFile, std::ops::Range<u64>),
}

impl Part<'_> {
    /// How many bytes it is.
    fn len(&self) -> u64 {
        match self {
            Part::Bytes(bytes) => bytes.len() as u64,
            Part::Range(_, range) => range.end.saturating_sub(range.start),
        }
    }
}

impl std::fmt::Debug for Part<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Part::Bytes(bytes) => write!(f, "Bytes({})", bytes.len()),
            Part::Range(_, range) => write!(f, "Range({range:?})"),
        }
    }
}

/// A file that is to be made.
#[derive(Debug, Clone, Copy)]
pub struct New<'a> {
    /// Under which name
    pub path: &'a VaultPath,
    /// Of what, one part after the other
    pub parts: &'a [Part<'a>],
    /// Whose it is to be, and who may read it
    pub like: &'a Attributes,
}

/// Writes the content of a file that is being made.
pub type Fill<'a> = dyn FnMut(&mut dyn io::Write) -> io::Result<()> + 'a;

/// A lock that is held; given back when dropped, or when the process ends however it ends.
pub struct Lock(#[allow(dead_code, reason = "held for its drop")] Box<dyn Send + Sync>);

impl std::fmt::Debug for Lock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lock")
    }
}

/// What a directory entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// A regular file, or a link to one inside the vault
    File,
    /// A directory, or a link to one inside the vault
    Dir,
    /// A link that leads out of the vault or nowhere, a socket, a device
    Other,
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// File name, without the directory. Names that are not UTF-8 are never listed: SillyTavern cannot make them.
    pub name: String,
    /// What it is
    pub kind: NodeKind,
}

/// What was being done with which path when the system said no.
#[derive(Debug, thiserror::Error)]
#[error("could not {doing} {path}: {source}")]
pub struct PathError {
    /// The path inside the vault
    pub path: VaultPath,
    /// What was being done, as a verb: "read", "list", "create".
    pub doing: &'static str,
    /// What the system said
    pub source: io::Error,
}

impl PathError {
    /// Whether the file or directory is not there, as opposed to being there and not readable.
    pub fn is_missing(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }

    /// Whether the file system cannot do such a thing at all.
    pub fn is_unsupported(&self) -> bool {
        // The second is what Linux says where a file system does not know the flag (EINVAL).
        self.source.kind() == io::ErrorKind::Unsupported || self.source.raw_os_error() == Some(22)
    }

    /// Whether it is a link that leads out of the vault.
    pub fn leads_out(&self) -> bool {
        self.source.get_ref().and_then(|inner| inner.downcast_ref::<beneath::LeadsOut>()).is_some()
    }

    /// Whether a file that was to be new is already there.
    pub fn is_taken(&self) -> bool {
        self.source.kind() == io::ErrorKind::AlreadyExists
    }
}

/// A file open for reading. It stays the same file even when another takes its name.
pub trait OpenFile: Send + Sync {
    /// The identity at the time of asking.
    fn identity(&self) -> io::Result<Identity>;

    /// Fills as much of `buf` as the file holds from `offset` on, and says how much that was.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// The system's own handle, if there is one: the system copies between its own files faster than we can.
    fn handle(&self) -> Option<&std::fs::File> {
        None
    }

    /// Exactly the bytes of a range.
    fn read_range(&self, range: std::ops::Range<u64>) -> io::Result<Vec<u8>> {
        let wanted = usize::try_from(range.end.saturating_sub(range.start)).map_err(io::Error::other)?;
        let mut bytes = vec![0; wanted];
        if self.read_at(&mut bytes, range.start)? < wanted {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(bytes)
    }
}

/// Every byte that Forklore reads or puts on disk goes through here.
///
/// Changes become durable only by [`Vfs::sync_file`] (content) and [`Vfs::sync_dir`] (names); the order in which a use-case calls
/// them is part of its correctness and is tested by leaving each one out.
pub trait Vfs: Send + Sync {
    /// The folder that everything is below, where it is one of the system's: what an owner sets for a vault is found by it.
    fn home(&self) -> Option<&std::path::Path> {
        None
    }

    /// What the disk promises.
    fn guarantee(&self) -> Guarantee {
        Guarantee::of(None)
    }

    /// Opens a file for reading.
    fn open(&self, path: &VaultPath) -> Result<Box<dyn OpenFile>, PathError>;

    /// The identity of a file; `None` if it is not there.
    fn identity(&self, path: &VaultPath) -> Result<Option<Identity>, PathError>;

    /// The identities of files in a directory, by their names; `None` for one that is not there or cannot be looked at. Takes less time than
    /// asking for each.
    fn identities(&self, dir: &VaultPath, names: &[&str]) -> Vec<Option<Identity>> {
        let identity = |name: &&str| self.identity(&dir.join(name).ok()?).ok()?;
        names.iter().map(identity).collect()
    }

    /// Owner, mode and extended attributes of a file or directory; `None` if it is not there.
    fn attributes(&self, path: &VaultPath) -> Result<Option<Attributes>, PathError>;

    /// The entries of a directory, sorted by name; empty if there is no such directory.
    fn list(&self, dir: &VaultPath) -> Result<Vec<Node>, PathError>;

    /// Makes a new file of these parts, one after the other. Fails if the name is taken. On a real disk it belongs to whom its
    /// directory belongs, and is not more readable than that.
    fn assemble(&self, path: &VaultPath, parts: &[Part<'_>]) -> Result<(), PathError>;

    /// Makes new files, each of its parts, and makes their content durable; large ones side by side, so that the disk writes one while
    /// the other is copied. After a failure any of them may be there.
    fn assemble_durably(&self, files: &[New<'_>]) -> Result<(), PathError> {
        files.iter().try_for_each(|new| {
            self.assemble(new.path, new.parts)?;
            self.dress(new.path, new.like)?;
            self.sync_file(new.path)
        })
    }

    /// Makes a new file with this content. Fails if the name is taken.
    fn create(&self, path: &VaultPath, content: &[u8]) -> Result<(), PathError> {
        self.assemble(path, &[Part::Bytes(content)])
    }

    /// Makes a new file of what `fill` writes. On a real disk it need not fit into memory. Fails if the name is taken.
    fn create_with(&self, path: &VaultPath, fill: &mut Fill<'_>) -> Result<(), PathError> {
        let mut content = Vec::new();
        fill(&mut content).map_err(|source| PathError { path: path.clone(), doing: "create", source })?;
        self.create(path, &content)
    }

    /// Adds bytes to the end of a file. Only for files that nobody but Forklore writes, and that nobody reads yet.
    fn append(&self, path: &VaultPath, content: &[u8]) -> Result<(), PathError>;

    /// Gives a file these attributes, as far as we may. They are durable when the file is synced.
    fn dress(&self, path: &VaultPath, attributes: &Attributes) -> Result<(), PathError>;

    /// A number for the file system that a directory is on: files can only be renamed within one. 0 where the system has none.
    fn device(&self, dir: &VaultPath) -> Result<u64, PathError>;

    /// Whether new names can be put into a directory, as far as rights tell.
    fn can_write(&self, dir: &VaultPath) -> Result<bool, PathError>;

    /// Whether a name is a symbolic link.
    fn is_link(&self, path: &VaultPath) -> Result<bool, PathError>;

    /// Takes the lock that this file stands for, making the file if need be; `None` if somebody else holds it.
    fn lock(&self, path: &VaultPath) -> Result<Option<Lock>, PathError>;

    /// Makes a directory and those above it; nothing happens if it is there.
    fn make_dir(&self, dir: &VaultPath) -> Result<(), PathError>;

    /// As [`Vfs::make_dir`], with what it makes for the owner alone. If the directory is there, it is closed to others, too.
    fn make_private_dir(&self, dir: &VaultPath) -> Result<(), PathError> {
        self.make_dir(dir)
    }

    /// Makes the content of a file durable.
    fn sync_file(&self, path: &VaultPath) -> Result<(), PathError>;

    /// Makes the names in a directory durable.
    fn sync_dir(&self, dir: &VaultPath) -> Result<(), PathError>;

    /// Gives a file another name. Fails if that name is taken.
    fn rename_noreplace(&self, from: &VaultPath, to: &VaultPath) -> Result<(), PathError>;

    /// Gives a file another name and drops the file that had it. Only for files that nobody but Forklore writes.
    fn replace(&self, from: &VaultPath, to: &VaultPath) -> Result<(), PathError>;

    /// Lets two files trade names: in one instant, or in steps that lose no save (see [`aside`]). Taken means that somebody saved at `b`
    /// between those steps; what is there then is newer than what either name led to.
    fn exchange(&self, a: &VaultPath, b: &VaultPath) -> Result<(), PathError>;

    /// Takes a file's name away.
    fn unlink(&self, path: &VaultPath) -> Result<(), PathError>;

    /// A whole small file; `None` if it is not there.
    fn read(&self, path: &VaultPath) -> Result<Option<Vec<u8>>, PathError> {
        let fail = |source| PathError { path: path.clone(), doing: "read", source };
        let file = match self.open(path) {
            Ok(file) => file,
            Err(e) if e.is_missing() => return Ok(None),
            Err(e) => return Err(e),
        };
        let len = file.identity().map_err(fail)?.len;
        // A file that shrinks under our hands is read again by whoever needs it whole; here the bytes that are there count.
        let mut bytes = vec![0; usize::try_from(len).map_err(|e| fail(io::Error::other(e)))?];
        let got = file.read_at(&mut bytes, 0).map_err(fail)?;
        bytes.truncate(got);
        Ok(Some(bytes))
    }
}
