//! [`SimFs`]: a file system in memory that knows what a kill and what a power cut would leave.
//!
//! The model is the weakest that file systems promise: names changed since the last sync of their directory may be there or
//! not, one by one; content written since the last sync of the file may be absent, torn or whole; a rename or an exchange is
//! atomic. Only the sync of the directory that a name moved *to* makes the move durable.

mod change;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::change::Change;
use crate::steps::{self, Steps};
use crate::{Attributes, Identity, Lock, Node, NodeKind, OpenFile, Part, PathError, VaultPath, Vfs};

/// What ended the process in a simulated run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// The process was killed; the system lives on.
    Kill,
    /// The power went away.
    PowerCut,
}

/// A simulated file system.
#[derive(Debug, Default)]
pub struct SimFs {
    state: Mutex<State>,
    locks: Arc<Mutex<BTreeSet<VaultPath>>>,
}

#[derive(Debug, Default, Clone)]
struct State {
    files: Vec<File>,
    live: BTreeMap<VaultPath, usize>,
    durable: BTreeMap<VaultPath, usize>,
    /// Changes of names that no sync has made durable.
    pending: Vec<Change>,
    dirs: BTreeSet<VaultPath>,
    operations: usize,
    stop_before: Option<usize>,
    syncs: usize,
    ignored_sync: Option<usize>,
    /// What another program saves, and before which operation of ours.
    others: Vec<(usize, VaultPath, Vec<u8>)>,
    /// Whether this is a file system that cannot let two files trade names.
    no_exchange: bool,
    /// Whether they trade in several steps.
    exchange_in_steps: bool,
    /// Before which operation the disk is full.
    full_at: Option<usize>,
}

#[derive(Debug, Clone, Default)]
struct File {
    content: Vec<u8>,
    synced: Option<Vec<u8>>,
    attributes: Attributes,
    synced_attributes: Attributes,
    version: i64,
    /// The time of change that somebody gave it, in nanoseconds; otherwise its version stands for it.
    modified: Option<i64>,
}

impl SimFs {
    /// An empty file system.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a durable file in place, as it was before the story begins.
    pub fn put(&self, path: &VaultPath, content: &[u8]) {
        let mut s = self.state();
        let file = s.add(content.to_vec(), Some(content.to_vec()));
        s.live.insert(path.clone(), file);
        s.durable.insert(path.clone(), file);
        s.add_dirs(&path.parent());
    }

    /// Gives a file attributes that it had before the story begins.
    pub fn was(&self, path: &VaultPath, attributes: &Attributes) {
        let mut s = self.state();
        if let Ok(file) = s.find(path) {
            s.files[file].attributes = attributes.clone();
            s.files[file].synced_attributes = attributes.clone();
        }
    }

    /// Gives a file another time of change, in nanoseconds since 1970, as copying a folder does. Its content is what it was.
    pub fn touch(&self, path: &VaultPath, modified: i64) {
        let mut s = self.state();
        if let Some(file) = s.live.get(path).copied() {
            s.files[file].modified = Some(modified);
        }
    }

    /// Lets the process end right before its `n`-th changing operation from now (0 is the next).
    pub fn stop_before(&self, n: usize) {
        let mut s = self.state();
        s.stop_before = Some(s.operations + n);
    }

    /// Ignores the `n`-th sync from now, to prove that the tests notice.
    pub fn ignore_sync(&self, n: usize) {
        let mut s = self.state();
        s.ignored_sync = Some(s.syncs + n);
    }

    /// Lets another program save a file, whole and at once, right before our `n`-th changing operation from now.
    pub fn other_saves(&self, n: usize, path: &VaultPath, content: &[u8]) {
        let mut s = self.state();
        let at = s.operations + n;
        s.others.push((at, path.clone(), content.to_vec()));
    }

    /// Makes this a file system that cannot let two files trade names.
    pub fn without_exchange(&self) {
        self.state().no_exchange = true;
    }

    /// Makes this a file system on which two files trade names in several steps, as on Windows.
    pub fn exchange_in_steps(&self) {
        self.state().exchange_in_steps = true;
    }

    /// Lets the `n`-th changing operation from now fail as on a full disk. It changes nothing; what comes after works again.
    pub fn fail_at(&self, n: usize) {
        let mut s = self.state();
        s.full_at = Some(s.operations + n);
    }

    /// How many changing operations there were so far.
    pub fn operations(&self) -> usize {
        self.state().operations
    }

    /// How many syncs there were so far.
    pub fn syncs(&self) -> usize {
        self.state().syncs
    }

    /// The disk images that a crash at this point can leave: one for a kill, at most `most` for a power cut.
    pub fn after(&self, crash: Crash, most: usize) -> Vec<SimFs> {
        let s = self.state();
        match crash {
            Crash::Kill => vec![s.image(&s.live, &|file| (file.content.clone(), file.attributes.clone()))],
            Crash::PowerCut => s.power_cuts(most),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing here panics while holding the lock; and a simulator that did would fail its test anyway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(
        &self,
        doing: &'static str,
        path: &VaultPath,
        act: impl FnOnce(&mut State) -> io::Result<T>,
    ) -> Result<T, PathError> {
        let mut s = self.state();
        let result = s.tick().and_then(|()| act(&mut s));
        result.map_err(|source| PathError { path: path.clone(), doing, source })
    }
}

impl State {
    fn add(&mut self, content: Vec<u8>, synced: Option<Vec<u8>>) -> usize {
        self.files.push(File { content, synced, version: 1, ..File::default() });
        self.files.len() - 1
    }

    fn identity(&self, file: usize) -> Identity {
        let File { content, version, modified, .. } = &self.files[file];
        let modified = modified.unwrap_or(*version);
        Identity { file: file as u64, len: content.len() as u64, modified, changed: *version }
    }

    fn add_dirs(&mut self, dir: &VaultPath) {
        let mut dir = dir.clone();
        while self.dirs.insert(dir.clone()) && dir != VaultPath::root() {
            dir = dir.parent();
        }
    }

    /// Counts one changing operation, or ends the process.
    fn tick(&mut self) -> io::Result<()> {
        if self.stop_before.is_some_and(|stop| stop <= self.operations) {
            return Err(io::Error::other("simulated crash"));
        }
        while let Some(i) = self.others.iter().position(|(at, ..)| *at <= self.operations) {
            let (_, path, content) = self.others.remove(i);
            // As SillyTavern does: a temporary file with the same owner and mode, synced, then renamed over; the directory is never synced.
            let file = self.add(content.clone(), Some(content));
            if let Some(old) = self.live.get(&path).copied() {
                let kept = self.files[old].attributes.clone();
                self.files[file].attributes = kept.clone();
                self.files[file].synced_attributes = kept;
            }
            self.live.insert(path.clone(), file);
            self.pending.push(Change::Link(path, file));
        }
        self.operations += 1;
        if self.full_at == Some(self.operations - 1) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    fn find(&self, path: &VaultPath) -> io::Result<usize> {
        self.live.get(path).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn counts_sync(&mut self) -> bool {
        let ignored = self.ignored_sync == Some(self.syncs);
        self.syncs += 1;
        !ignored
    }

    fn image(
        &self,
        names: &BTreeMap<VaultPath, usize>,
        content: &dyn Fn(&File) -> (Vec<u8>, Attributes),
    ) -> SimFs {
        // Files keep their numbers and times: a file is known again after a restart.
        let files = self.files.iter().map(|file| {
            let (content, attributes) = content(file);
            File {
                synced: Some(content.clone()),
                content,
                attributes: attributes.clone(),
                synced_attributes: attributes,
                version: file.version,
                modified: file.modified,
            }
        });
        let state = State {
            files: files.collect(),
            live: names.clone(),
            durable: names.clone(),
            dirs: self.dirs.clone(),
            no_exchange: self.no_exchange,
            exchange_in_steps: self.exchange_in_steps,
            ..State::default()
        };
        SimFs { state: Mutex::new(state), locks: Arc::default() }
    }

    fn power_cuts(&self, most: usize) -> Vec<SimFs> {
        // Beyond this many unsynced names every subset would be too many: the oldest then count as written.
        let open = self.pending.len().min(12);
        let (old, open_changes) = self.pending.split_at(self.pending.len() - open);
        let mut images = Vec::new();
        let mut seen = BTreeSet::new();
        for chosen in 0..1u32 << open {
            let mut names = self.durable.clone();
            old.iter().for_each(|change| change.apply(&mut names));
            for (k, change) in open_changes.iter().enumerate() {
                if chosen >> k & 1 == 1 {
                    change.apply(&mut names);
                }
            }
            // All unsynced files fare alike in one image: absent, torn or whole.
            for fate in 0..3 {
                let content = |file: &File| {
                    let content = match (&file.synced, fate) {
                        (Some(synced), _) if *synced == file.content => file.content.clone(),
                        (synced, 0) => synced.clone().unwrap_or_default(),
                        (_, 1) => file.content[..file.content.len() / 2].to_vec(),
                        _ => file.content.clone(),
                    };
                    let attributes = if fate == 2 { &file.attributes } else { &file.synced_attributes };
                    (content, attributes.clone())
                };
                let key: Vec<_> = names.iter().map(|(p, f)| (p.clone(), content(&self.files[*f]))).collect();
                if seen.insert(key) {
                    images.push(self.image(&names, &content));
                    if images.len() >= most {
                        return images;
                    }
                }
            }
        }
        images
    }
}

impl Vfs for SimFs {
    fn open(&self, path: &VaultPath) -> Result<Box<dyn OpenFile>, PathError> {
        let s = self.state();
        let file = s.find(path).map_err(|source| PathError { path: path.clone(), doing: "open", source })?;
        let identity = s.identity(file);
        Ok(Box::new(SimFile { identity, content: s.files[file].content.clone() }))
    }

    fn identity(&self, path: &VaultPath) -> Result<Option<Identity>, PathError> {
        let s = self.state();
        Ok(s.live.get(path).map(|file| s.identity(*file)))
    }

    fn attributes(&self, path: &VaultPath) -> Result<Option<Attributes>, PathError> {
        let s = self.state();
        let dir = s.dirs.contains(path).then(Attributes::default);
        Ok(s.live.get(path).map(|file| s.files[*file].attributes.clone()).or(dir))
    }

    fn list(&self, dir: &VaultPath) -> Result<Vec<Node>, PathError> {
        let s = self.state();
        let files = s.live.keys().filter(|p| p.parent() == *dir).map(|p| (p, NodeKind::File));
        let dirs = s
            .dirs
            .iter()
            .filter(|p| p.parent() == *dir && **p != VaultPath::root())
            .map(|p| (p, NodeKind::Dir));
        let mut nodes: Vec<Node> =
            files.chain(dirs).map(|(path, kind)| Node { name: path.name().to_owned(), kind }).collect();
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(nodes)
    }

    fn assemble(&self, path: &VaultPath, parts: &[Part<'_>]) -> Result<(), PathError> {
        let mut content = Vec::new();
        for part in parts {
            match part {
                Part::Bytes(bytes) => content.extend_from_slice(bytes),
                Part::Range(from, range) => {
                    let copied = from.read_range(range.clone());
                    content.extend(copied.map_err(|source| PathError {
                        path: path.clone(),
                        doing: "create",
                        source,
                    })?);
                }
            }
        }
        self.change("create", path, |s| {
            if s.live.contains_key(path) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            if !s.dirs.contains(&path.parent()) && path.parent() != VaultPath::root() {
                return Err(io::ErrorKind::NotFound.into());
            }
            let file = s.add(Vec::new(), None);
            s.live.insert(path.clone(), file);
            s.pending.push(Change::Link(path.clone(), file));
            Ok(file)
        })
        // Making the name and filling the file are two operations: a kill can come between them.
        .and_then(|file| {
            self.change("create", path, |s| {
                s.files[file].content = content;
                s.files[file].version += 1;
                Ok(())
            })
        })
    }

    fn append(&self, path: &VaultPath, content: &[u8]) -> Result<(), PathError> {
        self.change("write", path, |s| {
            let file = s.find(path)?;
            s.files[file].content.extend_from_slice(content);
            s.files[file].version += 1;
            Ok(())
        })
    }

    fn dress(&self, path: &VaultPath, attributes: &Attributes) -> Result<(), PathError> {
        self.change("set the owner and mode of", path, |s| {
            let file = s.find(path)?;
            s.files[file].attributes = attributes.clone();
            Ok(())
        })
    }

    fn device(&self, _dir: &VaultPath) -> Result<u64, PathError> {
        Ok(0)
    }

    fn can_write(&self, _dir: &VaultPath) -> Result<bool, PathError> {
        Ok(true)
    }

    fn is_link(&self, _path: &VaultPath) -> Result<bool, PathError> {
        Ok(false)
    }

    fn lock(&self, path: &VaultPath) -> Result<Option<Lock>, PathError> {
        struct Held(Arc<Mutex<BTreeSet<VaultPath>>>, VaultPath);
        impl Drop for Held {
            fn drop(&mut self) {
                self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.1);
            }
        }
        let taken = self.locks.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone());
        Ok(taken.then(|| Lock(Box::new(Held(self.locks.clone(), path.clone())))))
    }

    fn make_dir(&self, dir: &VaultPath) -> Result<(), PathError> {
        // Directories are made before anything depends on them; the model takes them as durable at once.
        self.state().add_dirs(dir);
        Ok(())
    }

    fn sync_file(&self, path: &VaultPath) -> Result<(), PathError> {
        self.change("sync", path, |s| {
            let file = s.find(path)?;
            if s.counts_sync() {
                s.files[file].synced = Some(s.files[file].content.clone());
                s.files[file].synced_attributes = s.files[file].attributes.clone();
            }
            Ok(())
        })
    }

    fn sync_dir(&self, dir: &VaultPath) -> Result<(), PathError> {
        self.change("sync", dir, |s| {
            if s.counts_sync() {
                let pending = std::mem::take(&mut s.pending);
                let (done, open): (Vec<_>, Vec<_>) =
                    pending.into_iter().partition(|c| c.made_durable_by(dir));
                done.iter().for_each(|change| change.apply(&mut s.durable));
                s.pending = open;
            }
            Ok(())
        })
    }

    fn rename_noreplace(&self, from: &VaultPath, to: &VaultPath) -> Result<(), PathError> {
        self.change("rename", from, |s| {
            let file = s.find(from)?;
            if s.live.contains_key(to) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            s.live.remove(from);
            s.live.insert(to.clone(), file);
            s.pending.push(Change::Move(from.clone(), to.clone(), file));
            Ok(())
        })
    }

    fn replace(&self, from: &VaultPath, to: &VaultPath) -> Result<(), PathError> {
        self.change("rename", from, |s| {
            let file = s.find(from)?;
            s.live.remove(from);
            s.live.insert(to.clone(), file);
            s.pending.push(Change::Move(from.clone(), to.clone(), file));
            Ok(())
        })
    }

    fn exchange(&self, a: &VaultPath, b: &VaultPath) -> Result<(), PathError> {
        if self.state().exchange_in_steps {
            let traded = steps::exchange(self, a, b);
            return traded.map_err(|source| PathError { path: a.clone(), doing: "exchange", source });
        }
        self.change("exchange", a, |s| {
            if s.no_exchange {
                return Err(io::ErrorKind::Unsupported.into());
            }
            let (file_a, file_b) = (s.find(a)?, s.find(b)?);
            s.live.insert(a.clone(), file_b);
            s.live.insert(b.clone(), file_a);
            s.pending.push(Change::Swap((a.clone(), file_a), (b.clone(), file_b)));
            Ok(())
        })
    }

    fn unlink(&self, path: &VaultPath) -> Result<(), PathError> {
        self.change("remove", path, |s| {
            s.find(path)?;
            s.live.remove(path);
            s.pending.push(Change::Unlink(path.clone()));
            Ok(())
        })
    }
}

impl Steps for SimFs {
    fn rename_noreplace(&self, from: &VaultPath, to: &VaultPath) -> io::Result<()> {
        Vfs::rename_noreplace(self, from, to).map_err(|e| e.source)
    }

    fn sync_dir(&self, dir: &VaultPath) -> io::Result<()> {
        Vfs::sync_dir(self, dir).map_err(|e| e.source)
    }
}

struct SimFile {
    identity: Identity,
    content: Vec<u8>,
}

impl OpenFile for SimFile {
    fn identity(&self) -> io::Result<Identity> {
        Ok(self.identity)
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let start = usize::try_from(offset).map_or(self.content.len(), |at| at.min(self.content.len()));
        let part = &self.content[start..];
        let n = part.len().min(buf.len());
        buf[..n].copy_from_slice(&part[..n]);
        Ok(n)
    }
}
