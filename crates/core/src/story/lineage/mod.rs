//! [`trace`]: for every chat, which chat it was forked from, at which message, and how we know ([`Lineage`]).
//!
//! Three kinds of evidence, the first that speaks decides: the `forklore` record in the header; `main_chat`, if the
//! transcripts agree that it is true; the transcripts alone. Names prove nothing by themselves: chats are renamed, deleted,
//! imported, and SillyTavern's links are never mended. Nor does a slug: before 1.19 a fork had its parent's.
//!
//! `tracer` weighs the evidence, `claimed` what `main_chat` says, `meet` finds where two chats part, `lines` which chats share most with one, without looking
//! at every pair, and `names` what names tell.

mod claimed;
mod lines;
mod meet;
mod names;
mod tracer;

use serde::{Deserialize, Serialize};

use self::tracer::Tracer;
use super::chat_ix::ChatIx;
use super::line::Confidence;
use super::moment::{Moment, Transcript};
use crate::format::record::ForkRecord;

/// One chat as lineage sees it. Names are file stems.
#[derive(Debug, Clone)]
pub struct Chat<'a> {
    /// Number of the story it belongs to; parents are looked for in the same story only.
    pub story: usize,
    /// Whether it is a group chat.
    pub group: bool,
    /// File stem.
    pub name: &'a str,
    /// Whether it has no metadata at all, so that it tells nothing of itself: not even that it was not forked.
    pub silent: bool,
    /// `integrity` of the header.
    pub slug: Option<&'a str>,
    /// `main_chat` of the header, sanitised.
    pub main_chat: Option<String>,
    /// The record that Forklore wrote, if it was written for this chat.
    pub record: Option<&'a ForkRecord>,
    /// The messages.
    pub transcript: &'a Transcript,
    /// Whether the times at which they were sent do not tell all of them apart: some have none, or many the same.
    pub undated: bool,
    /// Names that the chat's metadata goes by: the bound book, the running recap's chat id. They can tell a former name.
    pub aliases: Vec<&'a str>,
    /// Chats that hang on its messages: (how, sanitised name).
    pub links: Vec<(Link, String)>,
}

/// How a message refers to a fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Link {
    /// `extra.bookmark_link`
    Bookmark,
    /// `extra.branches`
    Branch,
}

/// What a chat is in its story.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Not forked from anything
    Main,
    /// A fork to play on
    Branch,
    /// A fork to come back to
    Checkpoint,
    /// The same chat once more: imported, restored, copied by hand
    Copy,
}

/// How the lineage of a chat is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Basis {
    /// Forklore's record
    Recorded,
    /// `main_chat`, verified on the line
    MainChat,
    /// The transcripts alone
    Moments,
    /// There is nothing to know, or nothing known
    None,
}

/// What is odd about the parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParentNote {
    /// The header names a chat that is gone.
    Missing(String),
    /// The header names a chat that goes by another name now.
    Renamed(String),
}

/// Where a chat comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    /// What it is
    pub kind: Kind,
    /// The chat it was forked from
    pub parent: Option<ChatIx>,
    /// The last message that it has from its parent; a best guess where the parent is gone.
    pub fork_message: Option<usize>,
    /// How this is known
    pub basis: Basis,
    /// How sure it is
    pub confidence: Confidence,
    /// What is odd about the parent
    pub note: Option<ParentNote>,
    /// Where the parent is gone: the chat that it had its own first messages from, or one that has them, too.
    pub beyond: Option<Beyond>,
}

/// A chat that is there, beyond a parent that is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beyond {
    /// Its number
    pub chat: ChatIx,
    /// The last message of ours that is its own, too
    pub message: usize,
}

impl Lineage {
    /// Of a chat that comes from nowhere, as far as anything tells.
    pub const NONE: Self = Self {
        kind: Kind::Main,
        parent: None,
        fork_message: None,
        basis: Basis::None,
        confidence: Confidence::Guess,
        note: None,
        beyond: None,
    };

    /// The nearest chat above that is there.
    pub fn above(&self) -> Option<ChatIx> {
        self.parent.or(self.beyond.map(|beyond| beyond.chat))
    }

    /// The last message that it has from that one, if that is known.
    pub fn shared(&self) -> Option<usize> {
        match self.parent {
            Some(_) => self.fork_message,
            None => self.beyond.map(|beyond| beyond.message),
        }
    }

    /// Whether the chat is a fork, its parent known or not.
    pub fn is_fork(&self) -> bool {
        matches!(self.kind, Kind::Branch | Kind::Checkpoint)
    }
}

/// Asks for the moments that a message of a chat would have, after the moment before it, with each of its swipes shown.
pub type Swipes<'a> = dyn Fn(ChatIx, usize, Moment) -> Vec<Moment> + Sync + 'a;

/// Finds the lineage of every chat.
pub fn trace(chats: &[Chat<'_>], swipes: &Swipes<'_>) -> Vec<Lineage> {
    Tracer::new(chats, swipes).trace()
}
