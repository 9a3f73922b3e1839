//! [`Player`]: a chat that used a book, and where it stood; [`last_played`]: which of them was played last.

use forklore_core::story::Shift;
use forklore_core::story::lineage::Kind;

use super::gone::GonePlayer;
use crate::{ChatIx, Library};

/// Who was played last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Played {
    /// This chat
    By(ChatIx),
    /// One that is gone, after everybody who came from it had left it
    Gone,
    /// Nobody knows
    Nobody,
}

impl Played {
    pub(super) fn by(self) -> Option<ChatIx> {
        match self {
            Self::By(chat) => Some(chat),
            Self::Gone | Self::Nobody => None,
        }
    }
}

/// A chat, and where it stood: place of the observation, last message, whether it was bound to the book.
pub(super) struct Player<'a> {
    pub(super) chat: ChatIx,
    /// Whether only another chat was bound to the book, which this one is a past state of
    pub(super) was_other: bool,
    pub(super) heads: Vec<(usize, usize, bool)>,
    /// How its messages were numbered anew, with the places of the observations that show it
    pub(super) shifts: Vec<(usize, &'a Shift)>,
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

    /// Whether it is a checkpoint in which nobody has been up to an observation: who makes one stays where he is.
    pub(super) fn is_put_aside(&self, library: &Library, i: usize) -> bool {
        let is_checkpoint = library.chats[self.chat].lineage.kind == Kind::Checkpoint;
        let until = self.heads.partition_point(|(j, ..)| *j <= i);
        is_checkpoint && self.heads[..until].windows(2).all(|two| two[0].1 == two[1].1)
    }
}

/// The chat that was saved last before a book was looked at, if looks were close enough to tell.
pub(super) fn last_played(
    (players, gone): (&[Player<'_>], &[GonePlayer]),
    library: &Library,
    i: usize,
    together: &dyn Fn(usize) -> bool,
    looked: &dyn Fn(usize) -> Option<i64>,
) -> Played {
    let last = last_of_those_there(players, library, i, together, looked);
    let save = last.map(|(save, _)| save);
    // Who makes a fork goes on in it, also where that is gone; the link to it is saved after it.
    let may_be = |gone: &&GonePlayer| {
        gone.last(i, together).is_some_and(|(last, new)| {
            let beside = |save: usize| looked(save).is_some() && looked(save) == looked(last);
            save.is_none_or(|save| save < last || (new && (beside(save) || gone.is_linked(save))))
        })
    };
    let latest = gone.iter().filter(may_be).max_by_key(|gone| gone.last(i, together));
    match (latest, last) {
        (Some(gone), _) if gone.is_nobodys(i) => Played::Gone,
        (None, Some((_, Some(chat)))) => Played::By(chat),
        _ => Played::Nobody,
    }
}

/// The last save of those who are there before a book was looked at, and the chat that it tells of, if it is known.
fn last_of_those_there(
    players: &[Player<'_>],
    library: &Library,
    i: usize,
    together: &dyn Fn(usize) -> bool,
    looked: &dyn Fn(usize) -> Option<i64>,
) -> Option<(usize, Option<ChatIx>)> {
    let last = |player: &Player<'_>| {
        let before = player.heads.partition_point(|(j, ..)| *j < i);
        let beside = player.heads[before..].iter().take_while(|(j, ..)| together(*j)).count();
        let last = (before + beside).checked_sub(1)?;
        Some((player.heads[last].0, player.chat))
    };
    let may_be = |player: &&Player<'_>| !player.was_other && !player.is_put_aside(library, i);
    let lasts = || players.iter().filter(may_be).filter_map(last);
    let (save, chat) = lasts().max()?;
    if let Some(fork) = linked(players, save, chat)
        && library.chats[fork].lineage.kind != Kind::Checkpoint
    {
        return Some((save, Some(fork)));
    }
    // What was looked at together may have been saved in any order.
    let beside = |j: usize| looked(j).is_some() && looked(j) == looked(save);
    let others: Vec<(usize, ChatIx)> =
        lasts().filter(|(j, other)| *other != chat && beside(*j)).chain([(save, chat)]).collect();
    if others.len() == 1 {
        return Some((save, Some(chat)));
    }
    // But who makes a fork goes on in the fork: of those that were saved then, it is the one that had not been there before.
    let is_new = |(j, chat): &&(usize, ChatIx)| {
        players
            .iter()
            .any(|player| player.chat == *chat && player.heads.first().is_some_and(|(first, ..)| first == j))
    };
    let mut new = others.iter().filter(is_new);
    Some((save, new.next().filter(|_| new.next().is_none()).map(|(_, chat)| *chat)))
}

/// The fork that a save was made for, if it was: right after a chat that had not been there before, and without a new message. That is how
/// SillyTavern saves the link to a fork, and who made the fork is in it.
fn linked(players: &[Player<'_>], save: usize, chat: ChatIx) -> Option<ChatIx> {
    let parent = players.iter().find(|player| player.chat == chat)?;
    let n = parent.heads.iter().position(|(j, ..)| *j == save)?;
    let (before, head, _) = *parent.heads.get(n.checked_sub(1)?)?;
    let begun = |player: &&Player<'_>| {
        player.heads.first().is_some_and(|(first, ..)| before < *first && *first + 1 == save)
    };
    let fork = players.iter().filter(|player| player.chat != chat).find(begun);
    fork.filter(|_| head == parent.heads[n].1).map(|player| player.chat)
}

/// The number that a message has now that had `message` at an observation.
pub(super) fn number_now(shifts: &[(usize, &Shift)], i: usize, message: usize) -> usize {
    let later = shifts.iter().filter(|(j, _)| *j > i);
    later.fold(message, |message, (_, shift)| shift.apply(message).unwrap_or_default())
}
