//! Bugs that were found once, each with the situation that showed it.

use forklore_testkit::TestVault;
use serde_json::{Value, json};

use crate::serve::{serve, story};
use crate::{FORKLORE, titles};

fn codes(report: &Value) -> Vec<String> {
    report["findings"].as_array().unwrap().iter().map(|f| f["code"].as_str().unwrap().to_owned()).collect()
}

fn errors(report: &Value) -> Vec<String> {
    let all = report["findings"].as_array().unwrap().iter();
    all.filter(|f| f["severity"] == "error").map(|f| format!("{} {}", f["code"], f["chat"])).collect()
}

fn texts(n: usize) -> Vec<String> {
    (0..n).map(|i| format!("message {i}")).collect()
}

fn chat(vault: TestVault, name: &str, metadata: &Value, texts: &[String]) -> TestVault {
    vault.chat("Ana", name, metadata, &texts.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn regression_forks_nested_deeper_than_the_page_is_wide() {
    let mut vault = chat(TestVault::new(), "Main", &json!({"integrity": "m"}), &texts(6));
    let mut parent = "Main".to_owned();
    for i in 1..=14 {
        let name = format!("Main - Branch #{i}");
        let mut own = texts(5);
        own.extend((0..i).map(|j| format!("own {j}")));
        vault = chat(vault, &name, &json!({"integrity": name, "main_chat": parent}), &own);
        parent = name;
    }
    let run = vault.run(FORKLORE, &["tree"]);
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.stdout.contains("Branch #14"), "{run}");
}

/// Takes one message out of a chat, as a user can in SillyTavern.
fn without_message(vault: TestVault, chat: &str, message: usize) -> TestVault {
    let text = String::from_utf8(vault.read(chat)).unwrap();
    let lines: Vec<&str> =
        text.lines().enumerate().filter(|(i, _)| *i != message + 1).map(|(_, l)| l).collect();
    vault.file(chat, lines.join("\n").as_bytes())
}

#[test]
fn regression_one_deleted_old_message_makes_nothing_foreign() {
    let before = errors(&TestVault::demo().json(FORKLORE, &["check"]));
    for name in ["Heard Once", "Heard Once - Branch #4", "Heard Once - Branch #1"] {
        let vault = without_message(TestVault::demo(), &format!("chats/Ottilie Crake/{name}.jsonl"), 3);
        assert_eq!(errors(&vault.json(FORKLORE, &["check"])), before, "message 3 of {name} deleted");
        // Everything has moved up by one, and is still there.
        let whole = TestVault::demo().json(FORKLORE, &["show", "Heard Once"]);
        assert_eq!(
            titles(&vault.json(FORKLORE, &["show", "Heard Once"])),
            titles(&whole),
            "message 3 of {name} deleted"
        );
        let (main_at, at) = if name == "Heard Once" { ("19", "19") } else { ("20", "20") };
        assert_eq!(
            vault.json(FORKLORE, &["show", "Heard Once", "--at", main_at])["running_recap"]["current_version"],
            1,
            "{at}"
        );
    }
}

#[test]
fn regression_one_edited_old_message_makes_nothing_foreign() {
    let main = "chats/Maren Voss/Maren Voss - 2026-11-15@00h59m16s354ms.jsonl";
    let before = errors(&TestVault::harbor().json(FORKLORE, &["check"]));
    let vault = TestVault::harbor();
    let text = String::from_utf8(vault.read(main)).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut message: Value = serde_json::from_str(&lines[4]).unwrap();
    message["mes"] = json!("Edited since.");
    lines[4] = message.to_string();
    let vault = vault.file(main, lines.join("\n").as_bytes());
    assert_eq!(errors(&vault.json(FORKLORE, &["check"])), before);
    let tree = vault.json(FORKLORE, &["tree", "Maren Voss"]);
    let chats = tree["stories"][0]["chats"].as_array().unwrap();
    let loft = chats.iter().find(|c| c["chat"] == "Maren Voss/Loft night").unwrap();
    assert_eq!((&loft["fork_message"], &loft["confidence"]), (&json!(16), &json!("likely")));
}

fn memory(uid: i64, end: i64, chat: &str) -> Value {
    json!({"uid": uid, "comment": format!("Memory {uid}"), "content": "…", "stmemorybooks": true, "STMB_end": end, "STMB_chatId": chat})
}

fn memories(chat: &str, ends: &[i64]) -> Vec<u8> {
    let entries: serde_json::Map<String, Value> =
        ends.iter().enumerate().map(|(i, end)| (i.to_string(), memory(i as i64, *end, chat))).collect();
    json!({"entries": entries}).to_string().into_bytes()
}

#[test]
fn regression_inherited_memories_survive_an_edit_of_the_parent() {
    let mut edited = texts(40);
    edited[3] = "edited since".into();
    let vault = chat(TestVault::new(), "Main", &json!({"integrity": "m", "world_info": "A"}), &edited);
    let vault = chat(
        vault,
        "Main - Branch #1",
        &json!({"integrity": "b", "world_info": "B", "main_chat": "Main"}),
        &texts(23),
    )
    .file("worlds/A.json", &memories("Main", &[9]))
    .file("worlds/B.json", &memories("Main", &[9, 19]));
    let report = vault.json(FORKLORE, &["check"]);
    assert!(errors(&report).is_empty(), "{report}");
    assert_eq!(titles(&vault.json(FORKLORE, &["show", "Main - Branch #1", "--at", "20"])).len(), 2);
}

#[test]
fn regression_memories_of_a_lost_parents_future_are_named_and_left_out() {
    let vault = chat(
        TestVault::new(),
        "Main - Branch #1",
        &json!({"integrity": "a", "main_chat": "Main", "world_info": "B"}),
        &texts(23),
    );
    let vault = chat(vault, "Main - Branch #2", &json!({"integrity": "b", "main_chat": "Main"}), &texts(12))
        .file("worlds/B.json", &memories("Main", &[9, 19, 29]));
    assert_eq!(titles(&vault.json(FORKLORE, &["show", "Main - Branch #1", "--at", "9"])), ["Memory 0"]);
    let report = vault.json(FORKLORE, &["check", "Main - Branch #1"]);
    assert!(codes(&report).contains(&"ENTRY_FROM_FUTURE".to_owned()), "{report}");
}

#[test]
fn regression_entries_with_equal_uids_are_all_carried() {
    for book in [
        r#"{"entries":{"0":{"uid":0,"comment":"a","content":"1"},"1":{"uid":0,"comment":"b","content":"2"}}}"#,
        r#"{"entries":[{"comment":"","content":"1"},{"comment":"","content":"2"}]}"#,
    ] {
        let vault = chat(TestVault::new(), "Main", &json!({"integrity": "m", "world_info": "B"}), &texts(9));
        let vault = vault.file("worlds/B.json", book.as_bytes());
        assert_eq!(titles(&vault.json(FORKLORE, &["show", "Main", "--at", "5"])).len(), 2, "{book}");
    }
}

#[test]
fn regression_a_large_book_is_read_in_reasonable_time() {
    let entries: Vec<String> =
        (0..60_000).map(|i| format!(r#""{i}":{{"uid":{i},"comment":"e{i}","content":"x"}}"#)).collect();
    let book = format!(r#"{{"entries":{{{}}}}}"#, entries.join(","));
    let vault = chat(TestVault::new(), "Main", &json!({"integrity": "m", "world_info": "B"}), &texts(9));
    let vault = chat(
        vault,
        "Main - Branch #1",
        &json!({"integrity": "b", "world_info": "B", "main_chat": "Main"}),
        &texts(5),
    )
    .file("worlds/B.json", book.as_bytes());
    // A walk that is quadratic in the entries would take minutes here, and the test run would be stopped.
    assert_eq!(titles(&vault.json(FORKLORE, &["show", "Main", "--at", "5"])).len(), 60_000);
    assert_eq!(vault.run(FORKLORE, &["check"]).code, Some(0));
}

#[test]
fn regression_values_nested_deeper_than_the_stack_are_compared() {
    let deep = |leaf: &str| format!("{}{leaf}{}", "[".repeat(100_000), "]".repeat(100_000));
    let entry =
        |leaf: &str| format!(r#"{{"uid":1,"comment":"character-A","content":"x","deep":{}}}"#, deep(leaf));
    let scene = format!(
        r#"{{"name":"Ana","is_user":false,"send_date":"1","mes":"scene","extra":{{"auto_recap_memory":{{"scene_break":true,
        "scene_recap_memory":"r","scene_recap_metadata":{{"0":{{"combined_at":5,"chatLorebookName":"B","allEntries":[{}]}}}}}}}}}}"#,
        entry("1")
    )
    .replace('\n', " ");
    let lines = [
        r#"{"chat_metadata":{"world_info":"B"}}"#,
        &scene,
        r#"{"name":"Ana","mes":"after","send_date":"2"}"#,
    ]
    .join("\n");
    let vault = TestVault::new()
        .file("chats/Ana/Main.jsonl", lines.as_bytes())
        .file("worlds/B.json", format!(r#"{{"entries":{{"1":{}}}}}"#, entry("2")).as_bytes());
    assert_eq!(titles(&vault.json(FORKLORE, &["show", "Main", "--at", "0"])), ["character-A"]);
}

#[test]
fn regression_a_group_fork_that_no_group_lists_yet_has_its_parent() {
    let line =
        |text: &str| format!(r#"{{"name":"Ana","is_user":false,"send_date":"{text}","mes":"{text}"}}"#);
    let file = |metadata: Value, texts: &[&str]| {
        let lines: Vec<String> = texts.iter().map(|t| line(t)).collect();
        format!("{}\n{}", json!({"chat_metadata": metadata}), lines.join("\n"))
    };
    let vault = TestVault::new()
        .file("groups/7.json", br#"{"id":"7","name":"Two","chats":["g"]}"#)
        .file("group chats/g.jsonl", file(json!({"integrity": "g"}), &["a", "b", "c"]).as_bytes())
        .file(
            "group chats/g - Branch #1.jsonl",
            file(json!({"integrity": "h", "main_chat": "g"}), &["a", "b"]).as_bytes(),
        );
    let tree = vault.json(FORKLORE, &["tree"]);
    assert_eq!(tree["stories"].as_array().unwrap().len(), 1);
    assert_eq!(tree["stories"][0]["chats"][1]["parent"], "group:7/g");
}

#[test]
fn regression_a_solo_chat_converted_to_a_group_stays_the_original() {
    let vault = chat(TestVault::new(), "Main", &json!({"integrity": "m"}), &texts(5));
    let solo = vault.read("chats/Ana/Main.jsonl");
    let vault = vault
        .file("groups/7.json", br#"{"id":"7","name":"Two","chats":["g"]}"#)
        .file("group chats/g.jsonl", &solo);
    let tree = vault.json(FORKLORE, &["tree"]);
    let kinds: Vec<&Value> =
        tree["stories"].as_array().unwrap().iter().map(|s| &s["chats"][0]["kind"]).collect();
    assert_eq!(kinds, ["main", "copy"]);
}

#[test]
fn regression_escapes_in_suggestions_are_tamed() {
    let vault = chat(TestVault::new(), "name\u{1b}]0;P\u{7}", &json!({}), &texts(3));
    let run = vault.run(FORKLORE, &["show", "nam"]);
    assert!(run.stderr.contains("Did you mean") && !run.stderr.contains('\u{1b}'), "{run}");
}

#[test]
fn regression_a_name_that_ends_in_jsonl() {
    let vault = chat(TestVault::new(), "a", &json!({}), &texts(2));
    let vault = chat(vault, "a.jsonl", &json!({}), &texts(5));
    assert_eq!(vault.json(FORKLORE, &["show", "Ana/a.jsonl"])["messages"], 5);
    assert_eq!(vault.json(FORKLORE, &["show", "Ana/a"])["messages"], 2);
}

#[cfg(target_os = "linux")]
#[test]
fn regression_an_answer_that_could_not_be_written_is_no_success() {
    let vault = chat(TestVault::new(), "a", &json!({}), &texts(2));
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let status = std::process::Command::new(FORKLORE)
        .arg("--vault")
        .arg(vault.root())
        .args(["tree", "--json"])
        .stdout(full)
        .stderr(std::process::Stdio::null())
        .status();
    assert_eq!(status.unwrap().code(), Some(1));
}

#[test]
fn regression_a_running_recap_whose_scene_lost_its_recap_is_no_foreign_story() {
    let recap = json!({"chat_id": "Main", "current_version": 0, "versions": [{"version": 0, "content": "x", "new_scene_index": 2, "timestamp": 5}]});
    let vault = chat(
        TestVault::new(),
        "Main",
        &json!({"integrity": "m", "auto_recap_running_scene_recaps": recap}),
        &texts(6),
    );
    let report = vault.json(FORKLORE, &["check"]);
    assert!(errors(&report).is_empty(), "{report}");
    assert!(
        report["findings"][0]["message"].as_str().unwrap().contains("have no recap any more"),
        "{report}"
    );
}

/// Every chat that is remembered kept a file open: of more chats than a process may have files, the last could not be read.
#[test]
fn regression_more_chats_than_files_that_may_be_open() {
    let long: Vec<String> = (0..40).map(|i| format!("{i} {}", "word ".repeat(500))).collect();
    let mut vault = TestVault::new();
    for n in 0..60 {
        vault = chat(vault, &format!("chat {n}"), &json!({"integrity": n.to_string()}), &long);
    }
    let script = "ulimit -n 32 && exec \"$0\" check --json";
    let mut answers = (0..2).map(|_| vault.finish(vault.command("/bin/sh").args(["-c", script, FORKLORE])));
    let (first, remembered) = (answers.next().unwrap(), answers.next().unwrap());
    assert!(!first.stdout.contains("Too many open files"), "{first}");
    assert_eq!(remembered.stdout, first.stdout);
}

/// Extensions keep settings by the name of the chat, and two characters can each have a chat of that name: a fork and a rename wrote over
/// what the other one went by, and a chat whose old name another one has lost its own.
#[test]
fn regression_settings_of_a_chat_of_the_same_name_stay() {
    let enabled = json!({"main": true, "alone": true, "Ending": false});
    let settings = json!({"extension_settings": {"auto_recap_memory": {"chats_enabled": enabled}}});
    let said = ["hello", "one", "two"];
    let vault = || {
        TestVault::new()
            .chat("Ana", "main", &json!({"integrity": "a"}), &said)
            .chat("Ana", "alone", &json!({"integrity": "b"}), &["hi", "ho"])
            .chat("Bea", "main", &json!({"integrity": "c"}), &said)
            .chat("Bea", "Ending", &json!({"integrity": "d"}), &["by the sea"])
            .file("settings.json", settings.to_string().as_bytes())
    };
    let after = |args: &[&str]| {
        let vault = vault();
        let run = vault.run(FORKLORE, args);
        assert_eq!(run.code, Some(0), "{args:?}: {run}");
        let after: Value = serde_json::from_slice(&vault.read("settings.json")).unwrap();
        after["extension_settings"]["auto_recap_memory"]["chats_enabled"].clone()
    };
    for args in [
        &["branch", "Ana/main", "--at", "1", "--name", "Ending"][..],
        &["rename", "Ana/alone", "Ending"],
        &["delete", "Ana/main"],
    ] {
        assert_eq!(after(args), enabled, "{args:?}");
    }
    let mut both = enabled;
    both["Mine"] = json!(true);
    assert_eq!(after(&["rename", "Ana/main", "Mine"]), both, "each has its own");
    assert_eq!(after(&["branch", "Ana/main", "--at", "1", "--name", "Mine"]), both);
    let moved = json!({"main": true, "Ending": false, "Mine": true});
    assert_eq!(after(&["rename", "Ana/alone", "Mine"]), moved);
}

/// SillyTavern writes a lorebook anew when somebody looks at it, and a vault that was copied has other files: neither is a change.
#[test]
fn regression_a_fork_that_sillytavern_saved_is_undone_after_its_lorebook_was_written_anew() {
    let vault = TestVault::new();
    story(&vault, &[]);
    let before = vault.snapshot();
    let server = serve(&vault, &[]);
    let main = String::from_utf8(vault.read("chats/Ana/Main.jsonl")).unwrap();
    let mut fork: Vec<Value> =
        main.lines().take(12).map(|line| serde_json::from_str(line).unwrap()).collect();
    fork[0]["chat_metadata"]["main_chat"] = json!("Main");
    fork[0]["chat_metadata"]["integrity"] = json!("of-the-page");
    let save = json!({"folder": "Ana", "chat": "Fork", "header": fork[0], "messages": 11, "last": fork[11]});
    let prepared = server.http.post("api/hook/prepare", &save).ok();
    assert_eq!(prepared["act"], "fork", "{prepared}");
    fork[0] = prepared["header"].clone();
    let lines: Vec<String> = fork.iter().map(Value::to_string).collect();
    vault.write("chats/Ana/Fork.jsonl", lines.join("\n").as_bytes());
    server.http.post("api/hook/resolve", &json!({"ticket": prepared["ticket"]})).ok();
    drop(server);

    let book = "worlds/z-AutoLB-Ana-Fork.json";
    let bytes = vault.read(book);
    std::fs::remove_file(vault.root().join(book)).unwrap();
    vault.write(book, &bytes);
    let undone = vault.json(FORKLORE, &["undo"]);
    assert_eq!(undone["removed"].as_array().map(Vec::len), Some(2), "{undone}");
    assert!(vault.snapshot() == before, "{undone}");
}

/// A second tab saves the parent while SillyTavern saves a branch. The branch was saved without a lorebook, and got one only later.
#[test]
fn regression_a_fork_that_sillytavern_saves_is_whole_though_its_parent_is_saved_meanwhile() {
    let vault = TestVault::new();
    story(&vault, &[]);
    let server = serve(&vault, &[]);
    let main = String::from_utf8(vault.read("chats/Ana/Main.jsonl")).unwrap();
    let mut fork: Vec<Value> =
        main.lines().take(12).map(|line| serde_json::from_str(line).unwrap()).collect();
    fork[0]["chat_metadata"]["main_chat"] = json!("Main");
    let (chat, new) = (vault.root().join("chats/Ana/Main.jsonl"), vault.root().join("new.tmp"));
    for n in 0..8 {
        fork[0]["chat_metadata"]["integrity"] = json!(format!("of the page {n}"));
        let save = json!({"folder": "Ana", "chat": format!("Fork {n}"), "header": fork[0], "messages": 11, "last": fork[11]});
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..40 {
                    std::fs::write(&new, std::fs::read(&chat).unwrap()).unwrap();
                    std::fs::rename(&new, &chat).unwrap();
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
            });
            let prepared = server.http.post("api/hook/prepare", &save).ok();
            assert_eq!(prepared["act"], "fork", "{prepared:#}");
        });
    }
}
