//! The combined recap in `chat_metadata`.

use forklore_json::{Raw, object, quote};

use crate::adapter::recap::CombinedRecap;
use crate::format::revision::Revision;

/// Where it is.
const PATH: [&str; 2] = ["auto_recap", "combined_recap"];

/// What is there.
pub(super) fn stored<'a>(metadata: Raw<'a>) -> Option<Raw<'a>> {
    metadata.at(&PATH)
}

/// Reads it.
pub(super) fn read(metadata: Raw<'_>) -> Option<CombinedRecap> {
    let raw = stored(metadata)?;
    Some(CombinedRecap {
        message_count: raw.get("message_count").and_then(Raw::as_i64)?,
        content: raw.get("content").and_then(Raw::as_text)?.into_owned(),
        clock: raw.get("timestamp").and_then(Raw::as_i64).unwrap_or(0),
    })
}

/// The one of a chat of this name, where `fitting` is what fits.
pub(super) fn put(metadata: Raw<'_>, fitting: Option<&[u8]>, chat: &str) -> Vec<Revision> {
    let Some(now) = stored(metadata) else { return Vec::new() };
    let Some(fitting) = fitting else { return vec![Revision::without(&PATH)] };
    let mut revisions = Vec::new();
    if now.bytes() != fitting {
        revisions.push(Revision::set(&PATH, fitting.to_vec()));
    }
    if Raw::trust(fitting).get("chat_id").is_some() {
        revisions.push(Revision::text(&[PATH[0], PATH[1], "chat_id"], chat));
    }
    revisions
}

/// One of a chat of this name, made by Forklore's own memory.
pub(super) fn made(text: &str, messages: usize, clock: i64, chat: &str) -> Revision {
    let made = object(&[
        ("chat_id", quote(chat)),
        ("content", quote(text)),
        ("message_count", messages.to_string().into_bytes()),
        ("timestamp", clock.to_string().into_bytes()),
    ]);
    Revision::set(&PATH, made)
}
