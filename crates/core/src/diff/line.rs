//! [`Parting`]: where two lines part.

use std::ops::Range;

use super::pairs::gaps;
use crate::story::{Confidence, Transcript, align, common_prefix};

/// Where two lines part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parting {
    /// How they relate.
    pub relation: Relation,
    /// The last message that they have in common: its number in each.
    pub common: Option<(usize, usize)>,
    /// Whether they part at another swipe of the message that follows.
    pub swipe: bool,
    /// Messages before the last one in common that are not the same: edited, deleted or put in since. Numbers in each line; one of
    /// the two ranges can be empty.
    pub edits: Vec<(Range<usize>, Range<usize>)>,
    /// How sure this is. Without edits it is certain.
    pub confidence: Confidence,
}

/// How two lines relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// They are the same.
    Same,
    /// They end with the same message; older ones differ.
    Edited,
    /// The second goes on where the first ends.
    Ahead,
    /// The first goes on where the second ends.
    Behind,
    /// Both go on, each in its own way.
    Parted,
    /// They have nothing in common.
    Apart,
}

impl Relation {
    /// As a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Edited => "edited",
            Self::Ahead => "ahead",
            Self::Behind => "behind",
            Self::Parted => "parted",
            Self::Apart => "apart",
        }
    }
}

impl Parting {
    /// Compares messages 0..=`n` of one line with 0..=`m` of another. `swipes` tells whether a message is shown in both, with
    /// different swipes, if all before it is the same.
    pub fn of(a: &Transcript, n: usize, b: &Transcript, m: usize, swipes: &dyn Fn(usize) -> bool) -> Self {
        let shared = common_prefix(a, b).min(n + 1).min(m + 1);
        let certain = |relation, swipe| Self {
            relation,
            common: shared.checked_sub(1).map(|last| (last, last)),
            swipe,
            edits: Vec::new(),
            confidence: Confidence::Certain,
        };
        match (shared == n + 1, shared == m + 1) {
            (true, true) => return certain(Relation::Same, false),
            (true, false) => return certain(Relation::Ahead, false),
            (false, true) => return certain(Relation::Behind, false),
            (false, false) => {}
        }
        if swipes(shared) {
            return certain(Relation::Parted, true);
        }
        let cut = |line: &Transcript, last: usize| line.rows_from(0).take(last + 1).collect::<Transcript>();
        let aligned = align(&cut(a, n), &cut(b, m), shared);
        let Some((i, j)) = aligned.pairs.last().copied().filter(|(i, _)| *i >= shared) else {
            return certain(if shared == 0 { Relation::Apart } else { Relation::Parted }, false);
        };
        let relation = match (i == n, j == m) {
            (true, true) => Relation::Edited,
            (true, false) => Relation::Ahead,
            (false, true) => Relation::Behind,
            (false, false) => Relation::Parted,
        };
        Self {
            relation,
            common: Some((i, j)),
            swipe: false,
            edits: gaps(&aligned.pairs, i + 1, j + 1),
            confidence: aligned.confidence().min(Confidence::Likely),
        }
    }
}
