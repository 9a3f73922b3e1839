//! From files to a [`Library`](crate::Library): `load` reads a vault, [`scan`] streams one chat, [`lines`] one file; [`media`] are the images
//! and files that chats link to; `backups` are SillyTavern's own copies of chats, `clock` knows when their messages were sent.

mod backups;
mod clock;
pub mod lines;
mod load;
pub mod media;
pub mod scan;

pub use load::LoadError;
