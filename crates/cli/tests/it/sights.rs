//! What a header, and a book that is kept by hand, were at a message that lies between two sights of them.

use forklore_testkit::TestVault;
use serde_json::{Value, json};

use crate::FORKLORE;
use crate::disk::{ChatFile, address, fork};

const CHAT: &str = "Ana/Rain";

/// A chat of so many messages with this metadata.
fn save(vault: &TestVault, path: &str, messages: usize, metadata: &Value) {
    let mut metadata = metadata.clone();
    metadata["integrity"] = json!("a");
    let header = json!({"chat_metadata": metadata, "user_name": "unused", "character_name": "unused"});
    let message = |n: usize| {
        json!({"name": "Ana", "is_user": false, "is_system": false, "mes": format!("words {n}"), "extra": {},
            "send_date": format!("2026-11-06T20:{:02}:{:02}.000Z", n / 60, n % 60)})
    };
    let lines: Vec<String> =
        std::iter::once(header).chain((0..messages).map(message)).map(|line| line.to_string()).collect();
    vault.write(path, lines.join("\n").as_bytes());
}

fn then() -> Value {
    json!({"note_prompt": "note OLD", "variables": {"gold": "OLD"}, "same": 1, "gone": [1]})
}

fn now() -> Value {
    json!({"note_prompt": "note NEW", "variables": {"gold": "NEW"}, "same": 1, "came": [2]})
}

/// What is shown, planned, made and compared at a message is one state, with one list of what nothing tells.
fn told(vault: &TestVault, at: &str) -> (Value, Vec<String>, Vec<String>) {
    let shown = vault.json(FORKLORE, &["show", CHAT, "--at", at]);
    let planned = vault.json(FORKLORE, &["branch", CHAT, "--at", at, "--dry-run"]);
    let compared = vault.json(FORKLORE, &["diff", CHAT, "--at", at]);
    let texts = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let (inherited, notes) = (texts(&shown["inherited"]), texts(&shown["notes"]));
    assert_eq!((&texts(&planned["inherited"]), &texts(&planned["notes"])), (&inherited, &notes), "at {at}");
    assert_eq!(texts(&compared["a"]["notes"]), notes, "at {at}");
    (shown["metadata"].clone(), inherited, notes)
}

/// One backup of message 8 made the author's note of message 58 that of message 8, without a word.
#[test]
fn regression_an_old_sight_of_the_header_makes_no_answer_worse() {
    for by in ["backup", "history"] {
        let vault = TestVault::new();
        match by {
            "backup" => save(&vault, "backups/chat_ana_20261106-200900.jsonl", 9, &then()),
            _ => {
                save(&vault, "chats/Ana/Rain.jsonl", 9, &then());
                vault.json(FORKLORE, &["watch", "--once"]);
            }
        }
        save(&vault, "chats/Ana/Rain.jsonl", 60, &now());
        // Its own message is exact.
        let (metadata, inherited, notes) = told(&vault, "8");
        assert_eq!(metadata, json!({"source": by, "message": 8, "variables": {"gold": "OLD"}}), "{by}");
        assert_eq!((inherited.len(), notes.len()), (0, 0), "{by}: {notes:?}");
        // Near the end it is as without that sight, and said.
        let (metadata, inherited, notes) = told(&vault, "58");
        assert_eq!(
            metadata,
            json!({"source": "inherited", "message": null, "variables": {"gold": "NEW"}}),
            "{by}"
        );
        assert_eq!(inherited, ["note_prompt", "variables", "gone", "came"], "{by}");
        assert_eq!(
            notes,
            [
                "The author's note and variables are today's: at message 8 they were others; nothing tells what they were at message 58.",
                "What is kept under \"gone\" is left out, gone today: at message 8 it was still there; nothing tells what it was at message 58.",
                "What is kept under \"came\" is today's: at message 8 there was none; nothing tells what it was at message 58.",
            ],
            "{by}"
        );
        let made = fork(&vault, &["branch", CHAT, "--at", "58"]);
        let file = ChatFile::at(&vault, &address(&made));
        let has = |key: &str| file.metadata().get(key).cloned();
        assert_eq!((has("note_prompt"), has("same")), (Some(json!("note NEW")), Some(json!(1))), "{by}");
        assert_eq!((has("gone"), has("came")), (None, Some(json!([2]))), "{by}");
        assert_eq!(file.metadata()["forklore"]["inherited"], json!(inherited), "{by}");
        // Near the old one it is that one, and said.
        let (metadata, inherited, notes) = told(&vault, "10");
        assert_eq!(metadata["variables"], json!({"gold": "OLD"}), "{by}");
        assert_eq!(inherited.len(), 4, "{by}");
        assert!(
            notes[0].starts_with(
                "The author's note and variables are as of message 8; they were changed some time"
            ),
            "{by}: {notes:?}"
        );
        assert!(notes[2].contains("is left out: at message 8 there was none"), "{by}: {notes:?}");
    }
}

/// What two sights agree on was so in between.
#[test]
fn what_both_sights_agree_on_is_exact() {
    let vault = TestVault::new();
    save(&vault, "backups/chat_ana_20261106-200900.jsonl", 9, &then());
    let mut changed = then();
    changed["note_prompt"] = json!("note NEW");
    save(&vault, "chats/Ana/Rain.jsonl", 60, &changed);
    let (metadata, inherited, _) = told(&vault, "58");
    assert_eq!(metadata, json!({"source": "backup", "message": 8, "variables": {"gold": "OLD"}}));
    assert_eq!(inherited, ["note_prompt"]);
}

/// Only some keys had words: what others had nothing was said of.
#[test]
fn regression_everything_that_is_carried_is_said() {
    let vault = TestVault::new();
    let metadata = json!({"cfg_guidance_scale": 2.5, "cfg_negative_prompt": "no dragons", "my_unknown_ext": {"deep": [1]},
        "system_prompt": "Be the sea", "chat_backgrounds": ["x.png"], "narrator_name": "Bo", "note_interval": 1,
        "note_prompt": "", "empty": {}});
    save(&vault, "chats/Ana/Rain.jsonl", 10, &metadata);
    let (_, _, notes) = told(&vault, "5");
    let said = "The system prompt, narrator's name, CFG settings, chosen backgrounds and what is kept under \"my_unknown_ext\" are today's: nothing tells what they were at message 5.";
    assert_eq!(notes, [said]);
}

/// A book that history first saw at message 19, and that was changed later, was called a copy of today's.
#[test]
fn regression_a_book_as_it_was_first_seen_is_not_called_todays() {
    let vault = TestVault::new().book("Lore", &[("The sea", "Cold.")]);
    let metadata = json!({"world_info": "Lore"});
    save(&vault, "chats/Ana/Rain.jsonl", 20, &metadata);
    vault.json(FORKLORE, &["watch", "--once"]);
    save(&vault, "chats/Ana/Rain.jsonl", 22, &metadata);
    let vault = vault.book("Lore", &[("The sea", "Warm."), ("The hill", "Steep.")]);
    vault.json(FORKLORE, &["watch", "--once"]);
    let said = "as Forklore first saw it, when the chat had 20 messages";
    let shown = vault.json(FORKLORE, &["show", CHAT, "--at", "5"]);
    assert!(shown["warnings"].to_string().contains(said), "{shown:#}");
    let planned = vault.json(FORKLORE, &["branch", CHAT, "--at", "5", "--dry-run"]);
    assert!(planned["warnings"].to_string().contains(said), "{planned:#}");
    let text = vault.run(FORKLORE, &["branch", CHAT, "--at", "5", "--dry-run"]).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&format!("1 entry; {said}")) && !text.contains("today's"), "{text}");
    // A backup that is nearer than the first sight tells of the header.
    save(
        &vault,
        "backups/chat_ana_20261106-200900.jsonl",
        8,
        &json!({"world_info": "Lore", "scenario": "Fog"}),
    );
    let (_, _, notes) = told(&vault, "5");
    let said = "The scenario is as of message 7, when SillyTavern made a backup: nothing tells what it was at message 5.";
    assert_eq!(notes, [said]);
}
