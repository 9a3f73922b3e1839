//! When the messages of a chat were sent, asked for without reading all of them: a long chat has a hundred thousand.
//!
//! Messages stand in the order in which they were sent. Where they do not, because a chat was put together from others, any place where
//! the clock passes is as good as another; where Forklore put them together it is known when.

use crate::ChatIx;
use crate::library::Library;
use crate::lineage::PutBehind;

/// So far around a message that does not say when it was sent its neighbours are asked.
const NEAR: usize = 256;

impl Library {
    /// When a message was sent, in milliseconds since 1970, if it says so exactly.
    pub fn sent(&self, chat: ChatIx, message: usize) -> Option<i64> {
        self.chats[chat].transcript.row(message)?.sent
    }

    /// When a message came to a chat: when it was sent, or when it was put there after it had been played elsewhere.
    fn came(&self, chat: ChatIx, message: usize, put_behind: &[PutBehind]) -> Option<i64> {
        let sent = self.sent(chat, message)?;
        let put = put_behind.iter().filter(|put| put.messages.contains(&message));
        Some(put.map(|put| put.when).fold(sent, i64::max))
    }

    /// When the first message from one on was sent.
    pub fn next_sent(&self, chat: ChatIx, from: usize) -> Option<i64> {
        self.chats[chat].transcript.rows_from(from).take(NEAR).find_map(|row| row.sent)
    }

    /// When a fork was first played on: after its message `fork`, which is `there` in the parent. A message that was edited is the
    /// parent's as well, and has the time at which that was sent.
    pub(crate) fn played_from(
        &self,
        (chat, fork): (ChatIx, usize),
        (parent, there): (ChatIx, usize),
    ) -> Option<i64> {
        let above = self.chats[parent].transcript.rows_from(there + 1).map(|row| row.sent);
        let above = above.chain(std::iter::repeat(None));
        let rows = self.chats[chat].transcript.rows_from(fork + 1).zip(above).take(NEAR);
        rows.filter(|(row, above)| row.sent != *above).find_map(|(row, _)| row.sent)
    }

    /// The last message that had come at a time.
    pub fn head_at(&self, chat: ChatIx, time: i64) -> Option<usize> {
        let put_behind = self.put_behind(chat);
        let told_before = |end: usize| {
            (end.saturating_sub(NEAR)..end)
                .rev()
                .find_map(|message| Some((message, self.came(chat, message, &put_behind)?)))
        };
        let (mut low, mut high) = (0, self.chats[chat].transcript.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match told_before(middle + 1) {
                Some((message, sent)) if message >= low && sent > time => high = message,
                _ => low = middle + 1,
            }
        }
        told_before(low).filter(|(_, sent)| *sent <= time).map(|(message, _)| message)
    }
}
