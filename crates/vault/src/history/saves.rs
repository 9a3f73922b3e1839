//! What a save of a chat did to its messages: two stored versions compared, stretch by stretch.
//!
//! Versions of a chat share most of their segments. Only what they do not share is read, so that the history of a chat of hundreds of
//! megabytes costs what was done to it.

use std::collections::HashMap;

use forklore_core::format::chat::Line;
use forklore_core::story::{SavedMessage, Touch, touches};
use forklore_store::{Id, Manifest, Segment, Store};

use super::HistoryError;
use super::timeline::{Seen, Timeline};

/// What happened to the messages between two observations of a chat, each with its number after it; before it, if it is gone. `None` if
/// one of the two was not stored, or is forgotten.
pub fn compare(
    timeline: &Timeline,
    before: &Seen,
    after: &Seen,
) -> Result<Option<Vec<(Touch, usize)>>, HistoryError> {
    let (Some(old), Some(new)) = (timeline.content(before), timeline.content(after)) else { return Ok(None) };
    if old == new {
        return Ok(Some(Vec::new()));
    }
    let store = timeline.store();
    let old = Version::open(store, &old, before)?;
    let new = Version::open(store, &new, after)?;
    let starts = aligned(&old.manifest.segments, &new.manifest.segments);
    let ends = (old.manifest.segments.len(), new.manifest.segments.len());
    let mut found = Vec::new();
    let (mut i, mut j) = (0, 0);
    for (a, b) in starts.iter().copied().chain([ends]) {
        let ids = |version: &Version, range: std::ops::Range<usize>| -> Vec<Id> {
            version.manifest.segments[range].iter().map(|segment| segment.id).collect()
        };
        if ids(&old, i..a) != ids(&new, j..b) {
            let (was, is) = (old.read(store, i..a)?, new.read(store, j..b)?);
            found.extend(touches(&was.messages(), &is.messages(), starts.len() > 1));
        }
        (i, j) = (a, b);
    }
    Ok(Some(found))
}

/// Segments that begin with the same message in both, ascending in both.
fn aligned(old: &[Segment], new: &[Segment]) -> Vec<(usize, usize)> {
    // One that begins within a message means nothing alone.
    let begins = |segment: &Segment| segment.units > 0 && segment.key != 0;
    let mut places: HashMap<u64, Vec<usize>> = HashMap::with_capacity(new.len());
    for (j, segment) in new.iter().enumerate().filter(|(_, segment)| begins(segment)) {
        places.entry(segment.key).or_default().push(j);
    }
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (i, segment) in old.iter().enumerate().filter(|(_, segment)| begins(segment)) {
        let next = pairs.last().map_or(0, |(_, j)| j + 1);
        let place = places.get(&segment.key).and_then(|places| places.iter().find(|j| **j >= next));
        pairs.extend(place.map(|j| (i, *j)));
    }
    pairs
}

/// A stored version of a chat.
struct Version {
    manifest: std::sync::Arc<Manifest>,
    /// Bytes before the first message
    header: usize,
}

/// Some of its segments.
struct Stretch {
    bytes: Vec<u8>,
    /// Number of the first message
    first: usize,
}

impl Version {
    fn open(store: &Store, content: &Id, seen: &Seen) -> Result<Self, HistoryError> {
        let header = seen.chat().map(|chat| store.get(&chat.header)).transpose()?;
        Ok(Self { manifest: store.manifest(content)?, header: header.map_or(0, |line| line.len()) })
    }

    fn read(&self, store: &Store, range: std::ops::Range<usize>) -> Result<Stretch, HistoryError> {
        let before = &self.manifest.segments[..range.start];
        let start: usize = before.iter().map(|segment| segment.len as usize).sum();
        let units: usize = before.iter().map(|segment| segment.units as usize).sum();
        let mut bytes = Vec::new();
        for segment in &self.manifest.segments[range] {
            bytes.extend_from_slice(&store.get(&segment.id)?);
        }
        // What stands before the first message is the first unit, if there is anything.
        let skip = self.header.saturating_sub(start).min(bytes.len());
        bytes.drain(..skip);
        Ok(Stretch { bytes, first: units.saturating_sub(usize::from(self.header > 0)) })
    }
}

impl Stretch {
    fn messages(&self) -> Vec<SavedMessage<'_>> {
        let mut messages = Vec::new();
        for line in self.bytes.split(|byte| *byte == b'\n') {
            if let Line::Element(message) = Line::read(line) {
                messages.push(SavedMessage::new(self.first + messages.len(), message));
            }
        }
        messages
    }
}
