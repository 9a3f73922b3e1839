//! [`seen_from`]: the lives of books as one line of the story sees them, as [`Change`]s with a [`Place`] each.

use crate::story::ChatIx;
use std::collections::{HashMap, HashSet};

use super::author::Author;
use super::begun::{Beginning, Begun, Built, begun_with, built_from, copied, never_came};
use super::life::{Difference, Life, SeenBy, SightOf, everything_key};
use super::line::{Ancestor, Line};
use super::sight::Head;
use super::sorted::sorted;
use super::thing::Thing;
use super::{Cause, Change, Place};
use crate::format::book::EntryImage;

/// What a line sees of the lives of books, in clock order. Books come after those that they are copies of.
pub fn seen_from(lives: &[&Life], line: &Line<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    let begun = begun_with(lives, line);
    let built = built_from(lives, line);
    let copied = copied(lives);
    let mut strange = HashSet::new();
    for life in lives {
        let mut view = View {
            life,
            line,
            begun: &begun,
            built: &built,
            places: HashMap::new(),
            left: HashMap::new(),
            strange: &mut strange,
        };
        let own = changes.len();
        for difference in &life.differences {
            let (mut place, cause) = view.place(difference);
            if place == Place::Unattributed {
                place = view.perhaps(difference).unwrap_or(place);
            }
            view.note(difference, place);
            let sight = &life.sights[difference.shown];
            let clock = match (&difference.author, &sight.by) {
                (Author::Start, _) => i64::MIN,
                (_, SeenBy::Now) => i64::MAX,
                _ => sight.time,
            };
            let first =
                difference.since.is_some_and(|since| matches!(life.sights[since].by, SeenBy::Base(_)));
            changes.push(Change {
                thing: difference.thing.clone(),
                line: difference.line,
                clock,
                place,
                book: life.book.to_string(),
                before: difference.before.clone(),
                after: difference.after.clone(),
                observed: match sight.by {
                    SeenBy::Look(seq, _) => Some(seq),
                    _ => None,
                },
                cause,
                by: difference.author.chat(&life.scenes),
                rewrites: matches!(difference.author, Author::Mark(_) | Author::Replaced(_)),
                made_without: first && !life.is_whole && difference.after.is_none(),
            });
        }
        let sorted = sorted(life, line, &changes[own..]);
        changes.extend(sorted);
        changes[own..].sort_by_key(|change| change.clock);
        // Whatever another book was made with was there before anybody saw that one, and so was everything before it.
        let mut before = i64::MAX;
        for change in changes[own..].iter_mut().rev() {
            let text = |entry: &Option<EntryImage>| entry.as_ref().map(everything_key);
            // What changes something else of an entry may do so at any time.
            let brought =
                text(&change.after).filter(|_| !change.line && text(&change.before) != text(&change.after));
            let copies = brought.and_then(|text| copied.get(&(&change.thing, text))).into_iter().flatten();
            let times = copies.filter(|(copy, _)| copy.sources.contains(&life.book)).map(|(_, time)| *time);
            before = times.min().unwrap_or(i64::MAX).min(before);
            change.clock = change.clock.min(before);
        }
        changes.extend(never_came(life, line));
    }
    // Within a book the order is known, whatever the clocks say.
    changes.sort_by_key(|change| change.clock);
    changes
}

/// Where a chat stood at a sight, and the furthest until then.
type Stood = (Option<Head>, Option<usize>);

pub(super) struct View<'a> {
    pub(super) life: &'a Life,
    pub(super) line: &'a Line<'a>,
    begun: &'a Begun<'a>,
    built: &'a [Built<'a>],
    /// For a chat: where it stood at each sight, and the furthest until then.
    places: HashMap<ChatIx, Vec<Stood>>,
    /// For a chat: the first look that shows it bound to another book.
    left: HashMap<ChatIx, Option<u64>>,
    /// Things that others made: our line does not have them
    strange: &'a mut HashSet<Thing>,
}

impl View<'_> {
    fn place(&mut self, difference: &Difference) -> (Place, Cause) {
        match &difference.author {
            Author::Start => (Place::Start, Cause::Seen),
            Author::Scene(scene) => {
                let scene = &self.life.scenes[*scene];
                let ours = scene.carried_by(self.line.chat).map(Place::Ours);
                (ours.unwrap_or(Place::Elsewhere(scene.origin)), Cause::Scene)
            }
            Author::Mark(origin) => {
                let place = self.marked(*origin, difference);
                (self.begun_with(place, None, difference), Cause::Memory)
            }
            Author::Replaced(origin) => {
                let place = self.replaced(*origin, difference);
                (self.begun_with(place, None, difference), Cause::Memory)
            }
            Author::Lost(cause) => (Place::Unattributed, *cause),
            Author::Work(origin) => (self.worked(*origin, difference), Cause::Scene),
            Author::Hand(chat) => {
                if self.is_left(*chat, difference) {
                    return (Place::Unattributed, self.hand(difference));
                }
                let place = self.by_hand(*chat, difference);
                (self.begun_with(place, Some(*chat), difference), self.hand(difference))
            }
            Author::Anybody(player) => {
                let place = self.by_anybody(difference, *player);
                (self.begun_with(place, None, difference), self.hand(difference))
            }
            Author::Unknown => {
                // Where two were open it was one of them, whoever shows it later.
                let is_noted = self.life.sights[difference.shown].by.log().is_some();
                let ours = self.shown_by_ours(difference).filter(|_| !is_noted);
                let place = ours.unwrap_or_else(|| self.as_old_as_book(difference));
                (self.begun_with(place, None, difference), Cause::Seen)
            }
        }
    }

    /// Where something belongs that nobody ever saw the book without, of a book that was made for a chat which is gone: it may be as old as
    /// the book, for whoever has that.
    fn as_old_as_book(&self, difference: &Difference) -> Place {
        let is_first = difference.since.is_none() && difference.after.is_some();
        let above = self.line.ancestors.iter().map(|above| above.chat);
        let mut line = std::iter::once(self.line.chat).chain(above);
        if self.life.lost && is_first && line.any(|ours| self.life.users.contains(&ours)) {
            Place::Between { from: None, until: usize::MAX }
        } else {
            Place::Unattributed
        }
    }

    /// Where a change may belong that was made by one of several, of whom nobody knows which.
    fn perhaps(&mut self, difference: &Difference) -> Option<Place> {
        let line = self.line;
        for chat in &difference.perhaps {
            let above = line.ancestors.iter().find(|above| above.chat == *chat).copied();
            if *chat != line.chat && above.is_none_or(|above| self.is_after(difference, &above)) {
                continue;
            }
            let (from, _) = self.interval(*chat, difference);
            if above.is_none_or(|above| from.is_none_or(|from| from < above.limit)) {
                return Some(Place::Perhaps { from: from.and_then(|from| (line.ours)(*chat, from)) });
            }
        }
        None
    }

    /// Notes whose a thing is.
    fn note(&mut self, difference: &Difference, place: Place) {
        if difference.line {
            return;
        }
        if !matches!(place, Place::Elsewhere(_) | Place::Unattributed | Place::Perhaps { .. }) {
            self.strange.remove(&difference.thing);
        } else if difference.before.is_none() {
            self.strange.insert(difference.thing.clone());
        }
    }

    /// Nobody knows whether it was made before our fork or after: but our book was made with it, or without.
    fn begun_with(&mut self, place: Place, chat: Option<ChatIx>, difference: &Difference) -> Place {
        // What somebody does to an entry that our line does not have is nothing to it.
        if difference.before.is_some() && self.strange.contains(&difference.thing) {
            return place;
        }
        if matches!(place, Place::Unattributed)
            && let Some(message) = self.built_with(difference)
        {
            return Place::Ours(message);
        }
        let mut begun = self.begun.get(&difference.thing).into_iter().flatten();
        let Some(after) = &difference.after else {
            let sight = &self.life.sights[difference.shown];
            let later = begun.any(|beginning| beginning.outlives(&self.life.book, sight));
            return if later { Place::Unattributed } else { place };
        };
        let same = begun.filter(|beginning| {
            beginning.is_about(&self.life.book, difference.shown) && beginning.tells_of(after)
        });
        let Some(Beginning { message: until, there, .. }) = same.min_by_key(|beginning| beginning.message)
        else {
            return place;
        };
        match place {
            Place::Unattributed | Place::Between { from: Some(_), until: usize::MAX } if *there => {
                let from = chat.and_then(|chat| (self.line.ours)(chat, self.interval(chat, difference).0?));
                Place::dated(from, Some(*until))
            }
            // Who says himself where he belongs belongs there.
            Place::Elsewhere(_) => place,
            _ if !there => Place::Unattributed,
            place => place,
        }
    }

    /// The message of ours at which our book was built from a sight that shows what became of this. Whoever did it: our line went on
    /// with that.
    fn built_with(&self, difference: &Difference) -> Option<usize> {
        let is = |built: &&Built<'_>| {
            *built.source == *self.life.book
                && difference.shown <= built.sight
                && !built.missing.contains(&difference.thing)
        };
        self.built.iter().filter(is).map(|built| built.message).min()
    }

    /// Whether a chat had another book already when this was seen.
    pub(super) fn is_left(&mut self, chat: ChatIx, difference: &Difference) -> bool {
        let left = *self.left.entry(chat).or_insert_with(|| (self.line.left)(chat, &self.life.book));
        left.is_some_and(|left| match self.life.sights[difference.shown].by {
            SeenBy::Look(seq, _) => seq >= left,
            SeenBy::Now => true,
            _ => false,
        })
    }

    /// Whether a hand was seen at it, or only what came of it.
    fn hand(&self, difference: &Difference) -> Cause {
        let is_look = |sight: usize| matches!(self.life.sights[sight].by, SeenBy::Look(..));
        if is_look(difference.shown) && difference.since.is_some_and(is_look) {
            Cause::Hand
        } else {
            Cause::Seen
        }
    }

    /// Whether something was certainly done after our line had left a chat.
    pub(super) fn is_after(&self, difference: &Difference, above: &Ancestor) -> bool {
        let seq = |sight: usize| match self.life.sights[sight].by {
            SeenBy::Look(seq, _) => Some(seq),
            _ => None,
        };
        difference.since.is_some_and(|since| {
            let looked = above.looked.is_some_and(|(left, later)| {
                seq(since).is_some_and(|since| {
                    since >= left || seq(difference.shown).is_some_and(|shown| shown >= later)
                })
            });
            looked || self.life.sights[since].time >= above.left
        })
    }

    /// Whether something was certainly there when our line left a chat. While that chat had not gone on, what became visible in its book
    /// later may have been made before our fork, or after it.
    fn was_before(&self, difference: &Difference, above: &Ancestor) -> bool {
        let line = self.line;
        self.life.sights[difference.shown..difference.until].iter().any(|sight| {
            let seen = match &sight.by {
                SeenBy::Look(seq, _) => above.looked.is_none_or(|(left, _)| *seq < left),
                // What was processed before our fork is carried by it.
                SeenBy::Scene(scene) => self.life.scenes[*scene].carried_by(line.chat).is_some(),
                // It was noted with the message after that.
                SeenBy::Log(chat, head, _) => *chat == above.chat && *head < above.limit,
                SeenBy::Now => return false,
                SeenBy::Base(_) | SeenBy::Copy => false,
            };
            let head = || line.cast.head_at(above.chat, sight.time).filter(|_| sight.time < above.left);
            seen || above.forked.is_some_and(|forked| sight.time <= forked)
                || head().is_some_and(|head| head < above.limit)
        })
    }

    /// Works out where our line stood at each sight of the book, for [`View::interval`]: our chat, or the nearest above it that was there.
    pub(super) fn places_of_line(&mut self) {
        let ours = self.line.chat;
        if self.places.contains_key(&ours) {
            return;
        }
        let mut own = self.places(ours).to_vec();
        let mut furthest: Option<usize> = None;
        for (sight, place) in self.life.sights.iter().zip(&mut own) {
            if let SeenBy::Look(_, heads) = &sight.by
                && !heads.iter().any(|(chat, _)| *chat == ours)
            {
                let above = self.line.ancestors.iter().find_map(|above| {
                    let (_, head) = heads.iter().find(|(chat, _)| *chat == above.chat)?;
                    let here = |message: usize| (self.line.ours)(above.chat, message.min(above.limit));
                    Some(Head { from: head.from.and_then(here), to: here(head.to)?, ..*head })
                });
                place.0 = above.or(place.0);
            }
            place.1 = furthest;
            furthest = furthest.max(place.0.map(|head| head.to));
        }
        self.places.insert(ours, own);
    }

    /// Where a chat stood at each sight of the book.
    fn places(&mut self, chat: ChatIx) -> &[Stood] {
        let (life, cast) = (self.life, self.line.cast);
        self.places.entry(chat).or_insert_with(|| {
            let mut furthest: Option<usize> = None;
            let place = |by: &SeenBy, time: i64| {
                let exactly = |message: usize| Head { from: Some(message), to: message, later: false };
                let by_clock = || cast.head_at(chat, time).map(exactly);
                match by {
                    SeenBy::Base(at) if life.owner == Some(chat) => Some(exactly(*at)),
                    SeenBy::Scene(n) => life.scenes[*n].carried_by(chat).map(exactly).or_else(by_clock),
                    // By the clock it stood there, but nobody had looked at it before.
                    SeenBy::Look(_, heads) => {
                        let seen = heads.iter().find(|(c, _)| *c == chat).map(|(_, head)| *head);
                        seen.or_else(|| by_clock().map(|head| Head { from: None, ..head }))
                    }
                    SeenBy::Log(of, head, _) if *of == chat => Some(exactly(*head)),
                    SeenBy::Now => Some(exactly(cast.head(chat))),
                    SeenBy::Base(_) | SeenBy::Copy | SeenBy::Log(..) => by_clock(),
                }
            };
            let mut found = Vec::with_capacity(life.sights.len());
            for sight in &life.sights {
                let head = place(&sight.by, sight.time);
                found.push((head, furthest));
                furthest = furthest.max(head.map(|head| head.to));
            }
            found
        })
    }

    /// Between which messages of a chat a change was made by hand: not yet there at the first, there at the second.
    ///
    /// The second is the earliest place among the sights that show it, behind the last one that does not.
    pub(super) fn interval(
        &mut self,
        chat: ChatIx,
        difference: &Difference,
    ) -> (Option<usize>, Option<usize>) {
        self.earliest(chat, difference, false)
    }

    /// The same, with the second message where a scene was processed that shows the change, instead of the scene's own last message: by then it
    /// was there, whenever it was made.
    fn earliest(
        &mut self,
        chat: ChatIx,
        difference: &Difference,
        processed: bool,
    ) -> (Option<usize>, Option<usize>) {
        let (life, cast) = (self.life, self.line.cast);
        let (shown, until, since) = (difference.shown, difference.until, difference.since);
        let places = self.places(chat);
        let mut from = since.and_then(|since| places[since].1.max(places[since].0.map(|head| head.to)));
        if let (SeenBy::Look(..), Some(head)) = (&life.sights[shown].by, places[shown].0) {
            from = from.max(head.from);
        }
        let mut found: Option<usize> = None;
        for (sight, (head, _)) in life.sights[shown..until].iter().zip(&places[shown..until]) {
            let Some(head) = head else { continue };
            let place = match sight.by {
                // A scene can be processed long after its last message.
                SeenBy::Scene(_) if processed || from.is_some_and(|from| head.to <= from) => {
                    let at = cast.head_at(chat, sight.time).map_or(head.to, |at| at.max(head.to));
                    Some(at).filter(|at| from.is_none_or(|from| *at >= from))
                }
                _ => Some(head.to).filter(|to| from.is_none_or(|from| *to >= from)),
            };
            found = match (found, place) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        (from, found)
    }

    /// Where a change belongs that was made by hand in a chat.
    fn by_hand(&mut self, chat: ChatIx, difference: &Difference) -> Place {
        let is_now = matches!(self.life.sights[difference.shown].by, SeenBy::Now);
        // A chat that was brought back as it was then stood where the other one stood.
        let ours = self.line.chat;
        let stood = !self.life.users.contains(&ours)
            && match &self.life.sights[difference.shown].by {
                SeenBy::Look(_, heads) => heads.iter().any(|(chat, _)| *chat == ours),
                _ => false,
            };
        // What a copy had of its own is told by it alone: who wrote it, before or after, nobody knows.
        let is_copy = matches!(self.life.sights[difference.shown].by, SeenBy::Copy);
        if is_copy && difference.before.is_some() && self.strange.contains(&difference.thing) {
            return Place::Unattributed;
        }
        if chat == self.line.chat || stood {
            let (from, until) = self.interval(self.line.chat, difference);
            let place = self.dated(difference, from, until.filter(|_| !is_now));
            let (_, sure) = self.earliest(self.line.chat, difference, true);
            return if difference.before.is_none() { place.sure_from(sure) } else { place };
        }
        let Some(above) = self.line.ancestors.iter().find(|above| above.chat == chat).copied() else {
            // The chat that it was made in is gone, and so is what was between us: what our own scenes show is ours.
            let lost = !self.line.cast.related(chat, self.line.chat);
            return self.shown_by_ours(difference).filter(|_| lost).unwrap_or(Place::Unattributed);
        };
        // What an extension built our book from does not show what hands did since.
        let came_too_late =
            |built: &Built<'_>| *built.source == *self.life.book && built.sight < difference.shown;
        let is_noted = self.life.sights[difference.shown].by.log().is_some();
        if self.is_after(difference, &above) || (is_noted && self.built.iter().any(came_too_late)) {
            return Place::Unattributed;
        }
        let (from, until) = self.interval(chat, difference);
        let ours = |message: usize| (self.line.ours)(chat, message);
        match until {
            Some(until) if until <= above.limit && self.was_before(difference, &above) => {
                let place = self.dated(difference, from.and_then(ours), ours(until));
                let (_, sure) = self.earliest(chat, difference, true);
                let sure = sure.map(|sure| ours(sure.min(above.limit)).unwrap_or(until));
                if difference.before.is_none() { place.sure_from(sure) } else { place }
            }
            // Made before or after our fork, nobody knows; where our own snapshot shows it, it is ours.
            _ if from.is_none_or(|from| from < above.limit) => {
                let fork = ours(above.limit);
                let until = self.shown_by_ours(difference).and_then(|place| match place {
                    Place::Between { until, .. } if fork.is_none_or(|fork| until > fork) => Some(until),
                    _ => None,
                });
                match until {
                    Some(until) => Place::dated(from.and_then(ours), Some(until)),
                    // Nobody ever saw the book without it, and it may be as old as the book.
                    None if from.is_none() && !self.made_after(above) => {
                        Place::Between { from: None, until: usize::MAX }
                    }
                    // Taken out before or after our fork: it may be gone here, too.
                    None if difference.after.is_none() => {
                        Place::Between { from: from.and_then(ours), until: usize::MAX }
                    }
                    None => Place::Unattributed,
                }
            }
            // Our fork was made from an earlier message later on: what our line wrote onto this is one text.
            _ if difference.after.is_some() && self.was_before(difference, &above) => {
                Place::Between { from: ours(above.limit), until: usize::MAX }
            }
            _ => Place::Unattributed,
        }
    }

    /// Whether the book was made after our line had left the chat that it was made for.
    fn made_after(&self, above: Ancestor) -> bool {
        let head = self.life.made.and_then(|made| self.line.cast.head_at(above.chat, made));
        head.is_some_and(|head| head > above.limit)
    }

    /// Where a change belongs that was not there at one message and there at another. The first look at a book only meets what is there, and
    /// a copy what came since the last look.
    pub(super) fn dated(&self, difference: &Difference, from: Option<usize>, until: Option<usize>) -> Place {
        let place = Place::dated(from, until);
        let since = difference.since.map(|since| &self.life.sights[since].by);
        let copied = matches!(self.life.sights[difference.shown].by, SeenBy::Copy);
        let is_met =
            self.life.is_first_look(difference.shown) || (copied && matches!(since, Some(SeenBy::Look(..))));
        if !difference.line && is_met { place.met() } else { place }
    }

    /// The first message of ours whose scene shows a change.
    fn shown_by_ours(&self, difference: &Difference) -> Option<Place> {
        let line = self.line;
        let carried = |sight: &SightOf| match (&sight.by, self.life.owner) {
            (SeenBy::Scene(n), _) => self.life.scenes[*n].carried_by(line.chat),
            (SeenBy::Base(at), Some(owner)) if owner == line.chat => Some(*at),
            (SeenBy::Base(at), Some(owner)) => (line.ours)(owner, *at),
            _ => None,
        };
        let until = self.life.sights[difference.shown..difference.until].iter().filter_map(carried).min()?;
        let before = self.life.sights[..difference.shown].iter().filter_map(carried);
        Some(Place::Between { from: before.filter(|from| *from <= until).max(), until })
    }
}
