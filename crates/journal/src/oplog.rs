//! The log of operations: [`OpLog`] is everything that Forklore ever did in a vault, oldest first.
//!
//! Operations are immutable files. That one was undone is told by another one, which undoes it; a redo undoes that.

use std::collections::{HashMap, HashSet};

use forklore_fs::{NodeKind, PathError, VaultPath, Vfs};
use schemars::JsonSchema;
use serde::Serialize;

use crate::operation::{FileId, Kind, Operation, Retire};
use crate::seal::{Unsealed, unseal};
use crate::{folders, object_path};

/// All operations, oldest first.
#[derive(Debug, Default)]
pub struct OpLog {
    /// The operations.
    pub operations: Vec<Operation>,
    /// Names of files in the log that cannot be read: damaged, or written by a newer Forklore.
    pub unreadable: Vec<String>,
    undone: HashMap<String, String>,
    /// By operation that is no undo: the last one that did, undid or redid it
    last_turn: HashMap<String, String>,
}

/// Why an operation cannot be found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// None has that id.
    #[error("There is no operation \"{0}\"")]
    NoSuchOperation(String),
    /// Several ids start like this.
    #[error("\"{0}\" could be {1} operations")]
    Ambiguous(String, usize),
}

/// One operation, as `log` tells it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LogEntry {
    /// Its id
    pub id: String,
    /// What it did; `redo` for the undo of an undo
    pub kind: &'static str,
    /// When, as RFC 3339
    pub at: String,
    /// Address of the chat that it is about
    pub chat: Option<String>,
    /// What it did, in a sentence
    pub summary: String,
    /// The operation that it undoes
    pub undoes: Option<String>,
    /// The operation that undid it
    pub undone_by: Option<String>,
    /// Whether some of its edits could not be made yet
    pub pending: bool,
}

/// What `log` tells.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LogReport {
    /// Newest first
    pub operations: Vec<LogEntry>,
    /// Files in the log that cannot be read
    pub unreadable: Vec<String>,
}

/// Ids of all operations in the log, without reading them.
pub fn ids(fs: &dyn Vfs) -> Result<HashSet<String>, PathError> {
    let mut ids = HashSet::new();
    for (folder, suffix) in [(folders::ops(), ".op"), (folders::tx(), ".intent")] {
        let names = fs.list(&folder)?;
        ids.extend(names.iter().filter_map(|node| node.name.strip_suffix(suffix).map(str::to_owned)));
    }
    Ok(ids)
}

impl OpLog {
    /// Reads the log, operations with pending edits included.
    pub fn read(fs: &dyn Vfs) -> Result<Self, PathError> {
        let mut log = Self::default();
        for (folder, suffix) in [(folders::ops(), ".op"), (folders::tx(), ".intent")] {
            for node in fs.list(&folder)? {
                // A copy that a syncing tool left beside the original has another name than its operation: it does not count.
                let Some(id) = node.name.strip_suffix(suffix) else { continue };
                let Some(path) = folder.join(&node.name).ok().filter(|_| node.kind == NodeKind::File) else {
                    continue;
                };
                match unseal(&fs.read(&path)?.unwrap_or_default(), id) {
                    Ok(operation) => log.operations.push(operation),
                    Err(Unsealed::Torn | Unsealed::Newer(_) | Unsealed::Foreign) => {
                        log.unreadable.push(node.name);
                    }
                }
            }
        }
        log.operations.sort_by(|a, b| a.id.cmp(&b.id));
        let turned: Vec<_> = log.operations.iter().map(|op| (op, log.origin(op))).collect();
        let turned: Vec<_> =
            turned.into_iter().map(|(op, (of, n))| (op.id.clone(), of.id.clone(), n)).collect();
        for (id, origin, turns) in turned {
            // Undo, redo, undo of the same thing follow each other, and each ends what the one before it did.
            if let Some(before) = log.last_turn.insert(origin.clone(), id.clone()) {
                log.undone.insert(before, id.clone());
            }
            // Done again, an operation counts again; the redo before is over all the same.
            match turns % 2 {
                0 => drop(log.undone.remove(&origin)),
                _ => drop(log.undone.insert(origin, id)),
            }
        }
        Ok(log)
    }

    /// The operation that undid this one.
    pub fn undone_by(&self, id: &str) -> Option<&str> {
        self.undone.get(id).map(String::as_str)
    }

    /// Whether this is the last that was done, undone or redone of what it is about.
    fn is_last_turn(&self, operation: &Operation) -> bool {
        self.last_turn.get(&self.origin(operation).0.id) == Some(&operation.id)
    }

    /// The operation with this id, or the only one whose id starts like this.
    pub fn find(&self, id: &str) -> Result<&Operation, FindError> {
        // Every id begins with nothing, and nothing is meant by it.
        let is_like = |op: &&Operation| !id.is_empty() && op.id.starts_with(id);
        let like: Vec<&Operation> = self.operations.iter().filter(is_like).collect();
        match like[..] {
            [one] => Ok(one),
            [] => Err(FindError::NoSuchOperation(id.to_owned())),
            _ => like
                .iter()
                .copied()
                .find(|op| op.id == id)
                .ok_or_else(|| FindError::Ambiguous(id.to_owned(), like.len())),
        }
    }

    /// The last operation that counts and is no undo: what `undo` means without more words.
    pub fn last_done(&self) -> Option<&Operation> {
        self.operations.iter().rev().find(|op| op.undoes.is_none() && self.undone_by(&op.id).is_none())
    }

    /// The last undo that counts: what `redo` means. A redo reverts something, too, but is none.
    pub fn last_undo(&self) -> Option<&Operation> {
        let mut newest_first = self.operations.iter().rev();
        newest_first.find(|op| self.origin(op).1 % 2 == 1 && self.is_last_turn(op))
    }

    /// What an operation is about in the end, and how many times that was turned round: an odd number is an undo, an even one a
    /// redo, none the operation itself.
    pub fn origin<'a>(&'a self, operation: &'a Operation) -> (&'a Operation, usize) {
        let mut origin = operation;
        let mut turns = 0;
        while let Some(undoes) = &origin.undoes {
            turns += 1;
            // Only older ones can be undone: this ends.
            match self.operations.iter().find(|op| op.id == *undoes && op.id < origin.id) {
                Some(older) => origin = older,
                None => break,
            }
        }
        (origin, turns)
    }

    /// The files that an operation has made under a name, those that came back by doing it again included.
    pub fn made(&self, operation: &Operation, target: &VaultPath) -> Vec<FileId> {
        let (origin, turns) = self.origin(operation);
        let again = |op: &&Operation| {
            let (of, n) = self.origin(op);
            of.id == origin.id && n % 2 == turns % 2
        };
        let publishes = self.operations.iter().filter(again).flat_map(Operation::publishes);
        publishes.filter(|publish| publish.target == *target).map(|publish| publish.file).collect()
    }

    /// Files that are in the trash: retired by an operation that counts, with their content still there. What was deleted, came
    /// back and was deleted again is there once; what came back and is where it was is not there any more.
    pub fn trash<'a>(&'a self, fs: &dyn Vfs) -> Result<Vec<(&'a Operation, &'a Retire)>, PathError> {
        let mut found = Vec::new();
        for operation in self.operations.iter().filter(|op| self.is_last_turn(op)) {
            for retire in operation.retires() {
                let is_back =
                    self.was_restored(operation, &retire.target) && fs.identity(&retire.target)?.is_some();
                if !is_back && fs.identity(&object_path(&retire.object))?.is_some() {
                    found.push((operation, retire));
                }
            }
        }
        Ok(found)
    }

    /// Whether a file that an operation took away was brought back later, by something that counts.
    fn was_restored(&self, taken: &Operation, target: &VaultPath) -> bool {
        let later = self.operations.iter().rev().take_while(|later| later.id > taken.id);
        { later }
            .filter(|later| later.kind == Kind::Restore && self.undone_by(&later.id).is_none())
            .flat_map(Operation::publishes)
            .any(|publish| publish.target == *target)
    }

    /// The log for reading, newest first.
    pub fn report(&self, fs: &dyn Vfs) -> Result<LogReport, PathError> {
        let pending: Vec<String> = fs.list(&folders::tx())?.into_iter().map(|node| node.name).collect();
        let entry = |op: &Operation| LogEntry {
            id: op.id.clone(),
            kind: match op.kind {
                Kind::Undo if self.origin(op).1.is_multiple_of(2) => "redo",
                kind => kind.as_str(),
            },
            at: time(op.at),
            chat: op.chat.clone(),
            summary: op.summary.clone(),
            undoes: op.undoes.clone(),
            undone_by: self.undone_by(&op.id).map(str::to_owned),
            pending: pending.contains(&format!("{}.intent", op.id)),
        };
        Ok(LogReport {
            operations: self.operations.iter().rev().map(entry).collect(),
            unreadable: self.unreadable.clone(),
        })
    }
}

/// A time in milliseconds since 1970 as RFC 3339.
pub fn time(at: i64) -> String {
    jiff::Timestamp::from_millisecond(at).unwrap_or_default().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
