//! Forklore's history on disk: objects that are named by their content, and records in order.
//!
//! * [`Store`] reads: [`Store::records`], [`Store::get`], [`Store::read_document`]. Any number of processes and threads at once.
//! * [`Writer`] adds: one at a time, everything of one writer at once, durable when [`Writer::commit`] returns.
//! * [`Writer::forget`] lets records go, [`Store::prune`] what nothing names any more; [`Store::verify`] reads everything.
//! * A *document* is a file that changes little by little. It is stored as a [`Manifest`], a list of [`Segment`]s, and each version
//!   costs about what changed: see [`Writer::put_document`].
//!
//! Nothing here knows of SillyTavern. What is on disk is described in `docs/formats/store.md`.

mod backend;
mod bytes;
mod cache;
mod codec;
mod compact;
mod delta;
mod document;
mod id;
mod ingest;
mod lookup;
mod pack;
mod pending;
mod prune;
mod store;
mod verify;
mod writer;

use std::io;

use forklore_fs::{PathError, VaultPath};

pub use codec::CodecError;
pub use document::{Manifest, Segment, Unit};
pub use id::{BadId, Id};
pub use prune::{Footprint, Pruned};
pub use store::{Record, Store};
pub use verify::Verified;
pub use writer::Writer;

/// Why the store could not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk said no.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A pack could not be read.
    #[error("could not read {path}: {source}")]
    Read {
        /// The pack
        path: VaultPath,
        /// What the system said
        source: io::Error,
    },
    /// A pack is of a later version of the format.
    #[error(
        "{path} was written by a newer Forklore (version {version} of the format of history): update Forklore to read it"
    )]
    Newer {
        /// The pack
        path: VaultPath,
        /// Its version
        version: u8,
    },
    /// Another process has been writing for too long.
    #[error("another Forklore has been writing to the history for a while: try again when it is done")]
    Busy,
    /// It belongs to somebody else.
    #[error("this is the history of another vault")]
    Foreign,
    /// Packs vanished as fast as they were listed.
    #[error("the history changed faster than it could be read: try again")]
    Restless,
    /// There is no such object.
    #[error("the history does not have {0}")]
    Missing(Id),
    /// The object is there, but its bytes are not what they were.
    #[error("{id} in {path} is damaged")]
    Damaged {
        /// The object
        id: Id,
        /// The pack that holds it
        path: VaultPath,
    },
    /// Something is damaged that has to be known before anything may be removed.
    #[error("the history is damaged, so nothing was removed from it: check it deeply first ({0})")]
    NotWhole(String),
    /// A record says something that has to be understood before anything may be removed.
    #[error(
        "record {0} of the history cannot be read, so nothing was removed from it: update Forklore, or check the history deeply"
    )]
    NotUnderstood(u64),
    /// The object is not a document.
    #[error("{0} is not a document")]
    NotADocument(Id),
    /// The object is larger than any may be.
    #[error("{0} bytes are too many for one object")]
    TooLarge(usize),
    /// The content of a document ended early: the file was changed while it was read.
    #[error("the file became shorter while it was read")]
    Shrunk,
    /// The content of a document could not be read.
    #[error("could not read the content: {0}")]
    Content(io::Error),
    /// What was read could not be handed on.
    #[error("could not write the content: {0}")]
    Out(io::Error),
    /// The compressor failed.
    #[error("could not compress: {0}")]
    Codec(#[from] CodecError),
}
