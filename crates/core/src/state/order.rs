//! [`in_order`]: the sights of a book in the order in which they were taken.
//!
//! Scenes and copies have clocks. A look is not before what its chats hold, nor after the first thing that they lack; its book may have
//! been saved later than its chats. Within that, it was when whoever looked says, but for what two clocks may differ by: scenes have
//! that of a browser. What is still open is decided by what was seen: a book goes from one state to the next in small steps, so the
//! right order is the one with the shortest way through all states.

use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::life::look_of;
use super::sight::{Content, Sight, Witness, apply};
use crate::format::book::EntryImage;

/// Of more possible neighbours only the clocks are asked.
const MANY: usize = 4_000_000;

/// So many milliseconds two clocks may differ by. What is nearer together is not ordered by them.
const SKEW: i64 = 10_000;

/// Sights in clock order; the present comes last.
pub(super) fn in_order(sights: Vec<Sight>) -> Vec<Sight> {
    let (mut looks, mut others): (Vec<Sight>, Vec<Sight>) =
        sights.into_iter().partition(|sight| matches!(sight.witness, Witness::Look(_)));
    let now = others.iter().position(|sight| matches!(sight.witness, Witness::Now)).map(|i| others.remove(i));
    others.sort_by_key(|sight| sight.time);
    if looks.is_empty() || others.is_empty() {
        looks.extend(others);
        looks.extend(now);
        return looks;
    }
    // A snapshot that holds nothing was not taken yet. It tells nothing about its place.
    let telling: Vec<usize> = (0..others.len()).filter(|i| !marks(&others[*i]).is_empty()).collect();
    let times: Vec<i64> = telling.iter().map(|i| others[*i].time).collect();
    let bounds = bounds(&looks);
    let among = |time: i64| times.partition_point(|other| *other <= time);
    let clocks = clocks(&looks, &bounds);
    let slots: Vec<(usize, usize)> = { bounds.iter().zip(&clocks) }
        .map(|((from, until), looked)| {
            let (from, until) = (among(*from), among(*until));
            let Some(looked) = looked else { return (from, until) };
            let from = among(looked.saturating_sub(SKEW)).clamp(from, until);
            (from, among(looked.saturating_add(SKEW)).clamp(from, until))
        })
        .collect();
    let open = slots.iter().any(|(from, until)| from < until);
    let places = if open && looks.len() * telling.len() <= MANY {
        let others: Vec<HashSet<u64>> = telling.iter().map(|i| marks(&others[*i])).collect();
        shortest_way(&looks, &others, now.as_ref().map(marks).as_ref(), &slots)
    } else {
        slots.iter().map(|(from, _)| *from).collect()
    };
    let mut others = others.into_iter().enumerate().peekable();
    let mut ordered: Vec<Sight> = Vec::new();
    for ((mut look, place), (floor, _)) in looks.into_iter().zip(places).zip(bounds) {
        let until = place.checked_sub(1).map_or(0, |last| telling[last] + 1);
        // What tells nothing about its place has its clock.
        while let Some((_, other)) = others.next_if(|(i, other)| *i < until || other.time <= floor) {
            ordered.push(other);
        }
        look.time = look.time.max(floor).max(ordered.last().map_or(i64::MIN, |sight| sight.time));
        ordered.push(look);
    }
    ordered.extend(others.map(|(_, other)| other));
    ordered.extend(now);
    ordered
}

/// When each look was, at the earliest and at the latest. They are in the order in which they were made.
fn bounds<S: Borrow<Sight>>(looks: &[S]) -> Vec<(i64, i64)> {
    let mut bounds: Vec<(i64, i64)> = Vec::with_capacity(looks.len());
    for sight in looks.iter().map(Borrow::borrow) {
        let (from, until) = match &sight.witness {
            Witness::Look(look) => (look.not_before, look.not_after),
            _ => (sight.time, sight.time),
        };
        bounds.push((bounds.last().map_or(from, |(earlier, _)| from.max(*earlier)), until));
    }
    let mut ceiling = i64::MAX;
    for (from, until) in bounds.iter_mut().rev() {
        ceiling = ceiling.min(*until);
        *until = ceiling.max(*from);
    }
    bounds
}

/// Whether the clocks of whoever looked contradict what chats held at looks, which are given in their order, with or without others.
pub fn is_clock_wrong(sights: &[Sight]) -> bool {
    let looks: Vec<&Sight> =
        sights.iter().filter(|sight| matches!(sight.witness, Witness::Look(_))).collect();
    let bounds = bounds(&looks);
    looks.iter().any(|sight| matches!(&sight.witness, Witness::Look(look) if look.looked.is_some()))
        && clocks(&looks, &bounds).iter().all(Option::is_none)
}

/// What the clock of whoever looked says of each look. If it contradicts one of them, it goes wrong, and says nothing.
fn clocks<S: Borrow<Sight>>(looks: &[S], bounds: &[(i64, i64)]) -> Vec<Option<i64>> {
    let looked = |sight: &Sight| match &sight.witness {
        Witness::Look(look) => look.looked,
        _ => None,
    };
    let clocks: Vec<Option<i64>> = looks.iter().map(Borrow::borrow).map(looked).collect();
    let agrees = |(clock, (from, until)): (&Option<i64>, &(i64, i64))| {
        clock.is_none_or(|clock| clock.saturating_add(SKEW) >= *from && clock.saturating_sub(SKEW) <= *until)
    };
    if clocks.iter().zip(bounds).all(agrees) { clocks } else { vec![None; looks.len()] }
}

/// How many of the others come before each look, on the shortest way through all of them. `slots` tells between which numbers.
///
/// A way goes through looks and others in one order, and its length is the number of entries that differ from one to the next, all added
/// up: the true order repeats itself least. `ways[slot]` is the shortest one that ends at the look before with `slot` of the others behind
/// it. The next look comes at once, with the same slot (`step` is their difference), or with others in between: out of the look to other
/// number `slot`, along the others, and from the last of them into this look (`arrive`). For the second kind only the cheapest departure
/// counts, so it is carried along (`left`) instead of tried for every pair; departures are measured as if they went on through all of the
/// others (`way[count - 1]`), which is taken off again on arrival. So a look costs as many steps as there are others, not their square.
fn shortest_way(
    looks: &[Sight],
    others: &[HashSet<u64>],
    now: Option<&HashSet<u64>>,
    slots: &[(usize, usize)],
) -> Vec<usize> {
    let count = others.len();
    // The way through the others alone, up to each of them
    let mut way = vec![0; count];
    for i in 1..count {
        way[i] = way[i - 1] + gap(&others[i - 1], &others[i]);
    }
    let mut book = Book::default();
    let mut from: Vec<Vec<u32>> = Vec::with_capacity(looks.len());
    let (mut ways, mut gaps): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for (n, look) in looks.iter().enumerate() {
        let mut here = gaps.clone();
        let step = book.turn(&look.content, others, &mut here);
        let (mut next, mut chosen) = (vec![FAR; count + 1], vec![0; count + 1]);
        // The best way to leave the look before towards one of the others
        let mut left = (FAR, 0);
        for slot in 0..=count {
            let arrive = || way[slot - 1] + here[slot - 1];
            let (cost, chose) = match n {
                0 if slot == 0 => (0, 0),
                0 => (arrive(), 0),
                _ if left.0 < FAR => {
                    (ways[slot] + step, slot).min((left.0 + arrive() - way[count - 1], left.1))
                }
                _ => (ways[slot] + step, slot),
            };
            if n > 0 && slot < count && ways[slot] < FAR {
                // As if it went through all of the others, so that it can be compared for every end.
                let leave = (ways[slot] + gaps[slot] + way[count - 1] - way[slot], slot);
                left = left.min(leave);
            }
            if (slots[n].0..=slots[n].1).contains(&slot) {
                (next[slot], chosen[slot]) = (cost.min(FAR), chose as u32);
            }
        }
        from.push(chosen);
        (ways, gaps) = (next, here);
    }
    let last = |slot: usize| {
        let end = now.as_ref().map_or(0, |now| match slot {
            slot if slot == count => book.gap(now),
            _ => gap(&others[count - 1], now),
        });
        let rest = if slot < count { gaps[slot] + way[count - 1] - way[slot] } else { 0 };
        (ways[slot] + rest + end, slot)
    };
    let mut slot = (0..=count).map(last).min().map_or(0, |(_, slot)| slot);
    let mut places: Vec<usize> = Vec::with_capacity(looks.len());
    for chosen in from.iter().rev() {
        places.push(slot);
        slot = chosen[slot] as usize;
    }
    places.reverse();
    places
}

/// Further than any way.
const FAR: usize = usize::MAX / 4;

fn gap(a: &HashSet<u64>, b: &HashSet<u64>) -> usize {
    a.symmetric_difference(b).count()
}

/// A book as the looks show it, one after the other.
#[derive(Default)]
struct Book {
    entries: Vec<EntryImage>,
    marks: HashMap<u64, usize>,
}

impl Book {
    /// Goes on to the next look, and tells how far that was. `gaps` is how far each of the others is from here.
    fn turn(&mut self, content: &Content, others: &[HashSet<u64>], gaps: &mut Vec<usize>) -> usize {
        if gaps.is_empty() {
            gaps.extend(others.iter().map(HashSet::len));
        }
        let mut went: HashSet<u64> = HashSet::new();
        let mut came: HashSet<u64> = HashSet::new();
        let (old, new): (Vec<u64>, Vec<u64>) = match content {
            Content::Whole(entries) => {
                let old = self.entries.iter().map(mark).collect();
                self.entries = entries.to_vec();
                (old, self.entries.iter().map(mark).collect())
            }
            Content::Changed { gone, new } => {
                let old = gone.iter().filter_map(|i| self.entries.get(*i)).map(mark).collect();
                apply(&mut self.entries, gone, new.iter().map(|(at, entry)| (*at, entry.clone())));
                (old, new.iter().map(|(_, entry)| mark(entry)).collect())
            }
        };
        for mark in old {
            if let Some(count) = self.marks.get_mut(&mark) {
                *count -= 1;
                if *count == 0 {
                    self.marks.remove(&mark);
                    went.insert(mark);
                }
            }
        }
        for mark in new {
            let count = self.marks.entry(mark).or_default();
            *count += 1;
            if *count == 1 && !went.remove(&mark) {
                came.insert(mark);
            }
        }
        for (gap, other) in gaps.iter_mut().zip(others) {
            for mark in &went {
                *gap = if other.contains(mark) { *gap + 1 } else { gap.saturating_sub(1) };
            }
            for mark in &came {
                *gap = if other.contains(mark) { gap.saturating_sub(1) } else { *gap + 1 };
            }
        }
        went.len() + came.len()
    }

    fn gap(&self, other: &HashSet<u64>) -> usize {
        let shared = self.marks.keys().filter(|mark| other.contains(mark)).count();
        self.marks.len() + other.len() - 2 * shared
    }
}

/// What tells two states of a book apart: titles, texts, switches.
fn marks(sight: &Sight) -> HashSet<u64> {
    match &sight.content {
        Content::Whole(entries) => entries.iter().map(mark).collect(),
        Content::Changed { .. } => HashSet::new(),
    }
}

fn mark(entry: &EntryImage) -> u64 {
    let mut hasher = DefaultHasher::new();
    look_of(entry).hash(&mut hasher);
    hasher.finish()
}
