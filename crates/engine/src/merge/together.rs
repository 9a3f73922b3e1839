//! [`together`]: two lines side by side, as a story: what both knew, what each has learnt since, and what they do not agree on.

use forklore_core::adapter::{EntryRole, entry_role};
use forklore_core::diff::{self, EntriesDiff, EntryChange};
use forklore_core::merge::{Sides, merge};
use forklore_core::state::StateEntry;
use forklore_vault::state::at::{StateError, Wanted};
use forklore_vault::{ChatIx, Library};
use schemars::JsonSchema;
use serde::Serialize;

use super::ill::{Ill, wanted};
use super::learn::{LearnBase, base_told};
use super::{OpenConflict, base, learnt};
use crate::history::Did;

/// Two lines side by side.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TogetherReport {
    /// The line that goes on
    pub a: TogetherSide,
    /// The line whose lore can be brought along
    pub b: TogetherSide,
    /// What they had in common
    pub base: LearnBase,
    /// The second one, if it should be healed first: its lorebook holds what is not its own, or lacks what is. Only what belongs to its own
    /// line is shown
    pub heal_first: Option<String>,
    /// What both knew, and know still
    pub both: Vec<TogetherEntry>,
    /// What the first one has learnt since
    pub ours: Vec<TogetherEntry>,
    /// What the second one has learnt since
    pub theirs: Vec<TogetherEntry>,
    /// What they would not agree on, if the second one were brought along now
    pub conflicts: Vec<OpenConflict>,
    /// Questions that wait in the first one since another was brought along
    pub open: Vec<OpenConflict>,
    /// Name of the chat that those are about
    pub open_from: Option<String>,
}

/// One of the two lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TogetherSide {
    /// Its address
    pub chat: String,
    /// Its name
    pub name: String,
    /// Its last message
    pub at: usize,
}

/// Something that a line knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TogetherEntry {
    /// Number of the entry there
    pub uid: Option<i64>,
    /// Its title
    pub title: String,
    /// What happened to it; nothing if nothing did
    pub did: Option<Did>,
    /// What it said before, if it said something else
    pub before: Option<String>,
    /// What it says
    pub text: String,
}

/// Two lines at their last messages.
pub fn together(library: &Library, a: ChatIx, b: ChatIx) -> Result<TogetherReport, StateError> {
    let (at, upto) = (library.chat(a).head(), library.chat(b).head());
    let ill = Ill::of(library, b).filter(|_| a != b);
    let ours = library.book_at(a, at, Wanted::default())?.entries;
    let theirs = library.book_at(b, upto, wanted(ill.as_ref()))?.entries;
    let base = base::find(library, a, at, b, upto)?;
    let sides = Sides { base: &base.entries, a: &ours, b: &theirs, numbers: &base.numbers };
    // What nobody knows to have been there, and only one of them has, is what that one learnt.
    let has = |all: &[StateEntry], entry: &StateEntry| {
        all.iter().any(|one| one.image.uid == entry.image.uid && one.image.comment == entry.image.comment)
    };
    let known = |entry: &&StateEntry| !entry.undated || (has(&ours, entry) && has(&theirs, entry));
    let mut common: Vec<StateEntry> = base.entries.iter().filter(known).cloned().collect();
    if common.is_empty() {
        // Nothing tells what they had: what is the same in both is what both know.
        let same = |entry: &&StateEntry| theirs.iter().any(|one| one.image == entry.image);
        common = ours.iter().filter(same).cloned().collect();
    }
    let (from_a, from_b) = (diff::entries(&common, &ours), diff::entries(&common, &theirs));
    let same = |entry: &&StateEntry| is_fact(entry);
    let side = |c: ChatIx, at: usize| TogetherSide {
        chat: library.address(c).to_string(),
        name: library.chat(c).name().to_owned(),
        at,
    };
    let waiting = learnt(library.chat(a));
    let mut both: Vec<TogetherEntry> =
        still(&from_a).filter(same).map(|entry| told(entry, None, None)).collect();
    let (mut ours, mut theirs) = (since(&from_a), since(&from_b));
    both.extend(learnt_by_both(&mut ours, &mut theirs));
    Ok(TogetherReport {
        a: side(a, at),
        b: side(b, upto),
        both,
        ours,
        theirs,
        conflicts: merge(sides).conflicts.iter().map(OpenConflict::of).collect(),
        open: waiting
            .map(|learnt| learnt.conflicts.iter().map(OpenConflict::of).collect())
            .unwrap_or_default(),
        open_from: waiting.map(|learnt| learnt.file.clone()),
        heal_first: ill.map(|ill| ill.chat),
        base: base_told(&base),
    })
}

fn is_fact(entry: &StateEntry) -> bool {
    entry_role(&entry.image.comment) == EntryRole::Fact
}

/// Whether more than a number or the order of entries is another: extensions sort their books, which tells nothing of the story.
fn is_loud(change: &EntryChange<'_>) -> bool {
    let place = |name: &str| matches!(name, "order" | "displayIndex");
    change.fields.iter().any(|field| field.quiet.is_none() && !place(&field.name))
}

/// What says the same as before.
fn still<'a>(diff: &'a EntriesDiff<'a>) -> impl Iterator<Item = &'a StateEntry> {
    let moved = diff.changed.iter().filter(|change| !is_loud(change)).map(|change| change.b);
    diff.same.iter().copied().chain(moved)
}

fn told(entry: &StateEntry, did: Option<Did>, before: Option<&StateEntry>) -> TogetherEntry {
    let (text, was) =
        (entry.image.content().into_owned(), before.map(|was| was.image.content().into_owned()));
    TogetherEntry {
        uid: entry.image.uid,
        title: entry.image.comment.to_string(),
        did,
        before: was.filter(|was| *was != text),
        text,
    }
}

/// What a line has learnt: what is new first.
fn since(diff: &EntriesDiff<'_>) -> Vec<TogetherEntry> {
    let added = diff.added.iter().filter(|entry| is_fact(entry));
    let changed = diff.changed.iter().filter(|change| is_fact(change.b) && is_loud(change));
    let removed = diff.removed.iter().filter(|entry| is_fact(entry) && !entry.undated);
    let added = added.map(|entry| told(entry, Some(Did::Added), None));
    let changed = changed.map(|change| told(change.b, Some(Did::Changed), Some(change.a)));
    added.chain(changed).chain(removed.map(|entry| told(entry, Some(Did::Removed), None))).collect()
}

/// Takes out what both have learnt in the same words: both know it now. What both have deleted, nobody knows.
fn learnt_by_both(ours: &mut Vec<TogetherEntry>, theirs: &mut Vec<TogetherEntry>) -> Vec<TogetherEntry> {
    let is_same = |x: &TogetherEntry, y: &TogetherEntry| {
        x.title == y.title
            && x.text == y.text
            && (x.did == Some(Did::Removed)) == (y.did == Some(Did::Removed))
    };
    let (same, own): (Vec<_>, Vec<_>) =
        std::mem::take(ours).into_iter().partition(|x| theirs.iter().any(|y| is_same(x, y)));
    theirs.retain(|y| !same.iter().any(|x| is_same(x, y)));
    *ours = own;
    let there = same.into_iter().filter(|entry| entry.did != Some(Did::Removed));
    there.map(|entry| TogetherEntry { did: None, before: None, ..entry }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use forklore_core::format::book::EntryImage;
    use forklore_json::Raw;

    fn entry(uid: i64, title: &str, text: &str, order: i64) -> StateEntry {
        let json = serde_json::json!({"uid": uid, "comment": title, "content": text, "order": order});
        StateEntry::plain(EntryImage::new(Some(uid), title, Raw::trust(json.to_string().as_bytes())))
    }

    fn titles<'a>(entries: impl Iterator<Item = &'a StateEntry>) -> Vec<String> {
        entries.map(|entry| entry.image.comment.to_string()).collect()
    }

    /// Extensions sort their books with every scene: what only stands elsewhere is what it was.
    #[test]
    fn what_was_only_sorted_is_still_what_both_knew() {
        let was =
            [entry(0, "Ned", "A sailor.", 1), entry(1, "Ada", "A girl.", 2), entry(2, "Bo", "A thief.", 3)];
        let now =
            [entry(0, "Ned", "A sailor.", 7), entry(1, "Ada", "A woman.", 2), entry(2, "Bo", "A thief.", 3)];
        let diff = diff::entries(&was, &now);
        let mut known = titles(still(&diff));
        known.sort();
        assert_eq!(known, ["Bo", "Ned"]);
        let learnt: Vec<String> = since(&diff).into_iter().map(|entry| entry.title).collect();
        assert_eq!(learnt, ["Ada"]);
    }

    #[test]
    fn what_both_have_learnt_both_know() {
        let was = [entry(0, "Ned", "A sailor.", 1), entry(1, "Ada", "A girl.", 1)];
        let a = [entry(0, "Ned", "A thief.", 1), entry(5, "Bo", "A cook.", 1)];
        let b = [entry(0, "Ned", "A captain.", 1), entry(7, "Bo", "A cook.", 1)];
        let (mut ours, mut theirs) = (since(&diff::entries(&was, &a)), since(&diff::entries(&was, &b)));
        let both = learnt_by_both(&mut ours, &mut theirs);
        let titles = |all: &[TogetherEntry]| all.iter().map(|one| one.title.clone()).collect::<Vec<_>>();
        assert_eq!(
            (titles(&both), titles(&ours), titles(&theirs)),
            (vec!["Bo".to_owned()], vec!["Ned".to_owned()], vec!["Ned".to_owned()])
        );
    }
}
