//! [`pairs`]: which elements of two sequences correspond, with a bound on the work.
//!
//! The comparing itself is `similar`'s (Myers' algorithm). It is exact, and quadratic where two long sequences have little in
//! common; lorebooks come from strangers, and can be made to be so. So long sequences are first cut at elements that stand
//! exactly once on both sides, and what is still long then is taken for replaced.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// How much work may still be done. Counted in steps and not in time, so that the same states always give the same diff.
#[derive(Debug, Clone)]
pub struct Effort {
    left: usize,
}

impl Default for Effort {
    /// Enough for thousands of changed entries; a second or two if somebody has made them to be slow.
    fn default() -> Self {
        Self { left: 400_000_000 }
    }
}

/// Two sequences are compared exactly if the product of their lengths is at most this.
const EXACT: usize = 1_000_000;

/// How often what lies between two anchors is cut at anchors of its own.
const DEPTH: usize = 16;

/// Pairs of elements that correspond, ascending in both sequences.
pub(crate) fn pairs<T: Hash + Eq>(a: &[T], b: &[T], effort: &mut Effort) -> Vec<(usize, usize)> {
    let mut numbers: HashMap<&T, usize> = HashMap::new();
    let mut number = |element| {
        let next = numbers.len();
        *numbers.entry(element).or_insert(next)
    };
    let a: Vec<usize> = a.iter().map(&mut number).collect();
    let b: Vec<usize> = b.iter().map(&mut number).collect();
    let mut search = Search { a: &a, b: &b, effort, found: Vec::new() };
    search.within(0..a.len(), 0..b.len(), DEPTH);
    search.found
}

/// What lies between pairs: in each element the two ranges that have no counterpart, at least one of them not empty.
pub(super) fn gaps(pairs: &[(usize, usize)], a: usize, b: usize) -> Vec<(Range<usize>, Range<usize>)> {
    let (mut gaps, mut from) = (Vec::new(), (0, 0));
    for end in pairs.iter().copied().chain([(a, b)]) {
        if from.0 < end.0 || from.1 < end.1 {
            gaps.push((from.0..end.0, from.1..end.1));
        }
        from = (end.0 + 1, end.1 + 1);
    }
    gaps
}

struct Search<'a> {
    a: &'a [usize],
    b: &'a [usize],
    effort: &'a mut Effort,
    found: Vec<(usize, usize)>,
}

impl Search<'_> {
    fn within(&mut self, mut a: Range<usize>, mut b: Range<usize>, depth: usize) {
        while !a.is_empty() && !b.is_empty() && self.a[a.start] == self.b[b.start] {
            self.found.push((a.start, b.start));
            (a.start, b.start) = (a.start + 1, b.start + 1);
        }
        let (a_end, b_end) = (a.end, b.end);
        while !a.is_empty() && !b.is_empty() && self.a[a.end - 1] == self.b[b.end - 1] {
            (a.end, b.end) = (a.end - 1, b.end - 1);
        }
        if !a.is_empty() && !b.is_empty() {
            self.middle(a.clone(), b.clone(), depth);
        }
        self.found.extend((a.end..a_end).zip(b.end..b_end));
    }

    fn middle(&mut self, a: Range<usize>, b: Range<usize>, depth: usize) {
        let mut times: HashMap<usize, (usize, usize)> = HashMap::new();
        a.clone().for_each(|i| times.entry(self.a[i]).or_default().0 += 1);
        b.clone().for_each(|i| times.entry(self.b[i]).or_default().1 += 1);
        // What stands on one side only corresponds to nothing.
        let both = |id: &usize| times.get(id).is_some_and(|(a, b)| *a > 0 && *b > 0);
        let ours: Vec<usize> = a.clone().filter(|i| both(&self.a[*i])).collect();
        let theirs: Vec<usize> = b.clone().filter(|i| both(&self.b[*i])).collect();
        if ours.is_empty() {
            return;
        }
        if ours.len().saturating_mul(theirs.len()) <= EXACT && self.effort.left > 0 {
            let of = |sequence: &[usize], places: &[usize]| -> Vec<usize> {
                places.iter().map(|i| sequence[*i]).collect()
            };
            let ops = capture_diff_slices(Algorithm::Myers, &of(self.a, &ours), &of(self.b, &theirs));
            let before = self.found.len();
            for op in ops {
                if let DiffOp::Equal { old_index, new_index, len } = op {
                    self.found.extend((0..len).map(|k| (ours[old_index + k], theirs[new_index + k])));
                }
            }
            let (all, same) = (ours.len() + theirs.len(), 2 * (self.found.len() - before));
            self.effort.left = self.effort.left.saturating_sub(all * (1 + all - same));
            return;
        }
        let once = |id: &usize| times.get(id) == Some(&(1, 1));
        let places: HashMap<usize, usize> =
            theirs.iter().filter(|j| once(&self.b[**j])).map(|j| (self.b[*j], *j)).collect();
        let anchors: Vec<(usize, usize)> =
            ours.iter().filter_map(|i| Some((*i, *places.get(&self.a[*i])?))).collect();
        let anchors = crate::story::longest_ascending(&anchors);
        if anchors.is_empty() || depth == 0 {
            return;
        }
        let mut from = (a.start, b.start);
        for anchor in &anchors {
            self.within(from.0..anchor.0, from.1..anchor.1, depth - 1);
            self.found.push(*anchor);
            from = (anchor.0 + 1, anchor.1 + 1);
        }
        self.within(from.0..a.end, from.1..b.end, depth - 1);
    }
}
