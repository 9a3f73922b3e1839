//! The header of a fork: [`Revision`]s of its parent's, one for everything that does not simply come along.
//!
//! Revisions are data: a new fork's header is the parent's line with all of them made ([`apply`]); a chat that is healed gets the
//! same as edits of the file it has.

use forklore_json::{EditError, Kind, Raw, Step, quote};

use crate::adapter;
use crate::adapter::recap::{self, StoredVersion};
use crate::format::record::{Baseline, BaselineVersion};

/// Keys of `chat_metadata` that are nobody's state: identity, lineage, and what is handled one by one, here or by an adapter.
pub fn handled() -> impl Iterator<Item = &'static str> {
    let first = ["integrity", "main_chat", "world_info", "tainted", "forklore"];
    let noted = adapter::ALL.iter().flat_map(|adapter| adapter.handled()).copied();
    first.into_iter().chain(noted).chain(["timedWorldInfo"])
}

/// Whether a key of `chat_metadata` is one of [`handled`].
pub fn is_handled(key: &str) -> bool {
    handled().any(|known| known == key)
}

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

/// A JSON list of values.
pub fn list(values: &[Vec<u8>]) -> Vec<u8> {
    [b"[".as_slice(), &values.join(&b','), b"]"].concat()
}

/// A JSON object of keys and values.
pub fn object(fields: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let members: Vec<Vec<u8>> =
        fields.iter().map(|(key, value)| [&quote(key)[..], b":", value].concat()).collect();
    [b"{".as_slice(), &members.join(&b','), b"}"].concat()
}

/// What the recaps in a header are now, to be compared with later.
pub fn baseline(metadata: Raw<'_>, messages: usize, moment: String, book: Option<String>) -> Baseline {
    let version =
        |stored: &StoredVersion<'_>| BaselineVersion { version: stored.number, hash: stored.hash() };
    let versions = recap::versions(metadata).iter().map(version).collect();
    let current = recap::running(metadata).and_then(|recap| recap.current);
    Baseline { messages, moment, book, current, versions, combined: combined_baseline(metadata) }
}

/// The combined recap as a baseline has it: how many messages it covers, and its hash.
pub fn combined_baseline(metadata: Raw<'_>) -> Option<(i64, String)> {
    let recap = recap::combined(metadata)?;
    Some((recap.message_count, recap.hash()))
}
