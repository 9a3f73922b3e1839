//! The running recap in `chat_metadata`, and what of it is another chat's.

use forklore_json::{Kind, PathPart, Raw, list, set};

use crate::adapter::recap::{Projection, RecapVersion, RunningRecap, StoredVersion};
use crate::format::revision::Revision;

/// Its key, and its older name.
pub(super) const KEYS: [&str; 2] =
    ["auto_recap_running_scene_recaps", "auto_summarize_running_scene_summaries"];

/// The key that a header has it under, and what is there.
fn stored<'a>(metadata: Raw<'a>) -> Option<(&'static str, Raw<'a>)> {
    KEYS.into_iter().find_map(|key| Some((key, metadata.get(key)?)))
}

/// Reads it, with or without its texts.
pub(super) fn read(metadata: Raw<'_>, texts: bool) -> Option<RunningRecap> {
    let (_, raw) = stored(metadata)?;
    let [versions, current, chat_id] = raw.pick(["versions", "current_version", "chat_id"]);
    let versions: Vec<RecapVersion> =
        versions.unwrap_or(Raw::NULL).elements().filter_map(|raw| read_version(raw, texts)).collect();
    let current = current.and_then(Raw::as_i64);
    Some(RunningRecap {
        chat_id: chat_id.and_then(Raw::as_text).map(std::borrow::Cow::into_owned),
        // "current_version": 0 beside an empty list means that there is none.
        current: current.filter(|_| !versions.is_empty()),
        versions,
    })
}

fn read_version(raw: Raw<'_>, texts: bool) -> Option<RecapVersion> {
    // In one pass: a text of thousands of bytes stands among them.
    let [version, clock, content, scene, events] =
        raw.pick(["version", "timestamp", "content", "new_scene_index", "event_keys"]);
    let number = |value: Option<Raw<'_>>| value.and_then(Raw::as_i64);
    let events = events.unwrap_or(Raw::NULL).elements().filter_map(Raw::as_text);
    Some(RecapVersion {
        version: number(version)?,
        clock: number(clock).unwrap_or(0),
        content: content.filter(|_| texts).and_then(Raw::as_text).map(std::borrow::Cow::into_owned),
        scene: number(scene).and_then(|n| usize::try_from(n).ok()).unwrap_or(0),
        events: events.filter_map(|key| event(&key)).collect(),
    })
}

/// `<version>:<name>:<hash>`; the name may hold colons itself.
fn event(key: &str) -> Option<(String, String)> {
    let (_, rest) = key.split_once(':')?;
    let (name, hash) = rest.rsplit_once(':')?;
    Some((name.to_owned(), hash.to_owned()))
}

/// The versions in file order that have a number, where they stand: those that [`read`] counts.
pub(super) fn versions<'a>(metadata: Raw<'a>) -> Vec<StoredVersion<'a>> {
    stored(metadata).map(|(_, recap)| numbered(recap)).unwrap_or_default()
}

fn numbered<'a>(recap: Raw<'a>) -> Vec<StoredVersion<'a>> {
    let version = |raw: Raw<'a>| {
        let [number, content, scene, scenes] =
            raw.pick(["version", "content", "new_scene_index", "scene_count"]);
        let number = number.and_then(Raw::as_i64)?;
        Some(StoredVersion { number, content, scene, scenes: scenes.and_then(Raw::as_i64), raw })
    };
    recap.get("versions").unwrap_or(Raw::NULL).elements().filter_map(version).collect()
}

/// What becomes a chat's of this name that has a part of the versions, and the others, to be archived.
pub(super) fn project(
    metadata: Raw<'_>,
    projection: &Projection,
    chat: &str,
) -> (Vec<Revision>, Vec<Vec<u8>>) {
    // What is no recap comes along as it is.
    let Some((key, recap)) = stored(metadata).filter(|(_, recap)| recap.kind() == Kind::Object) else {
        return (Vec::new(), Vec::new());
    };
    let versions = numbered(recap);
    let pick = |places: &[usize]| -> Vec<Vec<u8>> {
        places.iter().filter_map(|i| versions.get(*i)).map(|version| version.raw.bytes().to_vec()).collect()
    };
    let (kept, mut dropped) = (pick(&projection.kept), pick(&projection.dropped));
    let mut revisions = Vec::new();
    if !dropped.is_empty() {
        // Nobody can choose a version without a number; but what goes is kept.
        let all = recap.get("versions").unwrap_or(Raw::NULL).elements();
        let unnumbered = all.filter(|version| version.get("version").and_then(Raw::as_i64).is_none());
        dropped.extend(unnumbered.map(|version| version.bytes().to_vec()));
        revisions.push(Revision::set(&[key, "versions"], list(&kept)));
    }
    let current = projection.current.and_then(|i| versions.get(i));
    // The one in use may have no text, or not be there at all.
    let in_use = recap.get("current_version").and_then(Raw::as_i64);
    let other = current.is_some_and(|current| Some(current.number) != in_use);
    if !dropped.is_empty() || other {
        // Without any version 0 stands for "none": that is how the extension writes it.
        let number = current.and_then(|current| current.raw.get("version"));
        let current = number.map_or(b"0".to_vec(), |number| number.bytes().to_vec());
        revisions.push(Revision::set(&[key, "current_version"], current));
    }
    if key == KEYS[0] && recap.get("chat_id").is_none_or(|id| !id.is_text(chat)) {
        revisions.push(Revision::text(&[key, "chat_id"], chat));
    }
    (revisions, dropped)
}

/// A running recap of these versions, under the key that the chat has one under, or the newer one.
pub(super) fn put(metadata: Raw<'_>, versions: &[Vec<u8>], current: i64, chat: &str) -> Vec<Revision> {
    let key = stored(metadata).map_or(KEYS[0], |(key, _)| key);
    let mut revisions = vec![
        Revision::set(&[key, "versions"], list(versions)),
        Revision::set(&[key, "current_version"], current.to_string().into_bytes()),
    ];
    if key == KEYS[0] {
        revisions.push(Revision::text(&[key, "chat_id"], chat));
    }
    revisions
}

/// A version under another number, and up to another scene.
pub(super) fn moved(version: Raw<'_>, number: i64, scene: Option<usize>) -> Option<Vec<u8>> {
    let mut bytes = version.bytes().to_vec();
    let scene = scene.and_then(|scene| i64::try_from(scene).ok()).map(|scene| ("new_scene_index", scene));
    for (key, value) in [("version", number)].into_iter().chain(scene) {
        let raw = Raw::trust(&bytes);
        if raw.get(key).and_then(Raw::as_i64) != Some(value) {
            bytes = set(raw, &[PathPart::key(key)], value.to_string().as_bytes()).ok()?.apply(&bytes);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_zero_is_a_real_version() {
        let current = |text: &str| read(Raw::parse(text.as_bytes()).unwrap(), true).unwrap().current;
        let one = r#"{"auto_recap_running_scene_recaps":{"current_version":0,"versions":[{"version":0,"new_scene_index":3,"content":"x"}]}}"#;
        assert_eq!(current(one), Some(0));
        let none = r#"{"auto_recap_running_scene_recaps":{"current_version":0,"versions":[]}}"#;
        assert_eq!(current(none), None);
    }
}
