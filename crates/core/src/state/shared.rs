//! Where a change belongs that was made by hand in a book which all who use it share by choice: where each of them was then.

use super::Place;
use super::life::{Difference, SeenBy};
use super::line::Ancestor;
use super::sight::Head;
use super::view::View;
use crate::story::ChatIx;

impl View<'_> {
    /// Where a change belongs that was made by hand in a book that is shared by choice: where we were then.
    pub(super) fn by_anybody(&mut self, difference: &Difference, player: Option<ChatIx>) -> Place {
        let is_now = matches!(self.life.sights[difference.shown].by, SeenBy::Now);
        if self.is_left(self.line.chat, difference) {
            return Place::Unattributed;
        }
        let ours = |above: &&Ancestor| self.life.users.contains(&above.chat);
        let left =
            self.line.ancestors.iter().find(ours).filter(|_| !self.life.users.contains(&self.line.chat));
        if left.is_some_and(|above| self.is_after(difference, above)) {
            return Place::Unattributed;
        }
        self.places_of_line();
        let (from, until) = self.interval(self.line.chat, difference);
        let until = until.filter(|_| !is_now);
        // What was done in a chat above before we left it was done by us.
        let is_ours = |chat: ChatIx| {
            let mut above = self.line.ancestors.iter().filter(|above| above.chat == chat);
            chat == self.line.chat || above.any(|above| !self.is_after(difference, above))
        };
        let another = !player.is_some_and(is_ours) && self.another_played(difference, &is_ours);
        let elsewhere = from == until && (another || self.had_left(difference));
        // Who has left the book by then has no next message with it: what the new one was made with decides.
        let gone = left.and_then(|above| (self.line.ours)(above.chat, above.limit));
        match from.filter(|_| elsewhere) {
            Some(stood) if gone.is_some_and(|gone| gone <= stood) => Place::Unattributed,
            // Whoever made it was not at our message: our line had it from the next one on.
            Some(stood) => Place::Between { from: Some(stood), until: stood + 1 },
            None => self.dated(difference, from, until),
        }
    }

    /// Whether, from one look to the next, exactly one of those who use the book went on, and it was not us.
    fn another_played(&self, difference: &Difference, is_ours: &dyn Fn(ChatIx) -> bool) -> bool {
        let sights = &self.life.sights;
        let since = difference.since.map(|since| &sights[since].by);
        let (Some(SeenBy::Look(_, before)), SeenBy::Look(_, after)) = (since, &sights[difference.shown].by)
        else {
            return false;
        };
        let head = |heads: &[(ChatIx, Head)], chat: ChatIx| {
            heads.iter().find(|(known, _)| *known == chat).map(|(_, head)| head.to)
        };
        // A chat that was brought back as it was then stood where the other one stood, and went on with it.
        let line =
            || std::iter::once(self.line.chat).chain(self.line.ancestors.iter().map(|above| above.chat));
        let ours = |heads: &[(ChatIx, Head)]| line().find_map(|chat| head(heads, chat));
        let is_there = |chat: ChatIx| after.iter().any(|(known, head)| *known == chat && !head.later);
        let moved = |chat: &&ChatIx| is_there(**chat) && head(before, **chat) != head(after, **chat);
        let mut movers = self.life.users.iter().filter(moved);
        ours(before) == ours(after)
            && movers.next().is_some_and(|one| !is_ours(*one))
            && movers.next().is_none()
    }

    /// Whether the chat above, which stands for us at the last sight without a change, had gone on from our fork by then.
    fn had_left(&self, difference: &Difference) -> bool {
        let Some(SeenBy::Look(_, heads)) = difference.since.map(|since| &self.life.sights[since].by) else {
            return false;
        };
        let head = |chat: ChatIx| heads.iter().find(|(known, _)| *known == chat).map(|(_, head)| head.to);
        if head(self.line.chat).is_some() {
            return false;
        }
        let above = self.line.ancestors.iter().find_map(|above| Some((above.limit, head(above.chat)?)));
        above.is_some_and(|(limit, head)| head > limit)
    }
}
