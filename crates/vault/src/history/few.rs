//! [`Steady`]: which entries of a large lorebook history has always seen as they are; [`FewOf`]: the others on their way through history.
//!
//! A book can have a million entries, of which a few are changed from one save to the next.

use std::sync::Arc;

use forklore_core::adapter::{self, EntryRole, entry_role};
use forklore_core::format::book::{Book as ParsedBook, Entry, EntryImage};
use forklore_store::{Id, Store};

use super::HistoryError;
use super::delta::Delta;
use super::observation::Observed;
use super::timeline::Timeline;
use crate::library::Book;

/// Which entries of a lorebook have always been as they are.
pub(crate) struct Steady {
    book: Arc<Book>,
    /// Numbers of its entries, ascending, with their places in the file
    numbers: Vec<(i64, u32)>,
    /// Whether it is one of them, by place
    is_steady: Vec<bool>,
}

impl Steady {
    /// All that are plain facts, as long as nobody has told of another state; `None` if entries have no number of their own.
    pub(crate) fn of(book: Arc<Book>) -> Option<Self> {
        let numbers = book.entries().zip(0..).map(|(entry, place)| Some((entry.uid()?, place)));
        let mut numbers: Vec<(i64, u32)> = numbers.collect::<Option<_>>()?;
        numbers.sort_unstable();
        if numbers.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return None;
        }
        let is_steady = book.entries().map(is_plain).collect();
        Some(Self { book, numbers, is_steady })
    }

    fn place(&self, number: Option<i64>) -> Option<usize> {
        let found = self.numbers.binary_search_by_key(&number?, |(number, _)| *number).ok()?;
        Some(self.numbers[found].1 as usize)
    }

    /// Whether the entry with this number is one.
    pub(crate) fn has(&self, number: Option<i64>) -> bool {
        self.place(number).is_some_and(|place| self.is_steady[place])
    }

    /// The entry with this number is none.
    pub(crate) fn leave(&mut self, number: Option<i64>) {
        if let Some(place) = self.place(number) {
            self.is_steady[place] = false;
        }
    }

    /// The numbers of all of them, ascending, each with the entry.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (i64, EntryImage)> {
        let steady = self.numbers.iter().filter(|(_, place)| self.is_steady[*place as usize]);
        steady
            .filter_map(|(number, place)| Some((*number, self.book.image(self.book.entry(*place as usize)?))))
    }

    /// All other entries of the book as it is now, in the order of the file.
    pub(crate) fn others(&self) -> Vec<EntryImage> {
        let others = self.book.entries().zip(&self.is_steady).filter(|(_, is_steady)| !**is_steady);
        others.map(|(entry, _)| self.book.image(entry)).collect()
    }

    /// Takes in what a book held at another time: what is not in both, as it is, is none. The numbers of what it held.
    fn compare(&mut self, then: &[Entry<'_>]) -> Vec<Option<i64>> {
        let mut met = vec![false; self.is_steady.len()];
        for entry in then {
            let Some(place) = self.place(entry.uid()) else { continue };
            let is_same = self.book.entry(place).is_some_and(|now| now.is(*entry));
            // A number that is given twice is nobody's own.
            self.is_steady[place] &= is_same && !met[place];
            met[place] = true;
        }
        self.is_steady.iter_mut().zip(met).for_each(|(is_steady, met)| *is_steady &= met);
        then.iter().map(|entry| entry.uid()).collect()
    }
}

/// Whether an entry is nothing but what somebody keeps in mind: no extension has a use of its own for it.
fn is_plain(entry: Entry<'_>) -> bool {
    let title = entry.comment();
    entry_role(&title) == EntryRole::Fact && !adapter::ALL.iter().any(|a| a.touched(&title, entry.raw))
}

impl Timeline {
    /// Takes in what history saw of a book: places in [`Timeline::seen`].
    pub(crate) fn compare(&self, track: &[usize], steady: &mut Steady) -> Result<(), HistoryError> {
        let mut last: Option<Vec<Option<i64>>> = None;
        for i in track {
            let seen = &self.seen[*i];
            let Observed::Book(book) = &seen.observation.what else {
                last = None;
                continue;
            };
            if let (Some(id), Some(last)) = (&book.delta, &mut last) {
                let Delta { gone, new } = self.delta(id)?;
                gone.iter().for_each(|place| steady.leave(last.get(*place).copied().flatten()));
                new.iter().for_each(|(_, entry)| steady.leave(entry.uid));
                *last = changed(last, &gone, &new);
                continue;
            }
            last = None;
            if let Some(content) = self.content(seen) {
                let mut bytes = Vec::new();
                self.store.read_document(&content, &mut bytes)?;
                last = ParsedBook::parse(&bytes).map(|then| steady.compare(then.entries())).ok();
            }
        }
        Ok(())
    }
}

/// The numbers in a list after a change.
fn changed(last: &[Option<i64>], gone: &[usize], new: &[(usize, EntryImage)]) -> Vec<Option<i64>> {
    let mut gone = gone.iter().peekable();
    let mut stay =
        { last.iter().enumerate() }.filter(|(place, _)| gone.next_if(|gone| **gone == *place).is_none());
    let mut now = Vec::with_capacity(last.len() + new.len());
    for (at, entry) in new {
        let before = at.saturating_sub(now.len());
        now.extend(stay.by_ref().take(before).map(|(_, number)| *number));
        now.push(entry.uid);
    }
    now.extend(stay.map(|(_, number)| *number));
    now
}

/// The entries of a book that are not steady, on their way through history.
pub(super) struct FewOf<'a> {
    pub(super) steady: &'a Steady,
    /// Where each of them is in the whole book, ascending
    pub(super) places: Vec<usize>,
}

impl FewOf<'_> {
    /// As [`super::read_book`].
    pub(super) fn read(
        &mut self,
        store: &Store,
        content: &Id,
    ) -> Result<Option<Vec<EntryImage>>, HistoryError> {
        let mut bytes = Vec::new();
        store.read_document(content, &mut bytes)?;
        let Ok(book) = ParsedBook::parse(&bytes) else { return Ok(None) };
        let entries = book.entries().iter().enumerate().filter(|(_, entry)| !self.steady.has(entry.uid()));
        let (places, images) = entries.map(|(place, entry)| (place, entry.image())).unzip();
        self.places = places;
        Ok(Some(images))
    }

    /// What a change of the whole book is to these. Nothing else was changed.
    pub(super) fn change(&mut self, Delta { gone, new }: Delta) -> Delta {
        let mut few = Delta::default();
        let mut stay: Vec<usize> = Vec::new();
        for (n, place) in self.places.iter().enumerate() {
            let before = gone.partition_point(|gone| gone < place);
            match gone.get(before) == Some(place) {
                true => few.gone.push(n),
                false => stay.push(place - before),
            }
        }
        self.places.clear();
        let mut stay = stay.into_iter().peekable();
        for (came, (at, entry)) in new.into_iter().enumerate() {
            while let Some(place) = stay.next_if(|place| place + came < at) {
                self.places.push(place + came);
            }
            few.new.push((self.places.len(), entry));
            self.places.push(at);
        }
        let came = few.new.len();
        self.places.extend(stay.map(|place| place + came));
        few
    }
}
