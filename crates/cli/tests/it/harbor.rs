//! The vault that the real software made, against its ground truth (`crates/testkit/fixtures/README.md`, section 7).

use std::collections::{BTreeMap, BTreeSet};

use forklore_testkit::{TestVault, fixtures};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::FORKLORE;

/// (title, SHA-256 of the text)
pub(crate) type Entries = BTreeSet<(String, String)>;

pub(crate) fn expected() -> Value {
    let bytes = std::fs::read(fixtures().join("harbor.expected.json")).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// `chats/Maren Voss/X.jsonl` as an address.
pub(crate) fn address(file: &str) -> String {
    let stem = file.strip_suffix(".jsonl").unwrap();
    match stem.strip_prefix("chats/") {
        Some(address) => address.to_owned(),
        None => format!("group:1794704887331/{}", stem.strip_prefix("group chats/").unwrap()),
    }
}

pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("no text {key} in {value}"))
}

pub(crate) fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn tree_knows_every_chat() {
    let vault = TestVault::harbor();
    let tree = vault.json(FORKLORE, &["tree"]);
    let chats: BTreeMap<String, Value> = tree["stories"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|story| story["chats"].as_array().unwrap().clone())
        .map(|chat| (text(&chat, "chat").to_owned(), chat))
        .collect();
    let expected = expected();
    let truths = expected["chats"].as_array().unwrap();
    assert_eq!(chats.len(), truths.len());
    for truth in truths {
        let name = address(text(truth, "file"));
        let chat = &chats[&name];
        assert_eq!(chat["messages"], truth["messages"], "{name}");
        let kind = match text(truth, "kind") {
            "root" => "main",
            "import" => "copy",
            other => other,
        };
        assert_eq!(text(chat, "kind"), kind, "{name}");
        if kind != "copy" {
            let parent = truth["expected_parent"].as_str().map(address);
            assert_eq!(chat["parent"].as_str().map(str::to_owned), parent, "{name}");
            if truth["parent_status"] != "deleted" {
                assert_eq!(chat["fork_message"], truth["fork_index"], "{name}");
            }
        }
        let scenes: Vec<&Value> =
            truth["scenes"].as_array().unwrap().iter().map(|scene| &scene["index"]).collect();
        assert_eq!(chat["scenes"].as_array().unwrap().iter().collect::<Vec<_>>(), scenes, "{name}");
        let versions = truth["running"]["versions"].as_array().map_or(0, Vec::len);
        assert_eq!(chat["running_recap"]["versions"], versions, "{name}");
        if versions > 0 {
            assert_eq!(
                chat["running_recap"]["current"], truth["running"]["stored_current_version"],
                "{name}"
            );
        }
        let state = match text(truth, "lorebook_status") {
            "inherited" => "shared",
            other => other,
        };
        assert_eq!(text(&chat["book"], "state"), state, "{name}");
        assert_eq!(chat["book"]["name"], truth["lorebook"], "{name}");
    }
}

fn shown_entries(shown: &Value, with_registries: bool) -> Entries {
    let entries = shown["book"]["entries"].as_array().unwrap().iter();
    let wanted = entries.filter(|e| with_registries || !text(e, "comment").starts_with("_registry_"));
    wanted.map(|e| (text(e, "comment").to_owned(), sha256(text(e, "content")))).collect()
}

pub(crate) fn listed_entries(list: &Value) -> Entries {
    let entries = list.as_array().unwrap().iter();
    entries.map(|e| (text(e, "comment").to_owned(), text(e, "content_sha256").to_owned())).collect()
}

#[test]
fn show_agrees_with_the_truth_at_every_point() {
    let vault = TestVault::harbor();
    let expected = expected();
    let points = expected["points"].as_array().unwrap();
    assert_eq!(points.len(), 30);
    for point in points {
        let (chat, at) = (address(text(point, "chat")), point["message"].to_string());
        let shown = vault.json(FORKLORE, &["show", &chat, "--at", &at]);
        let place = format!("{chat} at {at}");
        let (got, wanted) = if point["lineage_pure"].is_object() {
            // The book on disk holds what another line wrote: only what this line earned counts.
            (shown_entries(&shown, false), listed_entries(&point["lineage_pure"]["entries"]))
        } else if point["basis_scene"].is_null() {
            (shown_entries(&shown, false), Entries::new())
        } else {
            (shown_entries(&shown, true), listed_entries(&point["entries"]))
        };
        assert_eq!(got, wanted, "{place}");
        if !point["lineage_pure"].is_object() {
            for comment in point["must_not_exist"].as_array().unwrap() {
                assert!(
                    !got.iter().any(|(c, _)| Some(c.as_str()) == comment.as_str()),
                    "{comment} at {place}"
                );
            }
        }
        assert_eq!(shown["running_recap"]["current_version"], point["running_version"]["version"], "{place}");
        if let Some(sha) = point["running_version"]["content_sha256"].as_str() {
            assert_eq!(sha256(text(&shown["running_recap"], "content")), sha, "{place}");
        }
        for version in shown["running_recap"]["versions"].as_array().unwrap() {
            assert!(version["new_scene_index"].as_u64() <= point["message"].as_u64(), "{place}");
        }
        assert_eq!(shown["queue"]["idle"], true, "{place}");
    }
}

#[test]
fn the_head_of_the_main_story_is_what_its_own_line_earned() {
    let vault = TestVault::harbor();
    let main = "Maren Voss/Maren Voss - 2026-11-15@00h59m16s354ms";
    let expected = expected();
    let last_scene = expected["points"]
        .as_array()
        .unwrap()
        .iter()
        .find(|point| address(text(point, "chat")) == main && point["message"] == 60);
    let facts = |entries: Entries| -> Entries {
        entries.into_iter().filter(|(comment, _)| !comment.starts_with("_registry_")).collect()
    };
    let shown = vault.json(FORKLORE, &["show", main]);
    assert_eq!(shown_entries(&shown, false), facts(listed_entries(&last_scene.unwrap()["entries"])));
    let left: BTreeSet<&str> =
        shown["book"]["left_out"].as_array().unwrap().iter().map(|e| text(e, "comment")).collect();
    assert!(left.contains("character-Hask") && left.contains("location-Saint Orrin Abbey"), "{left:?}");
}

#[test]
fn check_names_every_listed_problem() {
    let vault = TestVault::harbor();
    let run = vault.run(FORKLORE, &["check", "--json"]);
    assert_eq!(run.code, Some(1), "errors make the exit status 1");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["ok"], false);
    let found: BTreeSet<(String, String)> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| (text(f, "code").to_owned(), f["chat"].as_str().unwrap_or_default().to_owned()))
        .collect();
    for wanted in expected()["findings_at_least"].as_array().unwrap() {
        let wanted = (text(wanted, "code").to_owned(), address(text(wanted, "file")));
        assert!(found.contains(&wanted), "{wanted:?} was not found");
    }
}

/// Every error that `check` may report on this vault, by code: for each there is a reason in the fixture's README.
#[test]
fn check_has_no_false_error() {
    let vault = TestVault::harbor();
    let report = vault.json(FORKLORE, &["check"]);
    let mut errors: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for finding in report["findings"].as_array().unwrap().iter().filter(|f| f["severity"] == "error") {
        let chat = finding["chat"].as_str().unwrap_or("-").rsplit('/').next().unwrap_or_default();
        errors
            .entry(text(finding, "code"))
            .or_default()
            .insert(chat.strip_prefix("Maren Voss - 2026-11-15@").unwrap_or(chat));
    }
    insta::assert_debug_snapshot!(errors, @r#"
    {
        "BOOK_MISSING": {
            "00h59m16s354ms - Checkpoint #1",
            "Blue door",
        },
        "BOOK_SHARED": {
            "00h59m16s354ms - Branch #2",
            "00h59m16s354ms - Branch #3",
            "01h06m20s879ms - Branch #1",
            "01h09m56s988ms imported",
            "1794704887326 - Branch #1",
            "1794704887326 - Branch #2",
            "Before the council",
            "Bram's oath",
            "First sight of the quay",
            "Loft night",
            "Watch checkpoint",
        },
        "ENTRY_FOREIGN": {
            "00h59m16s354ms",
            "00h59m16s354ms - Branch #3",
            "01h09m56s988ms imported",
            "Before the council",
            "First sight of the quay",
            "Loft night",
        },
        "ENTRY_FROM_FUTURE": {
            "00h59m16s354ms - Branch #2",
            "00h59m16s354ms - Branch #3",
            "Before the council",
            "First sight of the quay",
            "Loft night",
        },
        "RECAP_FOREIGN": {
            "00h59m16s354ms - Branch #5",
        },
        "RECAP_FROM_FUTURE": {
            "00h59m16s354ms - Branch #3",
            "00h59m16s354ms - Branch #4",
            "00h59m16s354ms - Checkpoint #1",
            "Before the council",
            "First sight of the quay",
            "Loft night",
        },
    }
    "#);
}

#[test]
fn reading_changes_nothing_that_sillytavern_owns_and_the_cache_changes_no_answer() {
    let vault = TestVault::harbor();
    let before = vault.snapshot();
    let ask = || {
        let mut answers = Vec::new();
        for args in [&["stories"][..], &["tree"], &["check"], &["show", "Bram's oath", "--at", "20"]] {
            answers.push(vault.run(FORKLORE, &[args, &["--json"]].concat()).stdout);
        }
        answers
    };
    let first = ask();
    assert!(vault.root().join(".forklore/cache").is_dir(), "large chats are remembered");
    assert_eq!(ask(), first, "with the cache");
    vault.forget_cache();
    assert_eq!(ask(), first, "without it");
    assert_eq!(vault.snapshot(), before);
}
