//! [`contamination`]: what other lines wrote and a book still holds; [`holes`]: what a book was made without.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::fold::{Carry, fold};
use super::thing::Thing;
use super::{Change, Known, Origin, Place};
use crate::adapter::{EntryRole, entry_role};
use crate::format::book::EntryImage;

/// Something in a book that another line wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contamination {
    /// Number of the entry.
    pub uid: Option<i64>,
    /// Title of the entry.
    pub comment: Arc<str>,
    /// Who wrote it.
    pub origin: Origin,
    /// The lines that came from there; empty if the whole entry did.
    pub lines: Vec<String>,
}

/// What other lines wrote into a book and is still in it.
pub fn contamination(changes: &[Change], book: &[(Thing, EntryImage)]) -> Vec<Contamination> {
    let present: HashMap<&Thing, &EntryImage> = book.iter().map(|(thing, entry)| (thing, entry)).collect();
    // What others wrote that is still there: nothing else has to be looked at.
    let elsewhere = |change: &&Change| {
        let fact = |after: &EntryImage| entry_role(&after.comment) == EntryRole::Fact;
        !change.line
            && matches!(change.place, Place::Elsewhere(_))
            && present.contains_key(&change.thing)
            && change.after.as_ref().is_some_and(fact)
            && change.is_telling()
    };
    let theirs: Vec<&Change> = changes.iter().filter(elsewhere).collect();
    let mut ours: HashMap<&Thing, Vec<&Change>> =
        theirs.iter().map(|change| (&change.thing, Vec::new())).collect();
    for change in changes.iter().filter(|change| !change.line && !matches!(change.place, Place::Elsewhere(_)))
    {
        if let Some(ours) = ours.get_mut(&change.thing) {
            ours.push(change);
        }
    }
    let mut own: HashMap<&Thing, HashMap<String, bool>> = HashMap::new();
    let mut seen: HashSet<(&Thing, Origin)> = HashSet::new();
    let mut found: Vec<Contamination> = Vec::new();
    for change in theirs {
        let (Place::Elsewhere(origin), Some(after)) = (change.place, &change.after) else { continue };
        let Some(now) = present.get(&change.thing) else { continue };
        let text = now.content();
        // What our own line wrote is ours, whoever else wrote it, too.
        let mut own = |line: &str| {
            let ours = || lines_of(ours.get(&change.thing).into_iter().flatten());
            own.entry(&change.thing).or_insert_with(ours).get(line).copied()
        };
        let lines: Vec<String> = match &change.before {
            // Others made it, but nothing of what it tells now is theirs.
            None if !text.is_empty() && text.lines().all(|line| own(line) == Some(true)) => continue,
            None => Vec::new(),
            Some(before) => {
                let (before, after) = (before.content(), after.content());
                let added = after.lines().filter(|line| !before.lines().any(|l| l == *line));
                added
                    .filter(|line| text.lines().any(|l| l == *line) && own(line).is_none())
                    .map(str::to_owned)
                    .collect()
            }
        };
        // A rename alone leaves no line behind, but the title itself is the contamination.
        let renamed = change.before.as_ref().is_some_and(|before| before.comment != after.comment);
        if change.before.is_some() && lines.is_empty() && !(renamed && now.comment == after.comment) {
            continue;
        }
        if seen.insert((&change.thing, origin)) {
            found.push(Contamination { uid: now.uid, comment: now.comment.clone(), origin, lines });
        }
    }
    found
}

/// The lines that changes brought, and whether it is known of one who did. What nobody knows the author of may be ours.
fn lines_of<'a>(changes: impl Iterator<Item = &'a &'a Change>) -> HashMap<String, bool> {
    let mut lines: HashMap<String, bool> = HashMap::new();
    for change in changes {
        let Some(after) = &change.after else { continue };
        // Who writes an entry anew writes every line of it, those that it had before, too.
        let before = change.before.as_ref().filter(|_| !change.rewrites);
        let before = before.map(EntryImage::content).unwrap_or_default();
        for line in after.content().lines().filter(|line| !before.lines().any(|l| l == *line)) {
            *lines.entry(line.to_owned()).or_default() |=
                !matches!(change.place, Place::Unattributed | Place::Perhaps { .. });
        }
    }
    lines
}

/// Entries that a line has earned up to its last message and that its book lacks although nobody took them out: it was made without
/// them.
pub fn holes(known: &Known, head: usize, book: &[(Thing, EntryImage)]) -> Vec<EntryImage> {
    let present: HashSet<&Thing> = book.iter().map(|(thing, _)| thing).collect();
    let filled = known.changes.iter().any(|change| change.made_without).then(|| filled(known));
    let known = filled.as_ref().unwrap_or(known);
    let earned = fold(known, head, head, Carry { undated: false, since: true, perhaps: false }, None);
    let lacking = earned.entries.into_iter().filter(|entry| {
        entry_role(&entry.image.comment) == EntryRole::Fact
            && entry.thing.as_ref().is_some_and(|thing| !present.contains(thing))
    });
    lacking.map(|entry| entry.image).collect()
}

/// What is known, without that the book was made without something.
#[must_use]
pub fn filled(known: &Known) -> Known {
    known.with(known.changes.iter().filter(|change| !change.made_without).cloned().collect())
}
