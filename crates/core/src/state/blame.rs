//! [`blame`]: which change each field of an entry, and each line of its text, comes from.

use std::collections::HashMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::fold::{Carry, Fold};
use super::{Known, StateEntry, Thing};
use crate::format::book::EntryImage;
use crate::format::fields::Fields;

/// An entry and where it comes from. Changes are told by their places in the list that was asked with; `None`: no known change.
#[derive(Debug, Clone)]
pub struct Blamed {
    /// The entry.
    pub entry: StateEntry,
    /// The change that made it.
    pub made: Option<usize>,
    /// For each of its fields, in their order, the last change of it.
    pub fields: Vec<(String, Option<usize>)>,
    /// For each line of its text, the change that it came with.
    pub lines: Vec<(String, Option<usize>)>,
}

/// Where each entry of a state comes from: of the book at message `at` of a line whose last message is `head`.
pub fn blame(all: &Known, state: &[StateEntry], at: usize, head: usize, carry: Carry) -> Vec<Blamed> {
    let mut traced: Vec<Option<Blamed>> = traced(all, at, head, carry).into_iter().map(Some).collect();
    let mut found: Vec<Option<Blamed>> = vec![None; state.len()];
    // What is certainly the same first, so that nothing is left for another that only goes by the same name.
    for by in [By::Thing, By::Name, By::Number, By::Title] {
        let key = |entry: &StateEntry| Key::of(entry, by);
        let mut by_key: HashMap<Key, Vec<usize>> = HashMap::new();
        for (place, one) in traced.iter().enumerate() {
            if let Some(key) = one.as_ref().and_then(|one| key(&one.entry)) {
                by_key.entry(key).or_default().push(place);
            }
        }
        for (entry, found) in state.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
            let places = key(entry).and_then(|key| by_key.get_mut(&key));
            let one = places.and_then(Vec::pop).and_then(|place| traced[place].take());
            *found = one.map(|one| blamed(entry, Some(&one), None));
        }
    }
    let all = state.iter().zip(found);
    let mut found: Vec<Blamed> =
        all.map(|(entry, found)| found.unwrap_or_else(|| blamed(entry, None, None))).collect();
    let key = |one: &Blamed| (one.entry.image.uid, one.entry.image.comment.clone(), one.made);
    found.sort_by_key(key);
    found
}

/// By what an entry is known again.
#[derive(Clone, Copy)]
enum By {
    Thing,
    /// Number and title
    Name,
    // The same number may be another's by now, and so may the same title; with another text it is another entry.
    /// Number and text
    Number,
    /// Title and text
    Title,
}

#[derive(PartialEq, Eq, Hash)]
enum Key {
    Thing(Thing),
    Name(Option<i64>, String),
    Number(Option<i64>, String),
    Title(String, String),
}

impl Key {
    fn of(entry: &StateEntry, by: By) -> Option<Self> {
        let image = &entry.image;
        Some(match by {
            By::Thing => Self::Thing(entry.thing.clone()?),
            By::Name => Self::Name(image.uid, image.comment.to_string()),
            By::Number => Self::Number(image.uid, image.content().into_owned()),
            By::Title => Self::Title(image.comment.to_string(), image.content().into_owned()),
        })
    }
}

/// Every entry that the known changes lead to.
fn traced(all: &Known, at: usize, head: usize, carry: Carry) -> Vec<Blamed> {
    let mut fold = Fold::default();
    let mut known: HashMap<usize, Blamed> = HashMap::new();
    for (n, change) in all.changes.iter().enumerate() {
        let Ok(moved) = fold.step(change, at, head, carry) else { continue };
        let before = moved.from.and_then(|place| known.remove(&place));
        if let Some((place, entry)) = moved.to.and_then(|place| Some((place, fold.at(place)?))) {
            known.insert(place, blamed(&entry.whole(&all.roll), before.as_ref(), Some(n)));
        }
    }
    known.into_values().collect()
}

/// The entry after change `n`: what it did not touch is as it was.
fn blamed(entry: &StateEntry, before: Option<&Blamed>, n: Option<usize>) -> Blamed {
    let old = before.map(|before| Fields::of(before.entry.image.raw()));
    let field = |(key, value): (forklore_json::Raw<'_>, forklore_json::Raw<'_>)| {
        let name = key.as_text()?.into_owned();
        let same = old.as_ref().and_then(|old| old.get(key)).is_some_and(|old| old.says_the_same(value));
        let since = before.filter(|_| same).and_then(|b| b.fields.iter().find(|(field, _)| *field == name));
        Some((name, since.map_or(n, |(_, since)| *since)))
    };
    Blamed {
        entry: entry.clone(),
        made: before.map_or(n, |before| before.made),
        fields: entry.image.raw().members().filter_map(field).collect(),
        lines: lines(&entry.image, before.map_or(&[], |before| &before.lines), n),
    }
}

/// Beyond this many comparisons, lines in the middle of a text that was changed count as new.
const EFFORT: usize = 4_000_000;

type Lines = [(String, Option<usize>)];

fn lines(image: &EntryImage, before: &Lines, n: Option<usize>) -> Vec<(String, Option<usize>)> {
    let content = image.content();
    let new: Vec<&str> = if content.is_empty() { Vec::new() } else { content.split('\n').collect() };
    let mut since = vec![n; new.len()];
    let start = before.iter().zip(&new).take_while(|((old, _), new)| old == *new).count();
    let rest = before[start..].iter().rev().zip(new[start..].iter().rev());
    let end = rest.take_while(|((old, _), new)| old == *new).count();
    let mut keep = |old: usize, new: usize| since[new] = before[old].1;
    (0..start).for_each(|i| keep(i, i));
    (1..=end).for_each(|i| keep(before.len() - i, new.len() - i));
    let (old, fresh) = (&before[start..before.len() - end], &new[start..new.len() - end]);
    if old.len().saturating_mul(fresh.len()) <= EFFORT {
        let old: Vec<&str> = old.iter().map(|(line, _)| line.as_str()).collect();
        for op in capture_diff_slices(Algorithm::Myers, &old, fresh) {
            if let DiffOp::Equal { old_index, new_index, len } = op {
                (0..len).for_each(|i| keep(start + old_index + i, start + new_index + i));
            }
        }
    }
    new.into_iter().map(str::to_owned).zip(since).collect()
}
