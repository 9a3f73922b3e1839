//! [`Facts`]: the few things about messages that questions about the whole vault need, and the [`Damage`] of a chat's file.

use forklore_core::adapter::Scene;
use forklore_core::format::chat;
use forklore_core::story::lineage::Link;
use serde::{Deserialize, Serialize};

/// Facts about some messages of a chat.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Facts {
    /// Scenes, by the message they end with, ascending.
    pub scenes: Vec<(usize, Scene)>,
    /// Links to forks: message, whether a bookmark (else a branch), name as typed.
    pub links: Vec<(usize, bool, String)>,
    /// What is wrong with the file.
    pub damage: Vec<Damage>,
    /// The first message without a time of its own: it is missing, or that of the two before it.
    pub undated: Option<usize>,
}

impl Facts {
    /// Links in lineage's words.
    pub fn links(&self) -> impl Iterator<Item = (usize, Link, &str)> {
        let kind = |bookmark: bool| if bookmark { Link::Bookmark } else { Link::Branch };
        self.links.iter().map(move |(message, bookmark, name)| (*message, kind(*bookmark), name.as_str()))
    }

    /// The scene that ends with a message.
    pub fn scene(&self, message: usize) -> Option<&Scene> {
        let place = self.scenes.binary_search_by_key(&message, |(at, _)| *at).ok()?;
        Some(&self.scenes[place].1)
    }
}

/// Something wrong with a chat file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Damage {
    /// The file starts with a byte order mark.
    Bom,
    /// Nothing in it.
    Empty,
    /// The first line is a message.
    Headerless,
    /// A line that is not JSON; SillyTavern drops it. The last one of a file is usually cut off.
    BrokenLine {
        /// Line number from 1
        line: usize,
        /// What is wrong with it
        what: String,
        /// Whether it is the last
        last: bool,
    },
}

/// The links of a message: whether a bookmark (else a branch), name as typed.
pub(crate) fn links_of(message: chat::Message<'_>) -> Vec<(bool, String)> {
    let (bookmark, branches) = message.links();
    let mut links: Vec<(bool, String)> = branches.map(|name| (false, name.into_owned())).collect();
    links.extend(bookmark.map(|name| (true, name.into_owned())));
    links
}
