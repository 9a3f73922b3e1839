//! The difference between two versions of an object: what to copy from the old one, and what to put in between.
//!
//! Versions of a segment are nearly the same, and in the same order: a word here, a number there, a message at the end. So the two
//! are walked side by side. Where they part, the next place where they agree again is looked for close by, and only then
//! anywhere.

use crate::bytes::{Out as _, Reader};

/// A copy is at least so long, or not worth its own description.
const SHORTEST: usize = 16;

/// What is found anywhere is at least so long: it must not be chance.
const FAR: usize = 24;

/// An agreement of this length is believed. Shorter ones can be what all messages have in common.
const SURE: usize = 64;

/// How far away agreement is looked for at first, and then; and what is good enough not to look further. The first is for words and
/// numbers that were changed, where what is next is right, however short. The second is for what was put in or taken out.
const NEAR: [(usize, usize); 2] = [(64, 32), (768, 8 * SURE)];

/// How far ahead something better is looked for anywhere if something was found nearby.
const AHEAD: usize = 2 << 10;

/// Copies `copy` bytes, after inserting some and going forward (or back) in the old version by `skip`.
#[derive(Debug, Clone, Copy)]
struct DeltaStep {
    insert: usize,
    skip: i64,
    copy: usize,
}

/// What makes a new version out of an old one.
#[derive(Debug, Default)]
pub(crate) struct Delta {
    steps: Vec<DeltaStep>,
    inserted: Vec<u8>,
    /// Where the last copy ended in the old version.
    end: usize,
}

impl Delta {
    /// The difference between two versions; `None` if they do not have much in common.
    pub(crate) fn between(old: &[u8], new: &[u8]) -> Option<Self> {
        let ends_alike = common_suffix(old, new);
        // What the ends have in common is one copy. The rest can still refer to all of the old version.
        let (body, end) = new.split_at(new.len() - ends_alike);
        let mut delta = Self::default();
        let mut search = Search { old, new: body, blocks: None, patience: 4 * body.len() + AHEAD };
        // Up to `done` the new version is described; it agrees with the old one from `there` and `here` on, if anywhere.
        let (mut done, mut here, mut there) = (0, 0, 0);
        while here < body.len() {
            let run = common_prefix(old.get(there..).unwrap_or_default(), &body[here..]);
            if run >= SHORTEST || (run > 0 && here == 0) || (run > 0 && here + run == body.len()) {
                delta.push(&body[done..here], there, run);
                (here, there) = (here + run, there + run);
                done = here;
                continue;
            }
            let Some(found) = search.next(there, done, here) else { break };
            (there, here) = (found.there, found.here);
            if delta.inserted.len() + (here - done) > new.len() / 2 {
                return None;
            }
        }
        if !end.is_empty() {
            delta.push(&body[done..], old.len() - end.len(), end.len());
        } else if done < body.len() {
            delta.push(&body[done..], delta.end, 0);
        }
        (delta.inserted.len() <= new.len() / 2).then_some(delta)
    }

    fn push(&mut self, insert: &[u8], from: usize, copy: usize) {
        self.inserted.extend_from_slice(insert);
        self.steps.push(DeltaStep { insert: insert.len(), skip: from as i64 - self.end as i64, copy });
        self.end = from + copy;
    }

    /// Whether it is a matter of small changes, as opposed to something new: that is better compressed together with what is there.
    pub(crate) fn is_fine(&self) -> bool {
        self.inserted.len() <= 192 || self.inserted.len() / self.steps.len().max(1) <= 32
    }

    /// Its bytes: numbers of one kind together, which compresses better.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(8 + 4 * self.steps.len() + self.inserted.len());
        out.number(self.steps.len() as u64);
        self.steps.iter().for_each(|step| out.number(step.insert as u64));
        // The sign goes last, so that small numbers stay small.
        self.steps.iter().for_each(|step| out.number((step.skip << 1 ^ step.skip >> 63) as u64));
        self.steps.iter().for_each(|step| out.number(step.copy as u64));
        out.extend_from_slice(&self.inserted);
        out
    }
}

/// The new version, which has `len` bytes; `None` if that cannot be.
pub(crate) fn apply(old: &[u8], delta: &[u8], len: usize) -> Option<Vec<u8>> {
    let mut reader = Reader(delta);
    let count = reader.count()?;
    let mut column = || (0..count).map(|_| reader.number()).collect::<Option<Vec<u64>>>();
    let (inserts, skips, copies) = (column()?, column()?, column()?);
    let mut new = Vec::with_capacity(len);
    let mut at = 0i64;
    for ((insert, skip), copy) in inserts.into_iter().zip(skips).zip(copies) {
        new.extend_from_slice(reader.take(usize::try_from(insert).ok()?)?);
        let skip = (skip >> 1) as i64 ^ -((skip & 1) as i64);
        let start = at.checked_add(skip)?;
        at = start.checked_add(i64::try_from(copy).ok()?)?;
        new.extend_from_slice(old.get(usize::try_from(start).ok()?..usize::try_from(at).ok()?)?);
        if new.len() > len {
            return None;
        }
    }
    (reader.is_empty() && new.len() == len).then_some(new)
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let most = a.len().min(b.len());
    let mut at = 0;
    while let (Some(x), Some(y)) = (word(&a[..most], at), word(&b[..most], at)) {
        if x != y {
            return at + ((x ^ y).trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at + a[at..most].iter().zip(&b[at..most]).take_while(|(x, y)| x == y).count()
}

fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let most = a.len().min(b.len());
    let (a, b) = (&a[a.len() - most..], &b[b.len() - most..]);
    let mut at = most;
    while at >= 8 && word(a, at - 8) == word(b, at - 8) {
        at -= 8;
    }
    while at > 0 && a[at - 1] == b[at - 1] {
        at -= 1;
    }
    most - at
}

/// A place where both versions agree.
#[derive(Debug, Clone, Copy)]
struct Agreement {
    there: usize,
    here: usize,
    run: usize,
}

impl Agreement {
    /// As long as it can be made backwards, but not over what comes before `from_there` and `from_here`.
    fn extended(self, old: &[u8], new: &[u8], from_there: usize, from_here: usize) -> Self {
        let back = common_suffix(&old[from_there..self.there], &new[from_here..self.here]);
        Self { there: self.there - back, here: self.here - back, run: self.run + back }
    }

    /// The one that covers more than it leaves out.
    fn better(one: Option<Self>, other: Self, from_here: usize) -> Option<Self> {
        let gain = |a: &Self| a.run as i64 - (a.here as i64 - from_here as i64);
        one.filter(|one| gain(one) >= gain(&other)).or(Some(other))
    }
}

/// Looks for places where both versions agree again.
struct Search<'a> {
    old: &'a [u8],
    new: &'a [u8],
    blocks: Option<Blocks>,
    /// How many more places may be looked at for the sake of something that is not nearby.
    patience: usize,
}

impl Search<'_> {
    /// Where both agree again, after they have parted `there` and `here`.
    fn next(&mut self, there: usize, done: usize, here: usize) -> Option<Agreement> {
        let [(reach, enough), (further, long_enough)] = NEAR;
        if let Some(found) = self.near(there, here, reach, enough) {
            return Some(found);
        }
        let best = self.near(there, here, further, long_enough);
        if best.is_some_and(|best| best.run >= SURE || best.here + best.run == self.new.len()) {
            return best;
        }
        let until = if best.is_some() { (here + AHEAD).min(self.new.len()) } else { self.new.len() };
        if self.patience < until - here {
            return best;
        }
        let far = self.far(done, here, until);
        if far.is_some_and(|far| best.is_none() || far.run >= SURE) { far } else { best }
    }

    /// The longest agreement at most `reach` bytes from here in both, or the first one that is long enough.
    fn near(&self, there: usize, here: usize, reach: usize, enough: usize) -> Option<Agreement> {
        const BITS: u32 = 10;
        let (old, new) = (self.old, self.new);
        let slot = |word: u64| (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BITS)) as usize;
        let mut table = [0u16; 1 << BITS];
        // The nearest is entered last.
        for at in (0..reach.min(old.len().saturating_sub(there + 7))).rev() {
            table[slot(word(old, there + at)?)] = at as u16 + 1;
        }
        let mut best: Option<Agreement> = None;
        let mut at = 0;
        while at < reach.min(new.len().saturating_sub(here + 7)) {
            let found = table[slot(word(new, here + at)?)] as usize;
            if found > 0 {
                let place = there + found - 1;
                let run = common_prefix(&old[place..], &new[here + at..]);
                if run >= SHORTEST || (run > 0 && here + at + run == new.len()) {
                    let agreement =
                        Agreement { there: place, here: here + at, run }.extended(old, new, there, here);
                    best = Agreement::better(best, agreement, here);
                    if run >= enough {
                        break;
                    }
                    // What begins within it is shorter.
                    at += run - SHORTEST.min(run);
                }
            }
            at += 1;
        }
        best
    }

    /// The longest agreement from here on `until`, with the old version anywhere, or the first one that is long enough.
    fn far(&mut self, done: usize, here: usize, until: usize) -> Option<Agreement> {
        let blocks = self.blocks.get_or_insert_with(|| Blocks::of(self.old));
        let mut best: Option<Agreement> = None;
        for at in here..until {
            self.patience = self.patience.saturating_sub(1);
            let Some(found) = blocks.find(self.new, at) else { continue };
            let run = common_prefix(&self.old[found..], &self.new[at..]);
            let agreement = Agreement { there: found, here: at, run }.extended(self.old, self.new, 0, done);
            if agreement.run >= FAR {
                best = Agreement::better(best, agreement, here);
            }
            if agreement.run >= SURE {
                break;
            }
        }
        best
    }
}

/// Where in the old version blocks of 16 bytes are.
struct Blocks {
    slots: Vec<u32>,
    bits: u32,
}

impl Blocks {
    fn of(old: &[u8]) -> Self {
        let bits = (old.len() / 16).max(2).ilog2() + 2;
        let mut blocks = Self { slots: vec![0; 1 << bits], bits };
        // The first of several that are alike is entered last.
        for at in (0..old.len().saturating_sub(15)).step_by(16).rev() {
            if let Some(slot) = blocks.slot(old, at) {
                blocks.slots[slot] = at as u32 + 1;
            }
        }
        blocks
    }

    fn slot(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let mixed =
            word(bytes, at)?.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ word(bytes, at + 8)?.rotate_left(29);
        Some((mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> (64 - self.bits)) as usize)
    }

    /// Where the old version may have the block that is here in the new one.
    fn find(&self, new: &[u8], at: usize) -> Option<usize> {
        (self.slots[self.slot(new, at)?] as usize).checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn round(old: &[u8], new: &[u8]) -> Option<usize> {
        let delta = Delta::between(old, new)?.encode();
        assert_eq!(apply(old, &delta, new.len()).as_deref(), Some(new));
        Some(delta.len())
    }

    fn lines(count: usize) -> String {
        let mut state = 1u64;
        (0..count)
            .map(|n| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(n as u64 | 1);
                format!(
                    "{{\"n\":{n},\"is_system\":false,\"mes\":\"{state:x} and {:x}\"}}\n",
                    state.rotate_left(17)
                )
            })
            .collect()
    }

    #[test]
    fn small_changes_are_small() {
        let old = lines(500);
        assert!(round(old.as_bytes(), old.as_bytes()).unwrap() < 8);
        let flipped = old.replacen("\"n\":77,\"is_system\":false", "\"n\":77,\"is_system\":true", 1);
        assert!(round(old.as_bytes(), flipped.as_bytes()).unwrap() < 20);
        let everywhere = old.replace("\"mes\"", "\"extra\":{},\"mes\"");
        assert!(round(old.as_bytes(), everywhere.as_bytes()).unwrap() < 500 * 16);
        let spelled = old.replace(" and ", " \\u0061nd ");
        assert!(round(old.as_bytes(), spelled.as_bytes()).unwrap() < 500 * 10);
        // What was moved is described somehow, or left to the compressor.
        let (first, second) = old.split_at(old.len() / 3);
        round(old.as_bytes(), format!("{second}{first}").as_bytes());
        let cut = [&old[..1000], &old[9000..]].concat();
        assert!(round(old.as_bytes(), cut.as_bytes()).unwrap() < 40);
    }

    #[test]
    fn what_has_nothing_in_common_has_no_difference() {
        assert!(
            round(lines(100).as_bytes(), lines(300).replace("is_system", "x").to_uppercase().as_bytes())
                .is_none()
        );
        assert!(round(b"", b"something").is_none());
        assert_eq!(round(b"something", b""), Some(1));
        assert!(round(b"", b"").is_some());
    }

    proptest! {
        #[test]
        fn properties_any_change_can_be_described(
            old in proptest::collection::vec(0u8..4, 0..400),
            edits in proptest::collection::vec((0usize..400, 0usize..30, proptest::collection::vec(0u8..4, 0..30)), 0..8),
        ) {
            let mut new = old.clone();
            for (at, cut, put) in edits {
                let at = at.min(new.len());
                let cut = (at + cut).min(new.len());
                new.splice(at..cut, put);
            }
            round(&old, &new);
        }

        #[test]
        fn properties_nonsense_is_refused(old in proptest::collection::vec(any::<u8>(), 0..60), delta in proptest::collection::vec(any::<u8>(), 0..60), len in 0usize..100) {
            if let Some(new) = apply(&old, &delta, len) {
                prop_assert_eq!(new.len(), len);
            }
        }
    }
}
