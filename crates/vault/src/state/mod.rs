//! What is known about the books of a chat ([`Lore`]), and their state at any message ([`at`]): `evidence` gathers what tells about a book,
//! `copied` what its copies tell, `renamed` which names are one book's, `family` what the scenes of relatives tell; `kept_lives` are the lives of books that were asked for last; `contamination` is what other lines have left in it.

pub mod at;
mod contamination;
mod copied;
mod evidence;
mod family;
mod kept_lives;
mod lore;
mod queue;
mod renamed;
mod scene_of;

pub use family::Tellers;
pub use lore::Lore;
