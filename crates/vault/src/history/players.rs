//! [`Player`]: a chat that used a book, and where it stood; [`last_played`]: which of them was played last.

use forklore_core::story::Shift;

use super::stood::Stood;
use crate::{ChatIx, Library};

/// A chat that used a book, and where it stood.
pub(super) struct Player<'a> {
    pub(super) chat: ChatIx,
    /// Whether only another chat was bound to the book, which this one is a past state of
    pub(super) was_other: bool,
    pub(super) heads: Vec<Stood>,
    /// How its messages were numbered anew, with the places of the observations that show it
    pub(super) shifts: Vec<(usize, &'a Shift)>,
    /// The place of the observation that found it gone
    pub(super) went: Option<usize>,
    /// Whether it is a checkpoint: nobody is in one who does not go there
    pub(super) is_checkpoint: bool,
}

impl Player<'_> {
    /// Whether it only had the book of the chat that it was forked from until it got its own: SillyTavern saves a fork before an extension
    /// makes a book for it.
    pub(super) fn has_passed(&self, library: &Library) -> bool {
        let here = &library.chats[self.chat];
        let is_bound_now = self.heads.last().is_none_or(|(_, _, bound)| *bound);
        let fork = here.lineage.fork_message.filter(|_| here.lineage.is_fork());
        let has_played = |fork: usize| self.heads.iter().any(|(_, head, bound)| *bound && *head > fork);
        !is_bound_now && here.record.is_none() && fork.is_some_and(|fork| !has_played(fork))
    }
}

impl Player<'_> {
    /// Whether it was gone before the look that an observation belongs to.
    pub(super) fn is_gone(&self, i: usize, together: &dyn Fn(usize) -> bool) -> bool {
        self.went.is_some_and(|went| went < i && !together(went))
    }

    /// Its last save by the look that an observation belongs to.
    fn last(&self, i: usize, together: &dyn Fn(usize) -> bool) -> Option<usize> {
        if self.is_gone(i, together) {
            return None;
        }
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
    players: &[Player<'_>],
    i: usize,
    together: &dyn Fn(usize) -> bool,
    looked: &dyn Fn(usize) -> Option<i64>,
) -> Option<ChatIx> {
    let may_be = players.iter().filter(|player| !player.was_other && !player.is_put_aside(i));
    let lasts: Vec<(usize, &Player<'_>)> =
        may_be.filter_map(|player| Some((player.last(i, together)?, player))).collect();
    let (save, last) = *lasts.iter().max_by_key(|(save, _)| *save)?;
    if let Some(fork) = linked(players, save, last) {
        return Some(fork.chat);
    }
    // What was looked at together may have been saved in any order.
    let beside = |j: usize| j == save || (looked(j).is_some() && looked(j) == looked(save));
    let mut others = lasts.iter().filter(|(j, _)| beside(*j)).peekable();
    if others.clone().count() == 1 {
        return Some(last.chat);
    }
    // But who makes a fork goes on in the fork: of those that were saved then, it is the one that had not been there before.
    let mut new = others.by_ref().filter(|(j, player)| player.is_new(*j));
    new.next().filter(|_| new.next().is_none()).map(|(_, player)| player.chat)
}

/// The fork that a save was made for, if it was: right after a chat that had not been there before, and without a new message. That is how
/// SillyTavern saves the link to a fork, and who made the fork is in it.
fn linked<'a, 'b>(players: &'a [Player<'b>], save: usize, parent: &Player<'_>) -> Option<&'a Player<'b>> {
    let n = parent.heads.iter().position(|(j, ..)| *j == save)?;
    let (before, head, _) = *parent.heads.get(n.checked_sub(1)?)?;
    let begun = |fork: &&Player<'_>| {
        fork.heads.first().is_some_and(|(first, ..)| before < *first && *first + 1 == save)
    };
    let others = players.iter().filter(|fork| !fork.was_other && fork.chat != parent.chat);
    let fork = { others }.find(begun);
    fork.filter(|fork| head == parent.heads[n].1 && !fork.is_checkpoint)
}
