//! The header of a fork: what of it is [`handled`] one by one, and the [`baseline`] that it is compared with later.

use forklore_json::Raw;

use crate::adapter;
use crate::adapter::recap::{self, StoredVersion};
use crate::format::record::{Baseline, BaselineVersion};

/// Keys of `chat_metadata` that are nobody's state: identity, lineage, and what is handled one by one, here or by an adapter.
pub fn handled() -> impl Iterator<Item = &'static str> {
    let first =
        ["integrity", "main_chat", "world_info", "tainted", "forklore", "forklore_story", "forklore_memory"];
    let noted = adapter::ALL.iter().flat_map(|adapter| adapter.handled()).copied();
    first.into_iter().chain(noted).chain(["timedWorldInfo"])
}

/// Whether a key of `chat_metadata` is one of [`handled`].
pub fn is_handled(key: &str) -> bool {
    handled().any(|known| known == key)
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
