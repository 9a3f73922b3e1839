//! [`Sight`]: what a book held at one time, and [`BookEvidence`]: all that is known of one book, by whoever saw it.
//!
//! Nothing here depends on who asks. Which chat's line a change belongs to is decided later, from [`super::Life`].

use crate::story::ChatIx;
use std::sync::Arc;

use super::Origin;
use crate::adapter::{EntryRole, Keepers, Mark, Work, Written, entry_role};
use crate::format::book::EntryImage;

/// All that is known of one book.
#[derive(Clone)]
pub struct BookEvidence {
    /// Its file stem.
    pub book: Arc<str>,
    /// What keeps it; nobody, if it is kept by hand.
    pub keepers: Keepers,
    /// Whether all who use it share it by choice: nothing keeps it, and it was made for nobody.
    pub by_choice: bool,
    /// The chat that it was made for.
    pub owner: Option<ChatIx>,
    /// Whether that chat is gone: then [`BookEvidence::owner`] is only one that has its scenes.
    pub lost: bool,
    /// Who has it instead of [`BookEvidence::owner`] since that is gone.
    pub heir: Option<Heir>,
    /// The chats that are or were bound to it.
    pub users: Vec<ChatIx>,
    /// When it was made, in milliseconds since 1970, if anything tells.
    pub made: Option<i64>,
    /// Scenes whose processing may have written into it.
    pub scenes: Vec<Scene>,
    /// What it was seen to hold, in any order; looks among each other in the order in which they were made.
    pub sights: Vec<Sight>,
    /// Entries that are to be found in other books of the family and may be events of these scenes.
    pub elsewhere: Vec<EntryImage>,
}

/// Who has a book after the chat that it was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heir {
    /// The first observation after the look that found that one gone
    pub from: u64,
    /// The one whose it is by now, if it is anybody's
    pub chat: Option<ChatIx>,
}

/// What a book held at one time.
#[derive(Debug, Clone)]
pub struct Sight {
    /// When, in milliseconds since 1970, as far as the content itself tells. Times of files are no evidence: copying changes them.
    pub time: i64,
    /// Who saw it.
    pub witness: Witness,
    /// What was seen.
    pub content: Content,
}

/// What was seen of a book.
#[derive(Debug, Clone)]
pub enum Content {
    /// All of it.
    Whole(Arc<[EntryImage]>),
    /// What is different from the look before: places of entries that went, and entries that came, with their places.
    Changed {
        /// Places in the list of the look before, ascending
        gone: Vec<usize>,
        /// Entries with their places in the new list, ascending
        new: Vec<(usize, EntryImage)>,
    },
}

/// Who saw a book.
#[derive(Debug, Clone)]
pub enum Witness {
    /// The processing of a scene, by its place in [`BookEvidence::scenes`], when it was done.
    Scene(usize),
    /// History.
    Look(Look),
    /// What an extension noted of it with a message: nothing but what it tells of single changes.
    Log(Log),
    /// Another book, which began as a copy of this one. What it lacks says nothing.
    Copy,
    /// Whoever asks, now.
    Now,
}

/// What an extension noted of a book with a message.
#[derive(Debug, Clone)]
pub struct Log {
    /// When that was sent, in milliseconds since 1970: it was not noted before.
    pub time: i64,
    /// It was not noted later than this, if anything tells.
    pub until: Option<i64>,
    /// Whose message it is.
    pub chat: ChatIx,
    /// The last message that there was before, as far as that is certain.
    pub head: usize,
    /// The entries that it tells of.
    pub entries: Vec<EntryImage>,
    /// Entries that were there by then, and may have been changed or deleted since.
    pub remembered: Vec<EntryImage>,
    /// The changes that it was asked for, each with what was before and after, and whether that had happened by then.
    pub told: Vec<(Option<EntryImage>, Option<EntryImage>, bool)>,
}

impl Log {
    /// Whether what it does not tell of was not there: it has the lists that every book of its extension has.
    pub(super) fn is_whole(&self) -> bool {
        self.entries.iter().any(|entry| entry_role(&entry.comment) == EntryRole::Registry)
    }
}

/// One look of history at a book.
#[derive(Debug, Clone)]
pub struct Look {
    /// Number of the observation.
    pub seq: u64,
    /// The chats were saved with something that was written then: it cannot be earlier.
    pub not_before: i64,
    /// The first thing that the chats did not have yet: it cannot be later.
    pub not_after: i64,
    /// When whoever looked says that it was. Absent in older histories.
    pub looked: Option<i64>,
    /// Where the chats stood that are bound to the book: at the look before this one, and at this one.
    pub heads: Vec<(ChatIx, Head)>,
    /// Who was played last before, as far as saves tell.
    pub player: Option<ChatIx>,
    /// What was at work in the book, and on which scene; none if nothing is known of the chat of it.
    pub work: Vec<(Work, Option<Origin>)>,
    /// Whether work was under way all the time since the look before, and at most one piece of it was done: all of it is known.
    pub live: bool,
}

/// Where a chat stood when a book was looked at: somewhere from one message to another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Head {
    /// The last message that the chat is known to have had before; `None` if nobody had looked before
    pub from: Option<usize>,
    /// The last message that it is known to have had afterwards
    pub to: usize,
    /// Whether it came only after the look, and began with the book as that was then
    pub later: bool,
}

/// A version of a scene's recap: a writer of a book.
#[derive(Debug, Clone)]
pub struct Scene {
    /// When its text was there: everything that it wrote came later.
    pub started: i64,
    /// When it was done, but for its events.
    pub finished: i64,
    /// What it is known to have written.
    pub written: Written,
    /// Entries that it wrote after its snapshot was taken: name without prefix, and the extension's hash of the text.
    pub events: Vec<(String, String)>,
    /// The chats that carry it, ascending, with the message.
    pub carriers: Vec<(ChatIx, usize)>,
    /// Where it was played.
    pub origin: Origin,
}

impl Scene {
    /// When its work began. Where that is not known, only what its own snapshot shows counts as its work.
    pub(super) fn began(&self) -> i64 {
        self.started.min(self.finished.saturating_sub(1))
    }

    /// The message of a chat that carries this very version.
    pub fn carried_by(&self, chat: ChatIx) -> Option<usize> {
        let place = self.carriers.binary_search_by_key(&chat, |(carrier, _)| *carrier).ok()?;
        self.carriers.get(place).map(|(_, message)| *message)
    }
}

/// What has to be known of chats to tell who wrote what.
pub trait Cast {
    /// The last message of a chat.
    fn head(&self, chat: ChatIx) -> usize;

    /// The last message of a chat that was sent at or before a time, if its messages say when they were sent.
    fn head_at(&self, chat: ChatIx, time: i64) -> Option<usize>;

    /// Whether a message of a chat's own, not of its parent's, was sent after a time and not after another.
    fn played(&self, chat: ChatIx, after: i64, until: i64) -> bool;

    /// The messages of some chats, but for those that they have from their parents, that were sent after a time and not after another: when,
    /// whose and which, in the order in which they were sent.
    fn sent_between(&self, _chats: &[ChatIx], _after: i64, _until: i64) -> Vec<(i64, ChatIx, usize)> {
        Vec::new()
    }

    /// What an extension noted of a book with a message.
    fn noted(&self, _chat: ChatIx, _message: usize, _book: &str) -> Option<Log> {
        None
    }

    /// Whether a chat came from another one, and has all that this one had up to a message.
    fn has_from(&self, _chat: ChatIx, _above: ChatIx, _message: usize) -> bool {
        false
    }

    /// Whether a known chain of forks joins two chats.
    fn related(&self, a: ChatIx, b: ChatIx) -> bool;

    /// The message of a chat that it has, like the one that a place is in, from a parent of both that is gone.
    fn lost_place(&self, _: Origin, _: ChatIx) -> Option<usize> {
        None
    }

    /// The place that a mark in a book means. A mark without a chat means the one that the book was made for, or the only one of those
    /// who use it that has the message.
    fn place_of(&self, mark: &Mark, owner: Option<ChatIx>, users: &[ChatIx]) -> Option<Origin>;
}

/// Plays what changed in a list: places that went, places with what came.
pub(super) fn apply<T>(list: &mut Vec<T>, gone: &[usize], new: impl Iterator<Item = (usize, T)>) {
    let (mut gone, mut place) = (gone.iter().copied().peekable(), 0);
    list.retain(|_| {
        let keep = gone.next_if_eq(&place).is_none();
        place += 1;
        keep
    });
    for (at, entry) in new {
        list.insert(at.min(list.len()), entry);
    }
}
