//! [`Author`]: who made a change. Who it was is found out in [`super::attribute`].

use super::sight::Scene;
use super::{Cause, Origin};
use crate::adapter::Work;
use crate::story::ChatIx;

/// Who made a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Author {
    /// Nobody: it is part of an empty book.
    Start,
    /// The processing of a scene, by its place in [`super::Life::scenes`].
    Scene(usize),
    /// The entry says itself from which messages it was made, all of it.
    Mark(Origin),
    /// Whatever replaced it says that it was there at this message, at the latest.
    Replaced(Origin),
    /// It was made in a chat of which nothing is known, and at messages that nobody has from there.
    Lost(Cause),
    /// Work on this scene was seen.
    Work(Origin),
    /// Somebody's hand, in this chat.
    Hand(ChatIx),
    /// Somebody's hand, in a book that all who use it share by choice; with the chat that was played last before, if that is known.
    Anybody(Option<ChatIx>),
    /// Nobody knows.
    Unknown,
}

impl Author {
    /// The chat in which it was made, if that is known.
    pub(super) fn chat(&self, scenes: &[Scene]) -> Option<ChatIx> {
        match self {
            Self::Scene(scene) => Some(scenes.get(*scene)?.origin.chat),
            Self::Mark(origin) | Self::Replaced(origin) | Self::Work(origin) => Some(origin.chat),
            Self::Hand(chat) => Some(*chat),
            Self::Start | Self::Lost(_) | Self::Anybody(_) | Self::Unknown => None,
        }
    }

    /// Whether it was somebody's hand, or may have been.
    pub(super) fn is_hand(&self) -> bool {
        matches!(self, Self::Hand(_) | Self::Anybody(_) | Self::Unknown)
    }
}

/// What was at work in a book at a sight of it.
#[derive(Debug, Clone, Default)]
pub(super) struct AtWork {
    /// The work, each piece with the scene that it is for; none if nothing is known of the chat of it
    pub(super) work: Vec<(Work, Option<Origin>)>,
    /// Whether that is all that can have been done since the sight before
    pub(super) live: bool,
    /// Who was played last before
    pub(super) player: Option<ChatIx>,
}
