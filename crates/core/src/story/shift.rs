//! [`Shift`]: where the messages of a chat went between two saves.
//!
//! A change of a book is known by the message that was the last when it was seen. When older messages are edited, swiped or deleted
//! afterwards, that message has another number or another text, but the change still belongs there: one moment has succeeded the
//! other. Most saves only add messages; their shift is the identity and is not worth a word.

use serde::{Deserialize, Serialize};

use super::MessageId;
use super::line::longest_ascending;
use std::collections::HashMap;

/// Where the messages of a chat went from one save to the next.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Shift {
    /// Stretches of messages that correspond: first number before, first number after, how many. Ascending in both.
    runs: Vec<(usize, usize, usize)>,
}

impl Shift {
    /// Finds out what happened between two transcripts.
    ///
    /// Messages that are the same are found by their identities. Between two of those, as many messages as there were before took
    /// the places of the old ones: they were edited or swiped. What is left of the old ones was deleted.
    pub fn between(before: &[MessageId], after: &[MessageId]) -> Self {
        let same = before.iter().zip(after).take_while(|(a, b)| a == b).count();
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        if same < before.len() {
            let rest = |ids: &[MessageId]| ids.get(same..).map(<[MessageId]>::to_vec).unwrap_or_default();
            pairs = match_rest(&rest(before), &rest(after));
            pairs.iter_mut().for_each(|pair| *pair = (pair.0 + same, pair.1 + same));
        }
        let mut shift = Self::default();
        shift.add(0, 0, same);
        let (mut old, mut new) = (same, same);
        let anchored = same > 0 || !pairs.is_empty();
        // Two chats that have nothing in common are not the same story; a greeting that was swiped is.
        let akin = anchored || before.len() <= 2;
        let end = (before.len(), after.len());
        for (a, b) in pairs.into_iter().chain([end]) {
            let gap = (a - old).min(b - new);
            // Somewhere in the middle an unequal gap means that messages went or came: which, nobody can tell, so the first stay.
            if akin {
                shift.add(old, new, gap);
            }
            if (a, b) != end {
                shift.add(a, b, 1);
            }
            (old, new) = (a + 1, b + 1);
        }
        shift
    }

    /// Two transcripts of which only the beginning is the same story.
    pub fn beginning(before: &[MessageId], after: &[MessageId]) -> Self {
        let mut shift = Self::default();
        shift.add(0, 0, before.iter().zip(after).take_while(|(a, b)| a == b).count());
        shift
    }

    fn add(&mut self, old: usize, new: usize, len: usize) {
        if len == 0 {
            return;
        }
        match self.runs.last_mut() {
            Some((o, n, l)) if *o + *l == old && *n + *l == new => *l += len,
            _ => self.runs.push((old, new, len)),
        }
    }

    /// Messages that correspond: number before, number after, ascending in both.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        self.runs.iter().flat_map(|(old, new, len)| (0..*len).map(move |i| (old + i, new + i)))
    }

    /// Whether every one of the `before` messages kept its number.
    pub fn is_identity(&self, before: usize) -> bool {
        before == 0 || matches!(self.runs.as_slice(), [(0, 0, len)] if *len >= before)
    }

    /// Where a message itself is now; `None` if it was deleted.
    pub fn follow(&self, message: usize) -> Option<usize> {
        let at = self.runs.partition_point(|(old, _, _)| *old <= message);
        let (old, new, len) = self.runs[at.checked_sub(1)?];
        (message - old < len).then(|| new + (message - old))
    }

    /// Where a message is now. One that was deleted is succeeded by the last one before it that is still there; `None` if the chat
    /// is another story altogether.
    pub fn apply(&self, message: usize) -> Option<usize> {
        let at = self.runs.partition_point(|(old, _, _)| *old <= message);
        match at.checked_sub(1).map(|i| self.runs[i]) {
            // Saturating: history can come from elsewhere, and what it says need not make sense.
            Some((old, new, len)) => {
                Some(new.saturating_add(message.saturating_sub(old).min(len.saturating_sub(1))))
            }
            // Everything up to it was deleted, but what follows is still the same story.
            None => self.runs.first().map(|_| 0),
        }
    }
}

/// Messages that stand exactly once in both, ascending in both.
fn match_rest(before: &[MessageId], after: &[MessageId]) -> Vec<(usize, usize)> {
    let mut places: HashMap<MessageId, Option<usize>> = HashMap::with_capacity(after.len());
    for (i, id) in after.iter().enumerate() {
        places.entry(*id).and_modify(|place| *place = None).or_insert(Some(i));
    }
    let mut times: HashMap<MessageId, usize> = HashMap::with_capacity(before.len());
    before.iter().for_each(|id| *times.entry(*id).or_default() += 1);
    let pairs: Vec<(usize, usize)> = before
        .iter()
        .enumerate()
        .filter(|(_, id)| times[*id] == 1)
        .filter_map(|(i, id)| Some((i, (*places.get(id)?)?)))
        .collect();
    longest_ascending(&pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shift(before: &[u64], after: &[u64]) -> Shift {
        let ids = |numbers: &[u64]| numbers.iter().map(|n| MessageId(*n)).collect::<Vec<_>>();
        Shift::between(&ids(before), &ids(after))
    }

    #[test]
    fn more_messages_move_nothing() {
        let shift = shift(&[1, 2, 3], &[1, 2, 3, 4, 5]);
        assert!(shift.is_identity(3));
        assert_eq!(shift.apply(2), Some(2));
    }

    #[test]
    fn an_edited_message_keeps_its_number() {
        let shift = shift(&[1, 2, 3, 4], &[1, 20, 3, 4, 5]);
        assert!(shift.is_identity(4));
        assert_eq!((shift.apply(1), shift.apply(3)), (Some(1), Some(3)));
    }

    #[test]
    fn what_follows_a_deleted_message_moves_up() {
        let shift = shift(&[1, 2, 3, 4], &[1, 3, 4]);
        assert_eq!([0, 1, 2, 3].map(|n| shift.apply(n)), [Some(0), Some(0), Some(1), Some(2)]);
        assert_eq!([0, 1, 2, 3].map(|n| shift.follow(n)), [Some(0), None, Some(1), Some(2)]);
    }

    #[test]
    fn a_deleted_end_is_succeeded_by_the_last_message_that_stayed() {
        let shift = shift(&[1, 2, 3, 4], &[1, 2]);
        assert_eq!([1, 2, 3].map(|n| shift.apply(n)), [Some(1), Some(1), Some(1)]);
    }

    #[test]
    fn a_swiped_greeting_is_still_the_greeting() {
        assert_eq!(shift(&[1], &[2]).apply(0), Some(0));
        assert_eq!(shift(&[1, 2, 3], &[9, 2, 3]).apply(0), Some(0));
    }

    #[test]
    fn another_story_has_no_place_for_it() {
        assert_eq!(shift(&[1, 2, 3], &[7, 8, 9, 10]).apply(1), None);
    }

    #[test]
    fn a_deleted_first_message_leaves_its_place_to_the_next() {
        let shift = shift(&[1, 2, 3], &[2, 3]);
        assert_eq!([0, 1, 2].map(|n| shift.apply(n)), [Some(0), Some(0), Some(1)]);
    }
}
