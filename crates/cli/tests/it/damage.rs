//! Damaged data: for each kind of damage a vault that has it, what Forklore says about it, and that it says so without a panic.

use forklore_testkit::TestVault;
use serde_json::{Value, json};

use crate::FORKLORE;

/// A healthy chat to stand beside the damaged thing.
fn vault() -> TestVault {
    TestVault::new().chat("Ana", "fine", &json!({"integrity": "f"}), &["hello", "hi", "so"])
}

fn header() -> String {
    r#"{"chat_metadata":{"integrity":"d"},"user_name":"unused","character_name":"unused"}"#.to_owned()
}

fn message(text: &str) -> String {
    format!(r#"{{"name":"Ana","is_user":false,"send_date":"1","mes":"{text}"}}"#)
}

/// The findings about the damaged chat: (code, severity).
fn findings(vault: &TestVault) -> Vec<(String, String)> {
    let report = vault.json(FORKLORE, &["check"]);
    let all = report["findings"].as_array().unwrap().iter();
    let ours = all.filter(|f| f["chat"] != "Ana/fine");
    for finding in ours.clone() {
        for key in ["message", "remedy"] {
            assert!(
                finding[key].as_str().is_some_and(|text| text.ends_with('.') && text.len() > 20),
                "{finding}"
            );
        }
    }
    ours.map(|f| (f["code"].as_str().unwrap().to_owned(), f["severity"].as_str().unwrap().to_owned()))
        .collect()
}

fn damaged_chat(bytes: &[u8]) -> (TestVault, Vec<(String, String)>) {
    let vault = vault().file("chats/Ana/damaged.jsonl", bytes);
    let found = findings(&vault);
    (vault, found)
}

fn one(code: &str, severity: &str) -> Vec<(String, String)> {
    vec![(code.to_owned(), severity.to_owned())]
}

fn messages(vault: &TestVault, chat: &str) -> u64 {
    let tree = vault.json(FORKLORE, &["tree"]);
    let stories = tree["stories"].as_array().unwrap().iter();
    let chats = stories.flat_map(|s| s["chats"].as_array().unwrap());
    chats.filter(|c| c["chat"] == chat).map(|c| c["messages"].as_u64().unwrap()).next().unwrap()
}

#[test]
fn a_cut_off_last_line() {
    let (vault, found) = damaged_chat(format!("{}\n{}\n{{\"name\":\"An", header(), message("a")).as_bytes());
    assert_eq!(found, one("CHAT_DAMAGED", "error"));
    assert_eq!(messages(&vault, "Ana/damaged"), 1);
}

#[test]
fn a_broken_line_in_the_middle() {
    let (vault, found) =
        damaged_chat(format!("{}\n{}\n{{oops}}\n{}", header(), message("a"), message("b")).as_bytes());
    assert_eq!(found, one("CHAT_DAMAGED", "error"));
    assert_eq!(messages(&vault, "Ana/damaged"), 2, "message 1 is the next line that parses");
    assert_eq!(vault.json(FORKLORE, &["show", "damaged", "--at", "1"])["text"], "b");
}

#[test]
fn blank_lines_crlf_and_a_newline_at_the_end_are_harmless() {
    let (vault, found) =
        damaged_chat(format!("{}\r\n\r\n{}\r\n\n{}\n", header(), message("a"), message("b")).as_bytes());
    assert_eq!(found, []);
    assert_eq!(messages(&vault, "Ana/damaged"), 2);
    assert_eq!(vault.json(FORKLORE, &["show", "damaged", "--at", "1"])["text"], "b");
}

#[test]
fn lines_that_javascript_counts_as_false_are_no_messages() {
    let (vault, found) = damaged_chat(format!("{}\nnull\n0\n\"\"\n{}", header(), message("a")).as_bytes());
    assert_eq!(found, []);
    assert_eq!(messages(&vault, "Ana/damaged"), 1);
}

#[test]
fn a_byte_order_mark() {
    let (vault, found) = damaged_chat(format!("\u{feff}{}\n{}", header(), message("a")).as_bytes());
    assert_eq!(found, one("CHAT_DAMAGED", "error"));
    assert_eq!(vault.json(FORKLORE, &["show", "damaged"])["text"], "a");
}

#[test]
fn a_chat_without_a_header() {
    let (vault, found) = damaged_chat(format!("{}\n{}", message("a"), message("b")).as_bytes());
    assert_eq!(found, one("CHAT_DAMAGED", "warning"));
    assert_eq!(messages(&vault, "Ana/damaged"), 2);
}

#[test]
fn an_empty_chat() {
    for bytes in [&b""[..], b"\n\n", b"null"] {
        let (vault, found) = damaged_chat(bytes);
        assert_eq!(found, one("CHAT_DAMAGED", "warning"));
        let error = vault.json(FORKLORE, &["show", "damaged"]);
        assert_eq!(error["error"]["code"], "MESSAGE_NOT_FOUND");
    }
}

#[test]
fn nesting_deeper_than_any_stack() {
    let deep =
        format!("{}\n{{\"mes\":\"deep\",\"x\":{}{}}}", header(), "[".repeat(200_000), "]".repeat(200_000));
    let (vault, found) = damaged_chat(deep.as_bytes());
    assert_eq!(found, []);
    assert_eq!(messages(&vault, "Ana/damaged"), 1);
}

#[test]
fn odd_values_are_read_as_sillytavern_reads_them() {
    let line = r#"{"name":"Ana","is_user":0,"is_system":"","gen_id":298327091685864450,"mes":"cut \ud83d","send_date":1700000000000}"#;
    let (vault, found) = damaged_chat(format!("{}\n{line}", header()).as_bytes());
    assert_eq!(found, []);
    assert_eq!(vault.json(FORKLORE, &["show", "damaged"])["text"], "cut \u{fffd}");
}

#[test]
fn bytes_that_are_not_utf8() {
    let line = [header().as_bytes(), b"\n{\"mes\":\"a\xffb\",\"name\":\"\xc3\"}"].concat();
    let (vault, found) = damaged_chat(&line);
    assert_eq!(found, []);
    assert_eq!(vault.json(FORKLORE, &["show", "damaged"])["text"], "a\u{fffd}b");
}

/// A chat bound to a book with this content.
fn damaged_book(bytes: &[u8]) -> (TestVault, Vec<(String, String)>) {
    let vault = vault()
        .chat("Ana", "bound", &json!({"integrity": "b", "world_info": "Lore"}), &["hello", "other"])
        .file("worlds/Lore.json", bytes);
    let found = findings(&vault);
    (vault, found)
}

#[test]
fn a_book_that_is_not_json() {
    for bytes in [&b"{\"entries\": {"[..], b"", b"[]", b"{\"name\":\"no entries\"}", b"\xff\xfe"] {
        let (vault, found) = damaged_book(bytes);
        assert_eq!(found, one("BOOK_DAMAGED", "error"));
        let alone = vault.json(FORKLORE, &["check", "bound"]);
        assert_eq!(alone["findings"][0]["code"], "BOOK_DAMAGED", "also when asked for the chat alone");
        let error = vault.json(FORKLORE, &["show", "bound"]);
        assert_eq!(error["error"]["code"], "CORRUPT_BOOK");
        assert!(error["error"]["hint"].as_str().unwrap().len() > 20);
    }
}

#[test]
fn a_book_that_is_odd_but_readable() {
    for text in [
        r#"{"entries":[{"uid":0,"comment":"a","content":"x"}]}"#,
        r#"{"entries":{"3":{"uid":4,"comment":"a","content":"x"}}}"#,
        r#"{"entries":{"1":{"uid":1,"comment":"a","content":"x"},"2":{"uid":1,"comment":"b"}}}"#,
        r#"{"entries":{"x":{"comment":"a","content":"x"}}}"#,
    ] {
        let (vault, found) = damaged_book(text.as_bytes());
        assert_eq!(found, one("BOOK_DAMAGED", "warning"), "{text}");
        let shown = vault.json(FORKLORE, &["show", "bound"]);
        assert_eq!(shown["book"]["entries"][0]["content"], "x", "carried as it is");
    }
}

#[test]
fn entries_without_fields_are_carried() {
    let (vault, found) = damaged_book(br#"{"entries":{"0":{"uid":0},"1":{"uid":1,"content":5},"2":null}}"#);
    assert_eq!(found, []);
    assert_eq!(vault.json(FORKLORE, &["show", "bound"])["book"]["entries"].as_array().unwrap().len(), 3);
}

#[test]
fn a_missing_book() {
    let vault = vault().chat("Ana", "bound", &json!({"world_info": "Gone"}), &["hello", "other"]);
    assert_eq!(findings(&vault), one("BOOK_MISSING", "error"));
    let shown = vault.json(FORKLORE, &["show", "bound"]);
    assert_eq!(shown["warnings"][0]["code"], "BOOK_MISSING");
}

#[test]
fn damaged_settings_groups_and_cards_stop_nothing() {
    let vault = vault()
        .file("settings.json", b"{nonsense")
        .file("groups/1.json", b"[")
        .file("groups/2.json", br#"{"id":2,"name":"Two","chats":["g"]}"#)
        .file("group chats/g.jsonl", format!("{}\n{}", header(), message("a")).as_bytes())
        .file("group chats/nobody's.jsonl", message("a").as_bytes())
        .file("characters/Ana.png", b"not a picture")
        .file("characters/Bo.png", b"\x89PNG\r\n\x1a\n\xff\xff\xff\xfftEXt");
    let stories = vault.json(FORKLORE, &["stories"]);
    let names: Vec<&Value> = stories["stories"].as_array().unwrap().iter().map(|s| &s["name"]).collect();
    assert_eq!(names, ["Ana", "Two", "Chats of no group"]);
}

#[test]
fn left_overs_of_a_killed_save() {
    let vault = vault().file("chats/Ana/fine.jsonl.1234567", b"half");
    assert_eq!(findings(&vault), one("TMP_LITTER", "info"));
}

#[test]
fn odd_names_work_everywhere() {
    // Windows lets nobody make files that are called like these.
    let elsewhere: &[&str] = if cfg!(windows) { &[] } else { &["CON", "it's \"quoted\""] };
    let long = "x".repeat(240);
    let everywhere = ["..dots", "emoji 🐉", "漢字", "-dash", "a'b & c;d $(e)", &long];
    for name in everywhere.iter().chain(elsewhere) {
        let vault = vault().chat("Ana", name, &json!({"integrity": "n"}), &["hello", "one"]);
        let shown = vault.json(FORKLORE, &["show", &format!("Ana/{name}")]);
        assert_eq!(shown["chat"], format!("Ana/{name}"));
        assert_eq!(shown["messages"], 2);
    }
}

/// Where they are not one file.
#[cfg(target_os = "linux")]
#[test]
fn names_that_differ_in_case_only_are_two_chats() {
    let vault = vault().chat("Ana", "UPPER", &json!({}), &["hello", "one", "two"]).chat(
        "Ana",
        "upper",
        &json!({}),
        &["hello", "one"],
    );
    assert_eq!(vault.json(FORKLORE, &["show", "upper"])["messages"], 2);
    assert_eq!(vault.json(FORKLORE, &["show", "UPPER"])["messages"], 3);
    assert_eq!(vault.json(FORKLORE, &["show", "Upper"])["error"]["code"], "CHAT_AMBIGUOUS");
}

#[cfg(unix)]
#[test]
fn links_out_of_the_vault_are_named_and_not_followed() {
    let outside = TestVault::new().chat("Secret", "diary", &json!({}), &["do not read", "this"]);
    let vault = vault();
    forklore_testkit::unix::symlink(outside.root().join("chats/Secret"), vault.root().join("chats/Secret"))
        .unwrap();
    forklore_testkit::unix::symlink(
        outside.root().join("chats/Secret/diary.jsonl"),
        vault.root().join("chats/Ana/link.jsonl"),
    )
    .unwrap();
    let run = vault.run(FORKLORE, &["tree"]);
    assert!(!run.stdout.contains("diary") && !run.stdout.contains("link"), "{run}");
    // The folder, and the file.
    assert_eq!(findings(&vault), [one("CHAT_DAMAGED", "warning"), one("CHAT_DAMAGED", "warning")].concat());
}

/// No file can be called so on Windows.
#[cfg(unix)]
#[test]
fn control_characters_never_reach_the_terminal() {
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[31mred";
    let vault = vault()
        .chat("Ana", &format!("x{evil}"), &json!({"world_info": "Lore"}), &["hello", evil])
        .book("Lore", &[(evil, evil)]);
    for args in [&["tree"][..], &["show", &format!("x{evil}")], &["check"], &["stories"]] {
        let run = vault.run(FORKLORE, args);
        assert!(!run.stdout.contains('\u{1b}') && !run.stdout.contains('\u{7}'), "{args:?}\n{run}");
    }
}
