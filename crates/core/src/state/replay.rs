//! [`replay`]: from evidence to changes.
//!
//! Between two sightings of the same book lies what the later one's scene did; a book seen for the first time is compared with
//! what our line had earned until then, because a fork's own book starts as a copy of that.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::fold::Fold;
use super::{Change, Event, Evidence, Live, Origin, Place, Sighting, line_mark};
use crate::adapter::auto_recap::{registry, text_hash};
use crate::adapter::{EntryRole, entry_role};
use crate::format::book::EntryImage;

/// Turns what is known into changes, in clock order.
pub fn replay(evidence: &Evidence) -> Vec<Change> {
    let mut sightings: Vec<&Sighting> = evidence.sightings.iter().collect();
    sightings.sort_by_key(|s| (s.clock, s.origin.message));
    let mut replay = Replay::new(&evidence.events, &evidence.start);
    let mut last: HashMap<&str, &Sighting> = HashMap::new();
    for sighting in sightings {
        replay.see(sighting, last.get(sighting.book.as_str()).copied());
        last.insert(&sighting.book, sighting);
    }
    replay.see_elsewhere(&evidence.elsewhere);
    if let Some(live) = &evidence.live {
        replay.see_live(live, last.get(live.book.as_str()).copied());
    }
    replay.changes.sort_by_key(|change| change.clock);
    replay.changes
}

struct Replay<'a> {
    /// By name.
    events: HashMap<&'a str, Vec<&'a Event>>,
    start: &'a HashSet<u64>,
    changes: Vec<Change>,
    /// What our line has earned so far.
    earned: Fold,
    /// Whether any sighting was ours.
    seen_ours: bool,
    /// Entries as other lines wrote them, by title.
    foreign: HashMap<Arc<str>, Foreign>,
    /// Single lines that other lines added: title of the entry, the line, and who added it.
    foreign_lines: HashMap<Arc<str>, HashMap<String, Origin>>,
}

/// What other lines wrote under one title.
#[derive(std::default::Default)]
struct Foreign {
    /// The text, and who wrote it.
    texts: HashMap<String, Origin>,
    /// Entries that were new there: seeing them once more tells nothing new.
    new: Vec<EntryImage>,
}

/// How to place a change that nothing else explains.
struct Default<'a> {
    book: &'a str,
    clock: i64,
    creation: Place,
    change: Place,
    /// Nothing was known of our book before: an entry that the scene did not write is undated.
    first: bool,
    /// The book is seen for the first time: what it started from may hold what others wrote.
    unseen: bool,
}

/// What is told of an entry, beyond its being there.
enum Told {
    /// Where it belongs: the entry says so itself.
    Place(Place),
    /// The scene that it was seen after wrote it.
    Written,
    Nothing,
}

impl<'a> Replay<'a> {
    fn new(events: &'a [Event], start: &'a HashSet<u64>) -> Self {
        let (foreign, foreign_lines) = (HashMap::new(), HashMap::new());
        let mut by_name: HashMap<&str, Vec<&Event>> = HashMap::new();
        for event in events {
            by_name.entry(&event.name).or_default().push(event);
        }
        Self {
            events: by_name,
            start,
            changes: Vec::new(),
            earned: Fold::default(),
            seen_ours: false,
            foreign,
            foreign_lines,
        }
    }

    fn see(&mut self, sighting: &Sighting, before: Option<&Sighting>) {
        let place = sighting.ours.map_or(Place::Elsewhere(sighting.origin), Place::Ours);
        let mut after: Cow<'_, [EntryImage]> = Cow::Borrowed(&sighting.entries);
        let (base, first): (Cow<'_, [EntryImage]>, bool) = match before {
            Some(before) => (Cow::Borrowed(&before.entries), false),
            None if sighting.ours.is_some() => (self.earned.images().into(), !self.seen_ours),
            None => {
                // Another line's book, seen for the first time: what its scene wrote is that line's; what others are known to have
                // written is theirs; the rest may be common ground, and need not be looked at.
                let told = |entry: &&EntryImage| {
                    let event = || self.event(entry).is_some_and(|(event, _)| event.ours.is_none());
                    let foreign = || self.foreign_origin(entry).is_some() || event();
                    sighting.written.has(entry) || (!self.is_known_foreign(entry) && foreign())
                };
                after = sighting.entries.iter().filter(told).cloned().collect();
                // What we had of an entry is common ground, too.
                (after.iter().filter_map(|entry| self.earned.like(entry)).collect(), false)
            }
        };
        self.seen_ours |= sighting.ours.is_some();
        self.add_empty_registries(sighting);
        let default = Default {
            book: &sighting.book,
            clock: sighting.clock,
            creation: place,
            change: place,
            first,
            unseen: before.is_none(),
        };
        self.compare(&base, &after, &default, &|_, entry| {
            let written = sighting.written.has(entry) || entry_role(&entry.comment) != EntryRole::Fact;
            if written { Told::Written } else { Told::Nothing }
        });
    }

    /// Events of ours that only a related chat's book still has.
    fn see_elsewhere(&mut self, entries: &[EntryImage]) {
        for entry in entries {
            let Some((Event { ours: Some(message), clock, .. }, text)) = self.event(entry) else { continue };
            let (place, clock) = (Place::Ours(*message), *clock);
            let known = self
                .changes
                .iter()
                .any(|c| c.before.is_none() && c.entry().is_some_and(|e| e.comment == entry.comment));
            if !known {
                self.add("", clock, place, None, Some(entry.with_content(&text)));
            }
        }
    }

    fn see_live(&mut self, live: &Live, before: Option<&Sighting>) {
        let (base, first): (Cow<'_, [EntryImage]>, bool) = match before {
            Some(before) => (Cow::Borrowed(&before.entries), false),
            None => (self.earned.images().into(), !self.seen_ours),
        };
        let furthest = self.changes.iter().filter_map(|change| match change.place {
            Place::Ours(message) => Some(message),
            _ => None,
        });
        let since = match (live.ours, furthest.max()) {
            (false, _) => Place::Unattributed,
            (true, Some(message)) => Place::Since(message),
            (true, None) => Place::Undated,
        };
        let default = Default {
            book: &live.book,
            clock: i64::MAX,
            creation: since,
            change: since,
            first: first && live.ours,
            unseen: before.is_none(),
        };
        self.compare(&base, &live.entries, &default, &|i, _| {
            live.marks.get(i).copied().flatten().map_or(Told::Nothing, Told::Place)
        });
    }

    /// Records what changed between two states of a book.
    fn compare(
        &mut self,
        before: &[EntryImage],
        after: &[EntryImage],
        default: &Default<'_>,
        told: &dyn Fn(usize, &EntryImage) -> Told,
    ) {
        let mut late: Vec<(i64, Place, i64)> = Vec::new();
        let mut found = Vec::new();
        for (old, new) in pair_up(before, after) {
            let old = old.map(|i| &before[i]);
            let Some(i) = new else {
                found.push((default.clock, default.change, old.cloned(), None));
                continue;
            };
            let new = &after[i];
            if old.is_some_and(|old| old.agrees_with(new)) {
                continue;
            }
            if entry_role(&new.comment) == EntryRole::Queue {
                continue;
            }
            let (clock, place) = match old {
                None => {
                    if let Some((event, first)) = self.event(new) {
                        let place = event.ours.map_or(Place::Elsewhere(event.origin), Place::Ours);
                        late.extend(new.uid.map(|uid| (uid, place, event.clock)));
                        let clock = event.clock;
                        let image = new.with_content(&first);
                        if !image.agrees_with(new) {
                            // Somebody added to it before it was seen.
                            found.push((clock, place, None, Some(image.clone())));
                            let place = self.place(new, &told(i, new), default.change, false);
                            found.push((default.clock, place, Some(image), Some(new.clone())));
                            continue;
                        }
                        (clock, place)
                    } else {
                        (default.clock, self.place(new, &told(i, new), default.creation, default.first))
                    }
                }
                Some(old) if old.content() == new.content() && old.comment == new.comment => {
                    (default.clock, default.change)
                }
                Some(_) => {
                    let told = match told(i, new) {
                        // A mark tells of the making, not of later changes.
                        Told::Place(_) => Told::Nothing,
                        told => told,
                    };
                    (default.clock, self.place(new, &told, default.change, false))
                }
            };
            let mut old = old.cloned();
            let fact = entry_role(&new.comment) == EntryRole::Fact;
            if fact && default.unseen && !matches!(place, Place::Elsewhere(_)) {
                // What is known line by line to be another line's came with the copy that the book started as.
                if let Some((origin, middle)) = self.foreign_part(old.as_ref(), new) {
                    found.push((clock, Place::Elsewhere(origin), old, Some(middle.clone())));
                    old = Some(middle);
                }
            }
            if old.as_ref().is_none_or(|old| !old.agrees_with(new)) {
                found.push((clock, place, old, Some(new.clone())));
            }
        }
        for (clock, place, old, new) in found {
            let registry = new.as_ref().is_some_and(|new| entry_role(&new.comment) == EntryRole::Registry);
            match new {
                Some(new) if registry => self.add_registry((clock, place), default, old, new, &late),
                new => self.add(default.book, clock, place, old, new),
            }
        }
    }

    /// Where a new text belongs: where it says itself, else with the scene that wrote it, else with the other line that is known to
    /// have written the very same; what is left is undated in a book that nothing was known of, and else takes the default.
    fn place(&self, new: &EntryImage, told: &Told, default: Place, first: bool) -> Place {
        match told {
            Told::Place(place) => *place,
            Told::Written => default,
            Told::Nothing => match self.foreign_origin(new) {
                Some(origin) => Place::Elsewhere(origin),
                None if first && matches!(default, Place::Ours(_)) => Place::Undated,
                None => default,
            },
        }
    }

    /// The entry with only those of its new lines that other lines are known to have added to it.
    fn foreign_part(&self, old: Option<&EntryImage>, new: &EntryImage) -> Option<(Origin, EntryImage)> {
        let lines = self.foreign_lines.get(&new.comment)?;
        let before = old.map(|old| old.content().into_owned()).unwrap_or_default();
        let after = new.content().into_owned();
        let has = |line: &str| before.lines().any(|l| l == line);
        let foreign = |line: &str| lines.get(line).copied();
        let origin = after.lines().filter(|line| !has(line)).find_map(foreign)?;
        let kept = after.lines().filter(|line| has(line) || foreign(line).is_some());
        Some((origin, new.with_content(&kept.collect::<Vec<_>>().join("\n"))))
    }

    /// An extension makes its registries with the book, empty: so they were there before any scene, on every line.
    fn add_empty_registries(&mut self, sighting: &Sighting) {
        for entry in sighting.entries.iter().filter(|e| entry_role(&e.comment) == EntryRole::Registry) {
            if self.earned.has_title(&entry.comment) {
                continue;
            }
            let kind = registry::kind_of(&entry.content()).map(str::to_owned);
            let stub = kind.map_or_else(|| entry.clone(), |kind| entry.with_content(&registry::empty(&kind)));
            self.add(&sighting.book, i64::MIN, Place::Start, None, Some(stub));
        }
    }

    /// A registry changes line by line: lines of entries that came late belong where those entries belong.
    fn add_registry(
        &mut self,
        (clock, place): (i64, Place),
        default: &Default<'_>,
        mut old: Option<EntryImage>,
        new: EntryImage,
        late: &[(i64, Place, i64)],
    ) {
        for (uid, late_place, late_clock) in late {
            let Some(before) = &old else { break };
            let has_line = registry::lines(&new.content()).iter().any(|line| line.uid == Some(*uid));
            if !has_line || *late_place == place {
                continue;
            }
            let text = with_line_of(&before.content(), &new.content(), *uid);
            let middle = new.with_content(&text);
            self.add(default.book, *late_clock, *late_place, old.clone(), Some(middle.clone()));
            old = Some(middle);
        }
        if old.as_ref().is_none_or(|old| !old.agrees_with(&new)) {
            self.add(default.book, clock, place, old, Some(new));
        }
    }

    fn add(
        &mut self,
        book: &str,
        clock: i64,
        place: Place,
        before: Option<EntryImage>,
        after: Option<EntryImage>,
    ) {
        let change = Change { clock, place, book: book.to_owned(), before, after };
        match (place, &change.after) {
            (Place::Elsewhere(origin), Some(after)) if change.is_telling() => {
                let before =
                    change.before.as_ref().map(|before| before.content().into_owned()).unwrap_or_default();
                // What a fork's book was made with is older than the fork, whoever is seen with it first.
                let older = |line: &str| {
                    !self.start.is_empty() && self.start.contains(&line_mark(&after.comment, line))
                };
                let content = after.content();
                let added = content.lines().filter(|line| !before.lines().any(|l| l == *line));
                let foreign: Vec<&str> = added.filter(|line| !older(line)).collect();
                if !foreign.is_empty() || content.is_empty() {
                    let foreign = self.foreign.entry(after.comment.clone()).or_default();
                    foreign.texts.insert(content.clone().into_owned(), origin);
                    if change.before.is_none() && !foreign.new.contains(after) {
                        foreign.new.push(after.clone());
                    }
                }
                if !foreign.is_empty() {
                    let lines = self.foreign_lines.entry(after.comment.clone()).or_default();
                    lines.extend(foreign.into_iter().map(|line| (line.to_owned(), origin)));
                }
            }
            (Place::Start | Place::Ours(_) | Place::Undated, _) => self.earned.play(&change),
            _ => {}
        }
        self.changes.push(change);
    }

    /// The event that this entry is, and the text that it had as such: all of it, or its first lines if more was added since.
    fn event(&self, entry: &EntryImage) -> Option<(&Event, String)> {
        if self.events.is_empty() {
            return None;
        }
        let named: Vec<&Event> = Event::names(&entry.comment)
            .filter_map(|name| self.events.get(name))
            .flatten()
            .copied()
            .collect();
        if named.is_empty() {
            return None;
        }
        let content = entry.content().into_owned();
        let lines: Vec<&str> = content.lines().collect();
        let texts =
            std::iter::once(content.clone()).chain((1..lines.len()).rev().map(|n| lines[..n].join("\n")));
        for text in texts {
            let hash = text_hash(&text);
            let same = || named.iter().filter(|event| event.hash == hash);
            if let Some(event) = same().find(|event| event.ours.is_some()).or_else(|| same().next()) {
                return Some((event, text));
            }
        }
        None
    }

    /// Which other line wrote an entry, word for word.
    fn foreign_origin(&self, entry: &EntryImage) -> Option<Origin> {
        self.foreign.get(&entry.comment)?.texts.get(&*entry.content()).copied()
    }

    /// Whether another line is known to have made this very entry, of which we had nothing.
    fn is_known_foreign(&self, entry: &EntryImage) -> bool {
        let made = |foreign: &Foreign| foreign.new.contains(entry);
        self.foreign.get(&entry.comment).is_some_and(made) && !self.earned.has_title(&entry.comment)
    }
}

/// Entries that our line has earned and that the book as it is lacks, although nothing ever showed them in this very book: it was
/// made without them. (An entry that was in it once and is not any more was deleted.)
pub fn holes(changes: &[Change], evidence: &Evidence) -> Vec<EntryImage> {
    let Some(live) = &evidence.live else { return Vec::new() };
    let seen = |entry: &EntryImage| {
        let here = evidence.sightings.iter().filter(|sighting| sighting.book == live.book);
        here.flat_map(|sighting| &*sighting.entries)
            .any(|other| other.uid == entry.uid && other.comment == entry.comment)
    };
    let gone = changes.iter().filter(|change| change.clock == i64::MAX && change.after.is_none());
    gone.filter_map(|change| change.before.as_ref())
        .filter(|entry| entry_role(&entry.comment) == EntryRole::Fact && !seen(entry))
        .cloned()
        .collect()
}

/// The changes without those that only say that the book lacks these entries.
pub fn filled(changes: Vec<Change>, holes: &[EntryImage]) -> Vec<Change> {
    let is_hole = |entry: &EntryImage| holes.iter().any(|h| h.uid == entry.uid && h.comment == entry.comment);
    let fill = |mut change: Change| {
        if change.clock != i64::MAX {
            return Some(change);
        }
        match (&change.before, &change.after) {
            (Some(before), None) if is_hole(before) => return None,
            (Some(before), Some(after)) if entry_role(&after.comment) == EntryRole::Registry => {
                let mut text = after.content().into_owned();
                for uid in holes.iter().filter_map(|hole| hole.uid) {
                    text = with_line_of(&text, &before.content(), uid);
                }
                change.after = Some(after.with_content(&text));
            }
            _ => {}
        }
        Some(change)
    };
    changes.into_iter().filter_map(fill).collect()
}

/// The old registry text with the new text's line for one uid, in the new text's order.
fn with_line_of(old: &str, new: &str, uid: i64) -> String {
    let old_lines: Vec<&str> = old.lines().collect();
    let mut lines: Vec<&str> = new
        .lines()
        .filter(|line| old_lines.contains(line) || registry::line(line).is_some_and(|l| l.uid == Some(uid)))
        .collect();
    lines.extend(old_lines.iter().filter(|line| !new.lines().any(|l| l == **line)));
    lines.join("\n")
}

/// Pairs the entries of two states: same number and title; else a renamed entry (same number, both titles used once); else a
/// renumbered one (same title).
fn pair_up(before: &[EntryImage], after: &[EntryImage]) -> Vec<(Option<usize>, Option<usize>)> {
    // Mostly a book just grows.
    let same = |(a, b): (&EntryImage, &EntryImage)| a.uid == b.uid && a.comment == b.comment;
    if before.len() <= after.len() && before.iter().zip(after).all(same) {
        return (0..after.len()).map(|j| (Some(j).filter(|j| *j < before.len()), Some(j))).collect();
    }
    let mut partner: Vec<Option<usize>> = vec![None; after.len()];
    let mut taken = vec![false; before.len()];
    let by_uid: HashMap<i64, usize> =
        before.iter().enumerate().filter_map(|(i, e)| Some((e.uid?, i))).collect();
    let mut by_comment: HashMap<&str, Vec<usize>> = HashMap::new();
    for (i, entry) in before.iter().enumerate() {
        by_comment.entry(&entry.comment).or_default().push(i);
    }
    let mut new_comments: HashMap<&str, usize> = HashMap::new();
    for entry in after {
        *new_comments.entry(&entry.comment).or_default() += 1;
    }
    let same_uid = |entry: &EntryImage| entry.uid.and_then(|uid| by_uid.get(&uid).copied());
    for (j, entry) in after.iter().enumerate() {
        if let Some(i) = same_uid(entry).filter(|i| before[*i].comment == entry.comment) {
            partner[j] = Some(i);
            taken[i] = true;
        }
    }
    for (j, entry) in after.iter().enumerate().filter(|(j, _)| partner[*j].is_none()).collect::<Vec<_>>() {
        let renamed = same_uid(entry).filter(|i| {
            !taken[*i]
                && !new_comments.contains_key(&*before[*i].comment)
                && !by_comment.contains_key(&*entry.comment)
        });
        let renumbered = || by_comment.get(&*entry.comment)?.iter().copied().find(|i| !taken[*i]);
        if let Some(i) = renamed.or_else(renumbered) {
            partner[j] = Some(i);
            taken[i] = true;
        }
    }
    let gone = taken.iter().enumerate().filter(|(_, taken)| !**taken).map(|(i, _)| (Some(i), None));
    gone.chain(partner.iter().enumerate().map(|(j, i)| (*i, Some(j)))).collect()
}

/// Something in a book that another line wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stain {
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
pub fn stains(changes: &[Change], live: &Live) -> Vec<Stain> {
    let by_name: HashMap<(Option<i64>, &str), &EntryImage> =
        live.entries.iter().map(|entry| ((entry.uid, &*entry.comment), entry)).collect();
    let mut seen: HashSet<(Option<i64>, Origin)> = HashSet::new();
    let mut found: Vec<Stain> = Vec::new();
    for change in changes.iter().filter(|change| change.book == live.book && change.is_telling()) {
        let (Place::Elsewhere(origin), Some(after)) = (change.place, &change.after) else { continue };
        if entry_role(&after.comment) != EntryRole::Fact {
            continue;
        }
        let Some(now) = by_name.get(&(after.uid, &*after.comment)) else { continue };
        let lines: Vec<String> = match &change.before {
            None => Vec::new(),
            Some(before) => {
                let (before, now) = (before.content().into_owned(), now.content().into_owned());
                let text = after.content().into_owned();
                let added = text.lines().filter(|line| !before.lines().any(|l| l == *line));
                let still = added.filter(|line| now.lines().any(|l| l == *line)).map(str::to_owned);
                still.collect()
            }
        };
        // A rename alone leaves no line behind, but the title itself is the stain.
        let renamed = change.before.as_ref().is_some_and(|before| before.comment != after.comment);
        if change.before.is_some() && lines.is_empty() && !renamed {
            continue;
        }
        if seen.insert((after.uid, origin)) {
            found.push(Stain { uid: after.uid, comment: after.comment.clone(), origin, lines });
        }
    }
    found
}
