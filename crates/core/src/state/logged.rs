//! What a [`Builder`] learns from a [`Log`]: of nothing but the changes that it was asked for, whether they had happened by then.

use super::build::{Builder, Gap};
use super::life::everything_key;
use super::merge::overlay;
use super::sight::Log;
use crate::format::book::EntryImage;

impl Builder<'_> {
    /// What was noted with a message tells of nothing but the changes that it was asked for: what had happened, and what had not.
    pub(super) fn see_log(&mut self, here: usize, log: &Log) {
        let all: Vec<EntryImage> = self.state.iter().map(|(_, entry)| entry.clone()).collect();
        for (before, after, has_happened) in &log.told {
            let says = |entry: &EntryImage, other: &EntryImage| {
                entry.uid == other.uid && entry.comment == other.comment && entry.content() == other.content()
            };
            let place = before.as_ref().map(|was| self.state.iter().position(|(_, entry)| says(entry, was)));
            match (place, after, has_happened) {
                (None, Some(after), false) => drop(self.lacked.insert(everything_key(after), here)),
                (None, Some(after), true) if !self.state.iter().any(|(_, entry)| entry.uid == after.uid) => {
                    let (thing, key) = (self.fresh(), everything_key(after));
                    let since = self.lacking(key);
                    self.note(Gap { since, here, copied: false }, &thing, None, Some(after), &all);
                    self.life.everything.entry(key).or_insert_with(|| thing.clone());
                    self.seen.insert(thing.clone(), here);
                    self.state.push((thing, after.clone()));
                }
                (Some(Some(place)), after, has_happened) => {
                    let (thing, was) = self.state[place].clone();
                    if *has_happened {
                        let gap = Gap { since: self.last_seen(&thing), here, copied: false };
                        self.note(gap, &thing, Some(&was), after.as_ref(), &all);
                        match after {
                            Some(after) => self.state[place].1 = overlay(&was, after),
                            None => drop(self.state.remove(place)),
                        }
                    }
                    self.seen.insert(thing, here);
                }
                _ => {}
            }
        }
        self.aligned = false;
    }

    /// The last sight that is known to lack something, by its title and text.
    pub(super) fn lacking(&self, key: u64) -> Option<usize> {
        self.complete.max(self.lacked.get(&key).copied())
    }
}
