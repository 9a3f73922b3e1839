//! Chats whose memories are in a lorebook that the user has chosen for MemoryBooks: the header names it in a note of the extension's, and
//! `world_info` names another one, or none.

use forklore_testkit::TestVault;
use serde_json::{Value, json};

use crate::{FORKLORE, titles};

const TEXTS: [&str; 8] = ["m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7"];

/// A lorebook with a memory at each of these messages.
fn memories(chat: &str, ends: &[i64]) -> Vec<u8> {
    let memory = |uid: usize, end: i64| {
        json!({"uid": uid, "comment": format!("{:03} - Up to {end}", uid + 1), "content": format!("What happened up to {end}."), "key": [],
            "stmemorybooks": true, "STMB_start": end - 1, "STMB_end": end, "STMB_chatId": chat})
    };
    let entries = ends.iter().enumerate().map(|(uid, end)| (uid.to_string(), memory(uid, *end)));
    json!({"entries": entries.collect::<serde_json::Map<_, _>>()}).to_string().into_bytes()
}

fn orphaned(report: &Value) -> Vec<&str> {
    let found = report["findings"].as_array().unwrap().iter().filter(|f| f["code"] == "BOOK_ORPHANED");
    found.map(|finding| finding["book"].as_str().unwrap()).collect()
}

/// Does what changes something.
fn did(vault: &TestVault, args: &[&str]) -> Value {
    vault.json(FORKLORE, args)
}

#[test]
fn regression_a_lorebook_that_an_extensions_note_names_is_no_orphan() {
    let note = json!({"manualLorebook": "Ledger", "manualCharacterLorebooks": {"Bo": "Bo's ledger"},
        "narratorMode": {"members": [{"id": "1", "lorebookName": "Cast"}]}});
    let locks =
        json!({"characterMemoryBookLocks": {"Ana.png": {"characterName": "Ana", "lorebookName": "Locked"}}});
    let vault = TestVault::new()
        .chat("Ana", "Rain", &json!({"integrity": "a", "world_info": "Notes", "STMemoryBooks": note}), &TEXTS)
        .chat("Ana", "Snow", &json!({"integrity": "b", "world_info": "Ledger"}), &TEXTS[3..])
        .book("Notes", &[("Rules", "Be kind.")])
        .file(
            "settings.json",
            json!({"extension_settings": {"STMemoryBooks": locks}}).to_string().as_bytes(),
        );
    let books = ["Ledger", "Bo's ledger", "Cast", "Locked", "Left"];
    let vault = books
        .iter()
        .fold(vault, |vault, book| vault.file(&format!("worlds/{book}.json"), &memories("Rain", &[1, 3])));
    assert_eq!(orphaned(&vault.json(FORKLORE, &["check"])), ["Left"]);
    // Another chat that has it goes, and it stays with the one that is still there.
    let deleted = did(&vault, &["delete", "Snow"]);
    assert_eq!(deleted["books"], json!([]), "{deleted}");
    assert_eq!(deleted["kept"][0]["name"], "Ledger", "{deleted}");
    assert_eq!(did(&vault, &["gc", "--orphans"])["books"], json!(["Left"]));
    assert_eq!(vault.read("worlds/Ledger.json"), memories("Rain", &[1, 3]));
}

/// A chat whose memories are in "Ledger"; SillyTavern binds it to "Notes", which are the user's.
fn rain(ends: &[i64]) -> TestVault {
    let metadata =
        json!({"integrity": "a", "world_info": "Notes", "STMemoryBooks": {"manualLorebook": "Ledger"}});
    TestVault::new()
        .chat("Ana", "Rain", &metadata, &TEXTS)
        .book("Notes", &[("Rules", "Be kind.")])
        .file("worlds/Ledger.json", &memories("Rain", ends))
}

fn codes(report: &Value) -> Vec<String> {
    let all = report["findings"].as_array().unwrap().iter();
    all.map(|f| format!("{} {}", f["code"].as_str().unwrap(), f["book"].as_str().unwrap_or_default()))
        .collect()
}

#[test]
fn regression_the_story_of_a_chat_is_in_the_lorebook_that_was_chosen_for_its_memories() {
    let vault = rain(&[1, 3, 6]);
    for (at, count) in [("0", 0), ("1", 1), ("4", 2), ("7", 3)] {
        let shown = vault.json(FORKLORE, &["show", "Rain", "--at", at]);
        assert_eq!(
            (&shown["book"]["name"], titles(&shown).len()),
            (&json!("Ledger"), count),
            "{at}: {shown}"
        );
    }
    let tree = vault.json(FORKLORE, &["tree"]);
    assert_eq!(tree["stories"][0]["chats"][0]["book"]["name"], "Ledger", "{tree}");
    let blamed = vault.json(FORKLORE, &["blame", "Rain", "002 - Up to 3"]);
    assert!(blamed.to_string().contains("Ledger"), "{blamed}");
    let diff = vault.json(FORKLORE, &["diff", "Rain", "--at", "2"]);
    assert!(diff.to_string().contains("003 - Up to 6"), "{diff}");
    assert_eq!(codes(&vault.json(FORKLORE, &["check"])), [""; 0]);
}

#[test]
fn regression_a_chosen_lorebook_that_is_not_there_is_missed() {
    let vault = rain(&[1]);
    std::fs::remove_file(vault.root().join("worlds/Ledger.json")).unwrap();
    assert_eq!(codes(&vault.json(FORKLORE, &["check"])), ["BOOK_MISSING Ledger"]);
}

/// The note stays in the header when the mode is switched off: memories go into the lorebook that SillyTavern binds, as they always do.
#[test]
fn regression_a_note_that_is_left_over_names_no_story() {
    let settings =
        json!({"extension_settings": {"STMemoryBooks": {"moduleSettings": {"manualModeEnabled": false}}}});
    let vault = rain(&[1]).file("settings.json", settings.to_string().as_bytes());
    let shown = vault.json(FORKLORE, &["show", "Rain"]);
    assert_eq!(
        (&shown["book"]["name"], titles(&shown)),
        (&json!("Notes"), vec!["Rules".to_owned()]),
        "{shown}"
    );
    assert_eq!(orphaned(&vault.json(FORKLORE, &["check"])), [""; 0]);
}

fn metadata(vault: &TestVault, chat: &str) -> Value {
    let file = String::from_utf8(vault.read(&format!("chats/Ana/{chat}.jsonl"))).unwrap();
    let header: Value = serde_json::from_str(file.lines().next().unwrap()).unwrap();
    header["chat_metadata"].clone()
}

/// The lorebook that a fork has for its memories; it is the fork's own, with these memories and no others.
fn own_book(vault: &TestVault, chat: &str, ends: &[i64]) -> String {
    let metadata = metadata(vault, chat);
    let name = metadata["STMemoryBooks"]["manualLorebook"].as_str().unwrap().to_owned();
    assert_ne!(name, "Ledger");
    let book: Value = serde_json::from_slice(&vault.read(&format!("worlds/{name}.json"))).unwrap();
    let entries = book["entries"].as_object().unwrap().values();
    let found: Vec<(&Value, i64)> =
        entries.map(|entry| (&entry["STMB_chatId"], entry["STMB_end"].as_i64().unwrap())).collect();
    let owner = json!(chat);
    assert_eq!(found, ends.iter().map(|end| (&owner, *end)).collect::<Vec<_>>());
    name
}

#[test]
fn regression_a_fork_has_its_own_copy_of_a_chosen_lorebook() {
    let vault = rain(&[1, 3, 6]);
    let before = vault.snapshot();
    let fork = vault.json(FORKLORE, &["branch", "Rain", "--at", "4", "--name", "Hail"]);
    let book = own_book(&vault, "Hail", &[1, 3]);
    assert_eq!(fork["book"]["name"], json!(book), "{fork}");
    assert_eq!(metadata(&vault, "Hail")["world_info"], "Notes");
    assert_eq!(metadata(&vault, "Rain")["STMemoryBooks"]["manualLorebook"], "Ledger");
    assert_eq!(codes(&vault.json(FORKLORE, &["check"])), ["BOOK_SHARED_BY_CHOICE Notes"]);
    // Deleting it takes its lorebook along, and nothing else.
    let deleted = did(&vault, &["delete", "Hail"]);
    assert_eq!(deleted["books"], json!([book]), "{deleted}");
    did(&vault, &["undo"]);
    assert_eq!(own_book(&vault, "Hail", &[1, 3]), book);
    did(&vault, &["undo", fork["operation"].as_str().unwrap()]);
    let chats = |all: Vec<(String, Vec<u8>)>| -> Vec<(String, Vec<u8>)> {
        all.into_iter().filter(|(path, _)| !path.starts_with(".forklore")).collect()
    };
    assert_eq!(chats(vault.snapshot()), chats(before));
}

/// SillyTavern's own fork shares it; healing gives the fork its own, and the lorebook that SillyTavern binds stays.
#[test]
fn regression_a_fork_that_shares_a_chosen_lorebook_is_healed() {
    let shared = json!({"integrity": "b", "main_chat": "Rain", "world_info": "Notes", "STMemoryBooks": {"manualLorebook": "Ledger"}});
    let vault = rain(&[1, 3, 6]).chat("Ana", "Rain - Branch #1", &shared, &TEXTS[..5]);
    let before = codes(&vault.json(FORKLORE, &["check"]));
    assert!(before.contains(&"BOOK_SHARED Ledger".to_owned()), "{before:?}");
    did(&vault, &["heal", "--yes"]);
    own_book(&vault, "Rain - Branch #1", &[1, 3]);
    assert_eq!(metadata(&vault, "Rain - Branch #1")["world_info"], "Notes");
    assert_eq!(metadata(&vault, "Rain")["STMemoryBooks"]["manualLorebook"], "Ledger");
    assert_eq!(codes(&vault.json(FORKLORE, &["check"])), ["BOOK_SHARED_BY_CHOICE Notes"]);
}

/// The user can choose the lorebook that SillyTavern binds anyway: then both places name the copy.
#[test]
fn regression_a_lorebook_that_is_chosen_and_bound_is_copied_once() {
    let both =
        json!({"integrity": "a", "world_info": "Ledger", "STMemoryBooks": {"manualLorebook": "Ledger"}});
    let vault = rain(&[1, 3, 6]).chat("Ana", "Rain", &both, &TEXTS);
    vault.json(FORKLORE, &["branch", "Rain", "--at", "4", "--name", "Hail"]);
    assert_eq!(metadata(&vault, "Hail")["world_info"], json!(own_book(&vault, "Hail", &[1, 3])));
}

/// What MemoryBooks writes into for single members of a group is not copied, and that is said.
#[test]
fn regression_lorebooks_that_stay_shared_are_told_of() {
    let note = json!({"manualLorebook": "Ledger", "manualCharacterLorebooks": {"Bo": "Bo's ledger"}});
    let vault = rain(&[1, 3])
        .chat("Ana", "Rain", &json!({"integrity": "a", "STMemoryBooks": note}), &TEXTS)
        .file("worlds/Bo's ledger.json", &memories("Rain", &[1]));
    let fork = vault.json(FORKLORE, &["branch", "Rain", "--at", "4", "--name", "Hail"]);
    let warned = fork["warnings"].as_array().unwrap().iter().filter(|w| w["code"] == "BOOK_STAYS_SHARED");
    let warned: Vec<&str> = warned.map(|w| w["message"].as_str().unwrap()).collect();
    assert!(matches!(warned[..], [one] if one.contains("\"Bo's ledger\"")), "{fork}");
}
