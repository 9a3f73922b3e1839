//! [`redo`]: the steps of an operation that counts, in order. Every step can be done twice, and looks first whether it is done.

use forklore_fs::{PathError, VaultPath, Vfs};

use crate::content::hash;
use crate::edit::Locate;
use crate::folders::{self, in_tx, intent_path, log_path, object_path};
use crate::left_over::discard;
use crate::lost::park;
use crate::operation::{Edit, FileId, Operation, Retire, Step};
use crate::swap::{Prepared, Swapped, remove, stem, swap};

/// What became of an operation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Files whose edits are still to be made.
    pub pending: Vec<VaultPath>,
    /// Files that others have changed or taken away, so that their edits, or their retirement, fell away.
    pub void: Vec<VaultPath>,
    /// Files that were edited: which they were, and which they are.
    pub edited: Vec<(VaultPath, FileId, FileId)>,
}

/// A name that was free when the operation was planned, and is not any more: the operation is taken back.
#[derive(Debug)]
pub(crate) struct NameTaken(pub(crate) VaultPath);

/// Does all steps, in order; those that are done already cost a look. The operation ends in the log unless something is pending.
pub(crate) fn redo(
    fs: &dyn Vfs,
    operation: &Operation,
    known: &Locate<'_>,
    prepared: &[Prepared],
) -> Result<Result<Outcome, NameTaken>, PathError> {
    if let Err(taken) = publish_all(fs, operation)? {
        return Ok(Err(taken));
    }
    let mut outcome = Outcome::default();
    let mut held_back = false;
    let mut gone = Vec::new();
    for publish in operation.publishes() {
        if fs.identity(&publish.target)?.is_none() {
            gone.push(&publish.target);
        }
    }
    let mut made = 0;
    for (n, step) in operation.steps.iter().enumerate() {
        match step {
            Step::Publish(_) => {}
            // With one before it.
            Step::Edit(_) if n < made => {}
            Step::Edit(edit) => {
                let run = run_from(operation, n, prepared);
                made = n + run.len();
                held_back |=
                    edit_file(fs, operation, (n, &edit.target, run), &gone, known, prepared, &mut outcome)?;
            }
            Step::Retire(retire) => {
                if held_back || !retire_file(fs, retire, &in_tx(&format!("{}.{n}.gone", operation.id)))? {
                    outcome.void.push(retire.target.clone());
                }
            }
        }
    }
    if operation.retires().next().is_some() {
        fs.sync_dir(&folders::objects())?;
    }
    if outcome.pending.is_empty() {
        // Not synced: a power cut that brings the intent back only lets the next start find everything done.
        fs.rename_noreplace(&intent_path(&operation.id), &log_path(&operation.id))?;
    }
    Ok(Ok(outcome))
}

/// The edits of one file that follow each other, from a step on: they are made together. One whose new content is made already is alone.
fn run_from<'a>(operation: &'a Operation, n: usize, prepared: &[Prepared]) -> Vec<&'a Edit> {
    let alone = |n: usize| prepared.iter().any(|prepared| prepared.step == n);
    let target = operation.steps[n].target();
    let edits = operation.steps.iter().enumerate().skip(n).map_while(|(at, step)| match step {
        Step::Edit(edit) if edit.target == *target && (at == n || !alone(at)) => Some(edit),
        _ => None,
    });
    edits.take(if alone(n) { 1 } else { usize::MAX }).collect()
}

/// Makes edits of one file, which begin with step `n`. Gives whether one was not made that must be.
fn edit_file(
    fs: &dyn Vfs,
    operation: &Operation,
    (n, target, run): (usize, &VaultPath, Vec<&Edit>),
    gone: &[&VaultPath],
    known: &Locate<'_>,
    prepared: &[Prepared],
    outcome: &mut Outcome,
) -> Result<bool, PathError> {
    let mut held_back = false;
    let is_open = can_open(fs, target);
    let mut left = Vec::new();
    for (i, edit) in run.into_iter().enumerate() {
        if gone.iter().any(|target| edit.names(target)) {
            // Time has passed since it was published, and somebody took it away: nothing must point at it now.
            held_back |= edit.required;
            outcome.void.push(target.clone());
        } else if is_open {
            left.push((n + i, edit));
        } else {
            // What has become of it cannot be read: the edit waits, and nothing else does.
            held_back |= edit.required;
            outcome.pending.push(target.clone());
        }
    }
    while let Some((first, _)) = left.first() {
        let prepared = prepared.iter().find(|prepared| prepared.step == *first);
        let edits: Vec<&Edit> = left.iter().map(|(_, edit)| *edit).collect();
        let done = swap(fs, target, &edits, &stem(&operation.id, *first), known, prepared)?;
        let mut later = Vec::new();
        for ((at, edit), done) in left.into_iter().zip(done) {
            let Some(done) = done else {
                later.push((at, edit));
                continue;
            };
            held_back |= edit.required && !matches!(done, Swapped::Done(_));
            match done {
                Swapped::Done(files) => {
                    outcome.edited.extend(files.map(|(was, is)| (target.clone(), was, is)));
                }
                Swapped::Void => outcome.void.push(target.clone()),
                Swapped::Pending => outcome.pending.push(target.clone()),
            }
        }
        left = later;
    }
    Ok(held_back)
}

/// Whether a file can be opened, or is not there.
fn can_open(fs: &dyn Vfs, path: &VaultPath) -> bool {
    match fs.open(path) {
        Err(e) => e.is_missing(),
        Ok(_) => true,
    }
}

/// Publishes every new file. If one of the names is taken by now, those that are already there are taken back.
pub(crate) fn publish_all(fs: &dyn Vfs, operation: &Operation) -> Result<Result<(), NameTaken>, PathError> {
    for publish in operation.publishes() {
        let staged = in_tx(&publish.staged);
        match fs.rename_noreplace(&staged, &publish.target) {
            Ok(()) => {}
            // Done before.
            Err(_) if fs.identity(&staged)?.is_none() => {}
            // The first file of a new folder.
            Err(e) if e.is_missing() => {
                make_dirs(fs, &publish.target.parent())?;
                fs.rename_noreplace(&staged, &publish.target)?;
            }
            Err(e) if e.is_taken() => {
                take_back(fs, operation)?;
                return Ok(Err(NameTaken(publish.target.clone())));
            }
            Err(e) => return Err(e),
        }
        fs.sync_dir(&publish.target.parent())?;
    }
    Ok(Ok(()))
}

/// Makes a folder, and those that it is in: each is durable before anything depends on it.
fn make_dirs(fs: &dyn Vfs, dir: &VaultPath) -> Result<(), PathError> {
    let above = dir.parent();
    if above != VaultPath::root() && fs.attributes(&above)?.is_none() {
        make_dirs(fs, &above)?;
    }
    fs.make_dir(dir)?;
    fs.sync_dir(&above)
}

/// Undoes what was published of an operation that is not to be, and forgets it.
pub(crate) fn take_back(fs: &dyn Vfs, operation: &Operation) -> Result<(), PathError> {
    for publish in operation.publishes().collect::<Vec<_>>().into_iter().rev() {
        let staged = in_tx(&publish.staged);
        if fs.identity(&publish.target)?.map(FileId::from) != Some(publish.file) {
            continue;
        }
        // Moved first, so that a save which slips in between is seen and not deleted.
        fs.rename_noreplace(&publish.target, &staged)?;
        if fs.identity(&staged)?.map(FileId::from) != Some(publish.file) {
            fs.rename_noreplace(&staged, &publish.target)?;
        }
        fs.sync_dir(&publish.target.parent())?;
    }
    remove(fs, &intent_path(&operation.id))?;
    fs.sync_dir(&folders::tx())?;
    discard(fs, &operation.id)
}

/// Lets a file become an object, unless it is not the one that was meant. Says whether it is an object now.
fn retire_file(fs: &dyn Vfs, retire: &Retire, aside: &VaultPath) -> Result<bool, PathError> {
    let object = object_path(&retire.object);
    if fs.identity(&retire.target)?.map(FileId::from) == Some(retire.file) {
        // Moved aside first and looked at again: a save that slips in between is given back.
        match fs.rename_noreplace(&retire.target, aside) {
            Err(e) if !e.is_missing() => return Err(e),
            _ => {}
        }
    }
    if let Some(moved) = fs.identity(aside)?.map(FileId::from) {
        fs.sync_dir(&folders::tx())?;
        if moved != retire.file {
            return give_back(fs, aside, &retire.target).map(|()| false);
        }
        match fs.rename_noreplace(aside, &object) {
            Ok(()) => {}
            // The same content is kept already, if it is whole.
            Err(e) if e.is_taken() && hash(fs, &object)?.0 == retire.object => remove(fs, aside)?,
            Err(e) if e.is_taken() => {
                park(fs, &object)?;
                fs.rename_noreplace(aside, &object)?;
            }
            Err(e) => return Err(e),
        }
    }
    Ok(fs.identity(&object)?.is_some())
}

/// Puts a save back that was moved by mistake; if there is a yet newer one, it is kept aside.
fn give_back(fs: &dyn Vfs, from: &VaultPath, target: &VaultPath) -> Result<(), PathError> {
    match fs.rename_noreplace(from, target) {
        Err(e) if e.is_taken() => park(fs, from),
        Err(e) => Err(e),
        Ok(()) => fs.sync_dir(&target.parent()),
    }
}
