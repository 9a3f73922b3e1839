//! What names tell: [`Seniority`] puts chats into the order in which their names say that they came, [`folded`] makes names equal that
//! one file system would take for one.

use std::cmp::Reverse;

use unicode_normalization::UnicodeNormalization;

use crate::format::names::ForkName;

/// The order in which chats come where nothing but their lines relates them: lower comes first. How often a name says "fork of"; names
/// with a time before others, since SillyTavern gives them to new chats, and in the order of time; longer chats before shorter ones.
pub(super) type Seniority<'a> = (usize, bool, [u32; 7], Reverse<usize>, &'a str);

pub(super) fn seniority(name: &str, messages: usize) -> Seniority<'_> {
    let date = date(name);
    (depth(name), date.is_none(), date.unwrap_or_default(), Reverse(messages), name)
}

/// How many times over a chat is a fork or a copy, by its name.
fn depth(name: &str) -> usize {
    let base = if is_import(name) { name.strip_suffix(IMPORTED) } else { ForkName::read(name).base() };
    base.map_or(0, |base| 1 + depth(base))
}

const IMPORTED: &str = " imported";

pub(super) fn is_import(name: &str) -> bool {
    name.ends_with(IMPORTED)
}

/// The time that a name ends with: year, month, day and whatever follows of hours, minutes, seconds and milliseconds.
fn date(name: &str) -> Option<[u32; 7]> {
    let is_time = |c: char| c.is_ascii_digit() || matches!(c, '-' | '@' | ' ' | 'h' | 'm' | 's' | ':' | '.');
    let start =
        name.rfind(|c| !is_time(c)).map_or(0, |at| at + name[at..].chars().next().map_or(1, char::len_utf8));
    let numbers = name[start..].split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    let numbers: Vec<u32> = numbers.map_while(|part| part.parse().ok()).collect();
    let year = numbers.iter().position(|n| (2000..10_000).contains(n))?;
    let parts = &numbers[year..];
    let plausible = parts.len() >= 3 && (1..=12).contains(&parts[1]) && (1..=31).contains(&parts[2]);
    plausible.then(|| std::array::from_fn(|i| parts.get(i).copied().unwrap_or(0)))
}

/// A name as file systems see it that do not tell capital letters, or two spellings of one letter, apart. A vault may have been on one.
pub(super) fn folded(name: &str) -> String {
    name.nfc().flat_map(char::to_lowercase).collect()
}

/// Whether an alias is a chat's name, or a book's name made from it (`z-AutoLB-Ana-<chat>`).
pub(super) fn names(alias: &str, chat: &str) -> bool {
    alias.strip_suffix(chat).is_some_and(|rest| rest.is_empty() || rest.ends_with(['-', ' ']))
}

/// The names of chats that an alias could be: see [`names`].
pub(super) fn names_in(alias: &str) -> impl Iterator<Item = &str> {
    std::iter::once(alias).chain(alias.match_indices(['-', ' ']).map(|(at, _)| &alias[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elder_names_come_first() {
        let in_order = [
            "Ann - 2025-5-17",
            "Ann - 2025-5-17@18h32m36s",
            "Ann - 2026-1-2 @03h 04m 05s 006ms",
            "my story",
            "Branch #8 - 2025-05-20@18h40m51s",
            "Branch #2 - 2025-05-21@18h40m51s",
            "my story - Branch #1",
            "my story - Branch #1 - Checkpoint #1",
        ];
        let mut sorted = in_order;
        sorted.sort_by_key(|name| seniority(name, 9));
        assert_eq!(sorted, in_order);
    }

    #[test]
    fn names_that_only_look_like_times_are_none() {
        for name in ["Ann 2025", "1-2-3", "Room 2040-13-99", "火 2025-1", ""] {
            assert_eq!(date(name), None, "{name}");
        }
        assert_eq!(date("火 2025-1-2@03h"), Some([2025, 1, 2, 3, 0, 0, 0]));
    }

    #[test]
    fn names_are_one_where_a_file_system_says_so() {
        assert_eq!(folded("Ann\u{e9}"), folded("ANNe\u{301}"));
    }
}
