//! Memory that follows the line: what [`forklore_memory`] computes of a chat, brought to disk.
//!
//! * [`AnswerStore`] keeps what models have answered, for all chats of a vault.
//! * [`MemoryRecord`] is what a chat's header says of its memory: whether it is on, what its owner decided, what was written.
//! * [`survey()`] reads a chat and computes; [`status()`] and [`why`] tell of it.
//! * [`Along`] is told when something of another line comes into a chat's book.
//! * [`projection`] writes it into the chat and its book, as one operation: a [`projection::plan`], then [`projection::execute`].

mod along;
mod answers;
pub mod projection;
mod shape;
mod status;
mod survey;

pub use crate::memory_record::MemoryRecord;
pub(crate) use along::{Along, is_story};
pub use answers::{AnswerError, AnswerStore, Parked};
pub use status::{EntrySource, MemoryStatus, SceneStatus, WhyReport, status, why};
pub use survey::{MemoryError, Survey, survey};
