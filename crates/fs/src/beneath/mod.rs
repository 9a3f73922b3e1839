//! [`Root`]: a folder, and what the system can do below it without ever being led out of it.
//!
//! On Unix everything is done relative to handles of folders that were reached without leaving the root (`unix`), so that a link which
//! is put in place while we look leads nowhere. On Windows paths are checked before they are used (`windows`).

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::io;

#[cfg(target_os = "linux")]
pub(crate) use unix::is_android;
#[cfg(unix)]
pub(crate) use unix::{Root, identity};
#[cfg(windows)]
pub(crate) use windows::{Root, identity};

use crate::{Identity, NodeKind};

/// What a look at a file or folder tells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) kind: NodeKind,
    pub(crate) identity: Identity,
    pub(crate) device: u64,
}

/// How a file gets another name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rename {
    /// Fails if the name is taken
    NoReplace,
    /// Drops the file that had it
    Replace,
    /// That file gets the old name
    Exchange,
}

fn leads_out() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, LeadsOut)
}

/// Why something beneath the vault's folder is not opened.
#[derive(Debug, thiserror::Error)]
#[error("it is a link that leads out of the vault")]
pub(crate) struct LeadsOut;

fn not_a_file() -> io::Error {
    io::Error::other("it is not a file")
}
