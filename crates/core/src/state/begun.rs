//! What books began with, as a line sees it: [`Copies`] that prove when something was there, [`Begun`] and [`Built`] for what nothing else
//! tells of whose it is.

use std::collections::{HashMap, HashSet};

use super::life::{Life, SeenBy, SightOf, everything_key};
use super::line::Line;
use super::thing::Thing;
use super::{Cause, Change, Place};
use crate::format::book::EntryImage;

/// What books were made with: for each thing with its text the books, and when each of them was seen first.
pub(super) type Copies<'a> = HashMap<(&'a Thing, u64), Vec<(&'a Life, i64)>>;

/// A book that was made from others had what it was made with when it was made: at that time those others had it, too. That dates changes of
/// theirs that nothing else dates.
pub(super) fn copied<'a>(lives: &[&'a Life]) -> Copies<'a> {
    let mut copied = Copies::new();
    for life in lives {
        // The first sight is what it was made with, the next one is the first of itself.
        let Some(first) = life.sights.get(1).filter(|_| matches!(life.sights[0].by, SeenBy::Base(_))) else {
            continue;
        };
        // The first sight of the book itself says when, at the latest. One without a time proves nothing.
        if first.time == i64::MIN {
            continue;
        }
        for (thing, entry) in &life.base.state {
            copied.entry((thing, everything_key(entry))).or_default().push((life, first.time));
        }
    }
    copied
}

/// What books of our line were made with, and without, at which message of ours, where nothing but that tells whether it is ours.
pub(super) type Begun<'a> = HashMap<&'a Thing, Vec<Beginning<'a>>>;

/// What a book of our line was made with, or without.
pub(super) struct Beginning<'a> {
    /// The message of ours at which it was made
    pub(super) message: usize,
    pub(super) entry: &'a EntryImage,
    /// Whether it was made with it
    pub(super) there: bool,
    /// What it was made with instead
    instead: Option<&'a EntryImage>,
    /// The book, if the thing was taken out of those that it was made from only later
    kept: Option<&'a Life>,
    /// The book and the sight of it that was copied, if only what came after that is told of
    after: Option<(&'a str, usize)>,
}

impl Beginning<'_> {
    /// Whether this tells of what a sight of a book shows first: what had been copied was there, also if it is the same again later.
    pub(super) fn is_about(&self, book: &str, shown: usize) -> bool {
        self.after.is_none_or(|(copied, sight)| copied != book || shown > sight)
    }

    /// Whether what became of a thing is what this tells of. Where only settings were changed later, what was there says the same in words.
    pub(super) fn tells_of(&self, after: &EntryImage) -> bool {
        let alike = |entry: &EntryImage| {
            entry.comment == after.comment
                && entry.content() == after.content()
                && entry.is_disabled() == after.is_disabled()
        };
        alike(self.entry) && !self.instead.is_some_and(|was| alike(was) && agrees(was, after))
    }

    /// Whether the thing was taken out of a book that this one had been made from by then, as the first sight without it tells.
    pub(super) fn outlives(&self, book: &str, without: &SightOf) -> bool {
        self.kept.is_some_and(|life| {
            let seen = |sight: &SightOf| match sight.by {
                SeenBy::Look(seq, _) => Some(seq),
                _ => None,
            };
            // As for what the line certainly had: the clock of a look says only that it was not earlier.
            let made = life.sights.first().map_or(i64::MAX, |made| made.time);
            let looked = life.sights.iter().find_map(seen);
            let later = matches!(without.by, SeenBy::Now)
                || without.time > made
                || looked.is_some_and(|looked| seen(without) > Some(looked));
            later && life.sources.iter().any(|source| **source == *book)
        })
    }
}

/// Whether two sights of an entry agree in all settings that both show.
fn agrees(x: &EntryImage, y: &EntryImage) -> bool {
    x.raw().members().all(|(key, value)| {
        let name = key.as_text().filter(|name| !matches!(&**name, "uid" | "displayIndex"));
        name.and_then(|name| y.raw().get(&name)).is_none_or(|other| other.says_the_same(value))
    })
}

/// A book that was made for our line shows what the line had at that message, whoever had written it: with what it was made, and without what
/// its maker left out.
pub(super) fn begun_with<'a>(lives: &[&'a Life], line: &Line<'_>) -> Begun<'a> {
    let mut begun: Begun<'a> = HashMap::new();
    for life in lives {
        // What the first scene after the making still shows was there when that scene was processed, at the latest.
        let first = life.sights.get(1).and_then(|sight| match sight.by {
            SeenBy::Scene(scene) => life.scenes[scene].carried_by(line.chat),
            _ => None,
        });
        for (thing, entry) in life.base.shown.iter().chain(&life.base.with) {
            let shown =
                |message| Beginning { message, entry, there: true, instead: None, kept: None, after: None };
            begun.entry(thing).or_default().extend(first.map(shown));
        }
        let Some(message) = begun_at(life, line) else { continue };
        for (thing, entry) in &life.base.with {
            let kept = life.base.kept.contains(thing).then_some(*life);
            let with = Beginning { message, entry, there: true, instead: None, kept, after: None };
            begun.entry(thing).or_default().push(with);
        }
        for (thing, entry) in &life.base.without {
            let instead = life.base.state.iter().find(|(made, _)| made == thing).map(|(_, entry)| entry);
            // What it was made without counts before what it was made with: a thing can be both, but for a setting.
            let after = life.base.copied.as_ref().map(|(book, sight)| (&**book, *sight));
            let without = Beginning { message, entry, there: false, instead, kept: None, after };
            begun.entry(thing).or_default().insert(0, without);
        }
    }
    begun
}

/// A book of our line that was built from one sight of another.
pub(super) struct Built<'a> {
    pub(super) source: &'a str,
    pub(super) sight: usize,
    /// The message of ours at which it was built
    pub(super) message: usize,
    /// What was taken out of it before anybody saw it
    pub(super) missing: HashSet<&'a Thing>,
}

/// An extension builds the book of a fork from the other book as that is at the moment, with everything that one sight of it shows. What is
/// missing at the first sight of the new book was taken out by hand, and stays out.
pub(super) fn built_from<'a>(lives: &[&'a Life], line: &Line<'_>) -> Vec<Built<'a>> {
    let built = lives.iter().filter_map(|life| {
        let (source, sight) = life.built_from.as_ref()?;
        // What it was built from may be older than the fork that it was built for.
        let message = begun_at(life, line)?.max(forked_at(life, line).unwrap_or(0));
        let gone = life.differences.iter().filter(|difference| {
            difference.since == Some(0) && difference.after.is_none() && !difference.line
        });
        Some(Built {
            source,
            sight: *sight,
            message,
            missing: gone.map(|difference| &difference.thing).collect(),
        })
    });
    built.collect()
}

/// The message of our line at which a book was made for it.
pub(super) fn begun_at(life: &Life, line: &Line<'_>) -> Option<usize> {
    let Some(SeenBy::Base(at)) = life.sights.first().map(|sight| &sight.by) else { return None };
    let owner = life.owner?;
    if owner == line.chat {
        return Some(*at);
    }
    let above = line.ancestors.iter().find(|above| above.chat == owner)?;
    (*at <= above.limit).then(|| (line.ours)(owner, *at))?
}

/// The message of our line from which on it has a book: who left before that was made and has it all the same has had it from the fork on.
fn given_at(life: &Life, line: &Line<'_>) -> Option<usize> {
    begun_at(life, line).or_else(|| {
        let above = line.ancestors.iter().find(|above| Some(above.chat) == life.owner)?;
        life.users.contains(&line.chat).then(|| (line.ours)(above.chat, above.limit))?
    })
}

/// The message of our line that a chat was forked at, for which a book was made when it was.
fn forked_at(life: &Life, line: &Line<'_>) -> Option<usize> {
    let mut chats = std::iter::once(line.chat).chain(line.ancestors.iter().map(|above| above.chat));
    let above =
        chats.position(|chat| Some(chat) == life.owner).and_then(|owner| line.ancestors.get(owner))?;
    (line.ours)(above.chat, above.limit)
}

/// What our line had, and what the book that it went on with was built without: from its next message on it had that no more.
pub(super) fn never_came<'a>(life: &'a Life, line: &Line<'_>) -> impl Iterator<Item = Change> + 'a {
    let forked = forked_at(life, line);
    let message = given_at(life, line).map(|given| forked.map_or(given, |forked| forked.max(given)));
    life.base.never.iter().filter_map(move |(thing, entry)| {
        Some(Change {
            thing: thing.clone(),
            line: false,
            clock: i64::MAX,
            place: Place::Ours(message? + 1),
            book: life.book.to_string(),
            before: Some(entry.clone()),
            after: None,
            observed: None,
            cause: Cause::Seen,
            rewrites: false,
            by: None,
            made_without: true,
        })
    })
}
