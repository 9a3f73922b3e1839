//! [`MetadataDiff`]: the chat's variables, its author's note, and whatever else is kept for it.

use forklore_json::Raw;

use super::fields::{self, ValueChange};
use crate::fork::header::is_handled;

/// What differs in `chat_metadata`, as far as it is compared as it stands.
#[derive(Default)]
pub(super) struct MetadataDiff<'a> {
    pub(super) variables: Vec<ValueChange<'a>>,
    pub(super) note: Vec<ValueChange<'a>>,
    pub(super) metadata: Vec<ValueChange<'a>>,
}

impl<'a> MetadataDiff<'a> {
    pub(super) fn of(a: Raw<'a>, b: Raw<'a>) -> Self {
        let mut diff = Self::default();
        for (key, before, after) in fields::members(a, b) {
            let key = key.as_text().unwrap_or_default();
            if key == "variables" {
                // A chat without variables has none, whether there is an empty list for them or not.
                let [before, after] = [before, after].map(|value| value.or(Some(Raw::trust(b"{}"))));
                fields::paths(&[], before, after, &mut diff.variables);
            } else if is_note(&key) {
                fields::paths(&[&key], before, after, &mut diff.note);
            } else if is_compared(&key) {
                fields::paths(&[&key], before, after, &mut diff.metadata);
            }
        }
        diff
    }
}

/// Keys of metadata that are different in every chat, or at every message, and say nothing of the story.
const BOOKKEEPING: [&str; 3] = ["chat_id_hash", "lastInContextMessageId", "pick_reroll_seed"];

/// Whether a key of metadata is compared as it stands: what tells chats apart is not, and what is compared in its own way.
pub fn is_compared(key: &str) -> bool {
    !is_handled(key) && !BOOKKEEPING.contains(&key)
}

/// Whether a key of metadata belongs to the author's note.
fn is_note(key: &str) -> bool {
    key.starts_with("note_")
}
