//! [`Story`]: everything of one character or one group.

use std::ops::{Index, IndexMut};

use forklore_core::story::ChatIx;
use schemars::JsonSchema;
use serde::Serialize;

/// Which of the stories of a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StoryIx(usize);

impl StoryIx {
    /// The story at a place of the list.
    pub(crate) const fn new(place: usize) -> Self {
        Self(place)
    }

    /// Its place among the stories of its library.
    pub const fn place(self) -> usize {
        self.0
    }
}

impl Index<StoryIx> for Vec<Story> {
    type Output = Story;

    fn index(&self, story: StoryIx) -> &Story {
        &self[story.0]
    }
}

impl IndexMut<StoryIx> for Vec<Story> {
    fn index_mut(&mut self, story: StoryIx) -> &mut Story {
        &mut self[story.0]
    }
}

/// What kind of story it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StoryKind {
    /// The chats of one character
    Character,
    /// The chats of one group
    Group,
}

/// Everything of one character or one group.
#[derive(Debug, Clone)]
pub struct Story {
    /// Character or group
    pub(crate) kind: StoryKind,
    /// The card's file stem, or the group's id
    pub(crate) folder: String,
    /// The name shown to the user
    pub(crate) name: String,
    /// Its chats, sorted by name
    pub(crate) chats: Vec<ChatIx>,
}

impl Story {
    /// Character or group.
    pub fn kind(&self) -> StoryKind {
        self.kind
    }

    /// The card's file stem, or the group's id.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// The name shown to the user.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its chats, sorted by name.
    pub fn chats(&self) -> &[ChatIx] {
        &self.chats
    }

    /// Whether a user can mean this story by `name`.
    pub fn is_called(&self, name: &str) -> bool {
        let id =
            if self.kind == StoryKind::Group { name.strip_prefix("group:").unwrap_or(name) } else { name };
        self.folder == id || self.name == name
    }
}
