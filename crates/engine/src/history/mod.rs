//! History: what was seen of chats and books, in the order in which it was seen.
//!
//! [`Recorder`] looks at files and writes [`Observation`]s into the store; [`watch`] keeps doing so; [`Timeline`] reads them and
//! knows where in the story each one belongs, seen from any chat. Losing history loses time travel, never a chat.

pub mod delta;
mod document;
mod evidence;
pub mod observation;
mod recorder;
mod timeline;
mod units;
pub mod watch;

use std::sync::Arc;

use forklore_fs::{PathError, VaultPath, Vfs};
use forklore_store::{Store, StoreError};

pub use observation::{BookSeen, By, ChatSeen, Observation, What};
pub use recorder::{Depth, Looked, Recorder};
pub use timeline::{Seen, Timeline};
pub use watch::Watch;

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

/// The folder of a vault's history.
pub fn place(_fs: &dyn Vfs) -> Result<VaultPath, PathError> {
    Ok(layout::folder(layout::HISTORY))
}

/// The store of a vault's history.
pub fn store(fs: &Arc<dyn Vfs>) -> Result<Store, HistoryError> {
    Ok(Store::open(fs.clone(), place(&**fs)?)?)
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
