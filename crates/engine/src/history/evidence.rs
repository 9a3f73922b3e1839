//! What history knows about the state of a chat at a message: the changes of its book, and its header as it was.

use forklore_core::adapter;
use forklore_core::format::book::EntryImage;
use forklore_core::state::{AtWork, Evidence, Observed, Origin, Place, Seen as SeenOf};
use forklore_json::Raw;

use super::reel::{Reel, Turn};
use super::timeline::{Period, Timeline};
use super::{By, HistoryError};
use crate::vault::{Library, layout};

impl Timeline {
    /// Adds what history saw of the books of a chat's line.
    pub fn add_to(
        &self,
        evidence: &mut Evidence,
        library: &Library,
        chat: usize,
    ) -> Result<(), HistoryError> {
        let periods = self.periods(library, chat);
        let line = Line { timeline: self, library, chat, periods: &periods };
        let mut observed: Vec<(usize, Observed)> = Vec::new();
        for binding in line.bindings() {
            line.read_book(&binding, &mut observed)?;
        }
        observed.sort_by_key(|(i, _)| *i);
        line.order(evidence);
        evidence.observed = observed.into_iter().map(|(_, observed)| observed).collect();
        Ok(())
    }

    /// The header of a chat as it was at a message: the last one saved while the story was there or before. With the message.
    pub fn header_at<T>(
        &self,
        library: &Library,
        chat: usize,
        at: usize,
        read: &dyn Fn(Raw<'_>) -> Option<T>,
    ) -> Result<Option<(usize, T)>, HistoryError> {
        let periods = self.periods(library, chat);
        for (p, period) in periods.iter().enumerate().rev() {
            for i in period.track.iter().rev() {
                let Some(seen) = self.seen[*i].chat() else { continue };
                let head = seen.messages.saturating_sub(1);
                let Some(message) = self.now(&periods, p, *i, head).filter(|message| *message <= at) else {
                    continue;
                };
                let line = self.store.get(&seen.header)?;
                let header = Raw::parse(line.trim_ascii()).unwrap_or(Raw::NULL);
                let metadata = header.get("chat_metadata").unwrap_or(Raw::NULL);
                if let Some(found) = read(metadata) {
                    return Ok(Some((message, found)));
                }
            }
        }
        Ok(None)
    }
}

/// The line of a chat, with the periods that it consists of.
struct Line<'a> {
    timeline: &'a Timeline,
    library: &'a Library,
    chat: usize,
    periods: &'a [Period],
}

/// A time during which a chat of the line was bound to a book.
struct Binding {
    book: String,
    /// The observation that shows it first
    from: usize,
    /// The observation that shows it no more, or that the period ended with
    until: usize,
}

impl Line<'_> {
    /// Which books the line had, one after the other. A fork that goes on with its parent's book goes on with its parent's binding.
    fn bindings(&self) -> Vec<Binding> {
        let mut bindings: Vec<Binding> = Vec::new();
        for (p, period) in self.periods.iter().enumerate() {
            for i in &period.track {
                let Some(book) = self.timeline.seen[*i].chat().map(|chat| chat.book.as_ref()) else {
                    continue;
                };
                match bindings.last_mut() {
                    Some(last) if Some(&last.book) == book => last.until = usize::MAX,
                    Some(last) => {
                        last.until = last.until.min(*i);
                        bindings.extend(book.map(|book| Binding {
                            book: book.clone(),
                            from: *i,
                            until: usize::MAX,
                        }));
                    }
                    None => bindings.extend(book.map(|book| Binding {
                        book: book.clone(),
                        from: *i,
                        until: usize::MAX,
                    })),
                }
            }
            // What the parent's book became after the fork is not ours, unless we go on with it.
            if let (Some(last), Some(next)) = (bindings.last_mut(), self.periods.get(p + 1)) {
                let next = next.track.first().copied().unwrap_or(usize::MAX);
                last.until = last.until.min(next).min(period.end);
            }
        }
        bindings
    }

    fn read_book(
        &self,
        binding: &Binding,
        observed: &mut Vec<(usize, Observed)>,
    ) -> Result<(), HistoryError> {
        let Ok(file) = layout::book(&binding.book) else { return Ok(()) };
        let track = self.timeline.track(&file);
        // As it was when it was bound, or as it was seen first.
        let start = track.partition_point(|i| *i < binding.from).saturating_sub(1);
        let Some((first, later)) = track.get(start..).and_then(<[usize]>::split_first) else { return Ok(()) };
        let mut reel = Reel::at(self.timeline, &track[..=start])?;
        if let Some(entries) = reel.entries.clone() {
            let marks = self.marks(&binding.book, &entries)?;
            let ours = self.library.may_be_ours(self.chat, &binding.book)?;
            let work = reel.work.clone();
            observed.push(self.observed(binding, *first, SeenOf::Whole { entries, marks, ours }, work));
        }
        for i in later.iter().copied().take_while(|i| *i < binding.until) {
            let mut work = reel.work.clone();
            let turn = reel.step(i)?;
            let Some(now) = &reel.entries else { continue };
            work.extend(reel.work.iter().cloned());
            let seen = if let Some(Turn { gone, new }) = turn {
                let marks = self.marks(&binding.book, &new)?;
                SeenOf::Changed { gone, new, marks }
            } else {
                let marks = self.marks(&binding.book, now)?;
                let ours = self.library.may_be_ours(self.chat, &binding.book)?;
                SeenOf::Whole { entries: now.clone(), marks, ours }
            };
            observed.push(self.observed(binding, i, seen, work));
        }
        Ok(())
    }

    fn observed(
        &self,
        binding: &Binding,
        i: usize,
        seen: SeenOf,
        work: Vec<adapter::Work>,
    ) -> (usize, Observed) {
        let (seq, clock) = (self.timeline.seen[i].seq, self.timeline.seen[i].observation.clock);
        let (head, work) = (self.head(i, binding), self.at_work(i, binding, work));
        (i.max(binding.from), Observed { seq, clock, book: binding.book.clone(), head, seen, work })
    }

    /// A scene that ends with a message which was not there yet was processed later than that, whatever its clock says: clocks differ.
    fn order(&self, evidence: &mut Evidence) {
        let mut heads: Vec<(usize, i64)> = Vec::new();
        for (p, period) in self.periods.iter().enumerate() {
            for i in &period.track {
                // A backup was looked at long after it was made; when that was is not certain.
                let seen = &self.timeline.seen[*i].observation;
                let Some(chat) = self.timeline.seen[*i].chat().filter(|_| !matches!(seen.by, By::Backup(_)))
                else {
                    continue;
                };
                let head = self.timeline.now(self.periods, p, *i, chat.messages.saturating_sub(1));
                heads.extend(head.map(|head| (head, self.timeline.seen[*i].observation.clock)));
            }
        }
        for sighting in &mut evidence.sightings {
            let Some(message) = sighting.ours else { continue };
            let earlier = heads.iter().filter(|(head, _)| *head < message).map(|(_, clock)| *clock).max();
            if let Some(clock) = earlier {
                sighting.clock = sighting.clock.max(clock + 1);
            }
        }
    }

    /// Where the story was when a book was seen.
    fn head(&self, book: usize, binding: &Binding) -> Place {
        // What was seen before it was bound counts from then on.
        let player = match book < binding.from {
            true => Some(binding.from),
            // Who shares a book that is kept by hand does so by choice: whoever writes into it writes for everybody.
            false if self.is_kept_by_hand(&binding.book) => self.own(book),
            false => self.timeline.player(book),
        };
        let Some((i, chat)) = player.and_then(|i| Some((i, self.timeline.seen[i].chat()?))) else {
            return Place::Unattributed;
        };
        self.place(i, chat.messages.saturating_sub(1))
    }

    /// The last observation of a chat of the line before a book was seen.
    fn own(&self, book: usize) -> Option<usize> {
        let all = self.periods.iter().flat_map(|period| period.track.iter().copied());
        all.filter(|i| *i < book).max().or_else(|| self.timeline.player(book))
    }

    fn is_kept_by_hand(&self, book: &str) -> bool {
        self.library.book(book).is_ok_and(|book| book.is_some_and(|book| book.keeper.is_none()))
    }

    /// The place of a message in an observation of a chat.
    fn place(&self, i: usize, message: usize) -> Place {
        let file = &self.timeline.seen[i].observation.file;
        let chat = self.library.chats.iter().position(|chat| chat.path == *file);
        let origin = chat.map(|chat| Origin { chat, message });
        let period = self.periods.iter().position(|period| period.track.contains(&i));
        match (period.map(|p| self.timeline.now(self.periods, p, i, message)), origin) {
            (Some(Some(message)), _) => Place::Ours(message),
            (Some(None), Some(origin)) => Place::Beyond(origin),
            (None, Some(origin)) => Place::Elsewhere(origin),
            (_, None) => Place::Unattributed,
        }
    }

    fn at_work(&self, book: usize, binding: &Binding, work: Vec<adapter::Work>) -> Vec<AtWork> {
        let player = if book < binding.from { Some(binding.from) } else { self.timeline.player(book) };
        let Some(player) = player else { return Vec::new() };
        let place = |work: adapter::Work| AtWork { place: self.place(player, work.scene), work };
        work.into_iter().map(place).collect()
    }

    fn marks(&self, book: &str, entries: &[EntryImage]) -> Result<Vec<Option<Place>>, HistoryError> {
        Ok(self.library.marks(self.chat, book, entries)?)
    }
}
