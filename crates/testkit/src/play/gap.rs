//! [`Gap`]: what is seen of a change; [`Told`]: whether that tells that it counts.

/// The time between two sights in which a change was made.
#[derive(Debug, Clone, Default)]
pub(super) struct Gap {
    /// The last sight before
    pub(super) from: Option<i64>,
    /// The first sight after
    pub(super) to: Option<i64>,
    /// Messages of the scenes that keep these sights
    pub(super) scenes: Vec<usize>,
    /// Whether the first sight after is only the text that the next run has kept
    pub(super) prior: bool,
}

/// Whether a change counts somewhere, as far as the files tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Yes,
    No,
    Unknown,
}
