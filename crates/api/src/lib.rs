//! What can be asked of a vault, and what is answered. The command line and the server both ask here, so that neither has a rule or a
//! document of its own.
//!
//! * [`OpenVault`] is a vault that can be asked: it reads the [`Library`](forklore_vault::Library), with or without the right to change.
//!   [`LibraryCache`] keeps what was read as long as it holds.
//! * The calls are functions on an [`OpenVault`], one module a topic: [`look`], [`fork`], [`heal`], [`enter`], [`ops`], [`past`], [`retention`],
//!   [`export_import`], [`merge`], [`memory`], [`config`], [`doctor`]. What they need is a plain struct that a JSON body or the flags of a command become; what they give is
//!   the engine's report, whose JSON others rely on (`docs/formats/json.md`).
//! * [`notes`] are what people write at moments; [`note`] keeps history of what was done.
//! * [`Failure`] is what a user is told when something does not work.

mod clock;
pub mod config;
pub mod doctor;
pub mod enter;
pub mod export_import;
mod failure;
pub mod fork;
mod found;
pub mod heal;
mod library_cache;
pub mod look;
pub mod memory;
pub mod merge;
pub mod moment;
pub mod note;
pub mod notes;
mod open_vault;
pub mod ops;
pub mod past;
mod picture;
pub mod retention;

pub use clock::now;
pub use failure::{ErrorCode, Failure, FailureReport, Kind, capital};
pub use library_cache::{LibraryCache, SharedLibrary};
pub use open_vault::OpenVault;
pub use picture::{Picture, picture};
use serde::Serialize;
use std::io::Write;

/// A document as it is printed, and answered: indented, with a newline at its end.
pub fn document<T: Serialize + ?Sized>(value: &T) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    write_document(&mut text, value)?;
    Ok(text)
}

/// Writes a document as it is told, piece by piece: it can be larger than the memory that there is.
pub fn write_document<T: Serialize + ?Sized>(mut out: impl Write, value: &T) -> std::io::Result<()> {
    serde_json::to_writer_pretty(&mut out, value)?;
    out.write_all(b"\n")
}
