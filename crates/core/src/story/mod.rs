//! What chats mean together: [`Moment`]s identify "this message with everything before it", [`Transcript`]s are compared by
//! them, [`Shift`] follows messages through edits, [`touches`] tells what a save did to them, and [`lineage`] finds out which chat was forked from which.

mod chat_ix;
mod line;
pub mod lineage;
mod moment;
mod save;
mod shift;

pub use chat_ix::ChatIx;
pub(crate) use line::longest_ascending;
pub use line::{Alignment, Confidence, align, common_prefix};
pub use moment::{
    MessageId, Moment, Row, RowSource, Said, TextHash, Transcript, TranscriptBuilder, identify, sent,
    swipe_moments,
};
pub use save::{SavedMessage, Touch, touches};
pub use shift::Shift;
