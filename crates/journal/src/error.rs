//! [`TxError`]: why an operation was not done.

use std::io;

use forklore_fs::{PathError, VaultPath};

/// Why an operation was not done.
#[derive(Debug, thiserror::Error)]
pub enum TxError {
    /// Another Forklore is changing this vault.
    #[error("Another Forklore is changing this vault right now")]
    Busy,
    /// What the operation was planned from has changed.
    #[error("{0} was changed while Forklore was working")]
    Changed(VaultPath),
    /// A name that was free is taken.
    #[error("{0} came into being while Forklore was working")]
    Taken(VaultPath),
    /// What is kept of a file is not what was put there.
    #[error("What is kept of {0} is damaged")]
    Damaged(VaultPath),
    /// A folder cannot be written.
    #[error("{0} cannot be written")]
    ReadOnly(VaultPath),
    /// A file is a link: moving it would move the link, not the file.
    #[error("{0} is a symbolic link")]
    Link(VaultPath),
    /// A file is on another file system than Forklore's own folder, so nothing can be moved there in one instant.
    #[error("{0} is on another file system than the rest of the vault")]
    OtherDevice(VaultPath),
    /// A newer Forklore has left work that this one does not understand.
    #[error("A newer Forklore (format {0}) has left unfinished work in this vault")]
    Newer(u32),
    /// It will happen, but not now.
    #[error("The operation {id} is on its way but could not be finished: {source}")]
    Unfinished {
        /// Its id
        id: String,
        /// What went wrong
        source: PathError,
    },
    /// The system said no; nothing happened.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// A file that could not be read.
pub(crate) fn unreadable(path: &VaultPath, source: io::Error) -> PathError {
    PathError { path: path.clone(), doing: "read", source }
}
