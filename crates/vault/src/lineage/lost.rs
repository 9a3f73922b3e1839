//! Parents that are gone, and names that others have by now: [`Library::forks_of_lost`] are the chats that were forked from one,
//! [`Library::lost_place`] is what two of them have from it, [`Library::meant`] is whom a name means in a book.

use std::collections::HashMap;
use std::sync::OnceLock;

use forklore_core::format::names::{ForkName, chat_stem};
use forklore_core::state::Origin;
use forklore_core::story::lineage::{Kind, ParentNote};

use crate::library::{Chat, Library};
use crate::{ChatIx, StoryIx};

/// The forks of chats that are gone, by story and name, each with the last message that it has from there.
#[derive(Default)]
struct Lost(HashMap<(StoryIx, String), Vec<(ChatIx, usize)>>);

impl Library {
    /// The forks of a chat of this name that is gone, each with the last message that it has from there, as far as that is known.
    pub(crate) fn forks_of_lost(&self, story: StoryIx, name: &str) -> &[(ChatIx, usize)] {
        let lost = self.memo.slot::<OnceLock<Lost>>().get_or_init(|| {
            let mut lost = Lost::default();
            for (c, chat) in ChatIx::each(&self.chats) {
                let Some(name) = self.lost_parent(c) else { continue };
                let noted = self.forked_at(c).and_then(|time| self.head_at(c, time));
                let recorded = chat.record.as_ref().map(|record| record.message);
                let fork = recorded.or(noted).or(chat.lineage.fork_message);
                lost.0
                    .entry((chat.story, name.to_owned()))
                    .or_default()
                    .push((c, fork.unwrap_or(chat.head())));
            }
            lost
        });
        lost.0.get(&(story, name.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// The message of a chat that it has, like another one, from a parent of both that is gone.
    pub(crate) fn lost_place(&self, origin: Origin, chat: ChatIx) -> Option<usize> {
        let (here, there) = (&self.chats[chat], &self.chats[origin.chat]);
        let lost = self.lost_parent(chat).filter(|lost| self.lost_parent(origin.chat) == Some(lost))?;
        if here.story != there.story || chat == origin.chat {
            return None;
        }
        let last = |chat: ChatIx| self.forks_of_lost(here.story, lost).iter().find(|(fork, _)| *fork == chat);
        let message = self.counterpart(origin.chat, origin.message, chat)?;
        let has = |chat: ChatIx, message: usize| last(chat).is_some_and(|(_, last)| message <= *last);
        (has(origin.chat, origin.message) && has(chat, message)).then_some(message)
    }

    /// The chat that is meant by a name in a book that these chats use. Names are given again: SillyTavern takes the first free number for a
    /// branch, also that of a branch which got another name since. Who uses the book comes first, by the name that it has, or by the one
    /// that it was given when it was made.
    pub(crate) fn meant(&self, story: StoryIx, name: &str, users: &[ChatIx]) -> Option<ChatIx> {
        let now = self.named(story, name);
        if now.is_some_and(|chat| users.contains(&chat)) {
            return now;
        }
        let of_story = || users.iter().copied().filter(|user| self.chats[*user].story == story);
        let born = of_story().find(|user| self.chats[*user].born_as().as_deref() == Some(name));
        // A branch that somebody gave a name was called as SillyTavern calls branches of its parent.
        let base = ForkName::read(name).base();
        let renamed = |user: &ChatIx| {
            let chat = &self.chats[*user];
            let parent = chat.main_chat().map(chat_stem);
            chat.lineage.kind == Kind::Branch
                && chat.born_as().is_none()
                && ForkName::read(&chat.name) == ForkName::Plain
                && parent.as_deref() == base
        };
        // Who has a book of its own from the beginning never wrote into this one.
        let stranger = now.is_none_or(|chat| self.chats[chat].born_as().as_deref() == Some(name));
        let mut may_be = of_story().filter(renamed);
        let only = may_be.next().filter(|_| base.is_some() && stranger && may_be.next().is_none());
        let had = of_story().find(|user| self.was_called(*user, name));
        born.or(had).or(only).or(now).or_else(|| self.called_by_forks(story, name))
    }

    /// The chat of a name, or the one that had it and whose forks still call it by that.
    pub(crate) fn once_named(&self, story: StoryIx, name: &str) -> Option<ChatIx> {
        self.named(story, name).or_else(|| self.called_by_forks(story, name))
    }

    /// The chat that had a name which its forks still have for it: as their parent's, or in an extension's note of what was copied for them.
    fn called_by_forks(&self, story: StoryIx, name: &str) -> Option<ChatIx> {
        let is_it = |parent: &str| chat_stem(parent) == name;
        let noted = |chat: &Chat| {
            let mut own = chat.copies().iter().filter(|copy| chat_stem(&copy.chat) == chat.name);
            own.any(|copy| is_it(&copy.parent))
        };
        let calls = |chat: &&Chat| {
            chat.story == story
                && match &chat.lineage.note {
                    Some(ParentNote::Renamed(parent)) => is_it(parent.as_str()),
                    _ => noted(chat),
                }
        };
        let mut parents = self.chats.iter().filter(calls).filter_map(|chat| chat.lineage.parent);
        let first = parents.next()?;
        parents.all(|other| other == first).then_some(first)
    }

    /// Whether a chat has a message of another one, as its own or from above.
    pub(crate) fn has_on_line(&self, chat: ChatIx, Origin { chat: other, message }: Origin) -> bool {
        if message > self.chats[other].head() {
            return false;
        }
        let above =
            || self.line_above(chat).iter().any(|above| above.chat == other && message <= above.limit);
        chat == other || above() || self.lost_place(Origin { chat: other, message }, chat).is_some()
    }

    /// The name of a chat's parent, if that is gone.
    fn lost_parent(&self, chat: ChatIx) -> Option<&str> {
        match &self.chats[chat].lineage.note {
            Some(ParentNote::Missing(name)) => Some(name),
            _ => None,
        }
    }
}
