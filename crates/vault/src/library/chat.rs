//! [`Chat`]: one chat, as it was read.

use std::ops::Range;
use std::sync::OnceLock;

use forklore_core::adapter::recap::{self, RunningRecap};
use forklore_core::format::chat::Header;
use forklore_core::format::group::Kept;
use forklore_core::format::record::ForkRecord;
use forklore_core::story::Transcript;
use forklore_core::story::lineage::Lineage;
use forklore_fs::{Identity, VaultPath};
use forklore_json::Raw;

use super::StoryIx;
use crate::cache::view::View;
use crate::read::facts::Facts;
use crate::read::snapshots::Snapshots;

/// One chat.
#[derive(Debug)]
pub struct Chat {
    /// Number of its story
    pub(crate) story: StoryIx,
    /// File stem
    pub(crate) name: String,
    /// Its file
    pub(crate) path: VaultPath,
    /// Length of the file in bytes
    pub(crate) bytes: u64,
    /// When the file was last changed, in nanoseconds since 1970
    pub(crate) modified: i64,
    /// Which file was read; `None` if it could not be
    pub(crate) identity: Option<Identity>,
    pub(crate) header: Vec<u8>,
    /// Where in the header `chat_metadata` is, if it is there
    pub(crate) metadata: Option<Range<usize>>,
    /// The slug by which SillyTavern tells chats apart
    pub(crate) slug: Option<String>,
    /// The group's file, and where in it the metadata is, for chats of older versions, which have no header
    pub(crate) kept: Option<(VaultPath, Kept)>,
    /// The book bound to the chat: name as the header has it, and file stem
    pub(crate) book: Option<(String, String)>,
    /// The messages
    pub(crate) transcript: Transcript,
    /// Facts about some messages
    pub(crate) facts: Facts,
    /// States of the book that its scenes have kept
    pub(crate) snapshots: Snapshots,
    /// Where all this is remembered, if others can be remembered as a part of it; see `Library::view`
    pub(crate) view: OnceLock<View>,
    /// The record that Forklore wrote for this very chat
    pub(crate) record: Option<ForkRecord>,
    /// The running recap as stored, once it was asked for: of a large vault few are
    pub(crate) running: OnceLock<Option<RunningRecap>>,
    /// Where it comes from
    pub(crate) lineage: Lineage,
    /// Why the file could not be read
    pub(crate) unreadable: Option<String>,
}

impl Chat {
    /// Its story.
    pub fn story(&self) -> StoryIx {
        self.story
    }

    /// File stem.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its file.
    pub fn path(&self) -> &VaultPath {
        &self.path
    }

    /// Length of the file in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// When the file was last changed, in nanoseconds since 1970.
    pub fn modified(&self) -> i64 {
        self.modified
    }

    /// Which file was read; `None` if it could not be.
    pub fn identity(&self) -> Option<Identity> {
        self.identity
    }

    /// The group's file, and where in it the metadata is, for chats of older versions, which have no header.
    pub fn kept(&self) -> Option<&(VaultPath, Kept)> {
        self.kept.as_ref()
    }

    /// The book bound to the chat: name as the header has it, and file stem.
    pub fn book(&self) -> Option<(&str, &str)> {
        self.book.as_ref().map(|(name, stem)| (name.as_str(), stem.as_str()))
    }

    /// The messages.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Facts about some messages.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// States of the book that its scenes have kept.
    pub fn snapshots(&self) -> &Snapshots {
        &self.snapshots
    }

    /// The record that Forklore wrote for this very chat.
    pub fn record(&self) -> Option<&ForkRecord> {
        self.record.as_ref()
    }

    /// The running recap as stored.
    pub fn running(&self) -> Option<&RunningRecap> {
        self.running.get_or_init(|| recap::running(self.header().metadata())).as_ref()
    }

    /// Where it comes from.
    pub fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    /// Why the file could not be read.
    pub fn unreadable(&self) -> Option<&str> {
        self.unreadable.as_deref()
    }

    /// The header.
    pub fn header(&self) -> Header<'_> {
        // The scan took the header out of a line that it had parsed.
        if self.header.is_empty() {
            return Header::NONE;
        }
        let metadata = self.metadata.clone().and_then(|range| self.header.get(range));
        Header::with_metadata(Raw::trust(&self.header), metadata.map_or(Raw::NULL, Raw::trust))
    }

    /// The slug by which SillyTavern tells chats apart.
    pub fn slug(&self) -> Option<&str> {
        self.slug.as_deref()
    }

    /// File stem of the book bound to the chat.
    pub fn book_stem(&self) -> Option<&str> {
        self.book.as_ref().map(|(_, stem)| stem.as_str())
    }

    /// Number of the last message; 0 for a chat without any.
    pub fn head(&self) -> usize {
        self.transcript.len().saturating_sub(1)
    }
}
