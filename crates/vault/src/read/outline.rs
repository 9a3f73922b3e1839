//! [`Outline`]: what questions about the whole vault need of a header, which can be large.

use forklore_core::adapter::bindings::Bindings;
use forklore_core::adapter::recap::{self, RunningRecap};
use forklore_core::adapter::{self, BookCopy};
use forklore_core::format::chat::Header;
use forklore_core::format::record::ForkRecord;
use forklore_json::Raw;
use serde::{Deserialize, Serialize};

/// The key of `chat_metadata` with the mark of the line that is the story now.
pub const STORY: &str = "forklore_story";

/// What questions about the whole vault need of a header.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Outline {
    /// Whether there is a header at all
    pub(crate) is_there: bool,
    /// Whether it has metadata
    pub(crate) has_metadata: bool,
    /// The slug by which SillyTavern tells chats apart
    pub(crate) slug: Option<String>,
    /// Name of the chat that this one says it was forked from
    pub(crate) main_chat: Option<String>,
    /// The lorebooks that the chat is bound to
    pub(crate) bindings: Bindings,
    /// Whom the mark of the line that is the story now was written for
    pub(crate) story: Option<String>,
    /// The record that Forklore wrote for the chat with this slug
    pub(crate) record: Option<ForkRecord>,
    /// The running recap, without its texts
    pub(crate) running: Option<RunningRecap>,
    /// The books that extensions made for the chat, and when, in milliseconds since 1970
    pub(crate) made: Vec<(String, i64)>,
    /// The books that the chat's book was copied from when the chat was made
    pub(crate) copies: Vec<BookCopy>,
}

impl Outline {
    /// Of a header line, if there is one.
    pub(crate) fn of(line: Option<&[u8]>) -> Self {
        line.filter(|line| !line.is_empty())
            .map(|line| Self::of_metadata(Header::new(Raw::trust(line)).metadata()))
            .unwrap_or_default()
    }

    /// Of `chat_metadata`. It is gone through once, and the running recap, which is most of it, is set aside: every look for a key goes
    /// through all of them.
    fn of_metadata(metadata: Raw<'_>) -> Self {
        let (mut few, mut recaps): (Vec<u8>, Vec<u8>) = (vec![b'{'], vec![b'{']);
        for (key, value) in metadata.members() {
            let of_recap = adapter::ALL.iter().flat_map(|adapter| adapter.running_keys());
            let part = if of_recap.copied().any(|name| key.is_text(name)) { &mut recaps } else { &mut few };
            if part.len() > 1 {
                part.push(b',');
            }
            part.extend_from_slice(key.bytes());
            part.push(b':');
            part.extend_from_slice(value.bytes());
        }
        few.push(b'}');
        recaps.push(b'}');
        let header = Header::new_metadata(Raw::trust(&few));
        let text = |text: Option<std::borrow::Cow<'_, str>>| text.map(std::borrow::Cow::into_owned);
        let slug = text(header.slug());
        Self {
            is_there: true,
            has_metadata: metadata != Raw::NULL,
            main_chat: text(header.main_chat()),
            bindings: Bindings::of(header),
            story: text(header.metadata().get(STORY).and_then(Raw::as_text)),
            record: ForkRecord::read(header.metadata()).filter(|record| record.belongs_to(slug.as_deref())),
            running: recap::running_outline(Raw::trust(&recaps)),
            made: adapter::made(header.metadata()).collect(),
            copies: adapter::copies(header),
            slug,
        }
    }
}
