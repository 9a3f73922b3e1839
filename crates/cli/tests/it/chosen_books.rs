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
