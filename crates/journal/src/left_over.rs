//! What an operation leaves behind: [`discard`] removes it, and keeps aside what nobody can place.

use forklore_fs::{NodeKind, PathError, Vfs};

use crate::folders::{self, in_tx};
use crate::lost::park;
use crate::operation::FileId;
use crate::swap::{self, remove};

/// Removes the left-overs of an operation. What is not known to be ours is kept aside.
pub(crate) fn discard(fs: &dyn Vfs, id: &str) -> Result<(), PathError> {
    let tx = folders::tx();
    let prefix = format!("{id}.");
    for node in fs.list(&tx)? {
        if node.kind != NodeKind::File || (node.name != id && !node.name.starts_with(&prefix)) {
            continue;
        }
        let path = in_tx(&node.name);
        let strange = node.name.ends_with(".gone")
            || swap::is_strange(&node.name, fs.identity(&path)?.map(FileId::from));
        if strange { park(fs, &path)? } else { remove(fs, &path)? }
    }
    Ok(())
}
