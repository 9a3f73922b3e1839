//! What is [`Told`] of a change: whether it counts at a message of a chat, as far as the sights that are still there tell.
//!
//! - A change that somebody claims (a scene, an event key, a mark) belongs where the claim says.
//! - One by hand lies between two sights: not before the last that lacks it, at the latest at the first that shows it. In between nobody
//!   knows. Whose it is, is known if only one chat that is bound to the book went on in that time.
//! - Several changes of one thing between two sights are one to whoever looks: if only some of them count, nobody knows the text.

use super::gap::{Gap, Told};
use super::truth::Truth;
use super::world::{Carrier, Change, Chat, Claim, Keeper, Kind, Message};

impl Truth {
    /// The sights around a change that are still there.
    pub(super) fn gap(&self, n: usize) -> Gap {
        let change = &self.world.changes[n];
        let mut gap =
            Gap { from: self.world.books[change.book].born.as_ref().map(|b| b.clock), ..Gap::default() };
        let (mut before, mut after) = (None, None);
        for sight in self
            .world
            .sights
            .iter()
            .filter(|s| s.book == change.book && self.is_there(s.carrier, change.thing))
        {
            if sight.clock < change.clock {
                gap.from = Some(sight.clock);
                before = Some(sight.carrier);
            } else if gap.to.is_none() {
                gap.to = Some(sight.clock);
                after = Some(sight.carrier);
            }
        }
        let scene = |carrier: Option<Carrier>| match carrier {
            Some(Carrier::Scene { message, .. }) => Some(message),
            _ => None,
        };
        gap.scenes = scene(before).into_iter().chain(scene(after)).collect();
        // A side prompt keeps the text that it was run on.
        let next = self.things[&change.thing].iter().map(|m| &self.world.changes[*m]).find(|next| {
            next.book == change.book && next.clock > change.clock && matches!(next.kind, Kind::Write(..))
        });
        if let Some(next) = next.filter(|next| next.claim == Claim::Rewrite && self.shows(next, false))
            && gap.to.is_none_or(|to| to > next.clock)
        {
            (gap.to, gap.prior) = (Some(next.clock), true);
        }
        gap
    }

    /// Whether a sight is still there that shows the entry right as a change left it, as far as its text goes; and, where that is asked for,
    /// as far as its mark goes: what scenes keep of a book has none.
    fn shows(&self, change: &Change, marked: bool) -> bool {
        let text = match &change.kind {
            Kind::Make(_, lines) | Kind::Write(_, lines) => lines.join("\n"),
            _ => return false,
        };
        self.world.sights.iter().any(|sight| {
            sight.book == change.book
                && sight.clock > change.clock
                && !(marked && matches!(sight.carrier, Carrier::Scene { .. }))
                && self.is_there(sight.carrier, change.thing)
                && sight.seen.get(&change.thing).is_some_and(|(_, seen, _)| *seen == text)
        })
    }

    fn is_there(&self, carrier: Carrier, thing: usize) -> bool {
        match carrier {
            Carrier::Look | Carrier::Live => true,
            Carrier::Scene { message, combined } => {
                self.world.recorded.0.contains(&combined)
                    || self
                        .world
                        .chats
                        .iter()
                        .filter(|c| c.alive)
                        .any(|c| has_scene(&c.messages, Some(message), combined))
            }
            Carrier::Copy(k) => {
                let book = &self.world.books[k];
                let owner = book.born.as_ref().is_some_and(|born| self.world.chats[born.chat].alive);
                let changed = |book: usize, after: i64| {
                    let changes = self.world.changes.iter();
                    changes.filter(move |c| c.book == book && c.thing == thing && c.clock > after)
                };
                let touched = changed(k, i64::MIN).next().is_some();
                // Where somebody changed the original by hand, nobody can tell whether it was not the copy that was changed.
                let doubtful = book.born.as_ref().is_some_and(|born| {
                    let source = born.copy_of.unwrap_or(k);
                    changed(source, born.clock).any(|change| change.claim == Claim::Hand)
                });
                book.alive && owner && !touched && !doubtful
            }
        }
    }

    /// Whether somebody tells of a change that it is theirs, and that can be seen from a chat.
    fn is_claimed(&self, change: &Change, c: usize, ours: bool) -> bool {
        let alive = || self.world.chats.iter().filter(|chat| chat.alive);
        let chat = &self.world.chats[c];
        let named = || {
            // Marks name the chat: a name that has changed since leads nowhere.
            let author = &self.world.chats[change.author];
            author.alive && !author.name.starts_with("The road")
        };
        match &change.claim {
            Claim::Hand => false,
            Claim::Start => true,
            Claim::Scene(combined) => {
                self.world.recorded.0.contains(combined)
                    || if ours {
                        has_scene(&chat.messages, None, *combined)
                    } else {
                        alive().any(|chat| has_scene(&chat.messages, None, *combined))
                    }
            }
            Claim::Event(key) => {
                let has = |chat: &Chat| chat.running.versions.iter().any(|v| v.events.contains(key));
                self.world.recorded.1.contains(key) || if ours { has(chat) } else { alive().any(has) }
            }
            Claim::Mark => named() && self.gaps_to(change),
            Claim::Rewrite => named() && self.shows(change, true),
            Claim::Arc { .. } => named(),
        }
    }

    fn gaps_to(&self, change: &Change) -> bool {
        let Kind::Make(title, _) = &change.kind else { return true };
        self.world.sights.iter().any(|sight| {
            // What scenes keep of a book has no marks.
            sight.book == change.book
                && sight.clock > change.clock
                && !matches!(sight.carrier, Carrier::Scene { .. })
                && self.is_there(sight.carrier, change.thing)
                && sight.seen.get(&change.thing).is_some_and(|(seen, ..)| seen == title)
        })
    }

    /// Whether a change counts at a message of a chat, as far as the files tell.
    pub(super) fn told(&self, n: usize, c: usize, at: usize) -> Told {
        let change = &self.world.changes[n];
        let ours = self.lines[c].contains(&n);
        let place = self.places[c][n];
        let counts = ours && place.is_some_and(|place| place <= at);
        let yes_no = if counts { Told::Yes } else { Told::No };
        if self.world.chats[c].doubt.contains(&n) {
            return Told::Unknown;
        }
        let gap = &self.gaps[n];
        if self.is_claimed(change, c, ours) {
            return match &change.claim {
                Claim::Arc { from, sources } => {
                    let there = |thing: &usize| self.world.seen(change.book).contains_key(thing);
                    match self.world.place(c, *from) {
                        Some(from) if at < from && sources.iter().all(there) => Told::No,
                        _ if counts => Told::Yes,
                        _ => Told::Unknown,
                    }
                }
                // Made elsewhere of messages that this chat has as well: it is as much derived from them as anything.
                Claim::Mark | Claim::Rewrite if !ours && place.is_some_and(|place| place <= at) => {
                    Told::Unknown
                }
                // It is known to have happened, but nothing shows it.
                Claim::Event(_) if gap.to.is_none() && counts => Told::Unknown,
                _ => yes_no,
            };
        }
        if change.claim == Claim::Rewrite && gap.prior && counts {
            return Told::Yes;
        }
        // Who made it may have worked on any message.
        if change.claim != Claim::Hand {
            return Told::Unknown;
        }
        let seen = gap.scenes.iter().filter_map(|message| self.world.place(c, *message));
        let low = seen.chain([self.head(c, gap.from)]).min().unwrap_or(0);
        if at < low {
            return Told::No;
        }
        // Who writes into a book that is kept by hand writes for everybody who has it, each where it stood then.
        let book = Some(change.book).filter(|book| self.world.books[*book].keeper == Keeper::Hand);
        let shared = change.author != c && book.is_some() && self.world.chats[c].book == book;
        if shared || !self.is_author_known(change, gap) {
            return Told::Unknown;
        }
        let Some(to) = gap.to else { return Told::Unknown };
        if change.author == c {
            return if counts && at >= self.stood(c, to) { Told::Yes } else { Told::Unknown };
        }
        // The fork on the way from its author to here.
        let Some((z, fork)) = self.child_towards(change.author, c) else { return Told::No };
        let Some((early, late)) = self.fork_time(z) else { return Told::Unknown };
        if ours {
            let high = self.stood(change.author, to);
            let before = high <= fork && to <= early;
            return if before && counts && at >= high { Told::Yes } else { Told::Unknown };
        }
        let after = gap.from.is_some_and(|from| from >= late) || self.head(change.author, gap.from) > fork;
        if after { Told::No } else { Told::Unknown }
    }

    /// The last message of a chat at a time, by the dates of its messages.
    fn head(&self, c: usize, clock: Option<i64>) -> usize {
        let Some(clock) = clock else { return 0 };
        self.world.chats[c].messages.iter().rposition(|m| m.date <= clock).unwrap_or(0)
    }

    /// The last message that a chat had at a time. A swipe dates its message anew, but it had been there before.
    fn stood(&self, c: usize, clock: i64) -> usize {
        let there = |m: &Message| m.swipes.iter().map(|(_, date)| *date).chain([m.date]).min() <= Some(clock);
        self.world.chats[c].messages.iter().rposition(there).unwrap_or(0)
    }

    /// The fork of an ancestor on the way down to a chat, and the last message that every fork on that way has taken along.
    pub(super) fn child_towards(&self, ancestor: usize, c: usize) -> Option<(usize, usize)> {
        let (mut z, mut least) = (c, usize::MAX);
        loop {
            let parent = self.world.chats[z].parent.as_ref()?;
            least = least.min(parent.at);
            if parent.chat == ancestor {
                return Some((z, least));
            }
            z = parent.chat;
        }
    }

    /// When a fork was made, at the earliest and at the latest.
    fn fork_time(&self, c: usize) -> Option<(i64, i64)> {
        let chat = &self.world.chats[c];
        let parent = chat.parent.as_ref()?;
        if parent.noted {
            return Some((parent.clock, parent.clock));
        }
        let own = chat.messages.get(parent.at + 1).map_or(i64::MAX, |m| m.date);
        let before = self.world.looks.iter().copied().filter(|look| *look < parent.clock).max();
        let after = self.world.looks.iter().copied().filter(|look| *look > parent.clock).min();
        let early = before.unwrap_or(i64::MIN).max(parent.newest);
        Some((early, after.unwrap_or(i64::MAX).min(own)))
    }

    /// Whether it can only have been its author who made a change by hand.
    fn is_author_known(&self, change: &Change, gap: &Gap) -> bool {
        let (from, to) = (gap.from.unwrap_or(i64::MIN), gap.to.unwrap_or(i64::MAX));
        let within = |clock: i64| clock > from && clock <= to;
        let bound: Vec<usize> = (0..self.world.chats.len())
            .filter(|c| self.world.chats[*c].alive && self.world.chats[*c].book == Some(change.book))
            .collect();
        if bound == [change.author] {
            return true;
        }
        let moved = |c: &usize| {
            let chat = &self.world.chats[*c];
            let messages = chat.messages.iter().any(|m| within(m.date) && m.date > chat.made);
            let scenes = chat.messages.iter().filter_map(|m| m.scene.as_ref());
            let worked =
                scenes.flat_map(|s| &s.metadata).any(|(_, s)| within(s.combined) && s.combined > chat.made);
            messages || worked
        };
        // A fork that was made in the meantime leaves no other trace of what was done in it.
        let fresh = |c: &usize| *c != change.author && within(self.world.chats[*c].made);
        let (fresh, moved) = (bound.iter().any(fresh), bound.iter().copied().filter(moved));
        !fresh && moved.collect::<Vec<usize>>() == [change.author]
    }

    /// Whether what becomes of a thing can be told from what is told of its changes.
    pub(super) fn is_known(&self, changes: &[usize], told: &[Told]) -> bool {
        let absolute = |kind: &Kind| matches!(kind, Kind::Make(..) | Kind::Write(..) | Kind::Delete);
        let kind = |i: usize| &self.world.changes[changes[i]].kind;
        // Where nothing of ours was there before, what we added is all of it.
        let first =
            |i: usize| matches!(kind(i), Kind::Join(..)) && told[..i].iter().all(|told| *told == Told::No);
        let cut =
            (0..changes.len()).rev().find(|i| told[*i] == Told::Yes && (absolute(kind(*i)) || first(*i)));
        let from = cut.unwrap_or(0);
        if told[from..].contains(&Told::Unknown) {
            return false;
        }
        // What came before a text that was written anew can still decide about the title.
        let titled = |i: usize| told[i] == Told::Unknown && matches!(kind(i), Kind::Title(_));
        if cut.is_some_and(|cut| matches!(kind(cut), Kind::Write(..)) && (0..cut).any(titled)) {
            return false;
        }
        // Nothing that counts, or something added to what does not.
        let Some(cut) = cut else { return !told.contains(&Told::Yes) };
        let mut i = cut;
        while i < changes.len() {
            let gap = |i: usize| (self.world.changes[changes[i]].book, self.gaps[changes[i]].from);
            let end = (i..changes.len()).find(|j| gap(*j) != gap(i)).unwrap_or(changes.len());
            let counted = (i..end).filter(|j| told[*j] == Told::Yes).count();
            let last = told[end - 1] == Told::Yes;
            if counted > 0 && !(last && (absolute(kind(end - 1)) || counted == end - i)) {
                return false;
            }
            i = end;
        }
        true
    }
}

fn has_scene(messages: &[Message], message: Option<usize>, combined: i64) -> bool {
    let here = |m: &&Message| message.is_none_or(|id| m.id == id);
    let scenes = messages.iter().filter(here).filter_map(|m| m.scene.as_ref());
    scenes.flat_map(|scene| &scene.metadata).any(|(_, s)| s.combined == combined)
}
