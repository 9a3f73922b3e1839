//! Chats whose memories are in a lorebook that the user has chosen for MemoryBooks: the header names it in a note of the extension's, and
//! `world_info` names another one, or none.

use forklore_testkit::TestVault;
use serde_json::{Value, json};

use crate::FORKLORE;

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
