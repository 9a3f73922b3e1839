//! What differs between two states.
//!
//! [`State`] is one side: what a chat holds at a message. [`StateDiff`] is how the first becomes the second: entries of the book
//! ([`EntriesDiff`]), registries row by row ([`RegistryDiff`]), recaps ([`RunningDiff`]), variables and other metadata
//! ([`ValueChange`]), timed effects ([`TimedDiff`]), the queue ([`QueueDiff`]). [`Parting`] tells where two lines part. Texts are
//! compared when they are to be read ([`TextDiff`]): that is the expensive part.

mod entries;
mod fields;
mod line;
mod pairs;
mod queue;
mod recap;
mod registry;
mod text;
mod timed;
mod variables;

pub use entries::{EntriesDiff, EntryChange, Identity, entries};
pub(crate) use entries::{alike, matched};
pub(crate) use fields::same;
pub use fields::{FieldChange, ListDiff, Quiet, ValueChange};
pub use line::{Parting, Relation};
pub use pairs::Effort;
pub(crate) use pairs::pairs;
pub use queue::QueueDiff;
pub use recap::RunningDiff;
pub use registry::RegistryDiff;
pub use text::{Hunk, Line, Op, Part, TextDiff};
pub use timed::{Effect, TimedDiff};
use variables::MetadataDiff;
pub use variables::is_compared;

use forklore_json::Raw;

use crate::adapter::Operation;
use crate::adapter::recap::{self as recaps, CombinedRecap};
use crate::state::StateEntry;

/// What a chat holds at a message.
#[derive(Debug, Clone, Copy)]
pub struct State<'a> {
    /// Name of its book.
    pub book: Option<&'a str>,
    /// The entries of its book, without the extension's queue.
    pub entries: &'a [StateEntry],
    /// `chat_metadata`, as of the message.
    pub metadata: Raw<'a>,
    /// Work that waits or runs.
    pub operations: &'a [Operation],
}

/// How one state becomes another.
#[derive(Debug, Clone)]
pub struct StateDiff<'a> {
    /// The book, registries included.
    pub entries: EntriesDiff<'a>,
    /// The running recap.
    pub running: RunningDiff,
    /// The combined recap before and after, if it differs.
    pub combined: Option<(Option<CombinedRecap>, Option<CombinedRecap>)>,
    /// The chat's variables.
    pub variables: Vec<ValueChange<'a>>,
    /// The author's note.
    pub note: Vec<ValueChange<'a>>,
    /// Everything else that SillyTavern and its extensions keep for the chat, except what tells chats apart.
    pub metadata: Vec<ValueChange<'a>>,
    /// Sticky and cooldown effects.
    pub timed: TimedDiff,
    /// The queue.
    pub queue: QueueDiff,
}

impl<'a> StateDiff<'a> {
    /// Compares two states.
    pub fn of(a: State<'a>, b: State<'a>) -> Self {
        let running = |state: State<'_>| recaps::running(state.metadata).unwrap_or_default();
        let combined = [a, b].map(|state| recaps::combined(state.metadata));
        let MetadataDiff { variables, note, metadata } = MetadataDiff::of(a.metadata, b.metadata);
        let [before, after] = combined;
        Self {
            entries: entries(a.entries, b.entries),
            running: RunningDiff::of(&running(a), &running(b)),
            combined: (before != after).then_some((before, after)),
            variables,
            note,
            metadata,
            timed: TimedDiff::of(a.metadata, a.book, b.metadata, b.book),
            queue: QueueDiff::of(a.operations, b.operations),
        }
    }

    /// Whether the two states are the same.
    pub fn is_empty(&self) -> bool {
        let book = &self.entries;
        book.added.is_empty()
            && book.removed.is_empty()
            && book.changed.is_empty()
            && self.running.is_empty()
            && self.combined.is_none()
            && self.variables.is_empty()
            && self.note.is_empty()
            && self.metadata.is_empty()
            && self.timed.is_empty()
            && self.queue.is_empty()
    }
}
