//! Comparing lines: [`common_prefix`] by moments, [`align`] by message identities.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::moment::Transcript;

/// How many messages two chats share from the start. Moments are chained, so a binary search finds it.
pub fn common_prefix(a: &Transcript, b: &Transcript) -> usize {
    let (mut same, mut end) = (0, a.len().min(b.len()));
    while same < end {
        let middle = same + (end - same) / 2;
        if a.moment(middle) == b.moment(middle) {
            same = middle + 1;
        } else {
            end = middle;
        }
    }
    same
}

/// How sure a statement about lineage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Confidence {
    /// Some messages agree, and nothing contradicts
    Guess,
    /// Most messages agree; the rest was edited or deleted since
    Likely,
    /// Recorded, or the whole prefix is the same
    Certain,
}

impl Confidence {
    /// As a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Guess => "guess",
            Self::Likely => "likely",
            Self::Certain => "certain",
        }
    }
}

/// How the messages of two transcripts correspond, where one was edited or thinned since they parted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Alignment {
    /// Pairs (message in the first, message in the second), ascending in both.
    pub pairs: Vec<(usize, usize)>,
}

impl Alignment {
    /// The last message of the first transcript that the second has too.
    pub fn last(&self) -> Option<usize> {
        self.pairs.last().map(|pair| pair.0)
    }

    /// How sure it is that the messages up to the last pair are the same story.
    pub fn confidence(&self) -> Confidence {
        let Some((a, b)) = self.pairs.last() else { return Confidence::Guess };
        let matched = self.pairs.len();
        if matched == a + 1 && matched == b + 1 {
            Confidence::Certain
        } else if matched * 2 > a + 1 {
            Confidence::Likely
        } else {
            Confidence::Guess
        }
    }
}

/// Aligns two transcripts by message identity: the longest ascending run of messages that stand exactly once in each. The first
/// `shared` messages are known to be the same.
pub fn align(a: &Transcript, b: &Transcript, shared: usize) -> Alignment {
    let mut places: HashMap<u64, Option<usize>> = HashMap::with_capacity(b.len() - shared);
    for (i, row) in (shared..).zip(b.rows_from(shared)) {
        places.entry(row.id.0).and_modify(|place| *place = None).or_insert(Some(i));
    }
    // An identity that stands twice in `a` is dropped by its second use finding the same place taken.
    let pairs: Vec<(usize, usize)> = (shared..)
        .zip(a.rows_from(shared))
        .filter_map(|(i, row)| Some((i, (*places.get(&row.id.0)?)?)))
        .collect();
    Alignment { pairs: (0..shared).map(|i| (i, i)).chain(longest_ascending(&pairs)).collect() }
}

/// The longest run of pairs that ascends in both numbers (patience sorting).
pub(crate) fn longest_ascending(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut tails: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; pairs.len()];
    for (i, pair) in pairs.iter().enumerate() {
        let at = tails.partition_point(|tail| pairs[*tail].1 < pair.1);
        before[i] = at.checked_sub(1).map(|at| tails[at]);
        if at == tails.len() {
            tails.push(i);
        } else {
            tails[at] = i;
        }
    }
    let mut run = Vec::with_capacity(tails.len());
    let mut next = tails.last().copied();
    while let Some(i) = next {
        run.push(pairs[i]);
        next = before[i];
    }
    run.reverse();
    run
}
