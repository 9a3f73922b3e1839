//! What a book held when an extension copied it, told by both of them as they are now.
//!
//! At that moment the two were the same. Since then hands and the extension have changed either. So for everything that they do not agree
//! on it is asked who of them is the older one: what says that it was written from later messages is younger; an extension's own title is
//! older than another one; an entry is on before it is off. Where nothing tells, each of them has what it has: the original is told by the
//! original.

use crate::ChatIx;
use std::collections::HashSet;

use forklore_core::adapter::{Keepers, Mark};
use forklore_core::format::book::EntryImage;
use forklore_core::format::names::chat_stem;
use forklore_core::state::{BookEvidence, Cast, Content, Sight, Witness};
use forklore_fs::{PathError, VaultPath};
use forklore_journal::layout;

use super::evidence::VaultCast;
use super::lore::CopiedBook;
use crate::history::history_error;
use crate::library::Library;

/// A copy that was looked at so soon after it was made has nothing of what its chat did to it, in milliseconds.
const AT_ONCE: i64 = 2_000;

impl Library {
    /// Adds what copies tell that extensions made of a book, and what the book tells itself if it is such a copy.
    pub(super) fn add_copies(&self, evidence: &mut BookEvidence) -> Result<(), PathError> {
        let book = &evidence.book;
        let told = self.copies().iter().filter(|copy| copy.source == **book || copy.stem == **book);
        let told: Vec<&CopiedBook> = told.filter(|copy| copy.source != copy.stem).collect();
        for copy in told {
            let Some(copied) = self.copied(copy)? else { continue };
            let then = if copy.source == *evidence.book { Some(copied.then()) } else { copied.began() };
            let Some(entries) = then else { continue };
            let content = Content::Whole(entries.into());
            evidence.sights.push(Sight { time: copy.time, witness: Witness::Copy, content });
        }
        Ok(())
    }

    /// A copy and what it was made from, if both are an extension's.
    fn copied<'a>(&'a self, copy: &'a CopiedBook) -> Result<Option<Copied<'a>>, PathError> {
        let history = self.history()?;
        let now = |stem: &str| -> Result<Option<Vec<EntryImage>>, PathError> {
            let book = self.book_known_as(stem)?.filter(|book| book.parse().is_ok());
            Ok(book.map(|book| book.images()))
        };
        // The sooner after the copy, the less has been done to it since. One that is not there any more is as it was last.
        let books = self.names_of(&copy.stem).filter_map(|name| layout::book(name).ok());
        let made: Vec<VaultPath> = books.chain([self.chats[copy.chat].path.clone()]).collect();
        let mut original = None;
        for (history, name) in
            history.iter().flat_map(|h| self.names_of(&copy.source).map(move |name| (h, name)))
        {
            original = original.or(history.look_after(name, copy.time, &made).map_err(history_error)?);
        }
        let source = now(&copy.source)?;
        original = original.or_else(|| source.clone());
        if let (None, Some(history)) = (&original, history) {
            original = history.last_look(&copy.source).map_err(history_error)?;
        }
        let is_lost = original.is_none();
        let original = original.unwrap_or_default();
        let mut first = None;
        for (history, name) in
            history.into_iter().flat_map(|h| self.names_of(&copy.stem).map(move |name| (h, name)))
        {
            first = first.or(history.first_look(name).map_err(history_error)?);
        }
        let fresh = first.as_ref().is_some_and(|(looked, _)| *looked <= copy.time.saturating_add(AT_ONCE));
        let entries = match first {
            Some((_, entries)) => Some(entries),
            None => now(&copy.stem)?,
        };
        let Some(entries) = entries else { return Ok(None) };
        let keepers = Keepers::new(|adapter| adapter.kept(&entries) || adapter.kept(&original));
        let parent = self.once_named(self.chats[copy.chat].story, &chat_stem(&copy.parent));
        let now = source.unwrap_or_default();
        let copied = Copied { library: self, copy, parent, keepers, original, now, is_lost, entries, fresh };
        Ok(Some(copied).filter(|copied| !copied.keepers.is_empty()))
    }
}

/// A book and its copy.
struct Copied<'a> {
    library: &'a Library,
    copy: &'a CopiedBook,
    /// The chat that the book was copied in
    parent: Option<ChatIx>,
    keepers: Keepers,
    /// The book, as it was seen first since
    original: Vec<EntryImage>,
    /// The book, as it is now
    now: Vec<EntryImage>,
    /// Whether nothing is left of it
    is_lost: bool,
    /// The copy, as it was seen first
    entries: Vec<EntryImage>,
    /// Whether it was seen when it had just been made
    fresh: bool,
}

impl Copied<'_> {
    /// What the copy held, told by itself where nothing tells which of the two texts is the older one; nothing if that is nowhere so.
    fn began(&self) -> Option<Vec<EntryImage>> {
        let told = |entry: &EntryImage| {
            let image = self.begun(entry)?;
            let there = &self.original[self.counterpart(&image, &HashSet::new())?];
            Some(self.is_open(there, &image))
        };
        self.entries.iter().any(|entry| told(entry) == Some(true)).then(|| self.told_by(true))
    }

    /// What the book held.
    fn then(&self) -> Vec<EntryImage> {
        self.told_by(false)
    }

    /// What both held, by what either of them says where nothing tells.
    fn told_by(&self, copy: bool) -> Vec<EntryImage> {
        let mut then = Vec::new();
        let mut met: HashSet<usize> = HashSet::new();
        for entry in &self.entries {
            let Some(image) = self.begun(entry) else { continue };
            let there = self.counterpart(&image, &met);
            met.extend(there);
            let there = there.map(|i| &self.original[i]);
            then.extend(match there {
                Some(there) if there.content() == image.content() => {
                    let then = self.older_look(there, &image);
                    Some(if copy { with_switch(with_title(&image, &then), &then) } else { then })
                }
                Some(there) if copy && self.is_open(there, &image) => {
                    Some(self.handed_back(&image, Some(there)))
                }
                Some(there) if !self.fresh && !self.is_younger(there, &image) => self.before(there),
                None if !self.fresh && !self.is_lost && !self.was_deleted(&image) => None,
                _ if copy => Some(image),
                // An entry is on before it is off.
                Some(there) if !self.fresh && !there.is_disabled() => {
                    Some(with_switch(self.handed_back(&image, Some(there)), there))
                }
                _ => Some(self.handed_back(&image, there)),
            });
        }
        if !self.fresh {
            // What says itself from which messages it was written was there if the chat had got so far: somebody took it out of the
            // copy. A note of a hand may as well have come later.
            let lacked = (0..self.original.len()).filter(|i| !met.contains(i)).map(|i| &self.original[i]);
            let told = lacked.filter(|there| match self.keepers.subject(there) {
                // How far the memories of the chat went that was copied is in the header of its fork, as far as that made none itself.
                Some((_, end)) => {
                    let reached = self.reached(Some(self.copy.chat));
                    reached.is_some_and(|reached| end <= reached) && !self.is_summed_up_here(there)
                }
                None => self.end(there).is_some() || self.sums_up(there),
            });
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
        while let [earlier @ .., (Some(mark), image)] = &layers[..] {
            // Either of them can have switched it off by a summary of its own.
            let switch = earlier.last().is_some_and(|(_, before)| same(before, image));
            let place = VaultCast(self.library).place_of(mark, Some(self.copy.chat), &[]);
            // What was played from the copy's own chat on is later than the copy.
            let own = place.is_some_and(|place| {
                (place.chat == self.copy.chat && place.message > fork && place.message <= chat.head())
                    || self.library.is_ancestor(self.copy.chat, place.chat)
            });
            // Copying makes memories say that they are the copy's. What says so without having been told was made there.
            let by_itself = !mark.by_then
                && self.keepers.chat_of(image).is_none()
                && mark.chat.as_deref().is_some_and(|name| self.is_copys(name));
            let copied = |there: &EntryImage| same(there, image) || self.is_one(there, image);
            if !(own || by_itself) || !switch && self.original.iter().any(copied) {
                break;
            }
            layers.pop();
        }
        layers.pop().map(|(_, image)| image)
    }

    /// Whether a name is that of the copy's chat, or was when it was made.
    fn is_copys(&self, name: &str) -> bool {
        let name = chat_stem(name);
        !name.is_empty() && (name == self.library.chats[self.copy.chat].name || name == self.copy.named)
    }

    /// Whether two entries are one memory: of the same messages, under the same number, and not of two names by the extension.
    fn is_one(&self, there: &EntryImage, image: &EntryImage) -> bool {
        let subject = self.keepers.subject(image);
        let titled = self.keepers.titled(there) && self.keepers.titled(image);
        subject.is_some()
            && self.keepers.subject(there) == subject
            && there.uid == image.uid
            && (there.comment == image.comment || !titled)
    }

    /// The place of an entry of the copy in the original: by its title, or else by its text.
    fn counterpart(&self, image: &EntryImage, met: &HashSet<usize>) -> Option<usize> {
        let find = |same: &dyn Fn(&EntryImage) -> bool| {
            (0..self.original.len()).find(|i| !met.contains(i) && same(&self.original[*i]))
        };
        let subject = self.keepers.subject(image);
        let is_about = |there: &EntryImage| self.keepers.subject(there) == subject;
        find(&|there| there.comment == image.comment && is_about(there)).or_else(|| {
            let one = |there: &EntryImage| {
                there.uid == image.uid && there.content() == image.content() && is_about(there)
            };
            find(&one).or_else(|| find(&|there| self.is_one(there, image)))
        })
    }

    /// One text in both: the original tells more of it, but for a title and a switch that it was given since.
    fn older_look(&self, there: &EntryImage, image: &EntryImage) -> EntryImage {
        let retitled = self.keepers.titled(image) && !self.keepers.titled(there);
        let title = if self.fresh || retitled { image } else { there };
        let switch = if self.fresh || there.is_disabled() { image } else { there };
        with_switch(with_title(there, title), switch)
    }

    /// The last message that an entry says it was written from.
    fn end(&self, entry: &EntryImage) -> Option<usize> {
        let layers = self.keepers.layers(entry, std::slice::from_ref(entry));
        layers.into_iter().rev().find_map(|(mark, _)| mark).map(|mark| mark.message)
    }

    /// Whether nothing tells which of two texts is the older one: a hand wrote one of them.
    fn is_open(&self, there: &EntryImage, image: &EntryImage) -> bool {
        !self.fresh && there.content() != image.content() && self.end(there) == self.end(image)
    }

    /// Whether the original says to be younger than what the copy shows.
    fn is_younger(&self, there: &EntryImage, image: &EntryImage) -> bool {
        // It says itself what it was before.
        let layers = self.keepers.layers(there, &self.original);
        let earlier = layers.split_last().map_or(&[][..], |(_, earlier)| earlier);
        if there.content() != image.content()
            && earlier.iter().any(|(_, was)| was.content() == image.content())
        {
            return true;
        }
        match (self.end(there), self.end(image)) {
            (Some(there), Some(image)) => there > image,
            (Some(_), None) => self.before(there).is_none_or(|before| before.content() != there.content()),
            _ => false,
        }
    }

    /// How far a chat has got with its memories.
    fn reached(&self, chat: Option<ChatIx>) -> Option<i64> {
        chat.and_then(|chat| self.keepers.reached(self.library.chats[chat].header()))
    }

    /// Whether the copy has entries that something sums up which only the original has: somebody took it out of the copy.
    fn sums_up(&self, there: &EntryImage) -> bool {
        let by = |entry: &EntryImage| self.keepers.summed_up_by(entry);
        there.uid.is_some() && self.entries.iter().any(|entry| by(entry) == there.uid)
    }

    /// Whether something that only the copy has was deleted in the original; otherwise it was made in the copy.
    ///
    /// Numbers are given in their order: what came before something that both have was there when that was copied. Else it was, if that
    /// chat has ever got so far with its memories, and nothing else has its number.
    fn was_deleted(&self, image: &EntryImage) -> bool {
        let same = |entry: &EntryImage, there: &EntryImage| {
            entry.comment == there.comment && entry.content() == there.content()
        };
        if self.is_numbered_after_own(image) || self.is_summed_up_there(image) {
            return false;
        }
        let both = |entry: &&EntryImage| self.original.iter().any(|there| same(entry, there));
        let reached = self.reached(self.parent);
        if self.entries.iter().filter(both).any(|entry| entry.uid > image.uid) {
            // Numbers that were freed are given again.
            let got = |end: i64| self.parent.is_none() || reached.is_some_and(|reached| end <= reached);
            return self.keepers.subject(image).is_some_and(|(_, end)| got(end));
        }
        let number = self.keepers.number(image);
        let is_taken = self.original.iter().chain(&self.now).any(|there| {
            there.uid == image.uid && self.end(there).is_some()
                || number.is_some() && self.keepers.number(there) == number
        });
        let end = self.keepers.subject(image).map(|(_, end)| end);
        !is_taken && end.is_some_and(|end| reached.is_some_and(|reached| end <= reached))
    }

    /// Whether the original has a memory that is its chat's own since the copy was made: the copy has one of the same messages that the
    /// original never had, and nobody sums up again what is summed up.
    fn is_summed_up_here(&self, there: &EntryImage) -> bool {
        let own = |entry: &EntryImage| self.chat_is(entry, |name| self.is_copys(name));
        let later = |entry: &&EntryImage| own(entry) && !self.has(&self.original, entry);
        self.chat_is(there, |name| self.is_parents(name))
            && self.entries.iter().filter(later).any(|entry| self.is_about_the_same(entry, there))
    }

    /// Whether the chat of the original has summed up for itself what a memory of the copy is about.
    fn is_summed_up_there(&self, image: &EntryImage) -> bool {
        let own = |entry: &EntryImage| self.chat_is(entry, |name| self.is_parents(name));
        let later = |there: &&EntryImage| own(there) && !self.has(&self.entries, there);
        let there = self.original.iter().chain(&self.now);
        there.filter(later).any(|there| self.is_about_the_same(there, image))
    }

    /// Whether one of two memories sums up all that the other does.
    fn is_about_the_same(&self, a: &EntryImage, b: &EntryImage) -> bool {
        let subjects = self.keepers.subject(a).zip(self.keepers.subject(b));
        subjects.is_some_and(|((start, end), (first, last))| {
            (start <= first && last <= end) || (first <= start && end <= last)
        })
    }

    /// Whether a memory is in a book, whatever hands have made of it.
    fn has(&self, book: &[EntryImage], memory: &EntryImage) -> bool {
        let same = |other: &EntryImage| other.uid == memory.uid || other.comment == memory.comment;
        book.iter().any(|other| same(other) && self.keepers.subject(other) == self.keepers.subject(memory))
    }

    fn chat_is(&self, entry: &EntryImage, is: impl Fn(&str) -> bool) -> bool {
        self.keepers.chat_of(entry).is_some_and(|name| is(&name))
    }

    /// Whether a name is that of the chat that the book was copied in.
    fn is_parents(&self, name: &str) -> bool {
        let name = chat_stem(name);
        !name.is_empty()
            && (name == chat_stem(&self.copy.parent)
                || self.parent.is_some_and(|parent| name == self.library.chats[parent].name))
    }

    /// Whether a memory of the copy has a higher number than one that the copy's own chat has made: memories are numbered as they are made.
    fn is_numbered_after_own(&self, image: &EntryImage) -> bool {
        let Some(number) = self.keepers.number(image) else { return false };
        let before = |own: &EntryImage| self.keepers.number(own).is_some_and(|own| own < number);
        self.entries.iter().any(|own| before(own) && self.begun(own).is_none())
    }

    /// An entry of the original as it was when the chat had got no further.
    fn before(&self, there: &EntryImage) -> Option<EntryImage> {
        let mut layers = self.keepers.layers(there, &self.original);
        while layers.last().is_some_and(|(mark, _)| mark.as_ref().is_some_and(|mark| self.is_later(mark))) {
            layers.pop();
        }
        layers.pop().map(|(_, image)| image)
    }

    /// Whether something was made from messages that were not there when the copy was made, in whichever chat.
    fn is_later(&self, mark: &Mark) -> bool {
        let Some(parent) = self.parent else { return false };
        let cast = VaultCast(self.library);
        let place = cast.place_of(mark, Some(parent), &[]);
        let head = |chat: ChatIx| cast.head_at(chat, self.copy.time);
        place.is_some_and(|place| head(place.chat).is_some_and(|head| place.message > head))
    }

    /// The copy says that everything in it is its own chat's.
    fn handed_back(&self, image: &EntryImage, there: Option<&EntryImage>) -> EntryImage {
        let is_told = self.keepers.chat_of(image).is_some_and(|name| self.is_copys(&name));
        let whose = || there.and_then(|there| self.keepers.chat_of(there));
        if !is_told {
            return image.clone();
        }
        self.keepers.hand_over(image, &whose().unwrap_or_else(|| self.copy.parent.clone()))
    }
}

/// An entry with the title of another.
fn with_title(entry: &EntryImage, other: &EntryImage) -> EntryImage {
    match other.raw().get("comment").filter(|_| entry.comment != other.comment) {
        Some(title) => entry.with_field("comment", title),
        None => entry.clone(),
    }
}

/// An entry as another is switched.
fn with_switch(entry: EntryImage, other: &EntryImage) -> EntryImage {
    match other.raw().get("disable").filter(|_| entry.is_disabled() != other.is_disabled()) {
        Some(switch) => entry.with_field("disable", switch),
        None => entry,
    }
}
