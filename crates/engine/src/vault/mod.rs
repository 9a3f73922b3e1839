//! Reading a vault: [`Library`] holds what was read; [`layout`] knows where things are; [`scan`] streams one chat;
//! [`cache`] remembers scans; [`evidence`] gathers what is known about a chat's book.

mod backups;
pub mod cache;
pub mod evidence;
pub mod layout;
mod library;
pub mod scan;

pub use library::{Book, Chat, Library, LoadError, Story, StoryKind};
