//! [`PutBehind`]: messages of a line that were played on another one, and came when somebody put them there.
//!
//! What their scenes tell is told where they were played, and the time at which they were sent is not the time at which they came here.

use std::ops::RangeInclusive;
use std::sync::OnceLock;

use crate::ChatIx;
use crate::library::Library;

/// Messages of a chat that were played elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutBehind {
    /// Which ones, here.
    pub messages: RangeInclusive<usize>,
    /// When they came, in milliseconds since 1970.
    pub when: i64,
}

impl PutBehind {
    /// Whether what was begun at a time at one of the messages was begun before they came.
    pub fn tells_elsewhere(&self, message: usize, begun: i64) -> bool {
        self.messages.contains(&message) && begun < self.when
    }
}

/// Whether any chat of a vault has such messages.
#[derive(Default)]
struct AnyPutBehind(OnceLock<bool>);

impl Library {
    /// The messages of a chat that were put behind it, or behind one above it that it has them from.
    pub fn put_behind(&self, chat: ChatIx) -> Vec<PutBehind> {
        // Most vaults have none, and this is asked often.
        let any = || self.chats.iter().any(|chat| chat.record.as_ref().is_some_and(|r| r.appended.is_some()));
        if !self.memo.slot::<AnyPutBehind>().0.get_or_init(any) {
            return Vec::new();
        }
        let mut found = Vec::new();
        let mut limit = usize::MAX;
        for at in std::iter::once(chat).chain(self.ancestors(chat)) {
            let here = &self.chats[at];
            let came = here.record.as_ref().and_then(|record| {
                // A record that healing wrote anew says when that was.
                let when = record.appended.as_ref().and_then(|appended| appended.when);
                Some((record.put_behind()?, when.unwrap_or(record.created)))
            });
            if let Some((messages, when)) = came.filter(|(messages, _)| *messages.start() <= limit) {
                let messages = *messages.start()..=*messages.end().min(&limit);
                found.push(PutBehind { messages, when });
            }
            limit = here.lineage.shared().unwrap_or(usize::MAX).min(limit);
        }
        found
    }
}
