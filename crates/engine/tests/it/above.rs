//! What a hand does to the parent's lorebook after a fork was made, at the very message where they part, is none of the fork's.

use std::collections::BTreeMap;
use std::sync::Arc;

use forklore_config::Config;
use forklore_core::fork::ForkKind;
use forklore_engine::fork::{self, ForkRequest};
use forklore_fs::{RealFs, Vfs};
use forklore_testkit::TestVault;
use forklore_vault::history::Watch;
use forklore_vault::state::at::Wanted;
use forklore_vault::{Library, NoProgress};
use serde_json::{Value, json};

const NOW: i64 = 1_800_000_000_000;

fn look(fs: &Arc<dyn Vfs>, now: i64) {
    Watch::open(fs.clone()).unwrap().sweep(now, &NoProgress).unwrap();
}

/// The entries of a chat's lorebook at a message.
fn at(fs: &Arc<dyn Vfs>, chat: &str, message: usize) -> BTreeMap<String, String> {
    let library = Library::load(fs.clone(), &NoProgress).unwrap();
    let c = library.find_chat(chat).unwrap();
    let entries = library.book_at(c, message, Wanted::default()).unwrap().entries;
    entries.iter().map(|e| (e.image.comment.to_string(), e.image.content().into_owned())).collect()
}

/// A fork at the head of a chat, and what a hand does to the lorebook of that chat then. What the fork and its parent have at that message.
/// Somebody may have looked in between.
fn forked(looked: bool, edit: impl FnOnce(&mut Value)) -> [BTreeMap<String, String>; 2] {
    let vault = TestVault::new().chat(
        "Ana",
        "Rain",
        &json!({"integrity": "slug", "world_info": "Lore"}),
        &["Hello.", "Who is there?", "The rain."],
    );
    let entry = |uid: i64, title: &str, text: &str| json!({"uid": uid, "comment": title, "content": text, "key": [title], "depth": 4});
    let mut book = json!({"entries": {
        "0": entry(0, "The sea", "It is cold."),
        "2": entry(2, "Tern", "A town on the coast."),
    }});
    vault.write("worlds/Lore.json", book.to_string().as_bytes());
    let fs: Arc<dyn Vfs> = Arc::new(RealFs::new(&vault.root()).unwrap());
    look(&fs, NOW);
    let library = Library::load(fs.clone(), &NoProgress).unwrap();
    let request = ForkRequest {
        kind: Some(ForkKind::Branch),
        name: Some("Left".to_owned()),
        ..ForkRequest::of("Rain")
    };
    let plan = fork::plan(&library, &request, &Config::default(), "slug of left", NOW + 1000).unwrap();
    fork::execute(&library, plan, NOW + 1000).unwrap();
    if looked {
        look(&fs, NOW + 2000);
    }
    edit(&mut book["entries"]);
    vault.write("worlds/Lore.json", book.to_string().as_bytes());
    look(&fs, NOW + 3000);
    let mut left = String::from_utf8(vault.read("chats/Ana/Left.jsonl")).unwrap();
    let more = json!({"name": "Ana", "is_user": false, "mes": "B one.", "send_date": "2026-01-02T00:00:00.000Z", "extra": {}});
    left.push_str(&format!("{}{more}", if left.ends_with('\n') { "" } else { "\n" }));
    vault.write("chats/Ana/Left.jsonl", left.as_bytes());
    look(&fs, NOW + 4000);
    [at(&fs, "Left", 2), at(&fs, "Rain", 2)]
}

#[test]
fn regression_a_text_that_is_replaced_above_later_is_not_the_forks() {
    for looked in [true, false] {
        let [fork, parent] =
            forked(looked, |book| book["2"]["content"] = json!("Nobody has ever heard of it; all is waves."));
        assert_eq!(fork["Tern"], "A town on the coast.", "{looked} {fork:#?}");
        assert!(parent["Tern"].starts_with("Nobody"), "{looked} {parent:#?}");
    }
}

#[test]
fn regression_an_entry_that_is_deleted_above_later_is_still_the_forks() {
    for looked in [true, false] {
        let [fork, parent] = forked(looked, |book| drop(book.as_object_mut().unwrap().remove("2")));
        assert_eq!(fork.get("Tern").map(String::as_str), Some("A town on the coast."), "{looked} {fork:#?}");
        assert!(!parent.contains_key("Tern"), "{looked} {parent:#?}");
    }
}

#[test]
fn what_is_made_above_later_is_not_the_forks() {
    for looked in [true, false] {
        let [fork, parent] = forked(looked, |book| {
            book["5"] = json!({"uid": 5, "comment": "Gull", "content": "A ship.", "key": ["gull"]});
        });
        assert!(!fork.contains_key("Gull"), "{looked} {fork:#?}");
        assert!(parent.contains_key("Gull"), "{looked} {parent:#?}");
    }
}
