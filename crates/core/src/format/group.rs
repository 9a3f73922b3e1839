//! Group files: `groups/<id>.json`.

use forklore_json::Raw;

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
}

impl Group {
    /// Reads a group file. `None` if it is not a JSON object.
    pub fn parse(bytes: &[u8], file_stem: &str) -> Option<Self> {
        let raw = Raw::parse(bytes).ok().filter(|raw| raw.kind() == forklore_json::Kind::Object)?;
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
        })
    }
}
