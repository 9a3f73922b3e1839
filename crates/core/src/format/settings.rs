//! `settings.json`: which books are bound outside the chats, and how Auto-Recap names its books.

use forklore_json::Raw;

/// What Forklore needs of a user's settings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// Books that are active in every chat.
    pub global_books: Vec<String>,
    /// Extra books of characters: card stem, book.
    pub character_books: Vec<(String, String)>,
    /// Books bound to personas.
    pub persona_books: Vec<String>,
    /// Auto-Recap's template for the names of its books.
    pub recap_book_template: Option<String>,
    /// Chat ids that Auto-Recap keeps settings for, by map.
    pub recap_chat_maps: Vec<(String, Vec<String>)>,
}

/// The maps in Auto-Recap's settings whose keys are chat ids.
pub const RECAP_CHAT_MAPS: [&str; 4] =
    ["chats_enabled", "chat_strip_patterns", "chat_profiles", "chat_sticky_presets"];

/// A text that is not empty.
fn text(value: Option<Raw<'_>>) -> Option<String> {
    value.and_then(Raw::as_text).filter(|t| !t.is_empty()).map(std::borrow::Cow::into_owned)
}

impl Settings {
    /// Reads the settings. Whatever is missing or odd counts as not set: settings decide about warnings, never about data.
    pub fn parse(bytes: &[u8]) -> Self {
        let Ok(raw) = Raw::parse(bytes) else { return Self::default() };
        let texts = |value: Option<Raw<'_>>| -> Vec<String> {
            let all = value.unwrap_or(Raw::NULL).elements().filter_map(Raw::as_text);
            all.map(std::borrow::Cow::into_owned).filter(|t| !t.is_empty()).collect()
        };
        let world_info = raw.at(&["world_info_settings", "world_info"]).or_else(|| raw.get("world_info"));
        let world_info = world_info.unwrap_or(Raw::NULL);
        let mut character_books = Vec::new();
        for lore in world_info.get("charLore").unwrap_or(Raw::NULL).elements() {
            let name = text(lore.get("name")).unwrap_or_default();
            character_books
                .extend(texts(lore.get("extraBooks")).into_iter().map(|book| (name.clone(), book)));
        }
        let power_user = raw.get("power_user").unwrap_or(Raw::NULL);
        let mut persona_books: Vec<String> =
            text(power_user.get("persona_description_lorebook")).into_iter().collect();
        for (_, persona) in power_user.get("persona_descriptions").unwrap_or(Raw::NULL).members() {
            persona_books.extend(text(persona.get("lorebook")));
        }
        let extensions = raw.get("extension_settings").unwrap_or(Raw::NULL);
        let recap = extensions.get("auto_recap_memory").unwrap_or(Raw::NULL);
        let recap_chat_maps = RECAP_CHAT_MAPS
            .iter()
            .map(|map| {
                let keys = recap.get(map).unwrap_or(Raw::NULL).members().filter_map(|(key, _)| key.as_text());
                ((*map).to_owned(), keys.map(std::borrow::Cow::into_owned).collect())
            })
            .collect();
        Self {
            global_books: texts(world_info.get("globalSelect")),
            character_books,
            persona_books,
            recap_book_template: text(extensions.at(&["autoLorebooks", "nameTemplate"])),
            recap_chat_maps,
        }
    }
}
