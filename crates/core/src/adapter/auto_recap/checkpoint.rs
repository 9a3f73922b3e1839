//! What is recorded with a fork for the extension to validate when it is entered: the record that its own first attempt at checkpoints
//! wrote, and three keys beside it.

use forklore_json::{Raw, list, object, quote};
use serde_json::json;

use super::{combined, running};
use crate::adapter::notes::CheckpointState;
use crate::format::revision::Revision;

/// The key of the record.
pub(super) const KEY: &str = "auto_recap_checkpoint_state";
/// The keys beside it.
pub(super) const RECONSTRUCTED: &str = "checkpoint_lorebook_reconstructed";
pub(super) const ENTRIES: &str = "checkpoint_lorebook_entries";
pub(super) const MESSAGE: &str = "checkpoint_source_message";

/// The record, from the fork's own metadata as it will be.
pub(super) fn write(state: &CheckpointState<'_>, metadata: Raw<'_>) -> Vec<Revision> {
    let versions = running::versions(metadata);
    let in_use = running::read(metadata, false).and_then(|recap| recap.current);
    let current = in_use.and_then(|n| versions.iter().find(|version| version.number == n));
    let current = |key: &str| current.and_then(|version| version.raw.get(key));
    let combined = combined::stored(metadata).unwrap_or(Raw::NULL);
    let raw = |value: Option<Raw<'_>>, other: &str| value.map_or(other.as_bytes(), Raw::bytes).to_vec();
    let all: Vec<Vec<u8>> = versions.iter().map(|version| version.raw.bytes().to_vec()).collect();
    let value = |value: serde_json::Value| value.to_string().into_bytes();
    let fields: [(&str, Vec<u8>); 20] = [
        ("version", b"2".to_vec()),
        ("timestamp", value(json!(state.now))),
        ("message_id", value(json!(state.message))),
        ("extension_version", value(json!(concat!("forklore ", env!("CARGO_PKG_VERSION"))))),
        ("chat_id", quote(state.chat)),
        ("queue_was_empty", value(json!(state.queue_was_empty))),
        ("has_scene_break", value(json!(state.has_scene_break))),
        ("has_scene_recap", value(json!(state.scene_recap.is_some()))),
        ("has_running_recap", value(json!(current("version").is_some()))),
        ("cloned_lorebook_name", state.book.map_or(b"null".to_vec(), quote)),
        ("original_lorebook_name", state.original_book.map_or(b"null".to_vec(), quote)),
        ("running_recap_version", raw(current("version"), "null")),
        ("running_recap_scene_count", raw(current("scene_count"), "0")),
        ("running_recap_versions", list(&all)),
        ("combined_recap_content", raw(combined.get("content"), "\"\"")),
        ("combined_recap_message_count", raw(combined.get("message_count"), "0")),
        ("combined_recap_timestamp", raw(combined.get("timestamp"), "null")),
        ("scene_break_name", state.scene_name.map_or(b"null".to_vec(), quote)),
        ("scene_recap", state.scene_recap.unwrap_or(b"null").to_vec()),
        ("warnings", value(json!(state.warnings))),
    ];
    vec![
        Revision::set(&[KEY], object(&fields)),
        Revision::set(&[RECONSTRUCTED], value(json!(state.reconstructed))),
        Revision::set(&[ENTRIES], value(json!(state.entries))),
        Revision::set(&[MESSAGE], value(json!(state.message))),
    ]
}

/// The title of the scene that the fork was made at.
pub(super) fn scene(metadata: Raw<'_>) -> Option<String> {
    metadata.at(&[KEY, "scene_break_name"]).and_then(Raw::as_text).map(std::borrow::Cow::into_owned)
}
