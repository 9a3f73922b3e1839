//! [`Kind`]: what can be asked of a model.

use serde::{Deserialize, Serialize};

/// What can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Where a scene ends
    Boundary,
    /// What happened in a scene, and what was learnt of whom
    Facts,
    /// Which of these names is somebody we know
    Identity,
    /// Four recaps as one
    Recap,
    /// An entry that has grown too long, shorter
    Compaction,
    /// The recap, and what was said since, as one text
    Combined,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Boundary, Self::Facts, Self::Identity, Self::Recap, Self::Compaction, Self::Combined];

    /// As a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Boundary => "boundary",
            Self::Facts => "facts",
            Self::Identity => "identity",
            Self::Recap => "recap",
            Self::Compaction => "compaction",
            Self::Combined => "combined",
        }
    }
}
