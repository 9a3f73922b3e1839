//! Bringing two lines of a story together: [`merge`] takes what B's lorebook has become since the two parted into A's.
//!
//! [`Sides`] are the three states: what both had, what A has, what B has. [`Merged`] is what comes of it: the entries, what was [`Taken`]
//! over, [`Conflict`]s for what both have changed in different ways, and what was [`Left`]. Nothing of either side is lost: it is in one of
//! the four. [`TextMerge`] brings texts together. [`pick()`] takes over one entry alone.
//!
//! An entry that only one side changed is that side's, byte for byte; one that both changed is A's with those fields spliced in that
//! B changed.

mod conflict;
mod fields;
mod pick;
mod registries;
mod text;

use std::collections::{HashMap, HashSet};

use forklore_json::Kind;

pub use conflict::{Answer, Answered};

pub use crate::format::conflict::Conflict;
pub use pick::{counterpart, pick, pick_field};
pub use text::{Preferred, TextMerge};

use self::fields::{merge_fields, says_all_the_same};
use self::registries::{Registries, is_made};
use crate::adapter::{EntryRole, entry_role};
use crate::diff::{Effort, Identity, alike, matched};
use crate::format::book::EntryImage;
use crate::state::StateEntry;

/// The three states of a lorebook.
#[derive(Debug, Clone, Copy)]
pub struct Sides<'a> {
    /// What both had when they parted, or when B was last brought along; nothing if nobody knows.
    pub base: &'a [StateEntry],
    /// What the line has that goes on.
    pub a: &'a [StateEntry],
    /// What the line has whose lore is brought along.
    pub b: &'a [StateEntry],
    /// Numbers of B's entries, and those that A has them under since they were last brought along.
    pub numbers: &'a [(i64, i64)],
}

/// What comes of bringing two lorebooks together.
#[derive(Debug, Clone, Default)]
pub struct Merged {
    /// The entries: A's in their order, then those that only B has.
    pub entries: Vec<EntryImage>,
    /// What is as B has it.
    pub taken: Vec<Taken>,
    /// What both have changed in different ways: A's stands.
    pub conflicts: Vec<Conflict>,
    /// What B changed and is not brought along.
    pub left: Vec<Left>,
    /// Numbers of B's entries, and those that they have here instead.
    pub numbers: Vec<(i64, i64)>,
}

/// Something that is as B has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Number of the entry, here.
    pub uid: Option<i64>,
    /// Its title.
    pub title: String,
    /// What happened to it.
    pub what: Took,
}

/// What happened to an entry that something was taken over for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Took {
    /// It is new.
    Added,
    /// These fields changed.
    Changed(Vec<String>),
    /// It is gone, as B has deleted it.
    Removed,
}

/// Something of B's that is not brought along, and that nobody asks for: the order in which an extension sorts its entries, and fields that
/// only who wrote them down knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Number of the entry, as B has it.
    pub uid: Option<i64>,
    /// Its title.
    pub title: String,
    /// The fields.
    pub fields: Vec<String>,
}

/// What holds for a whole book.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// Whether an extension keeps it: it sorts the entries with every scene, and whoever builds a fork's book from what it has kept writes
    /// them down with other fields.
    pub(crate) kept: bool,
}

/// Takes what B's lorebook has become into A's.
pub fn merge(sides: Sides<'_>) -> Merged {
    let told = |entries: &[StateEntry]| -> Vec<StateEntry> {
        entries.iter().filter(|entry| entry_role(&entry.image.comment) != EntryRole::Queue).cloned().collect()
    };
    let numbers: HashMap<i64, i64> = sides.numbers.iter().copied().collect();
    let moved = |entries: &[StateEntry]| -> Vec<StateEntry> {
        let mut entries = told(entries);
        for entry in &mut entries {
            if let Some(uid) = entry.image.uid.and_then(|uid| numbers.get(&uid)) {
                entry.image = entry.image.renumbered(*uid);
            }
        }
        entries
    };
    let (base, a, b) = (moved(sides.base), told(sides.a), moved(sides.b));
    let kept = a.iter().any(|entry| entry_role(&entry.image.comment) == EntryRole::Registry);
    let mut merge = Merge { rules: Rules { kept }, effort: Effort::default(), merged: Merged::default() };
    merge.merged.numbers = sides.numbers.to_vec();
    merge.run([&base, &a, &b], [&numbers_of(sides.base), &numbers_of(sides.b)]);
    let queues = sides.a.iter().filter(|entry| entry_role(&entry.image.comment) == EntryRole::Queue);
    merge.merged.entries.extend(queues.map(|entry| entry.image.clone()));
    merge.merged
}

/// The numbers of the entries that are compared.
fn numbers_of(entries: &[StateEntry]) -> Vec<Option<i64>> {
    let told = entries.iter().filter(|entry| entry_role(&entry.image.comment) != EntryRole::Queue);
    told.map(|entry| entry.image.uid).collect()
}

struct Merge {
    rules: Rules,
    effort: Effort,
    merged: Merged,
}

/// The places of one entry on the three sides.
#[derive(Debug, Clone, Copy, Default)]
struct Trio {
    base: Option<usize>,
    a: Option<usize>,
    b: Option<usize>,
}

impl Merge {
    /// `told` are the numbers that the entries of base and B have in their own books, in order.
    fn run(&mut self, [base, a, b]: [&[StateEntry]; 3], told: [&[Option<i64>]; 2]) {
        let trios = trios(base, a, b);
        // A's come first, and keep their numbers. What A loses leaves its number free.
        let lists = a.iter().filter(|entry| is_made(&entry.image.comment));
        let mut used: HashSet<i64> = lists.filter_map(|entry| entry.image.uid).collect();
        let mut lists = Vec::new();
        let mut made = Registries::default();
        for trio in trios {
            let (old, ours, theirs) =
                (trio.base.map(|k| &base[k]), trio.a.map(|i| &a[i]), trio.b.map(|j| &b[j]));
            let title = ours.or(theirs).or(old).map_or("", |entry| &*entry.image.comment);
            if is_made(title) {
                // They list what there is in the end.
                lists.push((trio, self.merged.entries.len()));
                continue;
            }
            let from = self.merged.entries.len();
            self.entry(old, ours, theirs, &mut used);
            let here = self.merged.entries.get(from).and_then(|entry| entry.uid);
            used.extend(here);
            let was = |place: Option<usize>, told: &[Option<i64>]| place.and_then(|place| told[place]);
            made.base.extend(was(trio.base, told[0]).map(|uid| (uid, here)));
            made.a.extend(ours.and_then(|ours| ours.image.uid).map(|uid| (uid, here)));
            made.b.extend(was(trio.b, told[1]).map(|uid| (uid, here)));
        }
        self.lists(&lists, [base, a, b], &made, &mut used);
    }

    fn entry(
        &mut self,
        base: Option<&StateEntry>,
        a: Option<&StateEntry>,
        b: Option<&StateEntry>,
        used: &mut HashSet<i64>,
    ) {
        // What nobody knows to have been there was not deleted by who does not have it.
        let sure = base.filter(|base| !base.undated);
        match (a, b) {
            (Some(a), Some(b)) => self.both(base, a, b),
            (Some(a), None) => match sure {
                Some(base) if says_all_the_same(&base.image, &a.image, self.rules) => {
                    self.took(&a.image, Took::Removed);
                }
                Some(base) => {
                    self.ask_whole(&a.image, Some(&base.image), Some(&a.image), None);
                    self.merged.entries.push(a.image.clone());
                }
                None => self.merged.entries.push(a.image.clone()),
            },
            (None, Some(b)) => match sure {
                Some(base) if says_all_the_same(&base.image, &b.image, self.rules) => {}
                Some(base) => {
                    let image = self.placed(&b.image, used);
                    self.ask_whole(&image, Some(&base.image), None, Some(&image));
                    self.merged.entries.push(image);
                }
                None => {
                    let image = self.placed(&b.image, used);
                    self.took(&image, Took::Added);
                    self.merged.entries.push(image);
                }
            },
            (None, None) => {}
        }
    }

    fn both(&mut self, base: Option<&StateEntry>, a: &StateEntry, b: &StateEntry) {
        // Who took it over entirely has it byte for byte, but for its number.
        let unchanged = |base: &&StateEntry| base.inferred.is_empty() && base.image == a.image;
        let in_place = a.image.uid == b.image.uid;
        if base.filter(unchanged).is_some()
            && in_place
            && !self.rules.kept
            && base.is_some_and(|base| base.image != b.image)
        {
            let changed = merge_fields(base, &a.image, &b.image, self.rules, &mut self.effort).taken;
            if !changed.is_empty() {
                self.took(&b.image, Took::Changed(changed));
                self.merged.entries.push(b.image.clone());
                return;
            }
        }
        let found = merge_fields(base, &a.image, &b.image, self.rules, &mut self.effort);
        if !found.taken.is_empty() {
            self.took(&found.image, Took::Changed(found.taken));
        }
        if !found.left.is_empty() {
            let title = b.image.comment.to_string();
            self.merged.left.push(Left { uid: b.image.uid, title, fields: found.left });
        }
        if let (Some(theirs), Some(ours)) = (b.image.uid, a.image.uid)
            && theirs != ours
        {
            self.renumber(theirs, ours);
        }
        // The title may have changed since a field was asked for.
        let title = found.image.comment.to_string();
        let conflicts =
            found.conflicts.into_iter().map(|conflict| Conflict { title: title.clone(), ..conflict });
        self.merged.conflicts.extend(conflicts);
        self.merged.entries.push(found.image);
    }

    /// An entry of B's under a number that is free.
    fn placed(&mut self, image: &EntryImage, used: &mut HashSet<i64>) -> EntryImage {
        let Some(uid) = image.uid.filter(|_| image.raw().kind() == Kind::Object) else {
            return image.clone();
        };
        if used.insert(uid) {
            return image.clone();
        }
        let free = (0..).find(|free| !used.contains(free)).unwrap_or(uid);
        used.insert(free);
        self.renumber(uid, free);
        image.renumbered(free)
    }

    fn renumber(&mut self, theirs: i64, here: i64) {
        // What A had under another number already has that number: the last step is what counts from B's.
        match self.merged.numbers.iter_mut().find(|(_, known)| *known == theirs) {
            Some(known) => known.1 = here,
            None => self.merged.numbers.push((theirs, here)),
        }
    }

    fn took(&mut self, image: &EntryImage, what: Took) {
        self.merged.taken.push(Taken { uid: image.uid, title: image.comment.to_string(), what });
    }

    fn ask_whole(
        &mut self,
        held: &EntryImage,
        base: Option<&EntryImage>,
        a: Option<&EntryImage>,
        b: Option<&EntryImage>,
    ) {
        let bytes = |image: Option<&EntryImage>| image.map(|image| image.raw().bytes().to_vec());
        self.merged.conflicts.push(Conflict {
            uid: held.uid,
            title: held.comment.to_string(),
            field: Vec::new(),
            base: bytes(base),
            a: bytes(a),
            b: bytes(b),
        });
    }

    /// Registries and indexes, each where it stood.
    fn lists(
        &mut self,
        lists: &[(Trio, usize)],
        [base, a, b]: [&[StateEntry]; 3],
        made: &Registries,
        used: &mut HashSet<i64>,
    ) {
        let mut placed: Vec<(usize, EntryImage)> = Vec::new();
        for (trio, place) in lists {
            let (base, ours, theirs) =
                (trio.base.map(|k| &base[k].image), trio.a.map(|i| &a[i].image), trio.b.map(|j| &b[j].image));
            let image = match (ours, theirs) {
                (Some(ours), Some(theirs)) => made.merged(base, ours, theirs),
                (Some(ours), None) => made.alone(ours, false),
                (None, Some(theirs)) if base.is_none() => {
                    let theirs = self.placed(theirs, used);
                    made.alone(&theirs, true)
                }
                (None, _) => continue,
            };
            let what = match ours {
                None => Some(Took::Added),
                Some(ours) if *ours != image => Some(Took::Changed(vec!["content".to_owned()])),
                Some(_) => None,
            };
            what.into_iter().for_each(|what| self.took(&image, what));
            placed.push((*place, image));
        }
        for (place, image) in placed.into_iter().rev() {
            self.merged.entries.insert(place, image);
        }
    }
}

/// Which entries are the same one: A's in their order, then B's, then those that both have deleted.
fn trios(base: &[StateEntry], a: &[StateEntry], b: &[StateEntry]) -> Vec<Trio> {
    let (to_a, to_b) = (matched(base, a), matched(base, b));
    let mut of_a: Vec<Option<usize>> = vec![None; a.len()];
    let mut of_b: Vec<Option<usize>> = vec![None; b.len()];
    for (k, pair) in to_a.iter().enumerate() {
        pair.iter().for_each(|(i, _)| of_a[*i] = Some(k));
    }
    for (k, pair) in to_b.iter().enumerate() {
        pair.iter().for_each(|(j, _)| of_b[*j] = Some(k));
    }
    // What is new on both sides is the same thing if it has the same title.
    let new = |entries: &[StateEntry], of: &[Option<usize>]| -> Vec<usize> {
        (0..entries.len()).filter(|i| of[*i].is_none()).collect()
    };
    let (new_a, new_b) = (new(a, &of_a), new(b, &of_b));
    let pick = |entries: &[StateEntry], places: &[usize]| -> Vec<StateEntry> {
        places.iter().map(|i| entries[*i].clone()).collect()
    };
    let (ours, theirs) = (pick(a, &new_a), pick(b, &new_b));
    let mut twins: HashMap<usize, usize> = HashMap::new();
    for (i, pair) in matched(&ours, &theirs).into_iter().enumerate() {
        let Some((j, by)) = pair else { continue };
        let (x, y) = (&ours[i].image, &theirs[j].image);
        let untitled = x.comment.is_empty() && x != y && !alike(&x.content(), &y.content());
        if by != Identity::Uid && !untitled {
            twins.insert(new_a[i], new_b[j]);
        }
    }
    let mut trios = Vec::with_capacity(a.len() + b.len());
    let mut seen_b = vec![false; b.len()];
    for (i, base) in of_a.iter().enumerate() {
        let j = match base {
            Some(k) => to_b[*k].map(|(j, _)| j),
            None => twins.get(&i).copied(),
        };
        j.into_iter().for_each(|j| seen_b[j] = true);
        trios.push(Trio { base: *base, a: Some(i), b: j });
    }
    let rest = (0..b.len()).filter(|j| !seen_b[*j]);
    trios.extend(rest.map(|j| Trio { base: of_b[j], a: None, b: Some(j) }));
    trios
}
