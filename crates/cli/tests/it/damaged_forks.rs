//! Forks of damaged data: each either is refused and nothing changes, or carries what is there exactly.

use forklore_json::Raw;
use forklore_testkit::TestVault;
use forklore_testkit::story::Story;
use serde_json::{Value, json};

use crate::FORKLORE;
use crate::disk::{address, book, complaints, fork, path_of, refused};

const HEADER: &str = r#"{"chat_metadata":{"integrity":"d"},"user_name":"unused","character_name":"unused"}"#;

fn message(text: &str) -> String {
    format!(r#"{{"name":"Ana","is_user":false,"send_date":"{text}","mes":"{text}","extra":{{}}}}"#)
}

fn vault(bytes: &[u8]) -> TestVault {
    TestVault::new().file("chats/Ana/damaged.jsonl", bytes)
}

/// Forks, and gives what follows the header line in the fork's file.
fn carried(vault: &TestVault, args: &[&str]) -> (Value, Vec<u8>) {
    let before = vault.read("chats/Ana/damaged.jsonl");
    let report = fork(vault, &[&["branch", "Ana/damaged", "--no-link"], args].concat());
    assert!(vault.read("chats/Ana/damaged.jsonl") == before, "the parent is untouched");
    let made = vault.read(&path_of(&address(&report)));
    let end = made.iter().position(|c| *c == b'\n').unwrap();
    let header = Raw::parse(&made[..end]).unwrap();
    assert!(header.at(&["chat_metadata", "main_chat"]).is_some_and(|parent| parent.is_text("damaged")));
    let shown = vault.json(FORKLORE, &["show", &address(&report)]);
    assert_eq!(shown["messages"], report["at"].as_u64().unwrap() + 1, "{shown}");
    (report, made[end + 1..].to_vec())
}

#[test]
fn carriage_returns_and_blank_lines_come_along() {
    let lines = [
        HEADER.to_owned(),
        message("a"),
        String::new(),
        message("b"),
        "  ".to_owned(),
        message("c"),
        String::new(),
    ];
    let vault = vault(lines.join("\r\n").as_bytes());
    let (_, rest) = carried(&vault, &["--at", "1"]);
    let wanted = format!("{}\r\n\r\n{}", message("a"), message("b"));
    assert_eq!(String::from_utf8(rest).unwrap().trim_end_matches('\r'), wanted);
    let (_, rest) = carried(&vault, &["--at", "2"]);
    let wanted = format!("{}\r\n\r\n{}\r\n  \r\n{}", message("a"), message("b"), message("c"));
    assert_eq!(String::from_utf8(rest).unwrap().trim_end_matches('\r'), wanted);
}

#[test]
fn a_link_into_a_chat_with_carriage_returns_changes_one_line() {
    let lines = [HEADER.to_owned(), message("a"), message("b"), String::new()];
    let before = lines.join("\r\n");
    let vault = vault(before.as_bytes());
    fork(&vault, &["branch", "Ana/damaged", "--at", "0"]);
    let after = String::from_utf8(vault.read("chats/Ana/damaged.jsonl")).unwrap();
    let (old, new): (Vec<&str>, Vec<&str>) = (before.split("\r\n").collect(), after.split("\r\n").collect());
    assert_eq!(old.len(), new.len());
    assert_eq!((old[0], &old[2..]), (new[0], &new[2..]));
    assert!(new[1].contains("damaged - Branch #1"), "{after}");
}

#[test]
fn a_byte_order_mark_does_not_come_along_or_is_refused() {
    let bytes = format!("\u{feff}{HEADER}\n{}\n{}", message("a"), message("b"));
    let vault = vault(bytes.as_bytes());
    let run = vault.run(FORKLORE, &["branch", "Ana/damaged", "--at", "1", "--json"]);
    if run.code == Some(0) {
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        let made = vault.read(&path_of(&address(&report)));
        let end = made.iter().position(|c| *c == b'\n').unwrap();
        assert!(made.starts_with(b"{"), "SillyTavern cannot read a header after such a mark");
        let header: Value = serde_json::from_slice(&made[..end]).unwrap();
        assert_eq!(header["chat_metadata"]["main_chat"], "damaged");
        assert!(made[end + 1..] == *format!("{}\n{}", message("a"), message("b")).as_bytes());
        let parent = vault.read("chats/Ana/damaged.jsonl");
        assert!(parent.starts_with("\u{feff}{".as_bytes()), "the parent is not mended in silence");
        assert_eq!(complaints(&vault, &address(&report)), []);
    } else {
        refused(&vault, &["branch", "Ana/damaged", "--at", "1"], "CORRUPT_CHAT");
    }
}

#[test]
fn a_broken_line_in_the_middle() {
    let bytes = [HEADER, &message("a"), "{oops}", &message("b"), &message("c")].join("\n");
    let vault = vault(bytes.as_bytes());
    // Before it, nothing is wrong.
    let (_, rest) = carried(&vault, &["--at", "0"]);
    assert_eq!(String::from_utf8(rest).unwrap(), message("a"));
    // After it, the line comes along as it is: message 1 is the next line that parses.
    let (_, rest) = carried(&vault, &["--at", "1"]);
    assert_eq!(String::from_utf8(rest).unwrap(), [&message("a"), "{oops}", &message("b")].join("\n"));
    refused(&vault, &["branch", "Ana/damaged", "--at", "3"], "MESSAGE_NOT_FOUND");
}

#[test]
fn a_cut_off_last_line_is_not_part_of_the_story() {
    let bytes = format!("{HEADER}\n{}\n{}\n{{\"name\":\"An", message("a"), message("b"));
    let vault = vault(bytes.as_bytes());
    let (report, rest) = carried(&vault, &[]);
    assert_eq!(report["at"], 1);
    assert_eq!(String::from_utf8(rest).unwrap(), format!("{}\n{}", message("a"), message("b")));
    refused(&vault, &["branch", "Ana/damaged", "--at", "2"], "MESSAGE_NOT_FOUND");
    // The link goes to its line and nowhere else.
    fork(&vault, &["branch", "Ana/damaged", "--at", "1"]);
    let after = String::from_utf8(vault.read("chats/Ana/damaged.jsonl")).unwrap();
    assert!(after.ends_with("\n{\"name\":\"An"), "{after}");
}

#[test]
fn a_chat_without_a_header_gets_one_in_the_fork() {
    let bytes = format!("{}\n{}\n{}", message("a"), message("b"), message("c"));
    let vault = vault(bytes.as_bytes());
    let (report, rest) = carried(&vault, &["--at", "1"]);
    assert_eq!(String::from_utf8(rest).unwrap(), format!("{}\n{}", message("a"), message("b")));
    assert_eq!(report["book"]["name"], Value::Null);
    let tree = vault.json(FORKLORE, &["tree"]);
    let chats = tree["stories"][0]["chats"].as_array().unwrap();
    let made = chats.iter().find(|c| c["chat"] == address(&report)).unwrap();
    assert_eq!((&made["parent"], &made["fork_message"]), (&json!("Ana/damaged"), &json!(1)));
    assert_eq!(complaints(&vault, &address(&report)), []);
}

#[test]
fn empty_chats_are_refused() {
    for bytes in [&b""[..], b"\n\n", b"null", HEADER.as_bytes()] {
        let vault = vault(bytes);
        refused(&vault, &["branch", "Ana/damaged", "--at", "0"], "MESSAGE_NOT_FOUND");
        refused(&vault, &["checkpoint", "Ana/damaged"], "MESSAGE_NOT_FOUND");
    }
}

#[test]
fn odd_values_in_messages_and_header_come_along_byte_for_byte() {
    let header = r#"{"user_name":"unused", "chat_metadata" : {"integrity":"d","big":298327091685864450,"cut":"\ud83d","n":1e400,"dup":1,"dup":2,"variables":{"x":9007199254740993.0}} ,"extra":true}"#;
    let lines = [
        r#"{"name":"Ana","is_user":0,"is_system":"","gen_id":298327091685864450,"mes":"cut \ud83d","send_date":1700000000000}"#,
        r#"{"mes":"caf\u00e9","mes":"twice", "x" : 1.50, "is_system": ""}"#,
        r#"{"mes":"last","extra":{"deep":[[[[{"n":-0}]]]]}}"#,
    ];
    let vault = vault(format!("{header}\n{}", lines.join("\n")).as_bytes());
    let (report, rest) = carried(&vault, &["--at", "1"]);
    assert_eq!(String::from_utf8(rest).unwrap(), lines[..2].join("\n"));
    let made = String::from_utf8(vault.read(&path_of(&address(&report)))).unwrap();
    for kept in [
        r#""big":298327091685864450"#,
        r#""cut":"\ud83d""#,
        r#""n":1e400"#,
        r#""dup":1,"dup":2"#,
        r#"{"x":9007199254740993.0}"#,
        r#""extra":true"#,
    ] {
        assert!(made.contains(kept), "{kept} in {made}");
    }
    assert!(made.starts_with(r#"{"user_name":"unused", "chat_metadata" : {"#), "{made}");
    // With a link, only the message's own line changes, and in it only the link.
    fork(&vault, &["branch", "Ana/damaged", "--at", "0"]);
    let after = String::from_utf8(vault.read("chats/Ana/damaged.jsonl")).unwrap();
    let after: Vec<&str> = after.split('\n').collect();
    assert_eq!((after[0], &after[2..]), (header, &lines[1..]));
    let without = after[1].replace(r#","extra":{"branches":["damaged - Branch #2"]}"#, "");
    assert_eq!(without, lines[0]);
}

#[test]
fn deep_nesting_comes_along() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let bytes = format!("{HEADER}\n{{\"mes\":\"deep\",\"x\":{deep}}}\n{}", message("b"));
    let vault = vault(bytes.as_bytes());
    let (_, rest) = carried(&vault, &["--at", "0"]);
    assert!(rest == format!("{{\"mes\":\"deep\",\"x\":{deep}}}").as_bytes());
    let report = fork(&vault, &["checkpoint", "Ana/damaged", "--at", "0"]);
    assert_eq!(report["pending"], json!([]), "the link fits in as well");
    let metadata = format!(r#"{{"chat_metadata":{{"integrity":"d","deep":{deep}}}}}"#);
    let vault = vault_with_header(&metadata);
    let (report, _) = carried(&vault, &["--at", "1"]);
    let made = vault.read(&path_of(&address(&report)));
    assert!(made.windows(400_000).any(|w| w == deep.as_bytes()));
}

fn vault_with_header(header: &str) -> TestVault {
    vault([header, &message("a"), &message("b"), &message("c")].join("\n").as_bytes())
}

#[test]
fn bytes_that_are_not_utf8_come_along() {
    let line = b"{\"mes\":\"a\xffb\",\"name\":\"\xc3\",\"send_date\":\"1\"}";
    let bytes = [HEADER.as_bytes(), b"\n", line, b"\n", message("b").as_bytes()].concat();
    let vault = vault(&bytes);
    let (_, rest) = carried(&vault, &["--at", "0"]);
    assert!(rest == line);
}

#[test]
fn headers_that_are_odd() {
    for header in [
        r#"{"chat_metadata":{}}"#,
        r#"{"chat_metadata":null,"user_name":"u"}"#,
        r#"{"user_name":"Ana","character_name":"Bo","create_date":"x"}"#,
        r#"{"chat_metadata":{"integrity":5,"world_info":7,"main_chat":{},"forklore":"mine","auto_lorebooks":"odd","autoLorebooks":[],"timedWorldInfo":[],"auto_recap":3,"auto_recap_running_scene_recaps":"none","variables":[]}}"#,
        r#"{"chat_metadata":{"auto_recap_running_scene_recaps":{"versions":{"0":{}},"current_version":"x"},"auto_lorebooks":{"registry":[]}}}"#,
    ] {
        let vault = vault_with_header(header);
        let (report, rest) = carried(&vault, &["--at", "1"]);
        assert_eq!(
            String::from_utf8(rest).unwrap(),
            format!("{}\n{}", message("a"), message("b")),
            "{header}"
        );
        let made = vault.read(&path_of(&address(&report)));
        let line = made.split(|c| *c == b'\n').next().unwrap();
        let new: Value = serde_json::from_slice(line).unwrap();
        assert!(new["chat_metadata"]["integrity"].is_string(), "{header}");
        assert_eq!(new["chat_metadata"]["forklore"]["parent"]["message"], 1, "{header}");
        let run = vault.run(FORKLORE, &["check"]);
        assert!(run.code.is_some_and(|code| code < 2), "{header}: {run}");
    }
}

// --- Books

/// A chat with a book of this text.
fn with_book(text: &str) -> TestVault {
    let metadata = json!({"integrity": "b", "world_info": "Lore"});
    TestVault::new()
        .chat("Ana", "damaged", &metadata, &["hello", "other", "more", "last"])
        .file("worlds/Lore.json", text.as_bytes())
}

#[test]
fn odd_books_are_carried_byte_for_byte() {
    for text in [
        r#"{"entries":[{"uid":0,"comment":"a","content":"x"},{"uid":7,"comment":"b","content":"y"}],"name":"Lore"}"#,
        r#"{"name":"Lore","entries":{"3":{"uid":4,"comment":"a","content":"x"},"x":{"comment":"no number"}}}"#,
        r#"{"name":"Lore","entries":{"1":{"uid":1,"comment":"a","content":"x"},"2":{"uid":1,"comment":"b"}}}"#,
        r#"{"name":"Lore","entries":{"0":{"uid":0},"1":{"uid":1,"content":5},"2":null,"3":[],"4":"text"}}"#,
        r#"{"name":"Lore","entries":{"1":{"uid":1,"comment":"a"},"1":{"uid":1,"comment":"twice"}}}"#,
        r#"{"name":"Lore","entries":{},"extra":[1e400,"\ud800"]}"#,
        "\n{ \"name\" : \"Lore\",\r\n\t\"entries\" : { \"0\" : {\"uid\":0.0, \"comment\":\"a\"} } }",
    ] {
        // At the head, and in the past, where nothing tells how it was.
        for at in ["3", "1"] {
            let vault = with_book(text);
            let (report, _) = carried(&vault, &["--at", at]);
            let name = report["book"]["name"].as_str().unwrap_or_else(|| panic!("{text}: {report}"));
            let made = String::from_utf8(vault.read(&format!("worlds/{name}.json"))).unwrap();
            assert_eq!(made.trim(), text.trim().replacen("\"Lore\"", &format!("\"{name}\""), 1), "at {at}");
            assert_eq!(vault.read("worlds/Lore.json"), text.as_bytes());
        }
    }
}

#[test]
fn odd_books_of_the_extension_are_carried_into_the_past() {
    // Kept by Auto-Recap, with entries that no extension would write: as a list, numbers twice, without fields.
    let mut story = Story::new("Ana", "damaged");
    story.put("t", json!({"uid": 9, "comment": "character-Twin", "content": "Same number."}));
    story.put("n", json!({"comment": "No number", "content": "At all."})).put("m", json!({"uid": 77}));
    story.until(11).learn(9, "character-Mara", "Captain.").scene("First").until(21).learn(
        9,
        "character-Mara",
        "Dead.",
    );
    story.scene("Second");
    let all: Vec<Value> = story.entries().values().cloned().collect();
    story.book["entries"] = json!(all);
    let vault = TestVault::new();
    story.save(&vault);
    let report = fork(&vault, &["branch", "Ana/damaged", "--at", "10"]);
    let made = book(&vault, report["book"]["name"].as_str().unwrap());
    let list = made["entries"].as_array().unwrap_or_else(|| panic!("it was a list: {made}"));
    let find = |title: &str| list.iter().find(|e| e["comment"] == title);
    assert_eq!(find("character-Mara").unwrap()["content"], "Captain.");
    assert_eq!(
        find("character-Twin"),
        Some(&json!({"uid": 9, "comment": "character-Twin", "content": "Same number."}))
    );
    assert_eq!(find("No number"), Some(&json!({"comment": "No number", "content": "At all."})));
    assert!(list.iter().any(|e| e["uid"] == 77));
    assert_eq!(list.len(), all.len());
}

#[test]
fn keys_that_are_not_the_number_stay_with_their_entries() {
    let mut story = Story::new("Ana", "damaged");
    story.until(11).learn(9, "character-Mara", "Captain.").scene("First").until(21).learn(
        9,
        "character-Mara",
        "Dead.",
    );
    story.scene("Second");
    let mara = story.entries().remove("9").unwrap();
    story.put("zz", mara);
    let vault = TestVault::new();
    story.save(&vault);
    let report = fork(&vault, &["branch", "Ana/damaged", "--at", "10"]);
    let made = book(&vault, report["book"]["name"].as_str().unwrap());
    assert_eq!(
        (&made["entries"]["zz"]["content"], &made["entries"]["zz"]["uid"]),
        (&json!("Captain."), &json!(9))
    );
    assert_eq!(made["entries"].get("9"), None);
}

#[test]
fn damaged_settings_and_groups_stop_no_fork() {
    let vault = vault(format!("{HEADER}\n{}\n{}", message("a"), message("b")).as_bytes())
        .file("settings.json", b"{nonsense")
        .file("groups/1.json", b"[")
        .file("group chats/lone.jsonl", format!("{HEADER}\n{}\n{}", message("c"), message("d")).as_bytes());
    carried(&vault, &["--at", "0"]);
    assert_eq!(vault.read("settings.json"), b"{nonsense");
    // A group chat of no group can be forked, too.
    let tree = vault.json(FORKLORE, &["tree"]);
    let chats: Vec<String> = tree["stories"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|s| s["chats"].as_array().unwrap())
        .map(|c| c["chat"].as_str().unwrap().to_owned())
        .collect();
    let lone = chats.iter().find(|c| c.ends_with("/lone")).unwrap();
    let report = fork(&vault, &["checkpoint", lone, "--at", "0"]);
    assert!(
        vault
            .root()
            .join(format!("group chats/{}.jsonl", address(&report).rsplit('/').next().unwrap()))
            .is_file()
    );
    assert_eq!(vault.read("groups/1.json"), b"[");
}

#[cfg(unix)]
#[test]
fn links_out_of_the_vault_are_not_written_through() {
    let outside = TestVault::new().book("Secret", &[("a", "b")]);
    let vault = TestVault::new().chat(
        "Ana",
        "damaged",
        &json!({"integrity": "x", "world_info": "Lore"}),
        &["hello", "one", "two"],
    );
    forklore_testkit::unix::symlink(
        outside.root().join("worlds/Secret.json"),
        vault.root().join("worlds/Lore.json"),
    )
    .unwrap();
    let before = outside.snapshot();
    let run = vault.run(FORKLORE, &["branch", "Ana/damaged", "--at", "1", "--json"]);
    assert!(run.code.is_some_and(|code| code < 2), "{run}");
    assert_eq!(outside.snapshot(), before);
    let made = vault
        .snapshot()
        .into_iter()
        .filter(|(path, _)| path.starts_with("worlds/") && path != "worlds/Lore.json");
    for (path, bytes) in made {
        assert!(!String::from_utf8_lossy(&bytes).contains("\"b\""), "{path} holds what is outside");
    }
}

#[test]
fn keys_that_stand_twice_in_a_header_are_set_where_they_count() {
    let header = r#"{"chat_metadata":{"world_info":"Gone","integrity":"x","world_info":"Lore","integrity":"d","main_chat":"a","main_chat":"b"}}"#;
    let vault = vault_with_header(header).book("Lore", &[("The sea", "Cold.")]);
    let report = fork(&vault, &["branch", "Ana/damaged"]);
    let made = vault.read(&path_of(&address(&report)));
    let header: Value = serde_json::from_slice(made.split(|c| *c == b'\n').next().unwrap()).unwrap();
    let metadata = &header["chat_metadata"];
    assert_eq!(metadata["world_info"], report["book"]["name"]);
    assert_eq!(report["book"]["entries"], 1);
    assert_eq!(metadata["main_chat"], "damaged");
    assert_eq!(metadata["integrity"], metadata["forklore"]["owner"]["slug"]);
}

#[test]
fn versions_of_the_running_recap_without_a_number_are_not_lost() {
    let mut story = Story::new("Ana", "damaged");
    story.until(11).scene("First").until(21).scene("Second");
    let odd = json!({"content": "By a broken editor.", "new_scene_index": 10});
    story.metadata_mut()["auto_recap_running_scene_recaps"]["versions"]
        .as_array_mut()
        .unwrap()
        .insert(1, odd);
    let vault = TestVault::new();
    story.save(&vault);
    for at in ["10", "20"] {
        let report = fork(&vault, &["branch", "Ana/damaged", "--at", at]);
        let made = String::from_utf8(vault.read(&path_of(&address(&report)))).unwrap();
        assert!(
            made.lines().next().unwrap().contains("By a broken editor."),
            "in the recap or in the archive, at {at}"
        );
    }
}

#[test]
fn long_names_and_large_chats() {
    let name = "x".repeat(240);
    let texts: Vec<String> = (0..60).map(|i| format!("{i} {}", "lorem ipsum ".repeat(4000))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vault = TestVault::new().chat("Ana", &name, &json!({"integrity": "n", "world_info": "Lore"}), &texts);
    let vault = vault.book("Lore", &[("a", "b")]);
    let before = vault.read(&format!("chats/Ana/{name}.jsonl"));
    let first = before.iter().position(|c| *c == b'\n').unwrap();
    for (at, lines) in [("59", 60), ("40", 41)] {
        let report = fork(&vault, &["branch", &format!("Ana/{name}"), "--at", at, "--no-link"]);
        assert!(address(&report).len() < 250, "{report}");
        let made = vault.read(&path_of(&address(&report)));
        let end = made.iter().position(|c| *c == b'\n').unwrap();
        let wanted: Vec<&[u8]> = before[first + 1..].split(|c| *c == b'\n').take(lines).collect();
        assert!(made[end + 1..] == wanted.join(&b'\n'));
        let header: Value = serde_json::from_slice(&made[..end]).unwrap();
        assert_eq!(header["chat_metadata"]["world_info"], report["book"]["name"]);
        assert_eq!(complaints(&vault, &address(&report)), []);
    }
    // With a link, the large file has one line changed.
    fork(&vault, &["checkpoint", &format!("Ana/{name}"), "--at", "40"]);
    let after = vault.read(&format!("chats/Ana/{name}.jsonl"));
    let (old, new): (Vec<&[u8]>, Vec<&[u8]>) =
        (before.split(|c| *c == b'\n').collect(), after.split(|c| *c == b'\n').collect());
    let differing: Vec<usize> = (0..old.len()).filter(|i| old[*i] != new[*i]).collect();
    assert_eq!((old.len(), differing), (new.len(), vec![41]));
}
