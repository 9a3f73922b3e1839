//! What chats that are gone had done: deleting one changes no other.

use std::collections::BTreeMap;

use forklore_testkit::TestVault;
use forklore_vault::history::Watch;
use forklore_vault::{Library, NoProgress};
use serde_json::{Value, json};

use super::{BOOK, DAY, Scene, at, book, chat, entry, fs, registry};
use crate::path;

/// Forklore looks at a vault, after so many hours.
fn look(vault: &TestVault, hour: i64) {
    Watch::open(fs(vault)).unwrap().sweep(DAY + hour * 3_600_000, &NoProgress).unwrap();
}

fn write_book(vault: &TestVault, entries: &[&Value]) {
    let entries: Vec<Value> = entries.iter().copied().cloned().chain([registry()]).collect();
    vault.write(&format!("worlds/{BOOK}.json"), &book(&entries));
}

fn header(slug: &str, parent: Option<&str>) -> Value {
    match parent {
        Some(parent) => json!({"integrity": slug, "main_chat": parent, "world_info": BOOK}),
        None => json!({"integrity": slug, "world_info": BOOK}),
    }
}

fn main_chat(vault: &TestVault, messages: usize) {
    chat(vault, "Main", &header("m", None), (usize::MAX, messages), &[]);
}

fn delete(vault: &TestVault, name: &str) {
    fs(vault).unlink(&path(&format!("chats/Ana/{name}.jsonl"))).unwrap();
}

type State = BTreeMap<String, bool>;

/// The states of a chat but the last one: who has a lorebook alone has then what is in it.
fn states(vault: &TestVault, chat: &str, messages: usize) -> Vec<State> {
    (0..messages - 1).map(|message| at(vault, chat, message)).collect()
}

fn told(titles: &[(&str, bool)]) -> State {
    titles.iter().map(|(title, undated)| ((*title).to_owned(), *undated)).collect()
}

/// A day's work in one look: the chat went on, a hand wrote, a branch was made and played. Nobody knows in which of the two the hand was; and
/// nobody knows more of it when the branch was deleted.
#[test]
fn regression_what_may_be_ours_is_not_lost_with_another_chat() {
    let (mara, fern) = (entry(2, "Mara"), entry(3, "Fern"));
    let vault = TestVault::new();
    main_chat(&vault, 6);
    write_book(&vault, &[&mara]);
    look(&vault, 1);
    main_chat(&vault, 12);
    chat(&vault, "Night", &header("n", Some("Main")), (4, 9), &[]);
    write_book(&vault, &[&mara, &fern]);
    look(&vault, 2);
    main_chat(&vault, 16);
    look(&vault, 3);
    let before = states(&vault, "Main", 16);
    assert_eq!(before[14], told(&[("Fern", true), ("Mara", false)]));
    delete(&vault, "Night");
    assert_eq!(states(&vault, "Main", 16), before);
    look(&vault, 4);
    assert_eq!(states(&vault, "Main", 16), before);
}

/// Who makes a checkpoint stays where he is, also if he deletes it later.
#[test]
fn regression_nobody_was_in_a_checkpoint_that_is_gone() {
    let (mara, fern) = (entry(2, "Mara"), entry(3, "Fern"));
    let vault = TestVault::new();
    main_chat(&vault, 6);
    write_book(&vault, &[&mara]);
    look(&vault, 1);
    chat(&vault, "Main - Checkpoint #1", &header("c", Some("Main")), (usize::MAX, 6), &[]);
    look(&vault, 2);
    write_book(&vault, &[&mara, &fern]);
    look(&vault, 3);
    main_chat(&vault, 10);
    look(&vault, 4);
    let before = states(&vault, "Main", 10);
    assert_eq!(before[8], told(&[("Fern", false), ("Mara", false)]));
    delete(&vault, "Main - Checkpoint #1");
    look(&vault, 5);
    assert_eq!(states(&vault, "Main", 10), before);
}

/// A chat that was given another name and deleted then: what was done in it is still of those who came from it under its first name.
#[test]
fn regression_who_came_from_a_chat_came_from_it_whatever_it_was_called_later() {
    let (mara, fern) = (entry(2, "Mara"), entry(3, "Fern"));
    let vault = TestVault::new();
    main_chat(&vault, 3);
    write_book(&vault, &[&mara]);
    look(&vault, 1);
    main_chat(&vault, 5);
    write_book(&vault, &[&mara, &fern]);
    look(&vault, 2);
    main_chat(&vault, 8);
    look(&vault, 3);
    chat(&vault, "Night", &header("n", Some("Main")), (7, 12), &[]);
    look(&vault, 4);
    let before = states(&vault, "Night", 12);
    assert_eq!(before[10], told(&[("Fern", false), ("Mara", false)]));
    chat(&vault, "Story", &header("m", None), (usize::MAX, 8), &[]);
    delete(&vault, "Main");
    look(&vault, 5);
    assert_eq!(states(&vault, "Night", 12), before);
    delete(&vault, "Story");
    look(&vault, 6);
    assert_eq!(states(&vault, "Night", 12), before);
}

/// A branch merges a scene into the lorebook that it shares, and is deleted: what the scene made is not the chat's that is left.
#[test]
fn regression_a_scene_of_a_chat_that_is_gone_is_nobodys() {
    let [mara, orrin] =
        [(2, "Mara"), (3, "Orrin")].map(|(uid, name)| entry(uid, &format!("character-{name}")));
    let (first, second) = ([mara.clone()], [mara.clone(), orrin.clone()]);
    let vault = TestVault::new();
    let begun = || Scene { message: 4, time: 300, made: &[2], tells: &["Mara"], seen: &first };
    chat(&vault, "Main", &header("m", None), (usize::MAX, 9), &[begun()]);
    let there = Scene { message: 8, time: 540, made: &[3], tells: &["Orrin"], seen: &second };
    let mut night = header("n", Some("Main"));
    // The extension wipes it when SillyTavern gives the chat another name.
    night["auto_recap_running_scene_recaps"] = json!({"current_version": 0, "versions": []});
    chat(&vault, "Night", &night, (6, 12), &[begun(), there]);
    write_book(&vault, &[&mara, &orrin]);
    look(&vault, 1);
    chat(&vault, "Main", &header("m", None), (usize::MAX, 20), &[begun()]);
    look(&vault, 2);
    let before = states(&vault, "Main", 20);
    assert_eq!(before[18], told(&[("character-Mara", false)]));
    delete(&vault, "Night");
    look(&vault, 3);
    assert_eq!(states(&vault, "Main", 20), before);
}

/// SillyTavern gives the name of a branch that was deleted to the next one, which is longer: nothing of the first one is the second one's, nor the
/// chat's that both were forked from.
#[test]
fn regression_a_longer_chat_of_the_same_name_is_another_one() {
    let (mara, fern) = (entry(2, "Mara"), entry(3, "Fern"));
    let vault = TestVault::new();
    main_chat(&vault, 6);
    write_book(&vault, &[&mara]);
    look(&vault, 1);
    chat(&vault, "Main - Branch #1", &header("one", Some("Main")), (4, 8), &[]);
    look(&vault, 2);
    write_book(&vault, &[&mara, &fern]);
    look(&vault, 3);
    let before = states(&vault, "Main", 6);
    let line = vault.read("chats/Ana/Main - Branch #1.jsonl");
    delete(&vault, "Main - Branch #1");
    // Other words, and more of them.
    let text = String::from_utf8(line)
        .unwrap()
        .replace("\"one\"", "\"two\"")
        .replace("Branch #1, message", "another night");
    let more = json!({"name": "Ana", "is_user": false, "send_date": "2026-01-01T00:30:00.000Z", "mes": "On.", "extra": {}});
    vault.write("chats/Ana/Main - Branch #1.jsonl", format!("{text}\n{more}").as_bytes());
    look(&vault, 4);
    assert_eq!(states(&vault, "Main", 6), before);
    let after = states(&vault, "Main - Branch #1", 9);
    assert!(after.iter().all(|state| state.get("Fern") != Some(&false)), "{after:?}");
}

/// A branch of a branch, and both chats above it are deleted, one after the other: what was made up there is still of that time.
#[test]
fn regression_a_line_of_chats_that_are_gone_is_a_line() {
    let (mara, fern, oath) = (entry(2, "Mara"), entry(3, "Fern"), entry(4, "Oath"));
    let vault = TestVault::new();
    main_chat(&vault, 3);
    write_book(&vault, &[&mara]);
    look(&vault, 1);
    main_chat(&vault, 5);
    write_book(&vault, &[&mara, &fern]);
    look(&vault, 2);
    chat(&vault, "Night", &header("n", Some("Main")), (5, 7), &[]);
    look(&vault, 3);
    chat(&vault, "Night", &header("n", Some("Main")), (5, 9), &[]);
    write_book(&vault, &[&mara, &fern, &oath]);
    look(&vault, 4);
    let text = String::from_utf8(vault.read("chats/Ana/Night.jsonl")).unwrap();
    let morning =
        text.replace(r#""integrity":"n","main_chat":"Main""#, r#""integrity":"d","main_chat":"Night""#);
    assert_ne!(morning, text);
    let more = json!({"name": "Ana", "is_user": false, "send_date": "2026-01-01T00:30:00.000Z", "mes": "On.", "extra": {}});
    vault.write("chats/Ana/Morning.jsonl", format!("{morning}\n{more}").as_bytes());
    look(&vault, 5);
    let before = states(&vault, "Morning", 10);
    assert_eq!(before[1], told(&[("Mara", true)]));
    // The hand may have come at that message, when the look had been.
    assert_eq!(before[2], told(&[("Fern", true), ("Mara", false)]));
    assert_eq!(before[5], told(&[("Fern", false), ("Mara", false)]));
    assert_eq!(before[8], told(&[("Fern", false), ("Mara", false), ("Oath", false)]));
    delete(&vault, "Main");
    look(&vault, 6);
    assert_eq!(states(&vault, "Morning", 10), before);
    delete(&vault, "Night");
    assert_eq!(states(&vault, "Morning", 10), before);
    look(&vault, 7);
    assert_eq!(states(&vault, "Morning", 10), before);
}

/// The chat above is deleted, and somebody writes into the lorebook that two branches share, nobody knows in which of them: not in the one that is gone.
#[test]
fn regression_who_is_gone_wrote_nothing_afterwards() {
    let (mara, fern) = (entry(2, "Mara"), entry(3, "Fern"));
    let vault = TestVault::new();
    main_chat(&vault, 6);
    write_book(&vault, &[&mara]);
    look(&vault, 1);
    let branches = |messages: usize| {
        chat(&vault, "Night", &header("n", Some("Main")), (4, messages), &[]);
        chat(&vault, "Day", &header("d", Some("Main")), (4, messages), &[]);
    };
    branches(9);
    look(&vault, 2);
    delete(&vault, "Main");
    look(&vault, 3);
    write_book(&vault, &[&mara, &fern]);
    look(&vault, 4);
    branches(14);
    look(&vault, 5);
    let has = |chat: &str| states(&vault, chat, 14)[12].contains_key("Fern");
    assert!(has("Night") || has("Day"));
}

/// A chat and its lorebook are deleted, and another chat gets a lorebook of that name: who is gone had another one.
#[test]
fn regression_who_is_gone_had_an_earlier_lorebook_of_the_name() {
    let mara = entry(2, "Mara");
    let vault = TestVault::new();
    chat(&vault, "Other", &json!({"integrity": "o"}), (0, 4), &[]);
    main_chat(&vault, 6);
    write_book(&vault, &[&mara]);
    look(&vault, 1);
    delete(&vault, "Main");
    fs(&vault).unlink(&path(&format!("worlds/{BOOK}.json"))).unwrap();
    look(&vault, 2);
    chat(&vault, "Day", &header("d", None), (0, 6), &[]);
    write_book(&vault, &[&mara]);
    look(&vault, 3);
    chat(&vault, "Day", &header("d", None), (0, 9), &[]);
    look(&vault, 4);
    let states = states(&vault, "Day", 9);
    assert!(states.iter().all(|state| state.contains_key("Mara")), "{states:?}");
}

/// What the header of a chat said that is gone is what it said for those who came from it.
#[test]
fn regression_the_note_of_a_chat_that_is_gone_is_known() {
    let vault = TestVault::new();
    let main = |note: &str, messages: usize| {
        let header = json!({"integrity": "m", "world_info": BOOK, "note_prompt": note});
        chat(&vault, "Main", &header, (usize::MAX, messages), &[]);
    };
    write_book(&vault, &[]);
    main("Rain.", 3);
    look(&vault, 1);
    main("Fog.", 6);
    look(&vault, 2);
    let night = json!({"integrity": "n", "main_chat": "Main", "world_info": BOOK, "note_prompt": "Sun."});
    chat(&vault, "Night", &night, (6, 9), &[]);
    look(&vault, 3);
    let note = |at: usize| {
        let library = Library::load(fs(&vault), &NoProgress).unwrap();
        let night = library.find_chat("Night").unwrap();
        let found = library.metadata_at(night, at).unwrap();
        found.get("note_prompt").and_then(|note| note.as_text().map(std::borrow::Cow::into_owned))
    };
    let before: Vec<Option<String>> = (0..9).map(note).collect();
    assert_eq!(before[2].as_deref(), Some("Rain."));
    assert_eq!(before[5].as_deref(), Some("Fog."));
    delete(&vault, "Main");
    look(&vault, 4);
    assert_eq!((0..9).map(note).collect::<Vec<_>>(), before);
}

/// A branch is deleted that another one was forked from, and SillyTavern gives its name to the next one.
#[test]
fn regression_a_fork_of_a_branch_is_none_of_the_next_one_of_its_name() {
    let (mara, fern) = (entry(2, "Mara"), entry(3, "Fern"));
    let vault = TestVault::new();
    main_chat(&vault, 5);
    write_book(&vault, &[&mara]);
    look(&vault, 1);
    chat(&vault, "Branch #1", &header("one", Some("Main")), (4, 7), &[]);
    look(&vault, 2);
    chat(&vault, "Branch #1", &header("one", Some("Main")), (4, 9), &[]);
    write_book(&vault, &[&mara, &fern]);
    look(&vault, 3);
    let line = String::from_utf8(vault.read("chats/Ana/Branch #1.jsonl")).unwrap();
    let fork =
        line.replace(r#""integrity":"one","main_chat":"Main""#, r#""integrity":"f","main_chat":"Branch #1""#);
    assert_ne!(fork, line);
    let more = json!({"name": "Ana", "is_user": false, "send_date": "2026-01-01T00:30:00.000Z", "mes": "On.", "extra": {}});
    vault.write("chats/Ana/Fork.jsonl", format!("{fork}\n{more}").as_bytes());
    look(&vault, 4);
    let before = states(&vault, "Fork", 10);
    assert_eq!((before[5].get("Fern"), before[8].get("Fern")), (None, Some(&false)));
    delete(&vault, "Branch #1");
    look(&vault, 5);
    assert_eq!(states(&vault, "Fork", 10), before);
    let next = json!({"integrity": "two", "main_chat": "Main", "world_info": "Another"});
    let line = line.replace("Branch #1, message", "Another night,").replace(BOOK, "Another");
    vault.write(
        "chats/Ana/Branch #1.jsonl",
        line.replace(r#""integrity":"one""#, &format!(r#""integrity":{}"#, next["integrity"])).as_bytes(),
    );
    look(&vault, 6);
    assert_eq!(states(&vault, "Fork", 10), before);
}
