//! The tests that the seeds ask for, by their names, and the spec's rules for what a fork holds: on small stories that are
//! played as the real extension plays them.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Duration;

use forklore_core::adapter::auto_recap::AutoRecap;
use forklore_core::fork::timed::{Form, entry_hash};
use forklore_json::Raw;
use forklore_testkit::TestVault;
use forklore_testkit::story::{Story, entry, registry_entry};
use serde_json::{Value, json};

use crate::FORKLORE;
use crate::disk::{
    ChatFile, address, book, changed_only, complaints, entries, fork, index_by_text, index_of, path_of,
    refused, unchanged, warnings,
};

/// Scenes of ten messages each, ending at 10, 20, 30 and so on. Scene n tells of the person n and changes the one before.
fn scenes(name: &str, n: usize) -> Story {
    let mut story = Story::new("Ana", name);
    for scene in 1..=n {
        play_scene(&mut story, scene);
    }
    story
}

fn play_scene(story: &mut Story, scene: usize) {
    let uid = 10 + scene as i64;
    story.until(scene * 10 + 1).learn(uid, &format!("character-P{scene}"), &format!("Met in scene {scene}."));
    if scene > 1 {
        let content = format!("Met in scene {}.\nSeen again in scene {scene}.", scene - 1);
        story.learn(uid - 1, &format!("character-P{}", scene - 1), &content);
    }
    story.scene(&format!("Scene {scene}"));
}

fn saved(story: &Story) -> TestVault {
    let vault = TestVault::new();
    story.save(&vault);
    vault
}

/// Titles in a book that stand for persons.
fn people(book: &Value) -> BTreeSet<String> {
    entries(book).into_keys().filter(|title| title.starts_with("character-")).collect()
}

fn persons(numbers: impl Iterator<Item = usize>) -> BTreeSet<String> {
    numbers.map(|n| format!("character-P{n}")).collect()
}

// --- Seed 001, test 1: queue blocking

#[test]
fn seed_001_test_1_queue_blocking() {
    for kind in ["checkpoint", "branch"] {
        for status in ["pending", "in_progress", "retrying"] {
            let mut story = scenes("Main", 2);
            story.queue(&[
                ("generate_scene_recap", status),
                ("combine_scene_with_running", "pending"),
                ("generate_scene_recap", "cancelled"),
            ]);
            let vault = saved(&story);
            for at in ["10", "20"] {
                let error = refused(&vault, &[kind, "Ana/Main", "--at", at], "QUEUE_NOT_EMPTY");
                assert_eq!(error["details"]["count"], 2, "{status}: {error}");
                let types: Vec<&str> =
                    error["details"]["types"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
                for wanted in ["generate_scene_recap", "combine_scene_with_running"] {
                    assert!(types.iter().any(|found| found.starts_with(wanted)), "{status}: {error}");
                }
                let message = error["message"].as_str().unwrap();
                assert!(
                    message.contains("2 operations") && message.contains("generate_scene_recap"),
                    "{message}"
                );
                assert!(error["hint"].as_str().unwrap().contains("--when-ready"), "{error}");
            }
        }
    }
}

#[test]
fn seed_001_test_1_work_that_is_over_does_not_block() {
    let mut story = scenes("Main", 2);
    story.queue(&[("generate_scene_recap", "completed"), ("a", "failed"), ("b", "cancelled")]);
    let vault = saved(&story);
    let report = fork(&vault, &["checkpoint", "Ana/Main"]);
    assert_eq!(queue_of(&book(&vault, ChatFile::at(&vault, &address(&report)).book()))["queue"], json!([]));
    let kept = ChatFile::at(&vault, &address(&report)).metadata()["forklore"]["archive"]["queue"].clone();
    assert!(
        kept.as_str().is_some_and(|text| text.contains("generate_scene_recap")),
        "what was left out is kept: {kept}"
    );
}

fn queue_of(book: &Value) -> Value {
    let queue =
        book["entries"].as_object().unwrap().values().find(|e| e["comment"] == "__operation_queue").unwrap();
    serde_json::from_str(queue["content"].as_str().unwrap()).unwrap()
}

#[test]
fn seed_001_test_1_ignore_queue_forks_without_the_queued_work() {
    let mut story = scenes("Main", 2);
    // Half of the third scene's work is done: an entry is there, its scene is not.
    story
        .until(31)
        .learn(50, "character-Half", "Half written.")
        .queue(&[("update_lorebook_registry", "in_progress")]);
    let vault = saved(&story);
    let before = vault.snapshot();
    let report = fork(&vault, &["branch", "Ana/Main", "--at", "30", "--ignore-queue"]);
    assert!(warnings(&report).contains(&"QUEUE_IGNORED"), "{report}");
    let chat = ChatFile::at(&vault, &address(&report));
    let made = book(&vault, chat.book());
    assert_eq!(people(&made), persons(1..=2), "what precedes the queued work");
    assert!(!index_by_text(&made).contains_key("50"), "registries, too");
    assert_eq!(index_of(chat.metadata()), index_by_text(&made));
    assert_eq!(queue_of(&made)["queue"], json!([]));
    assert_eq!(chat.metadata()["auto_recap_checkpoint_state"]["queue_was_empty"], false);
    assert!(
        chat.metadata()["forklore"]["archive"]["queue"]
            .as_str()
            .unwrap()
            .contains("update_lorebook_registry")
    );
    let (fork_path, book_path) = (path_of(&address(&report)), format!("worlds/{}.json", chat.book()));
    changed_only(&before, &vault, &["chats/Ana/Main.jsonl", &fork_path, &book_path]);
    assert_eq!(complaints(&vault, &address(&report)), []);
}

#[test]
fn seed_001_test_1_when_ready_waits_for_the_queue() {
    let mut story = scenes("Main", 2);
    story.queue(&[("generate_scene_recap", "pending")]);
    let vault = saved(&story);
    let report = std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            vault.run(FORKLORE, &["checkpoint", "Ana/Main", "--at", "20", "--when-ready", "--json"])
        });
        std::thread::sleep(Duration::from_secs(2));
        let early = run.is_finished();
        story.queue(&[]).save_book(&vault);
        let run = run.join().unwrap();
        assert!(!early, "{run}");
        assert_eq!(run.code, Some(0), "{run}");
        serde_json::from_str::<Value>(&run.stdout).unwrap_or_else(|e| panic!("one JSON document, {e}: {run}"))
    });
    let chat = ChatFile::at(&vault, &address(&report));
    assert_eq!(people(&book(&vault, chat.book())), persons(1..=2));
}

// --- Seed 001, test 2: all entries cloned

#[test]
fn seed_001_test_2_all_entries_cloned() {
    let mut story = scenes("Main", 2);
    let mut disabled = entry(40, "The old gate", "Closed for good.");
    disabled["disable"] = json!(true);
    let mut unknown = entry(41, "", "No title, and fields of another extension.");
    unknown["extensions"] = json!({"vendor": {"depth": [1, 2, {"x": null}]}});
    unknown["someFlag"] = json!("kept");
    let mut constant = entry(42, "__index_characters", "[Characters: P1, P2]");
    constant["constant"] = json!(true);
    constant["position"] = json!(6);
    story
        .put("40", disabled)
        .put("41", unknown)
        .put("42", constant)
        .put("43", entry(43, "_registry_lore", "no registry"));
    story.book["extensions"] = json!({"top": "level"});
    story.queue(&[("done", "completed")]);
    let vault = saved(&story);
    let report = fork(&vault, &["checkpoint", "Ana/Main"]);
    assert_eq!(report["book"]["source"]["kind"], "head");
    let chat = ChatFile::at(&vault, &address(&report));
    let (old, new) = (book(&vault, &story.book_name()), book(&vault, chat.book()));
    let count = |book: &Value| book["entries"].as_object().unwrap().len();
    assert_eq!(count(&new), count(&old));
    assert_eq!(report["book"]["entries"], count(&old));
    // Everything but the name of the book and what is in its queue.
    let mut wanted = old;
    wanted["name"] = json!(chat.book());
    let queue = wanted["entries"]
        .as_object_mut()
        .unwrap()
        .values_mut()
        .find(|e| e["comment"] == "__operation_queue")
        .unwrap();
    let (uid, emptied) = (queue["uid"].clone(), queue_of(&new));
    assert_eq!((&emptied["queue"], &emptied["version"]), (&json!([]), &json!(1)));
    queue["content"] = new["entries"][uid.to_string()]["content"].clone();
    assert_eq!(new, wanted);
    for title in [
        "_registry_character",
        "_registry_location",
        "_registry_item",
        "__index_characters",
        "The old gate",
        "",
    ] {
        assert!(entries(&new).contains_key(title), "{title}");
    }
}

#[test]
fn seed_001_test_2_a_book_with_nothing_to_change_is_copied_byte_for_byte() {
    // Number texts, key order, escapes and white space as no JSON library would write them.
    let text = concat!(
        "{ \"zeta\": 1e2,\n\t\"entries\" :{\"7\":{\"content\":\"caf\\u00e9 \\ud83d\",\"uid\":7,\"comment\":\"a\",\"order\":1.50,",
        "\"big\":9007199254740993, \"key\":[ ]},\"2\":{\"uid\":2,\"comment\":\"b\",\"content\":\"\",\"displayIndex\":-0}},\"name\":\"Lore\",\"x\":[1 ,2] }"
    );
    let vault = TestVault::new()
        .chat("Ana", "Main", &json!({"integrity": "a", "world_info": "Lore"}), &["hello", "one", "two"])
        .file("worlds/Lore.json", text.as_bytes());
    let report = fork(&vault, &["branch", "Main"]);
    let name = report["book"]["name"].as_str().unwrap();
    assert_eq!(name, "Lore - Main - Branch #1");
    let wanted = text.replace("\"name\":\"Lore\"", &format!("\"name\":\"{name}\""));
    assert_eq!(String::from_utf8(vault.read(&format!("worlds/{name}.json"))).unwrap(), wanted);
}

// --- Seed 001, test 3: running recap isolation

#[test]
fn seed_001_test_3_running_recap_isolation() {
    // Made at v5, and then the main chat goes on to v10.
    let mut story = scenes("Main", 6);
    let vault = saved(&story);
    let early = fork(&vault, &["checkpoint", "Ana/Main", "--name", "Early"]);
    story = Story::open(&vault, "Ana/Main");
    (7..=11).for_each(|n| play_scene(&mut story, n));
    story.save(&vault);
    // Made at the same message after that.
    let late = fork(&vault, &["checkpoint", "Ana/Main", "--at", "60", "--name", "Late"]);
    for report in [&early, &late] {
        let chat = ChatFile::at(&vault, &address(report));
        let recap = &chat.metadata()["auto_recap_running_scene_recaps"];
        assert_eq!(chat.versions(), [0, 1, 2, 3, 4, 5], "{report}");
        assert_eq!(recap["current_version"], 5);
        assert_eq!(recap["chat_id"], address(report).strip_prefix("Ana/").unwrap());
        assert_eq!(report["running_recap"]["current_version"], 5);
        assert_eq!(complaints(&vault, &address(report)), []);
        assert_eq!(people(&book(&vault, chat.book())), persons(1..=6));
    }
    let archived = |report: &Value| -> Vec<i64> {
        let chat = ChatFile::at(&vault, &address(report));
        let archive =
            chat.metadata()["forklore"]["archive"]["running"].as_array().cloned().unwrap_or_default();
        archive.iter().map(|v| v["version"].as_i64().unwrap()).collect()
    };
    assert_eq!((archived(&early), archived(&late)), (vec![], vec![6, 7, 8, 9, 10]));
    let main = ChatFile::at(&vault, "Ana/Main");
    assert_eq!(main.versions(), (0..=10).collect::<Vec<_>>());
    assert_eq!(main.metadata()["auto_recap_running_scene_recaps"]["current_version"], 10);
}

#[test]
fn a_chosen_older_version_stays_chosen_if_nothing_is_dropped() {
    let mut story = scenes("Main", 3);
    story.metadata_mut()["auto_recap_running_scene_recaps"]["current_version"] = json!(0);
    let vault = saved(&story);
    let report = fork(&vault, &["branch", "Ana/Main"]);
    assert_eq!(report["running_recap"]["current_version"], 0, "version 0 is a real version");
    let past = fork(&vault, &["branch", "Ana/Main", "--at", "20"]);
    assert_eq!(past["running_recap"]["current_version"], 1, "the furthest of those that are left");
    let before = fork(&vault, &["branch", "Ana/Main", "--at", "5"]);
    assert_eq!(
        (&before["running_recap"]["current_version"], &before["running_recap"]["versions"]),
        (&Value::Null, &json!(0))
    );
}

// --- Seed 001, test 4: combined recap

#[test]
fn seed_001_test_4_combined_recap_preservation() {
    let mut story = scenes("Main", 6);
    let recap = json!({"chat_id": "Main", "content": "All of it.", "message_count": 51, "timestamp": 1763632000001i64});
    story.metadata_mut()["auto_recap"] = json!({"enabled": true, "combined_recap": recap});
    let vault = saved(&story);
    for at in [50, 60] {
        let report = fork(&vault, &["checkpoint", "Ana/Main", "--at", &at.to_string()]);
        let chat = ChatFile::at(&vault, &address(&report));
        let kept = &chat.metadata()["auto_recap"]["combined_recap"];
        assert_eq!((&kept["message_count"], &kept["content"]), (&json!(51), &json!("All of it.")), "at {at}");
        assert_eq!(kept["chat_id"], address(&report).strip_prefix("Ana/").unwrap());
        let state = &chat.metadata()["auto_recap_checkpoint_state"];
        assert_eq!(
            (
                &state["combined_recap_content"],
                &state["combined_recap_message_count"],
                &state["combined_recap_timestamp"]
            ),
            (&json!("All of it."), &json!(51), &json!(1763632000001i64))
        );
        assert_eq!(report["combined_recap"]["message_count"], 51);
        assert_eq!(complaints(&vault, &address(&report)), []);
    }
    let report = fork(&vault, &["checkpoint", "Ana/Main", "--at", "49"]);
    let chat = ChatFile::at(&vault, &address(&report));
    assert_eq!(chat.metadata()["auto_recap"], json!({"enabled": true}), "it tells of message 50");
    assert_eq!(chat.metadata()["forklore"]["archive"]["combined"], recap, "and is not lost");
    assert_eq!(chat.metadata()["auto_recap_checkpoint_state"]["combined_recap_message_count"], 0);
    assert_eq!(report["combined_recap"], Value::Null);
}

// --- Seed 001, test 5: complete state restoration

#[test]
fn seed_001_test_5_complete_state_restoration() {
    let story = scenes("Main", 10);
    assert_eq!(story.messages.len(), 101);
    let vault = saved(&story);
    let at_50 = |chat: &str| {
        let shown = vault.json(FORKLORE, &["show", chat, "--at", "50"]);
        let all = shown["book"]["entries"].as_array().unwrap().iter();
        let told: BTreeSet<(String, String)> = all
            .map(|e| (e["comment"].as_str().unwrap().to_owned(), e["content"].as_str().unwrap().to_owned()))
            .filter(|(title, _)| title.starts_with("character-"))
            .collect();
        (told, shown["running_recap"]["current_version"].clone())
    };
    let then = at_50("Ana/Main");
    assert_eq!((then.0.len(), &then.1), (5, &json!(4)));
    let report = fork(&vault, &["branch", "Ana/Main", "--at", "50"]);
    let branch = address(&report);
    let made = ChatFile::at(&vault, &branch);
    assert_eq!(made.lines.len(), 51);
    assert_eq!(people(&book(&vault, made.book())), persons(1..=5));
    let p5 = entries(&book(&vault, made.book()))["character-P5"]["content"].clone();
    assert_eq!(p5, "Met in scene 5.", "as it was then, without what scene 6 adds");
    assert_eq!(index_by_text(&book(&vault, made.book())).len(), 5);

    // Both go on, as the extension would let them.
    let mut main = Story::open(&vault, "Ana/Main");
    play_scene(&mut main, 11);
    main.save(&vault);
    let mut other = Story::open(&vault, &branch);
    other
        .until(61)
        .learn(16, "character-Other", "Only here.")
        .learn(11, "character-P1", "Dead, here.")
        .scene("Elsewhere");
    other.save(&vault);

    let main = ChatFile::at(&vault, "Ana/Main");
    assert_eq!(people(&book(&vault, main.book())), persons(1..=11));
    assert_ne!(entries(&book(&vault, main.book()))["character-P1"]["content"], "Dead, here.");
    assert_eq!(main.versions(), (0..=10).collect::<Vec<_>>());
    let other = ChatFile::at(&vault, &branch);
    let mut wanted = persons(1..=5);
    wanted.insert("character-Other".to_owned());
    assert_eq!(people(&book(&vault, other.book())), wanted);
    assert_eq!(other.versions(), [0, 1, 2, 3, 4, 5]);
    assert_eq!((at_50("Ana/Main"), at_50(&branch)), (then.clone(), then), "the past is the same for both");
    for chat in ["Ana/Main", &branch] {
        assert_eq!(complaints(&vault, chat), [], "{chat}");
    }
}

#[test]
fn contamination_after_the_fork_is_found() {
    let vault = saved(&scenes("Main", 3));
    let report = fork(&vault, &["branch", "Ana/Main", "--at", "10"]);
    // Somebody copies an entry from the parent's future into the fork's book.
    let mut branch = Story::open(&vault, &address(&report));
    let foreign = book(&vault, "z-AutoLB-Ana-Main")["entries"]["13"].clone();
    branch.put("13", foreign).save_book(&vault);
    let found = complaints(&vault, &address(&report));
    assert!(
        found.iter().any(|(code, _, _)| code == "ENTRY_FROM_FUTURE" || code == "ENTRY_FOREIGN"),
        "{found:?}"
    );
}

// --- Seed 002, tests 1, 2 and 5: whose book is whose

#[test]
fn seed_002_test_1_and_2_switching_between_checkpoints_in_any_order() {
    let vault = saved(&scenes("Main", 3));
    let forks: Vec<String> = ["10", "20", "30"]
        .iter()
        .map(|at| address(&fork(&vault, &["checkpoint", "Ana/Main", "--at", at])))
        .collect();
    let mut chats = forks;
    chats.push("Ana/Main".to_owned());
    let of = |chat: &String| ChatFile::at(&vault, chat).book().to_owned();
    let books: BTreeSet<String> = chats.iter().map(of).collect();
    assert_eq!(books.len(), 4, "{books:?}");
    // The extension goes from one to the other and writes in each.
    for i in [0, 1, 3, 2, 0, 3, 1] {
        let before = vault.snapshot();
        let mut here = Story::open(&vault, &chats[i]);
        here.queue(&[("generate_scene_recap", "pending")])
            .put("99", entry(99, "note", &format!("Written in {i}")));
        here.save_book(&vault);
        let path = format!("worlds/{}.json", of(&chats[i]));
        let now = vault.snapshot();
        let touched: Vec<&str> =
            now.iter().filter(|file| !before.contains(file)).map(|(path, _)| path.as_str()).collect();
        assert!(touched.iter().all(|touched| *touched == path), "{touched:?}");
        here.queue(&[]).save_book(&vault);
    }
    for (i, chat) in chats.iter().enumerate() {
        assert_eq!(entries(&book(&vault, &of(chat)))["note"]["content"], format!("Written in {i}"));
        assert_eq!(queue_of(&book(&vault, &of(chat)))["queue"], json!([]));
    }
}

#[test]
fn seed_002_test_5_two_chats_using_one_book() {
    let vault = saved(&scenes("Main", 3));
    let one = address(&fork(&vault, &["checkpoint", "Ana/Main", "--at", "20", "--name", "CP1"]));
    let two = address(&fork(&vault, &["checkpoint", "Ana/Main", "--at", "20", "--name", "CP2"]));
    // By hand, the second is bound to the book of the first.
    let mut bound = Story::open(&vault, &two);
    let shared = ChatFile::at(&vault, &one).book().to_owned();
    bound.metadata_mut()["world_info"] = json!(shared);
    bound.save_chat(&vault);
    let found = complaints(&vault, &two);
    assert!(
        found.iter().any(|(code, severity, _)| code == "BOOK_SHARED" && severity == "error"),
        "{found:?}"
    );
    // A fork of it is isolated all the same.
    let report = fork(&vault, &["branch", &two]);
    let chat = ChatFile::at(&vault, &address(&report));
    assert_ne!(chat.book(), shared);
    assert_eq!(people(&book(&vault, chat.book())), persons(1..=2));
    assert_eq!(complaints(&vault, &address(&report)), []);
}

// --- Seed 003: branch divergence, the recorded state

#[test]
fn seed_003_test_c_branch_divergence() {
    let mut main = scenes("Main", 6);
    let vault = saved(&main);
    let branch = address(&fork(&vault, &["branch", "Ana/Main"]));
    main = Story::open(&vault, "Ana/Main");
    (7..=11).for_each(|n| play_scene(&mut main, n));
    main.save(&vault);
    let mut other = Story::open(&vault, &branch);
    for n in 7..=9 {
        other
            .until(n * 10 + 1)
            .learn(10 + n as i64, &format!("item-Q{n}"), "Found in the branch.")
            .scene(&format!("B{n}"));
    }
    other.save(&vault);
    let current = |chat: &str| {
        ChatFile::at(&vault, chat).metadata()["auto_recap_running_scene_recaps"]["current_version"].clone()
    };
    assert_eq!((current("Ana/Main"), current(&branch)), (json!(10), json!(8)));
    let shown = vault.json(FORKLORE, &["show", &branch]);
    assert_eq!(shown["running_recap"]["content"], "So far, up to B9");
    assert_eq!(
        vault.json(FORKLORE, &["show", "Ana/Main"])["running_recap"]["content"],
        "So far, up to Scene 11"
    );
    for chat in ["Ana/Main", &branch] {
        assert_eq!(complaints(&vault, chat), [], "{chat}");
    }
    // Forks of both at a message that both have: each has its own line's story.
    for (chat, wanted) in [("Ana/Main", "character-P8"), (branch.as_str(), "item-Q8")] {
        let report = fork(&vault, &["checkpoint", chat, "--at", "80"]);
        let made = book(&vault, ChatFile::at(&vault, &address(&report)).book());
        let titles: BTreeSet<String> = entries(&made).into_keys().collect();
        assert!(titles.contains(wanted), "{titles:?}");
        assert!(!titles.iter().any(|t| t.ends_with('9') || t.ends_with("P10")), "{titles:?}");
        let foreign = if chat == "Ana/Main" { "item-Q" } else { "character-P7" };
        assert!(!titles.iter().any(|t| t.starts_with(foreign)), "{titles:?}");
    }
}

#[test]
fn seed_003_checkpoint_state_version_2_has_every_field() {
    let vault = saved(&scenes("Main", 6));
    let parent = ChatFile::at(&vault, "Ana/Main");
    let report = fork(&vault, &["checkpoint", "Ana/Main", "--at", "50", "--name", "Fifty"]);
    let chat = ChatFile::at(&vault, &address(&report));
    let state = &chat.metadata()["auto_recap_checkpoint_state"];
    let line: Value = serde_json::from_slice(&parent.lines[50]).unwrap();
    let running = &chat.metadata()["auto_recap_running_scene_recaps"];
    for (field, wanted) in [
        ("version", json!(2)),
        ("message_id", json!(50)),
        ("chat_id", json!("Fifty")),
        ("queue_was_empty", json!(true)),
        ("has_scene_break", json!(true)),
        ("has_scene_recap", json!(true)),
        ("has_running_recap", json!(true)),
        ("cloned_lorebook_name", json!(chat.book())),
        ("original_lorebook_name", json!("z-AutoLB-Ana-Main")),
        ("running_recap_version", json!(4)),
        ("running_recap_scene_count", json!(5)),
        ("running_recap_versions", running["versions"].clone()),
        ("combined_recap_content", json!("")),
        ("combined_recap_message_count", json!(0)),
        ("combined_recap_timestamp", Value::Null),
        ("scene_break_name", json!("Scene 5")),
        ("scene_recap", line["extra"]["auto_recap_memory"]["scene_recap_memory"].clone()),
        ("warnings", json!([])),
    ] {
        assert_eq!(state.get(field), Some(&wanted), "{field}");
    }
    assert!(state["timestamp"].as_i64().unwrap() > 1_700_000_000_000);
    assert!(state["extension_version"].is_string());
    let metadata = chat.metadata();
    assert_eq!(
        (
            &metadata["checkpoint_lorebook_reconstructed"],
            &metadata["checkpoint_lorebook_entries"],
            &metadata["checkpoint_source_message"]
        ),
        (&json!(true), &report["book"]["entries"], &json!(50))
    );
    // Version 0 is a real version, and a message without any scene has none.
    let zero = fork(&vault, &["checkpoint", "Ana/Main", "--at", "10"]);
    let state = &ChatFile::at(&vault, &address(&zero)).header["chat_metadata"]["auto_recap_checkpoint_state"];
    assert_eq!((&state["has_running_recap"], &state["running_recap_version"]), (&json!(true), &json!(0)));
    let none = fork(&vault, &["checkpoint", "Ana/Main", "--at", "4"]);
    let state = &ChatFile::at(&vault, &address(&none)).header["chat_metadata"]["auto_recap_checkpoint_state"];
    assert_eq!(
        (
            &state["has_running_recap"],
            &state["running_recap_version"],
            &state["has_scene_break"],
            &state["scene_recap"]
        ),
        (&json!(false), &Value::Null, &json!(false), &Value::Null)
    );
    assert!(!state["warnings"].as_array().unwrap().is_empty(), "no scene break here: {state}");
}

#[test]
fn seed_003_legacy_checkpoints_are_handled() {
    // As SillyTavern makes them: the parent's whole metadata, its book, no record.
    let main = scenes("Main", 3);
    let vault = saved(&main);
    let mut legacy = main;
    legacy.name = "Old checkpoint".to_owned();
    legacy.messages.truncate(21);
    legacy.metadata_mut()["main_chat"] = json!("Main");
    legacy.metadata_mut()["integrity"] = json!("another");
    legacy.save_chat(&vault);
    let found: BTreeSet<String> =
        complaints(&vault, "Ana/Old checkpoint").into_iter().map(|(code, _, _)| code).collect();
    assert!(found.contains("BOOK_SHARED") && found.contains("RECAP_FROM_FUTURE"), "{found:?}");
    // An older state of another form in the header is no hindrance, and is not taken for the fork's own.
    legacy.metadata_mut()["auto_recap_checkpoint_state"] =
        json!({"created_at": 5, "lorebook_cloned": true, "original_lorebook": "x", "is_branch": true});
    legacy.save_chat(&vault);
    let report = fork(&vault, &["branch", "Ana/Old checkpoint"]);
    let chat = ChatFile::at(&vault, &address(&report));
    assert_eq!(people(&book(&vault, chat.book())), persons(1..=2));
    assert_eq!(chat.versions(), [0, 1]);
    assert_eq!(chat.metadata()["auto_recap_checkpoint_state"]["version"], 2);
    assert_eq!(chat.metadata()["auto_recap_checkpoint_state"].get("lorebook_cloned"), None);
    assert_eq!(
        (&chat.metadata()["forklore"]["root"], &chat.metadata()["forklore"]["depth"]),
        (&json!("Main"), &json!(2))
    );
    assert_eq!(complaints(&vault, &address(&report)), []);
}

// --- Seed 000: UIDs

#[test]
fn seed_000_uids_gaps_and_timestamps_are_kept() {
    let mut story = Story::new("Ana", "Main");
    // No registry has its usual place; 0 is an ordinary entry; the queue has a time for its number.
    for uid in ["0", "1", "2"] {
        story.entries().remove(uid);
    }
    story.put("5", registry_entry(5, "character", "[Registry: character]"));
    story.until(11).learn(0, "character-Zero", "Number nought.").learn(
        1000,
        "character-Far",
        "A gap before.",
    );
    story.learn(1_763_632_438_061, "character-Time", "Numbered by the clock.").learn(
        1003,
        "character-Gone",
        "To go.",
    );
    for (key, index) in [("0", 17), ("1000", 3), ("1763632438061", 0)] {
        story.entries().get_mut(key).unwrap()["displayIndex"] = json!(index);
    }
    story.forget(1003).scene("First");
    let then = story.entries().clone();
    // A free number is used again by SillyTavern: it is another entry now.
    story
        .until(21)
        .learn(1003, "character-New", "Not yet born.")
        .learn(1000, "character-Far", "Changed.")
        .scene("Second");
    let vault = saved(&story);
    let report = fork(&vault, &["branch", "Ana/Main", "--at", "10"]);
    let chat = ChatFile::at(&vault, &address(&report));
    let made = book(&vault, chat.book());
    let keys: BTreeSet<&String> = made["entries"].as_object().unwrap().keys().collect();
    assert_eq!(keys, then.keys().collect::<BTreeSet<_>>());
    for (key, wanted) in &then {
        assert_eq!(&made["entries"][key], wanted, "{key}");
    }
    let text = String::from_utf8(vault.read(&format!("worlds/{}.json", chat.book()))).unwrap();
    assert!(text.contains("\"uid\": 1763632438061"), "the number as it was written");
    assert_eq!(index_of(chat.metadata()), index_by_text(&made));
    assert_eq!(index_of(chat.metadata()).into_keys().collect::<Vec<_>>(), ["0", "1000", "1763632438061"]);
    assert_eq!(complaints(&vault, &address(&report)), []);
}

#[test]
fn seed_000_cross_contamination_prevention_all_three_registry_syntaxes() {
    let mut story = Story::new("Ana", "Main");
    story.until(11).learn(9, "character-Mara", "Captain.").learn(12, "item-Key", "Brass.");
    let old = "[Registry: character]\n- uid: 9 | name: character-Mara | aliases: mara; captain | synopsis: Says a | b";
    story.put("0", registry_entry(0, "character", old));
    story.put(
        "2",
        registry_entry(2, "item", "[Registry: item]\n- id: 12 | name: item-Key | aliases: — | synopsis: —"),
    );
    story.scene("First");
    story.until(21).scene("Second");
    let vault = saved(&story);
    let report = fork(&vault, &["branch", "Ana/Main", "--at", "10"]);
    let chat = ChatFile::at(&vault, &address(&report));
    let made = entries(&book(&vault, chat.book()));
    assert_eq!(made["_registry_character"]["content"], old, "texts are not rewritten");
    let index = index_of(chat.metadata());
    assert_eq!(
        index["9"],
        json!({"type": "character", "name": "character-Mara", "aliases": ["mara", "captain"], "synopsis": "Says a | b"})
    );
    assert_eq!(index["12"]["name"], "item-Key");
    assert_eq!(complaints(&vault, &address(&report)), []);
}

// --- Concurrency

/// Starts the binary on a vault without waiting for it.
fn start(vault: &TestVault, args: &[&str]) -> std::process::Child {
    Command::new(FORKLORE)
        .env_clear()
        .env("FORKLORE_VAULT", vault.root())
        .env("HOME", vault.root())
        .args(args)
        .arg("--json")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn chats(vault: &TestVault) -> usize {
    vault.snapshot().iter().filter(|(path, _)| path.starts_with("chats/")).count()
}

#[test]
fn concurrent_creation_one_fork_for_every_success() {
    let vault = saved(&scenes("Main", 2));
    let mut made = Vec::new();
    let (mut both, mut one) = (0, 0);
    for round in 0..60 {
        let running = [0, 1].map(|which| {
            // Both at once, and, by turns, more and more one after the other: until there was each.
            std::thread::sleep(Duration::from_millis(which * (round % 2) * round * 15));
            start(&vault, &["checkpoint", "Ana/Main", "--at", "20"])
        });
        let answers = running.map(|child| child.wait_with_output().unwrap());
        let mut successes = 0;
        for output in &answers {
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            if output.status.success() {
                successes += 1;
                made.push(address(&answer));
            } else {
                let code = answer["error"]["code"].as_str().unwrap();
                assert_eq!(code, "BUSY", "{answer}");
            }
        }
        assert!(successes > 0, "somebody gets through: {answers:?}");
        if successes == 2 {
            both += 1;
        } else {
            one += 1;
        }
        assert_eq!(chats(&vault), made.len() + 1);
        if both > 0 && one > 0 {
            break;
        }
    }
    assert!(one > 0 && both > 0, "{both} pairs came one after the other, {one} at once");
    let books: BTreeSet<String> =
        made.iter().map(|chat| ChatFile::at(&vault, chat).book().to_owned()).collect();
    assert_eq!(books.len(), made.len());
    let on_disk = vault.snapshot().iter().filter(|(path, _)| path.starts_with("worlds/")).count();
    assert_eq!(on_disk, made.len() + 1, "no book without its chat");
    for chat in &made {
        assert_eq!(complaints(&vault, chat), []);
    }
}

#[test]
fn concurrent_creation_while_another_holds_the_vault_is_busy() {
    let vault = saved(&scenes("Main", 2));
    let _first = fork(&vault, &["checkpoint", "Ana/Main", "--at", "10"]);
    let lock = std::fs::File::options().write(true).open(vault.root().join(".forklore/lock")).unwrap();
    lock.lock().unwrap();
    for kind in ["checkpoint", "branch"] {
        refused(&vault, &[kind, "Ana/Main", "--at", "20"], "BUSY");
    }
    lock.unlock().unwrap();
    let _second = fork(&vault, &["branch", "Ana/Main", "--at", "20"]);
}

// --- Nesting

#[test]
fn nested_forks_five_deep_each_with_its_own_book() {
    let vault = saved(&scenes("Main", 6));
    let mut parent = "Ana/Main".to_owned();
    let mut books = BTreeSet::from(["z-AutoLB-Ana-Main".to_owned()]);
    for depth in 1..=5usize {
        let at = 60 - 10 * depth;
        let report = fork(&vault, &["branch", &parent, "--at", &at.to_string()]);
        let chat = ChatFile::at(&vault, &address(&report));
        let record = &chat.metadata()["forklore"];
        assert_eq!((&record["root"], &record["depth"]), (&json!("Main"), &json!(depth)));
        assert_eq!(chat.metadata()["main_chat"], parent.strip_prefix("Ana/").unwrap(), "the direct parent");
        assert_eq!(record["parent"]["slug"], ChatFile::at(&vault, &parent).metadata()["integrity"]);
        assert!(books.insert(chat.book().to_owned()), "{} is not new", chat.book());
        assert!(chat.book().len() < 60, "names do not pile up: {}", chat.book());
        assert_eq!(people(&book(&vault, chat.book())), persons(1..=6 - depth), "{depth} deep");
        assert_eq!(chat.versions().len(), 6 - depth);
        parent = address(&report);
    }
    let report = vault.json(FORKLORE, &["check"]);
    assert_eq!(report["ok"], true, "{report}");
    let tree = vault.json(FORKLORE, &["tree"]);
    let chats = tree["stories"][0]["chats"].as_array().unwrap();
    assert!(chats.iter().all(|c| c["book"]["state"] == "own" && c["health"] == "ok"), "{tree}");
}

#[test]
fn a_fork_of_a_fork_whose_parent_is_gone() {
    let vault = saved(&scenes("Main", 3));
    let middle = address(&fork(&vault, &["branch", "Ana/Main", "--at", "20"]));
    std::fs::remove_file(vault.root().join("chats/Ana/Main.jsonl")).unwrap();
    std::fs::remove_file(vault.root().join("worlds/z-AutoLB-Ana-Main.json")).unwrap();
    for (at, known) in [("20", 2), ("14", 1), ("3", 0)] {
        let report = fork(&vault, &["branch", &middle, "--at", at]);
        let chat = ChatFile::at(&vault, &address(&report));
        assert_eq!(people(&book(&vault, chat.book())), persons(1..=known), "at {at}");
        let record = &chat.metadata()["forklore"];
        assert_eq!((&record["root"], &record["depth"]), (&json!("Main"), &json!(2)));
        assert_eq!(complaints(&vault, &address(&report)), []);
    }
}

// --- Books kept by hand

const TEXTS: [&str; 6] = ["hello", "one", "two", "three", "four", "five"];

fn bound(slug: &str, world: &str) -> Value {
    json!({"integrity": slug, "world_info": world})
}

#[test]
fn a_hand_kept_book_of_twenty_stories_stays_shared() {
    let mut vault = TestVault::new().book("World", &[("The sea", "Cold."), ("The hill", "Steep.")]);
    for i in 0..20 {
        let folder = if i == 0 { "Ana".to_owned() } else { format!("Other {i}") };
        let texts: Vec<String> = TEXTS.iter().map(|t| format!("{t} {i}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        vault = vault.chat(&folder, "Main", &bound(&format!("s{i}"), "World"), &texts);
    }
    let before = vault.snapshot();
    let report = fork(&vault, &["branch", "Ana/Main", "--at", "3"]);
    assert!(warnings(&report).contains(&"BOOK_STAYS_SHARED"), "{report}");
    assert_eq!((&report["book"]["name"], &report["book"]["shared"]), (&json!("World"), &json!(true)));
    assert_eq!(ChatFile::at(&vault, &address(&report)).book(), "World");
    changed_only(&before, &vault, &["chats/Ana/Main.jsonl", "chats/Ana/Main - Branch #1.jsonl"]);
    assert_eq!(complaints(&vault, &address(&report)), []);
}

#[test]
fn a_hand_kept_book_of_twenty_forks_is_copied_for_the_next() {
    let mut vault = TestVault::new().book("World", &[("The sea", "Cold."), ("The hill", "Steep.")]);
    vault = vault.chat("Ana", "Main", &bound("m", "World"), &TEXTS);
    for i in 1..20 {
        let mut metadata = bound(&format!("s{i}"), "World");
        metadata["main_chat"] = json!("Main");
        vault = vault.chat("Ana", &format!("Main - Branch #{i}"), &metadata, &TEXTS[..4]);
    }
    let old = vault.read("worlds/World.json");
    let report = fork(&vault, &["branch", "Ana/Main"]);
    assert!(!warnings(&report).contains(&"BOOK_STAYS_SHARED"), "{report}");
    let chat = ChatFile::at(&vault, &address(&report));
    assert_eq!(chat.book(), "World - Main - Branch #20");
    let (mut old_book, new) = (book(&vault, "World"), book(&vault, chat.book()));
    old_book["name"] = json!(chat.book());
    assert_eq!(new, old_book);
    assert_eq!(vault.read("worlds/World.json"), old, "the others' book is not touched");
    assert_eq!(complaints(&vault, &address(&report)), []);

    // Pinned, it stays shared.
    let run = vault.run(FORKLORE, &["config", "books.shared", "--add", "World"]);
    assert_eq!(run.code, Some(0), "{run}");
    let report = fork(&vault, &["branch", "Ana/Main"]);
    assert!(warnings(&report).contains(&"BOOK_STAYS_SHARED"), "{report}");
    assert_eq!(ChatFile::at(&vault, &address(&report)).book(), "World");
}

#[test]
fn a_hand_kept_book_in_the_past_is_a_copy_with_a_warning_and_refused_if_strict() {
    let vault = TestVault::new()
        .chat("Ana", "Main", &bound("m", "World"), &TEXTS)
        .book("World", &[("The sea", "Cold."), ("The hill", "Steep.")]);
    refused(&vault, &["branch", "Main", "--at", "2", "--strict"], "STATE_UNRESOLVABLE");
    let report = fork(&vault, &["branch", "Main", "--at", "2"]);
    assert_eq!(warnings(&report), ["STATE_INEXACT"]);
    assert_eq!(
        (&report["book"]["source"]["kind"], &report["book"]["entries"]),
        (&json!("degraded"), &json!(2))
    );
    assert_ne!(ChatFile::at(&vault, &address(&report)).book(), "World");
}

#[test]
fn a_machine_kept_book_is_never_shared_even_if_pinned() {
    let vault = saved(&scenes("Main", 2));
    let run = vault.run(FORKLORE, &["config", "books.shared", "--add", "z-AutoLB-Ana-Main"]);
    assert_eq!(run.code, Some(0), "{run}");
    let report = fork(&vault, &["branch", "Ana/Main", "--at", "10"]);
    assert_ne!(ChatFile::at(&vault, &address(&report)).book(), "z-AutoLB-Ana-Main");
}

#[test]
fn a_chat_without_a_book_is_forked_without_one() {
    let vault =
        TestVault::new().chat("Ana", "Main", &json!({"integrity": "m", "note_prompt": "Be kind"}), &TEXTS);
    let before = vault.snapshot();
    let report = fork(&vault, &["checkpoint", "Main", "--at", "3"]);
    assert!(warnings(&report).contains(&"NO_LOREBOOK"), "{report}");
    assert_eq!(report["book"]["name"], Value::Null);
    let chat = ChatFile::at(&vault, &address(&report));
    assert_eq!(chat.metadata().get("world_info"), None);
    assert_eq!(chat.metadata()["note_prompt"], "Be kind");
    assert!(
        report["inherited"].as_array().unwrap().contains(&json!("note_prompt")),
        "as of now, and said to be: {report}"
    );
    changed_only(&before, &vault, &["chats/Ana/Main.jsonl", &path_of(&address(&report))]);
    assert_eq!(complaints(&vault, &address(&report)), []);
}

// --- Refusals

#[test]
fn refusals_messages_and_names() {
    let vault = saved(&scenes("Main", 2));
    refused(&vault, &["branch", "Ana/Main", "--at", "21"], "MESSAGE_NOT_FOUND");
    refused(&vault, &["checkpoint", "Ana/Main", "--at", "99999999"], "MESSAGE_NOT_FOUND");
    refused(&vault, &["checkpoint", "Ana/Nobody", "--at", "1"], "CHAT_NOT_FOUND");
    let long = "x".repeat(300);
    for name in ["", "   ", "CON", "con.txt", "..", ".", "///", &long] {
        refused(&vault, &["checkpoint", "Ana/Main", "--at", "1", "--name", name], "INVALID_NAME");
    }
    for name in ["Main", "main", "MAIN", "Ma/in"] {
        refused(&vault, &["branch", "Ana/Main", "--at", "1", "--name", name], "NAME_TAKEN");
    }
    refused(&vault, &["branch", "Ana/Main", "--at", "1", "--swipe", "0"], "SWIPE_NOT_FOUND");
}

#[test]
fn refusals_strict_turns_the_five_requirements_into_refusals() {
    let story = scenes("Main", 2);
    let vault = saved(&story);
    refused(&vault, &["checkpoint", "Ana/Main", "--at", "15", "--strict"], "NO_SCENE_BREAK");
    let report = fork(&vault, &["checkpoint", "Ana/Main", "--at", "15"]);
    assert!(warnings(&report).contains(&"NO_SCENE_BREAK"), "{report}");
    let ok = fork(&vault, &["checkpoint", "Ana/Main", "--at", "10", "--strict"]);
    assert_eq!(warnings(&ok), Vec::<&str>::new());

    let mut no_recap = story.clone();
    no_recap.messages[20]["extra"]["auto_recap_memory"]["scene_recap_memory"] = json!("");
    refused(&saved(&no_recap), &["checkpoint", "Ana/Main", "--at", "20", "--strict"], "NO_SCENE_RECAP");

    let mut not_merged = story.clone();
    not_merged.metadata_mut()["auto_recap_running_scene_recaps"]["versions"].as_array_mut().unwrap().pop();
    not_merged.metadata_mut()["auto_recap_running_scene_recaps"]["current_version"] = json!(0);
    let vault = saved(&not_merged);
    refused(&vault, &["checkpoint", "Ana/Main", "--at", "20", "--strict"], "NO_RUNNING_RECAP");
    assert!(warnings(&fork(&vault, &["checkpoint", "Ana/Main", "--at", "20"])).contains(&"NO_RUNNING_RECAP"));

    let mut no_book = story.clone();
    no_book.metadata_mut().as_object_mut().unwrap().remove("world_info");
    let vault = TestVault::new();
    no_book.save_chat(&vault);
    refused(&vault, &["checkpoint", "Ana/Main", "--at", "20", "--strict"], "NO_LOREBOOK");

    // A hidden break does not count.
    let mut hidden = story.clone();
    hidden.messages[20]["extra"]["auto_recap_memory"]["scene_break_visible"] = json!(false);
    refused(&saved(&hidden), &["checkpoint", "Ana/Main", "--at", "20", "--strict"], "NO_SCENE_BREAK");

    // A scene that kept no snapshot of the lorebook, or an empty one.
    for entries in [json!(null), json!([])] {
        let mut bare = story.clone();
        let versions = &mut bare.messages[20]["extra"]["auto_recap_memory"]["scene_recap_metadata"];
        versions
            .as_object_mut()
            .unwrap()
            .values_mut()
            .for_each(|version| version["allEntries"] = entries.clone());
        let vault = saved(&bare);
        refused(&vault, &["checkpoint", "Ana/Main", "--at", "20", "--strict"], "NO_SCENE_SNAPSHOT");
        assert!(
            warnings(&fork(&vault, &["checkpoint", "Ana/Main", "--at", "20"])).contains(&"NO_SCENE_SNAPSHOT")
        );
    }

    // The same by setting.
    let vault = saved(&story);
    let run = vault.run(FORKLORE, &["config", "checkpoint.require_scene_break", "true"]);
    assert_eq!(run.code, Some(0), "{run}");
    refused(&vault, &["checkpoint", "Ana/Main", "--at", "15"], "NO_SCENE_BREAK");
    // One fork may be looser than the settings.
    let run = vault.run(FORKLORE, &["config", "fork.strict", "true"]);
    assert_eq!(run.code, Some(0), "{run}");
    refused(&vault, &["checkpoint", "Ana/Main", "--at", "15"], "NO_SCENE_BREAK");
    let loose = fork(&vault, &["checkpoint", "Ana/Main", "--at", "15", "--no-strict"]);
    assert!(warnings(&loose).contains(&"NO_SCENE_BREAK"), "{loose}");
}

#[test]
fn refusals_files_that_cannot_be_read() {
    let story = scenes("Main", 2);
    for bytes in [&b"{\"entries\": {"[..], b"", b"[]", b"{\"name\":\"no entries\"}"] {
        let vault = saved(&story);
        vault.write("worlds/z-AutoLB-Ana-Main.json", bytes);
        refused(&vault, &["branch", "Ana/Main", "--at", "10"], "CORRUPT_BOOK");
        refused(&vault, &["branch", "Ana/Main"], "CORRUPT_BOOK");
    }
}

#[test]
fn names_with_odd_characters() {
    let vault = saved(&scenes("Main", 2));
    for (typed, filed) in [
        ("He said \"run\"", "He said run"),
        ("left/right\\up:down", "leftrightupdown"),
        ("emoji 🐉 dragon", "emoji 🐉 dragon"),
        ("漢字の名前", "漢字の名前"),
        ("it's $(echo) `x` & ; 100%", "it's $(echo) `x` & ; 100%"),
        ("-dash", "-dash"),
        ("trailing dots...", "trailing dots..."),
        ("ünïcödé", "ünïcödé"),
    ] {
        let report = fork(&vault, &["checkpoint", "Ana/Main", "--at", "10", &format!("--name={typed}")]);
        assert_eq!(report["chat"], format!("Ana/{filed}"), "{typed}");
        let chat = ChatFile::read(&vault, &format!("chats/Ana/{filed}.jsonl"));
        assert_eq!(people(&book(&vault, chat.book())), persons(1..=1));
        assert_eq!(chat.metadata()["auto_recap_running_scene_recaps"]["chat_id"], filed);
        assert_eq!(vault.json(FORKLORE, &["show", &format!("Ana/{filed}")])["messages"], 11);
        assert_eq!(complaints(&vault, &format!("Ana/{filed}")), []);
        let main = ChatFile::at(&vault, "Ana/Main");
        let line: Value = serde_json::from_slice(&main.lines[10]).unwrap();
        assert_eq!(line["extra"]["bookmark_link"], filed);
    }
}

// --- What else a fork holds

#[test]
fn swipe_changes_only_the_last_line() {
    let mut story = scenes("Main", 2);
    story.until(23);
    let extra = json!({"api": "x", "gold": 9_007_199_254_740_993_i64});
    story.messages[22] = json!({"name": "Ana", "is_user": false, "is_system": false, "mes": "first", "send_date": "2025-11-21T00:00:00.000Z",
        "swipe_id": 0, "swipes": ["first", "second", "third"], "extra": {"api": "shown", "bookmark_link": "elsewhere"},
        "swipe_info": [{"send_date": "2025-11-21T00:00:00.000Z", "extra": {}}, {"send_date": "2025-11-21T00:01:00.000Z", "extra": extra}, {}]});
    let vault = saved(&story);
    let parent = ChatFile::at(&vault, "Ana/Main");
    let report = fork(&vault, &["branch", "Ana/Main", "--at", "22", "--swipe", "1"]);
    assert_eq!(report["swipe"], 1);
    let chat = ChatFile::at(&vault, &address(&report));
    assert!(chat.lines[..22] == parent.lines[..22], "all before it byte for byte");
    let mut wanted: Value = serde_json::from_slice(&parent.lines[22]).unwrap();
    wanted["mes"] = json!("second");
    wanted["swipe_id"] = json!(1);
    wanted["send_date"] = json!("2025-11-21T00:01:00.000Z");
    wanted["extra"] = extra;
    assert_eq!(serde_json::from_slice::<Value>(&chat.lines[22]).unwrap(), wanted);
    assert_eq!(people(&book(&vault, chat.book())), persons(1..=2));
    assert_eq!(complaints(&vault, &address(&report)), []);
    let tree = vault.json(FORKLORE, &["tree"]);
    let node = tree["stories"][0]["chats"]
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["chat"] == address(&report))
        .cloned();
    assert_eq!(node.unwrap()["fork_message"], 22);
    refused(&vault, &["branch", "Ana/Main", "--at", "22", "--swipe", "3"], "SWIPE_NOT_FOUND");
    // The swipe that is shown anyway is the message as it is.
    let same = fork(&vault, &["branch", "Ana/Main", "--at", "22", "--swipe", "0", "--no-link"]);
    let line = ChatFile::at(&vault, "Ana/Main").lines[22].clone();
    assert!(ChatFile::at(&vault, &address(&same)).lines[22] == line);
}

#[test]
fn dry_run_changes_nothing_and_tells_the_plan() {
    let vault = saved(&scenes("Main", 2));
    let before = vault.snapshot();
    let plan = fork(&vault, &["branch", "Ana/Main", "--at", "10", "--dry-run"]);
    unchanged(&before, &vault);
    assert_eq!(plan["operation"], Value::Null);
    let report = fork(&vault, &["branch", "Ana/Main", "--at", "10"]);
    for key in ["kind", "chat", "parent", "at", "moment", "book", "running_recap", "warnings", "files"] {
        assert_eq!(plan[key], report[key], "{key}");
    }
    let before = vault.snapshot();
    let run = vault.run(FORKLORE, &["branch", "Ana/Main", "--at", "10", "--dry-run"]);
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.stdout.contains("Main - Branch #2"), "{run}");
    unchanged(&before, &vault);
    refused(&vault, &["branch", "Ana/Main", "--at", "77", "--dry-run"], "MESSAGE_NOT_FOUND");
}

#[test]
fn settings_by_chat_are_copied_and_all_else_stays() {
    let text = concat!(
        "{\n  \"odd\": 1e2,   \"big\": 9007199254740993,\n  \"extension_settings\": {\n    \"auto_recap_memory\": {\n",
        "      \"chats_enabled\": {\"Main\": true, \"Other\": false},\n",
        "      \"chat_strip_patterns\": {\"Main\": \"set \\\"A\\\"\"},\n",
        "      \"chat_profiles\": {\"Other\": \"no\"},\n",
        "      \"chat_sticky_presets\": {\"Main\": {\"deep\": [1, 2]}},\n",
        "      \"profile\": \"Default\"\n    },\n    \"z\": null\n  }\n}\n"
    );
    let vault = saved(&scenes("Main", 2));
    vault.write("settings.json", text.as_bytes());
    let report = fork(&vault, &["branch", "Ana/Main", "--at", "10", "--name", "New"]);
    assert!(report["files"].as_array().unwrap().contains(&json!("settings.json")));
    let after = String::from_utf8(vault.read("settings.json")).unwrap();
    let mut wanted: Value = serde_json::from_str(text).unwrap();
    let maps = &mut wanted["extension_settings"]["auto_recap_memory"];
    maps["chats_enabled"]["New"] = json!(true);
    maps["chat_strip_patterns"]["New"] = json!("set \"A\"");
    maps["chat_sticky_presets"]["New"] = json!({"deep": [1, 2]});
    assert_eq!(serde_json::from_str::<Value>(&after).unwrap(), wanted);
    // Everything that was there is there, in its place: only three things were put in between.
    let mut rest = after.as_str();
    let mut inserted = 0;
    for part in text.split("}") {
        match rest.find(part) {
            Some(0) => rest = &rest[part.len()..],
            _ => panic!("{part:?} is not where it was in {after}"),
        }
        if !rest.starts_with('}') && !rest.is_empty() {
            let name = rest.find("\"New\"").unwrap();
            assert!(rest[..name].chars().all(|c| c == ',' || c.is_whitespace()), "{rest}");
            inserted += 1;
            // To the end of the object that it was put into.
            let end = if rest[name..].starts_with("\"New\": {") || rest[name..].starts_with("\"New\":{") {
                rest[name..].find('}').unwrap() + name + 1
            } else {
                rest[name..].find('}').unwrap() + name
            };
            rest = &rest[end..];
        }
        rest = rest.strip_prefix('}').unwrap_or(rest);
    }
    assert_eq!(inserted, 3, "{after}");
}

#[test]
fn sticky_and_cooldown_move_to_the_new_book() {
    for form in [Form::Plain, Form::Wrapped(&AutoRecap)] {
        let mut story = scenes("Main", 3);
        let world = story.book_name();
        let old_book = serde_json::to_vec(&story.book).unwrap();
        let hash = |book: &[u8], uid: &str, world: &str| {
            let entry = Raw::parse(book).unwrap().at(&["entries", uid]).unwrap();
            entry_hash(entry, world, form)
        };
        let effect = |uid: &str, start: usize, end: usize| json!({"hash": hash(&old_book, uid, &world), "start": start, "end": end, "protected": false});
        story.metadata_mut()["timedWorldInfo"] = json!({
            "sticky": {format!("{world}.11"): effect("11", 8, 12), format!("{world}.12"): effect("12", 20, 24), "Other book.3": {"hash": 5, "start": 2, "end": 9}},
            "cooldown": {format!("{world}.11"): effect("11", 5, 30), "Other book.4": {"hash": 6, "start": 25, "end": 29}}});
        let vault = saved(&story);
        let report = fork(&vault, &["branch", "Ana/Main", "--at", "10"]);
        let chat = ChatFile::at(&vault, &address(&report));
        let timed = &chat.metadata()["timedWorldInfo"];
        let keys = |kind: &str| timed[kind].as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
        let own = format!("{}.11", chat.book());
        assert_eq!(
            keys("sticky"),
            BTreeSet::from([own.clone(), "Other book.3".to_owned()]),
            "what begins later goes"
        );
        assert_eq!(keys("cooldown"), BTreeSet::from([own.clone()]));
        let new_book = vault.read(&format!("worlds/{}.json", chat.book()));
        let wanted = hash(&new_book, "11", chat.book());
        for kind in ["sticky", "cooldown"] {
            assert_eq!(timed[kind][&own]["hash"], wanted, "{form:?}");
        }
        assert_eq!((&timed["sticky"][&own]["start"], &timed["sticky"][&own]["end"]), (&json!(8), &json!(12)));
        assert_eq!(timed["sticky"]["Other book.3"], json!({"hash": 5, "start": 2, "end": 9}));
    }
}

#[test]
fn pending_work_stays_with_the_parent_and_variables_come_along() {
    let mut story = scenes("Main", 2);
    let pending =
        json!({"entry_1": {"stage": "lorebook_entry_lookup", "timestamp": 5, "entryData": {"comment": "x"}}});
    story.metadata_mut()["autoLorebooks"]["pendingOps"] = pending.clone();
    story.metadata_mut()["note_prompt"] = json!("Rain.");
    story.metadata_mut()["unknown"] = json!({"of": ["another", "extension"]});
    story.metadata_mut()["auto_summarize_operation_queue"] =
        json!({"queue": [{"id": "old", "type": "x", "status": "cancelled"}], "version": 1});
    let vault = saved(&story);
    let report = fork(&vault, &["branch", "Ana/Main", "--at", "10"]);
    let chat = ChatFile::at(&vault, &address(&report));
    let metadata = chat.metadata();
    assert_eq!(metadata["autoLorebooks"]["pendingOps"], json!({}));
    assert_eq!(metadata["forklore"]["archive"]["pending"], pending);
    assert_eq!(metadata["variables"], json!({"gold": "9"}));
    assert_eq!(metadata["note_prompt"], "Rain.");
    assert_eq!(metadata["unknown"], json!({"of": ["another", "extension"]}));
    assert_eq!(metadata["auto_summarize_operation_queue"], json!({"queue": [], "version": 1}));
    assert!(
        metadata["forklore"]["archive"].to_string().contains("\"old\""),
        "no operation is lost: {}",
        metadata["forklore"]["archive"]
    );
    let inherited: Vec<&str> =
        report["inherited"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for key in ["variables", "note_prompt", "unknown"] {
        assert!(inherited.contains(&key), "{inherited:?}");
    }
    let head = fork(&vault, &["branch", "Ana/Main"]);
    assert_eq!(head["inherited"], json!([]), "at the head it is simply what it is");
}

#[test]
fn variables_of_the_past_come_from_a_backup() {
    let mut story = scenes("Main", 2);
    let vault = TestVault::new();
    story.metadata_mut()["variables"] = json!({"gold": "2"});
    let mut old = story.clone();
    old.messages.truncate(12);
    let lines: Vec<String> =
        std::iter::once(&old.header).chain(&old.messages).map(Value::to_string).collect();
    vault.write("backups/chat_ana_20251120-100000.jsonl", lines.join("\n").as_bytes());
    story.metadata_mut()["variables"] = json!({"gold": "9"});
    story.save(&vault);
    let report = fork(&vault, &["branch", "Ana/Main", "--at", "15"]);
    assert_eq!(ChatFile::at(&vault, &address(&report)).metadata()["variables"], json!({"gold": "2"}));
    // It is the nearer of two that do not agree, and that is said.
    assert_eq!(report["inherited"], json!(["variables"]));
    assert!(report["notes"].to_string().contains("The variables are as of message 11"), "{report}");
    let exact = fork(&vault, &["branch", "Ana/Main", "--at", "11"]);
    assert_eq!((&exact["inherited"], &exact["notes"]), (&json!([]), &json!([])));
    let head = fork(&vault, &["branch", "Ana/Main"]);
    assert_eq!(ChatFile::at(&vault, &address(&head)).metadata()["variables"], json!({"gold": "9"}));
}

#[test]
fn an_undated_entry_is_carried_and_marked_or_left_by_setting() {
    let mut story = scenes("Main", 2);
    // Written by hand; no scene tells of it.
    story.until(25).put("70", entry(70, "My own note", "By hand."));
    let vault = saved(&story);
    let carried = fork(&vault, &["branch", "Ana/Main", "--at", "20"]);
    let made = book(&vault, ChatFile::at(&vault, &address(&carried)).book());
    let has = entries(&made).contains_key("My own note");
    let out: Vec<&str> = carried["book"]["left_out"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|e| e["comment"].as_str())
        .collect();
    assert!(has && !out.contains(&"My own note") && carried["book"]["undated"] == 1, "{carried}");
    let run = vault.run(FORKLORE, &["config", "fork.undated", "leave"]);
    assert_eq!(run.code, Some(0), "{run}");
    let left = fork(&vault, &["branch", "Ana/Main", "--at", "20"]);
    let made = book(&vault, ChatFile::at(&vault, &address(&left)).book());
    assert!(!entries(&made).contains_key("My own note"));
    let out: Vec<&str> =
        left["book"]["left_out"].as_array().unwrap().iter().filter_map(|e| e["comment"].as_str()).collect();
    assert!(out.contains(&"My own note"), "{left}");
}

#[test]
fn a_missing_book_is_rebuilt_from_the_scenes() {
    let vault = saved(&scenes("Main", 3));
    std::fs::remove_file(vault.root().join("worlds/z-AutoLB-Ana-Main.json")).unwrap();
    for (at, known) in [("10", 1), ("20", 2), ("30", 3)] {
        let report = fork(&vault, &["branch", "Ana/Main", "--at", at]);
        assert!(warnings(&report).contains(&"BOOK_MISSING"), "{report}");
        let chat = ChatFile::at(&vault, &address(&report));
        let made = book(&vault, chat.book());
        assert_eq!(people(&made), persons(1..=known), "at {at}");
        assert_eq!(index_of(chat.metadata()), index_by_text(&made));
        assert_eq!(complaints(&vault, &address(&report)), [], "at {at}");
    }
}

#[test]
fn links_of_the_parent_are_added_to_and_can_be_left_out() {
    let vault = saved(&scenes("Main", 2));
    for _ in 0..2 {
        fork(&vault, &["branch", "Ana/Main", "--at", "10"]);
    }
    let before = vault.read("chats/Ana/Main.jsonl");
    fork(&vault, &["branch", "Ana/Main", "--at", "10", "--no-link"]);
    assert!(vault.read("chats/Ana/Main.jsonl") == before);
    let line: Value = serde_json::from_slice(&ChatFile::at(&vault, "Ana/Main").lines[10]).unwrap();
    assert_eq!(line["extra"]["branches"], json!(["Main - Branch #1", "Main - Branch #2"]));
    // The fork has the links that the message had when it was made, as in SillyTavern.
    let third: Value =
        serde_json::from_slice(&ChatFile::at(&vault, "Ana/Main - Branch #3").lines[10]).unwrap();
    assert_eq!(third["extra"]["branches"], line["extra"]["branches"]);
}

#[test]
fn a_fork_at_another_swipe_of_a_scenes_end_is_before_that_scene() {
    let mut story = scenes("Main", 2);
    let shown = story.messages[20].clone();
    let other = json!({"send_date": "2025-11-21T00:01:00.000Z", "extra": {"api": "x"}});
    story.messages[20]["swipes"] = json!([shown["mes"], "It went otherwise."]);
    story.messages[20]["swipe_id"] = json!(0);
    story.messages[20]["swipe_info"] =
        json!([{"send_date": shown["send_date"], "extra": shown["extra"]}, other]);
    let vault = saved(&story);
    let report = fork(&vault, &["branch", "Ana/Main", "--at", "20", "--swipe", "1"]);
    let chat = ChatFile::at(&vault, &address(&report));
    assert_eq!(people(&book(&vault, chat.book())), persons(1..=1), "scene 2 is told of the other swipe");
    assert_eq!(chat.versions(), [0]);
    assert_eq!(chat.metadata()["auto_recap_checkpoint_state"]["has_scene_recap"], false);
    assert_eq!(chat.metadata()["auto_recap_checkpoint_state"]["has_scene_break"], false);
    assert_eq!(complaints(&vault, &address(&report)), []);
}

#[test]
fn a_fork_goes_on_and_is_forked_before_and_after_its_own_fork_point() {
    let vault = saved(&scenes("Main", 5));
    let branch = address(&fork(&vault, &["branch", "Ana/Main", "--at", "30"]));
    let mut story = Story::open(&vault, &branch);
    story
        .until(41)
        .learn(14, "item-Lamp", "Found here.")
        .scene("Own")
        .until(45)
        .put("60", entry(60, "note", "By hand."));
    story.save(&vault);
    for (at, wanted) in [
        ("10", &["character-P1"][..]),
        ("25", &["character-P1", "character-P2"]),
        ("35", &["character-P1", "character-P2", "character-P3"]),
        ("40", &["character-P1", "character-P2", "character-P3", "item-Lamp"]),
        ("44", &["character-P1", "character-P2", "character-P3", "item-Lamp", "note"]),
    ] {
        let report = fork(&vault, &["branch", &branch, "--at", at]);
        let chat = ChatFile::at(&vault, &address(&report));
        let made = book(&vault, chat.book());
        let titles: Vec<String> = entries(&made).into_keys().filter(|t| !t.starts_with('_')).collect();
        let undated = at == "40" && titles.contains(&"note".to_owned());
        let titles: Vec<&str> =
            titles.iter().map(String::as_str).filter(|t| !(undated && *t == "note")).collect();
        assert_eq!(titles, wanted, "at {at}");
        assert_eq!(index_of(chat.metadata()), index_by_text(&made), "at {at}");
        assert_eq!(complaints(&vault, &address(&report)), [], "at {at}");
    }
}

#[test]
fn a_fork_of_a_chat_that_says_it_comes_from_a_lost_one_takes_no_ones_place() {
    // Two branches of a chat that is gone: "Main" itself and its first branch's name are still spoken of.
    let main = scenes("Main", 3);
    let vault = TestVault::new();
    for (name, parent, messages) in [("Main - Branch #2", "Main - Branch #1", 25), ("Other", "Main", 21)] {
        let mut chat = main.clone();
        chat.name = name.to_owned();
        chat.messages.truncate(messages);
        chat.metadata_mut()["integrity"] = json!(name);
        chat.metadata_mut()["main_chat"] = json!(parent);
        chat.metadata_mut()["world_info"] = json!(format!("z-AutoLB-Ana-{name}"));
        chat.save(&vault);
    }
    let parents = |vault: &TestVault| -> Vec<(String, Value)> {
        let tree = vault.json(FORKLORE, &["tree"]);
        let chats = tree["stories"][0]["chats"].as_array().unwrap().clone();
        let mut all: Vec<(String, Value)> =
            chats.iter().map(|c| (c["chat"].as_str().unwrap().to_owned(), c["parent"].clone())).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    };
    let before = parents(&vault);
    let mut made = Vec::new();
    for chat in ["Ana/Main - Branch #2", "Ana/Other"] {
        for at in ["20", "10"] {
            made.push(address(&fork(&vault, &["branch", chat, "--at", at])));
        }
    }
    assert!(!made.iter().any(|chat| chat == "Ana/Main" || chat == "Ana/Main - Branch #1"), "{made:?}");
    let after: Vec<(String, Value)> =
        parents(&vault).into_iter().filter(|(chat, _)| !made.contains(chat)).collect();
    assert_eq!(after, before, "nobody gets another parent by it");
}

/// "With a notice and one click to copy."
#[test]
fn a_shared_book_kept_by_hand_is_copied_on_request() {
    let vault = TestVault::new()
        .chat("Ana", "main", &json!({"integrity": "a", "world_info": "World"}), &["hello", "one", "two"])
        .chat("Bo", "other", &json!({"integrity": "b", "world_info": "World"}), &["hi", "there"])
        .book("World", &[("Town", "Rain")]);
    let shared = vault.json(FORKLORE, &["branch", "Ana/main"]);
    assert_eq!(shared["book"]["name"], "World");
    assert!(shared["warnings"].to_string().contains("BOOK_STAYS_SHARED"), "{shared:#}");
    let own = vault.json(FORKLORE, &["branch", "Ana/main", "--copy-book"]);
    assert_eq!(own["book"]["name"], "World - main - Branch #2");
    assert_eq!(own["book"]["entries"], 1);
    assert!(!own["warnings"].to_string().contains("BOOK_STAYS_SHARED"), "{own:#}");
}
