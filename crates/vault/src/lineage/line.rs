//! The line of a chat: the chats above it with where and when it left them ([`Library::line_above`]), and where their messages stand in it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use forklore_core::state::{Ancestor, Origin};

use crate::ChatIx;
use crate::library::Library;

/// The chats above each chat that somebody has asked about.
#[derive(Default)]
struct Lines(Mutex<HashMap<ChatIx, Arc<[Ancestor]>>>);

/// So far around a message that is not there any more its neighbours are looked for.
const FAR: usize = 1000;

impl Library {
    /// The message of a chat that stands where a message of another one stands: the same one; the one that it became when it was edited;
    /// the one before, if it was deleted.
    pub(crate) fn place_here(&self, chat: ChatIx, message: usize, here: ChatIx) -> usize {
        if let Some(same) = self.counterpart(chat, message, here) {
            return same;
        }
        let there = |message: usize| Some((message, self.counterpart(chat, message, here)?));
        // It is not there any more. What stood around it and still is tells where it stood: as far behind the neighbour before
        // as it was, and before the neighbour after.
        let before = (0..message).rev().take(FAR).find_map(there);
        let after = (message + 1..=self.chats[chat].head()).take(FAR).find_map(there);
        let end = after.map_or(self.chats[here].transcript.len(), |(_, place)| place);
        let place = before.map_or(message, |(known, place)| place + (message - known));
        place.min(end.saturating_sub(1))
    }

    /// The same message in the chat that it was played in.
    pub(crate) fn first_place(&self, Origin { mut chat, mut message }: Origin) -> Origin {
        for above in self.ancestors(chat) {
            if self.chats[chat].lineage.shared().is_none_or(|fork| message > fork) {
                break;
            }
            (chat, message) = (above, self.place_here(chat, message, above));
        }
        Origin { chat, message }
    }

    /// The chats above one, nearest first, and how much of them is its own.
    pub(crate) fn line_above(&self, c: ChatIx) -> Arc<[Ancestor]> {
        let lines = || self.memo.slot::<Lines>().0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = lines().get(&c) {
            return line.clone();
        }
        let line: Arc<[Ancestor]> = self.find_line_above(c).into();
        lines().insert(c, line.clone());
        line
    }

    fn find_line_above(&self, c: ChatIx) -> Vec<Ancestor> {
        let mut line: Vec<Ancestor> = Vec::new();
        let (mut at, mut limit, mut left) = (c, usize::MAX, i64::MAX);
        let history = self.history().ok().flatten();
        let mut looked: Option<(u64, u64)> = None;
        while let Some(parent) = self.chats[at].lineage.above() {
            let here = &self.chats[at];
            if parent == c || line.iter().any(|above| above.chat == parent) {
                break;
            }
            let (there, fork) = self.fork_of(at, parent);
            // Two limits count: where this chat left its parent, and where the line had left this chat already. The nearer one holds.
            limit = if fork <= limit { there } else { self.place_here(at, limit, parent) };
            limit = limit.min(self.chats[parent].head());
            let forked = self.forked_at(at);
            let played = || self.played_from((at, fork), (parent, there));
            // A parent that is gone had left whoever is beyond it before we left that parent.
            let is_parent = here.lineage.parent.is_some();
            let gone = match is_parent {
                true => forked.or_else(played),
                false => forked.into_iter().chain(played()).chain(self.told_apart(at, parent)).min(),
            };
            let forked = forked.filter(|_| is_parent);
            // The line left a chat no later than whoever stands between: what happened up there afterwards is not its own.
            left = gone.unwrap_or(i64::MAX).min(left);
            // What was brought back began when it was looked at, long before its own file was first seen.
            let restored = history.and_then(|history| history.restored(self, at)).map(|(seq, _)| (seq, seq));
            let first = restored.or_else(|| history.and_then(|history| history.first_seen(&here.path)));
            looked = looked.into_iter().chain(first).min();
            line.push(Ancestor { chat: parent, limit, left, forked, looked });
            at = parent;
        }
        line
    }

    /// When the first scene was recapped that a chat carries and another one does not: by then they went different ways.
    fn told_apart(&self, chat: ChatIx, other: ChatIx) -> Option<i64> {
        let told = self.scenes_of(chat).flat_map(|(_, told)| told).map(|told| &told.scene);
        let apart =
            told.filter(|scene| scene.carried_by(chat).is_some() && scene.carried_by(other).is_none());
        apart.map(|scene| scene.started).filter(|started| *started > 0).min()
    }

    /// The message that a chat was forked at: its number in the parent, and in the fork. Both may have changed since.
    pub(crate) fn fork_of(&self, c: ChatIx, parent: ChatIx) -> (usize, usize) {
        let (here, above) = (&self.chats[c], &self.chats[parent]);
        if let Some(beyond) = here.lineage.beyond.filter(|beyond| beyond.chat == parent) {
            let fork = beyond.message.min(here.head());
            return (self.place_here(c, fork, parent), fork);
        }
        let record = here.record.as_ref();
        let told = record.map(|record| record.message).or(here.lineage.fork_message).unwrap_or(here.head());
        let history = self.history().ok().flatten();
        // Numbers of messages are those of the time when it was noted. What history first saw of the fork is nearest to that time.
        let seen = history.and_then(|history| history.first_head(&here.path, told + 1));
        let fork = seen.unwrap_or_else(|| self.place_here(parent, told.min(above.head()), c));
        let fork = fork.min(here.head());
        let moment = above.transcript.moment(told).map(|moment| moment.to_string());
        let there = match record {
            // The parent still has that very message under that number.
            Some(record) if moment.as_ref() == Some(&record.moment) => told,
            _ => self.place_here(c, fork, parent),
        };
        (there, fork)
    }

    /// When a fork was made, where anything tells exactly.
    pub(crate) fn forked_at(&self, c: ChatIx) -> Option<i64> {
        // Where healing wrote the record, it says when that was.
        let record = self.chats[c].record.as_ref().filter(|record| !record.adopted);
        let recorded = record.map(|record| record.created).filter(|created| *created > 0);
        recorded.or_else(|| self.copies().iter().find(|copy| copy.chat == c).map(|copy| copy.time))
    }
}
