//! [`Change`]: of a name, and what makes it durable.

use std::collections::BTreeMap;

use crate::VaultPath;

/// A change of names that a power cut may undo.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Link(VaultPath, usize),
    Unlink(VaultPath),
    Move(VaultPath, VaultPath, usize),
    Swap((VaultPath, usize), (VaultPath, usize)),
}

impl Change {
    pub(super) fn made_durable_by(&self, dir: &VaultPath) -> bool {
        let (Change::Link(path, _)
        | Change::Unlink(path)
        | Change::Move(_, path, _)
        | Change::Swap(_, (path, _))) = self;
        path.parent() == *dir
    }

    pub(super) fn apply(&self, names: &mut BTreeMap<VaultPath, usize>) {
        match self {
            Change::Link(path, file) => {
                names.insert(path.clone(), *file);
            }
            Change::Unlink(path) => {
                names.remove(path);
            }
            Change::Move(from, to, file) => {
                if names.get(from) == Some(file) {
                    names.remove(from);
                }
                names.insert(to.clone(), *file);
            }
            Change::Swap((a, file_a), (b, file_b)) => {
                names.insert(a.clone(), *file_b);
                names.insert(b.clone(), *file_a);
            }
        }
    }
}
