//! Lineage in every situation that the spec's "Adoption" names.

use forklore_core::format::chat::Message;
use forklore_core::story::lineage::{Basis, Beyond, Chat, Kind, Lineage, Link, ParentNote, trace};
use forklore_core::story::{ChatIx, Confidence, Transcript, swipe_moments};

use crate::transcript;

/// A chat in a test: messages as letters, each sent at the time of its letter and number.
struct Case {
    name: &'static str,
    slug: Option<&'static str>,
    main_chat: Option<&'static str>,
    transcript: Transcript,
    undated: bool,
    aliases: Vec<&'static str>,
    links: Vec<(Link, String)>,
    /// Swipes of messages: (message, texts).
    swipes: Vec<(usize, &'static str)>,
}

fn told(texts: &str) -> Transcript {
    let line =
        |(i, c): (usize, char)| format!(r#"{{"is_user":{},"mes":"{c}","send_date":"{i}{c}"}}"#, i % 2 == 1);
    let lines: Vec<String> = texts.chars().enumerate().map(line).collect();
    transcript(lines.iter().map(String::as_str))
}

fn chat(name: &'static str, main_chat: Option<&'static str>, texts: &str) -> Case {
    Case {
        name,
        slug: None,
        main_chat,
        transcript: told(texts),
        undated: false,
        aliases: vec![],
        links: vec![],
        swipes: vec![],
    }
}

fn traced(cases: &[Case]) -> Vec<Lineage> {
    let chats: Vec<Chat<'_>> = cases
        .iter()
        .map(|case| Chat {
            story: 0,
            group: false,
            name: case.name,
            silent: false,
            slug: case.slug,
            main_chat: case.main_chat.map(str::to_owned),
            record: None,
            transcript: &case.transcript,
            undated: case.undated,
            aliases: case.aliases.clone(),
            links: case.links.clone(),
        })
        .collect();
    trace(&chats, &|c, m, before| {
        let swipes = cases[c].swipes.iter().filter(|(at, _)| *at == m).flat_map(|(_, texts)| texts.chars());
        let line = serde_json::json!({"is_user": m % 2 == 1, "swipes": swipes.map(String::from).collect::<Vec<_>>()});
        swipe_moments(before, Message::parse(line.to_string().as_bytes()).unwrap())
    })
}

fn parent(lineage: &Lineage) -> Option<usize> {
    lineage.parent.map(ChatIx::place)
}

fn brief(lineage: &Lineage) -> (Kind, Option<usize>, Option<usize>, Basis) {
    (lineage.kind, parent(lineage), lineage.fork_message, lineage.basis)
}

#[test]
fn a_fork_that_names_its_parent() {
    let found = traced(&[chat("M", None, "abcdef"), chat("M - Branch #1", Some("M"), "abcxy")]);
    assert_eq!(brief(&found[0]), (Kind::Main, None, None, Basis::None));
    assert_eq!(brief(&found[1]), (Kind::Branch, Some(0), Some(2), Basis::MainChat));
    assert_eq!(found[1].confidence, Confidence::Certain);
}

#[test]
fn a_fork_at_the_greeting_is_believed_if_it_says_so() {
    let found = traced(&[chat("M", None, "abc"), chat("M - Branch #1", Some("M"), "axy")]);
    assert_eq!(brief(&found[1]), (Kind::Branch, Some(0), Some(0), Basis::MainChat));
}

#[test]
fn chats_that_share_only_the_greeting_are_not_related() {
    let found = traced(&[chat("M", None, "abcdef"), chat("N", None, "axyz")]);
    assert_eq!(found.iter().map(|l| l.kind).collect::<Vec<_>>(), [Kind::Main, Kind::Main]);
}

#[test]
fn the_lines_alone_tell_where_names_do_not() {
    let found = traced(&[chat("M", None, "abcdef"), chat("copied by hand", None, "abcxy")]);
    assert_eq!(brief(&found[1]), (Kind::Branch, Some(0), Some(2), Basis::Moments));
}

#[test]
fn equal_words_at_other_times_are_a_coincidence() {
    let line =
        |i: usize, c: char| format!(r#"{{"is_user":{},"mes":"{c}","send_date":"other {i}"}}"#, i % 2 == 1);
    let lines: Vec<String> = "abcde".chars().enumerate().map(|(i, c)| line(i, c)).collect();
    let mut again = chat("N", None, "");
    again.transcript = transcript(lines.iter().map(String::as_str));
    let found = traced(&[chat("M", None, "abcdef"), again]);
    assert_eq!(found[1].kind, Kind::Main);
}

#[test]
fn a_renamed_parent_is_found_by_its_messages() {
    let found = traced(&[chat("New name", None, "abcdef"), chat("x", Some("Old name"), "abcd")]);
    assert_eq!(brief(&found[1]), (Kind::Checkpoint, Some(0), Some(3), Basis::Moments));
    assert_eq!(found[1].note, Some(ParentNote::Renamed("Old name".into())));
}

#[test]
fn another_chat_that_took_the_parents_name_is_not_the_parent() {
    let found = traced(&[
        chat("Old name", None, "azzz"),
        chat("New name", None, "abcdef"),
        chat("x", Some("Old name"), "abcd"),
    ]);
    assert_eq!(parent(&found[2]), Some(1));
}

#[test]
fn children_of_a_lost_parent_are_siblings() {
    let found = traced(&[chat("one", Some("Lost"), "abc"), chat("Lost - Branch #1", Some("Lost"), "abcde")]);
    for lineage in &found {
        assert_eq!(lineage.parent, None);
        assert_eq!(lineage.note, Some(ParentNote::Missing("Lost".into())));
    }
    assert_eq!((found[0].kind, found[0].fork_message), (Kind::Checkpoint, Some(2)));
    assert_eq!((found[1].kind, found[1].fork_message), (Kind::Branch, Some(2)));
}

#[test]
fn a_lost_branch_is_not_mistaken_for_the_chat_it_came_from() {
    let found = traced(&[chat("M", None, "abcdef"), chat("x", Some("M - Branch #1"), "abcxyz")]);
    assert_eq!(parent(&found[1]), None);
    assert_eq!(found[1].note, Some(ParentNote::Missing("M - Branch #1".into())));
}

#[test]
fn siblings_that_know_more_of_a_lost_parent_rule_out_a_wrong_one() {
    let found = traced(&[
        chat("Other", None, "abqqq"),
        chat("x", Some("Lost"), "abcdx"),
        chat("y", Some("Lost"), "abcdy"),
    ]);
    assert_eq!((parent(&found[1]), parent(&found[2])), (None, None));
}

#[test]
fn a_former_name_in_the_metadata_decides() {
    let mut renamed = chat("The Road", Some("M"), "abxyzw");
    renamed.aliases = vec!["z-AutoLB-Ana-M - Branch #1"];
    let found = traced(&[chat("M", None, "abcdef"), renamed, chat("x", Some("M - Branch #1"), "abxy")]);
    assert_eq!(brief(&found[1]), (Kind::Branch, Some(0), Some(1), Basis::MainChat));
    assert_eq!((parent(&found[2]), found[2].fork_message), (Some(1), Some(3)));
}

#[test]
fn a_branch_from_another_swipe() {
    let mut main = chat("M", None, "abcdef");
    let fork = chat("M - Branch #1", Some("M"), "abcX");
    main.swipes = vec![(3, "dX")];
    let found = traced(&[main, fork]);
    assert_eq!(brief(&found[1]), (Kind::Branch, Some(0), Some(3), Basis::MainChat));
}

#[test]
fn a_parent_edited_after_the_fork() {
    // Message 1 was edited since: everything after it has other moments, but the messages themselves are the same.
    let found = traced(&[chat("M", None, "aBcdef"), chat("M - Branch #1", Some("M"), "abcdxy")]);
    assert_eq!((parent(&found[1]), found[1].fork_message), (Some(0), Some(3)));
    assert_eq!(found[1].confidence, Confidence::Likely);
}

/// The fork message was one too low: swipes were compared by their moments, which an edit further up changes.
#[test]
fn regression_a_branch_from_another_swipe_of_a_parent_edited_since() {
    for branch in ["abcX", "abcXyz"] {
        let mut main = chat("M", None, "aBcdef");
        main.swipes = vec![(3, "dX")];
        let found = traced(&[main, chat("M - Branch #1", Some("M"), branch)]);
        assert_eq!((parent(&found[1]), found[1].fork_message), (Some(0), Some(3)), "{branch}");
        assert_eq!(found[1].confidence, Confidence::Likely);
    }
}

#[test]
fn an_import_is_a_copy_of_the_original() {
    let mut main = chat("M", None, "abcdef");
    let mut import = chat("M imported", None, "abcdef");
    (main.slug, import.slug) = (Some("s"), Some("s"));
    let found = traced(&[import, main]);
    assert_eq!(brief(&found[0]), (Kind::Copy, Some(1), None, Basis::Moments));
    assert_eq!(found[1].kind, Kind::Main);
}

#[test]
fn forks_of_old_versions_have_their_parents_slug() {
    let mut main = chat("M", None, "abcdef");
    let mut fork = chat("M - Branch #1", Some("M"), "abcx");
    (main.slug, fork.slug) = (Some("s"), Some("s"));
    let found = traced(&[main, fork]);
    assert_eq!(found.iter().map(|l| l.kind).collect::<Vec<_>>(), [Kind::Main, Kind::Branch]);
}

#[test]
fn links_tell_a_checkpoint_from_a_branch() {
    let mut main = chat("M", None, "abcdef");
    main.links = vec![(Link::Bookmark, "saved".into()), (Link::Branch, "played".into())];
    let found = traced(&[
        main,
        chat("saved", Some("M"), "abcxyz"),
        chat("played", Some("M"), "abc"),
        chat("x", Some("M"), "abc"),
    ]);
    let kinds: Vec<Kind> = found[1..].iter().map(|l| l.kind).collect();
    assert_eq!(kinds, [Kind::Checkpoint, Kind::Branch, Kind::Checkpoint]);
}

#[test]
fn regression_a_checkpoint_named_like_a_lost_parent() {
    // A was deleted; its branch B made a checkpoint that was called A.
    let found = traced(&[chat("A", Some("B"), "abcd"), chat("B", Some("A"), "abcdef")]);
    assert_eq!((parent(&found[0]), found[0].fork_message), (Some(1), Some(3)));
    assert_eq!((parent(&found[1]), &found[1].note), (None, &Some(ParentNote::Missing("A".into()))));
}

#[test]
fn regression_a_deleted_chat_between_is_not_taken_for_a_rename() {
    let mut main = chat("Main", None, "abcdef");
    main.links = vec![(Link::Bookmark, "Kid".into())];
    let found = traced(&[main, chat("Grandkid", Some("Kid"), "abcdx")]);
    assert_eq!((parent(&found[1]), &found[1].note), (None, &Some(ParentNote::Missing("Kid".into()))));
}

#[test]
fn regression_a_renamed_parent_whose_start_was_edited() {
    for edited in ["aBcdef", "Abcdef"] {
        let found = traced(&[chat("New", None, edited), chat("x", Some("Old"), "abcd")]);
        assert_eq!((parent(&found[1]), found[1].fork_message), (Some(0), Some(3)), "{edited}");
    }
}

#[test]
fn regression_a_copy_of_a_branch_is_a_copy() {
    let (mut main, mut branch, mut copy) = (
        chat("M", None, "abcdef"),
        chat("M - Branch #1", Some("M"), "abcxyz"),
        chat("copy", Some("M"), "abcxyz"),
    );
    (main.slug, branch.slug, copy.slug) = (Some("m"), Some("b"), Some("b"));
    let found = traced(&[main, branch, copy]);
    assert_eq!(found.iter().map(|l| l.kind).collect::<Vec<_>>(), [Kind::Main, Kind::Branch, Kind::Copy]);
}

#[test]
fn a_ring_of_names_does_no_harm() {
    let found =
        traced(&[chat("A", Some("B"), "abc"), chat("B", Some("A"), "abd"), chat("C", Some("C"), "qrs")]);
    assert_eq!(found.len(), 3);
}

#[test]
fn forks_of_one_sibling_are_not_the_lost_parent_of_another() {
    let found = traced(&[
        chat("one", Some("lost"), "abcdefg"),
        chat("two", Some("lost"), "abcde"),
        chat("one, again", Some("one"), "abcdefg"),
        chat("one, once more", Some("one, again"), "abcdefgh"),
        chat("two, again", Some("two"), "abcde"),
    ]);
    let parents: Vec<Option<usize>> = found.iter().map(parent).collect();
    assert_eq!(parents, [None, None, Some(0), Some(2), Some(1)]);
    assert_eq!(found[1].note, Some(ParentNote::Missing("lost".into())));
}

/// Forks made before SillyTavern 1.19 have their parent's slug: where such a fork was longer, its parent was taken for a copy of it.
#[test]
fn regression_a_fork_with_its_parents_slug_is_never_its_original() {
    for (parent, fork) in [("abcde", "abcxyzuvw"), ("abc", "abcxyzuvw"), ("abcdefghij", "abcxyz")] {
        for slug in [Some("s"), None] {
            for name in ["Branch #2 - 2025-05-20@18h40m51s", "my name for it", "M - Branch #1"] {
                let mut main = chat("Ann - 2025-5-17", None, parent);
                let mut branch = chat(name, Some("Ann - 2025-5-17"), fork);
                (main.slug, branch.slug) = (slug, slug);
                let found = traced(&[branch, main]);
                assert_eq!(brief(&found[1]), (Kind::Main, None, None, Basis::None), "{parent} {fork} {name}");
                assert_eq!(brief(&found[0]), (Kind::Branch, Some(1), Some(2), Basis::MainChat));
                assert_eq!(found[0].note, None);
            }
        }
    }
}

#[test]
fn a_renamed_parent_is_known_by_the_slug_that_old_forks_kept() {
    // Two chats share as much with the fork; one of them has its slug.
    let mut other = chat("Other", None, "abcdq");
    let mut main = chat("New name", None, "abcdz");
    let mut fork = chat("x", Some("Old name"), "abcdX");
    (other.slug, main.slug, fork.slug) = (Some("o"), Some("s"), Some("s"));
    let found = traced(&[other, fork, main]);
    assert_eq!((parent(&found[1]), found[1].fork_message), (Some(2), Some(3)));
    assert_eq!(found[1].note, Some(ParentNote::Renamed("Old name".into())));
}

#[test]
fn names_that_one_file_system_takes_for_one_are_one() {
    for claimed in ["anné", "ANNE\u{301}", "Anné.jsonl"] {
        let found = traced(&[chat("Anné", None, "abcdef"), chat("Anné - Branch #1", Some(claimed), "abcxy")]);
        assert_eq!(brief(&found[1]), (Kind::Branch, Some(0), Some(2), Basis::MainChat), "{claimed}");
        assert_eq!(found[1].note, None);
    }
}

#[test]
fn the_same_words_again_after_the_fork_are_a_coincidence() {
    let undated = |texts: &str| {
        let line = |(i, c): (usize, char)| format!(r#"{{"is_user":{},"mes":"{c}"}}"#, i % 2 == 1);
        let lines: Vec<String> = texts.chars().enumerate().map(line).collect();
        transcript(lines.iter().map(String::as_str))
    };
    let (mut main, mut fork) = (chat("M", None, ""), chat("M - Branch #1", Some("M"), ""));
    (main.transcript, fork.transcript) = (undated("abcdefgyhij"), undated("abcqrstyuv"));
    (main.undated, fork.undated) = (true, true);
    assert_eq!(traced(&[main, fork])[1].fork_message, Some(2));
}

#[test]
fn a_renamed_parent_that_lost_an_early_message_is_found() {
    let told = |texts: &str| {
        let line = |c: char| format!(r#"{{"is_user":{},"mes":"{c}","send_date":"{c}"}}"#, c as u32 % 2 == 1);
        let lines: Vec<String> = texts.chars().map(line).collect();
        transcript(lines.iter().map(String::as_str))
    };
    let (mut main, mut fork) = (chat("New", None, ""), chat("x", Some("Old"), ""));
    (main.transcript, fork.transcript) = (told("acdefgh"), told("abcdexy"));
    let found = traced(&[main, fork]);
    assert_eq!((parent(&found[1]), found[1].fork_message), (Some(0), Some(4)));
}

/// People branch because of a message, and edit that very one: in the branch, or above.
#[test]
fn regression_the_message_of_a_fork_is_edited() {
    let played = |texts: &str, own: &str| {
        let line = |(i, c): (usize, char)| {
            // Up to the fork messages have one time in both chats.
            let time = if i < 4 {
                format!("2026-01-01T00:0{i}:00.{i}17Z")
            } else {
                format!("2026-01-01T{own}:0{i}:00.017Z")
            };
            format!(r#"{{"is_user":{},"mes":"{c}","send_date":"{time}"}}"#, i % 2 == 1)
        };
        let lines: Vec<String> = texts.chars().enumerate().map(line).collect();
        transcript(lines.iter().map(String::as_str))
    };
    for (main, fork) in [("abcDef", "abcdxy"), ("abcdef", "abcDxy"), ("abcdef", "abcD")] {
        let mut cases = [chat("M", None, ""), chat("x", Some("M"), "")];
        (cases[0].transcript, cases[1].transcript) = (played(main, "01"), played(fork, "02"));
        let found = traced(&cases);
        assert_eq!((parent(&found[1]), found[1].fork_message), (Some(0), Some(3)), "{main} {fork}");
    }
}

/// Its parent is gone. What that one had from above is still known, and the chat that has it.
#[test]
fn regression_beyond_a_lost_parent_is_whoever_that_came_from() {
    let found = traced(&[
        chat("M", None, "abcdef"),
        chat("M - Branch #2", Some("M"), "abcdxy"),
        chat("x", Some("M - Branch #1"), "abcdqrs"),
    ]);
    assert_eq!(
        (parent(&found[2]), &found[2].note),
        (None, &Some(ParentNote::Missing("M - Branch #1".into())))
    );
    assert_eq!(found[2].beyond, Some(Beyond { chat: ChatIx::all(1).next().unwrap(), message: 3 }));
    assert_eq!(found[1].beyond, None);
}

/// SillyTavern gave it that name, and it still has it: it was never called otherwise.
#[test]
fn regression_a_branch_that_was_never_renamed_is_no_lost_parent() {
    let found = traced(&[
        chat("M", None, "abcdef"),
        chat("M - Branch #3", Some("M"), "abcdxyz"),
        chat("M - Branch #2", Some("M - Branch #1"), "abcdxq"),
    ]);
    assert_eq!(
        (parent(&found[2]), &found[2].note),
        (None, &Some(ParentNote::Missing("M - Branch #1".into())))
    );
}
