//! From files to a [`Library`](crate::Library): `load` reads a vault (`places` finds what is in it, `identities` and `threads` help with thousands of files), [`scan`] streams one chat (in `blocks`; what forks have in common once, by `alike`) into a transcript, [`facts`], [`snapshots`] and an [`outline`] of its header, [`lines`] one file; [`locate`] finds a message again; [`media`] are the images
//! and files that chats link to; `backups` are SillyTavern's own copies of chats, `clock` knows when their messages were sent.

mod alike;
mod backups;
mod blocks;
mod clock;
pub mod facts;
pub(crate) mod identities;
pub mod lines;
mod load;
pub mod locate;
pub mod media;
pub mod outline;
mod places;
pub mod scan;
pub mod snapshots;
mod threads;

pub use load::LoadError;
