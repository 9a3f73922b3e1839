//! Bringing branches together where it is not simple: nothing in common, old messages that were edited, groups, shared lorebooks, several
//! memory extensions, scenes.

use forklore_testkit::TestVault;
use forklore_testkit::story::Story;
use serde_json::{Value, json};

use crate::disk::{ChatFile, book};
use crate::merge::{change, entries, entry, ok, parted, say};

fn titles(report: &Value, did: &str) -> Vec<String> {
    let taken = report["taken"].as_array().unwrap().iter().filter(|taken| taken["did"] == did);
    taken.map(|taken| taken["title"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn chats_without_anything_in_common_lose_nothing() {
    let vault = TestVault::new()
        .chat("Ana", "One", &json!({"integrity": "a", "world_info": "X"}), &["Sun.", "Moon."])
        .chat("Ana", "Two", &json!({"integrity": "b", "world_info": "Y"}), &["Sand.", "Stone."])
        .book("X", &[("Ned", "A sailor."), ("Sea", "Cold.")])
        .book("Y", &[("Ned", "A thief."), ("Mill", "Old.")]);
    let report = ok(&vault, &["learn", "One", "--from", "Two", "--name", "Both"]);
    assert_eq!(report["base"]["kind"], "none");
    assert_eq!(titles(&report, "added"), ["Mill"]);
    assert_eq!(titles(&report, "removed"), Vec::<String>::new());
    // The same title is one thing, and its text is asked.
    assert_eq!(report["conflicts"][0]["title"], "Ned");
    let held = book(&vault, ChatFile::at(&vault, "Ana/Both").book())["entries"].to_string();
    assert!(held.contains("A sailor.") && held.contains("Cold.") && held.contains("Old."), "{held}");
    let appended = ok(&vault, &["append", "One", "--from", "Two", "--name", "Then"]);
    assert_eq!((&appended["first"], &appended["messages"]), (&json!(0), &json!(4)));
}

#[test]
fn an_old_message_that_was_edited_does_not_part_two_lines() {
    let vault = parted();
    let path = "chats/Ana/Left.jsonl";
    let edited = String::from_utf8(vault.read(path)).unwrap().replace("Who is there?", "Who is it?");
    vault.write(path, edited.as_bytes());
    let report = ok(&vault, &["learn", "Rain", "--from", "Left", "--name", "Both"]);
    assert_eq!(report["base"], json!({"kind": "parted", "message": 2}));
    assert_eq!(titles(&report, "added"), ["Bo"]);
    assert_eq!(ok(&vault, &["append", "Rain", "--from", "Left", "--name", "Then"])["first"], 3);
}

#[test]
fn a_group_goes_on_with_what_its_other_chat_learnt() {
    let vault = TestVault::new().book("Lore", &[("Ned", "A sailor.")]);
    let group =
        json!({"id": "1", "name": "Band", "members": ["Ana.png"], "chat_id": "100", "chats": ["100"]});
    vault.write("groups/1.json", group.to_string().as_bytes());
    let message =
        |text: &str| json!({"name": "Ana", "is_user": false, "send_date": text, "mes": text, "extra": {}});
    let header = json!({"chat_metadata": {"integrity": "g", "world_info": "Lore"}});
    let lines = [header, message("One."), message("Two.")].map(|line| line.to_string()).join("\n");
    vault.write("group chats/100.jsonl", lines.as_bytes());
    ok(&vault, &["branch", "group:1/100", "--name", "Left"]);
    let path = "group chats/Left.jsonl";
    let more = [vault.read(path), format!("\n{}", message("There.")).into_bytes()].concat();
    vault.write(path, &more);
    change(&vault, ChatFile::at(&vault, "group:1/Left").book(), |all| {
        all["9"] = entry(9, "Bo", "A thief.");
    });
    let report = ok(&vault, &["learn", "group:1/100", "--from", "group:1/Left", "--name", "Both"]);
    assert_eq!(titles(&report, "added"), ["Bo"]);
    ok(&vault, &["append", "group:1/100", "--from", "group:1/Left", "--name", "Then"]);
    let now: Value = serde_json::from_slice(&vault.read("groups/1.json")).unwrap();
    assert_eq!(now["chats"], json!(["100", "Left", "Both", "Then"]));
    ok(&vault, &["pick", "group:1/100", "--from", "group:1/Left", "--entry", "Bo", "--yes"]);
    ok(&vault, &["adopt", "group:1/Left"]);
    assert_eq!(ok(&vault, &["adopt", "group:1/100"])["before"], json!(["group:1/Left"]));
}

#[test]
fn a_lorebook_that_both_use_is_not_written() {
    let said = ["Hello.", "Who is there?"];
    let vault = TestVault::new()
        .chat("Ana", "Rain", &json!({"integrity": "a", "world_info": "Lore"}), &said)
        .chat("Ana", "Branch", &json!({"integrity": "b", "world_info": "Lore", "main_chat": "Rain"}), &said)
        .book("Lore", &[("Ned", "A sailor.")]);
    say(&vault, "Branch", &["There."]);
    let before = vault.read("worlds/Lore.json");
    let nothing = ok(&vault, &["learn", "Rain", "--from", "Branch"]);
    assert_eq!(nothing["chat"], Value::Null, "{nothing:#}");
    vault.write(
        "worlds/More.json",
        json!({"entries": {"0": entry(0, "Bo", "A thief.")}}).to_string().as_bytes(),
    );
    let vault = vault.chat("Ana", "Third", &json!({"integrity": "c", "world_info": "More"}), &["Sand."]);
    let report = ok(&vault, &["pick", "Rain", "--from", "Third", "--entry", "Bo", "--yes"]);
    assert_eq!(report["warnings"][0]["code"], "BOOK_LEFT_TO_OTHERS", "{report:#}");
    assert_eq!(vault.read("worlds/Lore.json"), before);
    assert_eq!(ChatFile::at(&vault, "Ana/Branch").book(), "Lore");
}

#[test]
fn a_line_that_is_only_likely_to_be_related_loses_nothing() {
    let said = ["Hello.", "Who is there?", "The rain."];
    let vault = TestVault::new()
        .chat("Ana", "Rain", &json!({"integrity": "a", "world_info": "Lore"}), &said)
        .chat("Ana", "Copy", &json!({"integrity": "b", "world_info": "Own"}), &said)
        .book("Lore", &[("Ned", "A sailor."), ("Sea", "Cold.")])
        .book("Own", &[("Ned", "A sailor."), ("Mill", "Old.")]);
    say(&vault, "Copy", &["There."]);
    say(&vault, "Rain", &["Here."]);
    let report = ok(&vault, &["learn", "Rain", "--from", "Copy", "--name", "Both"]);
    assert_eq!(titles(&report, "removed"), Vec::<String>::new(), "{report:#}");
    let held = entries(&vault, ChatFile::at(&vault, "Ana/Both").book());
    for text in ["Ned: A sailor.", "Sea: Cold.", "Mill: Old."] {
        assert!(held.iter().any(|entry| entry.contains(text)), "{text}: {held:?}");
    }
}

/// A chat that was played with Auto-Recap, and one that was forked from it early.
fn recapped() -> TestVault {
    let vault = TestVault::new();
    let mut story = Story::new("Ana", "main");
    story.until(3).learn(10, "character-Ana", "A girl with a boat.").scene("The harbour");
    story.until(4).save(&vault);
    ok(&vault, &["branch", "Ana/main", "--at", "3", "--name", "Fork"]);
    story.until(6).learn(11, "location-Harbour", "It smells of tar.").scene("The boat");
    story.until(8).save(&vault);
    vault
}

#[test]
fn scenes_come_along_as_entries_that_say_where_they_are_from() {
    let vault = recapped();
    let report =
        ok(&vault, &["learn", "Ana/Fork", "--from", "Ana/main", "--scenes", "all", "--name", "Both"]);
    let scenes: Vec<&Value> =
        report["scenes"].as_array().unwrap().iter().map(|scene| &scene["title"]).collect();
    assert_eq!(scenes, ["From main: The boat"]);
    assert!(titles(&report, "added").contains(&"location-Harbour".to_owned()), "{report:#}");
    let again = ok(&vault, &["learn", "Ana/Both", "--from", "Ana/main", "--scenes", "all"]);
    assert_eq!(again["chat"], Value::Null, "{again:#}");
    let none = vault.json(crate::FORKLORE, &["learn", "Ana/Fork", "--from", "Ana/main", "--scenes", "4"]);
    assert_eq!(none["error"]["code"], "MESSAGE_NOT_FOUND");
}

/// Scenes of messages that are played after a chat's own are in the other line's recap: nothing of this one's is missing.
#[test]
fn regression_appended_scenes_are_no_gap_in_the_recap() {
    let vault = recapped();
    ok(&vault, &["append", "Ana/Fork", "--from", "Ana/main", "--name", "Then"]);
    let findings = ok(&vault, &["check"])["findings"].clone();
    let then = findings.as_array().unwrap().iter().filter(|finding| finding["chat"] == "Ana/Then");
    let codes: Vec<&Value> = then.map(|finding| &finding["code"]).collect();
    assert!(!codes.contains(&&json!("RECAP_VERSION_MISSING")), "{codes:?}");
}

#[test]
fn memories_of_another_extension_come_along_beside_the_own_ones() {
    let vault = recapped();
    let memory = json!({
        "uid": 3, "comment": "[001] The mill", "content": "They met at the mill.", "key": ["mill"],
        "stmemorybooks": true, "STMB_start": 0, "STMB_end": 1,
    });
    vault.write("worlds/Memory.json", json!({"entries": {"3": memory}}).to_string().as_bytes());
    let vault = vault.chat(
        "Ana",
        "Other",
        &json!({"integrity": "o", "world_info": "Memory"}),
        &["Sand.", "The mill."],
    );
    let report = ok(&vault, &["learn", "Ana/Fork", "--from", "Ana/Other", "--name", "Both"]);
    assert_eq!(titles(&report, "added"), ["[001] The mill"], "{report:#}");
    let held = book(&vault, ChatFile::at(&vault, "Ana/Both").book()).to_string();
    assert!(held.contains("They met at the mill.") && held.contains("character-Ana"), "{held}");
    // The messages that it was about are the other line's: here, the extension would take them for summarised.
    assert!(!held.contains("STMB_start") && !held.contains("STMB_end"), "{held}");
    ok(&vault, &["pick", "Ana/Fork", "--from", "Ana/Other", "--entry", "3", "--yes"]);
    let held = book(&vault, ChatFile::at(&vault, "Ana/Fork").book()).to_string();
    assert!(held.contains("They met at the mill.") && held.contains("character-Ana"), "{held}");
    assert!(!held.contains("STMB_start") && !held.contains("STMB_end"), "{held}");
}

const LANTERN: &str = "月見 灯 🏮/月見 灯 🏮 - 2026-11-15@01h10m55s192ms";

/// An extension built the book of "Branch #5" anew, with other fields. That alone is no going on with what was deleted by hand on the other line.
#[test]
fn regression_what_an_extension_only_wrote_down_anew_is_not_asked() {
    let vault = TestVault::real("lantern");
    let (a, b) = (format!("{LANTERN} - Branch #5"), format!("{LANTERN} - Checkpoint #1"));
    let report = ok(&vault, &["learn", &a, "--from", &b, "--dry-run"]);
    assert_eq!(report["conflicts"], json!([]), "{report:#}");
    let gone = titles(&report, "removed");
    assert!(
        gone.contains(&"left bank".to_owned()) && gone.contains(&"rule-Living Names".to_owned()),
        "{gone:?}"
    );
    assert!(titles(&report, "changed").iter().all(|title| title != "character-Rook O'Néill"), "{report:#}");
}

/// What another line wrote into a book does not come along from there as if it had happened: the book is to be healed first, and is looked at as
/// if it were.
#[test]
fn a_branch_that_is_ill_is_to_be_healed_first() {
    let vault = TestVault::real("lantern");
    let b = format!("{LANTERN} - Checkpoint #1");
    let report = ok(&vault, &["learn", LANTERN, "--from", &b, "--dry-run"]);
    assert_eq!(report["heal_first"], json!([b]), "{report:#}");
    assert_eq!(report["warnings"][0]["code"], "HEAL_FIRST");
    // A sibling's, which the extension copied into it.
    assert!(!titles(&report, "added").contains(&"item-鏡 Mirror".to_owned()), "{report:#}");
    let known = |report: &Value| (report["taken"].clone(), report["conflicts"].clone());
    ok(&vault, &["heal", &b, "--choose", "rebuild"]);
    let healed = ok(&vault, &["learn", LANTERN, "--from", &b, "--dry-run"]);
    assert_eq!(healed["heal_first"], json!([]));
    assert_eq!(known(&healed), known(&report), "healed, it says the same");
}
