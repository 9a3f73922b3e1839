//! What is known about the books of a chat ([`Lore`]), and their state at any message ([`at`]): `evidence` gathers what tells about a book,
//! `copied` what its copies tell, `renamed` which names are one book's, `family` what the scenes of relatives tell, `gone` those of chats that are gone; `few` works a large book out from the few entries of it that ever changed; `kept_lives` are the lives of books that were asked for last; `contamination` is what other lines have left in it, [`unread`] what is told
//! of a book whose file cannot be read. Beside the books stand the [`metadata`] of a chat and its [`recaps`].

pub mod at;
mod contamination;
mod copied;
mod evidence;
mod family;
mod few;
mod kept_lives;
mod lore;
pub mod metadata;
mod queue;
pub mod recaps;
mod renamed;
mod scene_of;
pub mod unread;

pub use family::Tellers;
pub use lore::Lore;
