//! [`Story`]: the text of the demo as its author wrote it.

use serde::Deserialize;

use crate::DemoError;

/// The whole story.
#[derive(Debug, Deserialize)]
pub(crate) struct Story {
    pub(crate) title: String,
    pub(crate) character: String,
    pub(crate) user: String,
    pub(crate) description: String,
    pub(crate) blurb: String,
    pub(crate) checkpoint: Checkpoint,
    #[serde(rename = "chat")]
    pub(crate) chats: Vec<Chat>,
}

/// A checkpoint that is left to be made.
#[derive(Debug, Clone, Deserialize)]
pub struct Checkpoint {
    /// The chat to fork
    pub parent: String,
    /// The last message
    pub at: usize,
    /// Its name
    pub name: String,
}

/// A chat: the first is the main line, the others are forks with only their own messages.
#[derive(Debug, Deserialize)]
pub(crate) struct Chat {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) parent: Option<String>,
    pub(crate) at: Option<usize>,
    pub(crate) swipe: Option<usize>,
    #[serde(default)]
    pub(crate) shares_book: bool,
    #[serde(default, rename = "message")]
    pub(crate) messages: Vec<Message>,
    #[serde(default, rename = "scene")]
    pub(crate) scenes: Vec<Scene>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Message {
    pub(crate) by: String,
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) swipes: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Scene {
    pub(crate) ends: usize,
    /// When it was processed, among all scenes.
    pub(crate) order: usize,
    pub(crate) name: String,
    pub(crate) recap: String,
    #[serde(default)]
    pub(crate) developments: Vec<String>,
    #[serde(default)]
    pub(crate) open: Vec<String>,
    #[serde(default)]
    pub(crate) state: Vec<String>,
    #[serde(default, rename = "entry")]
    pub(crate) entries: Vec<Entry>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Entry {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) keys: Vec<String>,
    pub(crate) synopsis: String,
    pub(crate) content: Vec<String>,
}

impl Story {
    /// The story that comes with Forklore.
    pub(crate) fn built_in() -> Result<Self, DemoError> {
        toml::from_str(include_str!("../story/story.toml")).map_err(|e| DemoError::Story(e.to_string()))
    }

    /// The number of a chat.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.chats.iter().position(|chat| chat.name == name)
    }

    /// The chats from the main line down to `chat`.
    pub(crate) fn line(&self, chat: usize) -> Vec<usize> {
        let parent = |c: &usize| self.chats[*c].parent.as_deref().and_then(|name| self.find(name));
        let mut line: Vec<usize> = std::iter::successors(Some(chat), parent).take(self.chats.len()).collect();
        line.reverse();
        line
    }
}
