//! [`ChatIx`]: which of the chats that are looked at together.

use std::fmt;
use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

/// Which of the chats that are looked at together: a place in the list that they were given in, no number of a message or of a story.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChatIx(usize);

impl ChatIx {
    /// The chat at a place of its list.
    pub const fn new(place: usize) -> Self {
        Self(place)
    }

    /// Its place in the list.
    pub const fn place(self) -> usize {
        self.0
    }

    /// All of a list with so many chats.
    pub fn all(chats: usize) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
        (0..chats).map(Self)
    }

    /// Everything of a list that has one thing for each chat, with the chat that it is of.
    pub fn each<T>(list: &[T]) -> impl DoubleEndedIterator<Item = (Self, &T)> + ExactSizeIterator + Clone {
        list.iter().enumerate().map(|(place, of)| (Self(place), of))
    }
}

impl fmt::Display for ChatIx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Lists that have one thing for each chat.
impl<T> Index<ChatIx> for [T] {
    type Output = T;

    fn index(&self, chat: ChatIx) -> &T {
        &self[chat.0]
    }
}

impl<T> IndexMut<ChatIx> for [T] {
    fn index_mut(&mut self, chat: ChatIx) -> &mut T {
        &mut self[chat.0]
    }
}

impl<T> Index<ChatIx> for Vec<T> {
    type Output = T;

    fn index(&self, chat: ChatIx) -> &T {
        &self[chat.0]
    }
}

impl<T> IndexMut<ChatIx> for Vec<T> {
    fn index_mut(&mut self, chat: ChatIx) -> &mut T {
        &mut self[chat.0]
    }
}
