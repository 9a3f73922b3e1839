//! [`Tx`]: an operation in the making. It stages files, seals the intent, and lets `redo` do the rest.

use std::io;
use std::sync::Arc;

use forklore_fs::{Attributes, Fill, New, NodeKind, Part, PathError, VaultPath, Vfs};

use crate::content::hash;
use crate::edit::{self, Locate};
use crate::error::{TxError, unreadable};
use crate::folders::{self, in_tx, intent_path, log_path, object_path};
use crate::left_over::discard;
use crate::models::attributes;
use crate::operation::{Awaits, Edit, FileId, Kind, ObjectId, Operation, Publish, Retire, Step};
use crate::redo::{Outcome, publish_all, redo};
use crate::right::Right;
use crate::seal::{seal, unseal, version_of};
use crate::swap::{self, Prepared, remove};

/// What an operation is, apart from its steps.
#[derive(Debug, Clone)]
pub struct About {
    /// What it does
    pub kind: Kind,
    /// Address of the chat that it is about
    pub chat: Option<String>,
    /// What it did, in a sentence
    pub summary: String,
    /// The operation that it undoes
    pub undoes: Option<String>,
}

/// An operation in the making. Dropped without a commit it leaves nothing behind.
pub struct Tx {
    fs: Arc<dyn Vfs>,
    _right: Right,
    id: String,
    at: i64,
    steps: Vec<Step>,
    /// Files that must still be these when the intent is sealed.
    guarded: Vec<(VaultPath, Option<FileId>)>,
    /// New contents of edited files that are made already.
    prepared: Vec<Prepared>,
    sealed: bool,
}

impl Tx {
    /// With the right to change the vault. `now` is in milliseconds since 1970.
    pub fn begin(fs: &Arc<dyn Vfs>, right: Right, now: i64) -> Result<Self, TxError> {
        let (id, at) = next_id(&**fs, now)?;
        Ok(Self {
            fs: fs.clone(),
            _right: right,
            id,
            at,
            steps: Vec::new(),
            guarded: Vec::new(),
            prepared: Vec::new(),
            sealed: false,
        })
    }

    /// The id of the operation.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// A new file, made now and visible later. It gets the owner and the mode of the first of the `models` that is there, and is not
    /// more readable than any of them. If none is there any more, the files beside it are the models; without any it is as its folder.
    pub fn publish(
        &mut self,
        target: VaultPath,
        parts: &[Part<'_>],
        models: &[VaultPath],
    ) -> Result<(), TxError> {
        let like = attributes(&*self.fs, &target, models)?;
        self.publish_beside(target, parts, &like, None)
    }

    /// A new file, and an edit that follows it. Both are large: the new content of the edited file is made at the same time.
    pub fn publish_and_edit(
        &mut self,
        target: VaultPath,
        parts: &[Part<'_>],
        models: &[VaultPath],
        edit: Edit,
        known: &Locate<'_>,
    ) -> Result<(), TxError> {
        let like = attributes(&*self.fs, &target, models)?;
        let fresh = swap::Fresh::of(&*self.fs, &edit, known)?;
        self.publish_beside(target, parts, &like, fresh.as_ref())?;
        self.edit(edit)
    }

    fn publish_beside(
        &mut self,
        target: VaultPath,
        parts: &[Part<'_>],
        like: &Attributes,
        fresh: Option<&swap::Fresh>,
    ) -> Result<(), TxError> {
        let staged = self.step_name("staged");
        let path = in_tx(&staged);
        let step = self.steps.len() + 1;
        let beside = swap::fresh_path(&self.id, step);
        let fresh_parts = fresh.map(swap::Fresh::parts);
        let mut files = vec![New { path: &path, parts, like }];
        if let (Some(fresh), Some(parts)) = (fresh, &fresh_parts) {
            files.push(New { path: &beside, parts, like: &fresh.like });
        }
        self.fs.assemble_durably(&files)?;
        let id_of =
            |path: &VaultPath| Ok::<_, PathError>(self.fs.identity(path)?.ok_or_else(|| gone(path))?.into());
        let file = id_of(&path)?;
        if let Some(fresh) = fresh {
            self.prepared.push(Prepared { step, base: fresh.base, ours: id_of(&beside)? });
        }
        self.will_publish(target, staged, file);
        Ok(())
    }

    /// As [`Tx::publish`], of what `fill` writes bit by bit.
    pub fn publish_with(&mut self, target: VaultPath, fill: &mut Fill<'_>) -> Result<(), TxError> {
        let staged = self.step_name("staged");
        let path = in_tx(&staged);
        self.fs.create_with(&path, fill)?;
        self.fs.dress(&path, &attributes(&*self.fs, &target, &[])?)?;
        self.fs.sync_file(&path)?;
        let file = self.fs.identity(&path)?.ok_or_else(|| gone(&path))?.into();
        self.will_publish(target, staged, file);
        Ok(())
    }

    fn will_publish(&mut self, target: VaultPath, staged: String, file: FileId) {
        self.guarded.push((target.clone(), None));
        self.steps.push(Step::Publish(Publish { target, staged, file }));
    }

    /// An object comes back under a name.
    pub fn publish_object(&mut self, target: VaultPath, object: &ObjectId) -> Result<(), TxError> {
        if hash(&*self.fs, &object_path(object))?.0 != *object {
            return Err(TxError::Damaged(target));
        }
        let file = self.fs.open(&object_path(object))?;
        let len = file.identity().map_err(|source| unreadable(&target, source))?.len;
        self.publish(target, &[Part::Range(&*file, 0..len)], &[object_path(object)])
    }

    /// What was staged for a name, read back from the disk.
    pub fn read_back(&self, target: &VaultPath) -> Result<Option<Vec<u8>>, TxError> {
        let staged = self.publish_of(target).map(|publish| in_tx(&publish.staged));
        Ok(staged.map(|path| self.fs.read(&path)).transpose()?.flatten())
    }

    /// Where the file lies that was staged for a name.
    pub fn staged_path(&self, target: &VaultPath) -> Option<VaultPath> {
        self.publish_of(target).map(|publish| in_tx(&publish.staged))
    }

    /// Which file was staged for a name.
    pub fn staged(&self, target: &VaultPath) -> Option<FileId> {
        self.publish_of(target).map(|publish| publish.file)
    }

    fn publish_of(&self, target: &VaultPath) -> Option<&Publish> {
        self.steps.iter().find_map(|step| match step {
            Step::Publish(publish) if publish.target == *target => Some(publish),
            _ => None,
        })
    }

    /// A file becomes an object.
    pub fn retire(&mut self, target: VaultPath) -> Result<ObjectId, TxError> {
        let (object, file) = hash(&*self.fs, &target)?;
        self.guarded.push((target.clone(), Some(file)));
        self.steps.push(Step::Retire(Retire { target, object: object.clone(), file }));
        Ok(object)
    }

    /// A file that others write, too, is edited. A link is not: it would be replaced by a file.
    pub fn edit(&mut self, edit: Edit) -> Result<(), TxError> {
        if edit.required || !self.fs.is_link(&edit.target)? {
            self.steps.push(Step::Edit(edit));
        }
        Ok(())
    }

    /// Refuses the commit if this file is not this one any more.
    pub fn guard(&mut self, path: VaultPath, file: FileId) {
        self.guarded.push((path, Some(file)));
    }

    /// Whether files can trade names here. Where they cannot, files that SillyTavern writes are left alone.
    pub fn can_edit(&self) -> Result<bool, TxError> {
        let [a, b] = ["probe-a", "probe-b"].map(|name| in_tx(&format!("{}.{name}", self.id)));
        self.fs.create(&a, b"a")?;
        self.fs.create(&b, b"b")?;
        let tried = self.fs.exchange(&a, &b);
        remove(&*self.fs, &a)?;
        remove(&*self.fs, &b)?;
        match tried {
            Ok(()) => Ok(true),
            Err(e) if e.is_unsupported() => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// Makes it happen. `known` finds messages in chats.
    pub fn commit(mut self, about: About, known: &Locate<'_>) -> Result<Outcome, TxError> {
        let fs = self.fs.clone();
        for step in &mut self.steps {
            if let Step::Edit(edit) = step
                && !edit.back
            {
                edit.blanks = edit::blanks_of(&*fs, edit, known)?;
            }
        }
        let operation = self.seal(about, None)?;
        redo(&*self.fs, &operation, known, &self.prepared)
            .map_err(|source| TxError::Unfinished { id: operation.id.clone(), source })?
            .map_err(|taken| TxError::Taken(taken.0))
    }

    /// Publishes what SillyTavern's chat will refer to and remembers the rest until [`resolve`](crate::resolve()) is told whether the chat came.
    pub fn prepare(mut self, about: About, awaits: Awaits) -> Result<String, TxError> {
        // Whoever was to write the chat may have lost patience and written it without us.
        self.guarded.push((awaits.target.clone(), None));
        let operation = self.seal(about, Some(awaits))?;
        let failed = |source| TxError::Unfinished { id: operation.id.clone(), source };
        match publish_all(&*self.fs, &operation).map_err(failed)? {
            Ok(()) => Ok(operation.id),
            Err(taken) => Err(TxError::Taken(taken.0)),
        }
    }

    /// What would only be found out after the point of no return: renames do not lead from one file system to another, need folders
    /// that can be written, and move a link instead of the file.
    fn check_places(&self, operation: &Operation) -> Result<(), TxError> {
        let own = self.fs.device(&folders::tx())?;
        for step in &operation.steps {
            let (Step::Publish(Publish { target, .. })
            | Step::Retire(Retire { target, .. })
            | Step::Edit(Edit { target, .. })) = step;
            let dir = target.parent();
            match self.fs.device(&dir) {
                Ok(device) if device != own => return Err(TxError::OtherDevice(target.clone())),
                Ok(_) => {}
                Err(e) if e.is_missing() => continue,
                Err(e) => return Err(e.into()),
            }
            if !self.fs.can_write(&dir)? {
                return Err(TxError::ReadOnly(dir));
            }
            if self.fs.is_link(target)? {
                return Err(TxError::Link(target.clone()));
            }
        }
        Ok(())
    }

    fn step_name(&self, what: &str) -> String {
        format!("{}.{}.{what}", self.id, self.steps.len())
    }

    fn seal(&mut self, about: About, awaits: Option<Awaits>) -> Result<Operation, TxError> {
        let tx = folders::tx();
        let operation = Operation {
            version: version_of(&self.steps),
            id: self.id.clone(),
            kind: about.kind,
            at: self.at,
            chat: about.chat,
            summary: about.summary,
            undoes: about.undoes,
            awaits,
            steps: std::mem::take(&mut self.steps),
        };
        self.steps.clone_from(&operation.steps);
        if operation.publishes().next().is_some() {
            self.fs.sync_dir(&tx)?;
        }
        let new = in_tx(&format!("{}.intent.new", self.id));
        self.fs.create(&new, &seal(&operation))?;
        self.fs.sync_file(&new)?;
        self.check_places(&operation)?;
        // As late as possible: between here and the first change lie two system calls.
        for (path, wanted) in &self.guarded {
            let now = self.fs.identity(path)?.map(FileId::from);
            match (now, wanted) {
                (now, wanted) if now == *wanted => {}
                (Some(_), None) => return Err(TxError::Taken(path.clone())),
                _ => return Err(TxError::Changed(path.clone())),
            }
        }
        self.fs.rename_noreplace(&new, &intent_path(&self.id))?;
        self.sealed = true;
        // The next start will find the intent, whether or not it would survive a power cut now: it is too late for "nothing happened".
        let unfinished = |source| TxError::Unfinished { id: operation.id.clone(), source };
        self.fs.sync_dir(&tx).map_err(unfinished)?;
        Ok(operation)
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        if self.sealed {
            return;
        }
        // What cannot be removed now is removed by the next start.
        let _left = discard(&*self.fs, &self.id);
    }
}

fn gone(path: &VaultPath) -> PathError {
    unreadable(path, io::ErrorKind::NotFound.into())
}

/// Ids sort by time, also when the clock was set back; the last part tells machines apart that share a log.
fn next_id(fs: &dyn Vfs, now: i64) -> Result<(String, i64), TxError> {
    let mut last = i64::MIN;
    for node in fs.list(&folders::ops())?.into_iter().rev().filter(|node| node.kind == NodeKind::File) {
        let Some(id) = node.name.strip_suffix(".op") else { continue };
        if let Ok(newest) = unseal(&fs.read(&log_path(id))?.unwrap_or_default(), id) {
            last = newest.at;
            break;
        }
    }
    let at = now.max(last.saturating_add(1));
    let time = jiff::Timestamp::from_millisecond(at).unwrap_or_default().strftime("%Y%m%d-%H%M%S-%3f");
    let tail = uuid::Uuid::new_v4().simple().to_string();
    Ok((format!("{time}-{}", &tail[..4]), at))
}
