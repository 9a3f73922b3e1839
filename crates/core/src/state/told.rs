//! Where something belongs that tells itself where it was made, as a [`View`] sees it.

use super::life::Difference;
use super::view::View;
use super::{Origin, Place};

impl View<'_> {
    /// Where something belongs that says itself which messages of which chat it was made from.
    pub(super) fn marked(&self, origin: Origin, difference: &Difference) -> Place {
        if origin.chat == self.line.chat {
            return Place::Ours(origin.message);
        }
        let above = self.line.ancestors.iter().find(|above| above.chat == origin.chat);
        // What is made from messages that we share is ours, whenever it is made, in a book that we share as well.
        let shares = self.life.users.contains(&self.line.chat);
        let ours = above
            .filter(|above| origin.message <= above.limit && (shares || !self.is_after(difference, above)));
        let line = self.line;
        let message = ours.and_then(|_| (line.ours)(origin.chat, origin.message));
        let message = message.or_else(|| line.cast.lost_place(origin, line.chat)).or_else(|| {
            let shared = |above: &super::Ancestor| {
                let there = line.cast.lost_place(origin, above.chat).filter(|there| *there <= above.limit)?;
                (line.ours)(above.chat, there)
            };
            line.ancestors.iter().find_map(shared)
        });
        message.map_or(Place::Elsewhere(origin), Place::Ours)
    }

    /// Where the work on a scene belongs. A scene is recapped in the chat: who had left it by then has no part in that.
    pub(super) fn worked(&self, origin: Origin, difference: &Difference) -> Place {
        let above = self.line.ancestors.iter().find(|above| above.chat == origin.chat);
        match above {
            Some(above) if self.is_after(difference, above) => Place::Elsewhere(origin),
            _ => self.marked(origin, difference),
        }
    }

    /// Where a text belongs that was there at a message, as whatever replaced it says. Whoever saw the book without it later than that proves
    /// that it is younger.
    pub(super) fn replaced(&mut self, origin: Origin, difference: &Difference) -> Place {
        let Place::Ours(message) = self.marked(origin, difference) else { return Place::Elsewhere(origin) };
        let from = difference.since.and_then(|_| self.interval(origin.chat, difference).0);
        match from.and_then(|from| (self.line.ours)(origin.chat, from)) {
            Some(from) if from > message => Place::Since(from),
            from => Place::dated(from, Some(message)),
        }
    }
}
