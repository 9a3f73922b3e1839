//! Bringing branches together: [`learn`] makes a branch of one chat with what another one's lorebook has become since they parted;
//! [`resolve`] answers what the two do not agree on; [`pick`] takes one thing over.
//! [`append`] plays another line's messages after a chat's own; [`adopt`] marks the line that is the story now; [`together`] shows
//! two lines side by side.
//!
//! Transcripts are never interleaved, and nothing that is there is changed: the branch is a new chat with a new book, and its record names
//! both parents. What is open waits in that record, and the book holds the first parent's words meanwhile.

pub mod adopt;
pub mod append;
mod base;
mod ill;
pub mod learn;
mod left;
pub mod pick;
pub mod resolve;
pub mod together;

use forklore_core::format::record::Learnt;
use forklore_core::merge::Conflict;
use forklore_json::Raw;
use forklore_vault::{Chat, ChatIx, Library};
use schemars::JsonSchema;
use serde::Serialize;

/// What two lines do not agree on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OpenConflict {
    /// What it is answered by
    pub id: String,
    /// Number of the entry
    pub uid: Option<i64>,
    /// Its title
    pub title: String,
    /// The field; nothing if one side deleted the entry and the other went on with it
    pub field: Option<String>,
    /// What both had; nothing if nobody knows, or there was nothing
    pub base: Option<String>,
    /// What the chat's own line has
    pub ours: Option<String>,
    /// What the other line has
    pub theirs: Option<String>,
}

impl OpenConflict {
    fn of(conflict: &Conflict) -> Self {
        // Of a whole entry its text is what people know it by.
        let shown = |side: &Option<Vec<u8>>| {
            let value = Raw::trust(side.as_deref()?);
            let value = if conflict.is_whole() { value.get("content").unwrap_or(value) } else { value };
            let json = || String::from_utf8_lossy(value.bytes()).into_owned();
            Some(value.as_text().map_or_else(json, std::borrow::Cow::into_owned))
        };
        Self {
            id: conflict.id(),
            uid: conflict.uid,
            title: conflict.title.clone(),
            field: (!conflict.is_whole()).then(|| conflict.field.join(".")),
            base: shown(&conflict.base),
            ours: shown(&conflict.a),
            theirs: shown(&conflict.b),
        }
    }
}

/// What a chat has from a second parent.
pub(crate) fn learnt(chat: &Chat) -> Option<&Learnt> {
    chat.record()?.learnt.as_ref()
}

/// The second parent of a chat, if it is still there: by its identity, else by its name.
pub(crate) fn second_parent(library: &Library, chat: &Chat) -> Option<ChatIx> {
    let learnt = learnt(chat)?;
    named(library, chat, &learnt.slug, &learnt.file)
}

/// The chat whose messages follow in a chat, if it is still there.
pub(crate) fn appended_from(library: &Library, chat: &Chat) -> Option<ChatIx> {
    let appended = chat.record()?.appended.as_ref()?;
    named(library, chat, &appended.slug, &appended.file)
}

/// The first message of chat `b` that chat `a` does not have.
pub(crate) fn first_of_its_own(library: &Library, a: ChatIx, b: ChatIx) -> usize {
    let common = base::parting(library, a, library.chat(a).head(), b, library.chat(b).head()).common;
    common.map_or(0, |(_, last)| last + 1)
}

/// A chat that a record names: by its identity, else by its name beside the chat.
fn named(library: &Library, chat: &Chat, slug: &str, file: &str) -> Option<ChatIx> {
    let has_slug = |other: &Chat| other.slug() == Some(slug);
    let by_slug = library.find(|other| !slug.is_empty() && has_slug(other)).map(|(c, _)| c);
    by_slug.or_else(|| library.named(chat.story(), file))
}
