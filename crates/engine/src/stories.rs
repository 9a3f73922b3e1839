//! `stories`: what there is.

use std::collections::HashMap;

use forklore_core::check::{Finding, Health};
use forklore_journal::oplog::time;
use forklore_vault::{Chat, Library, StoryKind};
use schemars::JsonSchema;
use serde::Serialize;

/// All stories of a vault.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StoriesReport {
    /// One row a story
    pub stories: Vec<StoryRow>,
}

/// One story.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StoryRow {
    /// The name shown to the user
    pub name: String,
    /// Character or group
    pub kind: StoryKind,
    /// The card's file stem, or the group's id
    pub folder: String,
    /// How many chats it has
    pub chats: usize,
    /// How many of them are forks
    pub forks: usize,
    /// How many messages its longest chat has
    pub longest: usize,
    /// Size of its chats in bytes
    pub bytes: u64,
    /// When one of its chats was last changed, as RFC 3339; null if it has none
    pub changed: Option<String>,
    /// Worst finding
    pub health: Health,
}

/// Lists the stories, with the health that `findings` give them.
pub fn stories(library: &Library, findings: &[Finding]) -> StoriesReport {
    let mut by_chat: HashMap<&str, Vec<&Finding>> = HashMap::new();
    for finding in findings {
        by_chat.entry(finding.chat.as_deref().unwrap_or_default()).or_default().push(finding);
    }
    let rows = library.stories().map(|(_, story)| {
        let chats = || story.chats().iter().map(|c| library.chat(*c));
        let addresses = story.chats().iter().map(|c| library.address(*c).to_string());
        let ours = addresses.filter_map(|address| by_chat.get(address.as_str())).flatten().copied();
        StoryRow {
            name: story.name().to_owned(),
            kind: story.kind(),
            folder: story.folder().to_owned(),
            chats: story.chats().len(),
            forks: chats().filter(|chat| chat.lineage().is_fork()).count(),
            longest: chats().map(|chat| chat.transcript().len()).max().unwrap_or(0),
            bytes: chats().map(Chat::bytes).sum(),
            changed: chats().map(|chat| chat.modified() / 1_000_000).max().map(time),
            health: Health::of(ours),
        }
    });
    StoriesReport { stories: rows.collect() }
}
