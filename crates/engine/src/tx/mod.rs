//! All or nothing: [`Tx`] turns the [`Step`]s of an [`Operation`] into changes on disk that can be cut off at any instruction.
//!
//! ```text
//! lock; recover what was cut off before
//! stage every new file out of SillyTavern's sight          sync each, sync the folder
//! write the intent: the operation, sealed                  sync, rename, sync the folder   <== from here on it happens
//! publish new files, what is referred to first             rename, sync
//! edit the files that SillyTavern writes, too              compare-and-swap (`swap`)
//! retire files: they become objects                        rename, sync
//! the intent becomes the entry in the log                  rename
//! ```
//!
//! Before the intent is durable a crash means that nothing happened; after it [`recover`] finishes the work. Every step can be
//! done twice. A fork that SillyTavern saves itself goes through [`Tx::prepare`] and [`resolve`]: book published, intent sealed,
//! and then committed or taken back when the chat has, or has not, appeared.

mod edit;
pub mod operation;
mod swap;

use std::io;
use std::sync::Arc;

use forklore_core::format::names::book_stem;
use forklore_fs::{Fill, Lock, NodeKind, Part, PathError, VaultPath, Vfs};

pub use self::edit::{Locate, header_line, pad};
use self::operation::{Awaits, Edit, FileId, Kind, ObjectId, Operation, Publish, Retire, Step, Unsealed};
pub use self::swap::Swapped;
use self::swap::{remove, settle, swap};
use crate::vault::Library;
use crate::vault::scan::locate;

/// Where Forklore keeps what is its own.
pub mod folders {
    use forklore_fs::VaultPath;

    use crate::vault::layout::{FORKLORE, folder};

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
}

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

/// The right to change a vault: one Forklore has it at a time. Who plans and acts under the same right plans from what is there.
#[derive(Debug, Clone)]
pub struct Right {
    _lock: Arc<Lock>,
    /// What had been cut off before, and is finished or taken back now.
    pub recovered: Vec<Recovered>,
}

impl Right {
    /// Takes the right, and finishes what was cut off before. `now` is in milliseconds since 1970.
    pub fn take(fs: &dyn Vfs, now: i64) -> Result<Self, TxError> {
        make_folders(fs)?;
        let lock = fs.lock(&folders::lock())?.ok_or(TxError::Busy)?;
        let recovered = recover_locked(fs, now)?;
        Ok(Self { _lock: Arc::new(lock), recovered })
    }
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
    sealed: bool,
}

impl Tx {
    /// Takes the right to change the vault. `now` is in milliseconds since 1970.
    pub fn begin(fs: &Arc<dyn Vfs>, now: i64) -> Result<Self, TxError> {
        Self::with(fs, &Right::take(&**fs, now)?, now)
    }

    /// As [`Tx::begin`], with the right that the library was read under, if it was.
    pub fn on(library: &Library, now: i64) -> Result<Self, TxError> {
        match &library.right {
            Some(right) => Self::with(&library.fs, right, now),
            None => Self::begin(&library.fs, now),
        }
    }

    fn with(fs: &Arc<dyn Vfs>, right: &Right, now: i64) -> Result<Self, TxError> {
        let (id, at) = next_id(&**fs, now)?;
        Ok(Self {
            fs: fs.clone(),
            _right: right.clone(),
            id,
            at,
            steps: Vec::new(),
            guarded: Vec::new(),
            sealed: false,
        })
    }

    /// The id of the operation.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// A new file, made now and visible later.
    pub fn publish(&mut self, target: VaultPath, parts: &[Part<'_>]) -> Result<(), TxError> {
        self.stage(target, |fs, path| fs.assemble(path, parts))
    }

    /// As [`Tx::publish`], of what `fill` writes bit by bit.
    pub fn publish_with(&mut self, target: VaultPath, fill: &mut Fill<'_>) -> Result<(), TxError> {
        self.stage(target, |fs, path| fs.create_with(path, fill))
    }

    fn stage(
        &mut self,
        target: VaultPath,
        make: impl FnOnce(&dyn Vfs, &VaultPath) -> Result<(), PathError>,
    ) -> Result<(), TxError> {
        let staged = self.step_name("staged");
        let path = in_tx(&staged);
        make(&*self.fs, &path)?;
        self.fs.sync_file(&path)?;
        let file = self.fs.identity(&path)?.ok_or_else(|| gone(&path))?.into();
        self.guarded.push((target.clone(), None));
        self.steps.push(Step::Publish(Publish { target, staged, file }));
        Ok(())
    }

    /// An object comes back under a name.
    pub fn publish_object(&mut self, target: VaultPath, object: &ObjectId) -> Result<(), TxError> {
        if hash(&*self.fs, &object_path(object))?.0 != *object {
            return Err(TxError::Damaged(target));
        }
        let file = self.fs.open(&object_path(object))?;
        let len = file.identity().map_err(|source| unreadable(&target, source))?.len;
        self.publish(target, &[Part::Range(&*file, 0..len)])
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

    /// Makes it happen. `locate` finds messages in chats whose transcript is known; see [`locate`] for those that are not.
    pub fn commit(mut self, about: About, known: &Locate<'_>) -> Result<Outcome, TxError> {
        let operation = self.seal(about, None)?;
        redo(&*self.fs, &operation, known)
            .map_err(|source| TxError::Unfinished { id: operation.id.clone(), source })?
            .map_err(|taken| TxError::Taken(taken.0))
    }

    /// Publishes what SillyTavern's chat will refer to and remembers the rest until [`resolve`] is told whether the chat came.
    pub fn prepare(mut self, about: About, awaits: Awaits) -> Result<String, TxError> {
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
            version: operation::VERSION,
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
        self.fs.create(&new, &operation::seal(&operation))?;
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

/// Folders that a power cut takes away would take the intent with them: they are made durable before anything is in them.
fn make_folders(fs: &dyn Vfs) -> Result<(), PathError> {
    let own = folders::tx().parent();
    let there = fs.list(&own)?;
    let wanted = [folders::tx(), folders::ops(), folders::objects()];
    if wanted.iter().all(|folder| there.iter().any(|node| node.name == folder.name())) {
        return Ok(());
    }
    wanted.iter().try_for_each(|folder| fs.make_dir(folder))?;
    fs.sync_dir(&own)?;
    fs.sync_dir(&own.parent())
}

fn in_tx(name: &str) -> VaultPath {
    // Names here are made of digits, letters and dots.
    folders::tx().join(name).unwrap_or_default()
}

fn intent_path(id: &str) -> VaultPath {
    in_tx(&format!("{id}.intent"))
}

/// Where an operation stands in the log.
pub fn log_path(id: &str) -> VaultPath {
    folders::ops().join(&format!("{id}.op")).unwrap_or_default()
}

/// Where an object is.
pub fn object_path(object: &ObjectId) -> VaultPath {
    // 64 digits are a name.
    folders::objects().join(object.as_str()).unwrap_or_default()
}

fn gone(path: &VaultPath) -> PathError {
    unreadable(path, io::ErrorKind::NotFound.into())
}

fn unreadable(path: &VaultPath, source: io::Error) -> PathError {
    PathError { path: path.clone(), doing: "read", source }
}

/// Ids sort by time, also when the clock was set back; the last part tells machines apart that share a log.
fn next_id(fs: &dyn Vfs, now: i64) -> Result<(String, i64), TxError> {
    let mut last = i64::MIN;
    for node in fs.list(&folders::ops())?.into_iter().rev().filter(|node| node.kind == NodeKind::File) {
        let Some(id) = node.name.strip_suffix(".op") else { continue };
        if let Ok(newest) = operation::unseal(&fs.read(&log_path(id))?.unwrap_or_default(), id) {
            last = newest.at;
            break;
        }
    }
    let at = now.max(last.saturating_add(1));
    let time = jiff::Timestamp::from_millisecond(at).unwrap_or_default().strftime("%Y%m%d-%H%M%S-%3f");
    let tail = uuid::Uuid::new_v4().simple().to_string();
    Ok((format!("{time}-{}", &tail[..4]), at))
}

/// The hash of a file's content, and which file that was.
pub(crate) fn hash(fs: &dyn Vfs, path: &VaultPath) -> Result<(ObjectId, FileId), PathError> {
    let fail = |source| unreadable(path, source);
    let file = fs.open(path)?;
    let identity = file.identity().map_err(fail)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 20];
    let mut at = 0;
    loop {
        let got = file.read_at(&mut buffer, at).map_err(fail)?;
        if got == 0 {
            break;
        }
        hasher.update(&buffer[..got]);
        at += got as u64;
    }
    Ok((hasher.finalize().into(), identity.into()))
}

/// A name that was free when the operation was planned, and is not any more: the operation is taken back.
#[derive(Debug)]
struct NameTaken(VaultPath);

/// Does all steps, in order; those that are done already cost a look. The operation ends in the log unless something is pending.
fn redo(
    fs: &dyn Vfs,
    operation: &Operation,
    known: &Locate<'_>,
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
    for (n, step) in operation.steps.iter().enumerate() {
        match step {
            Step::Publish(_) => {}
            // Time has passed since it was published, and somebody took it away: nothing must point at it now.
            Step::Edit(edit) if gone.iter().any(|target| edit.names(target)) => {
                held_back |= edit.required;
                outcome.void.push(edit.target.clone());
            }
            Step::Edit(edit) => {
                let done = swap(fs, edit, &format!("{}.{n}", operation.id), known)?;
                held_back |= edit.required && !matches!(done, Swapped::Done(_));
                match done {
                    Swapped::Done(files) => {
                        outcome.edited.extend(files.map(|(was, is)| (edit.target.clone(), was, is)));
                    }
                    Swapped::Void => outcome.void.push(edit.target.clone()),
                    Swapped::Pending => outcome.pending.push(edit.target.clone()),
                }
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

/// Publishes every new file. If one of the names is taken by now, those that are already there are taken back.
fn publish_all(fs: &dyn Vfs, operation: &Operation) -> Result<Result<(), NameTaken>, PathError> {
    for publish in operation.publishes() {
        let staged = in_tx(&publish.staged);
        match fs.rename_noreplace(&staged, &publish.target) {
            Ok(()) => {}
            // Done before.
            Err(_) if fs.identity(&staged)?.is_none() => {}
            // The first file of a new folder.
            Err(e) if e.is_missing() => {
                let dir = publish.target.parent();
                fs.make_dir(&dir)?;
                fs.sync_dir(&dir.parent())?;
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

/// Undoes what was published of an operation that is not to be, and forgets it.
fn take_back(fs: &dyn Vfs, operation: &Operation) -> Result<(), PathError> {
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

/// Keeps a file that nobody can place.
fn park(fs: &dyn Vfs, path: &VaultPath) -> Result<(), PathError> {
    let lost = folders::lost();
    fs.make_dir(&lost)?;
    let aside = lost.join(path.name()).unwrap_or_default();
    match fs.rename_noreplace(path, &aside) {
        Err(e) if !e.is_taken() => return Err(e),
        _ => {}
    }
    fs.sync_dir(&lost)
}

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

/// Finishes or takes back what was cut off, if nobody is at work. For the start of every command.
pub fn recover(fs: &dyn Vfs, now: i64) -> Result<Vec<Recovered>, TxError> {
    if fs.list(&folders::tx())?.is_empty() {
        return Ok(Vec::new());
    }
    match fs.lock(&folders::lock())? {
        Some(_lock) => recover_locked(fs, now),
        None => Ok(Vec::new()),
    }
}

fn recover_locked(fs: &dyn Vfs, now: i64) -> Result<Vec<Recovered>, TxError> {
    let tx = folders::tx();
    let mut found = Vec::new();
    let mut alive: Vec<String> = Vec::new();
    for node in fs.list(&tx)? {
        let Some(id) = node.name.strip_suffix(".intent").filter(|_| node.kind == NodeKind::File) else {
            continue;
        };
        let bytes = fs.read(&intent_path(id))?.unwrap_or_default();
        let operation = match operation::unseal(&bytes, id) {
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
        if let Some(recovered) = recover_one(fs, &operation, now)? {
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
fn recover_one(fs: &dyn Vfs, operation: &Operation, now: i64) -> Result<Option<Recovered>, PathError> {
    let (id, summary) = (operation.id.clone(), operation.summary.clone());
    for (n, step) in operation.steps.iter().enumerate() {
        if let Step::Edit(edit) = step {
            settle(fs, &format!("{id}.{n}"), &edit.target)?;
        }
    }
    if fs.identity(&log_path(&id))?.is_some() {
        // It was moved to the log, and a power cut brought the old name back beside the new one.
        remove(fs, &intent_path(&id))?;
        return Ok(Some(Recovered::Finished { id, summary }));
    }
    if let Some(awaits) = &operation.awaits
        && !has_come(fs, operation, awaits)?
    {
        // A book that is not in place yet was never told to anybody: nobody will name it.
        if now < awaits.until && is_published(fs, operation)? {
            return Ok(None);
        }
        take_back(fs, operation)?;
        return Ok(Some(Recovered::TakenBack { id }));
    }
    let find = |edit: &Edit, file: &dyn forklore_fs::OpenFile| locate(fs, edit, file);
    Ok(Some(match redo(fs, operation, &find)? {
        Ok(outcome) if outcome.pending.is_empty() => Recovered::Finished { id, summary },
        Ok(_) => Recovered::Pending { id, summary },
        Err(NameTaken(_)) => Recovered::TakenBack { id },
    }))
}

/// Whether the chat that an operation waits for is there, bound to the book that was made for it.
fn has_come(fs: &dyn Vfs, operation: &Operation, awaits: &Awaits) -> Result<bool, PathError> {
    let file = match fs.open(&awaits.target) {
        Ok(file) => file,
        Err(e) if e.is_missing() => return Ok(false),
        Err(e) => return Err(e),
    };
    let (slug, book) = edit::header_of(&*file).map_err(|source| unreadable(&awaits.target, source))?;
    let book = book.map(|name| format!("{}.json", book_stem(&name)));
    let bound = operation.publishes().all(|publish| book.as_deref() == Some(publish.target.name()));
    Ok(slug.as_deref() == Some(&*awaits.slug) && bound)
}

/// Whether every new file of an operation is under its name.
fn is_published(fs: &dyn Vfs, operation: &Operation) -> Result<bool, PathError> {
    for publish in operation.publishes() {
        if fs.identity(&in_tx(&publish.staged))?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Settles a prepared operation: commits it if its chat has come, takes it back if not. `None` if there is no such operation.
pub fn resolve(fs: &Arc<dyn Vfs>, id: &str, now: i64) -> Result<Option<Recovered>, TxError> {
    let _lock = fs.lock(&folders::lock())?.ok_or(TxError::Busy)?;
    let Some(bytes) = fs.read(&intent_path(id))? else { return Ok(None) };
    match operation::unseal(&bytes, id) {
        // Nobody saves any more: what has not come now will not come.
        Ok(operation) => {
            let now = operation.awaits.as_ref().map_or(now, |awaits| awaits.until.max(now));
            Ok(recover_one(&**fs, &operation, now)?)
        }
        Err(Unsealed::Newer(version)) => Err(TxError::Newer(version)),
        Err(Unsealed::Torn | Unsealed::Foreign) => Ok(None),
    }
}

/// Removes the left-overs of an operation. What is not known to be ours is kept aside.
fn discard(fs: &dyn Vfs, id: &str) -> Result<(), PathError> {
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

/// What an edit would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Would {
    /// Change the file
    Edit,
    /// Nothing: the file is as the edit wants it, or is gone
    Nothing,
    /// Nothing: somebody else has changed what it is about
    Conflict,
}

/// What an edit would do to its file as it is now.
pub fn would_edit(fs: &dyn Vfs, edit: &Edit, known: &Locate<'_>) -> Result<Would, PathError> {
    let file = match fs.open(&edit.target) {
        Ok(file) => file,
        Err(e) if e.is_missing() => return Ok(Would::Nothing),
        Err(e) => return Err(e),
    };
    Ok(match edit::revise(edit, &*file, known).map_err(|source| unreadable(&edit.target, source))? {
        edit::Revised::Parts(_) => Would::Edit,
        edit::Revised::Already => Would::Nothing,
        edit::Revised::Conflict => Would::Conflict,
    })
}

impl Operation {
    /// The files that it makes.
    pub fn publishes(&self) -> impl Iterator<Item = &Publish> {
        self.steps.iter().filter_map(|step| match step {
            Step::Publish(publish) => Some(publish),
            _ => None,
        })
    }

    /// The files that it takes away.
    pub fn retires(&self) -> impl Iterator<Item = &Retire> {
        self.steps.iter().filter_map(|step| match step {
            Step::Retire(retire) => Some(retire),
            _ => None,
        })
    }

    /// The edits that it makes.
    pub fn edits(&self) -> impl Iterator<Item = &Edit> {
        self.steps.iter().filter_map(|step| match step {
            Step::Edit(edit) => Some(edit),
            _ => None,
        })
    }
}
