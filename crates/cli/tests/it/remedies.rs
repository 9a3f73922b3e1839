//! What `heal` does about single findings, and what a fork is told of the metadata that it takes along.

use forklore_testkit::TestVault;
use forklore_testkit::story::Story;
use serde_json::{Value, json};

use crate::FORKLORE;
use crate::disk::{ChatFile, address, book, entries, fork};

/// Where Auto-Recap keeps its running recap.
pub(crate) const RUNNING: &str = "auto_recap_running_scene_recaps";

/// Two scenes, at messages 3 and 7.
pub(crate) fn story() -> Story {
    let mut main = Story::new("Ana", "main");
    main.until(4).learn(10, "character-Ana", "A girl").scene("One");
    main.until(8).learn(11, "item-Oar", "Broken").scene("Two");
    main
}

/// A branch as SillyTavern makes it: with the whole header.
pub(crate) fn branch_of(main: &Story, messages: usize, name: &str) -> Story {
    let mut branch = main.clone();
    branch.name = name.to_owned();
    branch.metadata_mut()["main_chat"] = json!(main.name);
    branch.metadata_mut()["integrity"] = json!(format!("slug of {name}"));
    branch.messages.truncate(messages);
    branch
}

/// Lets somebody see a story as it is: history, a backup, or a relative.
pub(crate) fn keep(from: &str, vault: &TestVault, main: &Story) {
    match from {
        "history" => drop(vault.json(FORKLORE, &["watch", "--once"])),
        "backup" => {
            vault.write("backups/chat_ana_20251120-100000.jsonl", &vault.read("chats/Ana/main.jsonl"));
        }
        _ => branch_of(main, main.messages.len(), "main - Branch #1").save_chat(vault),
    }
}

/// The findings of a kind.
pub(crate) fn findings<'a>(report: &'a Value, code: &str) -> Vec<&'a Value> {
    report["findings"].as_array().unwrap().iter().filter(|finding| finding["code"] == code).collect()
}

/// A copy that Forklore made of a book kept by hand is one chat's. SillyTavern's branch of that chat shared it "by choice".
#[test]
fn regression_a_copy_that_forklore_made_is_shared_by_nobody() {
    let texts = ["hello", "one", "two", "three"];
    let vault = TestVault::new()
        .chat("Ana", "main", &json!({"integrity": "a", "world_info": "Notes"}), &texts)
        .book("Notes", &[("Town", "Rain")]);
    let made = vault.json(FORKLORE, &["branch", "Ana/main", "--name", "fork"]);
    let own = made["book"]["name"].as_str().unwrap();
    let mut branch = Story::open(&vault, "Ana/fork");
    branch.name = "fork - Branch #1".to_owned();
    branch.metadata_mut()["main_chat"] = json!("fork");
    branch.metadata_mut()["integrity"] = json!("made by SillyTavern");
    branch.save_chat(&vault);
    let report = vault.json(FORKLORE, &["check"]);
    let shared = findings(&report, "BOOK_SHARED");
    assert_eq!(shared.len(), 1, "{report:#}");
    assert_eq!(
        (&shared[0]["severity"], &shared[0]["chat"]),
        (&json!("error"), &json!("Ana/fork - Branch #1"))
    );
    let healed = vault.json(FORKLORE, &["heal"]);
    assert!(healed["operation"].is_string(), "{healed:#}");
    let bound = ChatFile::at(&vault, "Ana/fork - Branch #1").book().to_owned();
    assert_ne!(bound, own);
    assert_eq!(entries(&book(&vault, &bound)).keys().collect::<Vec<_>>(), ["Town"]);
    assert_eq!(ChatFile::at(&vault, "Ana/fork").book(), own, "the fork keeps what was made for it");
    assert_eq!(findings(&vault.json(FORKLORE, &["check"]), "BOOK_SHARED").len(), 0);
}

/// A book that is kept by hand may be shared. Whoever wants a copy of his own for an old fork says so, and nobody gets one unasked.
#[test]
fn an_old_fork_gets_its_own_copy_of_a_book_kept_by_hand_on_request() {
    let texts = ["hello", "one", "two", "three"];
    let vault = TestVault::new()
        .chat("Ana", "main", &json!({"integrity": "a", "world_info": "Notes"}), &texts)
        .chat(
            "Ana",
            "old",
            &json!({"integrity": "b", "world_info": "Notes", "main_chat": "main"}),
            &texts[..3],
        )
        .book("Notes", &[("Town", "Rain")]);
    let notes = vault.read("worlds/Notes.json");
    for args in [&["heal", "--yes"][..], &["heal", "Ana/old", "--yes"], &["heal", "Ana/old"]] {
        vault.json(FORKLORE, args);
        assert_eq!(ChatFile::at(&vault, "Ana/old").book(), "Notes", "{args:?}");
    }
    let before = vault.snapshot();
    let healed = vault.json(FORKLORE, &["heal", "Ana/old", "--choose", "copy"]);
    assert_eq!(healed["actions"][0]["code"], "BOOK_SHARED_BY_CHOICE", "{healed:#}");
    assert_eq!(healed["actions"][0]["did"], "a copy of its lorebook, for this chat alone: 1 entry");
    let own = ChatFile::at(&vault, "Ana/old").book().to_owned();
    assert_eq!(entries(&book(&vault, &own)).keys().collect::<Vec<_>>(), ["Town"]);
    assert_eq!(ChatFile::at(&vault, "Ana/main").book(), "Notes");
    assert_eq!(vault.read("worlds/Notes.json"), notes, "it was never touched");
    assert_eq!(vault.json(FORKLORE, &["heal", "Ana/old", "--choose", "copy"])["actions"], json!([]));
    assert_eq!(vault.run(FORKLORE, &["undo"]).code, Some(0));
    assert!(vault.snapshot() == before, "undo left something changed");
}

/// One book that cannot be read kept every chat ill.
#[test]
fn regression_one_damaged_book_keeps_nobody_else_ill() {
    let vault = TestVault::new();
    for (n, name) in ["main", "second"].into_iter().enumerate() {
        let mut main = story();
        main.name = name.to_owned();
        main.metadata_mut()["integrity"] = json!(format!("slug {n}"));
        main.metadata_mut()["world_info"] = json!(format!("Book {n}"));
        main.save(&vault);
        branch_of(&main, 5, &format!("{name} - Branch #1")).save_chat(&vault);
    }
    let stem = |name: &str| ChatFile::at(&vault, name).book().to_owned();
    let damaged = stem("Ana/main");
    vault.write(&format!("worlds/{damaged}.json"), b"{\"entries\": {");
    let other = stem("Ana/second");
    let healed = vault.json(FORKLORE, &["heal", "--yes"]);
    let chats: Vec<&str> =
        healed["actions"].as_array().unwrap().iter().map(|action| action["chat"].as_str().unwrap()).collect();
    assert!(chats.contains(&"Ana/second - Branch #1"), "{healed:#}");
    assert_ne!(stem("Ana/second - Branch #1"), other);
    assert_eq!(stem("Ana/main - Branch #1"), damaged, "nothing is known of what it should have");
    assert!(healed["left"].to_string().contains("BOOK_DAMAGED"), "{healed:#}");
}

/// What nobody can attribute is told, in both forms, and stays in the record also when the chat is healed once more.
#[test]
fn regression_what_goes_into_quarantine_is_told_and_kept() {
    let vault = TestVault::new();
    let mut main = Story::new("Ana", "main");
    main.until(3).learn(10, "character-Ana", "A girl").scene("One").until(6).learn(11, "item-Oar", "Broken");
    main.save(&vault);
    let mut branch = branch_of(&main, 4, "main - Branch #1");
    branch.until(5).save_chat(&vault);
    let told = vault.run(FORKLORE, &["heal", "--dry-run", "--choose", "rebuild"]);
    assert!(told.stdout.contains("1 entry that nobody can attribute stays where it is"), "{told}");
    let healed = vault.json(FORKLORE, &["heal", "--choose", "rebuild"]);
    let expected = json!([{
        "chat": "Ana/main - Branch #1", "book": main.book_name(), "uid": 11, "comment": "item-Oar"
    }]);
    assert_eq!(healed["quarantined"], expected, "{healed:#}");
    let chat = || ChatFile::at(&vault, "Ana/main - Branch #1");
    std::fs::remove_file(vault.root().join(format!("worlds/{}.json", chat().book()))).unwrap();
    let again = vault.json(FORKLORE, &["heal", "--choose", "rebuild"]);
    assert!(again["operation"].is_string(), "{again:#}");
    assert_eq!(chat().metadata()["forklore"]["quarantine"][0]["content"], "Broken");
}

/// Auto-Recap's editor can store a version without a text and put it in use. The plan of a fork named the last whole one, its file did not.
#[test]
fn regression_a_version_without_a_text_is_in_use_nowhere() {
    for content in [Value::Null, json!(""), json!(" \n")] {
        let mut main = story();
        let versions = main.metadata_mut()[RUNNING]["versions"].as_array_mut().unwrap();
        let mut empty = versions.last().unwrap().clone();
        let last = empty["version"].as_i64().unwrap();
        empty["version"] = json!(last + 3);
        empty["content"] = content.clone();
        versions.push(empty);
        main.metadata_mut()[RUNNING]["current_version"] = json!(last + 3);
        let vault = TestVault::new();
        main.save(&vault);
        let report = vault.json(FORKLORE, &["check", "Ana/main"]);
        assert_eq!(findings(&report, "RECAP_VERSION_MISSING").len(), 1, "{content}: {report:#}");
        let made = fork(&vault, &["branch", "Ana/main"]);
        assert_eq!(made["running_recap"]["current_version"], last, "{content}");
        let file = ChatFile::at(&vault, &address(&made));
        assert_eq!(file.metadata()[RUNNING]["current_version"], last, "{content}");
        let healed = vault.json(FORKLORE, &["heal", "Ana/main"]);
        assert!(healed["operation"].is_string(), "{healed:#}");
        assert_eq!(
            ChatFile::at(&vault, "Ana/main").metadata()[RUNNING]["current_version"],
            last,
            "{content}"
        );
        assert_eq!(findings(&vault.json(FORKLORE, &["check", "Ana/main"]), "RECAP_VERSION_MISSING").len(), 0);
    }
}

/// A rename in SillyTavern makes Auto-Recap forget the running recap. History has seen it, a backup has it, or a relative.
#[test]
fn regression_a_wiped_running_recap_comes_back() {
    for from in ["history", "backup", "relative"] {
        let mut main = story();
        let vault = TestVault::new();
        main.save(&vault);
        keep(from, &vault, &main);
        let running = main.metadata()[RUNNING].clone();
        main.metadata_mut()[RUNNING] = json!({"chat_id": "main", "current_version": 0, "versions": []});
        main.save(&vault);
        let report = vault.json(FORKLORE, &["check", "Ana/main"]);
        assert_eq!(findings(&report, "RECAP_VERSION_MISSING").len(), 1, "{from}: {report:#}");
        let before = vault.read("chats/Ana/main.jsonl");
        let healed = vault.json(FORKLORE, &["heal", "Ana/main"]);
        assert!(healed["actions"].to_string().contains("RECAP_VERSION_MISSING"), "{from}: {healed:#}");
        let now = ChatFile::at(&vault, "Ana/main");
        assert_eq!(now.metadata()[RUNNING]["versions"], running["versions"], "{from}");
        assert_eq!(now.metadata()[RUNNING]["current_version"], running["current_version"], "{from}");
        assert_eq!(now.metadata()[RUNNING]["chat_id"], "main", "{from}");
        assert_eq!(findings(&vault.json(FORKLORE, &["check", "Ana/main"]), "RECAP_VERSION_MISSING").len(), 0);
        assert_eq!(vault.run(FORKLORE, &["undo"]).code, Some(0));
        assert_eq!(vault.read("chats/Ana/main.jsonl"), before, "{from}");
    }
}

fn with_combined(main: &mut Story, count: i64, content: &str) {
    main.metadata_mut()["auto_recap"] =
        json!({"enabled": true, "combined_recap": {"content": content, "message_count": count}});
}

#[test]
fn a_combined_recap_from_the_future_is_found_and_put_aside() {
    let mut main = story();
    with_combined(&mut main, 8, "All of it.");
    let vault = TestVault::new();
    main.save(&vault);
    assert_eq!(findings(&vault.json(FORKLORE, &["check"]), "RECAP_FROM_FUTURE").len(), 0);
    with_combined(&mut main, 60, "More than there is.");
    main.save(&vault);
    let report = vault.json(FORKLORE, &["check"]);
    assert_eq!(findings(&report, "RECAP_FROM_FUTURE").len(), 1, "{report:#}");
    let healed = vault.json(FORKLORE, &["heal", "Ana/main"]);
    assert!(healed["actions"].to_string().contains("combined recap"), "{healed:#}");
    let main = ChatFile::at(&vault, "Ana/main");
    assert_eq!(main.metadata()["auto_recap"], json!({"enabled": true}));
    let kept = &main.metadata()["forklore"]["archive"]["combined"]["content"];
    assert_eq!(kept, "More than there is.", "put aside is not thrown away");
    assert_eq!(findings(&vault.json(FORKLORE, &["check"]), "RECAP_FROM_FUTURE").len(), 0);
}

#[test]
fn a_combined_recap_that_tells_the_same_messages_otherwise_is_found() {
    let mut main = story();
    with_combined(&mut main, 5, "All of it.");
    let vault = TestVault::new();
    main.save(&vault);
    let made = address(&fork(&vault, &["branch", "Ana/main", "--at", "6"]));
    assert_eq!(findings(&vault.json(FORKLORE, &["check", &made]), "BASELINE_CHANGED").len(), 0);
    let mut played = Story::open(&vault, &made);
    played.until(9);
    with_combined(&mut played, 9, "It went on.");
    played.save_chat(&vault);
    assert_eq!(
        findings(&vault.json(FORKLORE, &["check", &made]), "BASELINE_CHANGED").len(),
        0,
        "it was played on"
    );
    with_combined(&mut played, 5, "Something else.");
    played.save_chat(&vault);
    let report = vault.json(FORKLORE, &["check", &made]);
    assert_eq!(findings(&report, "BASELINE_CHANGED").len(), 1, "{report:#}");
}

/// What `heal` puts aside was lost where the chat got no new record: in a chat that is no fork, and in a fork that Forklore made itself.
#[test]
fn regression_what_heal_puts_aside_is_kept_without_a_new_record_too() {
    let vault = TestVault::new();
    story().save(&vault);
    let made = address(&fork(&vault, &["branch", "Ana/main", "--at", "4"]));
    for chat in ["Ana/main", &made] {
        let mut played = Story::open(&vault, chat);
        let own = played.metadata()["forklore"].clone();
        let versions = played.metadata_mut()[RUNNING]["versions"].as_array_mut().unwrap();
        let mut future = versions.last().unwrap().clone();
        future["version"] = json!(77);
        future["new_scene_index"] = json!(500);
        versions.push(future.clone());
        played.metadata_mut()[RUNNING]["current_version"] = json!(77);
        played.save_chat(&vault);
        let healed = vault.json(FORKLORE, &["heal", chat]);
        assert!(healed["actions"].to_string().contains("RECAP_FROM_FUTURE"), "{chat}: {healed:#}");
        let file = ChatFile::at(&vault, chat);
        assert!(!file.metadata()[RUNNING].to_string().contains("500"), "{chat}");
        let kept = file.metadata()["forklore"]["archive"]["running"].as_array().cloned().unwrap_or_default();
        assert!(kept.contains(&future), "{chat}: {:#}", file.metadata()["forklore"]);
        assert_eq!(file.metadata()["forklore"]["book"], own["book"], "{chat}: the record is what it was");
    }
}

/// Every key of a header, whoever wrote it, is as a backup tells; what came later is not there, and what went since is.
#[test]
fn a_backup_tells_every_key_of_the_header() {
    let then = json!({
        "persona": "ash.png", "quickReply": {"a": 1}, "scenario": "Rain", "unknown_extension": [1, 2.50],
        "gone_since": true, "note_prompt": "Slowly."
    });
    let now = json!({
        "persona": "elm.png", "quickReply": {"a": 2}, "scenario": "Sun", "unknown_extension": [3],
        "came_later": 1, "note_prompt": "Fast."
    });
    let put = |story: &mut Story, keys: &Value| {
        story.metadata_mut().as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    };
    let mut main = story();
    let vault = TestVault::new();
    let mut old = main.clone();
    put(&mut old, &then);
    old.messages.truncate(5);
    let lines: Vec<String> =
        std::iter::once(&old.header).chain(&old.messages).map(Value::to_string).collect();
    vault.write("backups/chat_ana_20251120-100000.jsonl", lines.join("\n").as_bytes());
    put(&mut main, &now);
    main.save(&vault);
    vault.json(FORKLORE, &["watch", "--once"]);
    let made = fork(&vault, &["branch", "Ana/main", "--at", "4"]);
    let file = ChatFile::at(&vault, &address(&made));
    for (key, value) in then.as_object().unwrap() {
        assert_eq!(&file.metadata()[key], value, "{key}");
    }
    assert!(file.metadata().get("came_later").is_none());
    assert_eq!(made["inherited"], json!([]));
    assert_eq!(made["notes"], json!([]));
}

/// What is taken from now because nothing tells how it was is said in words.
#[test]
fn what_is_todays_is_said_in_words() {
    let mut main = story();
    main.metadata_mut()["note_prompt"] = json!("Slowly.");
    main.metadata_mut()["variables"] = json!({"gold": "2"});
    let vault = TestVault::new();
    main.save(&vault);
    let said = "The author's note and variables are today's: nothing tells what they were at message 5.";
    let planned = vault.json(FORKLORE, &["branch", "Ana/main", "--at", "5", "--dry-run"]);
    assert_eq!(planned["notes"], json!([said]));
    let told = vault.run(FORKLORE, &["branch", "Ana/main", "--at", "5", "--dry-run"]);
    assert!(told.stdout.split_whitespace().collect::<Vec<_>>().join(" ").contains(said), "{told}");
    // History begins now. What it saw first is better than what is there later.
    vault.json(FORKLORE, &["watch", "--once"]);
    main.metadata_mut()["variables"] = json!({"gold": "9"});
    main.until(12).save(&vault);
    let made = fork(&vault, &["branch", "Ana/main", "--at", "5"]);
    assert_eq!(ChatFile::at(&vault, &address(&made)).metadata()["variables"], json!({"gold": "2"}));
    let notes = made["notes"].to_string();
    assert!(notes.contains("when Forklore first saw this chat"), "{notes}");
    let shown = vault.json(FORKLORE, &["show", "Ana/main", "--at", "5"]);
    assert_eq!(shown["metadata"], json!({"source": "first", "message": 7, "variables": {"gold": "2"}}));
}
