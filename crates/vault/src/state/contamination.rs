//! [`Library::contamination`]: what other lines wrote that a book holds now.

use forklore_core::state::{Contamination, contamination};
use forklore_fs::PathError;

use crate::{ChatIx, Library};

impl Library {
    /// What other lines wrote that the book of a chat holds now.
    pub fn contamination(&self, c: ChatIx) -> Result<Vec<Contamination>, PathError> {
        let stem = self.chats[c].book_stem().unwrap_or_default();
        let all = self.with_ghosts();
        // A chat without relatives, alone with its book, cannot have anything from elsewhere.
        if all.family(c).len() < 2 && all.users_of(stem).len() < 2 && !all.chats[c].lineage.is_fork() {
            return Ok(Vec::new());
        }
        let lore = all.lore(c)?;
        Ok(contamination(&lore.known.changes, lore.present()))
    }
}
