//! [`entries`]: two books, entry by entry and field by field.
//!
//! Entries are the same one if number and title are. What is left over is looked at again: the same title under another number
//! is the same entry (two forks met the same person, and each gave the next free number); the same number under another title is
//! only if the texts are alike, because forks of one book give the same numbers to different things.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use forklore_json::Kind;
use schemars::JsonSchema;
use serde::Serialize;
use unicode_segmentation::UnicodeSegmentation as _;

use super::fields::{FieldChange, fields};
use crate::format::book::EntryImage;
use crate::state::StateEntry;

/// How two entries are known to be the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Identity {
    /// By number and title.
    Both,
    /// By title: the number is another.
    Title,
    /// By number: the title is another, the text is alike.
    Uid,
}

/// An entry that both books have, and that differs.
#[derive(Debug, Clone)]
pub struct EntryChange<'a> {
    /// The entry in the first book.
    pub a: &'a StateEntry,
    /// The entry in the second book.
    pub b: &'a StateEntry,
    /// How it is known to be the same one.
    pub by: Identity,
    /// What differs.
    pub fields: Vec<FieldChange<'a>>,
}

impl EntryChange<'_> {
    /// Whether all of it probably means nothing.
    pub fn is_quiet(&self) -> bool {
        self.by == Identity::Both && self.fields.iter().all(|field| field.quiet.is_some())
    }
}

/// How one book becomes another.
#[derive(Debug, Clone, Default)]
pub struct EntriesDiff<'a> {
    /// Entries that only the second book has.
    pub added: Vec<&'a StateEntry>,
    /// Entries that only the first book has.
    pub removed: Vec<&'a StateEntry>,
    /// Entries that differ.
    pub changed: Vec<EntryChange<'a>>,
    /// Entries that are the same in both.
    pub same: Vec<&'a StateEntry>,
}

/// Compares two books.
pub fn entries<'a>(a: &'a [StateEntry], b: &'a [StateEntry]) -> EntriesDiff<'a> {
    let pairing = Pairing::of(a, b);
    let mut diff = EntriesDiff::default();
    for (i, pair) in pairing.pair.iter().enumerate() {
        let a = &a[i];
        let Some((j, by)) = *pair else {
            diff.removed.push(a);
            continue;
        };
        let b = &b[j];
        let inferred = |name: &str| [a, b].iter().any(|entry| entry.inferred.iter().any(|f| f == name));
        let fields = fields(a.image.raw(), b.image.raw(), &inferred);
        if fields.is_empty() && by == Identity::Both {
            diff.same.push(b);
        } else {
            diff.changed.push(EntryChange { a, b, by, fields });
        }
    }
    diff.added.extend(b.iter().zip(&pairing.taken).filter(|(_, taken)| !**taken).map(|(entry, _)| entry));
    let key = |entry: &StateEntry| (entry.image.uid, entry.image.comment.clone());
    diff.added.sort_by_key(|entry| key(entry));
    diff.removed.sort_by_key(|entry| key(entry));
    diff.changed.sort_by_key(|change| key(change.b));
    diff
}

/// For each entry of one book its counterpart in another, and how it is known.
pub(crate) fn matched(a: &[StateEntry], b: &[StateEntry]) -> Vec<Option<(usize, Identity)>> {
    Pairing::of(a, b).pair
}

struct Pairing<'a> {
    a: &'a [StateEntry],
    b: &'a [StateEntry],
    /// For each entry of `a`, its counterpart.
    pair: Vec<Option<(usize, Identity)>>,
    /// Which entries of `b` are counterparts.
    taken: Vec<bool>,
}

impl<'a> Pairing<'a> {
    fn of(a: &'a [StateEntry], b: &'a [StateEntry]) -> Self {
        let mut pairing = Self { a, b, pair: vec![None; a.len()], taken: vec![false; b.len()] };
        pairing.by_both();
        let title = |entry: &'a StateEntry| Some(&*entry.image.comment).filter(|title| !title.is_empty());
        pairing.by_one(Identity::Title, title, |_, _| true);
        pairing.by_one(Identity::Uid, |entry| entry.image.uid, |a, b| alike(&a.content(), &b.content()));
        pairing
    }

    fn take(&mut self, i: usize, j: usize, by: Identity) {
        self.pair[i] = Some((j, by));
        self.taken[j] = true;
    }

    fn by_both(&mut self) {
        fn name(entry: &StateEntry) -> (Option<i64>, &str) {
            (entry.image.uid, &entry.image.comment)
        }
        let mut there: HashMap<_, Vec<usize>> = HashMap::with_capacity(self.b.len());
        for (j, entry) in self.b.iter().enumerate().rev() {
            there.entry(name(entry)).or_default().push(j);
        }
        let names: HashSet<_> = self.a.iter().map(name).collect();
        let odd = |entry: &StateEntry| !has_fields(&entry.image);
        if there.len() < self.b.len() || names.len() < self.a.len() || self.a.iter().any(odd) {
            self.by_bytes();
        }
        for (i, entry) in self.a.iter().enumerate() {
            if self.pair[i].is_some() || odd(entry) {
                continue;
            }
            let Some(places) = there.get_mut(&name(entry)) else { continue };
            let free = |j: &usize| !self.taken[*j] && !odd(&self.b[*j]);
            if let Some(j) = std::iter::from_fn(|| places.pop()).find(free) {
                self.take(i, j, Identity::Both);
            }
        }
    }

    /// Where several go by one name, those that are the same byte for byte find each other first. So do those without fields.
    fn by_bytes(&mut self) {
        let mut there: HashMap<&EntryImage, Vec<usize>> = HashMap::with_capacity(self.b.len());
        for (j, entry) in self.b.iter().enumerate().rev() {
            there.entry(&entry.image).or_default().push(j);
        }
        for (i, entry) in self.a.iter().enumerate() {
            if let Some(j) = there.get_mut(&entry.image).and_then(Vec::pop) {
                self.take(i, j, Identity::Both);
            }
        }
    }

    /// Pairs what is left over where exactly one entry on each side goes by a name, and `fits` agrees.
    fn by_one<K: Hash + Eq>(
        &mut self,
        by: Identity,
        name: impl Fn(&'a StateEntry) -> Option<K>,
        fits: impl Fn(&EntryImage, &EntryImage) -> bool,
    ) {
        let (a, b) = (self.a, self.b);
        let mut places: HashMap<K, (Vec<usize>, Vec<usize>)> = HashMap::new();
        for i in (0..a.len()).filter(|i| self.pair[*i].is_none() && has_fields(&a[*i].image)) {
            if let Some(name) = name(&a[i]) {
                places.entry(name).or_default().0.push(i);
            }
        }
        for j in (0..b.len()).filter(|j| !self.taken[*j] && has_fields(&b[*j].image)) {
            if let Some(found) = name(&b[j]).and_then(|name| places.get_mut(&name)) {
                found.1.push(j);
            }
        }
        for found in places.values() {
            if let ([i], [j]) = (&found.0[..], &found.1[..])
                && fits(&a[*i].image, &b[*j].image)
            {
                self.take(*i, *j, by);
            }
        }
    }
}

/// Whether an entry can be compared field by field. A book can hold anything where an entry should be.
fn has_fields(entry: &EntryImage) -> bool {
    entry.raw().kind() == Kind::Object
}

/// Whether two texts have at least half of their words in common.
pub(crate) fn alike(a: &str, b: &str) -> bool {
    let mut words: HashMap<&str, usize> = HashMap::new();
    let (mut all, mut both) = (0, 0);
    for word in a.unicode_words() {
        *words.entry(word).or_default() += 1;
        all += 1;
    }
    for word in b.unicode_words() {
        all += 1;
        if let Some(left) = words.get_mut(word).filter(|left| **left > 0) {
            *left -= 1;
            both += 2;
        }
    }
    all > 0 && both * 2 >= all
}
