//! [`Life`]: the timeline of one book. All sights of it in clock order, and what changed from each to the next.
//!
//! A new sight can only split an interval or confirm one: that is why knowing more never makes an answer worse. How it is worked out is
//! in [`super::build`]; who made a change, in [`super::attribute`].

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::author::Author;
use super::roll::Roll;
use super::sight::{Head, Heir, Scene};
use super::thing::Thing;
use crate::adapter::Keepers;
use crate::format::book::EntryImage;
use crate::story::ChatIx;

/// The timeline of one book.
pub struct Life {
    /// The book's file stem.
    pub book: Arc<str>,
    /// What keeps it; nobody, if it is kept by hand.
    pub keepers: Keepers,
    /// Whether all who use it share it by choice.
    pub by_choice: bool,
    /// The chat that it was made for.
    pub owner: Option<ChatIx>,
    /// Whether that chat is gone: then [`Life::owner`] is only one that has its scenes.
    pub lost: bool,
    /// Who has it instead of [`Life::owner`] since that is gone.
    pub heir: Option<Heir>,
    /// The chats that are or were bound to it.
    pub users: Vec<ChatIx>,
    /// When it was made, in milliseconds since 1970, if anything tells.
    pub made: Option<i64>,
    /// Scenes whose processing may have written into it.
    pub scenes: Vec<Scene>,
    /// The sights in clock order.
    pub sights: Vec<SightOf>,
    /// What changed from one to the next, in clock order.
    pub differences: Vec<Difference>,
    /// The books that it was made from, and those that they were made from.
    pub sources: Vec<Arc<str>>,
    /// The book as it is now, if it is there, with everything that it holds.
    pub present: Vec<(Thing, EntryImage)>,
    /// What it was made from.
    pub(super) base: Settled,
    /// Whether that was copied as it was: what is missing here was taken out, or came there later.
    pub(super) is_whole: bool,
    /// The book that this one was built from, and the sight of it, where that is all that it was built from.
    pub(super) built_from: Option<(Arc<str>, usize)>,
    /// Titles and texts that were ever seen in it, and what they are.
    pub(super) everything: HashMap<u64, Thing>,
    /// The order in which registries list their lines.
    pub(super) roll: Roll,
}

/// A sight, without what was seen.
#[derive(Debug, Clone)]
pub struct SightOf {
    /// When.
    pub time: i64,
    /// Who saw it.
    pub by: SeenBy,
}

/// Who saw a book.
#[derive(Debug, Clone)]
pub enum SeenBy {
    /// What the book was made from, when its chat had this message last: nobody saw that it was so.
    Base(usize),
    /// A scene, by its place.
    Scene(usize),
    /// History: number of the observation, and where the chats stood.
    Look(u64, Vec<(ChatIx, Head)>),
    /// An extension, with a message: whose, the last message that there was before, and when at the latest, if anything tells.
    Log(ChatIx, usize, Option<i64>),
    /// A copy that was made then.
    Copy,
    /// Whoever asks, now.
    Now,
}

/// A change of one thing, from one sight to the next.
#[derive(Debug, Clone)]
pub struct Difference {
    /// What was changed.
    pub thing: Thing,
    /// The entry before; `None` if it was new.
    pub before: Option<EntryImage>,
    /// The entry after; `None` if it went.
    pub after: Option<EntryImage>,
    /// The line, if it is a line of a registry that was changed: then `before` and `after` hold nothing but that line.
    pub line: bool,
    /// The last sight that does not show it; `None` if there is none.
    pub since: Option<usize>,
    /// The first sight that shows it.
    pub shown: usize,
    /// The first sight that shows it no more.
    pub until: usize,
    /// Who made it.
    pub author: Author,
    /// Those who may have made it as well as [`Difference::author`], if that was concluded from little.
    pub perhaps: Vec<ChatIx>,
}

impl Difference {
    /// The entry that this is about.
    pub fn entry(&self) -> Option<&EntryImage> {
        self.after.as_ref().or(self.before.as_ref())
    }
}

impl SeenBy {
    /// Whether it is this scene.
    pub(super) fn is_scene(&self, scene: usize) -> bool {
        matches!(self, Self::Scene(n) if *n == scene)
    }
}

/// What the first sight of a book tells of its beginning.
#[derive(Debug, Default)]
pub(super) struct Settled {
    /// All of it
    pub(super) state: Vec<(Thing, EntryImage)>,
    /// What proves to have been there, although it may have come to the books above it only later
    pub(super) with: Vec<(Thing, EntryImage)>,
    /// What came to the books above it only later
    pub(super) without: Vec<(Thing, EntryImage)>,
    /// What the first sight shows of the books above it, although the state that was copied did not have it
    pub(super) shown: Vec<(Thing, EntryImage)>,
    /// What the book that it was built from had by then or not, nobody knows: it never came here
    pub(super) never: Vec<(Thing, EntryImage)>,
    /// The sight of another book that shows what was copied: what is told of later changes there is about what came after it
    pub(super) copied: Option<(Arc<str>, usize)>,
    /// What was taken out of the books above it only later
    pub(super) kept: Vec<Thing>,
}

impl Life {
    /// Whether a sight is the first look of history at a book that it did not see Forklore make.
    pub(super) fn is_first_look(&self, sight: usize) -> bool {
        let begun = matches!(self.sights.first(), Some(SightOf { by: SeenBy::Base(_), .. }));
        let copied = self.is_whole || self.built_from.is_some();
        let first = self.sights.iter().position(|sight| matches!(sight.by, SeenBy::Look(..)));
        (copied || !begun) && first == Some(sight)
    }

    /// The things in the book after a sight.
    pub fn state_after(&self, sight: usize) -> Vec<(Thing, EntryImage)> {
        let mut state: Vec<(Thing, EntryImage)> = self.base.state.clone();
        let mut place: HashMap<&Thing, usize> = HashMap::new();
        place.extend(self.base.state.iter().enumerate().map(|(i, (thing, _))| (thing, i)));
        for difference in
            self.differences.iter().filter(|difference| difference.shown <= sight && !difference.line)
        {
            match (place.get(&difference.thing), &difference.after) {
                (Some(i), Some(after)) => state[*i].1 = after.clone(),
                (None, Some(after)) => {
                    place.insert(&difference.thing, state.len());
                    state.push((difference.thing.clone(), after.clone()));
                }
                (_, None) => drop(place.remove(&difference.thing)),
            }
        }
        let kept: HashSet<usize> = place.into_values().collect();
        let mut i = 0..;
        state.retain(|_| i.next().is_some_and(|i| kept.contains(&i)));
        state
    }
}

/// Whether a title is of this name: "event-The fall" is "The fall".
pub(super) fn is_titled(title: &str, name: &str) -> bool {
    title.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('-'))
}

pub(super) fn everything_key(entry: &EntryImage) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&entry.comment, entry.look().0).hash(&mut hasher);
    hasher.finish()
}

/// Title and text of an entry, and whether it is switched off.
pub(super) fn look_of(entry: &EntryImage) -> (u64, bool) {
    (everything_key(entry), entry.look().1)
}
