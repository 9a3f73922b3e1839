//! Group files: `groups/<id>.json`.
//!
//! Older versions of SillyTavern kept there what newer ones keep in the first line of a group's chats ([`Group::metadata`]): that of the
//! open chat as `chat_metadata`, that of the others by name in `past_metadata`. Such chats have no first line of their own.

use forklore_json::{Kind, Raw};

use super::names::chat_stem;

/// What Forklore needs of a group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Group {
    /// The group's id, which is also its file's name.
    pub id: String,
    /// Stem of its file: the id, unless somebody renamed the file.
    pub file: String,
    /// The name shown to the user.
    pub name: String,
    /// Names of its chats, as SillyTavern keeps them (not always sanitised).
    pub chats: Vec<String>,
    /// The chat that opens with the group.
    pub current_chat: Option<String>,
    /// Its members, by the file names of their cards.
    pub members: Vec<String>,
    /// `chat_metadata` as it stands, in groups of older versions: that of the open chat
    open_metadata: Option<Vec<u8>>,
    /// `past_metadata` of such groups: name of the chat, and what stands there
    past_metadata: Option<Vec<(String, Vec<u8>)>>,
}

/// Where a group of an older version keeps the metadata of a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Keys that lead there in the group's file
    pub path: Vec<String>,
    /// How many objects on the way there are not there yet
    pub missing: usize,
    /// The metadata as it stands; nothing if there is none yet
    pub metadata: Option<Vec<u8>>,
}

impl Group {
    /// Reads a group file. `None` if it is not a JSON object.
    pub fn parse(bytes: &[u8], file_stem: &str) -> Option<Self> {
        let raw = Raw::parse(bytes).ok().filter(|raw| raw.kind() == Kind::Object)?;
        let text = |key: &str| raw.get(key).and_then(Raw::as_text).map(std::borrow::Cow::into_owned);
        // Ids were numbers once.
        let id = text("id").or_else(|| raw.get("id").and_then(Raw::as_i64).map(|n| n.to_string()));
        let texts = |key: &str| {
            let list = raw.get(key).unwrap_or(Raw::NULL).elements().filter_map(Raw::as_text);
            list.map(std::borrow::Cow::into_owned).collect()
        };
        Some(Self {
            id: id.unwrap_or_else(|| file_stem.to_owned()),
            file: file_stem.to_owned(),
            name: text("name").unwrap_or_default(),
            chats: texts("chats"),
            current_chat: text("chat_id"),
            members: texts("members"),
            open_metadata: raw
                .get("chat_metadata")
                .filter(|metadata| metadata.kind() == Kind::Object)
                .map(|metadata| metadata.bytes().to_vec()),
            past_metadata: raw.get("past_metadata").filter(|past| past.kind() == Kind::Object).map(|past| {
                let chats = past.members().filter(|(_, metadata)| metadata.kind() == Kind::Object);
                chats
                    .filter_map(|(name, metadata)| {
                        Some((name.as_text()?.into_owned(), metadata.bytes().to_vec()))
                    })
                    .collect()
            }),
        })
    }

    /// Where the metadata of a chat of this group is kept that has no header, by its file stem; nothing if the group is none of an
    /// older version.
    pub fn metadata(&self, chat: &str) -> Option<Kept> {
        if self.open_metadata.is_none() && self.past_metadata.is_none() {
            return None;
        }
        if self.current_chat.as_deref().map(chat_stem).as_deref() == Some(chat)
            && let Some(metadata) = &self.open_metadata
        {
            let path = vec!["chat_metadata".to_owned()];
            return Some(Kept { path, missing: 0, metadata: Some(metadata.clone()) });
        }
        let past = self.past_metadata.iter().flatten().find(|(name, _)| chat_stem(name) == chat);
        let path = vec!["past_metadata".to_owned(), past.map_or(chat, |(name, _)| name).to_owned()];
        let missing = usize::from(past.is_none()) + usize::from(self.past_metadata.is_none());
        Some(Kept { path, missing, metadata: past.map(|(_, metadata)| metadata.clone()) })
    }
}
