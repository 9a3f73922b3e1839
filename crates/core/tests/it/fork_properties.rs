//! Making a fork: names against SillyTavern's own way, timed effects.

use std::collections::BTreeSet;

use forklore_core::adapter::auto_recap::AutoRecap;
use forklore_core::fork::ForkKind;
use forklore_core::fork::names::{
    BookStyle, LONGEST, READABLE, TemplateValues, automatic, book, first_book, from_template, typed,
};
use forklore_core::fork::timed::{Form, entry_hash, rekey};
use forklore_core::format::book::EntryImage;
use forklore_core::format::names::{book_stem, chat_stem};
use forklore_json::Raw;
use proptest::prelude::*;

/// SillyTavern's way, by the text of its two patterns: try every cut.
fn reference(parent: &str, word: &str, taken: &BTreeSet<String>) -> String {
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let (before, after) = (format!(" - {word}"), " - ");
    let cuts = |text: &str| text.char_indices().map(|(i, _)| i).collect::<Vec<_>>();
    let is_suffix = |tail: &str| tail.strip_prefix(&before).is_some_and(digits);
    let clean = cuts(parent).into_iter().find(|i| is_suffix(&parent[*i..])).map_or(parent, |i| &parent[..i]);
    let is_prefix =
        |head: &str| head.strip_prefix(word).and_then(|head| head.strip_suffix(after)).is_some_and(digits);
    let ends = cuts(clean).into_iter().chain([clean.len()]);
    let clean = ends.into_iter().find(|i| is_prefix(&clean[..*i])).map_or(clean, |i| &clean[i..]);
    (1..).map(|i| format!("{clean}{before}{i}")).find(|name| !taken.contains(name)).unwrap()
}

fn parent() -> impl Strategy<Value = String> {
    let part =
        prop::sample::select(vec!["X", "Branch #", "Checkpoint #", " - ", "1", "23", "é", " ", "#", "-"]);
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

fn any_name() -> impl Strategy<Value = String> {
    prop_oneof!["\\PC{0,20}", ".{0,300}", "[a-z/:? .{}$é🐉]{0,260}", Just("con.x".to_owned())]
}

proptest! {
    #[test]
    fn forks_are_named_as_sillytavern_names_them(parent in parent(), used in 0..4usize, branch in any::<bool>()) {
        let (kind, word) = if branch { (ForkKind::Branch, "Branch #") } else { (ForkKind::Checkpoint, "Checkpoint #") };
        let mut taken = BTreeSet::new();
        for _ in 0..used {
            let expected = reference(&parent, word, &taken);
            prop_assert_eq!(automatic(&parent, kind, &|name| taken.contains(name)), expected.clone());
            taken.insert(expected);
        }
    }

    #[test]
    fn every_name_can_be_a_file(name in any_name(), other in any_name(), template in any_name(), tries in 0..3usize) {
        let left = std::cell::Cell::new(tries);
        let taken = |_: &str| left.replace(left.get().saturating_sub(1)) > 0;
        let values = TemplateValues { scene_number: Some(1), scene_name: Some(&other), message: 2, chat: &name };
        let mut chats = vec![automatic(&name, ForkKind::Branch, &taken)];
        chats.extend(typed(&name).ok());
        chats.extend(from_template(&template, &values, &taken));
        chats.extend(from_template("{chat} {scene_name}", &values, &taken));
        for chat in chats {
            prop_assert!(!chat.is_empty() && chat.len() <= LONGEST, "{:?}", chat);
            prop_assert_eq!(chat_stem(&chat), chat);
        }
        let styles = [
            BookStyle::Template { template: "z-AutoLB-{{char}}-{{chat}}", character: &other },
            BookStyle::Template { template: &template, character: &other },
            BookStyle::Template { template: "{{chat}}{{char}}{{chat}}", character: &other },
            BookStyle::After { book: &other },
        ];
        for style in styles {
            left.set(tries);
            let book = book(style, &name, &taken);
            prop_assert!(!book.is_empty() && book.len() <= LONGEST, "{:?}", book);
            prop_assert_eq!(book_stem(&book), book);
        }
    }

    /// At the fifth fork of a fork they had 230 characters once.
    #[test]
    fn regression_names_of_books_do_not_grow_with_every_fork_of_a_fork(
        root in "[A-Za-z0-9 ]{1,20}",
        lore in "[A-Za-z0-9é ]{1,30}",
        acts in prop::collection::vec((any::<bool>(), prop::option::of("[A-Za-zé]{1,20}( - [A-Za-z]{1,20})?")), 1..12),
    ) {
        let free = |_: &str| false;
        let (mut chats, mut books) = (vec![root], vec![lore.clone()]);
        for (branch, typed) in acts {
            let kind = if branch { ForkKind::Branch } else { ForkKind::Checkpoint };
            let (parent, old) = (chats.last().unwrap(), books.last().unwrap());
            let fork = typed.unwrap_or_else(|| automatic(parent, kind, &free));
            let line: Vec<&str> = chats.iter().rev().map(String::as_str).collect();
            // Whose book it is stands in its name already where a chat is forked under the same name once more.
            let name = book(BookStyle::After { book: first_book(old, &line) }, &fork, &|name| books.iter().any(|b| b == name));
            prop_assert!(name.starts_with(lore.trim_end()) || name.starts_with(&lore), "{:?} after {:?}", name, lore);
            prop_assert!(name.len() <= READABLE + " (12)".len(), "{:?}", name);
            let last = fork.rsplit(" - ").next().unwrap();
            prop_assert!(name.contains(last), "{:?} of {:?}", name, fork);
            chats.push(fork);
            books.push(name);
        }
    }

    #[test]
    fn effects_keep_what_is_not_known(
        effects in prop::collection::btree_map((0..3usize, 0..6i64), (0..10usize, "\\PC{0,5}"), 0..8),
        visible in 0..10usize,
        there in prop::collection::vec(any::<bool>(), 6),
    ) {
        let books = ["Old", "Other", "Old.1"];
        let quoted = |text: &str| String::from_utf8(forklore_json::quote(text)).unwrap();
        let member = |book: &str, uid: i64, hash: u64, start: usize, extra: &str| {
            format!("{}:{{\"note\":{},\"hash\":{hash},\"start\":{start}}}", quoted(&format!("{book}.{uid}")), quoted(extra))
        };
        let object = |members: Vec<String>| format!("{{\"new\":[1.0],\"sticky\":{{{}}}}}", members.join(","));
        let entry = |uid: i64| format!("{{\"uid\":{uid},\"content\":\"text\"}}");
        let timed = object(effects.iter().map(|((b, uid), (start, extra))| member(books[*b], *uid, 5, *start, extra)).collect());
        let kept = effects.iter().filter(|((b, uid), (start, _))| *start < visible && (*b != 0 || there[*uid as usize]));
        let expected = object(kept.map(|((b, uid), (start, extra))| match b {
            0 => {
                let hash = entry_hash(Raw::parse(entry(*uid).as_bytes()).unwrap(), "New", Form::Wrapped(&AutoRecap));
                member("New", *uid, hash, *start, extra)
            }
            _ => member(books[*b], *uid, 5, *start, extra),
        }).collect());
        let entries = |uid: i64| there[uid as usize].then(|| {
            EntryImage::new(Some(uid), "", Raw::parse(entry(uid).as_bytes()).unwrap())
        });
        let found = rekey(Raw::parse(timed.as_bytes()).unwrap(), "Old", "New", &entries, visible, Form::Wrapped(&AutoRecap));
        prop_assert_eq!(String::from_utf8(found).unwrap(), expected);
    }
}
