//! [`replay`]: from evidence to changes.
//!
//! Between two sightings of the same book lies what the later one's scene did; a book seen for the first time is compared with
//! what our line had earned until then, because a fork's own book starts as a copy of that.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::fold::Fold;
use super::observed::is_reordering;
use super::{Cause, Change, Event, Evidence, Live, Observed, Origin, Place, Seen, Sighting, line_mark};
use crate::adapter::auto_recap::{registry, text_hash};
use crate::adapter::{EntryRole, entry_role};
use crate::format::book::EntryImage;

/// Turns what is known into changes, in clock order.
pub fn replay(evidence: &Evidence) -> Vec<Change> {
    let mut sightings: Vec<&Sighting> = evidence.sightings.iter().collect();
    sightings.sort_by_key(|s| (s.clock, s.origin.message));
    let mut replay = Replay::new(evidence);
    let mut coming = sightings.as_slice();
    for observed in &evidence.observed {
        let past = coming.partition_point(|sighting| sighting.clock < observed.clock);
        coming[..past].iter().for_each(|sighting| replay.see(sighting));
        coming = &coming[past..];
        replay.observe(observed, coming);
    }
    coming.iter().for_each(|sighting| replay.see(sighting));
    replay.see_elsewhere(&evidence.elsewhere);
    if let Some(live) = &evidence.live {
        replay.see_live(live);
    }
    replay.changes.sort_by_key(|change| change.clock);
    replay.changes
}

/// A book as it was seen last.
#[derive(Clone)]
struct Last {
    entries: Arc<[EntryImage]>,
    /// Whether history saw it: then every field is known, and nothing went by unseen.
    observed: bool,
}

struct Replay<'a> {
    /// By name.
    events: HashMap<&'a str, Vec<&'a Event>>,
    start: &'a HashSet<u64>,
    /// The book whose changes are asked for, whoever made them.
    book: Option<&'a str>,
    changes: Vec<Change>,
    /// The observation that is being looked at, if it is history.
    observing: Option<u64>,
    /// The books as they were seen last, by name.
    last: HashMap<String, Last>,
    /// Where the last change of an entry that history saw belongs, by number.
    placed: HashMap<(String, i64), (Place, Cause)>,
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
    fn new(evidence: &'a Evidence) -> Self {
        let (foreign, foreign_lines) = (HashMap::new(), HashMap::new());
        let mut by_name: HashMap<&str, Vec<&Event>> = HashMap::new();
        for event in &evidence.events {
            by_name.entry(&event.name).or_default().push(event);
        }
        Self {
            events: by_name,
            start: &evidence.start,
            book: evidence.live.as_ref().map(|live| live.book.as_str()),
            changes: Vec::new(),
            observing: None,
            last: HashMap::new(),
            placed: HashMap::new(),
            earned: Fold::default(),
            seen_ours: false,
            foreign,
            foreign_lines,
        }
    }

    fn see(&mut self, sighting: &Sighting) {
        let place = sighting.ours.map_or(Place::Elsewhere(sighting.origin), Place::Ours);
        let before = self.last.get(&sighting.book).cloned();
        if let Some(last) = before.as_ref().filter(|last| last.observed) {
            self.see_between_observations(sighting, place, last);
            return;
        }
        let mut after: Cow<'_, [EntryImage]> = Cow::Borrowed(&sighting.entries);
        let (base, first): (Cow<'_, [EntryImage]>, bool) = match &before {
            Some(before) => (Cow::Borrowed(&before.entries), false),
            None if sighting.ours.is_some() => (self.earned.images().into(), !self.seen_ours),
            None => {
                // Another line's book, seen for the first time: what its scene wrote is that line's; what others are known to have
                // written is theirs; the rest may be common ground, and need not be looked at.
                let told = |entry: &&EntryImage| {
                    let event = || self.event(entry).is_some_and(|(event, _)| event.ours.is_none());
                    let foreign = || self.foreign_origin(entry).is_some() || event();
                    sighting.written.has(entry) || (!self.is_old_news(sighting, entry) && foreign())
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
        self.last.insert(sighting.book.clone(), Last { entries: sighting.entries.clone(), observed: false });
    }

    /// A scene's snapshot of a book that history knows. It says less of each entry than history does, so it counts only where it
    /// tells of something that history had not seen by then: while nobody watched.
    fn see_between_observations(&mut self, sighting: &Sighting, place: Place, last: &Last) {
        let mut entries = last.entries.to_vec();
        for (old, new) in pair_up(&last.entries, &sighting.entries) {
            let before = old.map(|i| &last.entries[i]);
            if entry_role(before.or(new.map(|i| &sighting.entries[i])).map_or("", |e| &e.comment))
                == EntryRole::Queue
            {
                continue;
            }
            let Some(after) = new.map(|i| &sighting.entries[i]) else {
                self.add(&sighting.book, sighting.clock, place, Cause::Seen, before.cloned(), None);
                entries.retain(|entry| Some(entry) != before);
                continue;
            };
            let cause = if sighting.written.has(after) { Cause::Scene } else { Cause::Seen };
            match before {
                Some(before) if before.content() == after.content() && before.comment == after.comment => {}
                Some(before) => {
                    let whole = super::apply(before, before, after);
                    self.add(
                        &sighting.book,
                        sighting.clock,
                        place,
                        cause,
                        Some(before.clone()),
                        Some(whole.clone()),
                    );
                    entries
                        .iter_mut()
                        .filter(|entry| *entry == before)
                        .for_each(|entry| *entry = whole.clone());
                }
                None => {
                    self.add(&sighting.book, sighting.clock, place, cause, None, Some(after.clone()));
                    entries.push(after.clone());
                }
            }
        }
        self.last.insert(sighting.book.clone(), Last { entries: entries.into(), observed: true });
    }

    fn observe(&mut self, observed: &Observed, coming: &[&Sighting]) {
        self.observing = Some(observed.seq);
        let before = self.last.get(&observed.book).cloned();
        match &observed.seen {
            Seen::Whole { entries, marks, ours } => {
                self.see_first(observed, entries, marks, *ours, before.as_ref());
                let last = Last { entries: entries.as_slice().into(), observed: true };
                self.last.insert(observed.book.clone(), last);
            }
            Seen::Changed { gone, new, marks } => {
                let mut entries = before.map(|last| last.entries.to_vec()).unwrap_or_default();
                let coming: Vec<&Sighting> =
                    coming.iter().copied().filter(|sighting| sighting.book == observed.book).collect();
                self.see_change(observed, gone, new, marks, &coming);
                for (old, new) in
                    pair_up(gone, new).into_iter().map(|(o, n)| (o.map(|i| &gone[i]), n.map(|i| &new[i])))
                {
                    let at = old.and_then(|old| entries.iter().position(|entry| entry == old));
                    match (at, new) {
                        (Some(at), Some(new)) => entries[at] = new.clone(),
                        (Some(at), None) => drop(entries.remove(at)),
                        (None, Some(new)) => entries.push(new.clone()),
                        (None, None) => {}
                    }
                }
                self.last.insert(observed.book.clone(), Last { entries: entries.into(), observed: true });
            }
        }
        self.observing = None;
    }

    /// A book that history sees for the first time: what is in it came before, and nobody knows when. What extensions left tells a
    /// part of that.
    fn see_first(
        &mut self,
        observed: &Observed,
        entries: &[EntryImage],
        marks: &[Option<Place>],
        ours: bool,
        before: Option<&Last>,
    ) {
        let base = before.map_or_else(|| self.earned.images(), |last| last.entries.to_vec());
        let place = match observed.head {
            _ if !ours => Place::Unattributed,
            Place::Ours(until) => Place::Between { from: self.furthest(), until },
            // That somebody else was being played when it was first looked at tells nothing of who wrote it.
            Place::Elsewhere(_) => Place::Undated,
            place => place,
        };
        let default = Default {
            book: &observed.book,
            clock: observed.clock,
            creation: place,
            change: place,
            first: false,
            unseen: before.is_none(),
        };
        self.compare(&base, entries, &default, &|i, _| {
            marks.get(i).copied().flatten().map_or(Told::Nothing, Told::Place)
        });
    }

    /// A change that history saw.
    fn see_change(
        &mut self,
        observed: &Observed,
        gone: &[EntryImage],
        new: &[EntryImage],
        marks: &[Option<Place>],
        coming: &[&Sighting],
    ) {
        let mut registries = Vec::new();
        for (old, fresh) in pair_up(gone, new) {
            let (before, after) = (old.map(|i| &gone[i]), fresh.map(|i| &new[i]));
            match entry_role(after.or(before).map_or("", |entry| &entry.comment)) {
                EntryRole::Queue => continue,
                EntryRole::Registry => {
                    registries.push((before, after));
                    continue;
                }
                EntryRole::Fact | EntryRole::Index => {}
            }
            if before.zip(after).is_some_and(|(before, after)| before == after) {
                continue;
            }
            let mark = fresh.and_then(|i| marks.get(i).copied().flatten());
            let event = after.filter(|_| before.is_none()).and_then(|after| self.event(after));
            let event = event.filter(|(_, text)| after.is_some_and(|after| after.content() == *text));
            let event =
                event.map(|(event, _)| event.ours.map_or(Place::Elsewhere(event.origin), Place::Ours));
            let placed = event.map(|place| (place, Cause::Scene));
            let (place, cause) = placed.unwrap_or_else(|| observed.place(before, after, mark, coming));
            if let Some(uid) = after.or(before).and_then(|entry| entry.uid) {
                self.placed.insert((observed.book.clone(), uid), (place, cause));
            }
            self.add(&observed.book, observed.clock, place, cause, before.cloned(), after.cloned());
        }
        // Their lines belong where the entries belong that they list, so those come first.
        for (before, after) in registries {
            self.observe_registry(observed, before, after);
        }
    }

    /// A registry changes line by line.
    fn observe_registry(
        &mut self,
        observed: &Observed,
        before: Option<&EntryImage>,
        after: Option<&EntryImage>,
    ) {
        let (mut old, Some(after)) = (before.cloned(), after) else {
            self.add(&observed.book, observed.clock, observed.head, Cause::Hand, before.cloned(), None);
            return;
        };
        if old.is_none() {
            let kind = registry::kind_of(&after.content()).map(str::to_owned);
            let stub = kind.map_or_else(|| after.clone(), |kind| after.with_content(&registry::empty(&kind)));
            if !self.earned.has_title(&after.comment) {
                self.add(&observed.book, i64::MIN, Place::Start, Cause::Seen, None, Some(stub.clone()));
            }
            old = Some(stub);
        }
        let text = after.content().into_owned();
        let had: Vec<String> =
            old.iter().flat_map(|old| old.content().lines().map(str::to_owned).collect::<Vec<_>>()).collect();
        for line in text.lines().filter(|line| !had.iter().any(|l| l == line)) {
            let Some(uid) = registry::line(line).and_then(|line| line.uid) else { continue };
            let Some(start) = old.clone() else { break };
            let named = observed.work.iter().find(|at| at.work.lists == Some(uid));
            let named = named.map(|at| (at.place, Cause::Scene));
            let placed = || self.placed.get(&(observed.book.clone(), uid)).copied();
            let Some((place, cause)) = named.or_else(placed) else { continue };
            let middle = after.with_content(&registry::with_line_of(&start.content(), &text, uid));
            if !middle.agrees_with(&start) {
                self.add(&observed.book, observed.clock, place, cause, Some(start), Some(middle.clone()));
                old = Some(middle);
            }
        }
        if old.as_ref().is_none_or(|old| !old.agrees_with(after)) {
            let sorted = observed.work.first().filter(|_| is_reordering(old.as_ref(), Some(after)));
            let (place, cause) = sorted.map_or((observed.head, Cause::Hand), |at| (at.place, Cause::Scene));
            self.add(&observed.book, observed.clock, place, cause, old, Some(after.clone()));
        }
    }

    /// The last message of our line that anything is known of.
    fn furthest(&self) -> Option<usize> {
        let places = self.changes.iter().filter_map(|change| match change.place {
            Place::Ours(message) | Place::Between { until: message, .. } => Some(message),
            _ => None,
        });
        places.max()
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
                self.add("", clock, place, Cause::Scene, None, Some(entry.with_content(&text)));
            }
        }
    }

    fn see_live(&mut self, live: &Live) {
        let before = self.last.get(&live.book).cloned();
        let (base, first): (Cow<'_, [EntryImage]>, bool) = match &before {
            Some(before) => (Cow::Borrowed(&before.entries), false),
            None => (self.earned.images().into(), !self.seen_ours),
        };
        let since = match (live.ours, self.furthest()) {
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
                found.push((default.clock, default.change, Cause::Seen, old.cloned(), None));
                continue;
            };
            let new = &after[i];
            if old.is_some_and(|old| old.agrees_with(new)) {
                continue;
            }
            if entry_role(&new.comment) == EntryRole::Queue {
                continue;
            }
            let (clock, place, cause) = match old {
                None => {
                    if let Some((event, first)) = self.event(new) {
                        let place = event.ours.map_or(Place::Elsewhere(event.origin), Place::Ours);
                        late.extend(new.uid.map(|uid| (uid, place, event.clock)));
                        let clock = event.clock;
                        let image = new.with_content(&first);
                        if !image.agrees_with(new) {
                            // Somebody added to it before it was seen.
                            found.push((clock, place, Cause::Scene, None, Some(image.clone())));
                            let (place, cause) = self.place(new, &told(i, new), default.change, false);
                            found.push((default.clock, place, cause, Some(image), Some(new.clone())));
                            continue;
                        }
                        (clock, place, Cause::Scene)
                    } else {
                        let (place, cause) = self.place(new, &told(i, new), default.creation, default.first);
                        (default.clock, place, cause)
                    }
                }
                Some(old) if old.content() == new.content() && old.comment == new.comment => {
                    (default.clock, default.change, Cause::Seen)
                }
                Some(_) => {
                    let told = match told(i, new) {
                        // A mark tells of the making, not of later changes.
                        Told::Place(_) => Told::Nothing,
                        told => told,
                    };
                    let (place, cause) = self.place(new, &told, default.change, false);
                    (default.clock, place, cause)
                }
            };
            let mut old = old.cloned();
            let fact = entry_role(&new.comment) == EntryRole::Fact;
            if fact && default.unseen && !matches!(place, Place::Elsewhere(_)) {
                // What is known line by line to be another line's came with the copy that the book started as.
                if let Some((origin, middle)) = self.foreign_part(old.as_ref(), new) {
                    found.push((clock, Place::Elsewhere(origin), Cause::Seen, old, Some(middle.clone())));
                    old = Some(middle);
                }
            }
            if old.as_ref().is_none_or(|old| !old.agrees_with(new)) {
                found.push((clock, place, cause, old, Some(new.clone())));
            }
        }
        for (clock, place, cause, old, new) in found {
            let registry = new.as_ref().is_some_and(|new| entry_role(&new.comment) == EntryRole::Registry);
            match new {
                Some(new) if registry => self.add_registry((clock, place, cause), default, old, new, &late),
                new => self.add(default.book, clock, place, cause, old, new),
            }
        }
    }

    /// Where a new text belongs: where it says itself, else with the scene that wrote it, else with the other line that is known to
    /// have written the very same; what is left is undated in a book that nothing was known of, and else takes the default.
    fn place(&self, new: &EntryImage, told: &Told, default: Place, first: bool) -> (Place, Cause) {
        match told {
            Told::Place(place) => (*place, Cause::Memory),
            Told::Written => (default, Cause::Scene),
            Told::Nothing => match self.foreign_origin(new) {
                Some(origin) => (Place::Elsewhere(origin), Cause::Seen),
                None if first && matches!(default, Place::Ours(_)) => (Place::Undated, Cause::Seen),
                None => (default, Cause::Seen),
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
            self.add(&sighting.book, i64::MIN, Place::Start, Cause::Seen, None, Some(stub));
        }
    }

    /// A registry changes line by line: lines of entries that came late belong where those entries belong.
    fn add_registry(
        &mut self,
        (clock, place, cause): (i64, Place, Cause),
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
            let text = registry::with_line_of(&before.content(), &new.content(), *uid);
            let middle = new.with_content(&text);
            self.add(default.book, *late_clock, *late_place, Cause::Scene, old.clone(), Some(middle.clone()));
            old = Some(middle);
        }
        if old.as_ref().is_none_or(|old| !old.agrees_with(&new)) {
            self.add(default.book, clock, place, cause, old, Some(new));
        }
    }

    fn add(
        &mut self,
        book: &str,
        clock: i64,
        place: Place,
        cause: Cause,
        before: Option<EntryImage>,
        after: Option<EntryImage>,
    ) {
        let observed = self.observing;
        let change = Change { clock, place, book: book.to_owned(), before, after, observed, cause };
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
            (Place::Start | Place::Ours(_) | Place::Undated | Place::Between { .. }, _) => {
                self.earned.play(&change);
            }
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

    /// Whether an entry in a book of no concern to us is known to have been made by another line, and we had nothing of it.
    fn is_old_news(&self, sighting: &Sighting, entry: &EntryImage) -> bool {
        let made = |foreign: &Foreign| foreign.new.contains(entry);
        self.book != Some(&sighting.book)
            && self.foreign.get(&entry.comment).is_some_and(made)
            && !self.earned.has_title(&entry.comment)
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
    let gone = changes.iter().filter(|change| is_of_first_look(change, &live.book) && change.after.is_none());
    gone.filter_map(|change| change.before.as_ref())
        .filter(|entry| entry_role(&entry.comment) == EntryRole::Fact && !seen(entry))
        .cloned()
        .collect()
}

/// Whether a change is what the book was like when it was first looked at: now, or by history.
fn is_of_first_look(change: &Change, book: &str) -> bool {
    change.book == book && (change.clock == i64::MAX || matches!(change.place, Place::Between { .. }))
}

/// The changes without those that only say that the book lacks these entries.
pub fn filled(changes: Vec<Change>, holes: &[EntryImage]) -> Vec<Change> {
    let is_hole = |entry: &EntryImage| holes.iter().any(|h| h.uid == entry.uid && h.comment == entry.comment);
    let fill = |mut change: Change| {
        if change.clock != i64::MAX && !matches!(change.place, Place::Between { .. }) {
            return Some(change);
        }
        match (&change.before, &change.after) {
            (Some(before), None) if is_hole(before) => return None,
            (Some(before), Some(after)) if entry_role(&after.comment) == EntryRole::Registry => {
                let mut text = after.content().into_owned();
                for uid in holes.iter().filter_map(|hole| hole.uid) {
                    text = registry::with_line_of(&text, &before.content(), uid);
                }
                change.after = Some(after.with_content(&text));
            }
            _ => {}
        }
        Some(change)
    };
    changes.into_iter().filter_map(fill).collect()
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
