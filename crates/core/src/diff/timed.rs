//! [`Effect`]: sticky and cooldown effects of two chats.
//!
//! SillyTavern keeps an effect under `<book>.<uid>`. Two forks have books of their own, so effects of the chat's own book are
//! compared by number alone, and the hash, which the book's name goes into, not at all.

use std::collections::BTreeMap;

use forklore_json::Raw;
use schemars::JsonSchema;
use serde::Serialize;

/// One effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Effect {
    /// `sticky` or `cooldown`.
    pub kind: String,
    /// Name of the book, unless it is the chat's own.
    pub book: Option<String>,
    /// Number of the entry.
    pub uid: Option<i64>,
    /// How many messages that are not hidden there were when it began.
    pub start: Option<i64>,
    /// How many there are when it ends.
    pub end: Option<i64>,
    /// Whether it outlasts a swipe.
    pub protected: bool,
}

/// How the effects of one chat become another's.
#[derive(Debug, Clone, Default)]
pub struct TimedDiff {
    /// Effects that only the second chat has.
    pub added: Vec<Effect>,
    /// Effects that only the first chat has.
    pub removed: Vec<Effect>,
    /// Effects that differ.
    pub changed: Vec<(Effect, Effect)>,
}

impl TimedDiff {
    /// Compares the effects in two chats' metadata; each with the name of the chat's own book.
    pub fn of(a: Raw<'_>, a_book: Option<&str>, b: Raw<'_>, b_book: Option<&str>) -> Self {
        let (ours, mut theirs) = (effects(a, a_book), effects(b, b_book));
        let mut diff = Self::default();
        for (name, effect) in ours {
            match theirs.remove(&name) {
                Some(other) if other == effect => {}
                Some(other) => diff.changed.push((effect, other)),
                None => diff.removed.push(effect),
            }
        }
        diff.added = theirs.into_values().collect();
        diff
    }

    /// Whether the two are the same.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

/// Effects by list and by key, the own book's name taken off.
fn effects(metadata: Raw<'_>, own: Option<&str>) -> BTreeMap<(String, bool, String), Effect> {
    let mut found = BTreeMap::new();
    for (kind, list) in metadata.get("timedWorldInfo").unwrap_or(Raw::NULL).members() {
        let kind = kind.as_text().unwrap_or_default().into_owned();
        for (key, effect) in list.members() {
            let key = key.as_text().unwrap_or_default();
            let uid = own.and_then(|own| key.strip_prefix(own)?.strip_prefix('.'));
            let (book, uid) = match (uid, key.rsplit_once('.')) {
                (Some(uid), _) => (None, uid),
                (None, Some((book, uid))) => (Some(book.to_owned()), uid),
                (None, None) => (Some(key.to_string()), ""),
            };
            let number = |field: &str| effect.get(field).and_then(Raw::as_i64);
            let name =
                (kind.clone(), book.is_none(), if book.is_none() { uid.to_owned() } else { key.to_string() });
            let effect = Effect {
                kind: kind.clone(),
                uid: uid.parse().ok(),
                book,
                start: number("start"),
                end: number("end"),
                protected: effect.get("protected").is_some_and(Raw::is_truthy),
            };
            found.insert(name, effect);
        }
    }
    found
}
