//! What SillyTavern does by itself is heard of: deletions, new names, books, and what follows from them.

use std::fs;

use forklore_testkit::TestVault;
use forklore_testkit::tavern::Tavern;
use serde_json::{Value, json};

use super::{ana, assert_whole, next_operation, on_each, operations, tavern};
use crate::FORKLORE;
use crate::disk::ChatFile;

#[test]
fn what_sillytavern_deletes_and_renames_leaves_nothing_wrong() {
    on_each("deletions and new names", |version| {
        let vault = ana();
        // Not a picture, but nothing here looks at it.
        vault.write("characters/Ana.png", b"card");
        let tavern = tavern(version, &vault);
        answers(&tavern, &vault);
        let mut events = tavern.engine().events("api/events");
        for (n, name) in ["Main - Branch #1", "Main - Branch #2", "Kept"].into_iter().enumerate() {
            tavern.fork(Some("Ana"), "Main", 10, name).ok();
            next_operation(&tavern, &vault, n);
        }
        let books: Vec<String> = ["Main - Branch #1", "Main - Branch #2", "Kept"]
            .map(|name| ChatFile::at(&vault, &format!("Ana/{name}")).book().to_owned())
            .to_vec();
        let there = |book: &str| vault.root().join(format!("worlds/{book}.json")).exists();

        // A fork gets another name, and is deleted under that.
        let rename = json!({"is_group": false, "avatar_url": "Ana.png", "original_file": "Main - Branch #1.jsonl", "renamed_file": "New: name.jsonl"});
        assert_eq!(tavern.post("api/chats/rename", &rename).ok()["ok"], true);
        let change = events.wait("change", |change| change["act"] == "renamed");
        assert_eq!(
            (&change["chat"], &change["from"], &change["by"]),
            (&json!("Ana/New name"), &json!("Main - Branch #1"), &json!("sillytavern"))
        );
        assert_whole(&vault, "Ana/New name", "Ana/Main", 10);
        assert!(there(&books[0]));
        tavern.post("api/chats/delete", &json!({"chatfile": "New name.jsonl", "avatar_url": "Ana.png"})).ok();
        let change = events.wait("change", |change| change["what"] == "book" && change["act"] == "deleted");
        assert_eq!((&change["book"], &change["by"]), (&json!(books[0]), &json!("forklore")));
        assert!(!there(&books[0]) && there(&books[1]));
        let operation = next_operation(&tavern, &vault, 3);
        assert!(operation["summary"].as_str().unwrap().contains("deleted in SillyTavern"), "{operation}");
        // Nothing is lost.
        let undone = vault.json(FORKLORE, &["undo"]);
        assert_eq!(undone["restored"], json!([format!("worlds/{}.json", books[0])]));

        // A fork whose book somebody else has come to use goes without it.
        let mut page = tavern.open(Some("Ana"), "Main - Branch #2");
        page[0]["chat_metadata"]["world_info"] = json!(books[2]);
        tavern.save(Some("Ana"), "Main - Branch #2", &page, false).ok();
        let done = operations(&vault);
        tavern.post("api/chats/delete", &json!({"chatfile": "Kept.jsonl", "avatar_url": "Ana.png"})).ok();
        events.wait("change", |change| change["chat"] == "Ana/Kept" && change["act"] == "deleted");
        // What follows comes before what is told next.
        tavern.post("api/worldinfo/edit", &json!({"name": "By hand", "data": {"entries": {}}})).ok();
        events.wait("change", |change| change["book"] == "By hand");
        assert!(there(&books[2]), "another chat is bound to it");
        assert_eq!(operations(&vault), done);

        // A deleted book is named.
        assert_eq!(tavern.post("api/worldinfo/delete", &json!({"name": books[2]})).status, 200);
        events.wait("change", |change| change["what"] == "book" && change["act"] == "deleted");
        let checked = vault.json(FORKLORE, &["check", "Ana/Main - Branch #2"]);
        let codes: Vec<&str> =
            checked["findings"].as_array().unwrap().iter().map(|f| f["code"].as_str().unwrap()).collect();
        assert!(codes.contains(&"BOOK_MISSING"), "{checked}");
        let entered = tavern.engine().query("api/enter", &[("chat", "Ana/Main - Branch #2")]).ok();
        assert_eq!(entered["hold"], true);
        let healed = tavern
            .engine()
            .post("api/heal", &json!({"chat": "Ana/Main - Branch #2", "choose": "rebuild"}))
            .ok();
        assert_eq!(healed["left"], json!([]), "{healed}");

        // The character goes with its chats: so do the books of its forks, and what an extension made for the main chat stays.
        let book = ChatFile::at(&vault, "Ana/Main - Branch #2").book().to_owned();
        assert_eq!(
            tavern
                .post("api/characters/delete", &json!({"avatar_url": "Ana.png", "delete_chats": true}))
                .status,
            200
        );
        events.wait("change", |change| change["what"] == "character");
        tavern.until("the book is gone", || (!there(&book)).then_some(()));
        assert!(there("z-AutoLB-Ana-Main"));
        assert_eq!(vault.json(FORKLORE, &["stories"])["stories"], json!([]));
        uninstall(tavern, &vault);
    });
}

/// `doctor` sees that the plugin is loaded, without being let in.
fn answers(tavern: &Tavern, vault: &TestVault) {
    let (tree, port) = (tavern.tree().display().to_string(), tavern.port().to_string());
    let report = vault.json(FORKLORE, &["doctor", "--sillytavern", &tree, "--port", &port]);
    let plugin =
        report["points"].as_array().unwrap().iter().find(|point| point["about"] == "plugin").unwrap();
    assert_eq!(plugin["health"], "ok", "{plugin:#}");
    assert!(plugin["message"].as_str().unwrap().contains("and answers at port"), "{plugin:#}");
}

/// What was installed can be installed again, and removed, without a trace in the user's settings.
fn uninstall(mut tavern: Tavern, vault: &TestVault) {
    let config = fs::read_to_string(tavern.tree().join("config.yaml")).unwrap();
    let original = fs::read_to_string(tavern.tree().join("default/config.yaml")).unwrap();
    // SillyTavern adds what a newer version needs; what was there stays, with its comments.
    assert!(config.contains("enableServerPlugins: true"));
    assert_eq!(config.matches('#').count(), original.matches('#').count());
    let tree = tavern.tree().to_string_lossy().into_owned();
    let run = |args: &[&str]| -> Value { vault.json(FORKLORE, &[args, &["--sillytavern", &tree]].concat()) };
    let again = run(&["install"]);
    assert_eq!((&again["written"], &again["config"]), (&json!([]), &Value::Null));
    let planned = run(&["uninstall", "--dry-run"]);
    assert!(tavern.tree().join("plugins/forklore/index.js").exists());
    let removed = run(&["uninstall"]);
    assert_eq!(removed["removed"], planned["removed"]);
    assert!(!tavern.tree().join("plugins/forklore").exists());
    let off = config.replace("enableServerPlugins: true", "enableServerPlugins: false");
    // Where there were none before and nobody has changed them, they are gone, too: SillyTavern begins with its own.
    let left = fs::read_to_string(tavern.tree().join("config.yaml")).unwrap_or(original);
    assert_eq!(left, off);
    tavern.restart();
    assert_eq!(tavern.http.get("api/plugins/forklore/plugin").status, 404);
}
