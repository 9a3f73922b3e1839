//! [`work`]: what Forklores are doing to a vault at this moment, for those who only look.

use forklore_fs::{PathError, VaultPath, Vfs};

use crate::folders;
use crate::operation::{Operation, Step};
use crate::seal::unseal;

/// What Forklores are doing to a vault.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Work {
    /// Whether one of them is at it
    pub at_work: bool,
    /// Files that operations which count already make, change or take away
    pub under_way: Vec<VaultPath>,
    /// Files that nobody is working on any more
    pub left: Vec<VaultPath>,
    /// By which two looks are known to have seen the same: what is being done, and what was done last
    seen: (Vec<String>, Option<String>),
}

impl Work {
    /// Whether whoever read the vault between two looks has seen no operation half done.
    pub fn is_calm(&self, before: &Self) -> bool {
        !before.at_work && !self.at_work && before.seen == self.seen
    }
}

/// Looks what Forklores are doing to a vault.
pub fn work(fs: &dyn Vfs) -> Result<Work, PathError> {
    let names: Vec<String> = fs.list(&folders::tx())?.into_iter().map(|node| node.name).collect();
    let last = fs.list(&folders::ops())?.into_iter().map(|node| node.name).max();
    if names.is_empty() {
        return Ok(Work { seen: (names, last), ..Work::default() });
    }
    // Nobody is told that the vault is busy because we try its lock: with the turn in our hands he waits. While somebody else has the
    // turn, nobody knows; whoever asks again soon does.
    let turn = fs.lock(&folders::turn());
    let taken = matches!(turn, Ok(None));
    // Whoever works has the lock. That nobody can take it here (a vault on read-only media) means that nobody has it.
    let at_work = taken || fs.lock(&folders::lock()).is_ok_and(|lock| lock.is_none());
    drop(turn);
    let mut work = Work { at_work, ..Work::default() };
    let mut awaiting: Vec<String> = Vec::new();
    for name in &names {
        let Some(id) = name.strip_suffix(".intent") else { continue };
        // One that is done meanwhile has left.
        let Some(bytes) = fs.read(&folders::intent_path(id))? else { continue };
        let Ok(operation) = unseal(&bytes, id) else { continue };
        work.under_way.extend(targets(&operation));
        // One whose chat SillyTavern is about to save is no left-over; if the chat does not come it is taken back.
        if operation.awaits.is_some() {
            awaiting.push(format!("{id}."));
        }
    }
    if !at_work {
        let left = names.iter().filter(|name| !awaiting.iter().any(|id| name.starts_with(id)));
        work.left = left.map(|name| folders::in_tx(name)).collect();
    }
    work.seen = (names, last);
    Ok(work)
}

fn targets(operation: &Operation) -> impl Iterator<Item = VaultPath> {
    let awaited = operation.awaits.iter().map(|awaits| awaits.target.clone());
    operation.steps.iter().map(Step::target).cloned().chain(awaited)
}
