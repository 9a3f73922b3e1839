//! The use-cases: each takes a [`Library`](forklore_vault::Library), everything that was read of a vault, and gives a report: plain data
//! whose JSON form other programs rely on (`docs/formats/json.md`). What changes a vault is worked out first (`plan`, which only reads
//! and can be printed) and done then (`execute`, all or nothing).
//!
//! Nothing here prints, knows colours or exit codes.

pub mod blame;
pub mod bring;
mod chat_settings;
pub mod check;
pub mod delete;
pub mod diff;
pub mod doctor;
pub mod export;
mod finder;
pub mod fork;
pub mod gained;
mod header;
pub mod heal;
pub mod history;
pub mod import;
pub mod line;
mod links;
pub mod memory;
mod memory_record;
pub mod merge;
pub mod messages;
pub mod needed;
mod new_book;
pub mod notes;
pub mod pending;
pub mod rename;
pub mod restore;
pub mod retention;
pub mod search;
pub mod show;
pub mod st_deleted;
pub mod st_forks;
pub mod stories;
pub mod trash;
pub mod tree;
pub mod undo;
pub mod warning;
pub mod when;

/// A fresh identity for a chat, as SillyTavern makes them.
pub fn fresh_slug() -> String {
    uuid::Uuid::new_v4().to_string()
}
