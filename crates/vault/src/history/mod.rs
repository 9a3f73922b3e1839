//! History: what was seen of chats and books, in the order in which it was seen.
//!
//! [`Recorder`] looks at files and writes [`Observation`]s into the store; [`watch`] keeps doing so; [`Timeline`] reads them and
//! knows where in the story each one belongs, seen from any chat. Losing history loses time travel, never a chat.

mod book_replay;
pub mod delta;
mod document;
mod evidence;
mod few;
mod ghosts;
mod headers;
mod look;
mod media;
pub mod observation;
pub mod past;
mod players;
mod recorder;
mod rescue;
mod saves;
mod scenes_gone;
mod stood;
mod timeline;
pub mod transfer;
mod units;
pub mod watch;

use std::io;
use std::path::Path;
use std::sync::Arc;

pub use book_replay::{BookReplay, Turn};
pub(crate) use document::read_book;
pub(crate) use few::Steady;
use forklore_config::{Config, ConfigError, Elsewhere, id};
use forklore_fs::{Identity, PathError, RealFs, VaultPath, Vfs};
use forklore_journal::layout;
use forklore_journal::operation::Operation;
use forklore_store::{Store, StoreError};
pub use look::Depth;
pub use observation::{BookSeen, By, ChatSeen, Observation, Observed};
pub use past::{Past, PastError};
pub use recorder::{Closed, Looked, Recorder, Sight};
pub use rescue::rescue;
pub use saves::compare;
pub use timeline::{Period, Seen, Timeline, stem};
pub use watch::Watch;

/// Why history cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Where it is cannot be told.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Something in it is not what this Forklore writes.
    #[error("history holds something that cannot be read: {0}")]
    Unreadable(String),
    /// The folder that it is to be kept in cannot be used.
    #[error("the folder \"{dir}\" for history (setting history.dir) cannot be used: {source}")]
    Elsewhere {
        /// The folder
        dir: String,
        /// What the system said
        source: io::Error,
    },
    /// It belongs to another vault.
    #[error("the folder \"{dir}\" holds the history of another vault")]
    Foreign {
        /// The folder
        dir: String,
    },
    /// It was put elsewhere when the vault was somewhere else.
    #[error("this vault's history is in \"{dir}\", which was set when the vault was at \"{from}\"")]
    Moved {
        /// The folder of history
        dir: String,
        /// Where the vault was
        from: String,
    },
    /// It was written by a newer Forklore.
    #[error(
        "history was written by a newer Forklore (format {found}; this one reads up to {})",
        observation::VERSION
    )]
    Newer {
        /// The version found
        found: u32,
    },
}

impl HistoryError {
    /// Whether a file was being written while it was looked at.
    fn is_unfinished(&self) -> bool {
        match self {
            Self::Store(StoreError::Shrunk) => true,
            Self::Path(e) => e.source.kind() == io::ErrorKind::UnexpectedEof,
            _ => false,
        }
    }

    /// Whether it is the file that was looked at which the system does not let us read: history itself is well, and so are the others.
    fn is_closed(&self) -> bool {
        matches!(self, Self::Path(_) | Self::Store(StoreError::Content(_)))
    }
}

/// History that cannot be read, as what cannot be read. Why is inside: whoever tells people of it looks there.
pub fn history_error(why: impl Into<Arc<HistoryError>>) -> PathError {
    let source = io::Error::other(why.into());
    PathError { path: layout::folder(layout::HISTORY), doing: "read", source }
}

/// Where a vault's history is.
pub struct Place {
    /// The disk that it is on
    pub fs: Arc<dyn Vfs>,
    /// The folder
    pub dir: VaultPath,
    /// As it is told to people, if it is outside of the vault
    pub outside: Option<String>,
}

/// Finds it. Nothing is made: a disk that is not plugged in must not become a folder on another one.
pub fn place(fs: &Arc<dyn Vfs>) -> Result<Place, HistoryError> {
    let dir = Config::load(&**fs)?.history.dir;
    if !dir.is_empty() {
        let elsewhere = RealFs::new(Path::new(&dir));
        let elsewhere = elsewhere.map_err(|source| HistoryError::Elsewhere { dir: dir.clone(), source })?;
        return Ok(Place { fs: Arc::new(elsewhere), dir: VaultPath::root(), outside: Some(dir) });
    }
    if fs.home().is_some()
        && let Some(Elsewhere { vault, history: dir }) = id::of(&**fs)?.and_then(|id| Config::moved(&id))
    {
        return Err(HistoryError::Moved { dir, from: vault.display().to_string() });
    }
    Ok(Place { fs: fs.clone(), dir: layout::folder(layout::HISTORY), outside: None })
}

/// Every file that history is read from, and its identity. Whoever only looks makes no folder, and what cannot be read is told of by
/// those who need it.
pub fn files(fs: &Arc<dyn Vfs>) -> Vec<(VaultPath, Option<Identity>)> {
    let Ok(Place { fs: home, dir, .. }) = place(fs) else { return Vec::new() };
    let Ok(packs) = dir.join("packs") else { return Vec::new() };
    let names = home.list(&packs).unwrap_or_default().into_iter();
    let files = names.filter_map(|node| packs.join(&node.name).ok());
    files.map(|file| (file.clone(), home.identity(&file).ok().flatten())).collect()
}

/// The store of a vault's history. Another vault's is refused.
pub fn store(fs: &Arc<dyn Vfs>) -> Result<Store, HistoryError> {
    bound(place(fs)?, id::of(&**fs)?)
}

/// The same for whoever adds to it: from then on the vault has a name for itself, and the store is the vault's.
pub fn store_to_add(fs: &Arc<dyn Vfs>) -> Result<Store, HistoryError> {
    let place = place(fs)?;
    bound(place, Some(name(fs)?))
}

/// What a vault calls itself, from now on if it has no name yet: the one that its history knows it by, if that is left.
pub fn name(fs: &Arc<dyn Vfs>) -> Result<String, HistoryError> {
    let own = Store::open(fs.clone(), layout::folder(layout::HISTORY))?.owner()?;
    Ok(id::make(&**fs, own)?)
}

/// The store of what models have answered about stories, which lives beside history; `None` where nothing was answered yet.
pub fn answers(fs: &Arc<dyn Vfs>) -> Result<Option<Store>, HistoryError> {
    let place = beside(place(fs)?)?;
    if place.fs.list(&place.dir)?.is_empty() {
        return Ok(None);
    }
    bound(place, id::of(&**fs)?).map(Some)
}

/// The same for whoever adds to it.
pub fn answers_to_add(fs: &Arc<dyn Vfs>) -> Result<Store, HistoryError> {
    let id = name(fs)?;
    bound(beside(place(fs)?)?, Some(id))
}

/// Where answers are: in a folder of history's own.
fn beside(place: Place) -> Result<Place, HistoryError> {
    let dir = place.dir.join("answers").map_err(|e| HistoryError::Unreadable(e.to_string()))?;
    Ok(Place { dir, ..place })
}

fn bound(place: Place, id: Option<String>) -> Result<Store, HistoryError> {
    let Place { fs: home, dir, outside } = place;
    let told = outside.clone().unwrap_or_else(|| layout::HISTORY.to_owned());
    let store = Store::open(home, dir)?;
    let foreign = |e| match e {
        StoreError::Foreign => HistoryError::Foreign { dir: told },
        e => e.into(),
    };
    match (id, store.owner()?) {
        (Some(id), _) => store.on_behalf_of(id).map_err(foreign),
        // A vault that lost its name: what is in it is its own, what is elsewhere may be anybody's.
        (None, Some(_)) if outside.is_some() => Err(foreign(StoreError::Foreign)),
        (None, _) => Ok(store),
    }
}

/// Makes a folder outside of the vault the place of its history, if it is nobody's or the vault's already. A dry run makes nothing.
pub fn claim(fs: &Arc<dyn Vfs>, dir: &str, dry_run: bool) -> Result<(), HistoryError> {
    let unusable = |source| HistoryError::Elsewhere { dir: dir.to_owned(), source };
    let home = match (RealFs::new(Path::new(dir)), dry_run) {
        (Ok(home), _) => home,
        (Err(_), true) => return Ok(()),
        (Err(_), false) => RealFs::make(Path::new(dir)).map_err(unusable)?,
    };
    let place = Place { fs: Arc::new(home), dir: VaultPath::root(), outside: Some(dir.to_owned()) };
    if dry_run {
        return bound(place, id::of(&**fs)?).map(drop);
    }
    let own = Store::open(fs.clone(), layout::folder(layout::HISTORY))?.owner()?;
    let mut store = bound(place, Some(id::make(&**fs, own)?))?;
    // Whoever writes binds it.
    store.writer()?;
    Ok(())
}

/// Records files as they are before an operation replaces them: what they tell of the past is not lost with them.
pub fn before(fs: &Arc<dyn Vfs>, files: &[VaultPath], now: i64) -> Result<Looked, HistoryError> {
    // Not as one who watches: that would say that everything else was looked at, too.
    let by = By::Operation("heal".to_owned());
    Recorder::open(fs.clone())?.look(files, &by, Depth::Quick, now)
}

/// Records what an operation touched: the chats and books that it made, changed or took away, and the books of those chats.
pub fn note(fs: &Arc<dyn Vfs>, operation: &Operation, now: i64) -> Result<Looked, HistoryError> {
    look_with_books(fs, &touched(operation), &operation.id, now)
}

/// Records chats that an operation with this id looked at, each with its book.
pub fn look_with_books(
    fs: &Arc<dyn Vfs>,
    files: &[VaultPath],
    operation: &str,
    now: i64,
) -> Result<Looked, HistoryError> {
    let mut recorder = Recorder::open(fs.clone())?;
    let by = By::Operation(operation.to_owned());
    let mut looked = recorder.look(files, &by, Depth::Quick, now)?;
    let books: Vec<VaultPath> = files.iter().filter_map(|file| recorder.book_of(file)).collect();
    looked.add(recorder.look_on(&looked, &books, &by, Depth::Quick, now)?);
    Ok(looked)
}

/// Chats and books among the files that an operation touched.
pub fn touched(operation: &Operation) -> Vec<VaultPath> {
    let mut files: Vec<VaultPath> = operation.steps.iter().map(|step| step.target().clone()).collect();
    files.retain(watch::is_watched);
    files.sort();
    files.dedup();
    files
}

/// Reads one observation.
pub fn parse(payload: &[u8]) -> Result<Observation, HistoryError> {
    #[derive(serde::Deserialize)]
    struct Version {
        v: u32,
    }
    let unreadable = |e: serde_json::Error| HistoryError::Unreadable(e.to_string());
    match serde_json::from_slice::<Observation>(payload) {
        Ok(observation) if observation.v <= observation::VERSION => Ok(observation),
        Ok(observation) => Err(HistoryError::Newer { found: observation.v }),
        Err(e) => {
            let Version { v: found } = serde_json::from_slice(payload).map_err(unreadable)?;
            Err(if found > observation::VERSION { HistoryError::Newer { found } } else { unreadable(e) })
        }
    }
}
