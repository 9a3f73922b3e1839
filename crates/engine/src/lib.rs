//! Forklore's use-cases on a vault.
//!
//! * [`vault`]: [`Library`] is everything that was read of a vault: stories, chats with their transcripts and lineage, books.
//!   Reading streams; what was read of an unchanged chat comes from a disposable cache.
//! * [`usecase`]: `stories`, `tree`, `show`, `diff`, `check`: from a library to a report. Reports are plain data; their JSON form is
//!   what other programs rely on.
//! * [`history`]: what was seen of chats and books, and when; it makes the state at any message exact.
//! * [`media`]: the images and files that chats link to.
//! * [`oplog`]: everything that Forklore did, to be looked at and undone.
//! * [`tx`]: how several files change together or not at all, and the operations that are kept in the log.
//! * [`Address`]: how people name chats.
//! * [`config`]: [`Config`], what people have set for the vault.
//!
//! Nothing here prints, knows colours or exit codes.

mod address;
pub mod config;
pub mod history;
mod lines;
pub mod media;
pub mod oplog;
mod progress;
pub mod state_at;
pub mod tx;
pub mod usecase;
pub mod vault;
pub mod when;

pub use address::{Address, AddressError};
pub use config::Config;
pub use progress::{NoProgress, Progress};
pub use vault::Library;

/// A fresh identity for a chat, as SillyTavern makes them.
pub fn fresh_slug() -> String {
    uuid::Uuid::new_v4().to_string()
}
