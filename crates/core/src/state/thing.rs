//! [`Thing`]: what stays the same while its text, title and number change; [`pair`]: who is who in two states of a book.
//!
//! A number alone is no identity: SillyTavern gives the number of a deleted entry to the next new one. A title alone is none either:
//! what was deleted is sometimes made again. So it is number and title; else one of them together with the text.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::adapter::{EntryRole, Keepers, entry_role, template};
use crate::format::book::EntryImage;

/// Something in a book that has a history: an entry. Known across all books of a family.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Thing {
    /// The book that it was first seen in
    book: Arc<str>,
    number: u32,
}

impl Thing {
    pub(super) fn new(book: &Arc<str>, number: u32) -> Self {
        Self { book: book.clone(), number }
    }
}

/// How two states of a book are related.
#[derive(Clone, Copy)]
pub(super) struct Kinship<'a> {
    /// What keeps the book
    pub(super) keepers: &'a Keepers,
    /// The later one is a copy, which may have numbered all entries anew
    pub(super) copied: bool,
}

/// For each new entry, the place of the old one that it was.
pub(super) fn pair(old: &[&EntryImage], new: &[&EntryImage], kinship: Kinship<'_>) -> Vec<Option<usize>> {
    let mut found: Vec<Option<usize>> = vec![None; new.len()];
    // Mostly nothing but texts changed, and the book just grew.
    let same = |(a, b): (&&EntryImage, &&EntryImage)| a.uid == b.uid && a.comment == b.comment;
    let plain = old.iter().zip(new).take_while(|pair| same(*pair) && !clash(pair.0, pair.1, kinship)).count();
    (0..plain).for_each(|i| found[i] = Some(i));
    if plain == old.len() || plain == new.len() {
        return found;
    }
    let mut left: HashSet<usize> = (plain..old.len()).collect();
    let mut by_uid: HashMap<i64, Vec<usize>> = HashMap::new();
    let mut by_title: HashMap<&str, Vec<usize>> = HashMap::new();
    for (i, entry) in old.iter().enumerate().skip(plain) {
        entry.uid.into_iter().for_each(|uid| by_uid.entry(uid).or_default().push(i));
        by_title.entry(&entry.comment).or_default().push(i);
    }
    type Rule<'r> = &'r dyn Fn(&EntryImage, &EntryImage) -> bool;
    let rules: [(bool, Rule<'_>); 5] = [
        (false, &|a, b| a.uid == b.uid),
        (false, &|a, b| a.content() == b.content()),
        (false, &|a, _| entry_role(&a.comment) == EntryRole::Registry),
        (true, &|a, b| alike(&a.content(), &b.content())),
        (false, &|a, b| kinship.copied || alike(&a.content(), &b.content())),
    ];
    for (numbered, rule) in rules {
        for j in plain..new.len() {
            if found[j].is_some() {
                continue;
            }
            let candidates = match numbered {
                true => new[j].uid.and_then(|uid| by_uid.get(&uid)),
                false => by_title.get(&*new[j].comment),
            };
            let fits =
                |i: &&usize| left.contains(*i) && rule(old[**i], new[j]) && !clash(old[**i], new[j], kinship);
            if let Some(i) = candidates.into_iter().flatten().find(fits) {
                left.remove(i);
                found[j] = Some(*i);
            }
        }
    }
    found
}

/// Whether two entries say themselves that they are not the same: they are about different things, or one of them was made under another
/// title as what the other is not.
fn clash(a: &EntryImage, b: &EntryImage, kinship: Kinship<'_>) -> bool {
    // What is made again and again has one title: under another one and made by something else it is another thing.
    if a.comment != b.comment
        && let Some((a, b)) = template(a).zip(template(b))
        && a != b
    {
        return true;
    }
    match (kinship.keepers.subject(a), kinship.keepers.subject(b)) {
        (Some(a), Some(b)) => a != b,
        (None, None) => false,
        // Not every sight shows what an entry says of itself: with the same number and the same words it is the same.
        _ => a.comment != b.comment && !(a.uid == b.uid && a.content() == b.content()),
    }
}

/// Whether one text goes on in another: half of the words of the shorter are in the longer.
pub(super) fn alike(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    let (a, b) = (words(a), words(b));
    a.intersection(&b).count() * 2 >= a.len().min(b.len()).max(1)
}

/// The words of a text; of scripts that are written without spaces, the characters.
pub(super) fn words(text: &str) -> HashSet<String> {
    let mut words = HashSet::new();
    for run in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
        let mut word = String::new();
        for c in run.chars() {
            if ('\u{3040}'..='\u{9fff}').contains(&c) {
                words.insert(c.to_string());
            } else {
                word.extend(c.to_lowercase());
            }
        }
        words.insert(word);
    }
    words.remove("");
    words
}
