//! [`Library::book_told_at`]: the state of a book whose file cannot be read, as far as history and scenes tell it.
//!
//! Only for those who look. What is made of a state goes into files, and there the book itself has to speak: a fork of what others say of
//! it would lack, for good, what it alone knows.

use super::at::{BookAt, SourceKind, StateError, Wanted, from_evidence};
use crate::{ChatIx, Library};

/// The state of a book, and what of it cannot be read.
pub struct Told {
    /// The state
    pub found: BookAt,
    /// The book whose file cannot be read, and why: its own, or one that its line had
    pub unread: Option<(String, String)>,
}

impl Library {
    /// The book of a chat at a message, as [`Library::book_at`] finds it. Where its file cannot be read, what history and scenes tell is
    /// as good as for one that is not there; where they tell nothing, it is not known.
    pub fn book_told_at(&self, c: ChatIx, at: usize) -> Result<Told, StateError> {
        let (book, why, closed) = match self.book_with_marks(c, at, Wanted::default()) {
            Ok(found) => {
                let unread = self.closed_on_line(c, &found)?;
                return Ok(Told { found, unread });
            }
            Err(StateError::CorruptBook { book, why, closed }) => (book, why, closed),
            Err(e) => return Err(e),
        };
        let lore = self.lore(c)?;
        let (mut source, entries, left_out) =
            from_evidence(&lore, at, self.chats[c].head(), Wanted::default());
        // That nothing has changed since history looked is what the file would have to say.
        match source.kind {
            SourceKind::Unchanged => source.kind = SourceKind::History,
            SourceKind::History | SourceKind::Scene => {}
            SourceKind::Head | SourceKind::Degraded | SourceKind::None => {
                return Err(StateError::CorruptBook { book, why, closed });
            }
        }
        let mut found = BookAt { name: Some(book.clone()), live: None, source, entries, left_out };
        self.mark_undated(c, &mut found, true);
        Ok(Told { found, unread: Some((book, why)) })
    }
}
