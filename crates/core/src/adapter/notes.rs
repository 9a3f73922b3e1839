//! What extensions note in a chat's metadata when a fork is made: the book that goes with it ([`BoundBook`]), work that stays with the
//! parent ([`Waiting`]), what it was like when it was made ([`CheckpointState`]).

use crate::format::book::EntryImage;
use crate::format::revision::Revision;

/// A book that a chat is bound to.
#[derive(Debug, Clone, Copy)]
pub struct BoundBook<'a> {
    /// Its name
    pub name: &'a str,
    /// Its entries
    pub entries: &'a [EntryImage],
}

/// Work that waits in a header: it is the parent's. The fork starts without.
#[derive(Debug, Clone, Default)]
pub struct Waiting {
    /// What takes it out of the header
    pub revisions: Vec<Revision>,
    /// The work, by the names that Forklore's record keeps it under
    pub kept: Vec<(&'static str, Vec<u8>)>,
}

/// What a fork was like when it was made, to be compared with when it is entered.
#[derive(Debug, Clone)]
pub struct CheckpointState<'a> {
    /// When, in milliseconds since 1970
    pub now: i64,
    /// The last message
    pub message: usize,
    /// Name of the fork
    pub chat: &'a str,
    /// Whether nothing was waiting in the queue
    pub queue_was_empty: bool,
    /// Whether the last message ends a scene that is shown
    pub has_scene_break: bool,
    /// Title of that scene
    pub scene_name: Option<&'a str>,
    /// Its recap as stored
    pub scene_recap: Option<&'a [u8]>,
    /// The fork's book
    pub book: Option<&'a str>,
    /// How many entries it has
    pub entries: usize,
    /// Whether it was worked out from what scenes tell
    pub reconstructed: bool,
    /// The parent's book
    pub original_book: Option<&'a str>,
    /// What the user was warned of
    pub warnings: &'a [String],
}
