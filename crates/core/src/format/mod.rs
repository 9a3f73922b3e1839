//! SillyTavern's files as they are on disk. Each module reads one of them by spans; nothing here knows where files live.

pub mod book;
pub mod book_map;
pub mod card;
pub mod chat;
pub mod conflict;
pub mod fields;
pub mod group;
pub(crate) mod js;
pub mod media;
pub mod names;
pub mod record;
pub mod revision;
pub mod settings;
mod span;
