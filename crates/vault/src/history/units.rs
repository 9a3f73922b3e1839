//! How files are divided for the store: a chat into its header and its messages, a book into its entries.
//!
//! A unit is known by what it is, not by its bytes. So a message that was hidden, or that an extension wrote into, is still stored as
//! a change of the same message.

use std::hash::{DefaultHasher, Hash, Hasher};

use forklore_core::format::book::Book;
use forklore_core::story::Transcript;
use forklore_store::Unit;

/// How large the segments of a chat are, about.
pub(super) const CHAT_SEGMENT: usize = 64 << 10;

/// How large the segments of a book are, about.
pub(super) const BOOK_SEGMENT: usize = 16 << 10;

/// The units of a chat file of `len` bytes.
pub(super) fn of_chat(transcript: &Transcript, len: u64) -> impl Iterator<Item = Unit> + '_ {
    let starts = transcript.rows_from(0).map(|row| (row.start, row.id.0));
    let first = std::iter::once((0, key(&"header")));
    let mut starts = first.chain(starts).peekable();
    std::iter::from_fn(move || {
        let (start, key) = starts.next()?;
        let end = starts.peek().map_or(len, |(next, _)| *next);
        Some(Unit { len: end.saturating_sub(start), key })
    })
    .filter(|unit| unit.len > 0)
}

/// The units of a book.
pub(super) fn of_book(bytes: &[u8], book: &Book<'_>) -> Vec<Unit> {
    let mut bounds: Vec<(usize, u64)> = vec![(0, key(&"start"))];
    let mut end = 0;
    for entry in book.entries() {
        let first = entry.key.unwrap_or(entry.raw);
        let (Some(start), Some(whole)) = (first.range_in(bytes), entry.raw.range_in(bytes)) else { continue };
        bounds.push((start.start, key(&(entry.uid(), &*entry.comment()))));
        end = whole.end;
    }
    if end > 0 {
        bounds.push((end, key(&"end")));
    }
    let ends = bounds.iter().skip(1).map(|(start, _)| *start).chain([bytes.len()]).collect::<Vec<_>>();
    let unit = |((start, key), end): (&(usize, u64), usize)| Unit {
        len: end.saturating_sub(*start) as u64,
        key: *key,
    };
    bounds.iter().zip(ends).map(unit).filter(|unit| unit.len > 0).collect()
}

/// One unit for a file that nobody can read.
pub(super) fn of_anything(len: u64) -> impl Iterator<Item = Unit> {
    std::iter::once(Unit { len, key: 0 }).filter(|unit| unit.len > 0)
}

fn key(what: &impl Hash) -> u64 {
    // `DefaultHasher::new` is the same in every process of one version; another version only stores a little more once.
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}
