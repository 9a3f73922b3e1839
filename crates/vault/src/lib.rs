//! What a vault holds: [`Library`] is everything that was read of one.
//!
//! * [`read`]: from files to a library. It streams; one unreadable file fails only itself.
//! * [`cache`]: what was found out about an unchanged chat is not found out again.
//! * [`lineage`]: who is related to whom, and what two relatives have in common.
//! * [`history`]: what was seen of chats and books, and when.
//! * [`state`]: what is known about a chat's books, and its state at any message.
//! * [`Circle`]: which chats and lorebooks can tell something of each other.
//! * [`Address`]: how people name chats.
//! * [`settle`]: the journal's recovery, with eyes for chats.
//!
//! Nothing here begins to change a story; [`settle`] ends what was begun. What is written besides is Forklore's own: the cache, and history.

pub mod address;
mod bound;
pub mod cache;
mod circle;
pub mod history;
mod library;
pub mod lineage;
pub mod progress;
pub mod read;
pub mod settle;
pub mod state;

pub use address::{Address, AddressError};
pub use cache::Made;
pub use circle::Circle;
pub use history::history_error;
pub use library::{Book, Chat, ChatIx, Library, Story, StoryIx, StoryKind, Unread};
pub use progress::{NoProgress, Progress};
pub use read::LoadError;
pub use state::Lore;
pub use state::metadata::Around;
