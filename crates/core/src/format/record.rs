//! [`ForkRecord`]: the `forklore` key that Forklore puts into the header of the forks it makes.
//!
//! SillyTavern's own forks copy their parent's metadata, this key included. So the record names its owner; where file and slug
//! are not the owner's, the chat is a copy and the record is somebody else's.

use forklore_json::Raw;

/// What the header of a fork says about its making.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ForkRecord {
    /// Version of the record's format.
    pub version: i64,
    /// `branch` or `checkpoint`.
    pub kind: String,
    /// File stem of the chat that the record was written for.
    pub owner_file: String,
    /// Slug of the chat that the record was written for.
    pub owner_slug: String,
    /// File stem of the parent at the time of forking.
    pub parent_file: String,
    /// Slug of the parent at the time of forking.
    pub parent_slug: String,
    /// The last message that came from the parent.
    pub message: usize,
    /// Name of the book that was made for the fork.
    pub book: Option<String>,
}

/// The newest format of the record that this Forklore understands.
pub const RECORD_VERSION: i64 = 1;

impl ForkRecord {
    /// Reads the record out of `chat_metadata`. `None` if there is none, or it only says that a fork is pending.
    pub fn read(metadata: Raw<'_>) -> Option<Self> {
        let raw = metadata.get("forklore")?;
        let text = |path: &[&str]| raw.at(path).and_then(Raw::as_text).map(std::borrow::Cow::into_owned);
        Some(Self {
            version: raw.get("version").and_then(Raw::as_i64)?,
            kind: text(&["kind"])?,
            owner_file: text(&["owner", "file"])?,
            owner_slug: text(&["owner", "slug"])?,
            parent_file: text(&["parent", "file"])?,
            parent_slug: text(&["parent", "slug"]).unwrap_or_default(),
            message: raw
                .at(&["parent", "message"])
                .and_then(Raw::as_i64)
                .and_then(|n| usize::try_from(n).ok())?,
            book: text(&["book", "name"]),
        })
    }

    /// Whether the record was written for the chat with this slug. A renamed chat keeps its slug, so the file alone decides nothing.
    pub fn belongs_to(&self, slug: Option<&str>) -> bool {
        slug == Some(self.owner_slug.as_str())
    }
}

/// Whether a fork is waiting for its book (see the spec, "A fork that ST saves").
pub fn is_pending(metadata: Raw<'_>) -> bool {
    metadata.at(&["forklore", "pending"]).is_some_and(Raw::is_truthy)
}
