//! [`fold`]: the changes that belong to a message, played in order, and a word about those that do not.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::entry::StateEntry;
use super::merge::{apply, overlay, write};
use super::numbers::number_anew;
use super::thing::Thing;
use super::{Cause, Change, Known, Origin, Place};
use crate::adapter::{EntryRole, entry_role, template};
use crate::format::book::EntryImage;
use crate::story::ChatIx;

/// A book being put together from changes.
#[derive(Debug, Clone, Default)]
pub struct Fold {
    /// In order of their last change; `None` where one was changed since or deleted.
    entries: Vec<Option<StateEntry>>,
    places: HashMap<Thing, usize>,
    /// What others did to things.
    foreign: HashMap<Thing, Foreign>,
    /// Lines that a chat above added after our line had left it, each with that chat
    beyond: HashMap<Thing, Vec<(ChatIx, String)>>,
    /// Things that do not belong to the message, as they were made.
    made: HashMap<Thing, EntryImage>,
    /// Things that somebody else has deleted, or at another message.
    deleted: HashSet<Thing>,
    /// How many things came so far: the older keeps its number.
    born: usize,
}

/// Lines of a thing that others wrote, and that they took out.
#[derive(Debug, Clone, Default)]
struct Foreign {
    added: HashSet<String>,
    removed: HashSet<String>,
}

/// The book at a message.
#[derive(Debug, Clone, Default)]
pub struct BookState {
    /// Its entries, by uid.
    pub entries: Vec<StateEntry>,
    /// What is known and does not belong there.
    pub left_out: Vec<LeftOut>,
    /// The last message at or before the asked one that evidence is from.
    pub basis: Option<usize>,
    /// Numbers that two entries needed, and those that the younger ones have instead.
    pub renumbered: Vec<(i64, i64)>,
}

/// An entry that is not in the book at a message, although it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Number of the entry.
    pub uid: Option<i64>,
    /// Title of the entry.
    pub comment: Arc<str>,
    /// How many of its lines are left out; 0 if all of it is.
    pub lines: usize,
    /// Why it is left out.
    pub why: Why,
}

/// Why something is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It belongs to a later message of this line.
    Later(usize),
    /// It came from elsewhere in the story.
    Elsewhere(Origin),
    /// It is undated, and undated entries are to be left.
    Undated,
    /// It was made after this message of our line, nobody knows when.
    Since(usize),
    /// Nobody knows who made it, in a book that was made for another chat.
    Unattributed,
}

/// What comes along although nothing proves that it belongs to the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carry {
    /// Entries that nothing dates
    pub undated: bool,
    /// What only the book as it is now shows. Not wanted while an extension is at work in it.
    pub since: bool,
    /// What one of several may have made, of whom the line is one.
    pub perhaps: bool,
}

/// The book at message `at` of a line whose last message is `head`.
///
/// What is left out is told of this line's later messages, and of what others wrote into the book named `book`.
pub fn fold(known: &Known, at: usize, head: usize, carry: Carry, book: Option<&str>) -> BookState {
    let changes = &known.changes;
    let mut fold = Fold::default();
    let mut skipped: Vec<(&Change, Why)> = Vec::new();
    let mut basis = None;
    for change in changes {
        if may_be_gone(change, at, head) {
            fold.doubt(&change.thing);
        }
        match fold.step(change, at, head, carry) {
            Ok(_) => match change.place {
                Place::Ours(message)
                | Place::Between { until: message, .. }
                | Place::Met { until: message, .. }
                    if message <= at =>
                {
                    basis = basis.max(Some(message));
                }
                _ => {}
            },
            Err(why) => skipped.push((change, why)),
        }
    }
    let left_out = left_out(&fold, &skipped, book);
    let mut entries: Vec<StateEntry> = fold.entries.iter().flatten().map(|e| e.whole(&known.roll)).collect();
    let renumbered = number_anew(&mut entries);
    entries.sort_by(|a, b| (a.image.uid, &a.image.comment).cmp(&(b.image.uid, &b.image.comment)));
    BookState { entries, left_out, basis, renumbered }
}

/// Whether a change belongs to message `at`, and if so whether only because nothing tells when it was made.
fn belongs(change: &Change, at: usize, head: usize, carry: Carry) -> Result<bool, Why> {
    let creation = change.before.is_none();
    match change.place {
        Place::Start => Ok(false),
        Place::Ours(message) if message <= at => Ok(false),
        Place::Ours(message) => Err(Why::Later(message)),
        Place::Elsewhere(origin) => Err(Why::Elsewhere(origin)),
        Place::Perhaps { from }
            if creation && carry.undated && carry.perhaps && from.is_none_or(|from| at >= from) =>
        {
            Ok(true)
        }
        Place::Unattributed | Place::Perhaps { .. } => Err(Why::Unattributed),
        Place::Between { until, .. } | Place::Met { until, .. } if until <= at => Ok(false),
        // Nobody ever saw the book without it.
        Place::Between { from: None, .. } if creation && carry.undated => Ok(true),
        Place::Since(message) if !carry.since => Err(Why::Since(message)),
        Place::Undated | Place::Since(_) if at >= head => Ok(false),
        Place::Undated if carry.undated => Ok(true),
        // It may have been there already: carried and marked. A mere change of what is known waits for the head.
        Place::Since(message) | Place::Met { from: message, .. }
            if creation && carry.undated && at >= message =>
        {
            Ok(true)
        }
        // What a look saw first, or a later run has kept, is as good as what the book of now shows: whoever looked may have gone before it
        // came, at that very message.
        Place::Between { from: Some(message), until }
            if (change.rewrites || is_first_looked_at(change))
                && until < usize::MAX
                && creation
                && carry.undated
                && at >= message =>
        {
            Ok(true)
        }
        Place::Undated | Place::Between { from: None, .. } => Err(Why::Undated),
        Place::Since(message)
        | Place::Between { from: Some(message), .. }
        | Place::Met { from: message, .. } => Err(Why::Since(message)),
    }
}

/// Whether a text has no line of another one.
fn is_replaced(before: &EntryImage, after: &EntryImage) -> bool {
    let (before, after) = (before.content(), after.content());
    !after.trim().is_empty() && only(&after, &before).count() == after.lines().count()
}

/// Whether a look was the first to see what a hand did, perhaps long after it.
fn is_first_looked_at(change: &Change) -> bool {
    change.observed.is_some()
        && (change.cause == Cause::Hand || (change.cause == Cause::Seen && !change.line))
}

/// Whether something was taken out by a hand that nobody saw, perhaps before this message, perhaps after it.
fn may_be_gone(change: &Change, at: usize, head: usize) -> bool {
    change.after.is_none()
        && !change.line
        && match change.place {
            Place::Between { from, until } => from.is_some_and(|from| from < at) && at < until,
            Place::Met { from, until } => from < at && at < until,
            Place::Since(from) => from < at && at < head,
            Place::Perhaps { from } => from.is_none_or(|from| from < at),
            _ => false,
        }
}

/// What playing a change did: the place that an entry left, and the one that it came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Moved {
    pub(super) from: Option<usize>,
    pub(super) to: Option<usize>,
}

fn left_out(fold: &Fold, skipped: &[(&Change, Why)], book: Option<&str>) -> Vec<LeftOut> {
    let mut listed: HashSet<(Option<i64>, Arc<str>)> = HashSet::new();
    let mut left_out = Vec::new();
    for (change, why) in skipped {
        let Some(entry) = change.after.as_ref().filter(|_| change.is_telling()) else { continue };
        let foreign = matches!(why, Why::Elsewhere(_) | Why::Unattributed);
        if entry_role(&entry.comment) != EntryRole::Fact || (foreign && book != Some(change.book.as_str())) {
            continue;
        }
        let there = fold.get(&change.thing);
        let lines = match (there, &change.before) {
            // That a later text of ours differs goes without saying.
            (Some(_), _) if !foreign => continue,
            (Some(there), Some(before)) => {
                let added = only(&entry.content(), &before.content()).collect::<Vec<_>>().join("\n");
                added.lines().filter(|line| !there.image.content().lines().any(|l| l == *line)).count()
            }
            _ => 0,
        };
        if (there.is_none() || lines > 0) && listed.insert((entry.uid, entry.comment.clone())) {
            left_out.push(LeftOut { uid: entry.uid, comment: entry.comment.clone(), lines, why: *why });
        }
    }
    left_out
}

/// The lines of one text that another does not have.
fn only<'a>(text: &'a str, other: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter(move |line| !other.lines().any(|l| l == *line))
}

impl Fold {
    fn get(&self, thing: &Thing) -> Option<&StateEntry> {
        self.places.get(thing).and_then(|place| self.at(*place))
    }

    /// Plays a change if it belongs to message `at`, and else remembers that others were at work there.
    pub(super) fn step(
        &mut self,
        change: &Change,
        at: usize,
        head: usize,
        carry: Carry,
    ) -> Result<Moved, Why> {
        match belongs(change, at, head, carry) {
            Ok(undated) => Ok(self.play(change, undated)),
            Err(why) => {
                if matches!(change.place, Place::Elsewhere(_) | Place::Unattributed | Place::Perhaps { .. }) {
                    self.note_foreign(change);
                }
                self.note_beyond(change);
                if change.after.is_none() && !change.line {
                    self.deleted.insert(change.thing.clone());
                }
                if let (None, Some(after), false) = (&change.before, &change.after, change.line) {
                    self.made.insert(change.thing.clone(), after.clone());
                }
                Err(why)
            }
        }
    }

    /// Remembers what others did to a thing.
    fn note_foreign(&mut self, change: &Change) {
        let content =
            |entry: &Option<EntryImage>| entry.as_ref().map(|e| e.content().into_owned()).unwrap_or_default();
        let (before, after) = (content(&change.before), content(&change.after));
        let foreign = self.foreign.entry(change.thing.clone()).or_default();
        foreign.added.extend(only(&after, &before).map(str::to_owned));
        foreign.removed.extend(only(&before, &after).map(str::to_owned));
    }

    /// Remembers what a hand in a chat above added after our line had left it. What that chat itself wrote on it is one text with it.
    fn note_beyond(&mut self, change: &Change) {
        let is_beyond = matches!(change.place, Place::Between { until: usize::MAX, .. }) && !change.line;
        let added = change.by.filter(|_| is_beyond).zip(change.added());
        if let Some((chat, lines)) = added {
            let known = self.beyond.entry(change.thing.clone()).or_default();
            known.extend(lines.lines().map(|line| (chat, line.to_owned())));
        }
    }

    /// Whether something of others is in the text that a change of our line started from.
    fn has_foreign_lines(&self, change: &Change, ours: &EntryImage, before: &EntryImage) -> bool {
        let thing = &change.thing;
        let beyond = self.beyond.get(thing).filter(|_| change.by.is_some());
        let is_beyond = |line: &str| {
            let mut lines = beyond.into_iter().flatten().filter(|(chat, _)| Some(*chat) != change.by);
            lines.any(|(_, known)| known == line)
        };
        if beyond.is_some() && only(&before.content(), &ours.content()).any(is_beyond) {
            return true;
        }
        let Some(foreign) = self.foreign.get(thing) else { return false };
        let (ours, before) = (ours.content(), before.content());
        only(&before, &ours).any(|line| foreign.added.contains(line))
            || only(&ours, &before).any(|line| foreign.removed.contains(line))
    }

    /// Nothing tells that this is still there.
    fn doubt(&mut self, thing: &Thing) {
        if let Some(entry) = self.places.get(thing).and_then(|place| self.entries[*place].as_mut()) {
            entry.undated = true;
        }
    }

    /// The entry at a place.
    pub(super) fn at(&self, place: usize) -> Option<&StateEntry> {
        self.entries.get(place)?.as_ref()
    }

    fn play(&mut self, change: &Change, undated: bool) -> Moved {
        let message = match change.place {
            Place::Ours(message)
            | Place::Between { until: message, .. }
            | Place::Met { until: message, .. }
                if !undated =>
            {
                Some(message)
            }
            _ => None,
        };
        let observed = change.observed.is_some();
        let place = self.places.get(&change.thing).copied();
        if change.line {
            return self.play_line(change, place, message, observed);
        }
        self.born += 1;
        let born = self.born;
        let fresh = |image: EntryImage, inferred| StateEntry {
            thing: Some(change.thing.clone()),
            message,
            undated,
            inferred,
            observed,
            born,
            ..StateEntry::plain(image)
        };
        let is_new = change.after.as_ref().filter(|_| place.is_none());
        let from = is_new.and_then(|after| self.take_made_again(change, after));
        match (&change.before, &change.after, place) {
            (_, None, Some(_)) => {
                drop(self.take(&change.thing));
                Moved { from: place, to: None }
            }
            (_, None, None) => Moved::default(),
            (before, Some(after), Some(_)) => {
                let Some(mut entry) = self.take(&change.thing) else { return Moved::default() };
                let before = before.as_ref().unwrap_or(after);
                let exact = entry.image.agrees_with(before);
                // What was written anew from the messages themselves owes nothing to what was there before. And what our own line
                // built on a later change of its own is one text: nothing of others is in it.
                let whole = change.is_telling()
                    && (change.rewrites || !self.has_foreign_lines(change, &entry.image, before));
                // Who only gives it another name takes no text along.
                let same_text = before.content() == after.content();
                entry.image = match whole && !exact && !same_text {
                    true if change.rewrites => write(&entry.image, before, after),
                    // A title that it did not give is whoever's gave it.
                    true if before.comment == after.comment && entry.image.comment != after.comment => {
                        let image = overlay(&entry.image, after);
                        match entry.image.raw().get("comment") {
                            Some(title) => image.with_field("comment", title),
                            None => image,
                        }
                    }
                    true => overlay(&entry.image, after),
                    false => apply(&entry.image, before, after),
                };
                if !exact && change.is_telling() && entry.image.content() != after.content() {
                    entry.inferred = vec!["content".to_owned()];
                }
                entry.message = message.or(entry.message);
                // That it was moved about or switched tells nothing of when it was made.
                entry.undated = undated || (entry.undated && !change.is_telling());
                entry.observed = observed;
                Moved { from: place, to: Some(self.put(entry)) }
            }
            // What is not ours is moved about or switched by whomever.
            (Some(_), Some(_), None) if !change.is_telling() => Moved::default(),
            // Written anew from our messages: the text is ours. What else others did to it since it was made is theirs.
            (Some(before), Some(after), None)
                if change.rewrites
                    && let Some(made) = self.made.get(&change.thing) =>
            {
                let image = write(made, before, after);
                let comment = image.comment.clone();
                Moved { from, to: Some(self.put(fresh(image.called(after.uid, comment), Vec::new()))) }
            }
            (Some(before), Some(after), None)
                if change.rewrites || !self.has_foreign_lines(change, &before.with_content(""), before) =>
            {
                Moved { from, to: Some(self.put(fresh(after.clone(), Vec::new()))) }
            }
            // Nothing is left of what another line has made, and only words of ours are there: whether it is ours now, nothing tells.
            (Some(before), Some(after), None)
                if matches!(change.cause, Cause::Hand | Cause::Seen) && is_replaced(before, after) =>
            {
                let entry = StateEntry { undated: true, ..fresh(after.clone(), Vec::new()) };
                Moved { from, to: Some(self.put(entry)) }
            }
            // A hand that writes into what another line has made makes no entry of our line: its words alone were never to be read.
            (Some(_), Some(_), None) if matches!(change.cause, Cause::Hand | Cause::Seen) => Moved::default(),
            // Another line made the entry, a scene of ours added to it: what we added is ours, the rest is not.
            (Some(before), Some(after), None) => {
                let added = only(&after.content(), &before.content()).collect::<Vec<_>>().join("\n");
                let image = (!added.is_empty()).then(|| after.with_content(&added));
                let to = image.map(|image| self.put(fresh(image, vec!["content".to_owned()])));
                Moved { from: None, to }
            }
            (None, Some(after), None) => Moved { from, to: Some(self.put(fresh(after.clone(), Vec::new()))) },
        }
    }

    /// What an extension writes again and again it makes anew only where it is not there any more, whoever has deleted it.
    fn take_made_again(&mut self, change: &Change, after: &EntryImage) -> Option<usize> {
        let made_by = template(after).filter(|_| change.rewrites)?;
        let is_it = |entry: &&StateEntry| {
            let is_gone = entry.thing.as_ref().is_some_and(|thing| self.deleted.contains(thing));
            is_gone
                && entry.image.comment == after.comment
                && template(&entry.image).as_ref() == Some(&made_by)
        };
        let thing = self.entries.iter().flatten().find(is_it)?.thing.clone()?;
        let place = self.places.get(&thing).copied();
        drop(self.take(&thing));
        place
    }

    /// A line of a registry.
    fn play_line(
        &mut self,
        change: &Change,
        place: Option<usize>,
        message: Option<usize>,
        observed: bool,
    ) -> Moved {
        let Some(mut entry) = self.take(&change.thing) else { return Moved::default() };
        let is =
            |line: &EntryImage, other: &EntryImage| line.uid == other.uid && line.comment == other.comment;
        let old = change.before.as_ref().and_then(|old| entry.lines.iter().position(|line| is(line, old)));
        match (&change.after, old) {
            (Some(after), Some(old)) => entry.lines[old] = after.clone(),
            (Some(after), None) => match entry.lines.iter().position(|line| is(line, after)) {
                Some(same) => entry.lines[same] = after.clone(),
                None => entry.lines.push(after.clone()),
            },
            (None, Some(old)) => drop(entry.lines.remove(old)),
            (None, None) => {}
        }
        entry.message = message.or(entry.message);
        entry.observed |= observed;
        Moved { from: place, to: Some(self.put(entry)) }
    }

    fn put(&mut self, entry: StateEntry) -> usize {
        let place = self.entries.len();
        self.places.extend(entry.thing.iter().map(|thing| (thing.clone(), place)));
        self.entries.push(Some(entry));
        place
    }

    fn take(&mut self, thing: &Thing) -> Option<StateEntry> {
        self.places.remove(thing).and_then(|place| self.entries[place].take())
    }
}
