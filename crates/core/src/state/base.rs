//! [`Base`]: what a book was made from, before anybody saw it.

use std::collections::{HashMap, HashSet};

use super::life::{Life, Settled, look_of};
use super::thing::{Kinship, Thing, pair};
use crate::adapter::Keepers;
use crate::format::book::EntryImage;

/// What a book was made from.
pub enum Base<'a> {
    /// Nothing that is known.
    Nothing,
    /// Another book as one of its sights shows it. With the message that the chat had last.
    Copy(&'a Life, usize, usize),
    /// The same, where that is how the other book was when it was copied: nothing that came to it later is in this one.
    Present(&'a Life, usize, usize),
    /// Things of other books: Forklore made it.
    Made(Made<'a>),
}

/// What Forklore made a book from, as far as can be told today.
///
/// Evidence of later can say more, or something else, than was known when the book was made. The first sight of the book itself decides.
pub struct Made<'a> {
    /// What its line had, with what may have come only after the book was made.
    pub things: Vec<(Thing, EntryImage)>,
    /// What its line certainly had.
    pub certain: Vec<(Thing, EntryImage)>,
    /// The books that it is made from.
    pub sources: Vec<&'a Life>,
    /// The message that the chat had last.
    pub at: usize,
    /// When it was made, in milliseconds since 1970; the least number if nothing tells.
    pub time: i64,
}

impl Made<'_> {
    /// What the book was made from, after its first sight. `claimed` tells what whoever saw it wrote there itself.
    pub(super) fn settle(
        &self,
        first: &[EntryImage],
        keepers: &Keepers,
        claimed: &dyn Fn(&EntryImage) -> bool,
        complete: bool,
    ) -> Settled {
        let certain: HashMap<&Thing, &EntryImage> = self.certain.iter().map(|(t, e)| (t, e)).collect();
        let by_hand = self.by_hand();
        let old: Vec<&EntryImage> = self.things.iter().map(|(_, entry)| entry).collect();
        let new: Vec<&EntryImage> = first.iter().collect();
        let mut shown: Vec<Option<&EntryImage>> = vec![None; old.len()];
        let mut fresh: Vec<&EntryImage> = Vec::new();
        let is_sure = |thing: &Thing, entry: &EntryImage| {
            certain.get(thing).is_some_and(|sure| sure.content() == entry.content())
        };
        for (pair, entry) in pair(&old, &new, Kinship { keepers, copied: true }).iter().zip(first) {
            // What may not have been there at all is not taken for something of another name.
            let same = |i: &&usize| {
                let (thing, old) = &self.things[**i];
                old.comment == entry.comment || is_sure(thing, old)
            };
            match pair.as_ref().filter(same) {
                Some(i) => shown[*i] = Some(entry),
                None => fresh.push(entry),
            }
        }
        let numbers: HashSet<i64> = first.iter().filter_map(|entry| entry.uid).collect();
        let (mut state, mut with, mut without) = (Vec::new(), Vec::new(), Vec::new());
        for ((thing, entry), shown) in self.things.iter().zip(shown) {
            let sure = certain.get(thing).copied();
            let is_sure = is_sure(thing, entry);
            let is_taken = entry.uid.is_some_and(|uid| numbers.contains(&uid));
            let is_later =
                shown.zip(sure).is_some_and(|(shown, sure)| set_later(entry, sure, shown) && is_sure);
            without.extend(is_later.then(|| (thing.clone(), entry.clone())));
            let begun = match shown {
                Some(shown) if !claimed(shown) && by_hand.get(&look_of(shown)) == Some(thing) => {
                    // Other words than both the line had and the book shows were written above when the book was there already.
                    let later = !is_sure && sure.is_some_and(|sure| sure.content() == shown.content());
                    without.extend(later.then(|| (thing.clone(), entry.clone())));
                    with.push((thing.clone(), shown.clone()));
                    Some(shown)
                }
                Some(_) if is_later => sure,
                Some(shown) if !is_sure && sure.is_some_and(|sure| sure.content() == shown.content()) => {
                    without.push((thing.clone(), entry.clone()));
                    sure
                }
                None if !is_sure && (complete || is_taken) => {
                    without.push((thing.clone(), entry.clone()));
                    sure
                }
                _ => Some(entry),
            };
            state.extend(begun.map(|entry| (thing.clone(), entry.clone())));
        }
        let mut used: HashSet<Thing> = state.iter().map(|(thing, _)| thing.clone()).collect();
        let mut kept = Vec::new();
        for entry in fresh.into_iter().filter(|entry| !claimed(entry)) {
            if let Some(thing) = by_hand.get(&look_of(entry)).filter(|thing| used.insert((*thing).clone())) {
                // What the line certainly had, and this book has, was taken out above when the book was there already.
                kept.extend(is_sure(thing, entry).then(|| thing.clone()));
                with.push((thing.clone(), entry.clone()));
                state.push((thing.clone(), entry.clone()));
            }
        }
        Settled { state, with, without, kept, ..Settled::default() }
    }

    /// What hands wrote into the sources. The same in the first sight of this book was there when it was made: nobody writes a thing
    /// by hand twice, word by word.
    fn by_hand(&self) -> HashMap<(u64, bool), Thing> {
        let differences =
            self.sources.iter().flat_map(|life| &life.differences).filter(|difference| !difference.line);
        let by_hand = differences
            .filter(|difference| difference.author.is_hand())
            .filter_map(|difference| Some((look_of(difference.after.as_ref()?), difference.thing.clone())));
        by_hand.collect()
    }
}

/// Whether a setting of an entry is another than the first sight of the book shows, and than the line certainly had: then it was changed
/// above when the book was there already. A sight says nothing of what it does not show.
fn set_later(entry: &EntryImage, sure: &EntryImage, shown: &EntryImage) -> bool {
    entry.raw().members().any(|(key, value)| {
        let name =
            key.as_text().filter(|name| !matches!(&**name, "uid" | "displayIndex" | "comment" | "content"));
        let then = name.and_then(|name| sure.raw().get(&name).zip(shown.raw().get(&name)));
        then.is_some_and(|(sure, shown)| sure.says_the_same(shown) && !value.says_the_same(shown))
    })
}
