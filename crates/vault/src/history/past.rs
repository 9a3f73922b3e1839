//! The vault with one chat, and the book of that chat, as history saw them: [`Past`] says when that was, [`Library::past`] reads it.
//!
//! Whatever can be asked of a chat can then be asked of one that was deleted, or of an earlier state of one that is there, by the same
//! code: `PastFs` shows the stored files under their names, and history ends where it was.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use forklore_core::fork::book as new_book;
use forklore_fs::{Attributes, Identity, Lock, Node, NodeKind, OpenFile, Part, PathError, VaultPath, Vfs};
use forklore_journal::layout;
use forklore_store::{Id, Store};

use super::book_replay::BookReplay;
use super::document::Stored;
use super::observation::Observed;
use super::timeline::{Timeline, stem};
use super::{HistoryError, store};
use crate::address::AddressError;
use crate::progress::NoProgress;
use crate::{Library, LoadError};

/// Where in history a chat is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    /// The file of the chat, as it is or was called last
    pub file: VaultPath,
    /// The last observation that counts
    pub until: u64,
    /// The observation of the chat itself
    pub seq: u64,
    /// When that was, in milliseconds since 1970
    pub clock: i64,
    /// Whether a later state, up to `until`, was seen but is not stored: it was left for later because it is large, or is forgotten
    pub behind: bool,
}

/// Why there is no past to look at.
#[derive(Debug, thiserror::Error)]
pub enum PastError {
    /// Nothing was ever recorded.
    #[error("This vault has no history yet")]
    NoHistory,
    /// No observation has the number.
    #[error("There is no observation {0} in the history")]
    NoSuchObservation(u64),
    /// It was first seen later.
    #[error("History has not seen \"{chat}\" so early: it begins {}", forklore_journal::oplog::time(*.first))]
    NotYet {
        /// The chat
        chat: String,
        /// When it was first seen, in milliseconds since 1970
        first: i64,
    },
    /// History is younger.
    #[error("History does not go back so far: it begins {}", forklore_journal::oplog::time(*.first))]
    TooEarly {
        /// When it begins, in milliseconds since 1970
        first: i64,
    },
    /// It was never seen whole.
    #[error("History has not seen \"{0}\"")]
    NeverSeen(String),
    /// There is no such chat.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// History cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The vault cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
}

impl Library {
    /// The file of the chat that a user means and that is not there any more, but that history has seen.
    pub fn find_gone(&self, wanted: &str) -> Result<Option<VaultPath>, PastError> {
        let Some(history) = self.history()? else { return Ok(None) };
        let text = wanted.strip_suffix(".jsonl").unwrap_or(wanted);
        let is_there = |file: &VaultPath| self.chats.iter().any(|chat| chat.path == *file);
        // What is in a folder that cannot be read is not gone.
        let is_gone = |file: &&VaultPath| !is_there(file) && !self.is_in_closed(file);
        let gone: Vec<&VaultPath> = history.chats().filter(is_gone).collect();
        let whole = |file: &&&VaultPath| address_of(file) == text;
        let alone = |file: &&&VaultPath| stem_of(file) == text.rsplit('/').next().unwrap_or_default();
        let is_group = |file: &&&VaultPath| file.as_str().starts_with(layout::GROUP_CHATS);
        let mut found: Vec<&VaultPath> = gone.iter().filter(whole).copied().collect();
        if found.is_empty() && text.starts_with("group:") {
            found = gone.iter().filter(|file| is_group(file) && alone(file)).copied().collect();
        } else if found.is_empty() && !text.contains('/') {
            found = gone.iter().filter(alone).copied().collect();
        }
        match found[..] {
            [] => Ok(None),
            [one] => Ok(Some(one.clone())),
            _ => Err(PastError::Address(AddressError::Ambiguous {
                wanted: wanted.to_owned(),
                candidates: found.into_iter().map(address_of).collect(),
            })),
        }
    }

    /// Where in history a chat is, if everything up to observation `until` counts; without it, all of history.
    pub fn find_past(&self, file: &VaultPath, until: Option<u64>) -> Result<Past, PastError> {
        let history = self.history()?.ok_or(PastError::NoHistory)?;
        let track = history.track(file);
        let chats = || track.iter().filter(|i| history.seen[**i].chat().is_some());
        let first = chats().next().map(|i| &history.seen[*i]);
        let first = first.ok_or_else(|| PastError::NeverSeen(stem_of(file).to_owned()))?;
        let last = history.seen.last().map_or(0, |seen| seen.seq);
        let until = until.unwrap_or(last);
        let mut behind = false;
        for seen in chats().rev().map(|i| &history.seen[*i]).filter(|seen| seen.seq <= until) {
            if history.content(seen).is_some() {
                let (seq, clock) = (seen.seq, seen.observation.clock);
                // What happened after it was deleted has nothing to do with it.
                let went = history.went_after(file, seq).map(|gone| gone.seq - 1);
                let until = went.map_or(until, |went| until.min(went));
                return Ok(Past { file: file.clone(), until, seq, clock, behind });
            }
            behind = true;
        }
        Err(PastError::NotYet { chat: stem_of(file).to_owned(), first: first.observation.clock })
    }

    /// The vault with a chat and its book as they were. Everything else is as it is; nothing can be changed in it.
    pub fn past(&self, past: &Past) -> Result<Self, PastError> {
        let history = self.history()?.ok_or(PastError::NoHistory)?;
        let seen = history.find(past.seq).ok_or(PastError::NoSuchObservation(past.seq))?;
        let chat = seen.chat().ok_or(PastError::NoSuchObservation(past.seq))?;
        let content = history.content(seen).map(|id| (Content::Stored(id), past.clock));
        let mut files = BTreeMap::from([(past.file.clone(), content)]);
        if let Some(book) = chat.book.as_ref().and_then(|book| layout::book(book).ok()) {
            let track = history.track(&book);
            // One that was not seen by then is as it was seen first: what is made together is seen one after the other.
            let by_then = track.partition_point(|i| history.seen[*i].seq <= past.until);
            let track = &track[..by_then.max(1).min(track.len())];
            if let Some(last) = track.last().map(|i| &history.seen[*i]) {
                let content = match history.content(last) {
                    Some(id) => Some(Content::Stored(id)),
                    // Where the whole book is forgotten, what changed since tells it.
                    None => BookReplay::at(history, track)?.entries.map(|entries| {
                        let whole = new_book::Content::Entries { over: None, entries: &entries };
                        Content::Made(new_book::assemble(whole, stem(&book)).into())
                    }),
                };
                files.insert(book, content.map(|content| (content, last.observation.clock)));
            }
        }
        let fs = PastFs { now: self.fs.clone(), store: Some(Arc::new(store(&self.fs)?)), files };
        let mut library = Self::load(Arc::new(fs), &NoProgress)?;
        library.until = Some(past.until);
        Ok(library)
    }

    /// The vault with files that are not there: their contents, and when they were saved. Nothing can be changed in it.
    pub fn with_files(&self, files: Vec<(VaultPath, Vec<u8>, i64)>) -> Result<Self, PastError> {
        let held =
            files.into_iter().map(|(path, bytes, clock)| (path, Some((Content::Made(bytes.into()), clock))));
        let fs = PastFs { now: self.fs.clone(), store: None, files: held.collect() };
        Ok(Self::load(Arc::new(fs), &NoProgress)?)
    }
}

/// The address of a chat by its file.
pub fn address_of(file: &VaultPath) -> String {
    match file.as_str().strip_prefix(layout::GROUP_CHATS) {
        Some(_) => format!("group:-/{}", stem_of(file)),
        None => format!("{}/{}", file.parent().name(), stem_of(file)),
    }
}

/// The name of a chat by its file.
pub fn stem_of(file: &VaultPath) -> &str {
    file.name().strip_suffix(".jsonl").unwrap_or(file.name())
}

impl Timeline {
    /// A whole file of history, to be read like one on disk.
    pub fn open(&self, content: &Id) -> Result<Box<dyn OpenFile + '_>, HistoryError> {
        Ok(Box::new(Stored::open(&*self.store, content)?))
    }

    /// The files of all chats that were ever seen, by the names that they had last.
    pub fn chats(&self) -> impl Iterator<Item = &VaultPath> {
        self.files().filter(|file| !file.as_str().starts_with(layout::WORLDS))
    }

    /// The observation of this number.
    pub fn find(&self, seq: u64) -> Option<&super::Seen> {
        self.seen.binary_search_by_key(&seq, |seen| seen.seq).ok().map(|i| &self.seen[i])
    }

    /// The observation that found a file gone, after another one of it, if it was found gone before it was seen again.
    pub fn went_after(&self, file: &VaultPath, seq: u64) -> Option<&super::Seen> {
        let later = self
            .track(file)
            .iter()
            .map(|i| &self.seen[*i])
            .find(|seen| seen.seq > seq && (seen.chat().is_none() || self.content(seen).is_some()));
        later.filter(|seen| seen.observation.what == Observed::Gone)
    }

    /// The last observation that was made by a time, in milliseconds since 1970.
    pub fn last_by(&self, clock: i64) -> Option<u64> {
        let after = self.seen.partition_point(|seen| seen.observation.clock <= clock);
        after.checked_sub(1).map(|i| self.seen[i].seq)
    }
}

/// A file system in which some files are as history has them, or are not there. It cannot be written.
pub(super) struct PastFs {
    now: Arc<dyn Vfs>,
    /// Nothing if all contents are at hand
    store: Option<Arc<Store>>,
    /// Content, and when it was saved
    files: BTreeMap<VaultPath, Option<(Content, i64)>>,
}

/// What a file of the past holds.
enum Content {
    /// What history has
    Stored(Id),
    /// What was put together
    Made(Arc<[u8]>),
}

/// A file of the past.
struct PastFile {
    content: Opened,
    identity: Identity,
}

enum Opened {
    Stored(Stored<Arc<Store>>),
    Made(Arc<[u8]>),
}

impl OpenFile for PastFile {
    fn identity(&self) -> io::Result<Identity> {
        Ok(self.identity)
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        match &self.content {
            Opened::Stored(stored) => stored.read_at(buf, offset),
            Opened::Made(bytes) => {
                let rest = usize::try_from(offset).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
                let len = rest.len().min(buf.len());
                buf[..len].copy_from_slice(&rest[..len]);
                Ok(len)
            }
        }
    }
}

impl PastFs {
    /// A vault with files that history has, each as it was saved at a time.
    pub(super) fn showing(
        now: Arc<dyn Vfs>,
        store: Arc<Store>,
        files: impl Iterator<Item = (VaultPath, Id, i64)>,
    ) -> Self {
        let files = files.map(|(path, id, clock)| (path, Some((Content::Stored(id), clock))));
        Self { now, store: Some(store), files: files.collect() }
    }

    fn past(&self, path: &VaultPath, content: &Content, clock: i64) -> Result<PastFile, PathError> {
        let fail = |source| PathError { path: path.clone(), doing: "read from history", source };
        let (content, file, len) = match content {
            Content::Stored(id) => {
                // What it is told by, together with its length and its time.
                let (number, _) = id.as_bytes().split_first_chunk().unwrap_or((&[0; 8], &[]));
                let number = u64::from_le_bytes(*number);
                let store = self.store.clone().ok_or_else(|| fail(io::ErrorKind::NotFound.into()))?;
                let stored = Stored::open(store, id).map_err(|e| fail(io::Error::other(e)))?;
                let len = stored.identity().map_err(fail)?.len;
                (Opened::Stored(stored), number, len)
            }
            Content::Made(bytes) => (Opened::Made(bytes.clone()), 0, bytes.len() as u64),
        };
        let modified = clock.saturating_mul(1_000_000);
        Ok(PastFile { content, identity: Identity { file, len, modified, changed: 0 } })
    }

    fn over(path: &VaultPath) -> PathError {
        let source = io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "what is past cannot be changed");
        PathError { path: path.clone(), doing: "change", source }
    }
}

impl Vfs for PastFs {
    fn home(&self) -> Option<&std::path::Path> {
        self.now.home()
    }

    fn open(&self, path: &VaultPath) -> Result<Box<dyn OpenFile>, PathError> {
        match self.files.get(path) {
            None => self.now.open(path),
            Some(Some((content, clock))) => Ok(Box::new(self.past(path, content, *clock)?)),
            Some(None) => {
                let source = io::ErrorKind::NotFound.into();
                Err(PathError { path: path.clone(), doing: "open", source })
            }
        }
    }

    fn identity(&self, path: &VaultPath) -> Result<Option<Identity>, PathError> {
        match self.files.get(path) {
            None => self.now.identity(path),
            Some(Some((content, clock))) => Ok(Some(self.past(path, content, *clock)?.identity)),
            Some(None) => Ok(None),
        }
    }

    fn attributes(&self, path: &VaultPath) -> Result<Option<Attributes>, PathError> {
        self.now.attributes(path)
    }

    fn list(&self, dir: &VaultPath) -> Result<Vec<Node>, PathError> {
        let mut nodes = self.now.list(dir)?;
        for (path, content) in &self.files {
            // The folder may be gone, too.
            let below = match dir.as_str() {
                "" => Some(path.as_str()),
                dir => path.as_str().strip_prefix(dir).and_then(|rest| rest.strip_prefix('/')),
            };
            let Some(below) = below else { continue };
            let (name, kind) = match below.split_once('/') {
                Some((folder, _)) => (folder, NodeKind::Dir),
                None => (below, NodeKind::File),
            };
            if content.is_none() && kind == NodeKind::File {
                nodes.retain(|node| node.name != name);
            } else if content.is_some() && !nodes.iter().any(|node| node.name == name) {
                nodes.push(Node { name: name.to_owned(), kind });
            }
        }
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(nodes)
    }

    fn assemble(&self, path: &VaultPath, _: &[Part<'_>]) -> Result<(), PathError> {
        Err(Self::over(path))
    }

    fn append(&self, path: &VaultPath, _: &[u8]) -> Result<(), PathError> {
        Err(Self::over(path))
    }

    fn dress(&self, path: &VaultPath, _: &Attributes) -> Result<(), PathError> {
        Err(Self::over(path))
    }

    fn device(&self, dir: &VaultPath) -> Result<u64, PathError> {
        self.now.device(dir)
    }

    fn can_write(&self, _: &VaultPath) -> Result<bool, PathError> {
        Ok(false)
    }

    fn is_link(&self, path: &VaultPath) -> Result<bool, PathError> {
        if self.files.contains_key(path) { Ok(false) } else { self.now.is_link(path) }
    }

    fn lock(&self, path: &VaultPath) -> Result<Option<Lock>, PathError> {
        Err(Self::over(path))
    }

    fn make_dir(&self, dir: &VaultPath) -> Result<(), PathError> {
        Err(Self::over(dir))
    }

    fn sync_file(&self, path: &VaultPath) -> Result<(), PathError> {
        Err(Self::over(path))
    }

    fn sync_dir(&self, dir: &VaultPath) -> Result<(), PathError> {
        Err(Self::over(dir))
    }

    fn rename_noreplace(&self, _: &VaultPath, to: &VaultPath) -> Result<(), PathError> {
        Err(Self::over(to))
    }

    fn replace(&self, _: &VaultPath, to: &VaultPath) -> Result<(), PathError> {
        Err(Self::over(to))
    }

    fn exchange(&self, _: &VaultPath, b: &VaultPath) -> Result<(), PathError> {
        Err(Self::over(b))
    }

    fn unlink(&self, path: &VaultPath) -> Result<(), PathError> {
        Err(Self::over(path))
    }
}
