//! [`Line`]: who asks, and the chats above.

use super::sight::Cast;
use crate::story::ChatIx;

/// The line that asks.
pub struct Line<'a> {
    /// Its chat.
    pub chat: ChatIx,
    /// The chats above it, nearest first.
    pub ancestors: Vec<Ancestor>,
    /// The message of our chat that a message of a chat above is, or the last one before it.
    pub ours: &'a dyn Fn(ChatIx, usize) -> Option<usize>,
    /// The first look of history that shows a chat bound to another book than this one, which it had before.
    pub left: &'a dyn Fn(ChatIx, &str) -> Option<u64>,
    /// Chats.
    pub cast: &'a dyn Cast,
}

/// A chat above ours.
#[derive(Debug, Clone, Copy)]
pub struct Ancestor {
    /// Its number.
    pub chat: ChatIx,
    /// The last message of it that is ours, too.
    pub limit: usize,
    /// When our line had left it, as far as is known: what was certainly done later is not ours.
    pub left: i64,
    /// When it was forked, if anything tells exactly.
    pub forked: Option<i64>,
    /// The first look of history at which our line had left it, and the first one that shows nothing but what came later.
    pub looked: Option<(u64, u64)>,
}
