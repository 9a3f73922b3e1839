//! Healing: the vault that the real software made, with forks of every usual kind, and small vaults for every choice.

use std::collections::{BTreeMap, BTreeSet};

use forklore_testkit::TestVault;
use forklore_testkit::story::Story;
use serde_json::{Value, json};

use crate::FORKLORE;
use crate::harbor::{Entries, address, expected, listed_entries, sha256, text};

fn file_of(address: &str) -> String {
    match address.strip_prefix("group:") {
        Some(rest) => format!("group chats/{}.jsonl", rest.split_once('/').unwrap().1),
        None => format!("chats/{address}.jsonl"),
    }
}

fn metadata(vault: &TestVault, address: &str) -> Value {
    let bytes = vault.read(&file_of(address));
    let line = bytes.split(|b| *b == b'\n').next().unwrap();
    serde_json::from_slice::<Value>(line).unwrap()["chat_metadata"].clone()
}

fn book_entries(vault: &TestVault, name: &str) -> Vec<Value> {
    let book: Value = serde_json::from_slice(&vault.read(&format!("worlds/{name}.json"))).unwrap();
    book["entries"].as_object().unwrap().values().cloned().collect()
}

/// What a book says, the queue left out.
fn said(vault: &TestVault, name: &str, with_registries: bool) -> Entries {
    let entries = book_entries(vault, name).into_iter();
    let wanted = entries.filter(|e| text(e, "comment") != "__operation_queue");
    let wanted = wanted.filter(|e| with_registries || !text(e, "comment").starts_with("_registry_"));
    wanted.map(|e| (text(&e, "comment").to_owned(), sha256(text(&e, "content")))).collect()
}

#[test]
fn every_chat_of_harbor_gets_what_its_own_line_earned_and_no_more() {
    let vault = TestVault::harbor();
    let before = vault.snapshot();
    let healed = vault.json(FORKLORE, &["heal", "--choose", "rebuild"]);
    assert!(healed["operation"].is_string());
    assert!(healed["left"].as_array().unwrap().iter().all(|f| f["severity"] != "error"), "{healed:#}");

    let expected = expected();
    let mut last: BTreeMap<String, &Value> = BTreeMap::new();
    for point in expected["points"].as_array().unwrap() {
        let seen = last.entry(address(text(point, "chat"))).or_insert(point);
        if point["message"].as_u64() > seen["message"].as_u64() {
            *seen = point;
        }
    }
    let mut forks = 0;
    for truth in expected["chats"].as_array().unwrap() {
        let chat = address(text(truth, "file"));
        let Some(point) = last.get(&chat) else { continue };
        let metadata = metadata(&vault, &chat);
        let book = text(&metadata, "world_info");
        let (got, wanted) = if point["lineage_pure"].is_object() {
            (said(&vault, book, false), listed_entries(&point["lineage_pure"]["entries"]))
        } else if point["basis_scene"].is_null() {
            (said(&vault, book, false), Entries::new())
        } else {
            (said(&vault, book, true), listed_entries(&point["entries"]))
        };
        assert_eq!(got, wanted, "{chat}");
        let right = &truth["running"]["expected_at_end"];
        if truth["running"]["versions"].as_array().is_some_and(|v| !v.is_empty()) && right.is_object() {
            let running = &metadata["auto_recap_running_scene_recaps"];
            assert_eq!(running["current_version"], right["version"], "{chat}");
            assert_eq!(text(running, "chat_id"), chat.rsplit_once('/').unwrap().1, "{chat}");
        }
        if truth["kind"] != "root" {
            forks += 1;
            assert_eq!(metadata["forklore"]["owner"]["slug"], metadata["integrity"], "{chat}");
            let said = &metadata["auto_lorebooks"]["lorebookName"];
            assert!(said.is_null() || *said == metadata["world_info"], "{chat}");
        }
    }
    assert!(forks >= 14, "{forks}");

    // No two chats share a book, and the books that nothing needs are gone from sight.
    let mut books = BTreeSet::new();
    for truth in expected["chats"].as_array().unwrap() {
        if let Some(book) = metadata(&vault, &address(text(truth, "file")))["world_info"].as_str() {
            assert!(books.insert(book.to_owned()), "two chats use {book}");
        }
    }
    let check = vault.json(FORKLORE, &["check"]);
    assert_eq!(check["ok"], true);
    assert!(!check.to_string().contains("BOOK_ORPHANED"));

    // A second run has nothing to do; undoing the first brings every byte back.
    let again = vault.json(FORKLORE, &["heal", "--choose", "rebuild"]);
    assert_eq!(again["actions"], json!([]), "{again:#}");
    let log = vault.json(FORKLORE, &["check"]);
    assert_eq!(log["ok"], true);
    let undone = vault.run(FORKLORE, &["undo"]);
    assert_eq!(undone.code, Some(0), "{undone}");
    assert!(vault.snapshot() == before, "undo left something changed");
}

/// Changing what a chat uses that was made for it is asked about; nobody is there to answer.
#[test]
fn the_book_that_was_made_for_a_chat_is_not_left_unasked() {
    let vault = TestVault::harbor();
    let main = "Maren Voss/Maren Voss - 2026-11-15@00h59m16s354ms";
    let book = metadata(&vault, main)["world_info"].clone();
    let bytes = vault.read(&format!("worlds/{}.json", book.as_str().unwrap()));
    let healed = vault.json(FORKLORE, &["heal"]);
    assert_eq!(metadata(&vault, main)["world_info"], book);
    assert!(vault.read(&format!("worlds/{}.json", book.as_str().unwrap())) == bytes);
    let left = healed["left"].as_array().unwrap();
    assert!(left.iter().any(|f| f["code"] == "ENTRY_FOREIGN" && f["chat"] == main), "{left:#?}");
    // With a word, it is.
    let healed = vault.json(FORKLORE, &["heal", "--yes"]);
    assert!(healed["left"].as_array().unwrap().iter().all(|f| f["severity"] != "error"));
    assert_ne!(metadata(&vault, main)["world_info"], book);
}

/// A main chat with an Auto-Recap book and one fork, made by SillyTavern, whose book is gone.
fn with_missing_book() -> TestVault {
    let registry = ("_registry_character", "[Registry: character]");
    TestVault::new()
        .chat("Ana", "main", &json!({"integrity": "a", "world_info": "B"}), &["hello", "one", "two", "three"])
        .chat(
            "Ana",
            "main - Branch #1",
            &json!({"integrity": "b", "world_info": "gone", "main_chat": "main"}),
            &["hello", "one", "two", "else"],
        )
        .book("B", &[registry, ("character-Ana", "A girl")])
}

#[test]
fn regression_a_renamed_lorebook_is_found_again_and_nobody_elses_is_taken() {
    let chat = "Ana/main";
    let vault = TestVault::new()
        .chat("Ana", "main", &json!({"integrity": "a", "world_info": "B"}), &["hello", "one"])
        .chat("Ben", "main", &json!({"integrity": "b", "world_info": "Copy of B"}), &["hi", "two"])
        .book("B", &[("Town", "By the sea"), ("River", "Cold")]);
    vault.json(FORKLORE, &["watch", "--once"]);
    // As SillyTavern renames: saved anew, the old one deleted, and only the open chat follows.
    let book = vault.read("worlds/B.json");
    vault.write("worlds/Copy of B.json", &book);
    std::fs::remove_file(vault.root().join("worlds/B.json")).unwrap();
    vault.json(FORKLORE, &["watch", "--once"]);
    let planned = vault.json(FORKLORE, &["heal", chat, "--dry-run", "--choose", "follow"]);
    assert_eq!(planned["actions"], json!([]), "that one is Ben's: {planned:#}");
    vault.write("worlds/Towns and rivers.json", &book);
    vault.json(FORKLORE, &["watch", "--once"]);
    let before = vault.snapshot();
    let healed = vault.json(FORKLORE, &["heal", chat]);
    assert_eq!(healed["actions"][0]["did"], "bound to its lorebook under the new name", "{healed:#}");
    assert_eq!(text(&metadata(&vault, chat), "world_info"), "Towns and rivers");
    assert_eq!(vault.json(FORKLORE, &["check", chat])["ok"], true);
    assert_eq!(vault.run(FORKLORE, &["undo"]).code, Some(0));
    assert!(vault.snapshot() == before, "undo left something changed");
}

#[test]
fn regression_a_chat_that_shares_the_memory_of_another_story_gets_its_own_copy_when_asked() {
    let (chat, other) = ("Ben/main", "Ana/main");
    let registry = ("_registry_character", "[Registry: character]");
    let vault = TestVault::new()
        .chat("Ana", "main", &json!({"integrity": "a", "world_info": "B"}), &["hello", "one"])
        .chat("Ben", "main", &json!({"integrity": "b", "world_info": "B"}), &["hi", "two"])
        .book("B", &[registry, ("character-Ana", "A girl")]);
    let shared = |chat: &str| {
        let findings = vault.json(FORKLORE, &["check", chat])["findings"].clone();
        findings.as_array().unwrap().iter().any(|finding| finding["code"] == "BOOK_SHARED")
    };
    assert!(shared(chat));
    assert!(vault.json(FORKLORE, &["heal", chat])["operation"].is_null(), "nobody asked for it");
    let healed = vault.json(FORKLORE, &["heal", chat, "--choose", "copy"]);
    assert_eq!(healed["actions"][0]["did"], "a copy of its lorebook, for this chat alone: 2 entries");
    assert_ne!(text(&metadata(&vault, chat), "world_info"), "B");
    assert_eq!(text(&metadata(&vault, other), "world_info"), "B");
    assert!(!shared(chat) && !shared(other));
}

#[test]
fn each_choice_for_a_missing_book_works_and_can_be_undone() {
    let fork = "Ana/main - Branch #1";
    for (choice, book, entries) in
        [("empty", true, 0), ("copy", true, 2), ("detach", false, 0), ("accept", true, 0)]
    {
        let vault = with_missing_book();
        let before = vault.snapshot();
        let healed = vault.json(FORKLORE, &["heal", fork, "--choose", choice]);
        assert!(healed["operation"].is_string(), "{choice}: {healed:#}");
        let metadata = metadata(&vault, fork);
        assert_eq!(metadata["world_info"].is_string(), book, "{choice}");
        let check = vault.json(FORKLORE, &["check", fork]);
        assert_eq!(check["ok"], true, "{choice}: {check:#}");
        if choice == "accept" {
            assert_eq!(text(&metadata, "world_info"), "gone");
        } else if let Some(name) = metadata["world_info"].as_str() {
            assert_ne!(name, "gone", "an open page may still write the missing book");
            assert_eq!(book_entries(&vault, name).len(), entries, "{choice}");
            assert_ne!(text(&metadata, "integrity"), "b", "a stale tab could undo it silently");
        }
        assert_eq!(vault.run(FORKLORE, &["undo"]).code, Some(0), "{choice}");
        assert!(vault.snapshot() == before, "{choice}: undo left something changed");
    }
}

#[test]
fn a_missing_book_that_nothing_tells_of_is_not_made_up() {
    let vault = with_missing_book();
    let fork = "Ana/main - Branch #1";
    let healed = vault.json(FORKLORE, &["heal", fork, "--choose", "rebuild"]);
    assert_eq!(metadata(&vault, fork)["world_info"], "gone", "{healed:#}");
    let left: Vec<&str> = healed["left"].as_array().unwrap().iter().map(|f| text(f, "code")).collect();
    assert_eq!(left, ["BOOK_MISSING"]);
}

#[test]
fn a_book_kept_by_hand_that_twenty_chats_share_is_never_touched() {
    let mut vault = TestVault::new().book("World", &[("Town", "Rain"), ("Inn", "Warm")]);
    for n in 0..20 {
        let name = format!("chat {n}");
        vault = vault.chat(
            "Ana",
            &name,
            &json!({"integrity": name, "world_info": "World"}),
            &["hi", &name, &format!("on {n}")],
        );
    }
    let before = vault.snapshot();
    let healed = vault.json(FORKLORE, &["heal", "--choose", "rebuild"]);
    assert_eq!(healed["actions"], json!([]));
    assert!(vault.snapshot() == before);
}

#[test]
fn dry_run_tells_and_changes_nothing() {
    let vault = TestVault::harbor();
    let before = vault.snapshot();
    let healed = vault.json(FORKLORE, &["heal", "--choose", "rebuild", "--dry-run"]);
    assert!(healed["operation"].is_null());
    assert!(healed["actions"].as_array().unwrap().len() > 30);
    assert!(vault.snapshot() == before);
}

/// A fork that was renamed outside: its record follows it, and its parent's link is mended.
#[test]
fn renamed_forks_keep_their_lineage_and_links_are_mended() {
    let vault =
        TestVault::new().chat("Ana", "main", &json!({"integrity": "a"}), &["hello", "one", "two", "three"]);
    let made = vault.json(FORKLORE, &["checkpoint", "Ana/main", "--at", "2", "--name", "old name"]);
    assert_eq!(made["chat"], "Ana/old name");
    let from = vault.root().join("chats/Ana/old name.jsonl");
    std::fs::rename(&from, vault.root().join("chats/Ana/new name.jsonl")).unwrap();
    let tree = vault.json(FORKLORE, &["tree"]);
    let chats = tree["stories"][0]["chats"].as_array().unwrap();
    let fork = chats.iter().find(|c| c["chat"] == "Ana/new name").unwrap();
    assert_eq!((&fork["parent"], &fork["lineage"]), (&json!("Ana/main"), &json!("recorded")));
    let check = vault.json(FORKLORE, &["check"]);
    assert!(check.to_string().contains("LINK_DANGLING"));
    let _healed = vault.json(FORKLORE, &["heal"]);
    let line = String::from_utf8(vault.read("chats/Ana/main.jsonl")).unwrap();
    assert!(line.contains(r#""bookmark_link":"new name""#), "{line}");
    assert!(!vault.json(FORKLORE, &["check"]).to_string().contains("LINK_DANGLING"));
}

/// A value that becomes `null` is not a value that is taken away: undoing it after a restart works.
#[test]
fn regression_detaching_from_a_book_that_the_extension_knows_can_be_undone() {
    let vault = TestVault::demo();
    let before = vault.snapshot();
    let fork = "Ottilie Crake/Heard Once - Branch #4";
    assert!(vault.json(FORKLORE, &["heal", fork, "--choose", "detach"])["operation"].is_string());
    let undone = vault.run(FORKLORE, &["undo"]);
    assert_eq!(undone.code, Some(0), "{undone}");
    assert!(vault.snapshot() == before);
}

/// What an open page has in memory must not silently come back: SillyTavern compares slugs.
#[test]
fn whatever_changes_the_state_of_a_chat_changes_its_slug() {
    let vault = TestVault::harbor();
    let fork = "Maren Voss/The Lighthouse Road";
    let before = metadata(&vault, fork);
    let _healed = vault.json(FORKLORE, &["heal", fork]);
    let after = metadata(&vault, fork);
    assert_eq!(after["world_info"], before["world_info"]);
    assert_ne!(after["auto_recap_running_scene_recaps"], before["auto_recap_running_scene_recaps"]);
    assert_ne!(after["integrity"], before["integrity"]);
}

/// A record that a newer Forklore wrote is neither believed nor replaced.
#[test]
fn a_record_of_a_newer_forklore_is_left_alone() {
    let vault = TestVault::new()
        .chat("Ana", "main", &json!({"integrity": "a"}), &["hello", "one", "two", "three"])
        .chat(
            "Ana",
            "fork",
            &json!({"integrity": "b", "main_chat": "main", "forklore": {"version": 99, "kind": "new"}}),
            &["hello", "one", "two"],
        );
    let before = vault.snapshot();
    assert_eq!(vault.json(FORKLORE, &["heal"])["actions"], json!([]));
    assert!(vault.snapshot() == before);
}

/// An entry that nobody can place goes into the record of the fork, from a book that is laid out in many lines.
#[test]
fn regression_a_header_stays_one_line_when_entries_go_into_its_record() {
    let vault = TestVault::new();
    let mut main = Story::new("Ana", "main");
    main.until(3).learn(10, "character-Ana", "A girl").scene("One").until(6).learn(11, "item-Oar", "Broken");
    main.save(&vault);
    let mut branch = main.clone();
    branch.name = "main - Branch #1".to_owned();
    branch.metadata_mut()["main_chat"] = json!("main");
    branch.metadata_mut()["integrity"] = json!("another");
    branch.messages.truncate(4);
    branch.until(5).save_chat(&vault);
    let before = vault.snapshot();
    let lines = |name: &str| {
        let chat = String::from_utf8(vault.read(&format!("chats/Ana/{name}.jsonl"))).unwrap();
        chat.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>()
    };
    let healed = vault.json(FORKLORE, &["heal", "--choose", "rebuild"]);
    assert!(healed["operation"].is_string(), "{healed:#}");
    let chat = lines("main - Branch #1");
    assert_eq!(chat[1..], branch.messages);
    let quarantine = &chat[0]["chat_metadata"]["forklore"]["quarantine"];
    assert_eq!(quarantine[0]["content"], "Broken", "{quarantine:#}");
    assert_eq!(vault.run(FORKLORE, &["undo"]).code, Some(0));
    assert!(vault.snapshot() == before, "undo left something changed");
}

/// A fork whose metadata is no object has no room for a record: it said that it was healed, nothing had happened, and that could not be
/// undone. Now an empty object takes its place first, as in a fork of it.
#[test]
fn regression_what_is_said_to_be_healed_is_also_where_the_metadata_is_none() {
    for odd in [json!("world_info"), json!(null), json!([1]), json!(0)] {
        let vault = TestVault::new().chat(
            "Ana",
            "main",
            &json!({"integrity": "a"}),
            &["hello", "one", "two", "three"],
        );
        let vault = vault.chat("Ana", "main - Branch #1", &odd, &["hello", "one", "other"]);
        let before = vault.snapshot();
        let healed = vault.json(FORKLORE, &["heal"]);
        assert_eq!(healed["actions"][0]["code"], "UNRECORDED_FORK", "{odd}: {healed:#}");
        let record = &metadata(&vault, "Ana/main - Branch #1")["forklore"];
        assert_eq!(record["parent"]["file"], "main", "{odd}: {record:#}");
        let undone = vault.run(FORKLORE, &["undo"]);
        assert_eq!(undone.code, Some(0), "{odd}: {undone}");
        assert!(vault.snapshot() == before, "{odd}: undo left something changed");
    }
}
