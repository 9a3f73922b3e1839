//! [`Registries`]: lists of entries, made anew: every entry that is there is listed as whoever changed its line last has it, and nothing
//! else.

use std::collections::HashMap;

use crate::adapter::registry::{self, RegistryLine};
use crate::adapter::{EntryRole, entry_role};
use crate::format::book::EntryImage;

/// For the numbers of a side's entries those that they have in the result; nothing for those that are not in it.
pub(super) type Numbers = HashMap<i64, Option<i64>>;

/// What lines of registries are made with: what became of the entries of each side.
#[derive(Default)]
pub(super) struct Registries {
    pub(super) base: Numbers,
    pub(super) a: Numbers,
    pub(super) b: Numbers,
}

/// Whether an entry is a list that is made anew.
pub(super) fn is_made(title: &str) -> bool {
    matches!(entry_role(title), EntryRole::Registry | EntryRole::Index)
}

impl Registries {
    /// A list that both have.
    pub(super) fn merged(&self, base: Option<&EntryImage>, a: &EntryImage, b: &EntryImage) -> EntryImage {
        let (before, ours, theirs) =
            (base.map(EntryImage::content).unwrap_or_default(), a.content(), b.content());
        let text = match entry_role(&a.comment) {
            EntryRole::Index if before == theirs => return a.clone(),
            EntryRole::Index => index(&before, &ours, &theirs),
            _ => self.rows(&before, &ours, &theirs),
        };
        if text == *ours { a.clone() } else { a.with_content(&text) }
    }

    /// A list that only one side has: `theirs` if that is B.
    pub(super) fn alone(&self, image: &EntryImage, theirs: bool) -> EntryImage {
        let content = image.content();
        if entry_role(&image.comment) == EntryRole::Index {
            return image.clone();
        }
        let text =
            if theirs { self.rows("", &head_of(&content), &content) } else { self.rows("", &content, "") };
        if text == *content { image.clone() } else { image.with_content(&text) }
    }

    fn rows(&self, base: &str, ours: &str, theirs: &str) -> String {
        let (before, theirs) = (moved(base, &self.base), moved(theirs, &self.b));
        let mut lines: Vec<String> = Vec::new();
        let mut used = vec![false; theirs.len()];
        for text in ours.split('\n') {
            let Some(row) = registry::line(text) else {
                lines.push(text.to_owned());
                continue;
            };
            // What is listed without being there is nobody's affair here.
            let Some(uid) =
                row.uid.map_or(Some(None), |uid| self.a.get(&uid).copied().unwrap_or(Some(uid)).map(Some))
            else {
                continue;
            };
            let place = theirs.iter().position(|their| is_same(&row, uid, their));
            place.into_iter().for_each(|place| used[place] = true);
            let was = before.iter().find(|was| is_same(&row, uid, was));
            match place.map(|place| &theirs[place]) {
                Some(their) if was.is_some_and(|was| was.text == row.text) => lines.push(their.text.clone()),
                _ => lines.push(text.to_owned()),
            }
        }
        let new = { theirs }.into_iter().zip(used).filter(|(row, used)| !used && row.uid.is_some());
        let new: Vec<String> = new.map(|(row, _)| row.text).collect();
        // Behind the last row, before what may follow it.
        let end = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1);
        lines.splice(end..end, new);
        lines.join("\n")
    }
}

/// The rows of a side's registry with the numbers that their entries have in the result; without those that are not in it.
fn moved(text: &str, numbers: &Numbers) -> Vec<RegistryLine> {
    let moved = |row: RegistryLine| {
        let Some(uid) = row.uid else { return Some(row) };
        let here = numbers.get(&uid).copied().flatten()?;
        if here == uid { Some(row) } else { registry::line(&registry::renumbered(&row.text, here)?) }
    };
    registry::lines(text).into_iter().filter_map(moved).collect()
}

fn is_same(row: &RegistryLine, uid: Option<i64>, other: &RegistryLine) -> bool {
    match (uid, other.uid) {
        (Some(uid), Some(other)) => uid == other,
        _ => row.name == other.name,
    }
}

/// A registry's text without its rows.
fn head_of(content: &str) -> String {
    content.split('\n').filter(|line| registry::line(line).is_none()).collect::<Vec<_>>().join("\n")
}

/// Lines that name entries: A's, without what B took out, with what B put in.
fn index(base: &str, ours: &str, theirs: &str) -> String {
    let has = |text: &str, line: &str| text.lines().any(|other| other == line);
    let stays = |line: &&str| has(theirs, line) || !has(base, line);
    let mut lines: Vec<&str> = ours.lines().filter(stays).collect();
    lines.extend(theirs.lines().filter(|line| !has(base, line) && !has(ours, line)));
    lines.join("\n")
}
