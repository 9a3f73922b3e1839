//! [`Live`] entries and which of them every image shows.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use forklore_json::Raw;

use crate::adapter::{EntryRole, entry_role};
use crate::format::book::{Entry, EntryImage};

/// An entry of the live book, looked through once.
#[derive(Debug)]
pub(super) struct Live<'a> {
    pub(super) uid: Option<i64>,
    pub(super) comment: Cow<'a, str>,
    pub(super) key: Option<Raw<'a>>,
    pub(super) raw: Raw<'a>,
    /// Whether the entry itself tells its number.
    pub(super) is_numbered: bool,
    pub(super) is_queue: bool,
}

impl<'a> Live<'a> {
    pub(super) fn of(entry: Entry<'a>) -> Self {
        let (uid, is_numbered, comment) = (entry.uid(), entry.is_numbered(), entry.comment());
        let is_queue = entry_role(&comment) == EntryRole::Queue;
        Self { uid, comment, key: entry.key, raw: entry.raw, is_numbered, is_queue }
    }
}

/// For every live entry the number of the image that shows it. A queue is shown by none.
///
/// First those that are the same to the byte, so that of two entries with one number and title each finds itself; then by
/// number and title; then by number alone: a renamed entry, or another one under a number that was free again. Either way the
/// live one only lends its place, its key and its layout.
pub(super) fn pair(live: &[Live<'_>], images: &[&EntryImage]) -> Vec<Option<usize>> {
    let crowded = crowded(live, images);
    let mut pairs =
        Pairs { live, images, shown_by: vec![None; live.len()], paired: vec![false; images.len()] };
    pairs.pass(
        |live| crowded.contains(&live.uid).then(|| (live.uid, &*live.comment, live.raw.bytes())),
        |image| crowded.contains(&image.uid).then(|| (image.uid, &*image.comment, image.raw().bytes())),
    );
    pairs.pass(|live| Some((live.uid, &*live.comment)), |image| Some((image.uid, &*image.comment)));
    pairs.pass(|live| live.uid, |image| image.uid);
    pairs.shown_by
}

/// The numbers that stand more than once on either side: only there is it worth to compare whole entries.
fn crowded(live: &[Live<'_>], images: &[&EntryImage]) -> HashSet<Option<i64>> {
    let mut crowded = HashSet::new();
    let mut look = |uids: &mut dyn Iterator<Item = Option<i64>>| {
        let mut seen = HashSet::new();
        crowded.extend(uids.filter(|uid| !seen.insert(*uid)));
    };
    look(&mut live.iter().map(|live| live.uid));
    look(&mut images.iter().map(|image| image.uid));
    crowded
}

struct Pairs<'s, 'a> {
    live: &'s [Live<'a>],
    images: &'s [&'s EntryImage],
    shown_by: Vec<Option<usize>>,
    paired: Vec<bool>,
}

impl<'s, 'a> Pairs<'s, 'a> {
    /// Pairs what is still alone and has the same mark: the first with the first, the second with the second.
    fn pass<M: Hash + Eq>(
        &mut self,
        live_mark: impl Fn(&'s Live<'a>) -> Option<M>,
        image_mark: impl Fn(&'s EntryImage) -> Option<M>,
    ) {
        if self.paired.iter().all(|paired| *paired) {
            return;
        }
        // The first live entry with a mark, and for every one the next with the same.
        let mut firsts: HashMap<M, Option<usize>> = HashMap::new();
        let mut next: Vec<Option<usize>> = vec![None; self.live.len()];
        for (i, live) in self.live.iter().enumerate().rev() {
            if !live.is_queue
                && self.shown_by[i].is_none()
                && let Some(mark) = live_mark(live)
            {
                next[i] = firsts.insert(mark, Some(i)).flatten();
            }
        }
        for (n, image) in self.images.iter().enumerate() {
            if !self.paired[n]
                && let Some(first) = image_mark(image).and_then(|mark| firsts.get_mut(&mark))
                && let Some(i) = *first
            {
                *first = next[i];
                self.shown_by[i] = Some(n);
                self.paired[n] = true;
            }
        }
    }
}
