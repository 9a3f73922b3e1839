//! [`follow`]: what extensions keep in `settings.json` under a chat's name, when the chat is forked, renamed or deleted.

use forklore_core::adapter::ALL;
use forklore_core::adapter::settings::{Fate, SettingsChange, changes};
use forklore_fs::PathError;
use forklore_journal::layout;
use forklore_journal::operation::{Edit, Json, JsonChange, Place};
use forklore_json::Raw;
use forklore_vault::{ChatIx, Library};

/// The edit of the settings that follows what becomes of chat `c`; nothing if nothing is kept under its name.
pub(crate) fn follow(library: &Library, c: ChatIx, fate: Fate<'_>) -> Result<Option<Edit>, PathError> {
    if !library.settings().kept_chats.contains(fate.from()) {
        return Ok(None);
    }
    let target = layout::folder(layout::SETTINGS);
    let bytes = library.fs().read(&target)?.unwrap_or_default();
    let Ok(settings) = Raw::parse(&bytes) else { return Ok(None) };
    let is_anothers = |name: &str| library.chats().any(|(other, chat)| other != c && chat.name() == name);
    let change = |SettingsChange { path, to }| {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let to = match to {
            Some(value) => Some(Json::new(&value)?),
            None => None,
        };
        JsonChange::set_in(settings, &path, to)
    };
    let changes: Vec<JsonChange> =
        changes(&ALL, settings, fate, &is_anothers).into_iter().filter_map(change).collect();
    Ok((!changes.is_empty()).then(|| Edit::new(target, Place::Document, changes)))
}
