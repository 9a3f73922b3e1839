//! [`replay`]: from evidence to changes.
//!
//! Between two sightings of the same book lies what the later one's scene did; a book seen for the first time is compared with
//! what our line had earned until then, because a fork's own book starts as a copy of that.

use std::collections::HashMap;

use super::fold::Fold;
use super::{Change, Event, Evidence, Live, Origin, Place, Sighting};
use crate::adapter::auto_recap::{registry, text_hash};
use crate::adapter::{EntryRole, entry_role};
use crate::format::book::EntryImage;

/// Turns what is known into changes, in clock order.
pub fn replay(evidence: &Evidence) -> Vec<Change> {
    let mut sightings: Vec<&Sighting> = evidence.sightings.iter().collect();
    sightings.sort_by_key(|s| (s.clock, s.origin.message));
    let mut replay = Replay {
        events: &evidence.events,
        changes: Vec::new(),
        earned: Fold::default(),
        foreign: HashMap::new(),
    };
    let mut last: HashMap<&str, &Sighting> = HashMap::new();
    for sighting in sightings {
        replay.see(sighting, last.get(sighting.book.as_str()).copied());
        last.insert(&sighting.book, sighting);
    }
    if let Some(live) = &evidence.live {
        replay.see_live(live, last.get(live.book.as_str()).copied());
    }
    replay.changes.sort_by_key(|change| change.clock);
    replay.changes
}

struct Replay<'a> {
    events: &'a [Event],
    changes: Vec<Change>,
    /// What our line has earned so far.
    earned: Fold,
    /// Entries as other lines wrote them: title and text, and who wrote them.
    foreign: HashMap<(String, String), Origin>,
}

/// How to place a change that nothing else explains.
struct Default<'a> {
    book: &'a str,
    clock: i64,
    creation: Place,
    change: Place,
    /// Nothing was known of this book before: registries start empty, and an entry that the scene did not write is undated.
    first: bool,
}

impl Replay<'_> {
    fn see(&mut self, sighting: &Sighting, before: Option<&Sighting>) {
        let place = sighting.ours.map_or(Place::Elsewhere(sighting.origin), Place::Ours);
        let (base, first) = match before {
            Some(before) => (before.entries.clone(), false),
            None if sighting.ours.is_some() => (self.earned.images(), self.earned.is_empty()),
            None => {
                // Another line's book, seen for the first time: only what its scene wrote is known to be that line's.
                let written = |entry: &&EntryImage| sighting.written.has(entry);
                (sighting.entries.iter().filter(|entry| !written(entry)).cloned().collect(), false)
            }
        };
        let default =
            Default { book: &sighting.book, clock: sighting.clock, creation: place, change: place, first };
        self.compare(&base, &sighting.entries, &default, &|_, entry| {
            let written = sighting.written.has(entry) || entry_role(&entry.comment) != EntryRole::Fact;
            (first && !written).then_some(Place::Undated)
        });
    }

    fn see_live(&mut self, live: &Live, before: Option<&Sighting>) {
        let (base, first) = match before {
            Some(before) => (before.entries.clone(), false),
            None => (self.earned.images(), self.earned.is_empty()),
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
        };
        self.compare(&base, &live.entries, &default, &|i, _| live.marks.get(i).copied().flatten());
    }

    /// Records what changed between two states of a book. `told` gives the place of an entry that something else tells.
    fn compare(
        &mut self,
        before: &[EntryImage],
        after: &[EntryImage],
        default: &Default<'_>,
        told: &dyn Fn(usize, &EntryImage) -> Option<Place>,
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
                    if let Some(event) = self.event(new) {
                        let place = event.ours.map_or(Place::Elsewhere(event.origin), Place::Ours);
                        late.extend(new.uid.map(|uid| (uid, place, event.clock)));
                        (event.clock, place)
                    } else if let Some(place) = told(i, new) {
                        (default.clock, place)
                    } else if let Some(origin) = self.foreign_origin(new, default) {
                        (default.clock, Place::Elsewhere(origin))
                    } else {
                        (default.clock, default.creation)
                    }
                }
                Some(_) => (default.clock, default.change),
            };
            found.push((clock, place, old.cloned(), Some(new.clone())));
        }
        for (clock, place, old, new) in found {
            let registry = new.as_ref().is_some_and(|new| entry_role(&new.comment) == EntryRole::Registry);
            match new {
                Some(new) if registry => self.add_registry((clock, place), default, old, new, &late),
                new => self.add(default.book, clock, place, old, new),
            }
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
        if default.first && old.is_none() {
            // An extension makes its registries with the book, empty.
            let kind = registry::kind_of(&new.content()).map(str::to_owned);
            let stub = kind.map_or_else(|| new.clone(), |kind| new.with_content(&registry::empty(&kind)));
            self.add(default.book, i64::MIN, Place::Start, None, Some(stub.clone()));
            if stub.agrees_with(&new) {
                return;
            }
            old = Some(stub);
        }
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
                self.foreign.insert((after.comment.clone(), after.content().into_owned()), origin);
            }
            (Place::Start | Place::Ours(_) | Place::Undated, _) => self.earned.play(&change),
            _ => {}
        }
        self.changes.push(change);
    }

    /// The event that this entry is.
    fn event(&self, entry: &EntryImage) -> Option<&Event> {
        let named = |event: &&Event| {
            entry.comment == event.name
                || entry.comment.strip_suffix(&event.name).is_some_and(|rest| rest.ends_with('-'))
        };
        let mut named =
            self.events.iter().filter(named).filter(|event| event.hash == text_hash(&entry.content()));
        let first = named.clone().find(|event| event.ours.is_some());
        first.or_else(|| named.next())
    }

    /// Who wrote an entry that appears in our book, word for word, and that our scene is not known to have written.
    fn foreign_origin(&self, entry: &EntryImage, default: &Default<'_>) -> Option<Origin> {
        if matches!(default.creation, Place::Elsewhere(_)) {
            return None;
        }
        self.foreign.get(&(entry.comment.clone(), entry.content().into_owned())).copied()
    }
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
                && !new_comments.contains_key(before[*i].comment.as_str())
                && !by_comment.contains_key(entry.comment.as_str())
        });
        let renumbered = || by_comment.get(entry.comment.as_str())?.iter().copied().find(|i| !taken[*i]);
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
    pub comment: String,
    /// Who wrote it.
    pub origin: Origin,
    /// The lines that came from there; empty if the whole entry did.
    pub lines: Vec<String>,
}

/// What other lines wrote into a book and is still in it.
pub fn stains(changes: &[Change], live: &Live) -> Vec<Stain> {
    let mut found: Vec<Stain> = Vec::new();
    for change in changes.iter().filter(|change| change.book == live.book && change.is_telling()) {
        let (Place::Elsewhere(origin), Some(after)) = (change.place, &change.after) else { continue };
        if entry_role(&after.comment) != EntryRole::Fact {
            continue;
        }
        let same = |entry: &&EntryImage| entry.uid == after.uid && entry.comment == after.comment;
        let Some(now) = live.entries.iter().find(same) else { continue };
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
        if !found.iter().any(|stain| stain.uid == after.uid && stain.origin == origin) {
            found.push(Stain { uid: after.uid, comment: after.comment.clone(), origin, lines });
        }
    }
    found
}
