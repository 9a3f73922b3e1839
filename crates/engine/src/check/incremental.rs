//! [`check_changed`]: what `check` finds in the whole vault, worked out anew only for the circles of chats and lorebooks in which something
//! is another one.
//!
//! What was found in a [`Circle`] is kept in `.forklore/cache` under the circle's key. Disposable, as everything there: what is missing,
//! torn, or under a key that is not met again is worked out anew.

use std::collections::{HashMap, HashSet};

use forklore_core::check::Finding;
use forklore_vault::{ChatIx, Circle, Library, cache};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{CheckReport, OfBook, of_book, of_chat, report};

const FILE: &str = "checked";

/// What was found in the chats of a circle, in their order, and in its lorebooks.
#[derive(Clone, Serialize, Deserialize)]
struct OfCircle {
    chats: Vec<Vec<Finding>>,
    books: Vec<OfBook>,
}

/// What was found in each circle, by its key.
type Kept = HashMap<String, OfCircle>;

/// Checks the vault as [`super::check()`] does. What was found before counts for circles in which nothing is another one.
pub fn check_changed(library: &Library, now: i64) -> CheckReport {
    let circles = library.circles();
    let fs = &**library.fs();
    let mut kept: Kept =
        cache::kept(fs, FILE).and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let known: Vec<Option<OfCircle>> = circles
        .iter()
        .map(|circle| kept.remove(&name(circle)?).filter(|known| fits(circle, known)))
        .collect();
    let changed = |n: &usize| known[*n].is_none();
    let chats: Vec<ChatIx> =
        (0..circles.len()).filter(changed).flat_map(|n| circles[n].chats.clone()).collect();
    if !chats.is_empty() {
        library.get_ready();
    }
    let looked: Vec<(Vec<Finding>, bool)> =
        chats.par_iter().map(|c| of_chat(library, *c, false, now)).collect();
    let mut found: HashMap<ChatIx, (Vec<Finding>, bool)> = chats.into_iter().zip(looked).collect();
    let changed = (0..circles.len()).filter(changed);
    let changed: Vec<&String> = changed.flat_map(|n| there(library, &circles[n])).collect();
    let mut books: Vec<OfBook> = changed.par_iter().map(|stem| of_book(library, stem, now)).collect();
    for (circle, known) in circles.iter().zip(&known) {
        if let Some(known) = known {
            let chats = circle.chats.iter().copied().zip(&known.chats);
            found.extend(chats.map(|(c, findings)| (c, (findings.clone(), false))));
            books.extend(known.books.iter().cloned());
        }
    }
    books.sort_by(|a, b| a.stem.cmp(&b.stem));
    if known.iter().any(Option::is_none) && !library.met_closed() {
        remember(library, now, &circles, &known, &found, &books);
    }
    let found = library.chat_ixs().map(|c| found.remove(&c).unwrap_or_default()).collect();
    report(library, None, now, found, books)
}

/// The lorebooks of a circle that are there.
fn there<'a>(library: &'a Library, circle: &'a Circle) -> impl Iterator<Item = &'a String> {
    circle.books.iter().filter(|stem| library.books().contains_key(*stem))
}

fn name(circle: &Circle) -> Option<String> {
    Some(blake3::Hash::from_bytes(circle.key?).to_hex().to_string())
}

fn fits(circle: &Circle, known: &OfCircle) -> bool {
    known.chats.len() == circle.chats.len()
        && known.books.iter().all(|book| circle.books.contains(&book.stem))
}

/// What was changed so short a time ago can be changed again without getting another time; in nanoseconds.
const MOMENT: i64 = 100_000_000;

/// Keeps what was found, but for what depends on the time, and for circles in which something was saved while they were looked at.
fn remember(
    library: &Library,
    now: i64,
    circles: &[Circle],
    known: &[Option<OfCircle>],
    found: &HashMap<ChatIx, (Vec<Finding>, bool)>,
    books: &[OfBook],
) {
    let still: HashSet<[u8; 32]> = library.circles().into_iter().filter_map(|circle| circle.key).collect();
    let books: HashMap<&str, &OfBook> = books.iter().map(|book| (book.stem.as_str(), book)).collect();
    let of = |(circle, known): (&Circle, &Option<OfCircle>)| -> Option<(String, OfCircle)> {
        if let Some(known) = known {
            return Some((name(circle)?, known.clone()));
        }
        let looked: Vec<_> = circle.chats.iter().map(|c| found.get(c)).collect::<Option<_>>()?;
        let quiet = now.saturating_mul(1_000_000).saturating_sub(circle.changed) > MOMENT;
        let lasts = quiet && looked.iter().all(|(_, timed)| !timed) && still.contains(&circle.key?);
        let chats = looked.into_iter().map(|(findings, _)| findings.clone()).collect();
        let books =
            circle.books.iter().filter_map(|stem| books.get(stem.as_str()).copied().cloned()).collect();
        lasts.then_some((name(circle)?, OfCircle { chats, books }))
    };
    let kept: Kept = circles.iter().zip(known).filter_map(of).collect();
    if let Ok(bytes) = serde_json::to_vec(&kept) {
        cache::keep(&**library.fs(), FILE, &bytes);
    }
}
