//! What names tell: [`Seniority`] puts chats into the order in which their names say that they came, [`folded`] makes names equal that
//! one file system would take for one.

use std::cmp::Reverse;

use unicode_normalization::UnicodeNormalization;

use crate::format::names::ForkName;

/// The order in which chats come where nothing but their lines relates them: lower comes first. Those that tell nothing of themselves come
/// last: their metadata did not come along with the file. How often a name says "fork of"; names
/// with a time before others, since SillyTavern gives them to new chats, and in the order of time; longer chats before shorter ones.
pub(super) type Seniority<'a> = (bool, usize, bool, [u32; 7], Reverse<usize>, &'a str);

pub(super) fn seniority(name: &str, messages: usize, silent: bool) -> Seniority<'_> {
    let date = date(name);
    (silent, depth(name), date.is_none(), date.unwrap_or_default(), Reverse(messages), name)
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

/// The time that a name ends with: year, month, day and whatever follows of hours, minutes, seconds and milliseconds. Chats of groups
/// were once called by the milliseconds since 1970.
pub(super) fn date(name: &str) -> Option<[u32; 7]> {
    if let Some(milliseconds) = name.parse::<u64>().ok().filter(|_| name.len() == 13) {
        return Some(civil(milliseconds));
    }
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

/// Milliseconds since 1970 as year, month, day, hours, minutes, seconds, milliseconds.
fn civil(milliseconds: u64) -> [u32; 7] {
    // Years begin in March, so that the day that comes and goes is the last one.
    let days = milliseconds / 86_400_000 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + era * 400 + u64::from(month <= 2);
    let of_day = milliseconds % 86_400_000;
    let parts =
        [year, month, day, of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1000 % 60, of_day % 1000];
    parts.map(|part| u32::try_from(part).unwrap_or(u32::MAX))
}

/// A name as file systems see it that do not tell capital letters, or two spellings of one letter, apart. A vault may have been on one.
pub(super) fn folded(name: &str) -> String {
    name.nfc().flat_map(char::to_lowercase).collect()
}

/// Whether an alias is a chat's name, or a book's name made from it (`<prefix>-Ana-<chat>`).
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
        sorted.sort_by_key(|name| seniority(name, 9, false));
        assert_eq!(sorted, in_order);
    }

    #[test]
    fn names_that_only_look_like_times_are_none() {
        for name in ["Ann 2025", "1-2-3", "Room 2040-13-99", "火 2025-1", ""] {
            assert_eq!(date(name), None, "{name}");
        }
        assert_eq!(date("火 2025-1-2@03h"), Some([2025, 1, 2, 3, 0, 0, 0]));
        assert_eq!(date("1709210096789"), Some([2024, 2, 29, 12, 34, 56, 789]));
        assert_eq!(date("951868800000"), None, "not as long as SillyTavern ever made them");
    }

    #[test]
    fn names_are_one_where_a_file_system_says_so() {
        assert_eq!(folded("Ann\u{e9}"), folded("ANNe\u{301}"));
    }
}
