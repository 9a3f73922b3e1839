//! Every save of a fork, from any page, is made whole before it is written.

use forklore_testkit::TestVault;
use forklore_testkit::story::Story;
use forklore_testkit::tavern::{Tavern, versions};
use serde_json::{Value, json};

use super::{
    add_group, add_story, ana, assert_waits, assert_whole, facts, next_operation, on_each, operations, tavern,
};
use crate::FORKLORE;
use crate::disk::ChatFile;

#[test]
fn every_fork_that_sillytavern_saves_is_whole() {
    on_each("forks", |version| {
        let vault = ana();
        for folder in ["Swipe", "Over", "Queue", "Copy"] {
            add_story(&vault, folder);
        }
        add_group(&vault);
        let tavern = tavern(version, &vault);
        plain(&tavern, &vault);
        another_swipe(&tavern, &vault);
        group(&tavern, &vault);
        overwriting(&tavern, &vault);
        refused(&tavern, &vault);
        no_forks(&tavern, &vault);
        let plugin = tavern.plugin();
        assert_eq!(
            (&plugin["engine"]["state"], &plugin["engine"]["restarts"]),
            (&json!("running"), &json!(0))
        );
    });
}

/// Branches and checkpoints, and what is none.
pub(super) fn plain(tavern: &Tavern, vault: &TestVault) {
    let (parent, parents_book) =
        (vault.read("chats/Ana/Main.jsonl"), vault.read("worlds/z-AutoLB-Ana-Main.json"));

    // A branch at an old message.
    assert_eq!(tavern.fork(Some("Ana"), "Main", 10, "Main - Branch #1").ok(), json!({"ok": true}));
    let operation = next_operation(tavern, vault, 0);
    assert_eq!((&operation["kind"], &operation["chat"]), (&json!("branch"), &json!("Ana/Main - Branch #1")));
    let fork = assert_whole(vault, "Ana/Main - Branch #1", "Ana/Main", 10);
    assert_eq!(facts(vault, fork.book()), ["character-Ben"]);
    assert_eq!(fork.lines.len(), 11);
    assert_eq!(fork.versions(), [0], "the recap of the second scene is not its own");
    assert_eq!(vault.read("worlds/z-AutoLB-Ana-Main.json"), parents_book, "the parent's book is untouched");
    let lines = |bytes: &[u8]| bytes.split(|c| *c == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let (was, is) = (lines(&parent), lines(&vault.read("chats/Ana/Main.jsonl")));
    let changed: Vec<usize> = (0..was.len()).filter(|n| was[*n] != is[*n]).collect();
    assert_eq!((was.len(), changed), (is.len(), vec![11]), "only the message with the link");
    let linked: Value = serde_json::from_slice(&is[11]).unwrap();
    assert_eq!(linked["extra"]["branches"], json!(["Main - Branch #1"]));

    // A checkpoint at the last message, with a name that somebody typed.
    tavern.fork(Some("Ana"), "Main", 25, "Before: the \"storm\"").ok();
    let operation = next_operation(tavern, vault, 1);
    assert_eq!(
        (&operation["kind"], &operation["chat"]),
        (&json!("checkpoint"), &json!("Ana/Before the storm"))
    );
    let kept = assert_whole(vault, "Ana/Before the storm", "Ana/Main", 25);
    assert_eq!(facts(vault, kept.book()), ["character-Ben", "character-Cleo"]);

    // A branch of the branch, which inherits a record that is not its own.
    tavern.fork(Some("Ana"), "Main - Branch #1", 10, "Main - Branch #2").ok();
    next_operation(tavern, vault, 2);
    assert_whole(vault, "Ana/Main - Branch #2", "Ana/Main - Branch #1", 10);

    // What the page does next is no fork: it opens the branch, plays on, and saves.
    let mut page = tavern.open(Some("Ana"), "Main - Branch #1");
    page.push(json!({"name": "Mira", "is_user": true, "is_system": false, "send_date": "2025-11-20T12:00:00.000Z", "mes": "On we go.", "extra": {}}));
    assert_eq!(tavern.save(Some("Ana"), "Main - Branch #1", &page, false).ok(), json!({"ok": true}));
    let after = ChatFile::at(vault, "Ana/Main - Branch #1");
    assert_eq!((after.header, after.lines.len()), (page[0].clone(), 12));
    assert_eq!(vault.json(FORKLORE, &["check", "Ana/Main - Branch #1"])["findings"], json!([]));

    // Nor is a chat that is gone and saved again by a page that still shows it.
    std::fs::remove_file(vault.root().join("chats/Ana/Before the storm.jsonl")).unwrap();
    let page: Vec<Value> = std::iter::once(kept.header.clone())
        .chain(kept.lines.iter().map(|line| serde_json::from_slice(line).unwrap()))
        .collect();
    tavern.save(Some("Ana"), "Before the storm", &page, false).ok();
    assert_eq!(ChatFile::at(vault, "Ana/Before the storm").header, kept.header);
    assert_eq!(operations(vault), 3);

    // Undo takes chat and book back, as if it had been Forklore's own.
    let undone = vault.json(FORKLORE, &["undo"]);
    assert_eq!(undone["removed"].as_array().unwrap().len(), 2, "{undone}");
    assert!(!vault.root().join("chats/Ana/Main - Branch #2.jsonl").exists());
}

/// The page shows another swipe of the last message.
fn another_swipe(tavern: &Tavern, vault: &TestVault) {
    let before = operations(vault);
    let mut page = tavern.open(Some("Swipe"), "Main");
    let told = page[21]["mes"].clone();
    page[21]["swipes"] = json!([told, "Another telling."]);
    page[21]["swipe_id"] = json!(0);
    tavern.save(Some("Swipe"), "Main", &page, false).ok();
    let mut fork = tavern.forked(&page, "Main", 20);
    fork[21]["mes"] = json!("Another telling.");
    fork[21]["swipe_id"] = json!(1);
    // What was told of the other swipe does not come along.
    fork[21]["extra"] = json!({});
    tavern.save(Some("Swipe"), "Main - Branch #1", &fork, false).ok();
    next_operation(tavern, vault, before);
    let file = ChatFile::at(vault, "Swipe/Main - Branch #1");
    assert_eq!(facts(vault, file.book()), ["character-Ben"], "the state before the message");
    // Whoever asks for the log settles what is open, so the operation can be there before the engine has heard that the save is over.
    let told = tavern.until("the engine tells of the fork", || {
        let recent = tavern.engine().get("api/recent").ok();
        Some(recent["forks"][0].clone()).filter(|fork| fork["chat"] == "Swipe/Main - Branch #1")
    });
    assert_eq!((&told["state"], &told["report"]["swipe"]), (&json!("made"), &json!(1)));
}

/// A group forks like anybody.
fn group(tavern: &Tavern, vault: &TestVault) {
    let before = operations(vault);
    // The page lists the new chat before it saves it.
    let mut group: Value = serde_json::from_slice(&vault.read("groups/1.json")).unwrap();
    group["chats"] = json!(["100", "100 - Branch #1"]);
    tavern.post("api/groups/edit", &group).ok();
    tavern.fork(None, "100", 10, "100 - Branch #1").ok();
    let operation = next_operation(tavern, vault, before);
    assert_eq!(operation["chat"], "group:1/100 - Branch #1");
    let fork = assert_whole(vault, "group:1/100 - Branch #1", "group:1/100", 10);
    assert_eq!(facts(vault, fork.book()), ["character-Dora"]);
    let group: Value = serde_json::from_slice(&vault.read("groups/1.json")).unwrap();
    assert_eq!(group["chats"], json!(["100", "100 - Branch #1"]));

    // Deleted in SillyTavern, it loses its book to the trash.
    let book = format!("worlds/{}.json", fork.book());
    tavern.post("api/chats/group/delete", &json!({"id": "100 - Branch #1"})).ok();
    let operation = next_operation(tavern, vault, before + 1);
    assert_eq!(operation["kind"], "delete");
    assert!(!vault.root().join(&book).exists());
    assert_eq!(vault.json(FORKLORE, &["trash"])["items"][0]["path"], json!(book));

    // With the group go the books of its forks, and nobody else's.
    tavern.fork(None, "100", 15, "Kept").ok();
    next_operation(tavern, vault, before + 2);
    let mut group: Value = serde_json::from_slice(&vault.read("groups/1.json")).unwrap();
    group["chats"] = json!(["100", "Kept"]);
    tavern.post("api/groups/edit", &group).ok();
    let book = format!("worlds/{}.json", ChatFile::at(vault, "group:1/Kept").book());
    tavern.post("api/groups/delete", &json!({"id": "1"})).ok();
    next_operation(tavern, vault, before + 3);
    assert!(!vault.root().join(&book).exists());
    assert!(vault.root().join("worlds/z-AutoLB-Ana-Main.json").exists());
}

/// What is overwritten by force goes to the trash first.
fn overwriting(tavern: &Tavern, vault: &TestVault) {
    let before = operations(vault);
    tavern.fork(Some("Over"), "Main", 10, "Kept").ok();
    next_operation(tavern, vault, before);
    let old = vault.read("chats/Over/Kept.jsonl");
    let old_book = ChatFile::at(vault, "Over/Kept").book().to_owned();
    // The page asks first: it is refused, and nothing has happened.
    let page = tavern.forked(&tavern.open(Some("Over"), "Main"), "Main", 20);
    let answer = tavern.save(Some("Over"), "Kept", &page, false);
    assert_eq!((answer.status, answer.json()), (400, json!({"error": "integrity"})));
    assert_eq!((operations(vault), vault.read("chats/Over/Kept.jsonl")), (before + 1, old));
    // The user types OVERWRITE.
    tavern.save(Some("Over"), "Kept", &page, true).ok();
    let operation = next_operation(tavern, vault, before + 2);
    assert_eq!(operation["kind"], "checkpoint");
    let fork = assert_whole(vault, "Over/Kept", "Over/Main", 20);
    assert_eq!(facts(vault, fork.book()), ["character-Ben", "character-Cleo"]);
    let trash = vault.json(FORKLORE, &["trash"]);
    let paths: Vec<&str> =
        trash["items"].as_array().unwrap().iter().map(|item| item["path"].as_str().unwrap()).collect();
    assert!(paths.contains(&"chats/Over/Kept.jsonl"), "{trash}");
    assert!(paths.contains(&&*format!("worlds/{old_book}.json")), "{trash}");

    // A stale page overwrites what somebody else saved: no fork, but nothing is lost either.
    let mut stale = tavern.open(Some("Over"), "Main");
    let newer = vault.read("chats/Over/Main.jsonl");
    stale[0]["chat_metadata"]["integrity"] = json!("an older slug");
    assert_eq!(tavern.save(Some("Over"), "Main", &stale, false).status, 400);
    tavern.save(Some("Over"), "Main", &stale, true).ok();
    next_operation(tavern, vault, before + 3);
    assert_eq!(ChatFile::at(vault, "Over/Main").metadata()["integrity"], "an older slug");
    let restored = vault.json(FORKLORE, &["trash", "restore", "chats/Over/Main.jsonl"]);
    assert_eq!(restored["restored"], "chats/Over/Main (2).jsonl");
    assert_eq!(vault.read("chats/Over/Main (2).jsonl"), newer);
    assert!(vault.root().join("worlds/z-AutoLB-Over-Main.json").exists(), "its book is still in use");
}

/// A refused fork is saved without a book, and finished later.
fn refused(tavern: &Tavern, vault: &TestVault) {
    let mut story = Story::open(vault, "Queue/Main");
    story.queue(&[("generate_scene_recap", "pending")]).save_book(vault);
    let engine = tavern.engine();
    let mut events = engine.events("api/events");

    // The queue is busy: the save passes, the fork waits.
    assert_eq!(tavern.fork(Some("Queue"), "Main", 10, "Main - Branch #1").ok(), json!({"ok": true}));
    let told = events.wait("fork", |fork| fork["state"] == "pending");
    assert_eq!(
        (&told["chat"], &told["refusal"]["code"]),
        (&json!("Queue/Main - Branch #1"), &json!("QUEUE_NOT_EMPTY"))
    );
    assert_waits(vault, "Queue/Main - Branch #1", "QUEUE_NOT_EMPTY");
    let entered = engine.query("api/enter", &[("chat", "Queue/Main - Branch #1")]).ok();
    assert_eq!(
        (&entered["hold"], &entered["pending"]["code"], &entered["questions"][0]["code"]),
        (&json!(true), &json!("QUEUE_NOT_EMPTY"), &json!("PENDING_FORK"))
    );
    let pending = engine.get("api/pending").ok();
    assert_eq!(
        (&pending["forks"][0]["chat"], &pending["forks"][0]["book"]),
        (&json!("Queue/Main - Branch #1"), &json!(story.book_name()))
    );
    // Not yet.
    let report = engine.post("api/pending/finish", &json!({})).ok();
    assert_eq!(
        (&report["finished"], &report["left"][0]["chat"]),
        (&json!([]), &json!("Queue/Main - Branch #1"))
    );
    // The user wants one all the same, and says so before the page saves.
    engine
        .post(
            "api/next-fork",
            &json!({"chat": "Queue/Main", "at": 10, "kind": "checkpoint", "ignore_queue": true}),
        )
        .ok();
    tavern.fork(Some("Queue"), "Main", 10, "Main - Branch #2").ok();
    let told = events.wait("fork", |fork| fork["state"] == "made");
    assert_eq!(
        (&told["report"]["kind"], &told["report"]["warnings"][0]["code"]),
        (&json!("checkpoint"), &json!("QUEUE_IGNORED")),
        "{told}"
    );
    // That held for one fork.
    tavern.fork(Some("Queue"), "Main", 10, "Main - Branch #3").ok();
    events.wait("fork", |fork| fork["state"] == "pending");

    // The queue is done.
    story.queue(&[]).save_book(vault);
    let report = engine.post("api/pending/finish", &json!({"chat": "Queue/Main - Branch #1"})).ok();
    assert_eq!(report["finished"], json!(["Queue/Main - Branch #1"]), "{report}");
    assert_whole(vault, "Queue/Main - Branch #1", "Queue/Main", 10);
    let entered = engine.query("api/enter", &[("chat", "Queue/Main - Branch #1")]).ok();
    assert_eq!(
        (&entered["hold"], &entered["pending"], &entered["ok"]),
        (&json!(false), &Value::Null, &json!(true))
    );

    // A page that has messages which are not saved yet: nobody can tell what was forked.
    let mut page = tavern.open(Some("Queue"), "Main");
    page.push(json!({"name": "Mira", "is_user": true, "is_system": false, "send_date": "2025-11-20T12:00:00.000Z", "mes": "Not saved yet.", "extra": {}}));
    tavern.save(Some("Queue"), "Main - Branch #4", &tavern.forked(&page, "Main", 26), false).ok();
    events.wait("fork", |fork| fork["chat"] == "Queue/Main - Branch #4");
    assert_waits(vault, "Queue/Main - Branch #4", "NOT_SAVED");
    tavern.save(Some("Queue"), "Main", &page, false).ok();
    let report = engine.post("api/pending/finish", &json!({})).ok();
    assert_eq!(report["finished"].as_array().unwrap().len(), 2, "{report}");
    assert_whole(vault, "Queue/Main - Branch #4", "Queue/Main", 26);
}

/// Copies and new chats pass as they are, and so does what makes no sense.
fn no_forks(tavern: &Tavern, vault: &TestVault) {
    let before = operations(vault);
    let page = tavern.open(Some("Copy"), "Main");
    // An import, a restored backup, a chat that becomes a group's: the same slug in another file, and no parent.
    for (folder, name) in [(Some("Copy"), "Copy - imported"), (None, "200")] {
        tavern.save(folder, name, &page, false).ok();
        let address = folder.map_or_else(|| format!("group:-/{name}"), |folder| format!("{folder}/{name}"));
        assert_eq!(ChatFile::at(vault, &address).header, page[0], "{address}");
    }
    // A new chat.
    let fresh = vec![
        json!({"chat_metadata": {"integrity": "fresh"}, "user_name": "unused", "character_name": "unused"}),
        page[1].clone(),
    ];
    tavern.save(Some("Copy"), "Copy - new", &fresh, false).ok();
    assert_eq!(ChatFile::at(vault, "Copy/Copy - new").header, fresh[0]);
    // A fork whose parent is not there cannot be told from anything: it is left alone, and `check` names it.
    let mut orphan = tavern.forked(&page, "Nobody", 10);
    orphan[0]["chat_metadata"]["integrity"] = json!("orphan");
    tavern.save(Some("Copy"), "Orphan", &orphan, false).ok();
    assert_eq!(ChatFile::at(vault, "Copy/Orphan").header, orphan[0]);
    assert_eq!(operations(vault), before);
    // Names that lead elsewhere are SillyTavern's to refuse.
    let save_as = |avatar: &str| {
        let body = json!({"ch_name": "x", "file_name": "Fork", "chat": tavern.forked(&page, "Main", 10), "avatar_url": avatar});
        tavern.post("api/chats/save", &body).status
    };
    for avatar in ["../Ana.png", "/etc/passwd", "Ana/../../x.png"] {
        assert!(save_as(avatar) >= 400, "{avatar}");
    }
    // This one it takes for the folder of all chats. No fork is there.
    let _status = save_as("..png");
    assert_eq!(operations(vault), before);
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
}

#[test]
fn forks_of_the_real_vault_have_what_its_scenes_tell() {
    for version in versions("the real vault").into_iter().take(1) {
        let vault = TestVault::harbor();
        let tavern = tavern(version, &vault);
        for (n, at) in [14, 28].into_iter().enumerate() {
            let name = format!("The Lighthouse Road - Branch #{}", 90 + n);
            tavern.fork(Some("Maren Voss"), "The Lighthouse Road", at, &name).ok();
            next_operation(&tavern, &vault, n);
            let fork = format!("Maren Voss/{name}");
            assert_whole(&vault, &fork, "Maren Voss/The Lighthouse Road", at);
            let shown = vault.json(FORKLORE, &["show", &fork]);
            let then =
                vault.json(FORKLORE, &["show", "Maren Voss/The Lighthouse Road", "--at", &at.to_string()]);
            assert_eq!(shown["running_recap"]["content"], then["running_recap"]["content"]);
            assert_eq!(shown["moment"], then["moment"]);
        }
    }
}
