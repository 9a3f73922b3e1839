//! Forks of the vault that the real software made, against its ground truth: one at every point that the truth tells of
//! (`crates/testkit/fixtures/README.md`, section 7).

use std::collections::{BTreeMap, BTreeSet};

use forklore_testkit::story::CAPTURED;
use forklore_testkit::{TestVault, fixtures};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::FORKLORE;
use crate::disk::{self, ChatFile, changed_only, complaints, entries, fork, index_by_text, index_of};

const GROUP: &str = "groups/1794704887331.json";

fn expected() -> Value {
    serde_json::from_slice(&std::fs::read(fixtures().join("harbor.expected.json")).unwrap()).unwrap()
}

fn truth(point: &Value) -> Option<Value> {
    let file = point["truth_file"].as_str()?;
    let path = fixtures().join("harbor.truth").join(file.rsplit('/').next().unwrap());
    Some(serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
}

/// `chats/Maren Voss/X.jsonl` as an address.
fn address(file: &str) -> String {
    let stem = file.strip_suffix(".jsonl").unwrap();
    match stem.strip_prefix("chats/") {
        Some(address) => address.to_owned(),
        None => format!("group:1794704887331/{}", stem.strip_prefix("group chats/").unwrap()),
    }
}

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn string<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("no text {key} in {value}"))
}

/// A point of the truth, the fork that was made there, and the vault around them.
struct Made {
    point: Value,
    place: String,
    vault: TestVault,
    before: Vec<(String, Vec<u8>)>,
    report: Value,
    chat: ChatFile,
    book: Value,
}

impl Made {
    fn at(&self) -> usize {
        usize::try_from(self.point["message"].as_u64().unwrap()).unwrap()
    }

    fn parent_path(&self) -> &str {
        string(&self.point, "chat")
    }

    fn parent_before(&self) -> &[u8] {
        &self.before.iter().find(|(path, _)| path == self.parent_path()).unwrap().1
    }

    fn fork_path(&self) -> String {
        disk::path_of(string(&self.report, "chat"))
    }
}

/// A fork at every point of the truth whose place in the list leaves `rest`, each in a vault of its own.
fn forks(rest: usize) -> Vec<Made> {
    let points = expected()["points"].as_array().unwrap().clone();
    assert_eq!(points.len(), 30);
    let some = points.into_iter().enumerate().filter(|(i, _)| i % 3 == rest);
    some.map(|(i, point)| {
        let vault = TestVault::harbor();
        let before = vault.snapshot();
        let (parent, at) = (address(string(&point, "chat")), point["message"].to_string());
        let kind = if i % 2 == 0 { "branch" } else { "checkpoint" };
        let report = fork(&vault, &[kind, &parent, "--at", &at]);
        assert_eq!(
            (&report["kind"], &report["parent"], &report["at"]),
            (&json!(kind), &json!(parent), &point["message"])
        );
        let chat = ChatFile::at(&vault, string(&report, "chat"));
        let book = disk::book(&vault, chat.book());
        Made { place: format!("{kind} of {parent} at {at}"), point, vault, before, report, chat, book }
    })
    .collect()
}

/// The book is the one of the truth file.
fn book_is_right(made: &Made) {
    let place = &made.place;
    let got = entries(&made.book);
    assert_eq!(
        got.len() + 1,
        made.book["entries"].as_object().unwrap().len() + usize::from(!has_queue(&made.book)),
        "titles are unique: {place}"
    );
    let facts = |all: &BTreeMap<String, Value>| -> BTreeSet<(String, String)> {
        let own = all.iter().filter(|(title, _)| !title.starts_with("_registry_"));
        own.map(|(title, e)| (title.clone(), sha256(string(e, "content")))).collect()
    };
    if made.point["lineage_pure"].is_object() {
        let pure = made.point["lineage_pure"]["entries"].as_array().unwrap().iter();
        let pure: BTreeSet<(String, String)> =
            pure.map(|e| (string(e, "comment").to_owned(), string(e, "content_sha256").to_owned())).collect();
        assert_eq!(facts(&got), pure, "{place}");
        return;
    }
    for title in made.point["must_not_exist"].as_array().unwrap() {
        assert!(!got.contains_key(title.as_str().unwrap()), "{title} in the {place}");
    }
    let Some(truth) = truth(&made.point) else {
        assert_eq!(facts(&got), BTreeSet::new(), "{place}");
        for (title, registry) in &got {
            assert_eq!(string(registry, "content").lines().count(), 1, "{title} is empty in the {place}");
        }
        return;
    };
    let truth = entries(&truth);
    let texts = |all: &BTreeMap<String, Value>| -> BTreeMap<String, String> {
        all.iter().map(|(title, e)| (title.clone(), string(e, "content").to_owned())).collect()
    };
    assert_eq!(texts(&got), texts(&truth), "{place}");
    let hole = made.point["snapshot"]["missing_in_snapshot"].as_array().into_iter().flatten();
    let hole: Vec<&str> = hole.filter_map(|missing| missing[1].as_str()).collect();
    for (title, entry) in &truth {
        for field in CAPTURED.into_iter().chain(["tags"]) {
            let (got, wanted) = (&got[title][field], &entry[field]);
            let nothing = |value: &Value| value.is_null() || *value == json!([]);
            if field == "tags" && nothing(got) && nothing(wanted) {
                continue;
            }
            // Of an event that the snapshot of its scene lacks, later evidence tells, and by then all was sorted anew.
            if field == "order" && hole.contains(&title.as_str()) {
                continue;
            }
            assert_eq!(got, wanted, "{field} of {title} in the {place}");
        }
        let key = got[title]["uid"].to_string();
        assert_eq!(made.book["entries"][&key]["comment"], *title, "key of {title} in the {place}");
    }
}

fn has_queue(book: &Value) -> bool {
    book["entries"].as_object().unwrap().values().any(|e| e["comment"] == "__operation_queue")
}

fn header_is_right(made: &Made) {
    let (place, metadata) = (&made.place, made.chat.metadata());
    let parent: Value =
        serde_json::from_slice(made.parent_before().split(|c| *c == b'\n').next().unwrap()).unwrap();
    let parent = &parent["chat_metadata"];
    let fork_name = string(&made.report, "chat").rsplit('/').next().unwrap();
    let parent_name = string(&made.report, "parent").rsplit('/').next().unwrap();

    // A book of its own, which nobody else names.
    let book = made.chat.book();
    assert_eq!(made.report["book"]["name"], book, "{place}");
    assert_ne!(parent["world_info"], book, "{place}");
    assert!(!made.before.iter().any(|(path, _)| *path == format!("worlds/{book}.json")), "{place}");
    assert_eq!(made.book["name"], book, "{place}");
    assert_eq!(made.report["book"]["entries"], made.book["entries"].as_object().unwrap().len(), "{place}");
    assert_eq!(metadata["auto_lorebooks"]["lorebookName"], book, "{place}");
    assert_eq!(index_of(metadata), index_by_text(&made.book), "{place}");

    // The slug is fresh, the parent is named.
    let slug = string(metadata, "integrity");
    assert!(slug.len() >= 16, "{place}");
    let used = made
        .before
        .iter()
        .any(|(_, bytes)| bytes.windows(slug.len()).any(|window| window == slug.as_bytes()));
    assert!(!used, "{place}: the slug is somebody's");
    assert_eq!(metadata["main_chat"], parent_name, "{place}");
    assert_eq!(metadata["forklore"]["owner"], json!({"file": fork_name, "slug": slug}), "{place}");
    assert_eq!(metadata["forklore"]["parent"]["message"], made.at(), "{place}");
    assert_eq!(metadata["forklore"]["parent"]["slug"], parent["integrity"], "{place}");

    // The running recap: versions of scenes that this line has by then, each as it was.
    let facts = expected();
    let facts =
        facts["chats"].as_array().unwrap().iter().find(|c| string(c, "file") == made.parent_path()).cloned();
    let scenes: Vec<u64> =
        facts.unwrap()["scenes"].as_array().unwrap().iter().filter_map(|s| s["index"].as_u64()).collect();
    let recap = |metadata: &Value| metadata["auto_recap_running_scene_recaps"].clone();
    let all = recap(parent)["versions"].as_array().cloned().unwrap_or_default();
    let kept: Vec<&Value> = all
        .iter()
        .filter(|v| {
            v["new_scene_index"].as_u64().is_some_and(|s| s <= made.at() as u64 && scenes.contains(&s))
        })
        .collect();
    let got = recap(metadata);
    assert_eq!(got["versions"].as_array().into_iter().flatten().collect::<Vec<_>>(), kept, "{place}");
    assert_eq!(got["chat_id"], fork_name, "{place}");
    match made.point["running_version"]["version"].as_i64() {
        Some(version) => {
            assert_eq!(got["current_version"], version, "{place}");
            let current = kept.iter().find(|v| v["version"] == version).unwrap();
            assert_eq!(
                sha256(string(current, "content")),
                made.point["running_version"]["content_sha256"],
                "{place}"
            );
            assert_eq!(made.report["running_recap"]["current_version"], version, "{place}");
        }
        None => assert_eq!((kept.len(), &got["current_version"]), (0, &json!(0)), "{place}"),
    }
    let archived = metadata["forklore"]["archive"]["running"].as_array().map_or(0, Vec::len);
    assert_eq!(archived, all.len() - kept.len(), "nothing is lost: {place}");
}

/// The transcript is the parent's, byte for byte; the parent has a link more; nothing else changed.
fn files_are_right(made: &Made) {
    let place = &made.place;
    let before = made.parent_before();
    let lines: Vec<&[u8]> = before.split(|c| *c == b'\n').collect();
    let got: Vec<&[u8]> = made.chat.lines.iter().map(Vec::as_slice).collect();
    assert!(got == lines[1..made.at() + 2], "messages byte for byte: {place}");

    let after = made.vault.read(made.parent_path());
    let after: Vec<&[u8]> = after.split(|c| *c == b'\n').collect();
    assert_eq!(after.len(), lines.len(), "{place}");
    for (i, (old, new)) in lines.iter().zip(&after).enumerate().filter(|(i, _)| *i != made.at() + 1) {
        assert!(old == new, "line {i} of the parent changed: {place}");
    }
    let [mut old, mut new] =
        [lines[made.at() + 1], after[made.at() + 1]].map(|l| serde_json::from_slice::<Value>(l).unwrap());
    let name = string(&made.report, "chat").rsplit('/').next().unwrap();
    if made.report["kind"] == "branch" {
        let links = new["extra"]["branches"].as_array_mut().unwrap();
        assert_eq!(links.pop(), Some(json!(name)), "{place}");
        if links.is_empty() {
            new["extra"].as_object_mut().unwrap().remove("branches");
        }
    } else {
        assert_eq!(new["extra"]["bookmark_link"], name, "{place}");
        new["extra"].as_object_mut().unwrap().remove("bookmark_link");
        old["extra"].as_object_mut().unwrap().remove("bookmark_link");
    }
    assert_eq!(old, new, "only the link: {place}");

    let book = format!("worlds/{}.json", made.chat.book());
    let fork_path = made.fork_path();
    let mut changed = vec![made.parent_path(), &fork_path, &book];
    if made.parent_path().starts_with("group chats/") {
        changed.push(GROUP);
        let group: Value = serde_json::from_slice(&made.vault.read(GROUP)).unwrap();
        let old = &made.before.iter().find(|(path, _)| path == GROUP).unwrap().1;
        let mut old: Value = serde_json::from_slice(old).unwrap();
        old["chats"].as_array_mut().unwrap().push(json!(name));
        assert_eq!(group, old, "{place}");
    }
    let settings = &made.before.iter().find(|(path, _)| path == "settings.json").unwrap().1;
    let parent = string(&made.report, "parent").rsplit('/').next().unwrap();
    let settings: Value = serde_json::from_slice(settings).unwrap();
    let mapped = ["chats_enabled", "chat_strip_patterns", "chat_profiles", "chat_sticky_presets"]
        .iter()
        .any(|map| settings["extension_settings"]["auto_recap_memory"][map].get(parent).is_some());
    if mapped {
        changed.push("settings.json");
    }
    changed_only(&made.before, &made.vault, &changed);
    let told: BTreeSet<&str> =
        made.report["files"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(told, changed.into_iter().collect(), "what it says it changed: {place}");
    assert_eq!(made.report["pending"], json!([]), "{place}");
}

fn nothing_to_complain(made: &Made) {
    let chat = string(&made.report, "chat");
    let codes: Vec<String> = complaints(&made.vault, chat).into_iter().map(|(code, _, _)| code).collect();
    // The extension destroyed this one's running recap: the fork has the scene and no version of it, either.
    let lost = string(&made.report, "parent").ends_with("/Greywick history") && made.at() >= 10;
    assert_eq!(codes, if lost { vec!["RECAP_VERSION_MISSING"] } else { Vec::new() }, "{}", made.place);
    let tree = made.vault.json(FORKLORE, &["tree"]);
    let chats = tree["stories"].as_array().unwrap().iter().flat_map(|s| s["chats"].as_array().unwrap());
    let node = chats
        .into_iter()
        .find(|c| c["chat"] == chat)
        .unwrap_or_else(|| panic!("not in the tree: {}", made.place))
        .clone();
    assert_eq!(
        (
            &node["kind"],
            &node["parent"],
            &node["fork_message"],
            &node["lineage"],
            &node["book"]["state"],
            &node["health"]
        ),
        (
            &made.report["kind"],
            &made.report["parent"],
            &made.point["message"],
            &json!("recorded"),
            &json!("own"),
            &json!(if lost { "warning" } else { "ok" })
        ),
        "{}",
        made.place
    );
}

fn all_is_right(rest: usize) {
    for made in forks(rest) {
        book_is_right(&made);
        header_is_right(&made);
        files_are_right(&made);
        nothing_to_complain(&made);
    }
}

// In three parts, so that they run beside each other.

#[test]
fn a_fork_at_every_point_is_what_the_truth_says_first_third() {
    all_is_right(0);
}

#[test]
fn a_fork_at_every_point_is_what_the_truth_says_second_third() {
    all_is_right(1);
}

#[test]
fn a_fork_at_every_point_is_what_the_truth_says_last_third() {
    all_is_right(2);
}

/// (title, SHA-256 of the text) of all entries but registries and queue.
fn facts(book: &Value) -> BTreeSet<(String, String)> {
    let own = entries(book).into_iter().filter(|(title, _)| !title.starts_with("_registry_"));
    own.map(|(title, e)| (title, sha256(string(&e, "content")))).collect()
}

const MAIN: &str = "Maren Voss/Maren Voss - 2026-11-15@00h59m16s354ms";

#[test]
fn a_fork_at_the_head_of_a_contaminated_story_has_only_what_its_own_line_earned() {
    let vault = TestVault::harbor();
    let report = fork(&vault, &["branch", MAIN]);
    assert_eq!(report["at"], 72);
    let made = disk::book(&vault, string(&report["book"], "name"));
    let expected = expected();
    let last = expected["points"]
        .as_array()
        .unwrap()
        .iter()
        .find(|p| address(string(p, "chat")) == MAIN && p["message"] == 60);
    let wanted = last.unwrap()["entries"].as_array().unwrap().iter();
    let wanted = wanted.filter(|e| !string(e, "comment").starts_with("_registry_"));
    let wanted: BTreeSet<(String, String)> =
        wanted.map(|e| (string(e, "comment").to_owned(), string(e, "content_sha256").to_owned())).collect();
    assert_eq!(facts(&made), wanted);
    let listed: Vec<String> =
        index_by_text(&made).into_values().map(|e| string(&e, "name").to_owned()).collect();
    assert!(!listed.iter().any(|name| name.contains("Hask") || name.contains("Saint Orrin")), "{listed:?}");
    let left: BTreeSet<&str> =
        report["book"]["left_out"].as_array().unwrap().iter().map(|e| string(e, "comment")).collect();
    assert!(left.contains("character-Hask") && left.contains("location-Saint Orrin Abbey"), "{left:?}");
    assert_eq!(complaints(&vault, string(&report, "chat")), []);
}

#[test]
fn thirty_forks_in_one_vault_do_not_touch_each_other() {
    let vault = TestVault::harbor();
    let before = vault.json(FORKLORE, &["check"]);
    let points = expected()["points"].as_array().unwrap().clone();
    let mut made = Vec::new();
    for point in &points {
        let (parent, at) = (address(string(point, "chat")), point["message"].to_string());
        made.push(fork(&vault, &["branch", &parent, "--at", &at]));
    }
    let books: BTreeSet<&str> = made.iter().map(|report| string(&report["book"], "name")).collect();
    let chats: BTreeSet<&str> = made.iter().map(|report| string(report, "chat")).collect();
    assert_eq!((books.len(), chats.len()), (30, 30));
    let after = vault.json(FORKLORE, &["check"]);
    let serious = |report: &Value| -> Vec<(String, Value)> {
        let findings = report["findings"].as_array().unwrap().iter().filter(|f| f["severity"] != "info");
        findings.map(|f| (string(f, "code").to_owned(), f["chat"].clone())).collect()
    };
    let new: Vec<(String, Value)> = serious(&after)
        .into_iter()
        .filter(|finding| !serious(&before).contains(finding))
        .filter(|(code, _)| code != "RECAP_VERSION_MISSING")
        .collect();
    assert_eq!(new, [], "forks are nobody's trouble");
    for (point, report) in points.iter().zip(&made) {
        let book = disk::book(&vault, string(&report["book"], "name"));
        let wanted = if point["lineage_pure"].is_object() {
            &point["lineage_pure"]["entries"]
        } else {
            &point["entries"]
        };
        let wanted: BTreeSet<(String, String)> = wanted
            .as_array()
            .unwrap()
            .iter()
            .filter(|e| !string(e, "comment").starts_with("_registry_"))
            .map(|e| (string(e, "comment").to_owned(), string(e, "content_sha256").to_owned()))
            .collect();
        assert_eq!(facts(&book), wanted, "{} at {}", report["parent"], point["message"]);
    }
}

#[test]
fn a_checkpoint_and_a_branch_of_a_group_are_in_the_groups_list() {
    let vault = TestVault::harbor();
    let parent = "group:1794704887331/1794704887326";
    let old: Value = serde_json::from_slice(&vault.read(GROUP)).unwrap();
    let names: Vec<String> = ["checkpoint", "branch"]
        .iter()
        .map(|kind| {
            let report = fork(&vault, &[kind, parent, "--at", "13", "--name", &format!("Night {kind}")]);
            assert_eq!(complaints(&vault, string(&report, "chat")), []);
            string(&report, "chat").rsplit('/').next().unwrap().to_owned()
        })
        .collect();
    let group: Value = serde_json::from_slice(&vault.read(GROUP)).unwrap();
    let mut wanted = old;
    wanted["chats"].as_array_mut().unwrap().extend(names.iter().map(|name| json!(name)));
    assert_eq!(group, wanted);
    let parent = ChatFile::at(&vault, parent);
    let line: Value = serde_json::from_slice(&parent.lines[13]).unwrap();
    assert_eq!(line["extra"]["bookmark_link"], "Night checkpoint");
    assert!(line["extra"]["branches"].as_array().unwrap().contains(&json!("Night branch")));
    // The template names the group, not one of its members.
    let fork = ChatFile::at(&vault, "group:1794704887331/Night branch");
    assert_eq!(fork.book(), "z-AutoLB-Harbor Watch-Night branch");
}

#[test]
fn regression_a_checkpoint_that_takes_over_a_flag_says_so() {
    let vault = TestVault::harbor();
    let told = |report: &Value| {
        let warnings = report["warnings"].as_array().unwrap();
        let about = warnings.iter().find(|warning| warning["code"] == "FLAG_REPLACED");
        about.map(|warning| string(warning, "message").to_owned())
    };
    let checkpoint = |name: &str| fork(&vault, &["checkpoint", MAIN, "--at", "52", "--name", name]);
    assert_eq!(told(&checkpoint("First")), None);
    let said = told(&checkpoint("Second")).unwrap();
    assert!(said.contains("led to \"First\"") && said.contains("still there"), "{said}");
    // A flag that leads nowhere is no loss, and a branch takes none over.
    vault.json(FORKLORE, &["delete", "Maren Voss/Second"]);
    assert_eq!(told(&fork(&vault, &["branch", MAIN, "--at", "52"])), None);
    assert_eq!(told(&checkpoint("Third")), None);
}

#[test]
fn show_of_a_fork_is_show_of_its_parent_at_every_message_before_it() {
    let vault = TestVault::harbor();
    let report = fork(&vault, &["branch", MAIN, "--at", "52"]);
    for at in ["6", "14", "20", "30", "44", "45", "50"] {
        let [parent, child] =
            [MAIN, string(&report, "chat")].map(|chat| vault.json(FORKLORE, &["show", chat, "--at", at]));
        let told = |shown: &Value| -> BTreeSet<(String, String)> {
            let all = shown["book"]["entries"].as_array().unwrap().iter();
            all.map(|e| (string(e, "comment").to_owned(), string(e, "content").to_owned()))
                .filter(|(title, _)| title != "__operation_queue")
                .collect()
        };
        assert_eq!(told(&parent), told(&child), "at {at}");
        assert_eq!(
            parent["running_recap"]["current_version"], child["running_recap"]["current_version"],
            "at {at}"
        );
        assert_eq!(parent["moment"], child["moment"], "at {at}");
    }
}

#[test]
fn regression_a_fork_that_takes_the_old_name_of_a_renamed_chat_does_not_take_its_children() {
    let vault = TestVault::harbor();
    let parents = |vault: &TestVault| -> BTreeMap<String, Value> {
        let tree = vault.json(FORKLORE, &["tree", "Maren Voss"]);
        let chats = tree["stories"][0]["chats"].as_array().unwrap().clone();
        chats.iter().map(|c| (string(c, "chat").to_owned(), c["parent"].clone())).collect()
    };
    let before = parents(&vault);
    // "The Lighthouse Road" was called so; SillyTavern, too, would give that name to the next branch.
    let name = "Maren Voss - 2026-11-15@00h59m16s354ms - Branch #1";
    let report = fork(&vault, &["branch", MAIN, "--at", "14", "--name", name]);
    let mut after = parents(&vault);
    after.remove(string(&report, "chat"));
    assert_eq!(after, before);
}
