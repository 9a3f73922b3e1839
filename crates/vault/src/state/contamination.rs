//! [`Library::contamination`]: what other lines wrote that a book holds now.

use forklore_core::state::{Contamination, contamination};
use forklore_fs::PathError;

use crate::{ChatIx, Library};

impl Library {
    /// What other lines wrote that the book of a chat holds now.
    pub fn contamination(&self, c: ChatIx) -> Result<Vec<Contamination>, PathError> {
        if !self.may_be_contaminated(c) {
            return Ok(Vec::new());
        }
        let lore = self.lore(c)?;
        Ok(contamination(&lore.known.changes, lore.present()))
    }

    /// Whether the book of a chat can have anything from elsewhere: not that of one without relatives who is alone with it, and was.
    pub fn may_be_contaminated(&self, c: ChatIx) -> bool {
        let all = self.with_ghosts();
        let stem = all.chats[c].book_stem().unwrap_or_default();
        all.family(c).len() > 1 || all.users_of(stem).len() > 1 || all.chats[c].lineage.is_fork()
    }
}
