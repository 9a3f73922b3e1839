//! Vaults of stories that a program played with the real SillyTavern and the real MemoryBooks, acts drawn at random
//! (`crates/testkit/fixtures/played`): the state at every message, as far as the files tell, however Forklore came to it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use forklore_fs::{RealFs, Vfs};
use forklore_testkit::{TestVault, fixtures};
use forklore_vault::history::{Watch, rescue};
use forklore_vault::state::at::{SourceKind, Wanted};
use forklore_vault::{Library, NoProgress};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// When Forklore comes: long after everything in them.
const NOW: i64 = 1_900_000_000_000;

/// Title, and the beginning of the SHA-256 of the text.
type Entry = (String, String);

fn fs(vault: &TestVault) -> Arc<dyn Vfs> {
    Arc::new(RealFs::new(&vault.root()).unwrap())
}

fn library(vault: &TestVault) -> Library {
    Library::load(fs(vault), &NoProgress).unwrap()
}

/// As `watch --once` does.
fn look(vault: &TestVault, now: i64) {
    rescue(&library(vault), now, &NoProgress).unwrap();
    Watch::open(fs(vault)).unwrap().sweep(now, &NoProgress).unwrap();
}

fn entries(list: &Value) -> BTreeSet<Entry> {
    let entry =
        |entry: &Value| (entry[0].as_str().unwrap().to_owned(), entry[1].as_str().unwrap().to_owned());
    list.as_array().unwrap().iter().map(entry).collect()
}

/// Every state that is not what it was.
#[allow(clippy::disallowed_methods, reason = "what is expected is no vault")]
fn wrong(vault: &TestVault, story: &str) -> Vec<String> {
    let file = fixtures().join("played").join(story).join("expected.json");
    let expected: Vec<Value> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let library = library(vault);
    let mut wrong = Vec::new();
    for point in &expected {
        let file = point["chat"].as_str().unwrap();
        let (chat, _) = library.find(|chat| chat.path().to_string() == file).unwrap();
        let number = |key: &str| usize::try_from(point[key].as_u64().unwrap()).unwrap();
        // Of each entry one of these; the first is what it was.
        let must: Vec<BTreeSet<Entry>> = point["must"].as_array().unwrap().iter().map(entries).collect();
        let may: BTreeSet<Entry> = must.iter().flatten().cloned().chain(entries(&point["may"])).collect();
        // Their texts are nowhere in the files.
        let free = |title: &str| point["titles"].as_array().unwrap().iter().any(|free| free == title);
        for at in number("from")..=number("to") {
            let book = library.book_at(chat, at, Wanted::default()).unwrap();
            // At the last message a book of one's own is what it is, whatever is in it.
            if book.source.kind == SourceKind::Head {
                continue;
            }
            let told = |entry: &forklore_core::state::StateEntry| {
                let hash = Sha256::digest(entry.image.content().as_bytes());
                let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
                (entry.image.comment.to_string(), hash)
            };
            let found: BTreeSet<Entry> = book.entries.iter().map(told).collect();
            let sure = book.entries.iter().filter(|entry| !entry.undated).map(told);
            let missing = must.iter().filter(|one| one.is_disjoint(&found)).filter_map(|one| one.first());
            let extra = sure.filter(|entry| !may.contains(entry) && !free(&entry.0));
            wrong.extend(missing.map(|(title, _)| format!("{file} at {at}: \"{title}\" is missing")));
            wrong.extend(extra.map(|(title, _)| format!("{file} at {at}: \"{title}\" is too much")));
        }
    }
    wrong
}

/// Puts the files of another time in the place of those that are there.
#[allow(clippy::disallowed_methods, reason = "somebody goes back to an old copy of a vault")]
fn replace(vault: &TestVault, by: &Path) {
    for file in ["chats", "worlds", "backups"] {
        std::fs::remove_dir_all(vault.root().join(file)).unwrap();
    }
    put(by, &vault.root());
}

#[allow(clippy::disallowed_methods, reason = "fixtures are files")]
fn put(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for node in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (node.path(), to.join(node.file_name()));
        if from.is_dir() {
            put(&from, &to);
        } else {
            std::fs::copy(from, to).unwrap();
        }
    }
}

/// As it came; after the first look; and installed at a third of the story, looked at again at two thirds and in the end.
fn tried(story: &str) {
    let none: [String; 0] = [];
    let folder = format!("played/{story}");
    let vault = TestVault::real(&format!("{folder}/vault"));
    assert_eq!(wrong(&vault, story), none, "{story}, as it came");
    look(&vault, NOW);
    assert_eq!(wrong(&vault, story), none, "{story}, looked at");
    let vault = TestVault::real(&format!("{folder}/third"));
    look(&vault, NOW);
    for (n, then) in (1..).zip(["two-thirds", "vault"]) {
        replace(&vault, &fixtures().join(&folder).join(then));
        look(&vault, NOW + n * 60_000);
    }
    assert_eq!(wrong(&vault, story), none, "{story}, from a third on");
}

/// Branches that share a lorebook and one that has a copy, side prompts, a consolidation, notes, a second story.
#[test]
fn regression_orchard_is_what_it_was() {
    tried("orchard");
}

/// Copies of copies, a branch of a message long past, notes on every line.
#[test]
fn regression_ferry_is_what_it_was() {
    tried("ferry");
}
