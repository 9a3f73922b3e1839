//! A lorebook that got another name in SillyTavern is one book; a book that merely took its place is not.

use std::sync::Arc;

use forklore_fs::RealFs;
use forklore_testkit::TestVault;
use forklore_vault::{Library, NoProgress};
use serde_json::{Value, json};

/// The header of a branch that MemoryBooks copied a lorebook for, which is bound to `bound` today.
fn branch(name: &str, copy: &str, bound: &str) -> Value {
    let copies = json!({
        "parentChatId": "Main", "branchChatId": name, "completedAt": "2026-01-01T01:00:00.000Z",
        "mappings": [{"sourceName": "Lore", "copyName": copy}],
    });
    json!({"integrity": name, "main_chat": "Main", "world_info": bound, "STMemoryBooks": {"branchLorebookCopies": copies}})
}

/// Two branches whose copies are gone, and the books that they have instead.
fn vault(first: &str, second: &str) -> TestVault {
    let main = json!({"integrity": "main", "world_info": "Lore"});
    ["Other", "Third"]
        .iter()
        .fold(TestVault::new(), |vault, book| vault.book(book, &[("001 - Key", "A key.")]))
        .book("Lore", &[("001 - Key", "A key.")])
        .chat("Mara", "Main", &main, &["One", "Two", "Three"])
        .chat("Mara", "A", &branch("A", "Lore Branch 1", first), &["One", "Two"])
        .chat("Mara", "B", &branch("B", "Lore Branch 2", second), &["One", "Two"])
}

/// The names that the book of a chat is known by.
fn known_as(vault: &TestVault, chat: &str) -> String {
    let library = Library::load(Arc::new(RealFs::new(&vault.root()).unwrap()), &NoProgress).unwrap();
    let lore = library.lore(library.find_chat(chat).unwrap()).unwrap();
    lore.own.as_ref().unwrap().book.to_string()
}

#[test]
fn a_copy_that_got_another_name_is_known_by_its_first() {
    let vault = vault("Other", "Third");
    assert_eq!(known_as(&vault, "Mara/A"), "Lore Branch 1");
    assert_eq!(known_as(&vault, "Mara/B"), "Lore Branch 2");
    assert_eq!(known_as(&vault, "Mara/Main"), "Lore");
}

/// Which of two names it had depended on chance once.
#[test]
fn regression_a_book_that_two_copies_were_given_up_for_is_neither() {
    let vault = vault("Other", "Other");
    for _ in 0..8 {
        assert_eq!(known_as(&vault, "Mara/A"), "Other");
        assert_eq!(known_as(&vault, "Mara/B"), "Other");
    }
}

#[test]
fn regression_a_book_of_another_story_too_is_no_copy_under_another_name() {
    let stranger = json!({"integrity": "stranger", "world_info": "Other"});
    let vault = vault("Other", "Third").chat("Ivo", "Alone", &stranger, &["Elsewhere"]);
    assert_eq!(known_as(&vault, "Mara/A"), "Other");
    assert_eq!(known_as(&vault, "Ivo/Alone"), "Other");
}

/// The branch has another name than in the note of the copy, and so has the lorebook.
#[test]
fn regression_a_copy_is_known_where_chat_and_book_have_other_names() {
    let vault = vault("Other", "Third").chat(
        "Mara",
        "Tale",
        &branch("Main - Branch #3", "Lore Branch 3", "Fourth"),
        &["One", "Two"],
    );
    let vault = vault.book("Fourth", &[("001 - Key", "A key.")]);
    assert_eq!(known_as(&vault, "Mara/Tale"), "Lore Branch 3");
    // A fork of it has the note as well, and says nothing by that.
    let fork = branch("Main - Branch #3", "Lore Branch 3", "Fifth");
    let fork = {
        let mut fork = fork;
        fork["main_chat"] = json!("Tale");
        fork["integrity"] = json!("fork");
        fork
    };
    let vault = vault.chat("Mara", "Tale - Branch #1", &fork, &["One", "Two"]);
    let vault = vault.book("Fifth", &[("001 - Lock", "A lock.")]);
    assert_eq!(known_as(&vault, "Mara/Tale - Branch #1"), "Fifth");
}
