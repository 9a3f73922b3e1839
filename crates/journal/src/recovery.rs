//! [`recover`]: what was cut off is finished, or taken back; what is left over is removed.

use forklore_fs::{NodeKind, PathError, Vfs};

use crate::awaited::{Come, has_come, is_published};
use crate::edit::Locate;
use crate::error::TxError;
use crate::folders::{self, intent_path, log_path};
use crate::left_over::discard;
use crate::lost::park;
use crate::operation::{Operation, Step};
use crate::redo::{NameTaken, redo, take_back};
use crate::seal::{Unsealed, unseal};
use crate::swap::{remove, settle, stem};

/// What the start of Forklore found and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovered {
    /// An operation that had been cut off was finished.
    Finished {
        /// Its id
        id: String,
        /// What it did
        summary: String,
    },
    /// An operation that had been cut off before it counted, or whose chat never came, left nothing behind.
    TakenBack {
        /// Its id
        id: String,
    },
    /// An operation has edits that could not be made yet.
    Pending {
        /// Its id
        id: String,
        /// What it did
        summary: String,
    },
}

/// Finishes or takes back what was cut off, if nobody is at work. For the start of every command. `known` finds messages in chats.
pub fn recover(fs: &dyn Vfs, known: &Locate<'_>, now: i64) -> Result<Vec<Recovered>, TxError> {
    if fs.list(&folders::tx())?.is_empty() {
        return Ok(Vec::new());
    }
    match fs.lock(&folders::lock())? {
        Some(_lock) => recover_locked(fs, known, now),
        None => Ok(Vec::new()),
    }
}

pub(crate) fn recover_locked(fs: &dyn Vfs, known: &Locate<'_>, now: i64) -> Result<Vec<Recovered>, TxError> {
    let tx = folders::tx();
    let mut found = Vec::new();
    let mut alive: Vec<String> = Vec::new();
    for node in fs.list(&tx)? {
        let Some(id) = node.name.strip_suffix(".intent").filter(|_| node.kind == NodeKind::File) else {
            continue;
        };
        let bytes = fs.read(&intent_path(id))?.unwrap_or_default();
        let operation = match unseal(&bytes, id) {
            Ok(operation) => operation,
            Err(Unsealed::Newer(version)) => return Err(TxError::Newer(version)),
            // Not what Forklore writes: nothing in it is done, and it is kept for whoever wants to know.
            Err(Unsealed::Foreign) => {
                park(fs, &intent_path(id))?;
                continue;
            }
            Err(Unsealed::Torn) => {
                remove(fs, &intent_path(id))?;
                found.push(Recovered::TakenBack { id: id.to_owned() });
                continue;
            }
        };
        if let Some(recovered) = recover_one(fs, &operation, known, now)? {
            if matches!(recovered, Recovered::Pending { .. }) {
                alive.push(id.to_owned());
            }
            found.push(recovered);
        } else {
            alive.push(id.to_owned());
        }
    }
    // What is left belongs to operations that never counted. An id ends at its first dot.
    let mut dead: Vec<String> = fs
        .list(&tx)?
        .iter()
        .filter(|node| node.kind == NodeKind::File)
        .filter_map(|node| node.name.split('.').next().map(str::to_owned))
        .filter(|id| !alive.contains(id))
        .collect();
    dead.dedup();
    for id in dead {
        let told = |r: &Recovered| match r {
            Recovered::Finished { id: told, .. }
            | Recovered::TakenBack { id: told }
            | Recovered::Pending { id: told, .. } => *told == id,
        };
        if !found.iter().any(told) {
            found.push(Recovered::TakenBack { id: id.clone() });
        }
        discard(fs, &id)?;
    }
    Ok(found)
}

/// One intent; `None` if it still waits for its chat.
pub(crate) fn recover_one(
    fs: &dyn Vfs,
    operation: &Operation,
    known: &Locate<'_>,
    now: i64,
) -> Result<Option<Recovered>, PathError> {
    let (id, summary) = (operation.id.clone(), operation.summary.clone());
    for (n, step) in operation.steps.iter().enumerate() {
        if let Step::Edit(edit) = step {
            settle(fs, &stem(&id, n), &edit.target)?;
        }
    }
    if fs.identity(&log_path(&id))?.is_some() {
        // It was moved to the log, and a power cut brought the old name back beside the new one.
        remove(fs, &intent_path(&id))?;
        return Ok(Some(Recovered::Finished { id, summary }));
    }
    if let Some(awaits) = &operation.awaits {
        let come = has_come(fs, operation, awaits)?;
        // A book that is not in place yet was never told to anybody: nobody will name it.
        if come == Come::No && now < awaits.until && is_published(fs, operation)? {
            return Ok(None);
        }
        if come != Come::Bound {
            take_back(fs, operation)?;
            return Ok(Some(Recovered::TakenBack { id }));
        }
    }
    Ok(Some(match redo(fs, operation, known, &[])? {
        Ok(outcome) if outcome.pending.is_empty() => Recovered::Finished { id, summary },
        Ok(_) => Recovered::Pending { id, summary },
        Err(NameTaken(_)) => Recovered::TakenBack { id },
    }))
}
