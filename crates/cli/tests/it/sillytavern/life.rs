//! What SillyTavern does by itself is heard of: deletions, new names, books, and what follows from them.

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
        let mut events = tavern.engine().events("api/events");
        for (n, name) in ["Main - Branch #1", "Main - Branch #2", "Kept"].into_iter().enumerate() {
            let _ = tavern.fork(Some("Ana"), "Main", 10, name).ok();
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
        let _ = tavern
            .post("api/chats/delete", &json!({"chatfile": "New name.jsonl", "avatar_url": "Ana.png"}))
            .ok();
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
        let _ = tavern.save(Some("Ana"), "Main - Branch #2", &page, false).ok();
        let done = operations(&vault);
        let _ =
            tavern.post("api/chats/delete", &json!({"chatfile": "Kept.jsonl", "avatar_url": "Ana.png"})).ok();
        events.wait("change", |change| change["chat"] == "Ana/Kept" && change["act"] == "deleted");
        // What follows comes before what is told next.
        let _ = tavern.post("api/worldinfo/edit", &json!({"name": "By hand", "data": {"entries": {}}})).ok();
        events.wait("change", |change| change["book"] == "By hand");
        assert!(there(&books[2]), "another chat is bound to it");
        assert_eq!(operations(&vault), done);

        // A deleted book is named.
        let _ = tavern.post("api/worldinfo/delete", &json!({"name": books[2]})).status;
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
        let _ = tavern
            .post("api/characters/delete", &json!({"avatar_url": "Ana.png", "delete_chats": true}))
            .status;
        events.wait("change", |change| change["what"] == "character");
        tavern.until("the book is gone", || (!there(&book)).then_some(()));
        assert!(there("z-AutoLB-Ana-Main"));
        assert_eq!(vault.json(FORKLORE, &["stories"])["stories"], json!([]));
    });
}

#[test]
fn copies_and_new_chats_pass_as_they_are() {
    on_each("copies", |version| {
        let vault = ana();
        let tavern = tavern(version, &vault);
        let page = tavern.open(Some("Ana"), "Main");
        // An import, a restored backup, a chat that becomes a group's: the same slug in another file, and no parent.
        for (folder, name) in [(Some("Ana"), "Ana - imported"), (None, "200")] {
            let _ = tavern.save(folder, name, &page, false).ok();
            let address =
                folder.map_or_else(|| format!("group:-/{name}"), |folder| format!("{folder}/{name}"));
            assert_eq!(ChatFile::at(&vault, &address).header, page[0], "{address}");
        }
        // A new chat.
        let fresh = vec![
            json!({"chat_metadata": {"integrity": "fresh"}, "user_name": "unused", "character_name": "unused"}),
            page[1].clone(),
        ];
        let _ = tavern.save(Some("Ana"), "Ana - new", &fresh, false).ok();
        assert_eq!(ChatFile::at(&vault, "Ana/Ana - new").header, fresh[0]);
        // A fork whose parent is not there cannot be told from anything: it is left alone, and `check` names it.
        let mut orphan = tavern.forked(&page, "Nobody", 10);
        orphan[0]["chat_metadata"]["integrity"] = json!("orphan");
        let _ = tavern.save(Some("Ana"), "Orphan", &orphan, false).ok();
        assert_eq!(ChatFile::at(&vault, "Ana/Orphan").header, orphan[0]);
        assert_eq!(operations(&vault), 0);
        // Names that lead elsewhere are SillyTavern's to refuse.
        for avatar in ["../Ana.png", "..png", "/etc/passwd", "Ana/../../x.png"] {
            let body = json!({"ch_name": "x", "file_name": "Fork", "chat": tavern.forked(&page, "Main", 10), "avatar_url": avatar});
            assert!(tavern.post("api/chats/save", &body).status >= 400, "{avatar}");
        }
        for body in [
            json!({}),
            json!({"chat": []}),
            json!({"chat": [null]}),
            json!({"chat": "x", "file_name": "y"}),
            Value::Null,
        ] {
            let _status = tavern.post("api/chats/save", &body).status;
            let _status = tavern.post("api/chats/group/save", &body).status;
            let _status = tavern.post("api/chats/delete", &body).status;
        }
        let plugin = tavern.plugin();
        assert_eq!(
            (&plugin["engine"]["state"], &plugin["engine"]["restarts"]),
            (&json!("running"), &json!(0))
        );
    });
}
