//! [`attribute`]: who made each change in a book, as [`Author`]s.
//!
//! A **claim** is evidence that somebody made a change: what a scene says it wrote, a mark on the entry, work in the queue. A claimed
//! change belongs to that scene or place, wherever it became visible first. What nobody claims was made by hand: by the one chat that
//! was bound to the book and moved while it happened; by the chat that the book was made for if there were several, or none.

use crate::story::ChatIx;
use std::collections::{HashMap, HashSet};

use super::author::{AtWork, Author};
use super::life::{Difference, Life, SeenBy, is_titled};
use super::sight::{Cast, Scene};
use super::thing::{alike, words};
use super::{Cause, Origin};
use crate::adapter::{EntryRole, Mark, Work, entry_role};
use crate::format::book::EntryImage;
use crate::format::fields::means_the_same;

/// Finds out who made each change in a book.
pub(super) fn attribute(life: &mut Life, marked: &HashMap<usize, Mark>, works: &[AtWork], cast: &dyn Cast) {
    let mut authors: Vec<Author> =
        life.differences.iter().map(|difference| difference.author.clone()).collect();
    let claims = Claims { life, works };
    let mut told: HashSet<(usize, String, bool)> = HashSet::new();
    for (n, difference) in life.differences.iter().enumerate() {
        // An event that is known by its words was made once, like any other.
        if let Author::Scene(scene) = difference.author
            && let Some(entry) = difference.entry()
        {
            told.insert((scene, entry.comment.to_string(), difference.line));
        }
        if difference.author != Author::Unknown {
            continue;
        }
        let mark = marked.get(&n).map(|mark| (mark, cast.place_of(mark, life.owner, &life.users)));
        authors[n] = match mark {
            Some((mark, Some(origin))) if mark.by_then && !claims.is_younger(difference, origin) => {
                Author::Replaced(origin)
            }
            Some((mark, Some(origin))) if !mark.by_then => Author::Mark(origin),
            // Nobody has all that it sums up: whoever made it had some of another line, and nothing but where it was seen tells who.
            Some((mark, None)) if !mark.sources.is_empty() => {
                claims.claim(difference, &authors[..n], &mut told).unwrap_or(Author::Unknown)
            }
            Some((mark, None)) if mark.chat.is_some() && !mark.by_then => Author::Lost(Cause::Memory),
            _ => claims.claim(difference, &authors[..n], &mut told).unwrap_or(Author::Unknown),
        };
    }
    // Registries are written by scenes alone: a line that went made way for the one that has its number now.
    for (n, difference) in life.differences.iter().enumerate().filter(|(_, difference)| difference.line) {
        if authors[n] == Author::Unknown {
            authors[n] = claims.lister(difference, &authors).unwrap_or(Author::Unknown);
        }
    }
    // Whoever wrote the first line wrote the list around it, too.
    for (n, difference) in life.differences.iter().enumerate().filter(|(_, difference)| is_list(difference)) {
        if let Some(first) = claims.first_lister(difference, &authors) {
            authors[n] = first;
        }
    }
    let mut perhaps: HashMap<usize, Vec<ChatIx>> = HashMap::new();
    for (n, difference) in life.differences.iter().enumerate() {
        if authors[n] == Author::Unknown {
            let (author, others) = by_hand(life, difference, works, cast);
            authors[n] = author;
            perhaps.extend((!others.is_empty()).then_some((n, others)));
        }
    }
    for (n, (difference, author)) in life.differences.iter_mut().zip(authors).enumerate() {
        difference.author = author;
        difference.perhaps = perhaps.remove(&n).unwrap_or_default();
    }
}

struct Claims<'a> {
    life: &'a Life,
    works: &'a [AtWork],
}

impl Claims<'_> {
    /// The time in which a change was made. What a look saw may be younger than the look's own time says.
    fn window(&self, difference: &Difference) -> (i64, i64) {
        let sights = &self.life.sights;
        let begin = difference.since.map_or(i64::MIN, |since| sights[since].time);
        let end = match sights[difference.shown].by {
            SeenBy::Look(..) | SeenBy::Log(..) | SeenBy::Now => {
                let later = sights[difference.shown + 1..].iter();
                let mut scenes = later.filter(|sight| matches!(sight.by, SeenBy::Scene(_)));
                let end = scenes.next().map_or(i64::MAX, |sight| sight.time);
                match sights[difference.shown].by {
                    SeenBy::Log(.., Some(until)) => end.min(until),
                    _ => end,
                }
            }
            _ => sights[difference.shown].time,
        };
        (begin, end)
    }

    /// Whether somebody who looked saw an entry with other words after the message at which it had these at the latest, as whatever replaced
    /// it says, and went on in them: then it is a hand's that came later. What came whole was run late: on messages long past.
    fn is_younger(&self, difference: &Difference, by_then: Origin) -> bool {
        let goes_on =
            |(before, after): (&EntryImage, &EntryImage)| alike(&before.content(), &after.content());
        if !difference.before.as_ref().zip(difference.after.as_ref()).is_some_and(goes_on) {
            return false;
        }
        let since = difference.since.map(|since| &self.life.sights[since].by);
        matches!(since, Some(SeenBy::Look(_, heads)) if heads
            .iter()
            .any(|(chat, head)| *chat == by_then.chat && head.to > by_then.message))
    }

    /// Who claims a change: a scene that was processed at the time and says that it wrote this, else work that was seen.
    fn claim(
        &self,
        difference: &Difference,
        authors: &[Author],
        told: &mut HashSet<(usize, String, bool)>,
    ) -> Option<Author> {
        let (begin, end) = self.window(difference);
        let entry = difference.entry().filter(|_| !is_switched(difference))?;
        let title = entry.comment.to_string();
        let mut found: Vec<usize> = Vec::new();
        for (n, scene) in self.life.scenes.iter().enumerate() {
            if scene.began() >= end || self.is_idle(difference, scene) || self.is_done(difference, authors, n)
            {
                continue;
            }
            let at_work = scene.finished > begin;
            let claims = match &difference.after {
                None => at_work && self.swallowed(difference, n, scene),
                Some(after) if at_work && self.wrote(difference, n, scene, after) => true,
                Some(_) => {
                    let event = scene.events.iter().any(|(name, _)| is_titled(&title, name));
                    event
                        && !told.contains(&(n, title.clone(), difference.line))
                        && (difference.before.is_none() || (begin <= scene.finished && scene.finished <= end))
                }
            };
            if claims {
                found.push(n);
            }
        }
        // Who made something was the first to tell of it, whoever told more of it before anybody looked; who changed it, the last. What was done
        // when it was not there did not make it: another one of that name went.
        let began = |n: &usize| self.life.scenes[*n].began();
        let is_over = |n: &usize| self.life.scenes[*n].finished < begin;
        let made = |n: &usize| entry.uid.is_some_and(|uid| self.life.scenes[*n].written.uids.contains(&uid));
        let scene = match difference.before {
            None => found.iter().min_by_key(|n| (!made(n), is_over(n), began(n))),
            Some(_) => found.iter().max_by_key(|n| began(n)),
        };
        if let Some(scene) = scene {
            if self.life.scenes[*scene].events.iter().any(|(name, _)| is_titled(&title, name)) {
                told.insert((*scene, title, difference.line));
            }
            return Some(Author::Scene(*scene));
        }
        self.at_work(difference, entry).or_else(|| self.made_afterwards(difference))
    }

    /// The scene that made an entry after its snapshot was taken, as is done with events, where nothing names it: who shows it first does
    /// not say to have made it.
    fn made_afterwards(&self, difference: &Difference) -> Option<Author> {
        let after = difference.after.as_ref().filter(|_| difference.before.is_none())?;
        // What was there before and is made again was made by somebody else.
        let mut others =
            self.life.differences.iter().filter(|other| !other.line && other.shown < difference.shown);
        let is_known = |entry: &EntryImage| entry.comment == after.comment;
        if !self.life.keepers.made_afterwards(&after.comment)
            || others.any(|other| other.before.iter().any(is_known))
        {
            return None;
        }
        let (_, end) = self.window(difference);
        let shown = &self.life.sights[difference.shown].by;
        let scenes = self.life.scenes.iter().enumerate();
        let done = scenes.filter(|(n, scene)| scene.finished < end && !shown.is_scene(*n));
        let last = done.max_by_key(|(_, scene)| scene.finished).map(|(n, _)| Author::Scene(n));
        // A book that goes on under another name was last written by the scene that it was known from.
        let before = || match self.life.sights.first()?.by {
            SeenBy::Base(message) if self.life.built_from.is_some() && difference.since == Some(0) => {
                Some(Author::Work(Origin { chat: self.life.owner?, message }))
            }
            _ => None,
        };
        last.or_else(before)
    }

    /// Whether the processing of a scene was watched while a change was made, and nothing of it did that.
    fn is_idle(&self, difference: &Difference, scene: &Scene) -> bool {
        let next = difference.since.is_some_and(|since| since + 1 == difference.shown);
        let (Some(at), Some(entry)) =
            (self.works.get(difference.shown).filter(|at| next && at.live), difference.entry())
        else {
            return false;
        };
        let of_scene = |(_, origin): &&(Work, Option<Origin>)| {
            origin.is_some_and(|origin| scene.carried_by(origin.chat) == Some(origin.message))
        };
        let mut work = at.work.iter().filter(of_scene).peekable();
        work.peek().is_some() && !work.any(|(work, _)| does(work, difference, entry))
    }

    /// Whether a scene was seen to have written a thing before, and nothing was at work when it was changed again.
    fn is_done(&self, difference: &Difference, authors: &[Author], scene: usize) -> bool {
        let is_look = |sight: usize| matches!(self.life.sights[sight].by, SeenBy::Look(..));
        let idle = |sight: usize| self.works.get(sight).is_some_and(|at| at.work.is_empty());
        let quiet = difference.since.is_some_and(|since| {
            let now = matches!(self.life.sights[difference.shown].by, SeenBy::Now);
            let next = is_look(since) && since + 1 == difference.shown;
            next && ((is_look(difference.shown) && idle(difference.shown)) || (now && idle(since)))
        });
        quiet
            && self.life.differences.iter().zip(authors).any(|(other, author)| {
                *author == Author::Scene(scene)
                    && other.thing == difference.thing
                    && !other.line
                    && is_look(other.shown)
            })
    }

    /// Whether a scene says that it wrote this.
    fn wrote(&self, difference: &Difference, n: usize, scene: &Scene, after: &EntryImage) -> bool {
        let named =
            [difference.before.as_ref(), Some(after)].into_iter().flatten().any(|e| scene.written.names(e));
        let numbered = |uid: Option<i64>| {
            uid.is_some_and(|u| scene.written.uids.contains(&u) || scene.written.told.contains(&u))
        };
        let own = self.life.sights[difference.shown].by.is_scene(n);
        // Numbers are used again: a scene's number means this entry only in its own snapshot, or if it is not new.
        let wrote = named
            || (numbered(after.uid)
                && (own
                    || difference.before.is_some()
                    || self.is_in_snapshot(difference, n)
                    || self.is_first_since(difference, n)))
            || (own && is_moved(difference));
        // A look may have seen a scene's work before the chat was saved. But if the scene's own write came later, this was not it.
        let time = self.life.sights[difference.shown].time;
        wrote && (scene.began() < time || own || !self.is_written_later(difference, n))
    }

    /// Whether the snapshot of a scene shows what this difference made, under the same number.
    fn is_in_snapshot(&self, difference: &Difference, scene: usize) -> bool {
        let mut until = difference.until;
        // To be moved about among the others makes nothing else of it.
        let moved = |until: usize| {
            let same = |other: &&Difference| {
                other.thing == difference.thing && other.shown == until && is_moved(other)
            };
            self.life.differences.iter().find(same).map(|other| other.until)
        };
        while let Some(later) = moved(until) {
            until = later;
        }
        let sights = self.life.sights.get(difference.shown..until).unwrap_or_default();
        sights.iter().any(|sight| sight.by.is_scene(scene))
    }

    /// Whether this is the first that was seen under its number since a scene that has kept no snapshot, and whoever saw it does not say
    /// to have made it.
    fn is_first_since(&self, difference: &Difference, scene: usize) -> bool {
        let sights = &self.life.sights;
        let Some(uid) = difference.entry().and_then(|entry| entry.uid) else { return false };
        let made_by_other = match sights[difference.shown].by {
            SeenBy::Scene(shown) => self.life.scenes[shown].written.uids.contains(&uid),
            _ => false,
        };
        let before = |other: &Difference| {
            other.shown < difference.shown
                && sights[other.shown].time > self.life.scenes[scene].began()
                && other.after.as_ref().is_some_and(|after| after.uid == Some(uid))
        };
        !made_by_other
            && !sights.iter().any(|sight| sight.by.is_scene(scene))
            && !self.life.differences.iter().filter(|other| !other.line).any(before)
    }

    /// Whether a thing was changed again before a scene was done.
    fn is_written_later(&self, difference: &Difference, scene: usize) -> bool {
        let done = self.life.sights.iter().position(|sight| sight.by.is_scene(scene));
        let finished = self.life.scenes[scene].finished;
        let before = |sight: usize| match done {
            Some(done) => sight <= done,
            None => self.life.sights[sight].time < finished,
        };
        let mut later = self.life.differences.iter().filter(|other| other.shown > difference.shown);
        later.any(|other| {
            other.thing == difference.thing
                && other.line == difference.line
                && before(other.shown)
                && !is_moved(other)
        })
    }

    /// Whether a scene merged an entry that went into another: its words are in what was added there.
    fn swallowed(&self, difference: &Difference, n: usize, scene: &Scene) -> bool {
        let Some(gone) = difference.before.as_ref().filter(|_| !difference.line) else { return false };
        if !self.life.sights[difference.shown].by.is_scene(n) {
            return false;
        }
        let gone = words(&gone.content());
        let grew = |other: &Difference| {
            let (Some(before), Some(after)) = (&other.before, &other.after) else { return false };
            if other.line || other.shown != difference.shown || !scene.written.has(after) {
                return false;
            }
            let (before, after) = (words(&before.content()), words(&after.content()));
            let added = after.difference(&before).filter(|word| gone.contains(*word)).count();
            !gone.is_empty() && added * 2 >= gone.len()
        };
        self.life.differences.iter().any(grew)
    }

    /// Work in the queue that was seen at the time and says that it writes this, or can.
    fn at_work(&self, difference: &Difference, entry: &EntryImage) -> Option<Author> {
        let mut works = self.works.get(difference.shown).into_iter().flat_map(|at| &at.work);
        let (_, origin) = works.find(|(work, _)| does(work, difference, entry))?;
        Some(origin.map_or(Author::Lost(Cause::Scene), Author::Work))
    }

    /// The first of those who changed lines of a registry while the rest of it was changed.
    fn first_lister(&self, difference: &Difference, authors: &[Author]) -> Option<Author> {
        let lines = self.life.differences.iter().zip(authors).filter(|(other, _)| {
            other.line && other.thing == difference.thing && other.shown == difference.shown
        });
        let scenes = lines.filter_map(|(_, author)| match author {
            Author::Scene(scene) => Some(*scene),
            _ => None,
        });
        scenes.min_by_key(|scene| self.life.scenes[*scene].finished).map(Author::Scene)
    }

    /// Who changed a line of a registry that nobody claims: whoever gave its number away, else the scene at work.
    fn lister(&self, difference: &Difference, authors: &[Author]) -> Option<Author> {
        let uid = difference.entry()?.uid;
        let mut heirs = self.life.differences.iter().zip(authors).filter(|(other, author)| {
            let same = other.shown == difference.shown && other.thing == difference.thing && other.line;
            same && **author != Author::Unknown && other.after.as_ref().is_some_and(|after| after.uid == uid)
        });
        if let Some((_, author)) = heirs.next_back() {
            return Some(author.clone());
        }
        let (begin, end) = self.window(difference);
        let scene = self.life.scenes.iter().rposition(|scene| scene.began() < end && scene.finished > begin);
        scene.map(Author::Scene)
    }
}

/// Whether a piece of work says that it does this, or can.
fn does(work: &Work, difference: &Difference, entry: &EntryImage) -> bool {
    let lists = difference.line && work.lists.is_some() && work.lists == entry.uid;
    let made = difference.before.is_none() && is_entity(&entry.comment);
    lists || work.names(entry) || (work.makes && (made || is_moved(difference)))
}

/// Whether a registry itself was changed, whatever it lists.
fn is_list(difference: &Difference) -> bool {
    let (Some(before), Some(after)) = (&difference.before, &difference.after) else { return false };
    !difference.line
        && before.content() == after.content()
        && entry_role(&after.comment) == EntryRole::Registry
}

/// Whether an entry was only switched on or off. Scenes write; the switch is turned by hand.
fn is_switched(difference: &Difference) -> bool {
    let (Some(old), Some(new)) = (&difference.before, &difference.after) else { return false };
    old.is_disabled() != new.is_disabled() && old.comment == new.comment && old.content() == new.content()
}

/// Whether an entry was only moved about among the others, as an extension does that sorts its book.
fn is_moved(difference: &Difference) -> bool {
    let (Some(old), Some(new)) = (&difference.before, &difference.after) else { return false };
    let (before, after) = (old.raw(), new.raw());
    let same = |(key, value): (forklore_json::Raw<'_>, forklore_json::Raw<'_>)| {
        let moved = key.is_text("order") || key.is_text("displayIndex");
        let known = || key.as_text().and_then(|key| before.get(&key));
        moved || known().is_none_or(|old| means_the_same(key, old, value))
    };
    !difference.line
        && old.comment == new.comment
        && old.is_disabled() == new.is_disabled()
        && after.members().all(same)
}

/// Whether a title is of the form that memory extensions give to what they find in a scene: "character-Mara".
fn is_entity(comment: &str) -> bool {
    entry_role(comment) == EntryRole::Fact
        && comment.split_once('-').is_some_and(|(kind, name)| {
            !kind.is_empty() && !name.is_empty() && kind.chars().all(|c| c.is_alphanumeric() || c == '_')
        })
}

/// Whose hand it was, and who it may have been as well.
fn by_hand(life: &Life, difference: &Difference, works: &[AtWork], cast: &dyn Cast) -> (Author, Vec<ChatIx>) {
    let at = works.get(difference.shown);
    if life.by_choice {
        return (Author::Anybody(at.and_then(|at| at.player)), Vec::new());
    }
    let sights = &life.sights;
    let movers = movers(life, difference, works, cast);
    // Who processes a scene has its chat before him.
    let processed = match sights[difference.shown].by {
        SeenBy::Scene(scene) => Some(life.scenes[scene].origin.chat),
        _ => None,
    };
    let player = at.and_then(|at| at.player).or(processed).filter(|chat| life.users.contains(chat));
    // Who had it before him, when the book was seen last.
    let last = difference.since.and_then(|since| match sights[since].by {
        SeenBy::Scene(scene) => Some(life.scenes[scene].origin.chat),
        ref by => by.log(),
    });
    let last = last.filter(|chat| life.users.contains(chat));
    // Who is gone did nothing afterwards.
    let heir = life.heir.filter(|heir| match &sights[difference.shown].by {
        SeenBy::Look(seq, _) => *seq >= heir.from,
        by => matches!(by, SeenBy::Now),
    });
    let owner = heir.map_or(life.owner.filter(|_| !life.lost), |heir| heir.chat);
    let hand = |chat: Option<ChatIx>| chat.map_or(Author::Unknown, Author::Hand);
    // Between two looks, or before the first, nothing is sure: whoever was saved last need not be the one that was open, and of several who
    // went on it may have been the one that the book was made for, without going on.
    let is_look = |sight: usize| matches!(sights[sight].by, SeenBy::Look(..));
    let seen_by_looks = is_look(difference.shown) && difference.since.is_none_or(is_look);
    let between_looks = seen_by_looks && difference.since.is_some();
    // Whoever may have been it carries it, marked.
    let perhaps = |able: &[ChatIx]| -> Vec<ChatIx> {
        let able = able.iter().copied().chain(owner.filter(|owner| !able.contains(owner)));
        able.filter(|_| seen_by_looks).collect()
    };
    // What was noted with a message tells whose hand it was if that chat was the one before it, too; else one of the two was open.
    if let Some(noted) = sights[difference.shown].by.log() {
        // What was done in the chat above before the other one came from it is in that as well.
        let time = sights[difference.shown].time;
        let is_above =
            |last: ChatIx| cast.head_at(last, time).is_some_and(|head| cast.has_from(noted, last, head));
        return match last.filter(|last| *last != noted && !is_above(*last)) {
            Some(before) => (Author::Unknown, vec![before, noted]),
            None => (Author::Hand(noted), Vec::new()),
        };
    }
    match (&movers[..], player) {
        // Somebody else was saved after that one had gone on, and nothing but the book since.
        ([one], Some(last)) if between_looks && last != *one => (hand(Some(last)), vec![*one]),
        ([one], _) => (hand(Some(*one)), Vec::new()),
        // Of several it was one, but nobody knows which; the owner if he was among them.
        ([_, _, ..], _) => {
            let likely = player.or(owner.filter(|owner| movers.contains(owner)));
            (hand(likely), perhaps(&movers))
        }
        ([], _) => (hand(player.or(last).or(owner)), perhaps(&life.users)),
    }
}

/// Those who went on while something was changed.
fn movers(life: &Life, difference: &Difference, works: &[AtWork], cast: &dyn Cast) -> Vec<ChatIx> {
    let sights = &life.sights;
    let (since, shown) = Claims { life, works }.window(difference);
    let moved = |chat: ChatIx| {
        let head = |heads: &[(ChatIx, super::sight::Head)]| {
            heads.iter().find(|(c, _)| *c == chat).map(|(_, head)| head.to)
        };
        match (difference.since.map(|since| &sights[since].by), &sights[difference.shown].by) {
            (Some(SeenBy::Look(_, before)), SeenBy::Look(_, after)) => {
                let is_there = after.iter().any(|(c, head)| *c == chat && !head.later);
                is_there && head(before) != head(after)
            }
            // What was played after the look is nothing to it.
            (_, SeenBy::Look(_, heads)) => match head(heads) {
                Some(to) => cast.played(chat, since, shown) && cast.head_at(chat, since) < Some(to),
                None => cast.played(chat, since, sights[difference.shown].time),
            },
            _ => cast.played(chat, since, shown),
        }
    };
    life.users.iter().copied().filter(|chat| moved(*chat)).collect()
}
