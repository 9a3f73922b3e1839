//! [`View`]: which part of a pack a chat is. A fork is the first messages of its parent, moved; a link makes one line longer.

use forklore_core::story::{Row, Transcript};
use serde::{Deserialize, Serialize};

use crate::read::snapshots::{Snapshots, StoredSighting};

/// A pack by its hash. All zeros: the pack is inside the entry.
pub(crate) type PackId = [u8; 16];
pub(super) const INSIDE: PackId = [0; 16];

/// Which part of a pack a chat is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    pub(super) pack: PackId,
    /// So many of its rows
    pub(super) rows: usize,
    /// So many of its states of the book
    pub(super) sightings: usize,
    /// So many of its entries
    pub(super) images: usize,
    /// From which message on lines start so many bytes later than in the pack; ascending
    moved: Vec<(usize, i64)>,
    /// Lines that are of another length than in the pack; ascending
    lengths: Vec<(usize, u32)>,
}

impl View {
    /// All of the pack `pack`.
    pub(super) fn whole(pack: PackId, rows: usize, sightings: usize, images: usize) -> Self {
        Self { pack, rows, sightings, images, moved: Vec::new(), lengths: Vec::new() }
    }

    /// All of what is known of a chat, and not remembered where others could refer to it.
    pub(crate) fn of(transcript: &Transcript, snapshots: &Snapshots) -> Self {
        Self::whole(INSIDE, transcript.len(), snapshots.sightings.len(), snapshots.images.len())
    }

    /// The same in a pack that it became.
    pub(super) fn in_pack(self, pack: PackId) -> Self {
        Self { pack, ..self }
    }

    /// Whether it is a part of a pack that others can refer to.
    pub(crate) fn is_remembered(&self) -> bool {
        self.pack != INSIDE
    }

    /// This part of what is known of a chat.
    pub(crate) fn part_of(&self, transcript: &Transcript, snapshots: &Snapshots) -> (Transcript, Snapshots) {
        let rows = transcript.rows_from(0).take(self.rows).enumerate();
        let images = snapshots.images.first(self.images);
        let sightings = snapshots.sightings.first(self.sightings);
        (rows.map(|(n, row)| self.row(n, row)).collect(), Snapshots { images, sightings })
    }

    /// The chat up to message `at`, whose lines after byte `was` come after byte `is` now. `sightings` are all of the chat's.
    pub(crate) fn fork(&self, at: usize, was: u64, is: u64, sightings: &[StoredSighting]) -> Self {
        let kept = sightings.iter().take_while(|sighting| sighting.message <= at);
        let mut fork = Self { rows: self.rows.min(at + 1), sightings: kept.clone().count(), ..self.clone() };
        // Entries stand in the order in which scenes first showed them.
        fork.images = kept.filter_map(|s| s.entries.as_ref()).flatten().max().map_or(0, |n| *n as usize + 1);
        fork.moved.retain(|(from, _)| *from <= at);
        fork.lengths.retain(|(row, _)| *row <= at);
        fork.move_from(0, is.cast_signed().wrapping_sub(was.cast_signed()));
        fork
    }

    /// The chat with the line of message `at` grown, by `by` bytes, to `len`.
    pub(crate) fn linked(&self, at: usize, by: i64, len: u32) -> Self {
        let mut linked = self.clone();
        linked.move_from(at + 1, by);
        match linked.lengths.binary_search_by_key(&at, |(row, _)| *row) {
            Ok(i) => linked.lengths[i].1 = len,
            Err(i) => linked.lengths.insert(i, (at, len)),
        }
        linked
    }

    fn move_from(&mut self, row: usize, by: i64) {
        let i = self.moved.partition_point(|(from, _)| *from < row);
        if self.moved.get(i).is_none_or(|(from, _)| *from != row) {
            let so_far = i.checked_sub(1).map_or(0, |before| self.moved[before].1);
            self.moved.insert(i, (row, so_far));
        }
        self.moved[i..].iter_mut().for_each(|(_, moved)| *moved += by);
    }

    /// A row of the pack as it is in the chat.
    pub(super) fn row(&self, n: usize, mut row: Row) -> Row {
        if let Some(i) = self.moved.partition_point(|(from, _)| *from <= n).checked_sub(1) {
            row.start = row.start.saturating_add_signed(self.moved[i].1);
        }
        if let Ok(i) = self.lengths.binary_search_by_key(&n, |(row, _)| *row) {
            row.len = self.lengths[i].1;
        }
        row
    }
}
