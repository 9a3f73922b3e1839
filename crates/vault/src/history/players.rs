//! [`Player`]: a chat that used a book, and where it stood; [`last_played`]: which of them, or of those that are gone, was played last.

use forklore_core::story::Shift;
use forklore_core::story::lineage::Kind;

use super::gone::{Above, GonePlayer};
use super::stood::Stood;
use crate::{ChatIx, Library};

/// A chat that is there, and where it stood.
pub(super) struct Player<'a> {
    pub(super) chat: ChatIx,
    /// Whether only another chat was bound to the book, which this one is a past state of
    pub(super) was_other: bool,
    pub(super) heads: Vec<Stood>,
    /// How its messages were numbered anew, with the places of the observations that show it
    pub(super) shifts: Vec<(usize, &'a Shift)>,
    /// The chat that it was forked from, if that is gone
    pub(super) above: Option<Above>,
}

impl Player<'_> {
    /// Whether it only had the book of the chat that it was forked from until it got its own: SillyTavern saves a fork before an extension
    /// makes a book for it.
    pub(super) fn has_passed(&self, library: &Library) -> bool {
        let here = &library.chats[self.chat];
        let is_bound_now = self.heads.last().is_none_or(|(_, _, bound)| *bound);
        let fork = library.forked_after(self.chat).filter(|_| here.lineage.is_fork());
        let has_played = |fork: usize| self.heads.iter().any(|(_, head, bound)| *bound && *head > fork);
        self.above.is_none()
            && !is_bound_now
            && here.record.is_none()
            && fork.is_some_and(|fork| !has_played(fork))
    }
}

/// Whoever may have been played, whether or not it is there still: that a chat was deleted since makes nothing else of what was done in the others.
pub(super) struct Candidate<'a> {
    pub(super) who: Who,
    heads: &'a [Stood],
    is_checkpoint: bool,
}

/// A chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    There(ChatIx),
    /// One that is gone, by its place in a list of those
    Gone(usize),
}

/// All who may have been played with a book.
pub(super) fn candidates<'a>(
    players: &'a [Player<'_>],
    gone: &'a [GonePlayer],
    library: &Library,
) -> Vec<Candidate<'a>> {
    let there = players.iter().filter(|player| !player.was_other).map(|player| Candidate {
        who: Who::There(player.chat),
        heads: &player.heads,
        is_checkpoint: library.chats[player.chat].lineage.kind == Kind::Checkpoint,
    });
    let gone = gone.iter().enumerate().map(|(n, player)| Candidate {
        who: Who::Gone(n),
        heads: &player.heads,
        is_checkpoint: player.is_checkpoint,
    });
    there.chain(gone).collect()
}

impl Candidate<'_> {
    /// Its last save by the look that an observation belongs to.
    fn last(&self, i: usize, together: &dyn Fn(usize) -> bool) -> Option<usize> {
        let before = self.heads.partition_point(|(j, ..)| *j < i);
        let beside = self.heads[before..].iter().take_while(|(j, ..)| together(*j)).count();
        let last = (before + beside).checked_sub(1)?;
        let (save, _, bound) = self.heads[last];
        // Who has another book by now wrote into that one, unless he got it only then.
        let was = || last.checked_sub(1).is_some_and(|before| self.heads[before].2);
        (bound || (together(save) && was())).then_some(save)
    }

    /// Whether it is a checkpoint in which nobody has been up to an observation: who makes one stays where he is.
    fn is_put_aside(&self, i: usize) -> bool {
        let until = self.heads.partition_point(|(j, ..)| *j <= i);
        self.is_checkpoint && self.heads[..until].windows(2).all(|two| two[0].1 == two[1].1)
    }

    fn is_new(&self, save: usize) -> bool {
        self.heads.first().is_some_and(|(first, ..)| *first == save)
    }
}

/// The one that was saved last before a book was looked at, if looks were close enough to tell.
pub(super) fn last_played(
    candidates: &[Candidate<'_>],
    i: usize,
    together: &dyn Fn(usize) -> bool,
    looked: &dyn Fn(usize) -> Option<i64>,
) -> Option<Who> {
    let may_be = candidates.iter().filter(|candidate| !candidate.is_put_aside(i));
    let lasts: Vec<(usize, &Candidate<'_>)> =
        may_be.filter_map(|candidate| Some((candidate.last(i, together)?, candidate))).collect();
    let (save, last) = *lasts.iter().max_by_key(|(save, _)| *save)?;
    if let Some(fork) = linked(candidates, save, last) {
        return Some(fork.who);
    }
    // What was looked at together may have been saved in any order.
    let beside = |j: usize| j == save || (looked(j).is_some() && looked(j) == looked(save));
    let mut others = lasts.iter().filter(|(j, _)| beside(*j)).peekable();
    if others.clone().count() == 1 {
        return Some(last.who);
    }
    // But who makes a fork goes on in the fork: of those that were saved then, it is the one that had not been there before.
    let mut new = others.by_ref().filter(|(j, candidate)| candidate.is_new(*j));
    new.next().filter(|_| new.next().is_none()).map(|(_, candidate)| candidate.who)
}

/// The fork that a save was made for, if it was: right after a chat that had not been there before, and without a new message. That is how
/// SillyTavern saves the link to a fork, and who made the fork is in it.
fn linked<'a, 'b>(
    candidates: &'a [Candidate<'b>],
    save: usize,
    parent: &Candidate<'_>,
) -> Option<&'a Candidate<'b>> {
    let n = parent.heads.iter().position(|(j, ..)| *j == save)?;
    let (before, head, _) = *parent.heads.get(n.checked_sub(1)?)?;
    let begun = |fork: &&Candidate<'_>| {
        fork.heads.first().is_some_and(|(first, ..)| before < *first && *first + 1 == save)
    };
    let fork = candidates.iter().filter(|fork| fork.who != parent.who).find(begun);
    fork.filter(|fork| head == parent.heads[n].1 && !fork.is_checkpoint)
}

/// Those who used a book.
pub(super) struct Used<'a> {
    pub(super) players: &'a [Player<'a>],
    pub(super) gone: &'a [GonePlayer],
    pub(super) candidates: &'a [Candidate<'a>],
}
