//! What changed in a book from one save to the next, entry by entry: [`Delta`].
//!
//! The whole book is in the store, too. But a question about one message needs every change of a book and none of its bytes, and so
//! it reads these.

use forklore_core::format::book::{Entry, EntryImage};
use forklore_json::Raw;

/// What changed in a list of entries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Delta {
    /// Places of entries of the old list that are not in the new one, ascending
    pub gone: Vec<usize>,
    /// Entries of the new list that are not in the old one, with their places there, ascending
    pub new: Vec<(usize, EntryImage)>,
}

impl Delta {
    /// What leads from one list to the other. Entries that stayed as they are keep their order.
    pub fn between(old: &[EntryImage], new: &[EntryImage]) -> Self {
        Self::find(old, new, |a, b| a == b, EntryImage::clone)
    }

    /// The same for entries where they stand.
    pub fn of(old: &[Entry<'_>], new: &[Entry<'_>]) -> Self {
        Self::find(old, new, |a, b| a.is(*b), |entry| entry.image())
    }

    fn find<E>(
        old: &[E],
        new: &[E],
        same: impl Fn(&E, &E) -> bool,
        image: impl Fn(&E) -> EntryImage,
    ) -> Self {
        let start = old.iter().zip(new).take_while(|(a, b)| same(a, b)).count();
        let ends = old[start..].iter().rev().zip(new[start..].iter().rev());
        let end = ends.take_while(|(a, b)| same(a, b)).count();
        let mut delta = Self::default();
        // In the middle, what comes next in both stayed; entries that only moved are taken out and put in again.
        let (mut i, last) = (start, old.len() - end);
        for (j, entry) in new.iter().enumerate().take(new.len() - end).skip(start) {
            match old[i..last].iter().take(LOOK_AHEAD).position(|o| same(o, entry)) {
                Some(skipped) => {
                    delta.gone.extend(i..i + skipped);
                    i += skipped + 1;
                }
                None => delta.new.push((j, image(entry))),
            }
        }
        delta.gone.extend(i..last);
        delta
    }

    /// Plays it on the old list.
    pub fn apply(&self, list: &mut Vec<EntryImage>) {
        let mut gone = self.gone.iter().copied().peekable();
        let mut place = 0;
        list.retain(|_| {
            let keep = gone.next_if_eq(&place).is_none();
            place += 1;
            keep
        });
        for (at, entry) in &self.new {
            list.insert((*at).min(list.len()), entry.clone());
        }
    }

    /// As bytes for the store: a JSON document that holds the entries as they stand in the book.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = format!("{{\"gone\":{:?},\"new\":[", self.gone).into_bytes();
        for (i, (at, entry)) in self.new.iter().enumerate() {
            let uid = entry.uid.map_or_else(|| "null".to_owned(), |uid| uid.to_string());
            let comma = if i > 0 { "," } else { "" };
            out.extend_from_slice(format!("{comma}\n[{at},{uid},").as_bytes());
            out.extend_from_slice(&forklore_json::quote(&entry.comment));
            out.push(b',');
            out.extend_from_slice(entry.raw().bytes());
            out.push(b']');
        }
        out.extend_from_slice(b"]}");
        out
    }

    /// Reads the bytes back.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let document = Raw::parse(bytes).ok()?;
        let number = |raw: Raw<'_>| usize::try_from(raw.as_i64()?).ok();
        let gone = document.get("gone")?.elements().map(number).collect::<Option<_>>()?;
        let entry = |raw: Raw<'_>| {
            let parts: Vec<Raw<'_>> = raw.elements().collect();
            let [at, uid, comment, entry] = parts.as_slice() else { return None };
            Some((number(*at)?, EntryImage::new(uid.as_i64(), &comment.as_text()?, *entry)))
        };
        let new = document.get("new")?.elements().map(entry).collect::<Option<_>>()?;
        Some(Self { gone, new })
    }
}

/// How far ahead an entry is looked for that others were taken out before. Farther than that it counts as moved.
const LOOK_AHEAD: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(n: u8) -> EntryImage {
        let text = format!("{{\"uid\":{n},\"content\":\"{n}\"}}");
        EntryImage::new(Some(i64::from(n)), "", Raw::parse(text.as_bytes()).unwrap())
    }

    proptest! {
        #[test]
        fn leads_from_any_book_to_any_other(
            old in prop::collection::vec(0u8..20, 0..30), new in prop::collection::vec(0u8..20, 0..30)
        ) {
            let [old, new] = [old, new].map(|list| list.into_iter().map(entry).collect::<Vec<_>>());
            let delta = Delta::between(&old, &new);
            let mut list = old;
            Delta::read(&delta.to_bytes()).unwrap().apply(&mut list);
            prop_assert_eq!(list, new);
        }
    }
}
