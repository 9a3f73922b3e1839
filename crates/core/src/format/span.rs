//! [`Span`]: where something is in the bytes of a file.

use std::ops::Range;

use forklore_json::Raw;

/// Where something is: half the size of a range, because a book can have a million entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    start: u32,
    len: u32,
}

impl Span {
    /// What is not there.
    pub(super) const NONE: Self = Self { start: 0, len: u32::MAX };

    /// A range, if it is not too far.
    pub(super) fn new(range: Range<usize>) -> Option<Self> {
        let len = u32::try_from(range.len()).ok()?;
        Some(Self { start: u32::try_from(range.start).ok()?, len })
    }

    /// Where a part of some bytes is.
    pub(super) fn of(part: Raw<'_>, bytes: &[u8]) -> Option<Self> {
        Self::new(part.range_in(bytes)?)
    }

    /// The bytes there, among those that it was found in.
    pub(super) fn slice(self, bytes: &[u8]) -> Option<&[u8]> {
        let start = self.start as usize;
        (self != Self::NONE).then(|| &bytes[start..start + self.len as usize])
    }

    /// What is there.
    pub(super) fn get(self, bytes: &[u8]) -> Option<Raw<'_>> {
        self.slice(bytes).map(Raw::trust)
    }
}
