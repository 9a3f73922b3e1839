//! What a [`Builder`] notes of a [`Gap`] between sights: what happened to one entry from one sight to the next, step by step as far as the entry itself tells.

use super::author::Author;
use super::build::{Builder, Gap};
use super::life::{Difference, is_titled};
use super::roll;
use super::thing::Thing;
use crate::adapter::recap::text_hashes;
use crate::adapter::{EntryRole, Mark, entry_role};
use crate::format::book::EntryImage;

impl Builder<'_> {
    /// Notes a change of one entry. `all` are the entries beside it.
    pub(super) fn note(
        &mut self,
        gap: Gap,
        thing: &Thing,
        before: Option<&EntryImage>,
        after: Option<&EntryImage>,
        all: &[EntryImage],
    ) {
        let title = after.or(before).map_or("", |entry| &entry.comment);
        match entry_role(title) {
            EntryRole::Queue => return,
            EntryRole::Registry => {
                self.note_registry(gap, thing, before, after);
                return;
            }
            EntryRole::Fact | EntryRole::Index => {}
        }
        let Some(after) = after else {
            self.push(gap, thing, before.cloned(), None, false, None);
            return;
        };
        if before.is_some_and(|before| agrees(before, after, gap.copied)) {
            return;
        }
        let mut was = before.cloned();
        for (mark, image) in self.layers(before, after, all, gap.copied) {
            if was.as_ref().is_some_and(|was| was.agrees_with(&image)) {
                continue;
            }
            self.push(gap, thing, was, Some(image.clone()), false, mark);
            was = Some(image);
        }
    }

    /// What an entry went through since it was seen last, as it tells itself: each step with its mark.
    fn layers(
        &self,
        before: Option<&EntryImage>,
        after: &EntryImage,
        all: &[EntryImage],
        copied: bool,
    ) -> Vec<(Option<AuthorHint>, EntryImage)> {
        if before.is_none()
            && let Some((scene, text)) = self.event(after)
        {
            let image = after.with_content(&text);
            let first = (Some(AuthorHint::Event(scene)), image.clone());
            return if image.agrees_with(after) { vec![first] } else { vec![first, (None, after.clone())] };
        }
        let layers = self.marks.layers(&self.life.keepers, after, all);
        let says = |image: &EntryImage, other: &EntryImage| {
            image.content() == other.content() && image.is_disabled() == other.is_disabled()
        };
        let known = before.and_then(|before| layers.iter().rposition(|(_, image)| says(image, before)));
        // A copy says of everything in it that it is its own chat's.
        let same = |a: &Mark, b: &Mark| a.message == b.message && (copied || a.chat == b.chat);
        let same_mark = |mark: &Option<Mark>| {
            let (Some(before), Some(mark)) = (before.filter(|_| known.is_none()), mark) else { return false };
            let had = self.marks.layers(&self.life.keepers, before, all);
            had.iter().any(|(had, _)| had.as_ref().is_some_and(|had| same(had, mark)))
        };
        // What it was before it got that mark is as old as the mark.
        let marked = || layers.iter().rposition(|(mark, _)| same_mark(mark));
        let from = known.map(|known| known + 1).or_else(marked).unwrap_or(0);
        let mut steps: Vec<(Option<AuthorHint>, EntryImage)> = layers
            .into_iter()
            .skip(from)
            // A mark tells of the making. What has it already and changes all the same was changed by somebody else, unless it tells
            // itself what it was before.
            .map(|(mark, image)| (if same_mark(&mark) { None } else { mark }, image))
            .map(|(mark, image)| (mark.map(AuthorHint::Mark), image))
            .collect();
        if steps.is_empty() {
            steps.push((None, after.clone()));
        }
        steps
    }

    /// The event that an entry is, and the text that it had as such: all of it, or its first lines if more was added since.
    fn event(&self, entry: &EntryImage) -> Option<(usize, String)> {
        let named: Vec<(usize, &str)> = self
            .life
            .scenes
            .iter()
            .enumerate()
            .flat_map(|(n, scene)| scene.events.iter().map(move |(name, hash)| (n, name, hash)))
            .filter(|(_, name, _)| is_titled(&entry.comment, name))
            .map(|(n, _, hash)| (n, hash.as_str()))
            .collect();
        if named.is_empty() {
            return None;
        }
        let content = entry.content().into_owned();
        let lines: Vec<&str> = content.lines().collect();
        let shorter = (1..lines.len()).rev().map(|n| lines[..n].join("\n"));
        std::iter::once(content.clone()).chain(shorter).find_map(|text| {
            let hashes = text_hashes(&text);
            named
                .iter()
                .find(|(_, known)| hashes.iter().any(|hash| hash == known))
                .map(|(scene, _)| (*scene, text.clone()))
        })
    }

    /// A registry changes line by line: a line belongs where the entry belongs that it lists.
    fn note_registry(
        &mut self,
        gap: Gap,
        thing: &Thing,
        before: Option<&EntryImage>,
        after: Option<&EntryImage>,
    ) {
        let Some(after) = after else {
            self.push(gap, thing, before.cloned(), None, false, None);
            return;
        };
        let Some((head, lines)) = roll::split(after) else {
            if before.is_none_or(|before| !before.agrees_with(after)) {
                self.push(gap, thing, before.cloned(), Some(after.clone()), false, None);
            }
            return;
        };
        self.life.roll.learn(&after.comment, lines.iter().map(|line| &*line.comment));
        let (was, had) = match before.map(roll::split) {
            Some(Some((head, lines))) => (Some(head), lines),
            // It was not a list before: as far as is known, it was made anew.
            Some(None) => {
                self.push(gap, thing, before.cloned(), None, false, None);
                (None, Vec::new())
            }
            None => (None, Vec::new()),
        };
        if was.as_ref().is_none_or(|was| !was.agrees_with(&head)) {
            let step = was.is_none().then_some(AuthorHint::Start);
            self.push(gap, thing, was, Some(head), false, step);
        }
        let same = |a: &EntryImage, b: &EntryImage| a.uid == b.uid && a.comment == b.comment;
        for line in &lines {
            let old = had.iter().find(|old| same(old, line));
            if old.is_none_or(|old| old.content() != line.content()) {
                self.push(gap, thing, old.cloned(), Some(line.clone()), true, None);
            }
        }
        for old in had.iter().filter(|old| !lines.iter().any(|line| same(old, line))) {
            self.push(gap, thing, Some(old.clone()), None, true, None);
        }
    }

    fn push(
        &mut self,
        gap: Gap,
        thing: &Thing,
        before: Option<EntryImage>,
        after: Option<EntryImage>,
        line: bool,
        step: Option<AuthorHint>,
    ) {
        let place = self.life.differences.len();
        let author = match step {
            Some(AuthorHint::Start) => Author::Start,
            Some(AuthorHint::Event(scene)) => Author::Scene(scene),
            Some(AuthorHint::Mark(mark)) => {
                self.marked.insert(place, mark);
                Author::Unknown
            }
            None => Author::Unknown,
        };
        self.life.differences.push(Difference {
            thing: thing.clone(),
            before,
            after,
            line,
            since: gap.since,
            shown: gap.here,
            until: gap.here + 1,
            author,
            perhaps: Vec::new(),
        });
    }

    /// Events that only another book of the family still has.
    pub(super) fn remember_events(&mut self, elsewhere: &[EntryImage]) {
        let Some(here) = self.life.sights.len().checked_sub(1) else { return };
        for entry in elsewhere {
            let Some((scene, text)) = self.event(entry) else { continue };
            let known = |difference: &Difference| {
                matches!(difference.author, Author::Scene(_))
                    && difference.before.is_none()
                    && difference.after.as_ref().is_some_and(|after| after.comment == entry.comment)
            };
            if !self.life.differences.iter().any(known) {
                let thing = self.fresh();
                let image = entry.with_content(&text);
                let gap = Gap { since: None, here, copied: false };
                self.push(gap, &thing, None, Some(image), false, Some(AuthorHint::Event(scene)));
            }
        }
    }
}

/// What tells who made a change before anybody is asked.
enum AuthorHint {
    /// It is part of an empty book.
    Start,
    /// It is an event of this scene.
    Event(usize),
    /// It says so itself.
    Mark(Mark),
}

/// Whether two sights of a thing tell the same. Whoever copies a book may number its entries anew and say whose they are now: that is no
/// change of what they tell.
fn agrees(before: &EntryImage, after: &EntryImage, copied: bool) -> bool {
    if before.agrees_with(after) {
        return true;
    }
    if !copied {
        return false;
    }
    let told = |entry: &EntryImage| entry.raw().get("disable").is_none();
    let same_switch = before.is_disabled() == after.is_disabled() || told(before) || told(after);
    let order = |entry: &EntryImage| entry.raw().get("order").map(|order| order.bytes().to_vec());
    let same_order = order(before).zip(order(after)).is_none_or(|(before, after)| before == after);
    same_switch && same_order && before.comment == after.comment && before.content() == after.content()
}
