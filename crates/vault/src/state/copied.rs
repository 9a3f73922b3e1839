//! What a book held when an extension copied it, told by both of them as they are now.
//!
//! At that moment the two were the same. Since then hands and the extension have changed either. So for everything that they do not agree
//! on it is asked who of them is the older one: what says that it was written from later messages is younger; an extension's own title is
//! older than another one; an entry is on before it is off. Where nothing tells, each of them has what it has: the original is told by the
//! original.

use std::collections::HashSet;

use forklore_core::adapter::{Keepers, Mark};
use forklore_core::format::book::EntryImage;
use forklore_core::format::names::chat_stem;
use forklore_core::state::{BookEvidence, Cast, Content, Sight, Witness};
use forklore_fs::PathError;

use super::evidence::VaultCast;
use super::lore::CopiedBook;
use crate::library::{Library, history_error};

/// A copy that was looked at so soon after it was made has nothing of what its chat did to it, in milliseconds.
const AT_ONCE: i64 = 2_000;

impl Library {
    /// Adds what copies tell that extensions made of a book.
    pub(super) fn add_copies(&self, evidence: &mut BookEvidence) -> Result<(), PathError> {
        let original: Option<Vec<EntryImage>> = match (evidence.sights.last(), self.history()?) {
            (Some(Sight { witness: Witness::Now, content: Content::Whole(entries), .. }), _) => {
                Some(entries.to_vec())
            }
            // One that is not there any more, because another took its place, is as it was last.
            (_, Some(history)) => history.last_look(&evidence.book).map_err(history_error)?,
            _ => None,
        };
        let is_lost = original.is_none();
        let original = original.unwrap_or_default();
        for copy in self.copies().iter().filter(|copy| copy.source == *evidence.book) {
            let book = self.book(&copy.stem)?.filter(|book| book.parse().is_ok());
            let first = match self.history()? {
                Some(history) => history.first_look(&copy.stem).map_err(history_error)?,
                None => None,
            };
            let fresh =
                first.as_ref().is_some_and(|(looked, _)| *looked <= copy.time.saturating_add(AT_ONCE));
            let first = first.map(|(_, entries)| entries);
            let Some(entries) = first.or_else(|| book.map(|book| book.images())) else { continue };
            let keepers = Keepers::new(|adapter| adapter.kept(&entries) || adapter.kept(&original));
            if keepers.is_empty() {
                continue;
            }
            let parent = self.named(self.chats[copy.chat].story, &chat_stem(&copy.parent));
            let copied =
                Copied { library: self, copy, parent, keepers, original: &original, is_lost, entries, fresh };
            let content = Content::Whole(copied.then().into());
            evidence.sights.push(Sight { time: copy.time, witness: Witness::Copy, content });
        }
        Ok(())
    }
}

/// A book and its copy.
struct Copied<'a> {
    library: &'a Library,
    copy: &'a CopiedBook,
    /// The chat that the book was copied in
    parent: Option<usize>,
    keepers: Keepers,
    /// The book, as it is now
    original: &'a [EntryImage],
    /// Whether nothing is left of it
    is_lost: bool,
    /// The copy, as it was seen first
    entries: Vec<EntryImage>,
    /// Whether it was seen when it had just been made
    fresh: bool,
}

impl Copied<'_> {
    /// What the book held.
    fn then(&self) -> Vec<EntryImage> {
        let mut then = Vec::new();
        let mut met: HashSet<usize> = HashSet::new();
        for entry in &self.entries {
            let Some(image) = self.begun(entry) else { continue };
            let there = self.counterpart(&image, &met);
            met.extend(there);
            let there = there.map(|i| &self.original[i]);
            then.extend(match there {
                Some(there) if there.content() == image.content() => Some(self.older_look(there, &image)),
                Some(there) if !self.fresh && !self.is_younger(there, &image) => self.before(there),
                None if !self.fresh && !self.is_lost && !self.was_deleted(&image) => None,
                _ => Some(self.handed_back(&image, there)),
            });
        }
        if !self.fresh {
            // What says itself from which messages it was written was there if the chat had got so far: somebody took it out of the
            // copy. A note of a hand may as well have come later.
            let lacked = (0..self.original.len()).filter(|i| !met.contains(i)).map(|i| &self.original[i]);
            let told = lacked.filter(|there| self.end(there).is_some());
            then.extend(told.filter_map(|there| self.before(there)));
        }
        then
    }

    /// An entry of the copy without what its own chat has made of it, as far as it tells.
    fn begun(&self, entry: &EntryImage) -> Option<EntryImage> {
        let chat = &self.library.chats[self.copy.chat];
        let fork = chat.lineage.fork_message.unwrap_or_default();
        let same = |a: &EntryImage, b: &EntryImage| a.content() == b.content() && a.comment == b.comment;
        let mut layers = self.keepers.layers(entry, &self.entries);
        while let Some((Some(mark), image)) = layers.last() {
            let place = VaultCast(self.library).place_of(mark, Some(self.copy.chat), &[]);
            // What was played from the copy's own chat on is later than the copy.
            let own = place.is_some_and(|place| {
                (place.chat == self.copy.chat && place.message > fork && place.message <= chat.head())
                    || self.library.is_ancestor(self.copy.chat, place.chat)
            });
            // Copying makes memories say that they are the copy's. What says so without having been told was made there.
            let by_itself = self.keepers.chat_of(image).is_none()
                && mark.chat.as_deref().is_some_and(|name| chat_stem(name) == chat.name);
            if !(own || by_itself) || self.original.iter().any(|there| same(there, image)) {
                break;
            }
            layers.pop();
        }
        layers.pop().map(|(_, image)| image)
    }

    /// The place of an entry of the copy in the original: by its title, or else by its text.
    fn counterpart(&self, image: &EntryImage, met: &HashSet<usize>) -> Option<usize> {
        let find = |same: &dyn Fn(&EntryImage) -> bool| {
            (0..self.original.len()).find(|i| !met.contains(i) && same(&self.original[*i]))
        };
        let subject = self.keepers.subject(image);
        let is_about = |there: &EntryImage| self.keepers.subject(there) == subject;
        find(&|there| there.comment == image.comment && is_about(there)).or_else(|| {
            find(&|there| there.uid == image.uid && there.content() == image.content() && is_about(there))
        })
    }

    /// One text in both: the original tells more of it, but for a title and a switch that it was given since.
    fn older_look(&self, there: &EntryImage, image: &EntryImage) -> EntryImage {
        let mut then = there.clone();
        let retitled = self.keepers.titled(image) && !self.keepers.titled(there);
        if image.comment != there.comment
            && (self.fresh || retitled)
            && let Some(title) = image.raw().get("comment")
        {
            then = then.with_field("comment", title);
        }
        let switched = image.is_disabled() != there.is_disabled() && (self.fresh || there.is_disabled());
        match image.raw().get("disable").filter(|_| switched) {
            Some(switch) => then.with_field("disable", switch),
            None => then,
        }
    }

    /// The last message that an entry says it was written from.
    fn end(&self, entry: &EntryImage) -> Option<usize> {
        let layers = self.keepers.layers(entry, std::slice::from_ref(entry));
        layers.into_iter().rev().find_map(|(mark, _)| mark).map(|mark| mark.message)
    }

    /// Whether the original says to be younger than what the copy shows.
    fn is_younger(&self, there: &EntryImage, image: &EntryImage) -> bool {
        match (self.end(there), self.end(image)) {
            (Some(there), Some(image)) => there > image,
            (Some(_), None) => self.before(there).is_none_or(|before| before.content() != there.content()),
            _ => false,
        }
    }

    /// Whether something that only the copy has was deleted in the original; otherwise it was made in the copy.
    ///
    /// Numbers are given in their order: what came before something that both have was there when that was copied. Else it was, if that
    /// chat has ever got so far with its memories, and nothing else has its number.
    fn was_deleted(&self, image: &EntryImage) -> bool {
        let same = |entry: &EntryImage, there: &EntryImage| {
            entry.comment == there.comment && entry.content() == there.content()
        };
        let both = |entry: &&EntryImage| self.original.iter().any(|there| same(entry, there));
        if self.entries.iter().filter(both).any(|entry| entry.uid > image.uid) {
            return self.keepers.subject(image).is_some();
        }
        let reached =
            self.parent.and_then(|parent| self.keepers.reached(self.library.chats[parent].header()));
        let number = self.keepers.number(image);
        let is_taken = self.original.iter().any(|there| {
            there.uid == image.uid && self.end(there).is_some()
                || number.is_some() && self.keepers.number(there) == number
        });
        let end = self.keepers.subject(image).map(|(_, end)| end);
        !is_taken && end.is_some_and(|end| reached.is_some_and(|reached| end <= reached))
    }

    /// An entry of the original as it was when the chat had got no further.
    fn before(&self, there: &EntryImage) -> Option<EntryImage> {
        let mut layers = self.keepers.layers(there, self.original);
        while layers.last().is_some_and(|(mark, _)| mark.as_ref().is_some_and(|mark| self.is_later(mark))) {
            layers.pop();
        }
        layers.pop().map(|(_, image)| image)
    }

    fn is_later(&self, mark: &Mark) -> bool {
        let Some(parent) = self.parent else { return false };
        let cast = VaultCast(self.library);
        let place = cast.place_of(mark, Some(parent), &[]);
        let head = cast.head_at(parent, self.copy.time);
        place.is_some_and(|place| place.chat == parent && head.is_some_and(|head| place.message > head))
    }

    /// The copy says that everything in it is its own chat's.
    fn handed_back(&self, image: &EntryImage, there: Option<&EntryImage>) -> EntryImage {
        let chat = &self.library.chats[self.copy.chat];
        let is_told = self.keepers.chat_of(image).is_some_and(|name| chat_stem(&name) == chat.name);
        let whose = || there.and_then(|there| self.keepers.chat_of(there));
        if !is_told {
            return image.clone();
        }
        self.keepers.hand_over(image, &whose().unwrap_or_else(|| self.copy.parent.clone()))
    }
}
