//! [`Address`]: `FOLDER/Chat name`, `group:ID/Chat name`, or a name on its own where it is unique.

use std::fmt;

use forklore_core::format::names::chat_stem;

use crate::{ChatIx, Library, Story, StoryIx, StoryKind};

/// Where a chat is: its story's folder or group, and its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// Character or group
    pub kind: StoryKind,
    /// The card's file stem, or the group's id
    pub folder: String,
    /// File stem of the chat
    pub chat: String,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = if self.kind == StoryKind::Group { "group:" } else { "" };
        write!(f, "{prefix}{}/{}", self.folder, self.chat)
    }
}

/// Why a name leads to no chat or story.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Nothing goes by that name.
    #[error("There is no chat {wanted:?} in this vault")]
    NoSuchChat {
        /// What was asked for
        wanted: String,
        /// Chats whose names are like it
        like: Vec<String>,
    },
    /// Several chats go by that name.
    #[error("{wanted:?} could be {} chats", .candidates.len())]
    Ambiguous {
        /// What was asked for
        wanted: String,
        /// Their full addresses
        candidates: Vec<String>,
    },
    /// No story goes by that name.
    #[error("There is no story {wanted:?} in this vault")]
    NoSuchStory {
        /// What was asked for
        wanted: String,
        /// What there is
        like: Vec<String>,
    },
}

impl Library {
    /// The address of a chat.
    pub fn address(&self, chat: ChatIx) -> Address {
        let chat = self.chat(chat);
        let story = &self.stories[chat.story];
        Address { kind: story.kind, folder: story.folder.clone(), chat: chat.name.clone() }
    }

    /// The chat that a user means.
    pub fn find_chat(&self, wanted: &str) -> Result<ChatIx, AddressError> {
        let text = wanted.strip_suffix(".jsonl").unwrap_or(wanted);
        for exact in [wanted, text] {
            if let Some(c) = ChatIx::all(self.chats.len()).find(|c| self.address(*c).to_string() == exact) {
                return Ok(c);
            }
        }
        // "Story/Chat" with the story's display name, or the chat's name alone; names as typed, so cleaned first.
        let mut found: Vec<ChatIx> = Vec::new();
        if let Some((story, chat)) = text.split_once('/') {
            found = self.chats_named(chat, |s| self.stories[s].is_called(story));
        }
        if found.is_empty() {
            found = self.chats_named(text, |_| true);
        }
        if found.is_empty() {
            let lower = text.to_lowercase();
            found = ChatIx::all(self.chats.len())
                .filter(|c| self.chats[*c].name.to_lowercase() == lower)
                .collect();
        }
        match found[..] {
            [c] => Ok(c),
            [] => Err(AddressError::NoSuchChat { wanted: wanted.to_owned(), like: self.chats_like(text) }),
            _ => {
                let candidates = found.iter().map(|c| self.address(*c).to_string()).collect();
                Err(AddressError::Ambiguous { wanted: wanted.to_owned(), candidates })
            }
        }
    }

    /// The stories that a user means: one by folder, id or name.
    pub fn find_story(&self, wanted: &str) -> Result<StoryIx, AddressError> {
        let by_folder = self.story_where(|story| story.folder == wanted);
        let found = by_folder.or_else(|| self.story_where(|story| story.is_called(wanted)));
        found.ok_or_else(|| AddressError::NoSuchStory {
            wanted: wanted.to_owned(),
            like: self.stories.iter().map(|s| s.name.clone()).take(8).collect(),
        })
    }

    fn story_where(&self, is: impl Fn(&Story) -> bool) -> Option<StoryIx> {
        self.stories.iter().position(is).map(StoryIx::new)
    }

    fn chats_named(&self, name: &str, in_story: impl Fn(StoryIx) -> bool) -> Vec<ChatIx> {
        let stem = chat_stem(name);
        let named = |c: &ChatIx| self.chats[*c].name == name || self.chats[*c].name == stem;
        ChatIx::all(self.chats.len()).filter(named).filter(|c| in_story(self.chats[*c].story)).collect()
    }

    fn chats_like(&self, wanted: &str) -> Vec<String> {
        let needle = wanted.rsplit('/').next().unwrap_or(wanted).to_lowercase();
        let like = |c: &ChatIx| !needle.is_empty() && self.chats[*c].name.to_lowercase().contains(&needle);
        let mut found: Vec<ChatIx> = ChatIx::all(self.chats.len()).filter(like).collect();
        // The closest first: those with the least besides what was asked for.
        found.sort_by_key(|c| self.chats[*c].name.len());
        found.into_iter().take(5).map(|c| self.address(c).to_string()).collect()
    }
}
