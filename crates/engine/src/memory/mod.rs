//! Memory that follows the line: what [`forklore_memory`] computes of a chat, brought to disk.
//!
//! * [`AnswerStore`] keeps what models have answered, for all chats of a vault.
//! * [`MemoryRecord`] is what a chat's header says of its memory: whether it is on, what its owner decided, what was written.
//! * [`Ways`] is how it is kept: settings and words; [`Choice`] is what an owner decides, [`decide()`] the record with it.
//! * [`take_over()`] is the record of a chat that another extension has kept until now.
//! * [`survey()`] reads a chat and computes; [`status()`], [`told()`] and [`why`] tell of it.
//! * `Along` is told when something of another line comes into a chat's book, `put_back` when something of its own past does.
//! * [`projection`] writes it into the chat and its book, as one operation: a [`projection::plan`], then [`projection::execute`].

mod along;
mod answers;
mod back;
mod decide;
mod drawn;
mod error;
pub mod projection;
mod shape;
mod status;
mod survey;
mod take_over;
mod told;
mod ways;

pub use crate::memory_record::MemoryRecord;
pub(crate) use along::{Along, is_story};
pub use answers::{AnswerError, AnswerStore, Parked, Spent};
pub(crate) use back::put_back;
pub use decide::{Choice, decide};
pub use error::MemoryError;
pub use status::{EntrySource, MemoryStatus, ProposalStatus, SceneStatus, WhyReport, status, why};
pub use survey::{Survey, survey};
pub use take_over::{Taken, take_over};
pub use told::{ToldAnswer, ToldReport, ToldScene, told};
pub use ways::{PromptReport, Ways, prompts};
