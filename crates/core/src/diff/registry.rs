//! [`RegistryDiff`]: two texts of a registry, row by row.

use std::collections::HashMap;

use crate::adapter::registry::{RegistryLine, line};

/// How one registry becomes another.
#[derive(Debug, Clone, Default)]
pub struct RegistryDiff {
    /// Rows that only the second one has.
    pub added: Vec<RegistryLine>,
    /// Rows that only the first one has.
    pub removed: Vec<RegistryLine>,
    /// Rows that both have, and that differ.
    pub changed: Vec<(RegistryLine, RegistryLine)>,
    /// Whether something else differs: lines that are no rows, or the order of rows. Then only the texts tell.
    pub other: bool,
}

impl RegistryDiff {
    /// Compares the texts of two registries.
    pub fn of(a: &str, b: &str) -> Self {
        let mut diff = Self::default();
        if a == b {
            return diff;
        }
        let ((ours, rest), (theirs, other_rest)) = (read(a), read(b));
        let mut taken = vec![false; theirs.len()];
        let mut pair: Vec<Option<usize>> = vec![None; ours.len()];
        // As entries are: by number and name, then by name; by number only if the rest is the same.
        let names: [NameOf; 3] = [
            |row| Some((row.uid, &row.name)),
            |row| Some((None, &row.name)),
            |row| Some((Some(row.uid?), row.synopsis.as_str())).filter(|(_, synopsis)| !synopsis.is_empty()),
        ];
        for name in names {
            match_rows(&ours, &theirs, &mut pair, &mut taken, name);
        }
        let mut last = None;
        let mut in_order = rest == other_rest;
        for (row, place) in ours.into_iter().zip(pair) {
            let Some(j) = place else {
                diff.removed.push(row);
                continue;
            };
            in_order &= last.is_none_or(|last| last < j);
            last = Some(j);
            if row != theirs[j] {
                diff.changed.push((row, theirs[j].clone()));
            }
        }
        diff.added =
            { theirs }.into_iter().zip(taken).filter(|(_, taken)| !taken).map(|(row, _)| row).collect();
        diff.other =
            !in_order || (diff.added.is_empty() && diff.removed.is_empty() && diff.changed.is_empty());
        diff
    }
}

/// What a row is known by.
type NameOf = fn(&RegistryLine) -> Option<(Option<i64>, &str)>;

fn match_rows(
    ours: &[RegistryLine],
    theirs: &[RegistryLine],
    pair: &mut [Option<usize>],
    taken: &mut [bool],
    name: NameOf,
) {
    let mut there: HashMap<_, Vec<usize>> = HashMap::new();
    for (j, row) in theirs.iter().enumerate().rev().filter(|(j, _)| !taken[*j]) {
        name(row).into_iter().for_each(|name| there.entry(name).or_default().push(j));
    }
    for (row, place) in ours.iter().zip(pair).filter(|(_, place)| place.is_none()) {
        if let Some(j) = name(row).and_then(|name| there.get_mut(&name)?.pop()) {
            *place = Some(j);
            taken[j] = true;
        }
    }
}

/// The rows, and the lines that are none.
fn read(text: &str) -> (Vec<RegistryLine>, Vec<&str>) {
    let (mut rows, mut rest) = (Vec::new(), Vec::new());
    for text in text.split('\n') {
        match line(text) {
            Some(row) => rows.push(row),
            None => rest.push(text),
        }
    }
    (rows, rest)
}
