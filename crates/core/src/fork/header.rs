//! The header of a fork: [`Revision`]s of its parent's, one for everything that does not simply come along.
//!
//! Revisions are data: a new fork's header is the parent's line with all of them made ([`apply`]); a chat that is healed gets the
//! same as edits of the file it has.

use forklore_json::{EditError, Kind, Raw, Step, quote};
use serde_json::json;

use crate::adapter::auto_recap::running::{CombinedRecap, KEYS, Projection};
use crate::format::record::{Baseline, BaselineVersion};

/// Keys of `chat_metadata` that are nobody's state: identity, lineage, and what is handled one by one.
pub const HANDLED: [&str; 16] = [
    "integrity",
    "main_chat",
    "world_info",
    "tainted",
    "forklore",
    "auto_lorebooks",
    "autoLorebooks",
    "auto_summarize_operation_queue",
    "auto_recap",
    "auto_recap_checkpoint_state",
    "checkpoint_lorebook_reconstructed",
    "checkpoint_lorebook_entries",
    "checkpoint_source_message",
    "timedWorldInfo",
    KEYS[0],
    KEYS[1],
];

/// One value in `chat_metadata` that a fork has for its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// Keys that lead there, from the header on.
    pub path: Vec<String>,
    /// Its value; nothing if the fork has none.
    pub to: Option<Vec<u8>>,
}

impl Revision {
    /// A value in `chat_metadata`.
    pub fn set(path: &[&str], value: Vec<u8>) -> Self {
        Self { path: below_metadata(path), to: Some(value) }
    }

    /// A text in `chat_metadata`.
    pub fn text(path: &[&str], text: &str) -> Self {
        Self::set(path, quote(text))
    }

    /// A value that the fork does not have.
    pub fn without(path: &[&str]) -> Self {
        Self { path: below_metadata(path), to: None }
    }
}

fn below_metadata(path: &[&str]) -> Vec<String> {
    std::iter::once("chat_metadata").chain(path.iter().copied()).map(str::to_owned).collect()
}

/// A header line with revisions made. A chat without a header gets the one that SillyTavern would give it.
pub fn apply(header: Option<Raw<'_>>, revisions: &[Revision]) -> Result<Vec<u8>, EditError> {
    const FRESH: &[u8] = br#"{"chat_metadata":{},"user_name":"unused","character_name":"unused"}"#;
    let mut line = header.map_or(FRESH, Raw::bytes).to_vec();
    if Raw::trust(&line).get("chat_metadata").is_none_or(|m| m.kind() != Kind::Object) {
        line = forklore_json::set(Raw::trust(&line), &[Step::Key("chat_metadata")], b"{}")?.apply(&line);
    }
    for revision in revisions {
        let steps: Vec<Step<'_>> = revision.path.iter().map(|key| Step::Key(key)).collect();
        let doc = Raw::trust(&line);
        let splice = match &revision.to {
            Some(value) => Some(forklore_json::set(doc, &steps, value)?),
            None => forklore_json::remove(doc, &steps),
        };
        if let Some(splice) = splice {
            line = splice.apply(&line);
        }
    }
    Ok(line)
}

/// The running recap of a fork, and the versions that it does not have, to be archived.
pub fn running(metadata: Raw<'_>, projection: &Projection, chat: &str) -> (Vec<Revision>, Vec<Vec<u8>>) {
    let stored = KEYS.iter().find_map(|key| Some((*key, metadata.get(key)?)));
    // What is no recap comes along as it is.
    let Some((key, recap)) = stored.filter(|(_, recap)| recap.kind() == Kind::Object) else {
        return (Vec::new(), Vec::new());
    };
    let versions: Vec<Raw<'_>> = numbered_versions(recap).collect();
    let pick = |places: &[usize]| -> Vec<Vec<u8>> {
        places.iter().filter_map(|i| versions.get(*i)).map(|raw| raw.bytes().to_vec()).collect()
    };
    let (kept, mut dropped) = (pick(&projection.kept), pick(&projection.dropped));
    let mut revisions = Vec::new();
    if !dropped.is_empty() {
        // Nobody can choose a version without a number; but what goes is kept.
        let all = recap.get("versions").unwrap_or(Raw::NULL).elements();
        dropped.extend(all.filter(|version| !is_numbered(*version)).map(|version| version.bytes().to_vec()));
        revisions.push(Revision::set(&[key, "versions"], list(&kept)));
    }
    let current = projection.current.and_then(|i| versions.get(i)).and_then(|v| v.get("version"));
    let number = |raw: Option<Raw<'_>>| raw.and_then(Raw::as_i64);
    // The one in use may have no text, or not be there at all.
    let other = current.is_some() && number(current) != number(recap.get("current_version"));
    if !dropped.is_empty() || other {
        // Without any version 0 stands for "none": that is how the extension writes it.
        let current = current.map_or(b"0".to_vec(), |number| number.bytes().to_vec());
        revisions.push(Revision::set(&[key, "current_version"], current));
    }
    if key == KEYS[0] && recap.get("chat_id").is_none_or(|id| !id.is_text(chat)) {
        revisions.push(Revision::text(&[key, "chat_id"], chat));
    }
    (revisions, dropped)
}

/// The versions in file order that have a number: what [`crate::adapter::auto_recap::running::RunningRecap`] counts.
fn numbered_versions(recap: Raw<'_>) -> impl Iterator<Item = Raw<'_>> {
    let versions = recap.get("versions").unwrap_or(Raw::NULL).elements();
    versions.filter(|version| is_numbered(*version))
}

fn is_numbered(version: Raw<'_>) -> bool {
    version.get("version").and_then(Raw::as_i64).is_some()
}

/// A JSON list of values.
pub fn list(values: &[Vec<u8>]) -> Vec<u8> {
    [b"[".as_slice(), &values.join(&b','), b"]"].concat()
}

/// Work that waits in the parent: it is the parent's. The fork starts without, and the record keeps it, by these names.
pub fn pending(metadata: Raw<'_>) -> (Vec<Revision>, Vec<(&'static str, Vec<u8>)>) {
    let (mut revisions, mut waiting) = (Vec::new(), Vec::new());
    let places: [(&str, [&str; 2], &[u8]); 2] = [
        ("pending", ["autoLorebooks", "pendingOps"], b"{}"),
        // Where the first versions of the extension had their queue.
        ("old_queue", ["auto_summarize_operation_queue", "queue"], b"[]"),
    ];
    for (name, path, empty) in places {
        let work = metadata.at(&path);
        let has_any = |work: &Raw<'_>| work.members().next().is_some() || work.elements().next().is_some();
        if let Some(work) = work.filter(has_any) {
            revisions.push(Revision::set(&path, empty.to_vec()));
            waiting.push((name, work.bytes().to_vec()));
        }
    }
    (revisions, waiting)
}

/// The combined recap of a fork: `fitting` is the one that fits, with its bytes.
pub fn combined(metadata: Raw<'_>, fitting: Option<&[u8]>, chat: &str) -> Vec<Revision> {
    let path = ["auto_recap", "combined_recap"];
    let Some(now) = metadata.at(&path) else { return Vec::new() };
    let Some(fitting) = fitting else { return vec![Revision::without(&path)] };
    let mut revisions = Vec::new();
    if now.bytes() != fitting {
        revisions.push(Revision::set(&path, fitting.to_vec()));
    }
    if Raw::trust(fitting).get("chat_id").is_some() {
        revisions.push(Revision::text(&["auto_recap", "combined_recap", "chat_id"], chat));
    }
    revisions
}

/// What seed 003 wants recorded with a checkpoint, to be validated when it is entered.
#[derive(Debug, Clone)]
pub struct CheckpointState<'a> {
    /// When, in milliseconds since 1970
    pub now: i64,
    /// The last message
    pub message: usize,
    /// Name of the fork
    pub chat: &'a str,
    /// Whether nothing was waiting in the queue
    pub queue_was_empty: bool,
    /// Whether the last message ends a scene that is shown
    pub has_scene_break: bool,
    /// Title of that scene
    pub scene_name: Option<&'a str>,
    /// Its recap as stored
    pub scene_recap: Option<&'a [u8]>,
    /// The fork's book
    pub book: Option<&'a str>,
    /// The parent's book
    pub original_book: Option<&'a str>,
    /// What the user was warned of
    pub warnings: &'a [String],
}

impl CheckpointState<'_> {
    /// As revisions, from the fork's own metadata as it will be.
    pub fn revisions(&self, metadata: Raw<'_>, entries: usize, reconstructed: bool) -> Vec<Revision> {
        let recap = KEYS.iter().find_map(|key| metadata.get(key)).unwrap_or(Raw::NULL);
        let versions: Vec<Raw<'_>> = numbered_versions(recap).collect();
        let number = |raw: Raw<'_>, key: &str| raw.get(key).and_then(Raw::as_i64);
        let current = number(recap, "current_version")
            .and_then(|n| versions.iter().copied().find(|v| number(*v, "version") == Some(n)));
        let combined = metadata.at(&["auto_recap", "combined_recap"]).unwrap_or(Raw::NULL);
        let raw = |value: Option<Raw<'_>>, other: &str| value.map_or(other.as_bytes(), Raw::bytes).to_vec();
        let all: Vec<Vec<u8>> = versions.iter().map(|v| v.bytes().to_vec()).collect();
        let value = |value: serde_json::Value| value.to_string().into_bytes();
        let fields: [(&str, Vec<u8>); 20] = [
            ("version", b"2".to_vec()),
            ("timestamp", value(json!(self.now))),
            ("message_id", value(json!(self.message))),
            ("extension_version", value(json!(concat!("forklore ", env!("CARGO_PKG_VERSION"))))),
            ("chat_id", quote(self.chat)),
            ("queue_was_empty", value(json!(self.queue_was_empty))),
            ("has_scene_break", value(json!(self.has_scene_break))),
            ("has_scene_recap", value(json!(self.scene_recap.is_some()))),
            ("has_running_recap", value(json!(current.is_some()))),
            ("cloned_lorebook_name", self.book.map_or(b"null".to_vec(), quote)),
            ("original_lorebook_name", self.original_book.map_or(b"null".to_vec(), quote)),
            ("running_recap_version", raw(current.and_then(|v| v.get("version")), "null")),
            ("running_recap_scene_count", raw(current.and_then(|v| v.get("scene_count")), "0")),
            ("running_recap_versions", list(&all)),
            ("combined_recap_content", raw(combined.get("content"), "\"\"")),
            ("combined_recap_message_count", raw(combined.get("message_count"), "0")),
            ("combined_recap_timestamp", raw(combined.get("timestamp"), "null")),
            ("scene_break_name", self.scene_name.map_or(b"null".to_vec(), quote)),
            ("scene_recap", self.scene_recap.unwrap_or(b"null").to_vec()),
            ("warnings", value(json!(self.warnings))),
        ];
        vec![
            Revision::set(&["auto_recap_checkpoint_state"], object(&fields)),
            Revision::set(&["checkpoint_lorebook_reconstructed"], value(json!(reconstructed))),
            Revision::set(&["checkpoint_lorebook_entries"], value(json!(entries))),
            Revision::set(&["checkpoint_source_message"], value(json!(self.message))),
        ]
    }
}

/// A JSON object of keys and values.
pub fn object(fields: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let members: Vec<Vec<u8>> =
        fields.iter().map(|(key, value)| [&quote(key)[..], b":", value].concat()).collect();
    [b"{".as_slice(), &members.join(&b','), b"}"].concat()
}

/// What the recaps in a header are now, to be compared with later.
pub fn baseline(metadata: Raw<'_>, messages: usize, moment: String, book: Option<String>) -> Baseline {
    let recap = KEYS.iter().find_map(|key| metadata.get(key)).unwrap_or(Raw::NULL);
    let version = |raw: Raw<'_>| {
        let version = raw.get("version").and_then(Raw::as_i64)?;
        Some(BaselineVersion { version, hash: version_hash(raw) })
    };
    let versions: Vec<BaselineVersion> = numbered_versions(recap).filter_map(version).collect();
    let current = recap.get("current_version").and_then(Raw::as_i64).filter(|_| !versions.is_empty());
    Baseline { messages, moment, book, current, versions, combined: combined_baseline(metadata) }
}

/// The combined recap as a baseline has it: how many messages it covers, and its hash.
pub fn combined_baseline(metadata: Raw<'_>) -> Option<(i64, String)> {
    let recap = CombinedRecap::read(metadata)?;
    Some((recap.message_count, short_hash(&[recap.content.as_bytes()])))
}

/// What makes a version of the running recap this version: its text, and the scene it goes up to.
pub fn version_hash(version: Raw<'_>) -> String {
    let [content, scene] = version.pick(["content", "new_scene_index"]);
    let text = content.and_then(Raw::as_wtf8).unwrap_or_default();
    short_hash(&[&text, scene.map_or(b"", Raw::bytes)])
}

fn short_hash(parts: &[&[u8]]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().to_hex()[..32].to_owned()
}
