//! [`Revision`]s of a chat's header: one for everything that does not stay as it is.
//!
//! Revisions are data: a new fork's header is the parent's line with all of them made ([`apply`]); a chat that is healed gets the
//! same as edits of the file it has.

use forklore_json::{EditError, Kind, PathPart, Raw, quote};

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
        line = forklore_json::set(Raw::trust(&line), &[PathPart::Key("chat_metadata")], b"{}")?.apply(&line);
    }
    for revision in revisions {
        let steps: Vec<PathPart<'_>> = revision.path.iter().map(|key| PathPart::Key(key)).collect();
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
