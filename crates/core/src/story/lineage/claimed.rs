//! What `main_chat` of a chat says, weighed by its [`Tracer`]: the parent by that name, one that was renamed, one of another story, or one that
//! is gone.

use std::cmp::Reverse;

use super::super::chat_ix::ChatIx;
use super::super::line::Confidence;
use super::meet::Meeting;
use super::names::{date, names};
use super::tracer::Tracer;
use super::{Basis, Chat, Kind, Lineage, ParentNote};
use crate::format::names::ForkName;

impl Tracer<'_> {
    /// What `main_chat` says, as far as the transcripts agree.
    pub(super) fn claimed(&self, c: ChatIx, claimed: &str) -> Lineage {
        let chat = &self.chats[c];
        let named = self.named(chat.story, claimed).filter(|p| *p != c);
        let met = named.and_then(|p| self.meeter.meet(c, p).map(|meeting| (p, meeting)));
        // A meeting at the greeting alone proves little: another chat may have taken the name since.
        if let Some((parent, meeting)) = met.filter(|(_, meeting)| meeting.fork > 0) {
            if let Some((former, meeting)) = self.former_owner(c, claimed, parent, meeting) {
                let note = Some(ParentNote::Renamed(claimed.to_owned()));
                return self.fork(c, former, meeting, Basis::Moments, note);
            }
            return self.fork(c, parent, meeting, Basis::MainChat, None);
        }
        if let Some((parent, meeting)) = self.renamed_parent(c, claimed)
            && met.is_none_or(|(named, _)| self.may_have_been(parent, named))
        {
            let note = Some(ParentNote::Renamed(claimed.to_owned()));
            return self.fork(c, parent, meeting, Basis::Moments, note);
        }
        if let Some((parent, meeting)) = met {
            return self.fork(c, parent, meeting, Basis::MainChat, None);
        }
        // Chats are carried over to other cards, one by one.
        if let Some((parent, meeting)) = self.elsewhere(c, claimed) {
            return self.fork(c, parent, meeting, Basis::MainChat, None);
        }
        let kind = self.kind(c, None);
        let guess = match kind {
            Kind::Checkpoint => chat.transcript.len().checked_sub(1),
            _ => ForkName::message(chat.name)
                .filter(|message| *message < chat.transcript.len())
                .or_else(|| self.sibling(c, claimed).map(|meeting| meeting.fork)),
        };
        Lineage {
            kind,
            parent: None,
            fork_message: guess,
            basis: Basis::None,
            confidence: Confidence::Guess,
            note: Some(ParentNote::Missing(claimed.to_owned())),
            beyond: None,
        }
    }

    /// The chat that a lost parent had its own first messages from: whoever has most of them, besides those that come from it; of several the
    /// one that its name was derived from. The name alone tells little: SillyTavern calls branches of "X - Branch #1" after X, too.
    pub(super) fn beyond(
        &self,
        c: ChatIx,
        lost: &str,
        is_above: &dyn Fn(ChatIx) -> bool,
    ) -> Option<(ChatIx, usize)> {
        let story = self.chats[c].story;
        let bases = std::iter::successors(ForkName::read(lost).base(), |name| ForkName::read(name).base());
        let may_be = |p: ChatIx| p != c && !self.comes_from(p, c, lost) && is_above(p);
        let derived = bases.filter_map(|base| self.named(story, base)).filter(|p| may_be(*p));
        let mut met = derived.filter_map(|p| Some((p, self.meeter.meet_with_dates(c, p)?)));
        let named = met.find(|(_, meeting)| meeting.fork > 0);
        let best = self.best(c, &may_be);
        // Of equals the last one is taken.
        let found = best.into_iter().chain(named).max_by_key(|(_, meeting)| meeting.fork)?;
        Some((found.0, found.1.fork))
    }

    /// The chat of another story that has the claimed name and the same line.
    fn elsewhere(&self, c: ChatIx, claimed: &str) -> Option<(ChatIx, Meeting)> {
        let others = self.anywhere.get(claimed).into_iter().flatten().copied();
        let others =
            others.filter(|p| *p != c && self.chats[*p].main_chat.as_deref() != Some(self.chats[c].name));
        let met = others.filter_map(|p| Some((p, self.meeter.meet_with_dates(c, p)?)));
        met.max_by_key(|(p, meeting)| (meeting.fork, Reverse(self.seniority[*p])))
    }

    /// The chat that used to be called `claimed`, if the lines show one.
    fn renamed_parent(&self, c: ChatIx, claimed: &str) -> Option<(ChatIx, Meeting)> {
        let chat = &self.chats[c];
        let may_be = |p: ChatIx| {
            let other = &self.chats[p];
            !other.silent
                && other.main_chat.as_deref() != Some(claimed)
                && other.main_chat.as_deref() != Some(chat.name)
                && !self.comes_from(p, c, claimed)
        };
        // The metadata of one goes by that name, or its message leads here, or it has the slug that old versions let forks keep.
        let called = |p: ChatIx| self.chats[p].aliases.iter().any(|alias| names(alias, claimed));
        if let Some(found) = self.best(c, &|p| may_be(p) && called(p)) {
            return Some(found);
        }
        // The lost name was derived from this chat's name, or stands on one of its messages: it was a fork of it, not it.
        let derived_from = ForkName::read(claimed).base();
        let not_above = |p: ChatIx| {
            let other = &self.chats[p];
            derived_from != Some(other.name) && !other.links.iter().any(|(_, name)| name == claimed)
        };
        // Names of forks belong to forks, and names that SillyTavern gives to new chats to others.
        let lost_a_fork = ForkName::read(claimed) != ForkName::Plain;
        let given = lost_a_fork || date(claimed).is_some();
        let was_a_fork = |p: ChatIx| self.claim(p).is_some() || self.chats[p].record.is_some();
        // Whoever still has the name that SillyTavern gave it never had another one. People write dates into names, but no times.
        let is_given = |name: &str| {
            ForkName::read(name) != ForkName::Plain || (name.contains('@') && date(name).is_some())
        };
        let fits = |p: ChatIx| (!given || was_a_fork(p) == lost_a_fork) && !is_given(self.chats[p].name);
        let twin = |p: ChatIx| chat.slug.is_some() && self.chats[p].slug == chat.slug && fits(p);
        let leads_here = |p: ChatIx| {
            let leads = |a: &Chat<'_>, b: &Chat<'_>| a.links.iter().any(|(_, name)| name == b.name);
            leads(&self.chats[p], chat) && !leads(chat, chat)
        };
        for evidence in [&leads_here as &dyn Fn(ChatIx) -> bool, &twin] {
            if let Some(found) = self.best(c, &|p| evidence(p) && may_be(p) && not_above(p)) {
                return Some(found);
            }
        }
        let best = self.best(c, &|p| may_be(p) && not_above(p) && fits(p))?;
        // If siblings have more of the lost parent than this chat has, it cannot be the parent.
        let ghost_knew = self.sibling(c, claimed).map(|meeting| meeting.fork);
        (ghost_knew.is_none_or(|more| more <= best.1.fork)).then_some(best)
    }

    /// Whether a chat that is nearer may have had the name which another has now. Forks come from elsewhere, and relatives of that other
    /// one may merely have more of the line than it has kept itself.
    fn may_have_been(&self, p: ChatIx, named: ChatIx) -> bool {
        self.claim(p).is_none() && self.meeter.meet_with_dates(named, p).is_none()
    }

    /// A chat that had the claimed name before `named` took it: it shares more with this one.
    fn former_owner(
        &self,
        c: ChatIx,
        claimed: &str,
        named: ChatIx,
        met: Meeting,
    ) -> Option<(ChatIx, Meeting)> {
        let called = self.called.get(&(self.chats[c].story, claimed)).into_iter().flatten().copied();
        let candidates = called.filter(|p| {
            *p != named
                && *p != c
                && self.family[*p] == self.family[c]
                && self.chats[*p].slug != self.chats[named].slug
                && self.chats[*p].main_chat.as_deref() != Some(self.chats[c].name)
                && !self.comes_from(*p, c, claimed)
        });
        let met_more = candidates.filter_map(|p| Some((p, self.meeter.meet_with_dates(c, p)?)));
        met_more.filter(|(_, meeting)| meeting.fork > met.fork).max_by_key(|(_, meeting)| meeting.fork)
    }

    /// Whether chat `p` was made, over any number of forks, from chat `c` or from a sibling of it: one with the same lost parent.
    fn comes_from(&self, p: ChatIx, c: ChatIx, claimed: &str) -> bool {
        let from_it = |name: &str| {
            let derived = std::iter::successors(Some(name), |name| ForkName::read(name).base());
            { derived }.any(|name| name == claimed)
        };
        self.claimed_line(p).any(|d| d == c || self.chats[d].main_chat.as_deref().is_some_and(from_it))
    }

    /// A chat and those that it was made from, as records and headers say.
    pub(super) fn claimed_line(&self, p: ChatIx) -> impl Iterator<Item = ChatIx> {
        let parent = |d: &ChatIx| match self.chats[*d].record {
            Some(record) => self.recorded_parent(*d, record),
            None => self.claim(*d).and_then(|name| self.named(self.chats[*d].story, name)),
        };
        std::iter::successors(Some(p), parent).take(self.chats.len())
    }

    /// Where a chat parts from that other child of the same lost parent with which it shares most.
    fn sibling(&self, c: ChatIx, parent: &str) -> Option<Meeting> {
        let named = |s: ChatIx| self.chats[s].main_chat.as_deref() == Some(parent);
        self.best(c, &named).map(|(_, meeting)| meeting)
    }
}
