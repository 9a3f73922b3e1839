//! [`BookReplay`]: a book on its way through history, one observation after the other.

use forklore_core::adapter::{self, EntryRole, Work, entry_role};
use forklore_core::format::book::EntryImage;

use super::HistoryError;
use super::delta::Delta;
use super::document::read_book;
use super::few::{FewOf, Steady};
use super::observation::Observed;
use super::timeline::Timeline;

/// A book as it was at an observation.
pub struct BookReplay<'a> {
    timeline: &'a Timeline,
    /// Its entries in file order; `None` if it was not there, or not readable
    pub entries: Option<Vec<EntryImage>>,
    /// What the queue in it says is at work
    pub work: Vec<Work>,
    /// What is left aside, if something is
    few: Option<FewOf<'a>>,
}

impl<'a> BookReplay<'a> {
    /// The book as it was after the observations of `track`, which are places in [`Timeline::seen`].
    pub fn at(timeline: &'a Timeline, track: &[usize]) -> Result<Self, HistoryError> {
        let mut replay = Self { timeline, entries: None, work: Vec::new(), few: None };
        // Where the whole book of then was forgotten, the last one that was not, and what changed since, tell it.
        let whole = track.iter().rposition(|i| timeline.content(&timeline.seen[*i]).is_some()).unwrap_or(0);
        for i in track.get(whole..).unwrap_or_default() {
            replay.step(*i)?;
        }
        Ok(replay)
    }

    /// The book before it was seen, of which entries are left aside that always were as they are.
    pub(crate) fn of_few(timeline: &'a Timeline, steady: &'a Steady) -> Self {
        Self { timeline, entries: None, work: Vec::new(), few: Some(FewOf { steady, places: Vec::new() }) }
    }

    /// Goes on to the next observation; what changed by it, if both are known.
    pub fn step(&mut self, i: usize) -> Result<Option<Turn>, HistoryError> {
        let seen = &self.timeline.seen[i];
        let Observed::Book(book) = &seen.observation.what else {
            self.entries = None;
            return Ok(None);
        };
        if let (Some(id), Some(entries)) = (&book.delta, &mut self.entries) {
            let delta = self.timeline.delta(id)?;
            let delta = match &mut self.few {
                Some(few) => few.change(delta),
                None => delta,
            };
            let turn = Turn::of(delta, entries);
            turn.delta.apply(entries);
            self.note_work(Some(&turn));
            return Ok(Some(turn));
        }
        let whole = match self.timeline.content(seen) {
            Some(content) => match &mut self.few {
                Some(few) => few.read(&self.timeline.store, &content)?,
                None => read_book(&self.timeline.store, &content)?,
            },
            None => None,
        };
        let before = std::mem::replace(&mut self.entries, whole);
        self.note_work(None);
        // It could not be read for a while: what changed since is one step.
        let both = before.zip(self.entries.as_ref());
        Ok(both.map(|(before, now)| Turn::of(Delta::between(&before, now), &before)))
    }

    fn note_work(&mut self, turn: Option<&Turn>) {
        let is_queue = |entry: &EntryImage| entry_role(&entry.comment) == EntryRole::Queue;
        if turn.is_some_and(|turn| !turn.gone.iter().chain(&turn.new).any(is_queue)) {
            return;
        }
        let entries = self.entries.as_deref().unwrap_or_default();
        self.work = entries.iter().filter(|entry| is_queue(entry)).flat_map(adapter::work).collect();
    }
}

/// What one observation changed in a book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Entries as they were
    pub gone: Vec<EntryImage>,
    /// Entries as they are
    pub new: Vec<EntryImage>,
    /// The same with their places
    pub delta: Delta,
}

impl Turn {
    fn of(delta: Delta, before: &[EntryImage]) -> Self {
        let gone = delta.gone.iter().filter_map(|i| before.get(*i)).cloned().collect();
        Self { gone, new: delta.new.iter().map(|(_, entry)| entry.clone()).collect(), delta }
    }
}
