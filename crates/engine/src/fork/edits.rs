//! [`edits`]: what points at a fork in files that SillyTavern writes, too.

use forklore_config::Config;
use forklore_core::adapter::settings::Fate;
use forklore_journal::layout;
use forklore_journal::operation::{Edit, Json, JsonChange, Place};
use forklore_json::Raw;
use forklore_vault::{Library, StoryKind};

use super::ForkError;
use super::request::Spot;
use crate::{chat_settings, links};

/// Edits of files that SillyTavern writes, too: what points at the fork. `header` is its header line, where its group keeps that.
pub(super) fn edits(
    library: &Library,
    spot: &Spot<'_>,
    config: &Config,
    name: &str,
    header: Option<&[u8]>,
) -> Result<Vec<Edit>, ForkError> {
    let c = spot.chat;
    let chat = library.chat(c);
    let story = library.story(chat.story());
    let mut edits = Vec::new();
    if story.kind() == StoryKind::Group
        && let Some(group) = library.groups().get(story.folder())
        && let Ok(target) = layout::folder(layout::GROUPS).join(&format!("{}.json", group.file))
    {
        let mut changes = vec![JsonChange::include(&["chats"], name)];
        if let Some(metadata) = header.and_then(|header| Raw::trust(header).get("chat_metadata")) {
            let bytes = library.fs().read(&target)?.unwrap_or_default();
            let now = Raw::parse(&bytes).unwrap_or(Raw::NULL);
            changes.extend(JsonChange::set_in(now, &["past_metadata", name], Json::new(metadata.bytes())));
        }
        edits.push(Edit::new(target, Place::Document, changes));
    }
    edits.extend(chat_settings::follow(library, c, Fate::Forked { from: chat.name(), to: name })?);
    if spot.request.link && config.fork.link_parent {
        edits.extend(links::to_fork(library, c, spot.at, spot.kind, name)?);
    }
    Ok(edits)
}
