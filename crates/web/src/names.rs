//! [`Names`]: what the chats of a story are called beside each other. What they share is cut, times are as people say them, and no two
//! are called the same.

use std::collections::HashMap;

use forklore_engine::line::Companion;
use forklore_engine::tree::short_name;

use crate::{link, words};

/// What chats are called on a page that has several of them.
pub(crate) struct Names(HashMap<String, String>);

impl Names {
    pub(crate) fn of(companions: &[Companion]) -> Self {
        let mut names: Vec<&str> = companions.iter().map(|chat| &*chat.name).collect();
        // The longest that a name begins with is the nearest above it.
        names.sort_unstable_by_key(|name| name.len());
        let ways: Vec<_> = companions.iter().map(|chat| ways(&chat.chat, &chat.name, &names)).collect();
        Self(companions.iter().map(|chat| chat.chat.clone()).zip(apart(&ways)).collect())
    }

    /// What the chat at an address is called.
    pub(crate) fn get(&self, chat: &str) -> String {
        self.0.get(chat).cloned().unwrap_or_else(|| in_story(chat))
    }
}

/// The ways to call a chat, from the shortest to its whole name.
fn ways(chat: &str, name: &str, all: &[&str]) -> Vec<String> {
    let story = link::story_of(chat);
    let (short, long) = (short_name(name, story, all), short_name(name, story, &[]));
    let short = short.strip_prefix("… - ").unwrap_or(&short);
    vec![words::chat_name(short), words::chat_name(&long), words::exact_chat_name(&long), name.to_owned()]
}

/// What a chat is called on a page of its own, with its story above it.
pub(crate) fn in_story(chat: &str) -> String {
    words::chat_name(&short_name(name_of(chat), link::story_of(chat), &[]))
}

/// The name of a chat, without its story.
pub(crate) fn name_of(chat: &str) -> &str {
    chat.split_once('/').map_or(chat, |(_, name)| name)
}

/// Of several ways to call each, the first that no other is called.
pub(crate) fn apart(ways: &[Vec<String>]) -> Vec<String> {
    let mut chosen = vec![0; ways.len()];
    loop {
        let mut called: HashMap<&str, Vec<usize>> = HashMap::new();
        for (i, names) in ways.iter().enumerate() {
            called.entry(&names[chosen[i]]).or_default().push(i);
        }
        let alike: Vec<usize> = called.into_values().filter(|who| who.len() > 1).flatten().collect();
        let more: Vec<usize> = alike.into_iter().filter(|i| chosen[*i] + 1 < ways[*i].len()).collect();
        if more.is_empty() {
            break;
        }
        for i in more {
            chosen[i] += 1;
        }
    }
    ways.iter().zip(chosen).map(|(names, way)| names[way].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(chats: &[&str]) -> Vec<String> {
        let companion =
            |name: &&str| Companion { chat: format!("Ana/{name}"), name: (*name).to_owned(), messages: 1 };
        let companions: Vec<Companion> = chats.iter().map(companion).collect();
        let names = Names::of(&companions);
        companions.iter().map(|chat| names.get(&chat.chat)).collect()
    }

    #[test]
    fn what_chats_share_is_cut_and_no_two_are_called_the_same() {
        let main = "Ana - 2026-11-15@01h22m11s459ms";
        let [first, second] = [1, 2].map(|n| format!("{main} - Branch #{n}"));
        assert_eq!(
            called(&[main, &first, &second, "A walk"]),
            ["15 November 2026, 1:22", "Branch #1", "Branch #2", "A walk"]
        );
        // Two mains within a minute, and a branch of each.
        let other = "Ana - 2026-11-15@01h22m16s414ms";
        let theirs = format!("{other} - Branch #1");
        assert_eq!(
            called(&[main, &first, other, &theirs]),
            [
                "15 November 2026, 1:22:11",
                "15 November 2026, 1:22:11 - Branch #1",
                "15 November 2026, 1:22:16",
                "15 November 2026, 1:22:16 - Branch #1"
            ]
        );
        // Within a second there is nothing shorter than their names.
        let twin = "Ana - 2026-11-15@01h22m11s460ms";
        assert_eq!(called(&[main, twin]), [main, twin]);
    }
}
