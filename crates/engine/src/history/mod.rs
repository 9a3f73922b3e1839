//! History: what was seen of chats and books, in the order in which it was seen.
//!
//! [`Recorder`] looks at files and writes [`Observation`]s into the store; [`watch`] keeps doing so; [`Timeline`] reads them and
//! knows where in the story each one belongs, seen from any chat. Losing history loses time travel, never a chat.

pub mod delta;
mod document;
mod evidence;
pub mod observation;
pub mod past;
mod recorder;
mod reel;
mod rescue;
mod saves;
mod timeline;
pub mod transfer;
mod units;
pub mod watch;

use std::io;
use std::path::Path;
use std::sync::Arc;

use forklore_fs::{Identity, PathError, RealFs, VaultPath, Vfs};
use forklore_store::{Store, StoreError};

pub use observation::{BookSeen, By, ChatSeen, Observation, What};
pub use past::{Past, PastError};
pub use recorder::{Depth, Looked, Recorder, Sight};
pub use reel::{Reel, Turn};
pub use rescue::rescue;
pub(crate) use saves::compare;
pub(crate) use timeline::stem;
pub use timeline::{Period, Seen, Timeline};
pub use watch::Watch;

use crate::Config;
use crate::tx::operation::Operation;
use crate::vault::layout;

/// Why history cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
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
}

/// Where a vault's history is: on which file system, in which folder.
type Place = (Arc<dyn Vfs>, VaultPath);

fn place(fs: &Arc<dyn Vfs>, open: fn(&Path) -> io::Result<RealFs>) -> Result<Place, HistoryError> {
    let config = Config::load(&**fs).map_err(|e| HistoryError::Unreadable(e.to_string()))?;
    let dir = config.history.dir;
    if dir.is_empty() {
        return Ok((fs.clone(), layout::folder(layout::HISTORY)));
    }
    let elsewhere = open(Path::new(&dir)).map_err(|source| HistoryError::Elsewhere { dir, source })?;
    Ok((Arc::new(elsewhere), VaultPath::root()))
}

/// Every file that history is read from, and its identity. Whoever only looks makes no folder, and what cannot be read is told of by
/// those who need it.
pub fn files(fs: &Arc<dyn Vfs>) -> Vec<(VaultPath, Option<Identity>)> {
    let Ok((home, dir)) = place(fs, RealFs::new) else { return Vec::new() };
    let Ok(packs) = dir.join("packs") else { return Vec::new() };
    let names = home.list(&packs).unwrap_or_default().into_iter();
    let files = names.filter_map(|node| packs.join(&node.name).ok());
    files.map(|file| (file.clone(), home.identity(&file).ok().flatten())).collect()
}

/// The store of a vault's history.
pub fn store(fs: &Arc<dyn Vfs>) -> Result<Store, HistoryError> {
    let (home, dir) = place(fs, RealFs::make)?;
    Ok(Store::open(home, dir)?)
}

/// Records what an operation touched: the chats and books that it made, changed or took away, and the books of those chats.
pub fn note(fs: &Arc<dyn Vfs>, operation: &Operation, now: i64) -> Result<Looked, HistoryError> {
    let mut recorder = Recorder::open(fs.clone())?;
    let by = By::Operation(operation.id.clone());
    let files = touched(operation);
    let mut looked = recorder.look(&files, &by, Depth::Quick, now)?;
    let books: Vec<VaultPath> = files.iter().filter_map(|file| recorder.book_of(file)).collect();
    looked.recorded.extend(recorder.look(&books, &by, Depth::Quick, now)?.recorded);
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
