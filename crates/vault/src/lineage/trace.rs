//! From what was read of chats to who was forked from whom: `Library::trace`.

use std::collections::{HashMap, HashSet};

use forklore_core::format::chat::Message;
use forklore_core::format::names::{ForkName, chat_stem};
use forklore_core::story::lineage::{self, Lineage};
use forklore_core::story::{Confidence, Moment, swipe_moments};
use forklore_fs::Vfs;
use forklore_json::Raw;

use super::traced;
use crate::library::{Chat, Library, StoryKind};
use crate::{ChatIx, StoryIx};

impl Library {
    /// SillyTavern's own forks copy the record, before version 1.19 with the slug: where the owner itself is still there under its
    /// name, a record in another chat is a copy. (An owner that is not there was renamed, and this is it.)
    fn disown_copied_records(&mut self) {
        let named: HashSet<(StoryIx, String, Option<String>)> =
            self.chats.iter().map(|c| (c.story, c.name.clone(), c.outline.slug.clone())).collect();
        let unreadable: HashSet<(StoryIx, String)> = self.unreadable_chats().into_keys().collect();
        for chat in &mut self.chats {
            let owner_elsewhere = chat.record.as_ref().is_some_and(|record| {
                let owner = (chat.story, record.owner_file.clone(), Some(record.owner_slug.clone()));
                // One that cannot be read has no slug that anybody knows: by its name it is there.
                let closed = (chat.story, record.owner_file.clone());
                record.owner_file != chat.name && (named.contains(&owner) || unreadable.contains(&closed))
            });
            if owner_elsewhere {
                chat.record = None;
            }
        }
    }

    /// Finds out who was forked from whom, or remembers it under a name.
    pub(crate) fn trace_as(&mut self, name: &str, kept: &dyn Vfs) {
        self.disown_copied_records();
        let key = traced::is_worthwhile(&self.chats).then(|| traced::Key::of(&self.chats)).flatten();
        let known = key.as_ref().and_then(|key| traced::recall(kept, name, key, self.chats.len()));
        let found = known.unwrap_or_else(|| {
            let found = self.find_lineage();
            if let Some(key) = &key {
                traced::remember(kept, name, key, &found);
            }
            found
        });
        for (chat, lineage) in self.chats.iter_mut().zip(found) {
            chat.lineage = lineage;
        }
    }

    /// The chats that cannot be read, by story and name.
    fn unreadable_chats(&self) -> HashMap<(StoryIx, String), ChatIx> {
        let unreadable = ChatIx::each(&self.chats).filter(|(_, chat)| chat.unreadable.is_some());
        unreadable.map(|(c, chat)| ((chat.story, chat.name.clone()), c)).collect()
    }

    /// A fork of a chat that cannot be read is its fork, and nobody else's: its messages cannot be compared, and a sibling that has the
    /// same ones is not the parent under another name.
    fn keep_to_unreadable(&self, found: &mut [Lineage]) {
        let unreadable = self.unreadable_chats();
        if unreadable.is_empty() {
            return;
        }
        for ((c, chat), lineage) in ChatIx::each(&self.chats).zip(found) {
            let record = chat.record.as_ref();
            let named =
                record.map(|record| record.parent_file.clone()).or_else(|| chat.main_chat().map(chat_stem));
            let parent =
                named.and_then(|name| unreadable.get(&(chat.story, name))).filter(|parent| **parent != c);
            // Names are given again; whose slug the record knows, or whose copy this is, that is the parent.
            let is_known = lineage.kind == lineage::Kind::Copy
                || (lineage.parent.is_some() && lineage.basis == lineage::Basis::Recorded);
            let Some(parent) = parent.filter(|_| !is_known) else { continue };
            let told = record.map(|record| record.message).or_else(|| ForkName::message(&chat.name));
            let fork = told.or(lineage.fork_message).map(|message| message.min(chat.head()));
            *lineage = Lineage {
                kind: if lineage.kind == lineage::Kind::Main { lineage::Kind::Branch } else { lineage.kind },
                parent: Some(*parent),
                fork_message: fork,
                basis: if record.is_some() { lineage::Basis::Recorded } else { lineage::Basis::MainChat },
                confidence: Confidence::Guess,
                note: None,
                beyond: None,
            };
        }
    }

    fn find_lineage(&self) -> Vec<Lineage> {
        let born: Vec<Option<String>> = self.chats.iter().map(Chat::born_as).collect();
        let seen: Vec<lineage::Chat<'_>> = self
            .chats
            .iter()
            .zip(&born)
            .map(|(chat, born)| lineage::Chat {
                story: chat.story.place(),
                group: self.stories[chat.story].kind == StoryKind::Group,
                name: &chat.name,
                silent: !chat.outline.has_metadata
                    || chat.kept.as_ref().is_some_and(|(_, kept)| kept.metadata.is_none()),
                slug: chat.slug(),
                main_chat: chat.main_chat().map(|name| {
                    // A name that no file can have is still a name to tell of.
                    Some(chat_stem(name)).filter(|stem| !stem.is_empty()).unwrap_or_else(|| name.to_owned())
                }),
                record: chat.record.as_ref(),
                transcript: &chat.transcript,
                undated: chat.facts.undated.is_some(),
                aliases: [
                    chat.outline.bindings.chat.as_deref(),
                    chat.running_outline().and_then(|r| r.chat_id.as_deref()),
                    born.as_deref(),
                ]
                .into_iter()
                .flatten()
                .collect(),
                links: chat.facts.links().map(|(_, link, name)| (link, chat_stem(name))).collect(),
            })
            .collect();
        let mut found =
            lineage::trace(&seen, &|chat, message, before| self.swipe_moments(chat, message, before));
        self.keep_to_unreadable(&mut found);
        found
    }

    /// The moments that a message would have, after the moment before it, with each of its swipes shown.
    pub fn swipe_moments(&self, chat: ChatIx, message: usize, before: Moment) -> Vec<Moment> {
        // A line that cannot be read any more has no swipes; its chat is reported on its own.
        let Ok(Some(line)) = self.message_line(chat, message) else { return Vec::new() };
        let Ok(raw) = Raw::parse(&line) else { return Vec::new() };
        swipe_moments(before, Message::new(raw))
    }
}
