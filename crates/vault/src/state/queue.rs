//! [`Library::operations`]: work that extensions have not done yet.

use forklore_core::adapter::{self, Operation};
use forklore_fs::PathError;

use crate::{ChatIx, Library};

impl Library {
    /// Work that waits or runs for a chat, in any extension's queue.
    pub fn operations(&self, chat: ChatIx) -> Result<Vec<Operation>, PathError> {
        let chat = &self.chats[chat];
        let book = match &chat.book {
            Some((name, _)) => self.book(name)?,
            None => None,
        };
        let parsed = book.as_ref().and_then(|book| book.parse().ok());
        let all = adapter::ALL.iter().flat_map(|adapter| adapter.operations(chat.header(), parsed.as_ref()));
        Ok(all.collect())
    }
}
