//! The plugin in the real SillyTavern, over HTTP, as the page talks to it. Every version that must work is tried.
//!
//! A server takes seconds to start, so a test lets several things happen on one.

mod broken;
mod forks;
mod life;
mod maid;
mod users;
mod wine;

use std::collections::BTreeMap;

use forklore_testkit::TestVault;
use forklore_testkit::story::Story;
use forklore_testkit::tavern::{Setup, Tavern, versions};
use serde_json::{Value, json};

use crate::disk::{ChatFile, book, entries, path_of};
use crate::{FORKLORE, titles};

/// Runs a test on every version of SillyTavern that is installed.
fn on_each(test: &str, run: impl Fn(&'static str)) {
    versions(test).into_iter().for_each(run);
}

/// A server with the plugin, whose engine is ready.
fn tavern(version: &'static str, vault: &TestVault) -> Tavern {
    let tavern = Tavern::start(version, FORKLORE, &vault.root(), Setup::default());
    let plugin = tavern.engine_is("running");
    assert_eq!(plugin["sillytavern"], version);
    assert_eq!(
        plugin["hooks"],
        json!({"chats": true, "worldinfo": true, "groups": true, "characters": true, "datamaid": true})
    );
    tavern
}

/// A vault with one story.
fn ana() -> TestVault {
    let vault = TestVault::new();
    add_story(&vault, "Ana");
    vault
}

/// The story of a character: two scenes, and five messages more.
fn add_story(vault: &TestVault, folder: &str) {
    let mut story = Story::new(folder, "Main");
    story.until(11).learn(3, "character-Ben", "Ben is a baker.").scene("One");
    story.until(21).learn(4, "character-Cleo", "Cleo is a clerk.").scene("Two");
    story.until(26);
    story.save(vault);
}

/// The same as a group's chat.
fn add_group(vault: &TestVault) {
    let mut story = Story::new("Band", "100");
    story.until(11).learn(3, "character-Dora", "Dora drums.").scene("One");
    story.until(16).learn(4, "character-Emil", "Emil sings.").scene("Two");
    let group =
        json!({"id": "1", "name": "Band", "members": ["Ana.png"], "chat_id": "100", "chats": ["100"]});
    vault.write("groups/1.json", serde_json::to_string_pretty(&group).unwrap().as_bytes());
    let lines = std::iter::once(&story.header).chain(&story.messages).map(Value::to_string);
    vault.write("group chats/100.jsonl", lines.collect::<Vec<_>>().join("\n").as_bytes());
    story.save_book(vault);
}

/// The newest operations, once there is one more than before.
fn next_operation(tavern: &Tavern, vault: &TestVault, before: usize) -> Value {
    tavern.until("another operation in the log", || {
        let log = vault.json(FORKLORE, &["log"]);
        let operations = log["operations"].as_array().unwrap();
        (operations.len() > before && operations.iter().all(|op| op["pending"] == false))
            .then(|| operations[0].clone())
    })
}

fn operations(vault: &TestVault) -> usize {
    vault.json(FORKLORE, &["log"])["operations"].as_array().unwrap().len()
}

/// The titles of a book's entries, registries left out.
fn facts(vault: &TestVault, name: &str) -> Vec<String> {
    let all: BTreeMap<String, Value> = entries(&book(vault, name));
    all.into_keys().filter(|title| !title.starts_with('_')).collect()
}

/// A fork as it must be: its own book with exactly what the story had by then, its lineage, nothing wrong with it.
fn assert_whole(vault: &TestVault, fork: &str, parent: &str, at: usize) -> ChatFile {
    let file = ChatFile::at(vault, fork);
    let its_parent = ChatFile::at(vault, parent);
    assert_ne!(file.book(), its_parent.book(), "{fork}");
    assert_ne!(file.metadata()["integrity"], its_parent.metadata()["integrity"], "{fork}");
    let number = at.to_string();
    let shown = vault.json(FORKLORE, &["show", parent, "--at", &number]);
    let (mut then, mut has) =
        (titles(&shown), entries(&book(vault, file.book())).into_keys().collect::<Vec<_>>());
    then.sort();
    has.sort();
    assert_eq!(has, then, "{fork} has what {parent} had at message {at}");
    let checked = vault.json(FORKLORE, &["check", fork]);
    assert_eq!(checked["findings"], json!([]), "{fork}");
    let tree = vault.json(FORKLORE, &["tree"]);
    let chats =
        tree["stories"].as_array().unwrap().iter().flat_map(|story| story["chats"].as_array().unwrap());
    let chat =
        chats.clone().find(|chat| chat["chat"] == fork).unwrap_or_else(|| panic!("{fork} is not in {tree}"));
    assert_eq!(
        (&chat["parent"], &chat["fork_message"], &chat["lineage"], &chat["book"]["state"]),
        (&json!(parent), &json!(at), &json!("recorded"), &json!("own")),
        "{fork}"
    );
    file
}

/// A fork that waits: no book, a note, nothing of its parent's.
fn assert_waits(vault: &TestVault, fork: &str, code: &str) -> Value {
    let file = ChatFile::read(vault, &path_of(fork));
    let metadata = file.metadata();
    assert_eq!(metadata.get("world_info"), None, "{fork}");
    assert_eq!(metadata["auto_lorebooks"]["lorebookName"], Value::Null, "{fork}");
    let note = metadata["forklore"]["pending"].clone();
    assert_eq!(note["code"], code, "{note}");
    note
}
