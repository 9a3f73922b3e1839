//! `settings.json`: which books are bound outside the chats, how extensions name theirs, and which chats they keep settings for.

use std::collections::BTreeSet;

use forklore_json::Raw;

use crate::adapter::places::named;
use crate::adapter::settings::EXTENSIONS;
use crate::adapter::{ALL, Adapter};

/// What Forklore needs of a user's settings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// Books that are active in every chat.
    pub global_books: Vec<String>,
    /// Extra books of characters: card stem, book.
    pub character_books: Vec<(String, String)>,
    /// Books bound to personas.
    pub persona_books: Vec<String>,
    /// Books that extensions write into, whatever the chat.
    pub extension_books: Vec<String>,
    /// Extensions that are told not to keep memories in the book that their note in a header names.
    pub without_notes: Vec<&'static str>,
    /// Users' own templates for the names of books: extension, template.
    pub book_templates: Vec<(&'static str, String)>,
    /// Chats that extensions keep settings for, by name.
    pub kept_chats: BTreeSet<String>,
}

/// A text that is not empty.
fn text(value: Option<Raw<'_>>) -> Option<String> {
    value.and_then(Raw::as_text).filter(|t| !t.is_empty()).map(std::borrow::Cow::into_owned)
}

impl Settings {
    /// Reads the settings. Whatever is missing or odd counts as not set: what they decide is told by the data, too, where it matters.
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
        let extensions = raw.get(EXTENSIONS).unwrap_or(Raw::NULL);
        let template = |adapter: &&dyn Adapter| {
            let own = text(extensions.at(adapter.template_setting()?))?;
            Some((adapter.name(), own))
        };
        let maps = ALL.iter().flat_map(|adapter| adapter.chat_settings());
        let chats = maps.flat_map(|map| extensions.at(map).unwrap_or(Raw::NULL).members());
        let kept_chats =
            chats.filter_map(|(chat, _)| chat.as_text().map(std::borrow::Cow::into_owned)).collect();
        let without_note = |adapter: &&dyn Adapter| {
            let switch = extensions.at(adapter.places().memory_switch?)?;
            (!switch.is_truthy()).then(|| adapter.name())
        };
        let written = ALL.iter().flat_map(|adapter| adapter.places().settings_books);
        Self {
            global_books: texts(world_info.get("globalSelect")),
            character_books,
            persona_books,
            extension_books: written.flat_map(|path| named(extensions, path)).collect(),
            without_notes: ALL.iter().filter_map(without_note).collect(),
            book_templates: ALL.iter().filter_map(template).collect(),
            kept_chats,
        }
    }

    /// The template by which an extension names books: the user's own, else the extension's.
    pub fn book_template(&self, adapter: &dyn Adapter) -> Option<&str> {
        let own = self.book_templates.iter().find(|(name, _)| *name == adapter.name());
        own.map(|(_, template)| template.as_str()).or_else(|| adapter.book_template())
    }
}
