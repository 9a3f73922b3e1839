//! Books that no scene tells of: kept by hand, by MemoryBooks, shared by choice, bound elsewhere too.

use forklore_testkit::TestVault;
use serde_json::{Value, json};

use crate::{FORKLORE, titles};

fn codes(report: &Value) -> Vec<(String, String)> {
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .map(|f| (f["code"].as_str().unwrap().to_owned(), f["severity"].as_str().unwrap().to_owned()))
        .collect()
}

const TEXTS: [&str; 8] = ["hello", "one", "two", "three", "four", "five", "six", "seven"];

#[test]
fn a_book_kept_by_hand_is_shown_as_it_is_with_a_warning_for_the_past() {
    let vault = TestVault::new()
        .chat("Ana", "Rain", &json!({"integrity": "a", "world_info": "Lore"}), &TEXTS)
        .chat(
            "Ana",
            "Rain - Branch #1",
            &json!({"integrity": "b", "world_info": "Lore", "main_chat": "Rain"}),
            &TEXTS[..5],
        )
        .book("Lore", &[("The sea", "Cold."), ("The hill", "Steep.")]);
    for chat in ["Ana/Rain", "Ana/Rain - Branch #1"] {
        let now = vault.json(FORKLORE, &["show", chat]);
        assert_eq!((titles(&now).len(), &now["book"]["source"]["kind"]), (2, &json!("head")), "{chat}");
        let past = vault.json(FORKLORE, &["show", chat, "--at", "2"]);
        assert_eq!((titles(&past).len(), &past["book"]["source"]["kind"]), (2, &json!("degraded")), "{chat}");
        assert_eq!(past["warnings"][0]["code"], "STATE_INEXACT");
        assert!(past["book"]["entries"].as_array().unwrap().iter().all(|e| e["undated"] == true));
    }
    let report = vault.json(FORKLORE, &["check"]);
    assert_eq!(report["ok"], true);
    assert!(codes(&report).contains(&("BOOK_SHARED_BY_CHOICE".into(), "info".into())));
}

fn memory(uid: i64, end: i64, chat: &str) -> Value {
    json!({"uid": uid, "comment": format!("{uid:03} - Memory"), "content": format!("up to {end}"), "key": [],
        "stmemorybooks": true, "STMB_start": end - 1, "STMB_end": end, "STMB_chatId": chat})
}

#[test]
fn memories_belong_to_the_messages_they_were_made_from() {
    let book =
        json!({"entries": {"0": memory(0, 1, "Rain"), "1": memory(1, 3, "Rain"), "2": memory(2, 6, "Rain")}});
    let vault = TestVault::new()
        .chat("Ana", "Rain", &json!({"integrity": "a", "world_info": "LTM"}), &TEXTS)
        .file("worlds/LTM.json", book.to_string().as_bytes());
    for (at, count) in [(0, 0), (1, 1), (4, 2), (6, 3), (7, 3)] {
        let shown = vault.json(FORKLORE, &["show", "Rain", "--at", &at.to_string()]);
        assert_eq!(titles(&shown).len(), count, "at {at}");
    }
}

#[test]
fn a_copied_memory_book_knows_the_future() {
    // MemoryBooks copies the whole book into a branch and only rewrites the chat's name in it.
    let name = "Rain - Branch #1";
    let copy =
        json!({"entries": {"0": memory(0, 1, name), "1": memory(1, 3, name), "2": memory(2, 6, name)}});
    let vault = TestVault::new()
        .chat("Ana", "Rain", &json!({"integrity": "a", "world_info": "LTM"}), &TEXTS)
        .chat(
            "Ana",
            name,
            &json!({"integrity": "b", "world_info": "LTM Branch 1", "main_chat": "Rain"}),
            &TEXTS[..5],
        )
        .file("worlds/LTM.json", json!({"entries": {"0": memory(0, 1, "Rain")}}).to_string().as_bytes())
        .file("worlds/LTM Branch 1.json", copy.to_string().as_bytes());
    let report = vault.json(FORKLORE, &["check", name]);
    assert!(codes(&report).contains(&("ENTRY_FROM_FUTURE".into(), "error".into())), "{report}");
    let shown = vault.json(FORKLORE, &["show", name, "--at", "3"]);
    assert_eq!(titles(&shown), ["000 - Memory", "001 - Memory"]);
}

#[test]
fn a_memory_book_shared_by_a_branch_is_an_error() {
    let vault = TestVault::new()
        .chat("Ana", "Rain", &json!({"integrity": "a", "world_info": "LTM"}), &TEXTS)
        .chat(
            "Ana",
            "Rain - Branch #1",
            &json!({"integrity": "b", "world_info": "LTM", "main_chat": "Rain"}),
            &TEXTS[..3],
        )
        .file(
            "worlds/LTM.json",
            json!({"entries": {"0": memory(0, 1, "Rain"), "1": memory(1, 6, "Rain")}}).to_string().as_bytes(),
        );
    let found = codes(&vault.json(FORKLORE, &["check", "Rain - Branch #1"]));
    for code in ["BOOK_SHARED", "ENTRY_FROM_FUTURE"] {
        assert!(found.contains(&(code.into(), "error".into())), "{code} in {found:?}");
    }
    let shown = vault.json(FORKLORE, &["show", "Rain - Branch #1"]);
    assert_eq!(titles(&shown), ["000 - Memory"]);
}

#[test]
fn a_book_that_is_bound_elsewhere_too() {
    let settings = json!({"world_info_settings": {"world_info": {"globalSelect": ["Lore"], "charLore": [{"name": "Ana", "extraBooks": ["Lore"]}]}},
        "power_user": {"persona_description_lorebook": "Lore"}});
    let vault = TestVault::new()
        .chat("Ana", "Rain", &json!({"integrity": "a", "world_info": "Lore"}), &TEXTS)
        .book("Lore", &[("The sea", "Cold.")])
        .file("settings.json", settings.to_string().as_bytes());
    let report = vault.json(FORKLORE, &["check"]);
    let message = report["findings"][0]["message"].as_str().unwrap();
    assert_eq!(report["findings"][0]["code"], "BOOK_ALSO_GLOBAL");
    assert!(message.contains("in every chat and for the character and for a persona"), "{message}");
}

#[test]
fn a_queue_with_work_is_not_idle_and_foreign_work_is_named() {
    let operation = |id: &str, status: &str, index: usize| json!({"id": id, "type": "generate_scene_recap", "params": {"index": index}, "status": status, "retries": 0});
    let queue = json!({"queue": [operation("a", "retrying", 3), operation("b", "pending", 50), operation("c", "cancelled", 1)]});
    let vault = TestVault::new()
        .chat("Ana", "Rain", &json!({"integrity": "a", "world_info": "z-AutoLB"}), &TEXTS)
        .book(
            "z-AutoLB",
            &[("_registry_character", "[Registry: character]"), ("__operation_queue", &queue.to_string())],
        );
    let shown = vault.json(FORKLORE, &["show", "Rain"]);
    assert_eq!(shown["queue"]["idle"], false);
    let ids: Vec<&Value> =
        shown["queue"]["operations"].as_array().unwrap().iter().map(|o| &o["id"]).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    let past = vault.json(FORKLORE, &["show", "Rain", "--at", "2"]);
    assert_eq!(
        past["queue"]["operations"].as_array().unwrap().len(),
        1,
        "what waits for later messages does not belong there"
    );
    let found = codes(&vault.json(FORKLORE, &["check"]));
    assert!(found.contains(&("QUEUE_FOREIGN".into(), "error".into())), "{found:?}");
}

#[test]
fn registries_that_do_not_match() {
    let metadata = json!({"integrity": "a", "world_info": "z-AutoLB", "auto_lorebooks": {"registry": {"index": {"7": {"uid": 7, "name": "character-Gone"}}}}});
    let registry = "[Registry: character]\n- UID=2 | name: character-Mara | aliases: — | synopsis: —\n- uid: 9 | name: character-Lost";
    let vault = TestVault::new().chat("Ana", "Rain", &metadata, &TEXTS).book(
        "z-AutoLB",
        &[("_registry_character", registry), ("x", "y"), ("character-Mara of the Gate", "Captain.")],
    );
    let found = codes(&vault.json(FORKLORE, &["check"]));
    let expected = [
        ("REGISTRY_DANGLING", "warning"),
        ("REGISTRY_DANGLING", "info"),
        ("REGISTRY_INDEX_STALE", "warning"),
    ];
    assert_eq!(found, expected.map(|(code, severity)| (code.to_owned(), severity.to_owned())));
}

#[test]
fn an_orphaned_book_of_an_extension_is_named_and_one_kept_by_hand_is_not() {
    let vault = TestVault::new()
        .chat("Ana", "Rain", &json!({"integrity": "a"}), &TEXTS)
        .book("z-AutoLB-old", &[("_registry_character", "[Registry: character]")])
        .book("My world", &[("The sea", "Cold.")]);
    let report = vault.json(FORKLORE, &["check"]);
    assert_eq!(codes(&report), [("BOOK_ORPHANED".to_owned(), "warning".to_owned())]);
    assert_eq!(report["findings"][0]["book"], "z-AutoLB-old");
}

#[test]
fn variables_of_the_past_come_from_backups() {
    let vault =
        TestVault::new().chat("Ana", "Rain", &json!({"integrity": "a", "variables": {"gold": "9"}}), &TEXTS);
    let text = String::from_utf8(vault.read("chats/Ana/Rain.jsonl")).unwrap();
    let old: Vec<String> =
        text.lines().take(4).map(|line| line.replace(r#""gold":"9""#, r#""gold":"2""#)).collect();
    let vault = vault.file("backups/chat_ana_20260101-000000.jsonl", old.join("\n").as_bytes());
    let at = |n: &str| vault.json(FORKLORE, &["show", "Rain", "--at", n])["metadata"].clone();
    assert_eq!(at("7"), json!({"source": "head", "message": 7, "variables": {"gold": "9"}}));
    assert_eq!(at("4"), json!({"source": "backup", "message": 2, "variables": {"gold": "2"}}));
    // Before it, it is nearer than today.
    assert_eq!(at("1"), json!({"source": "backup", "message": 2, "variables": {"gold": "2"}}));
}

#[test]
fn scenes_that_a_chat_has_lost_are_found_in_backups() {
    let demo = TestVault::demo();
    let whole = demo.json(FORKLORE, &["show", "Heard Once", "--at", "15"]);
    // Somebody cleared all recaps of the main line; SillyTavern's backup of it is from before.
    let main = "chats/Ottilie Crake/Heard Once.jsonl";
    let text = String::from_utf8(demo.read(main)).unwrap();
    let cleared: Vec<String> =
        text.lines().map(|line| line.replace("auto_recap_memory", "cleared")).collect();
    let alone = TestVault::new()
        .file("chats/Ottilie Crake/Heard Once.jsonl", cleared.join("\n").as_bytes())
        .file(
            "worlds/z-AutoLB-Ottilie Crake-Heard Once.json",
            &demo.read("worlds/z-AutoLB-Ottilie Crake-Heard Once.json"),
        )
        .file("backups/chat_ottilie_crake_20261010-000000.jsonl", text.as_bytes());
    let remembered = || std::fs::read_dir(alone.root().join(".forklore/cache")).map_or(0, Iterator::count);
    let _checked = alone.run(FORKLORE, &["check"]);
    let without_backup = remembered();
    let shown = alone.json(FORKLORE, &["show", "Heard Once", "--at", "15"]);
    assert_eq!(remembered(), without_backup + 1, "fifty backups of every chat are not for `check` to read");
    // What was made after a snapshot is told by the running recap together with the scene, which is gone.
    let from_snapshots =
        |shown: &Value| titles(shown).into_iter().filter(|t| !t.starts_with("event-")).collect::<Vec<_>>();
    assert_eq!(from_snapshots(&shown), from_snapshots(&whole));
    assert_eq!(shown["book"]["source"]["kind"], "scene");
}
