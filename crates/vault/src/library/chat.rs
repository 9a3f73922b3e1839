//! [`Chat`]: one chat, as it was read.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use forklore_core::adapter::BookCopy;
use forklore_core::adapter::bindings::CHAT_BOOK;
use forklore_core::adapter::places::Path;
use forklore_core::adapter::recap::{self, RunningRecap};
use forklore_core::format::chat::Header;
use forklore_core::format::group::Kept;
use forklore_core::format::names::{book_stem, chat_stem};
use forklore_core::format::record::ForkRecord;
use forklore_core::format::settings::Settings;
use forklore_core::story::lineage::Lineage;
use forklore_core::story::{Moment, Transcript};
use forklore_fs::{Identity, VaultPath};

use super::StoryIx;
use super::body::{Later, LaterSnapshots};
use crate::cache::view::View;
use crate::read::facts::Facts;
use crate::read::outline::Outline;
use crate::read::snapshots::Snapshots;

/// One chat.
#[derive(Debug, Clone)]
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
    /// Header, rows and snapshots, once somebody has asked for one of them
    pub(crate) body: Arc<Later>,
    /// What questions about the whole vault need of the header
    pub(crate) outline: Outline,
    /// The group's file, and where in it the metadata is, for chats of older versions, which have no header
    pub(crate) kept: Option<(VaultPath, Kept)>,
    /// The book of its story: name as the header has it, and file stem
    pub(crate) book: Option<(String, String)>,
    /// Where in `chat_metadata` that is named
    pub(crate) place: Path,
    /// File stems of all books that the header binds it to
    pub(crate) bound: BTreeSet<String>,
    /// The messages
    pub(crate) transcript: Transcript,
    /// Facts about some messages
    pub(crate) facts: Facts,
    /// The moments that its scenes end with, if they are known without its rows
    pub(crate) at_scenes: Vec<Moment>,
    /// States of the book that its scenes have kept
    pub(crate) snapshots: LaterSnapshots,
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
    /// Notes what the outline says.
    pub(crate) fn look_at_outline(&mut self, settings: &Settings) {
        self.running = OnceLock::new();
        self.record = self.outline.record.clone();
        let bindings = &self.outline.bindings;
        let story = bindings.story(settings);
        self.book = story.map(|(name, _)| (name.to_owned(), book_stem(name)));
        self.place = story.map_or(CHAT_BOOK, |(_, place)| place);
        self.bound = bindings.all().map(book_stem).collect();
    }

    /// The moment that a scene ends with.
    pub(crate) fn at_scene(&self, message: usize) -> Option<Moment> {
        let place = self.facts.scenes.binary_search_by_key(&message, |(at, _)| *at).ok()?;
        self.at_scenes.get(place).copied().or_else(|| self.transcript.moment(message))
    }

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

    /// The book of its story, which the chat is bound to: name as the header has it, and file stem.
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
        let read = || recap::running(self.header().metadata());
        self.running.get_or_init(|| self.outline.running.as_ref().and_then(|_| read())).as_ref()
    }

    /// The running recap without the texts of its versions: what is asked of all chats is asked of this.
    pub fn running_outline(&self) -> Option<&RunningRecap> {
        self.outline.running.as_ref()
    }

    /// Name of the chat that this one says it was forked from.
    pub fn main_chat(&self) -> Option<&str> {
        self.outline.main_chat.as_deref()
    }

    /// The books that extensions made for it, and when, in milliseconds since 1970.
    pub fn made(&self) -> impl Iterator<Item = (&str, i64)> {
        self.outline.made.iter().map(|(book, time)| (book.as_str(), *time))
    }

    /// The books that its book was copied from when it was made.
    pub fn copies(&self) -> &[BookCopy] {
        &self.outline.copies
    }

    /// What the chat was called when its book was copied for it. SillyTavern's forks have their parent's notes: one's own names the parent
    /// that the header names.
    pub(crate) fn born_as(&self) -> Option<String> {
        let parent = chat_stem(self.main_chat()?);
        let own = self.copies().iter().find(|copy| chat_stem(&copy.parent) == parent);
        own.map(|copy| chat_stem(&copy.chat)).filter(|name| !name.is_empty())
    }

    /// Whom the mark of the line that is the story now was written for, if there is one.
    pub fn story_mark(&self) -> Option<&str> {
        self.outline.story.as_deref()
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
        self.body.get().header()
    }

    /// The slug by which SillyTavern tells chats apart.
    pub fn slug(&self) -> Option<&str> {
        self.outline.slug.as_deref()
    }

    /// File stem of the book of its story.
    pub fn book_stem(&self) -> Option<&str> {
        self.book.as_ref().map(|(_, stem)| stem.as_str())
    }

    /// File stems of all books that the header binds the chat to: its book, and what extensions write into besides.
    pub fn bound(&self) -> impl Iterator<Item = &str> {
        self.bound.iter().map(String::as_str)
    }

    /// Whether the header binds the chat to a book, by its stem.
    pub fn is_bound_to(&self, stem: &str) -> bool {
        self.bound.contains(stem)
    }

    /// Number of the last message; 0 for a chat without any.
    pub fn head(&self) -> usize {
        self.transcript.len().saturating_sub(1)
    }
}
