//! Recaps that were wiped and begun anew, and recaps that came from another line.

use forklore_testkit::TestVault;
use forklore_testkit::story::Story;
use serde_json::{Value, json};

use crate::FORKLORE;
use crate::disk::{ChatFile, address, fork};
use crate::remedies::{self, RUNNING, branch_of, findings, keep};

/// Three scenes, at messages 3, 7 and 11.
fn story() -> Story {
    let mut main = remedies::story();
    main.until(12).learn(12, "item-Boat", "Leaks").scene("Three");
    main
}

fn wipe(story: &mut Story) {
    story.metadata_mut()[RUNNING] = json!({"chat_id": "main", "current_version": 0, "versions": []});
}

/// Numbers and scenes of the versions of a running recap, and the one in use.
fn versions(running: &Value) -> (Vec<(i64, i64)>, i64) {
    let all = running["versions"].as_array().unwrap().iter();
    let all = all.map(|v| (v["version"].as_i64().unwrap(), v["new_scene_index"].as_i64().unwrap()));
    (all.collect(), running["current_version"].as_i64().unwrap())
}

/// Auto-Recap wiped the recap of a renamed chat, and the next scene began it anew with version 0. Nothing brought the others back, and
/// what was shown before the wipe was a recap of nothing.
#[test]
fn regression_a_recap_that_was_begun_anew_gets_back_what_it_lost() {
    for from in ["history", "backup", "relative"] {
        let mut main = story();
        let vault = TestVault::new();
        main.save(&vault);
        keep(from, &vault, &main);
        wipe(&mut main);
        main.until(16).learn(13, "item-Sail", "Torn").scene("Four");
        main.save(&vault);
        assert_eq!(versions(&main.metadata()[RUNNING]), (vec![(0, 15)], 0));
        let report = vault.json(FORKLORE, &["check", "Ana/main"]);
        assert_eq!(findings(&report, "RECAP_VERSION_MISSING").len(), 1, "{from}: {report:#}");

        // What is shown is what a fork has, and what healing makes of the chat. What only a relative has kept comes back by healing.
        if from != "relative" {
            let at =
                |n: &str| vault.json(FORKLORE, &["show", "Ana/main", "--at", n])["running_recap"].clone();
            assert_eq!(at("9")["content"], "So far, up to Two", "{from}");
            assert_eq!(
                (&at("13")["current_version"], &at("13")["content"]),
                (&json!(2), &json!("So far, up to Three"))
            );
            assert_eq!(
                (&at("15")["current_version"], &at("15")["content"]),
                (&json!(3), &json!("So far, up to Four"))
            );
            let made = fork(&vault, &["branch", "Ana/main", "--at", "9"]);
            let branch = ChatFile::at(&vault, &address(&made));
            assert_eq!(versions(&branch.metadata()[RUNNING]), (vec![(0, 3), (1, 7)], 1), "{from}");
            assert!(!made["warnings"].to_string().contains("NO_RUNNING_RECAP"), "{from}: {made:#}");
        }

        let before = vault.read("chats/Ana/main.jsonl");
        let healed = vault.json(FORKLORE, &["heal", "Ana/main"]);
        assert!(healed["actions"].to_string().contains("the running recap is back"), "{from}: {healed:#}");
        let now = ChatFile::at(&vault, "Ana/main");
        let whole = vec![(0, 3), (1, 7), (2, 11), (3, 15)];
        assert_eq!(versions(&now.metadata()[RUNNING]), (whole, 3), "{from}");
        assert_eq!(now.metadata()[RUNNING]["versions"][3]["content"], "So far, up to Four");
        let report = vault.json(FORKLORE, &["check", "Ana/main"]);
        assert_eq!(findings(&report, "RECAP_VERSION_MISSING").len(), 0, "{from}: {report:#}");
        assert!(vault.json(FORKLORE, &["heal", "Ana/main"])["operation"].is_null(), "{from}: once is enough");
        assert_eq!(vault.run(FORKLORE, &["undo"]).code, Some(0));
        assert_eq!(vault.read("chats/Ana/main.jsonl"), before, "{from}");
    }
}

/// A version that its owner deleted beside another one of the same scene stays deleted.
#[test]
fn a_version_that_was_deleted_beside_another_stays_deleted() {
    let mut main = story();
    let mut again = main.metadata()[RUNNING]["versions"][2].clone();
    (again["version"], again["content"]) = (json!(3), json!("Told again"));
    again["timestamp"] = json!(again["timestamp"].as_i64().unwrap() + 9_000);
    let running = &mut main.metadata_mut()[RUNNING];
    running["versions"].as_array_mut().unwrap().push(again);
    running["current_version"] = json!(3);
    let vault = TestVault::new();
    main.save(&vault);
    vault.json(FORKLORE, &["watch", "--once"]);
    let running = &mut main.metadata_mut()[RUNNING];
    running["versions"].as_array_mut().unwrap().pop();
    running["current_version"] = json!(2);
    main.save(&vault);
    let shown = vault.json(FORKLORE, &["show", "Ana/main"]);
    assert_eq!(shown["running_recap"]["versions"].as_array().unwrap().len(), 3, "{shown:#}");
    assert!(vault.json(FORKLORE, &["heal", "Ana/main"])["operation"].is_null());
}

/// The only version of a fork was from its parent's future. Healing took it away and left nothing; only healing again brought back what
/// the parent has of the fork's own scenes.
#[test]
fn regression_a_fork_with_nothing_but_the_future_is_healed_at_once() {
    let mut main = story();
    let vault = TestVault::new();
    main.save(&vault);
    let mut branch = branch_of(&main, 9, "main - Branch #1");
    let running = &mut branch.metadata_mut()[RUNNING];
    running["versions"].as_array_mut().unwrap().drain(..2);
    branch.save_chat(&vault);
    main.until(13).save(&vault);
    let healed = vault.json(FORKLORE, &["heal", "Ana/main - Branch #1"]);
    assert!(healed["operation"].is_string(), "{healed:#}");
    let now = ChatFile::at(&vault, "Ana/main - Branch #1");
    assert_eq!(versions(&now.metadata()[RUNNING]), (vec![(0, 3), (1, 7)], 1), "{healed:#}");
    assert!(vault.json(FORKLORE, &["heal", "Ana/main - Branch #1"])["operation"].is_null());
}

fn combined(count: i64, content: &str) -> Value {
    json!({"combined_recap": {"chat_id": "main", "content": content, "message_count": count,
        "timestamp": 1_794_000_000_000_i64 + count}})
}

/// SillyTavern's branch had its parent's combined recap of messages that it lacks. Once it was played on past their number, nobody saw that.
#[test]
fn regression_a_combined_recap_of_the_parents_future_is_found_in_a_fork_that_was_played_on() {
    let vault = TestVault::new();
    let mut main = Story::new("Ana", "main");
    main.until(20).metadata_mut()["auto_recap"] = combined(4, "Up to 3.");
    main.save(&vault);
    vault.json(FORKLORE, &["watch", "--once"]);
    main.metadata_mut()["auto_recap"] = combined(20, "Up to 19: the ship sank.");
    main.save(&vault);
    let mut branch = branch_of(&main, 6, "main - Branch #1");
    for n in 6..30 {
        let mut message = main.messages[n % 2].clone();
        message["mes"] = json!(format!("elsewhere {n}"));
        branch.messages.push(message);
    }
    branch.save_chat(&vault);
    let chat = "Ana/main - Branch #1";
    let found = |chat: &str| findings(&vault.json(FORKLORE, &["check", chat]), "RECAP_FOREIGN").len();
    assert_eq!((found(chat), found("Ana/main")), (1, 0));
    // The last one that fits: history saw it in the parent, before the fork.
    let shown = vault.json(FORKLORE, &["show", chat]);
    assert_ne!(shown["combined_recap"]["message_count"], 20, "{shown:#}");
    let made = fork(&vault, &["branch", chat, "--at", "25"]);
    let file = ChatFile::at(&vault, &address(&made));
    assert_ne!(file.metadata()["auto_recap"]["combined_recap"]["message_count"], 20);
    let healed = vault.json(FORKLORE, &["heal", chat]);
    assert!(healed["actions"].to_string().contains("combined recap"), "{healed:#}");
    let file = ChatFile::at(&vault, chat);
    assert_ne!(file.metadata()["auto_recap"]["combined_recap"]["message_count"], 20);
    assert_eq!(file.metadata()["forklore"]["archive"]["combined"]["content"], "Up to 19: the ship sank.");
    assert_eq!(found(chat), 0);
    // The parent has another one by now; a fork that makes one of its own keeps it.
    let mut branch = Story::open(&vault, chat);
    branch.metadata_mut()["auto_recap"] = combined(28, "Its own.");
    branch.save_chat(&vault);
    assert_eq!(found(chat), 0);
    let shown = vault.json(FORKLORE, &["show", chat]);
    assert_eq!(shown["combined_recap"]["content"], "Its own.");
}

/// The branch that this one was made from is gone: what it has of the chat above that is told by the messages.
#[test]
fn regression_a_combined_recap_from_beyond_a_lost_parent_is_the_branchs() {
    let vault = TestVault::new();
    let mut main = Story::new("Ana", "main");
    main.until(12).metadata_mut()["auto_recap"] = combined(6, "Up to 5.");
    main.save(&vault);
    let mut second = branch_of(&main, 10, "main - Branch #2");
    second.metadata_mut()["main_chat"] = json!("main - Branch #1");
    let mut message = second.messages[1].clone();
    message["mes"] = json!("elsewhere");
    second.messages.push(message);
    second.save_chat(&vault);
    let chat = "Ana/main - Branch #2";
    assert_eq!(findings(&vault.json(FORKLORE, &["check", chat]), "RECAP_FOREIGN").len(), 0);
    assert_eq!(vault.json(FORKLORE, &["show", chat])["combined_recap"]["content"], "Up to 5.");
    // One of more messages than both have is not.
    main.metadata_mut()["auto_recap"] = combined(12, "Up to 11.");
    main.save(&vault);
    second.metadata_mut()["auto_recap"] = combined(12, "Up to 11.");
    for n in 0..4 {
        let mut message = second.messages[n % 2].clone();
        message["mes"] = json!(format!("elsewhere {n}"));
        second.messages.push(message);
    }
    second.save_chat(&vault);
    let found = vault.json(FORKLORE, &["check", chat]);
    let found = findings(&found, "RECAP_FOREIGN");
    assert_eq!(found.len(), 1);
    assert!(found[0]["message"].as_str().unwrap().contains("after message 9 "), "{}", found[0]);
}
