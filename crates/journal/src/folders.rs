//! Where Forklore keeps what is its own.

use forklore_fs::VaultPath;

use crate::layout::{FORKLORE, folder};
use crate::operation::ObjectId;

/// Work that is under way.
pub fn tx() -> VaultPath {
    folder(&format!("{FORKLORE}/tx"))
}

/// The log: one file an operation.
pub fn ops() -> VaultPath {
    folder(&format!("{FORKLORE}/ops"))
}

/// Kept bytes, by their hash.
pub fn objects() -> VaultPath {
    folder(&format!("{FORKLORE}/objects"))
}

/// Files that nobody could place; never deleted by Forklore.
pub fn lost() -> VaultPath {
    folder(&format!("{FORKLORE}/lost"))
}

/// The file that stands for the right to change the vault.
pub fn lock() -> VaultPath {
    folder(&format!("{FORKLORE}/lock"))
}

/// The file that stands for the turn: whoever wants the right waits here for those who look.
pub(crate) fn turn() -> VaultPath {
    folder(&format!("{FORKLORE}/turn"))
}

pub(crate) fn in_tx(name: &str) -> VaultPath {
    // Names here are made of digits, letters and dots.
    tx().join(name).unwrap_or_default()
}

pub(crate) fn intent_path(id: &str) -> VaultPath {
    in_tx(&format!("{id}.intent"))
}

/// Where an operation stands in the log.
pub fn log_path(id: &str) -> VaultPath {
    ops().join(&format!("{id}.op")).unwrap_or_default()
}

/// Where an object is.
pub fn object_path(object: &ObjectId) -> VaultPath {
    // 64 digits are a name.
    objects().join(object.as_str()).unwrap_or_default()
}
