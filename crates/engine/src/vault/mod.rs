//! Reading a vault: [`Library`] holds what was read; `load` reads it; [`layout`] knows where things are, [`id`] what a vault calls itself; [`scan`] streams one chat;
//! [`cache`] remembers scans, `derive` those of a new fork; `kin` knows who is related to whom; `family` what their
//! scenes tell; `evidence` gathers what is known about a book; [`Lore`] is what a chat's line knows of its books.

mod backups;
pub mod cache;
mod clock;
mod derive;
mod evidence;
mod family;
pub mod id;
mod kin;
pub mod layout;
mod library;
mod load;
mod lore;
pub mod scan;
mod traced;

pub use derive::Made;
pub(crate) use library::history_error;
pub use library::{Book, Chat, Library, Story, StoryKind};
pub use load::LoadError;
pub use lore::Lore;
