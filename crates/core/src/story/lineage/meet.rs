//! [`Meeter::meet`]: where two chats part.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::super::chat_ix::ChatIx;
use super::super::line::{Confidence, align, common_prefix};
use super::super::moment::{Moment, Transcript};
use super::{Chat, Swipes};

/// Where two chats parted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Meeting {
    /// The last message of the child that the other has too.
    pub(super) fork: usize,
    pub(super) confidence: Confidence,
}

/// Compares chats two by two.
pub(super) struct Meeter<'a> {
    chats: &'a [Chat<'a>],
    swipes: &'a Swipes<'a>,
    /// What was asked of `swipes` before: it reads from disk, and chats of one family part at the same few messages.
    asked: RefCell<Asked>,
}

/// By chat, message and the moment before it.
type Asked = HashMap<(ChatIx, usize, Moment), Rc<[Moment]>>;

impl<'a> Meeter<'a> {
    pub(super) fn new(chats: &'a [Chat<'a>], swipes: &'a Swipes<'a>) -> Self {
        Self { chats, swipes, asked: RefCell::default() }
    }

    /// Where `c` parted from `p`, judged by moments, swipes and, where old messages were edited since, message identities.
    pub(super) fn meet(&self, c: ChatIx, p: ChatIx) -> Option<Meeting> {
        self.meet_after(c, p, common_prefix(self.transcript(c), self.transcript(p)))
    }

    /// How many of the messages that two chats share from the start were sent at the same time, too: after two lines have parted, the
    /// same short answer can be given in both. Where no time agrees, times tell nothing.
    pub(super) fn sent_together(&self, c: ChatIx, p: ChatIx, shared: usize) -> usize {
        let (child, parent) = (self.transcript(c), self.transcript(p));
        let same = |n: &usize| child.row(n - 1).map(|row| row.id) == parent.row(n - 1).map(|row| row.id);
        let last = (1..=shared).rev().find(same).filter(|last| *last > 1);
        if self.chats[c].undated || self.chats[p].undated { shared } else { last.unwrap_or(shared) }
    }

    /// As [`Self::meet`], for chats that do not name each other: beyond the greeting, and sent at the same time.
    pub(super) fn meet_with_dates(&self, c: ChatIx, p: ChatIx) -> Option<Meeting> {
        let meeting = self.meet(c, p)?;
        (meeting.fork > 0 && self.dated(c, p, meeting)).then_some(meeting)
    }

    fn transcript(&self, c: ChatIx) -> &'a Transcript {
        self.chats[c].transcript
    }

    fn meet_after(&self, c: ChatIx, p: ChatIx, shared: usize) -> Option<Meeting> {
        let (met, ours, theirs) = self.met(c, p, shared);
        // What is different there and was sent at the same instant is one message, edited since: often the very one that the fork was made at.
        let edited = (0..).take_while(|more| self.same_instant((c, ours + more), (p, theirs + more))).count();
        match (ours + edited).checked_sub(1) {
            Some(fork) if edited > 0 => Some(Meeting { fork, confidence: Confidence::Likely }),
            _ => met,
        }
    }

    /// Whether two messages, each of a chat, were sent at the same instant: in the same thousandth of a second. Full seconds were rounded, and
    /// two messages can have the same.
    fn same_instant(&self, (c, ours): (ChatIx, usize), (p, theirs): (ChatIx, usize)) -> bool {
        let sent = |chat: ChatIx, message: usize| self.transcript(chat).row(message).and_then(|row| row.sent);
        // Where several have one time, it tells nothing.
        let told = !self.chats[c].undated && !self.chats[p].undated;
        told && sent(c, ours).is_some_and(|time| time % 1000 != 0 && sent(p, theirs) == Some(time))
    }

    /// Where two chats parted by moments, swipes and identities, and the first message of each that is not the other's.
    fn met(&self, c: ChatIx, p: ChatIx, shared: usize) -> (Option<Meeting>, usize, usize) {
        let (child, parent) = (self.transcript(c), self.transcript(p));
        let shared = self.sent_together(c, p, shared);
        if shared < child.len() && shared < parent.len() {
            let same = self.same_message((c, shared), (p, shared));
            let mut aligned = align(child, parent, shared);
            if self.chats[c].undated || self.chats[p].undated {
                drop_coincidences(&mut aligned.pairs, shared);
            }
            if let Some((ours, theirs)) = aligned.pairs.last().copied().filter(|(ours, _)| *ours >= shared) {
                let confidence = aligned.confidence().min(Confidence::Likely);
                // The next one may be the same in another swipe.
                let more = usize::from(self.same_message((c, ours + 1), (p, theirs + 1)));
                let meeting = Meeting { fork: ours + more, confidence };
                return (Some(meeting), ours + more + 1, theirs + more + 1);
            }
            if same {
                let meeting = Meeting { fork: shared, confidence: Confidence::Certain };
                return (Some(meeting), shared + 1, shared + 1);
            }
        }
        // A parent that ends where the child goes on may have been cut since; a checkpoint ends there, too.
        let cut = shared == parent.len() && shared < child.len();
        let confidence = if cut { Confidence::Likely } else { Confidence::Certain };
        (shared.checked_sub(1).map(|fork| Meeting { fork, confidence }), shared, shared)
    }

    /// Whether one of the messages that two chats share, after the greeting, was sent at the same time in both.
    pub(super) fn dated(&self, c: ChatIx, p: ChatIx, meeting: Meeting) -> bool {
        let (child, parent) = (self.transcript(c), self.transcript(p));
        // Where there are no times, the words must do: an answer is soon the same, a reply to it is not.
        if (self.chats[c].undated || self.chats[p].undated) && meeting.fork < UNDATED {
            return false;
        }
        let mut together = child.rows_from(1).zip(parent.rows_from(1)).take(meeting.fork);
        if together.any(|(a, b)| a.id == b.id) {
            return true;
        }
        // Where messages were deleted, they stand at other places.
        let shared = common_prefix(child, parent);
        let moved = shared < child.len() && shared < parent.len();
        moved
            && align(child, parent, shared).pairs[shared..]
                .iter()
                .any(|(ours, theirs)| *ours > 0 && *theirs > 0)
    }

    /// Whether two messages, each of a chat, are one of which different swipes are shown.
    pub(super) fn same_message(&self, ours: (ChatIx, usize), theirs: (ChatIx, usize)) -> bool {
        let is_swipe = |one: (ChatIx, usize), other: (ChatIx, usize)| {
            let transcript = self.transcript(one.0);
            let Some(shown) = transcript.moment(one.1) else { return false };
            self.swipes(other, transcript.moment_before(one.1)).contains(&shown)
        };
        is_swipe(ours, theirs) || is_swipe(theirs, ours)
    }

    fn swipes(&self, (chat, message): (ChatIx, usize), before: Moment) -> Rc<[Moment]> {
        let mut asked = self.asked.borrow_mut();
        let ask = || (self.swipes)(chat, message, before).into();
        asked.entry((chat, message, before)).or_insert_with(ask).clone()
    }
}

/// So many messages after the greeting must be the same where times do not tell that they are.
const UNDATED: usize = 3;

/// After two lines have parted, the same few words can be said in both, and where messages have no times of their own nothing tells
/// them apart. What follows an edit or a deletion is most of what comes, or comes in a row; a coincidence stands alone.
fn drop_coincidences(pairs: &mut Vec<(usize, usize)>, shared: usize) {
    while let Some((ours, theirs)) = pairs.last().copied().filter(|(ours, _)| *ours >= shared) {
        let before = pairs.len().checked_sub(2).map(|i| pairs[i]);
        let in_a_row = before.is_some_and(|(a, b)| a >= shared && a + 1 == ours && b + 1 == theirs);
        let span = ours.max(theirs) - shared + 1;
        let most = (pairs.len() - shared) * 2 >= span;
        if in_a_row || most {
            break;
        }
        pairs.pop();
    }
}
