//! What is told, by its code, where nothing else happens to be tested: findings, warnings, refusals.

use std::fs;
use std::process::Command;

use forklore_api::Failure;
use forklore_archive::ArchiveError;
use forklore_engine::import::ImportError;
use forklore_testkit::TestVault;
use forklore_testkit::story::Story;
use serde_json::{Value, json};

use crate::FORKLORE;
use crate::disk::{ChatFile, fork, refused, warnings};
use crate::kills::strace::{Strace, skipped};
use crate::set_up::did;

/// A main chat with an extension's book, and a group.
fn vault() -> TestVault {
    let metadata = json!({"integrity": "a", "world_info": "B"});
    let group =
        json!({"id": "1", "name": "Band", "members": ["Ana.png"], "chat_id": "100", "chats": ["100"]});
    TestVault::new()
        .chat("Ana", "main", &metadata, &["hello", "one", "two", "three"])
        .book("B", &[("_registry_character", "[Registry: character]"), ("character-Ana", "A girl")])
        .file("groups/1.json", group.to_string().as_bytes())
        .file("group chats/100.jsonl", b"{\"chat_metadata\":{}}\n{\"mes\":\"x\",\"name\":\"A\"}")
}

/// Code, severity and remedy of everything that `check` says of a chat, or of all.
fn findings(vault: &TestVault, args: &[&str]) -> Vec<(String, String)> {
    let report = vault.json(FORKLORE, args);
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    let found = report["findings"].as_array().unwrap_or_else(|| panic!("{report:#}")).iter();
    found
        .map(|finding| {
            assert!(text(finding, "remedy").len() > 10, "{finding}");
            (text(finding, "code"), text(finding, "severity"))
        })
        .collect()
}

fn has(findings: &[(String, String)], code: &str, severity: &str) -> bool {
    findings.iter().any(|(c, s)| (&**c, &**s) == (code, severity))
}

fn rebind(vault: &TestVault, chat: &str, to: &str) {
    let file = format!("chats/{chat}.jsonl");
    let from = ChatFile::at(vault, chat).book().to_owned();
    let text = String::from_utf8(vault.read(&file)).unwrap();
    let text = text.replacen(&format!("\"world_info\":\"{from}\""), &format!("\"world_info\":\"{to}\""), 1);
    vault.write(&file, text.as_bytes());
}

#[test]
fn a_fork_whose_book_is_anothers() {
    let vault = vault();
    fork(&vault, &["branch", "Ana/main", "--name", "fork"]);
    fork(&vault, &["branch", "Ana/main", "--name", "other"]);
    let own = ChatFile::at(&vault, "Ana/fork").book().to_owned();
    let others = ChatFile::at(&vault, "Ana/other").book().to_owned();
    assert!(!has(&findings(&vault, &["check"]), "BOOK_FOREIGN", "error"));
    rebind(&vault, "Ana/fork", &others);
    assert!(has(&findings(&vault, &["check", "Ana/fork"]), "BOOK_FOREIGN", "error"));
    did(&vault, &["heal", "Ana/fork", "--yes"]);
    assert_eq!(ChatFile::at(&vault, "Ana/fork").book(), own, "bound to its own again");
    // One that the user keeps, bound on purpose.
    let vault = vault.book("By hand", &[("Sea", "Wide")]);
    rebind(&vault, "Ana/fork", "By hand");
    assert!(has(&findings(&vault, &["check", "Ana/fork"]), "BOOK_FOREIGN", "info"));
}

#[test]
fn regression_to_edit_the_lorebook_of_a_fork_is_no_reason_to_warn() {
    let vault = vault();
    fork(&vault, &["branch", "Ana/main", "--name", "fork"]);
    assert!(!has(&findings(&vault, &["check"]), "BASELINE_CHANGED", "warning"));
    let book = format!("worlds/{}.json", ChatFile::at(&vault, "Ana/fork").book());
    let text = String::from_utf8(vault.read(&book)).unwrap();
    // Saved anew it is what it was.
    let again: Value = serde_json::from_str(&text).unwrap();
    vault.write(&book, again.to_string().as_bytes());
    assert!(!has(&findings(&vault, &["check"]), "BASELINE_CHANGED", "warning"));
    vault.write(&book, text.replace("A girl", "A woman").as_bytes());
    assert!(has(&findings(&vault, &["check", "Ana/fork"]), "BASELINE_CHANGED", "info"));
}

#[test]
fn work_in_the_queue_that_never_gets_done() {
    let stuck = |operation: Value| {
        let queue = json!({"queue": [operation]}).to_string();
        let entries = [("_registry_character", "[Registry: character]"), ("__operation_queue", &*queue)];
        has(&findings(&vault().book("B", &entries), &["check"]), "QUEUE_STUCK", "warning")
    };
    let operation = |retries: i64, status: &str, started: i64| json!({"id": "1", "type": "scene_recap", "status": status, "retries": retries, "started_at": started});
    assert!(stuck(operation(9, "pending", 0)));
    assert!(!stuck(operation(1, "pending", 0)));
    assert!(stuck(operation(0, "in_progress", 1_600_000_000_000)), "for years");
}

#[test]
fn where_chats_come_from() {
    let vault = vault();
    fork(&vault, &["branch", "Ana/main", "--name", "fork"]);
    let chats = vault.root().join("chats/Ana");
    fs::rename(chats.join("main.jsonl"), chats.join("renamed.jsonl")).unwrap();
    assert!(has(&findings(&vault, &["check", "Ana/fork"]), "PARENT_RENAMED", "info"));
    fs::remove_file(chats.join("renamed.jsonl")).unwrap();
    assert!(has(&findings(&vault, &["check", "Ana/fork"]), "PARENT_MISSING", "warning"));
    let native = json!({"integrity": "n", "main_chat": "main"});
    let vault = self::vault().chat("Ana", "native", &native, &["hello", "one", "two", "other"]);
    assert!(has(&findings(&vault, &["check", "Ana/native"]), "UNRECORDED_FORK", "info"));
}

#[test]
fn what_is_kept_and_rots() {
    let vault = vault();
    fork(&vault, &["branch", "Ana/main", "--name", "fork"]);
    did(&vault, &["delete", "Ana/fork"]);
    assert!(!has(&findings(&vault, &["check", "--deep"]), "HISTORY_DAMAGED", "error"));
    for object in fs::read_dir(vault.root().join(".forklore/objects")).unwrap() {
        fs::write(object.unwrap().path(), "rot").unwrap();
    }
    assert!(has(&findings(&vault, &["check", "--deep"]), "HISTORY_DAMAGED", "error"));
    fs::remove_dir_all(vault.root().join(".forklore/history")).unwrap();
    vault.write(".forklore/history", b"no folder");
    refused(&vault, &["watch", "--once"], "HISTORY_UNREADABLE");
}

#[test]
fn travellers_are_told_what_is_missing() {
    let vault = vault();
    refused(&vault, &["export", "Ana", "--with-card"], "NO_CARD");
    vault.write("groups/2.json", br#"{"id":"2","name":"Empty","members":[],"chat_id":"","chats":[]}"#);
    refused(&vault, &["export", "group:2"], "EMPTY_STORY");
    refused(&vault, &["import", "nothing.forklore"], "IO");
    did(&vault, &["export", "Ana", "-o", "ana.forklore"]);
    refused(&vault, &["import", "ana.forklore", "--into", "group:1"], "OTHER_KIND");
    fs::remove_dir_all(vault.root().join("chats/Ana")).unwrap();
    assert_eq!(warnings(&did(&vault, &["import", "ana.forklore"])), ["NO_CARD"]);
    // Chats of a group that nobody knows.
    fs::remove_file(vault.root().join("groups/1.json")).unwrap();
    did(&vault, &["export", "group:-", "-o", "band.forklore"]);
    fs::remove_file(vault.root().join("group chats/100.jsonl")).unwrap();
    assert_eq!(warnings(&did(&vault, &["import", "band.forklore"])), ["NO_GROUP"]);
}

#[test]
fn regression_a_group_whose_file_has_blanks_around_it_can_be_imported() {
    let vault = vault();
    let group =
        " \n{\"id\":\"1\",\"name\":\"Band\",\"members\":[],\"chat_id\":\"100\",\"chats\":[\"100\"]}\n";
    vault.write("groups/1.json", group.as_bytes());
    did(&vault, &["export", "group:1", "-o", "band.forklore"]);
    fs::remove_file(vault.root().join("groups/1.json")).unwrap();
    fs::remove_file(vault.root().join("group chats/100.jsonl")).unwrap();
    did(&vault, &["import", "band.forklore"]);
    assert_eq!(String::from_utf8(vault.read("groups/1.json")).unwrap(), group);
}

#[test]
fn what_only_happens_in_a_moment_has_its_code_too() {
    let code = |failure: Failure| failure.code.as_str();
    assert_eq!(code(Failure::from(ImportError::Changed)), "EXPORT_CHANGED");
    assert_eq!(code(Failure::from(ArchiveError::TooLarge("a chat".to_owned()))), "EXPORT_TOO_LARGE");
}

#[test]
fn the_past_tells_what_it_is_not() {
    // A group's chat whose group is gone.
    let vault = vault();
    did(&vault, &["watch", "--once"]);
    fs::remove_file(vault.root().join("group chats/100.jsonl")).unwrap();
    fs::remove_file(vault.root().join("groups/1.json")).unwrap();
    did(&vault, &["watch", "--once"]);
    assert_eq!(warnings(&did(&vault, &["restore", "group:-/100"])), ["UNLISTED"]);

    // A chat that is gone, and whose book went on.
    fs::remove_file(vault.root().join("chats/Ana/main.jsonl")).unwrap();
    did(&vault, &["watch", "--once"]);
    refused(&vault, &["restore", "Ana/main", "--book", "--at", "1", "--yes"], "CHAT_DELETED");
    let book = String::from_utf8(vault.read("worlds/B.json")).unwrap().replace("A girl", "A woman");
    vault.write("worlds/B.json", book.as_bytes());
    did(&vault, &["watch", "--once"]);
    let back = did(&vault, &["restore", "Ana/main"]);
    assert_eq!(warnings(&back), ["BOOK_CHANGED_SINCE"]);
    assert_ne!(back["book"]["name"], "B");

    // An entry of a book that another chat uses, too.
    let (a, b) = (json!({"integrity": "a", "world_info": "H"}), json!({"integrity": "b", "world_info": "H"}));
    let vault = TestVault::new()
        .chat("Ana", "main", &a, &["hello", "one"])
        .chat("Ana", "second", &b, &["ho", "two"])
        .book("H", &[("Sea", "Cold")]);
    did(&vault, &["watch", "--once"]);
    let vault = vault.chat("Ana", "main", &a, &["hello", "one", "two"]);
    did(&vault, &["watch", "--once"]);
    let vault = vault.book("H", &[("Sea", "Warm")]);
    did(&vault, &["watch", "--once"]);
    let back = did(&vault, &["restore", "Ana/main", "--entry", "Sea", "--at", "1", "--yes"]);
    assert_eq!(warnings(&back), ["BOOK_LEFT_TO_OTHERS"]);
}

#[test]
fn a_chat_that_was_too_large_to_be_kept_by_the_way() {
    let text = "x".repeat(17 << 20);
    let metadata = json!({"integrity": "a"});
    let vault = TestVault::new().chat("Ana", "main", &metadata, &["hello", &text, &text]);
    did(&vault, &["watch", "--once"]);
    let vault = vault.chat("Ana", "main", &metadata, &["hello", &text, &text, "one more"]);
    // A fork looks at its parent by the way, in a process of its own; what is large is left for `watch`.
    let seen = || did(&vault, &["history", "Ana/main"])["observations"].clone();
    let before = seen();
    did(&vault, &["checkpoint", "Ana/main", "--at", "0", "--name", "kept"]);
    while seen() == before {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    fs::remove_file(vault.root().join("chats/Ana/main.jsonl")).unwrap();
    did(&vault, &["watch", "--once"]);
    let back = vault.json(FORKLORE, &["restore", "Ana/main"]);
    assert!(warnings(&back).contains(&"NOT_THE_LAST"), "{back:#}");
}

#[test]
fn forks_and_deletions_warn() {
    let vault = TestVault::new();
    let mut story = Story::new("Ana", "Main");
    story.until(10).learn(1, "character-Ben", "Ben is a baker.").scene("One");
    story.until(20).save(&vault);
    let made = fork(&vault, &["branch", "Ana/Main", "--at", "15"]);
    assert!(warnings(&made).contains(&"STATE_OLDER"), "{made:#}");
    refused(&vault, &["diff", "Ana/Main"], "NO_PARENT");

    // The card says which chat opens with the character.
    let card = b"chara\0eyJuYW1lIjoiQW5hIiwiY2hhdCI6Ik1haW4ifQ==";
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    png.extend(u32::try_from(card.len()).unwrap().to_be_bytes());
    png.extend([&b"tEXt"[..], card, b"\0\0\0\0"].concat());
    let vault = vault.file("characters/Ana.png", &png);
    let deleted = did(&vault, &["delete", "Ana/Main"]);
    assert!(warnings(&deleted).contains(&"CURRENT_CHAT"), "{deleted:#}");
}

#[test]
fn around_the_vault() {
    let vault = vault();
    refused(&vault, &["demo", "vault"], "FOLDER_TAKEN");
    let tavern = vault.root().parent().unwrap().join("st");
    fs::create_dir(&tavern).unwrap();
    refused(&vault, &["install", "--sillytavern", "st"], "NO_SILLYTAVERN");
    fs::write(tavern.join("server.js"), "").unwrap();
    fs::write(tavern.join("package.json"), r#"{"name":"sillytavern","version":"1.12.0"}"#).unwrap();
    refused(&vault, &["install", "--sillytavern", "st"], "SILLYTAVERN_TOO_OLD");
    fs::write(tavern.join("package.json"), r#"{"name":"sillytavern","version":"1.19.0"}"#).unwrap();
    fs::create_dir_all(tavern.join("plugins")).unwrap();
    fs::create_dir_all(tavern.join("public")).unwrap();
    fs::write(tavern.join("config.yaml"), "enableServerPlugins: false\n\"enableServerPlugins\": {}\n")
        .unwrap();
    refused(&vault, &["install", "--sillytavern", "st"], "CONFIG_UNCLEAR");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    refused(&vault, &["serve", "--port", &port], "CANNOT_LISTEN");
}

#[test]
fn work_of_a_newer_forklore_is_left_alone() {
    let vault = vault();
    fork(&vault, &["branch", "Ana/main", "--name", "fork"]);
    let document = "{\"version\": 99}";
    let sealed = format!("{document}\n{}\n", blake3::hash(document.as_bytes()).to_hex());
    let intent = ".forklore/tx/20260101-000000-000-abcd.intent";
    vault.write(intent, sealed.as_bytes());
    refused(&vault, &["branch", "Ana/main", "--at", "1"], "NEWER_FORMAT");
    assert_eq!(vault.read(intent), sealed.as_bytes());
}

#[cfg(unix)]
#[test]
fn folders_that_cannot_be_written() {
    use forklore_testkit::unix::PermissionsExt as _;

    use crate::nobody;

    let vault = vault();
    let root = nobody::are_root();
    if root {
        nobody::give(vault.root().parent().unwrap());
    }
    fs::set_permissions(vault.root().join("worlds"), fs::Permissions::from_mode(0o555)).unwrap();
    let mut command = if root { nobody::command(&vault) } else { vault.command(FORKLORE) };
    command.args(["branch", "Ana/main", "--at", "1", "--json"]);
    let before = vault.snapshot();
    let run = vault.finish(&mut command);
    let answer: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run}"));
    assert_eq!(answer["error"]["code"], "READ_ONLY", "{run}");
    assert!(vault.snapshot() == before);
    fs::set_permissions(vault.root().join("worlds"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_on_another_disk() {
    let vault = vault();
    let worlds = vault.root().join("worlds");
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(&worlds).output();
    if !mount.is_ok_and(|output| output.status.success()) {
        return skipped("a_folder_on_another_disk", "nothing can be mounted here");
    }
    let vault = vault.book("B", &[("character-Ana", "A girl")]);
    let tried = std::panic::catch_unwind(|| {
        refused(&vault, &["branch", "Ana/main", "--at", "1"], "OTHER_DEVICE");
    });
    let gone = Command::new("umount").arg("-l").arg(&worlds).status().unwrap();
    assert!(gone.success() && tried.is_ok());
}

#[test]
fn a_disk_that_cannot_exchange_or_does_not_keep_what_was_written() {
    let Some(strace) = Strace::find("a disk that cannot exchange") else { return };
    let native = json!({"integrity": "n", "world_info": "B", "main_chat": "main"});
    let vault = vault().chat("Ana", "native", &native, &["hello", "one", "two", "other"]);
    let before = vault.snapshot();
    let told = |vault: &TestVault, inject: &str, args: &[&str]| {
        let run = strace.run(vault, &["-f", "-e", inject], &[args, &["--json"]].concat());
        serde_json::from_str::<Value>(&run.stdout).map_err(|e| format!("{e}: {run}"))
    };
    let answer = told(&vault, "inject=renameat2:error=EINVAL", &["heal", "--yes"]).unwrap();
    assert_eq!(answer["error"]["code"], "NO_EXCHANGE", "{answer:#}");
    assert!(vault.snapshot() == before);

    // What was written reads as nothing: one of the reads is the one that makes sure of the new book.
    let caught = (1..60).find(|n| {
        let vault = self::vault();
        let before = vault.snapshot();
        let inject = format!("inject=pread64:retval=0:when={n}");
        // The first of them are the system's, which starts the program.
        let Ok(answer) = told(&vault, &inject, &["branch", "Ana/main", "--name", "fork"]) else {
            return false;
        };
        let is_it = answer["error"]["code"] == "NOT_VERIFIED";
        assert!(!is_it || vault.snapshot() == before, "{answer:#}");
        is_it
    });
    assert!(caught.is_some());
}
