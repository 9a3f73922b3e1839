//! What Forklore did, and how it is taken back: `log`, `undo`, `redo`, `delete`, `trash`, `gc`.

use std::fs;

use forklore_testkit::{Run, TestVault};
use serde_json::{Value, json};

use crate::FORKLORE;
use crate::set_up::{did, small};

const ROAD: &str = "Maren Voss/The Lighthouse Road";
const ROAD_FILE: &str = "chats/Maren Voss/The Lighthouse Road.jsonl";
const WATCH: &str = "group:1794704887331/1794704887326";

/// Runs a command that must be refused and change nothing; its code.
fn refused(vault: &TestVault, args: &[&str]) -> String {
    let before = vault.snapshot();
    let document = vault.json(FORKLORE, args);
    assert_same(&vault.snapshot(), &before);
    let error = &document["error"];
    assert!(error["message"].as_str().is_some_and(|text| text.ends_with('.')), "{document:#}");
    assert!(error["hint"].as_str().is_some_and(|text| text.len() > 10), "{document:#}");
    error["code"].as_str().unwrap().to_owned()
}

type Files = Vec<(String, Vec<u8>)>;

/// Byte for byte, and a failure that can be read.
fn assert_same(now: &Files, then: &Files) {
    let names = |files: &Files| files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(now), names(then));
    for ((name, now), (_, then)) in now.iter().zip(then) {
        if now != then {
            let at = now.iter().zip(then).take_while(|(a, b)| a == b).count();
            let part = |bytes: &[u8]| {
                let part = &bytes[at.saturating_sub(200)..(at + 200).min(bytes.len())];
                String::from_utf8_lossy(part).into_owned()
            };
            panic!("{name} differs at {at}:\n{}\n--- was\n{}", part(now), part(then));
        }
    }
}

fn write(vault: &TestVault, path: &str, bytes: &[u8]) {
    fs::write(vault.root().join(path), bytes).unwrap();
}

fn there(vault: &TestVault, path: &str) -> bool {
    vault.root().join(path).exists()
}

fn text(vault: &TestVault, path: &str) -> String {
    String::from_utf8(vault.read(path)).unwrap()
}

/// Plays one message on.
fn play(vault: &TestVault, path: &str, says: &str) {
    let mut chat = text(vault, path).trim_end().to_owned();
    let message = json!({"name": "Ana", "is_user": true, "is_system": false, "send_date": "2026-12-24T00:00:00.000Z", "mes": says, "extra": {}});
    chat.push('\n');
    chat.push_str(&message.to_string());
    write(vault, path, chat.as_bytes());
}

/// Saves a chat as another program would that means the same: other spacing, other order, an empty `extra` where there was none.
fn save_anew(vault: &TestVault, path: &str) {
    let chat = text(vault, path);
    let again = chat.lines().enumerate().map(|(n, line)| {
        let mut value: Value = serde_json::from_str(line).unwrap();
        if n > 0 && value.get("extra").is_none() {
            value["extra"] = json!({});
        }
        value.to_string().replace("\":", "\" : ")
    });
    write(vault, path, (again.collect::<Vec<_>>().join("\n") + "\n").as_bytes());
}

fn file_of(chat: &Value) -> String {
    let chat = chat.as_str().unwrap();
    match chat.strip_prefix("group:") {
        Some(rest) => format!("group chats/{}.jsonl", rest.split_once('/').unwrap().1),
        None => format!("chats/{chat}.jsonl"),
    }
}

fn book_of(fork: &Value) -> String {
    format!("worlds/{}.json", fork["book"]["name"].as_str().unwrap())
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

/// Without what differs from run to run.
pub(crate) fn redacted(run: &Run) -> String {
    let mut shown = String::new();
    let mut rest = run.to_string();
    // Ids: 20261115-052345-123-9f3a
    while let Some(at) = rest.find("20") {
        let id = rest.get(at..at + 24).filter(|id| {
            let bytes = id.as_bytes();
            bytes[8] == b'-'
                && bytes[15] == b'-'
                && bytes[19] == b'-'
                && bytes[..8].iter().all(u8::is_ascii_digit)
        });
        let time = rest.get(at..at + 16).filter(|time| {
            let bytes = time.as_bytes();
            bytes[4] == b'-' && bytes[7] == b'-' && bytes[10] == b' ' && bytes[13] == b':'
        });
        let (word, len) = match (id, time) {
            (Some(_), _) => ("[id]", 24),
            (_, Some(_)) => ("[time]", 16),
            _ => ("20", 2),
        };
        shown.push_str(&rest[..at]);
        shown.push_str(word);
        rest = rest[at + len..].to_owned();
    }
    shown + &rest
}

#[test]
fn undo_brings_the_vault_back_and_redo_the_fork() {
    for (verb, chat, at) in [
        ("checkpoint", ROAD, "28"),
        ("checkpoint", ROAD, "20"),
        ("branch", ROAD, "30"),
        ("branch", "Maren Voss/Greywick history", "3"),
        ("checkpoint", WATCH, "13"),
        ("checkpoint", WATCH, "5"),
        ("branch", WATCH, "16"),
    ] {
        let vault = TestVault::harbor();
        let before = vault.snapshot();
        let fork = did(&vault, &[verb, chat, "--at", at]);
        let after = vault.snapshot();
        assert_ne!(before, after);

        let undone = did(&vault, &["undo"]);
        assert_same(&vault.snapshot(), &before);
        assert_eq!(undone["undoes"], fork["operation"]);
        assert_eq!(strings(&undone["removed"]), [file_of(&fork["chat"]), book_of(&fork)], "{undone}");
        assert_eq!(undone["left"], json!([]));

        let redone = did(&vault, &["redo"]);
        assert_same(&vault.snapshot(), &after);
        assert_eq!((&redone["undoes"], &redone["redo"]), (&undone["operation"], &json!(true)));
        assert_eq!(refused(&vault, &["redo"]), "NOTHING_TO_REDO");

        did(&vault, &["undo", fork["operation"].as_str().unwrap()]);
        assert_same(&vault.snapshot(), &before);
        assert_eq!(refused(&vault, &["undo"]), "NOTHING_TO_UNDO");
        did(&vault, &["redo"]);
        assert_same(&vault.snapshot(), &after);
    }
}

#[test]
fn healing_can_be_taken_back() {
    let vault = TestVault::harbor();
    let before = vault.snapshot();
    did(&vault, &["heal", "--yes"]);
    let healed = vault.snapshot();
    assert_ne!(before, healed);
    for _ in 0..2 {
        did(&vault, &["undo"]);
        assert_same(&vault.snapshot(), &before);
        did(&vault, &["redo"]);
        assert_same(&vault.snapshot(), &healed);
    }
}

#[test]
fn undo_goes_back_step_by_step_and_redo_forward() {
    let vault = small();
    let states: Vec<_> = (0..3)
        .map(|n| {
            let state = vault.snapshot();
            did(&vault, &["checkpoint", "Rain", "--at", &n.to_string()]);
            state
        })
        .collect();
    let last = vault.snapshot();
    for state in states.iter().rev() {
        did(&vault, &["undo"]);
        assert_same(&vault.snapshot(), state);
    }
    for state in states[1..].iter().chain([&last]) {
        did(&vault, &["redo"]);
        assert_same(&vault.snapshot(), state);
    }
    assert_eq!(refused(&vault, &["redo"]), "NOTHING_TO_REDO");
}

#[test]
fn operations_are_named_by_their_beginning() {
    let vault = small();
    let first = did(&vault, &["checkpoint", "Rain", "--at", "1"]);
    did(&vault, &["checkpoint", "Rain", "--at", "2"]);
    let id = first["operation"].as_str().unwrap();
    assert_eq!(refused(&vault, &["undo", "nothing-like-this"]), "OPERATION_NOT_FOUND");
    assert_eq!(refused(&vault, &["undo", "20"]), "OPERATION_AMBIGUOUS");
    assert_eq!(vault.run(FORKLORE, &["undo", ""]).code, Some(2));
    let undone = did(&vault, &["undo", &id[..id.len() - 1]]);
    assert_eq!(undone["undoes"], json!(id));
    assert_eq!(refused(&vault, &["undo", id]), "ALREADY_UNDONE");
    assert!(!there(&vault, &file_of(&first["chat"])));
}

#[test]
fn undo_leaves_what_was_played_in_the_parent() {
    for (chat, file, at) in [(ROAD, ROAD_FILE, "20"), (WATCH, "group chats/1794704887326.jsonl", "8")] {
        let vault = TestVault::harbor();
        let before = vault.snapshot();
        let fork = did(&vault, &["checkpoint", chat, "--at", at]);
        play(&vault, file, "On we go.");
        did(&vault, &["undo"]);
        assert!(!there(&vault, &file_of(&fork["chat"])));
        let then = before.iter().find(|(name, _)| name == file).unwrap();
        let then = String::from_utf8(then.1.clone()).unwrap();
        let now = text(&vault, file);
        let (now, last) = now.rsplit_once('\n').unwrap();
        assert_eq!(now, then.trim_end());
        assert!(last.contains("On we go."));
    }
}

#[test]
fn undo_works_after_a_save_that_says_the_same() {
    for (chat, at) in [(ROAD, "28"), (WATCH, "13")] {
        let vault = TestVault::harbor();
        let fork = did(&vault, &["checkpoint", chat, "--at", at]);
        let (file, book) = (file_of(&fork["chat"]), book_of(&fork));
        save_anew(&vault, &file);
        let entries: Value = serde_json::from_slice(&vault.read(&book)).unwrap();
        write(&vault, &book, entries.to_string().as_bytes());
        did(&vault, &["undo"]);
        assert!(!there(&vault, &file) && !there(&vault, &book));
        // As SillyTavern saved it, not as it was made.
        did(&vault, &["redo"]);
        assert!(text(&vault, &file).contains("\" : "));
    }
}

#[test]
fn undo_is_refused_once_the_story_went_on() {
    for (chat, at) in [(ROAD, "28"), (WATCH, "13")] {
        let vault = TestVault::harbor();
        let fork = did(&vault, &["checkpoint", chat, "--at", at]);
        play(&vault, &file_of(&fork["chat"]), "But what if?");
        assert_eq!(refused(&vault, &["undo"]), "MOVED_ON");
        assert_eq!(refused(&vault, &["undo", "--dry-run"]), "MOVED_ON");
        let error = &vault.json(FORKLORE, &["undo"])["error"];
        let name = fork["chat"].as_str().unwrap();
        assert!(error["hint"].as_str().unwrap().contains(&format!("forklore delete \"{name}\"")), "{error}");
        // And that works.
        did(&vault, &["delete", name]);
        assert!(!there(&vault, &file_of(&fork["chat"])) && !there(&vault, &book_of(&fork)));
    }

    let vault = small();
    let fork = did(&vault, &["checkpoint", "Rain", "--at", "2"]);
    let book = book_of(&fork);
    write(&vault, &book, text(&vault, &book).replace("It is cold.", "It is warm.").as_bytes());
    insta::assert_snapshot!(vault.run(FORKLORE, &["undo"]), @r#"
    --- stderr
    Error: The lorebook "Lore - Rain - Checkpoint #1" has gone on since: its entries have changed.
    Nothing was changed. To be rid of it all the same: `forklore delete "Ana/Rain - Checkpoint #1"`
    moves it to the trash, and nothing is lost.
    --- exit 1
    "#);
    assert_eq!(refused(&vault, &["undo"]), "MOVED_ON");
}

#[test]
fn undo_is_refused_where_a_name_is_taken() {
    let vault = small();
    did(&vault, &["delete", "Rain"]);
    write(&vault, "chats/Ana/Rain.jsonl", b"{\"chat_metadata\":{}}\n{\"mes\":\"another\"}");
    assert_eq!(refused(&vault, &["undo"]), "NAME_TAKEN");
    // The file alone can come back beside it.
    let back = did(&vault, &["trash", "restore", "Rain"]);
    assert_eq!(back["restored"], "chats/Ana/Rain (2).jsonl");
    assert!(text(&vault, "chats/Ana/Rain.jsonl").contains("another"));
    assert!(text(&vault, "chats/Ana/Rain (2).jsonl").contains("three"));
}

#[test]
fn deletion_takes_the_chat_its_book_and_the_links() {
    let vault = TestVault::harbor();
    let before = vault.snapshot();
    let fork = did(&vault, &["checkpoint", ROAD, "--at", "20"]);
    let with_fork = vault.snapshot();
    let deleted = did(&vault, &["delete", fork["chat"].as_str().unwrap()]);
    assert_same(&vault.snapshot(), &before);
    assert_eq!(strings(&deleted["books"]), [fork["book"]["name"].as_str().unwrap()]);
    assert_eq!(deleted["kept"], json!([]));

    did(&vault, &["undo"]);
    assert_same(&vault.snapshot(), &with_fork);
    did(&vault, &["redo"]);
    assert_same(&vault.snapshot(), &before);
    assert_eq!(refused(&vault, &["delete", fork["chat"].as_str().unwrap()]), "CHAT_NOT_FOUND");
}

#[test]
fn a_link_comes_back_to_its_place() {
    let vault = small();
    did(&vault, &["checkpoint", "Rain", "--at", "2", "--name", "Fork"]);
    let file = "chats/Ana/Rain.jsonl";
    let link = "\"extra\":{\"bookmark_link\":\"Fork\"";
    let more = text(&vault, file).replace(link, &format!("{link},\"token_count\":7,\"bias\":\"\""));
    assert!(more.contains("token_count"), "{more}");
    write(&vault, file, more.as_bytes());
    let before = vault.snapshot();
    did(&vault, &["delete", "Fork"]);
    assert!(text(&vault, file).contains("\"extra\":{\"token_count\":7"));
    did(&vault, &["undo"]);
    assert_same(&vault.snapshot(), &before);
}

#[test]
fn every_deletion_in_a_real_vault_can_be_undone() {
    let vault = TestVault::harbor();
    let before = vault.snapshot();
    let tree = vault.json(FORKLORE, &["tree"]);
    let chats =
        tree["stories"].as_array().unwrap().iter().flat_map(|story| story["chats"].as_array().unwrap());
    for chat in chats.map(|chat| chat["chat"].as_str().unwrap()) {
        did(&vault, &["delete", chat]);
        assert_ne!(vault.snapshot(), before, "{chat}");
        did(&vault, &["undo"]);
        assert_same(&vault.snapshot(), &before);
    }
}

#[test]
fn deletion_cleans_the_group() {
    let vault = TestVault::harbor();
    let group = || serde_json::from_slice::<Value>(&vault.read("groups/1794704887331.json")).unwrap();
    did(&vault, &["delete", "group:1794704887331/1794704887326 - Branch #1"]);
    assert_eq!(
        strings(&group()["chats"]),
        ["1794704887326", "Watch checkpoint", "1794704887326 - Branch #2"]
    );
    assert_eq!(group()["chat_id"], "1794704887326");
    // The chat that is open: the group goes on in another one.
    let deleted = did(&vault, &["delete", WATCH]);
    assert_eq!(strings(&group()["chats"]), ["Watch checkpoint", "1794704887326 - Branch #2"]);
    assert_eq!(group()["chat_id"], "Watch checkpoint");
    assert_eq!(deleted["kept"][0]["name"], "z-AutoLB-Harbor Watch-1794704887326");
    did(&vault, &["undo"]);
    assert_eq!(group()["chat_id"], "1794704887326");
    // Somebody opens another chat before the deletion is undone: the chat is listed again all the same.
    did(&vault, &["redo"]);
    let file = "groups/1794704887331.json";
    let opened = text(&vault, file)
        .replace("\"chat_id\": \"Watch checkpoint\"", "\"chat_id\": \"1794704887326 - Branch #2\"");
    write(&vault, file, opened.as_bytes());
    let undone = did(&vault, &["undo"]);
    assert_eq!(strings(&undone["left"]), [file]);
    assert_eq!(
        strings(&group()["chats"]),
        ["1794704887326", "Watch checkpoint", "1794704887326 - Branch #2"]
    );
    assert_eq!(group()["chat_id"], "1794704887326 - Branch #2");
}

#[test]
fn deletion_keeps_what_others_need() {
    let keeps = |vault: &TestVault, chat: &str, book: &str| -> String {
        let deleted = did(vault, &["delete", chat]);
        assert_eq!(deleted["books"], json!([]), "{deleted}");
        assert_eq!(deleted["kept"][0]["name"], book);
        assert!(there(vault, &format!("worlds/{book}.json")));
        deleted["kept"][0]["why"].as_str().unwrap().to_owned()
    };
    let with_fork = || {
        let vault = small();
        let fork = did(&vault, &["branch", "Rain", "--at", "2", "--name", "Fork"]);
        (vault, fork["book"]["name"].as_str().unwrap().to_owned())
    };
    let (vault, book) = with_fork();
    let vault = vault.chat("Bo", "Elsewhere", &json!({"world_info": book}), &["hey"]);
    assert_eq!(keeps(&vault, "Fork", &book), "\"Elsewhere\" refers to it");

    for (settings, why) in [
        (
            json!({"world_info_settings": {"world_info": {"globalSelect": ["BOOK"]}}}),
            "the list of global lorebooks refers to it",
        ),
        (
            json!({"world_info_settings": {"world_info": {"charLore": [{"name": "Bo", "extraBooks": ["BOOK"]}]}}}),
            "the character \"Bo\" refers to it",
        ),
        (json!({"power_user": {"persona_description_lorebook": "BOOK"}}), "a persona refers to it"),
        (
            json!({"power_user": {"persona_descriptions": {"user.png": {"lorebook": "BOOK"}}}}),
            "a persona refers to it",
        ),
    ] {
        let (vault, book) = with_fork();
        write(&vault, "settings.json", settings.to_string().replace("BOOK", &book).as_bytes());
        assert_eq!(keeps(&vault, "Fork", &book), why);
        // Nor does cleaning up take it.
        assert_eq!(did(&vault, &["gc", "--orphans"])["books"], json!([]));
    }

    // A book that is kept by hand is nobody's own.
    let vault = small();
    assert_eq!(keeps(&vault, "Rain", "Lore"), "it is kept by hand, not made for this chat");
    assert_eq!(did(&vault, &["gc", "--orphans"])["books"], json!([]));
}

#[test]
fn deletion_in_the_middle_of_a_chain_keeps_the_forks() {
    let vault = small();
    let middle = did(&vault, &["branch", "Rain", "--at", "3", "--name", "Middle"]);
    let last = did(&vault, &["branch", "Middle", "--at", "2", "--name", "Last"]);
    let before = vault.snapshot();
    let kept = (vault.read(&file_of(&last["chat"])), vault.read(&book_of(&last)));
    let deleted = did(&vault, &["delete", "Middle"]);
    assert_eq!(deleted["warnings"][0]["code"], "HAS_FORKS");
    assert!(!there(&vault, &file_of(&middle["chat"])) && !there(&vault, &book_of(&middle)));
    assert_eq!((vault.read(&file_of(&last["chat"])), vault.read(&book_of(&last))), kept);
    did(&vault, &["undo"]);
    assert_same(&vault.snapshot(), &before);
}

#[test]
fn nothing_happens_without_being_done() {
    let vault = TestVault::harbor();
    let fork = did(&vault, &["checkpoint", ROAD, "--at", "28"]);
    did(&vault, &["delete", "Blue door"]);
    let before = (vault.snapshot(), vault.json(FORKLORE, &["log"]));
    let chat = fork["chat"].as_str().unwrap();
    for args in [
        &["undo"][..],
        &["undo", fork["operation"].as_str().unwrap()],
        &["delete", chat],
        &["delete", WATCH],
        &["trash"],
        &["trash", "restore", "Blue door"],
        &["gc", "--orphans"],
    ] {
        let run = vault.run(FORKLORE, &[args, &["--dry-run"]].concat());
        assert_eq!(run.code, Some(0), "{run}");
        let document = did(&vault, &[args, &["--dry-run"]].concat());
        assert_eq!(document.get("operation").unwrap_or(&Value::Null), &Value::Null, "{document}");
        assert_same(&vault.snapshot(), &before.0);
        assert_eq!(vault.json(FORKLORE, &["log"]), before.1, "{args:?}");
    }
}

#[test]
fn cleaning_up_takes_the_books_of_forks_that_are_gone() {
    let vault = TestVault::harbor();
    let fork = did(&vault, &["checkpoint", ROAD, "--at", "28"]);
    let (chat, book) = (file_of(&fork["chat"]), fork["book"]["name"].as_str().unwrap());
    assert_eq!(did(&vault, &["gc"])["books"], json!([]), "the fork is there");
    fs::remove_file(vault.root().join(&chat)).unwrap();
    let kept = vault.read(&book_of(&fork));
    assert_eq!(did(&vault, &["gc", "--dry-run"])["books"], json!([book]));
    let cleaned = did(&vault, &["gc"]);
    assert_eq!((&cleaned["books"], &cleaned["freed"]), (&json!([book]), &json!(0)));
    assert!(!there(&vault, &book_of(&fork)));
    assert_eq!(did(&vault, &["gc"])["books"], json!([]));
    did(&vault, &["undo"]);
    assert_eq!(vault.read(&book_of(&fork)), kept);
}

#[test]
fn cleaning_up_takes_orphans_if_asked() {
    let vault = TestVault::harbor();
    let orphan = "z-AutoLB-Maren Voss-Maren Voss - 2026-11-15@01h07m01s232ms - Branch #1";
    fs::remove_file(
        vault.root().join("chats/Maren Voss/Maren Voss - 2026-11-15@01h07m01s232ms - Branch #1.jsonl"),
    )
    .unwrap();
    let before = vault.snapshot();
    let left = did(&vault, &["gc"]);
    assert_eq!((&left["books"], &left["orphans"]), (&json!([]), &json!([orphan])));
    assert_same(&vault.snapshot(), &before);
    assert_eq!(did(&vault, &["gc", "--orphans"])["books"], json!([orphan]));
    did(&vault, &["undo"]);
    assert_same(&vault.snapshot(), &before);
    // That it came back does not make it Forklore's.
    assert_eq!(did(&vault, &["gc"])["books"], json!([]));
    assert_same(&vault.snapshot(), &before);
}

#[test]
fn the_trash_gives_back_files_and_operations() {
    let vault = small();
    let fork = did(&vault, &["checkpoint", "Rain", "--at", "2", "--name", "Fork"]);
    let with_fork = vault.snapshot();
    let deleted = did(&vault, &["delete", "Fork"]);
    let before = vault.snapshot();
    let id = deleted["operation"].as_str().unwrap();
    let trash = did(&vault, &["trash"]);
    let paths: Vec<&str> =
        trash["items"].as_array().unwrap().iter().map(|i| i["path"].as_str().unwrap()).collect();
    assert_eq!(paths.len(), 2);
    assert!(paths.contains(&&*file_of(&fork["chat"])) && paths.contains(&&*book_of(&fork)), "{trash}");
    assert!(trash["items"][0]["expires"].is_string());

    assert_eq!(refused(&vault, &["trash", "restore", "Nothing"]), "NOT_IN_TRASH");
    // An operation that put nothing there.
    assert_eq!(refused(&vault, &["trash", "restore", fork["operation"].as_str().unwrap()]), "NOT_IN_TRASH");
    for item in [id, &id[..id.len() - 2]] {
        let back = did(&vault, &["trash", "restore", item]);
        assert_eq!(back["undoes"], json!(id));
        assert_same(&vault.snapshot(), &with_fork);
        did(&vault, &["redo"]);
        assert_same(&vault.snapshot(), &before);
    }
    // One file alone, and back again.
    for item in ["Fork", "Fork.jsonl", "chats/Ana/Fork.jsonl"] {
        let back = did(&vault, &["trash", "restore", item]);
        assert_eq!(back["restored"], "chats/Ana/Fork.jsonl");
        assert!(there(&vault, "chats/Ana/Fork.jsonl"));
        for _ in 0..2 {
            did(&vault, &["undo"]);
            assert_same(&vault.snapshot(), &before);
            did(&vault, &["redo"]);
        }
        did(&vault, &["undo"]);
    }
    vault.run(FORKLORE, &["config", "trash.days", "0"]).code.unwrap();
    assert_eq!(did(&vault, &["trash"])["items"][0]["expires"], Value::Null);
}

#[test]
fn what_left_the_trash_cannot_come_back() {
    let vault = small();
    did(&vault, &["delete", "Rain"]);
    fs::remove_dir_all(vault.root().join(".forklore/objects")).unwrap();
    assert_eq!(refused(&vault, &["undo"]), "EXPIRED");
    assert_eq!(did(&vault, &["trash"]), json!({"items": [], "bytes": 0}));
    assert_eq!(refused(&vault, &["trash", "restore", "Rain"]), "NOT_IN_TRASH");
    // An operation of which nothing is left.
    let vault = small();
    let fork = did(&vault, &["checkpoint", "Rain", "--at", "1", "--no-link"]);
    fs::remove_file(vault.root().join(file_of(&fork["chat"]))).unwrap();
    fs::remove_file(vault.root().join(book_of(&fork))).unwrap();
    assert_eq!(refused(&vault, &["undo"]), "NOTHING_TO_UNDO");
}

#[test]
fn a_damaged_log_is_told_and_does_not_hurt() {
    let vault = small();
    did(&vault, &["checkpoint", "Rain", "--at", "1"]);
    let before = small().snapshot();
    write(&vault, ".forklore/ops/20200101-000000-000-0000.op", b"{\"version\":1");
    assert_eq!(strings(&did(&vault, &["log"])["unreadable"]), ["20200101-000000-000-0000.op"]);
    assert!(vault.run(FORKLORE, &["log"]).stdout.contains("cannot be read"));
    did(&vault, &["undo"]);
    assert_same(&vault.snapshot(), &before);
}

#[test]
fn odd_names_can_be_taken_back() {
    // Windows has no names with quotes like these.
    let quoted = if cfg!(windows) { "'quoted' 'twice'" } else { "\"quoted\" 'twice'" };
    for name in [quoted, "雨の夜 🌧️", "-v --json", "a\u{301} {x} $HOME `ls` %s #1", "--", "Ana"] {
        let vault = || small().chat("Ana", name, &json!({"integrity": "o"}), &["so", "it", "begins"]);
        let (vault, before) = (vault(), vault().snapshot());
        let made = vault.run(FORKLORE, &["branch", "--at=1", &format!("--name={name} again"), "--", name]);
        assert_eq!(made.code, Some(0), "{made}");
        let with_fork = vault.snapshot();
        let chat = did(&vault, &["log"])["operations"][0]["chat"].as_str().unwrap().to_owned();
        let fork = chat.split_once('/').unwrap().1;
        for named in [fork, name] {
            let deleted = vault.run(FORKLORE, &["delete", "--json", "--", named]);
            assert_eq!(deleted.code, Some(0), "{deleted}");
            let back = vault.run(FORKLORE, &["trash", "restore", "--", named]);
            assert_eq!(back.code, Some(0), "{back}");
            did(&vault, &["undo"]);
            did(&vault, &["undo"]);
            assert_same(&vault.snapshot(), &with_fork);
        }
        did(&vault, &["undo"]);
        assert_same(&vault.snapshot(), &before);
    }
}

#[test]
fn the_log_for_programs() {
    let vault = small();
    assert_eq!(did(&vault, &["log"]), json!({"operations": [], "unreadable": []}));
    let fork = did(&vault, &["checkpoint", "Rain", "--at", "2", "--name", "Fork"]);
    let undone = did(&vault, &["undo"]);
    let log = did(&vault, &["log"]);
    let [undo, checkpoint] = &log["operations"].as_array().unwrap()[..] else { panic!("{log}") };
    assert_eq!(
        (&undo["id"], &undo["kind"], &undo["undoes"], &undo["undone_by"], &undo["pending"]),
        (&undone["operation"], &json!("undo"), &fork["operation"], &Value::Null, &json!(false))
    );
    assert_eq!(
        (&checkpoint["id"], &checkpoint["kind"], &checkpoint["chat"], &checkpoint["undone_by"]),
        (&fork["operation"], &json!("checkpoint"), &json!("Ana/Fork"), &undone["operation"])
    );
    let at = checkpoint["at"].as_str().unwrap();
    assert_eq!((at.len(), &at[10..11], &at[19..]), (20, "T", "Z"));
    assert_eq!(did(&vault, &["log", "--limit", "1"])["operations"], json!([undo]));
    did(&vault, &["redo"]);
    assert_eq!(did(&vault, &["log", "--limit", "1"])["operations"][0]["kind"], "redo");
}

#[test]
fn what_people_read() {
    let vault = small();
    insta::assert_snapshot!(vault.run(FORKLORE, &["log"]), @"
    Forklore has changed nothing in this vault yet.
    Forks that you make with it will be listed here.
    ");
    insta::assert_snapshot!(vault.run(FORKLORE, &["undo"]), @"
    --- stderr
    Error: There is nothing to undo.
    Forklore has changed nothing here, or all of it is undone already. `forklore log` tells.
    --- exit 1
    ");
    insta::assert_snapshot!(vault.run(FORKLORE, &["redo"]), @"
    --- stderr
    Error: There is nothing to redo.
    Only what was undone can be done again. `forklore log` tells what that is.
    --- exit 1
    ");
    insta::assert_snapshot!(vault.run(FORKLORE, &["trash"]), @"The trash is empty.");
    insta::assert_snapshot!(vault.run(FORKLORE, &["gc"]), @"✓ There is nothing to clean up.");
    did(&vault, &["branch", "Rain", "--at", "2", "--name", "Fork"]);
    did(&vault, &["checkpoint", "Fork", "--at", "1", "--name", "Keep"]);
    insta::assert_snapshot!(redacted(&vault.run(FORKLORE, &["undo", "--dry-run"])), @"
    Would undo: checkpoint of Ana/Fork at message 1
      to the trash  chats/Ana/Keep.jsonl
                    worlds/Lore - Keep.json
      edited back   chats/Ana/Fork.jsonl
    ");
    insta::assert_snapshot!(redacted(&vault.run(FORKLORE, &["undo"])), @"
    Undone: checkpoint of Ana/Fork at message 1
      to the trash  chats/Ana/Keep.jsonl
                    worlds/Lore - Keep.json
      edited back   chats/Ana/Fork.jsonl
      Do it again with: forklore redo
    ");
    insta::assert_snapshot!(redacted(&vault.run(FORKLORE, &["redo"])), @"
    Done again: checkpoint of Ana/Fork at message 1
      came back     worlds/Lore - Keep.json
                    chats/Ana/Keep.jsonl
      edited        chats/Ana/Fork.jsonl
      Take it back with: forklore undo [id]
    ");
    insta::assert_snapshot!(redacted(&vault.run(FORKLORE, &["delete", "Fork"])), @"
    Moved to the trash: Ana/Fork
      to the trash  chats/Ana/Fork.jsonl
                    worlds/Lore - Fork.json
      edited        chats/Ana/Rain.jsonl
      ! One chat was forked from it: it keeps everything it has, and loses its parent.
      Take it back with: forklore undo [id]
    ");
    insta::assert_snapshot!(redacted(&vault.run(FORKLORE, &["trash"])), @"
    Trash  2 files, 2.2 KB, kept for 30 days

    [time]  until [time]  [id]
      265 B      worlds/Lore - Fork.json
      1.9 KB     chats/Ana/Fork.jsonl

    Bring one back with: forklore trash restore PATH, or all of an operation with its id
    ");
    insta::assert_snapshot!(redacted(&vault.run(FORKLORE, &["trash", "restore", "Fork"])), @"
    Brought back chats/Ana/Fork.jsonl
      not with it   worlds/Lore - Fork.json
      Take it back with: forklore undo [id]
    ");
    insta::assert_snapshot!(redacted(&vault.run(FORKLORE, &["log"])), @"
    [time]  restore     brought chats/Ana/Fork.jsonl back from the trash
                                  [id]
    [time]  delete      deleted Ana/Fork
                                  [id]
    [time]  redo        redo of: checkpoint of Ana/Fork at message 1
                                  → Ana/Keep
                                  [id]
    [time]  undo        undo of: checkpoint of Ana/Fork at message 1
                                  → Ana/Keep
                                  [id]  undone by [id]
    [time]  checkpoint  checkpoint of Ana/Fork at message 1
                                  → Ana/Keep
                                  [id]
    [time]  branch      branch of Ana/Rain at message 2
                                  → Ana/Fork
                                  [id]
    ");
    insta::assert_snapshot!(redacted(&vault.run(FORKLORE, &["log", "--limit", "1"])), @"
    [time]  restore     brought chats/Ana/Fork.jsonl back from the trash
                                  [id]
    … and 5 operations before that
    ");
    fs::remove_file(vault.root().join("chats/Ana/Keep.jsonl")).unwrap();
    insta::assert_snapshot!(redacted(&vault.run(FORKLORE, &["gc"])), @"
    Moved to the trash: 1 lorebook that nothing refers to
      Lore - Keep
      Take it back with: forklore undo [id]
    ");
    insta::assert_snapshot!(redacted(&vault.run(FORKLORE, &["delete", "Rain"])), @"
    Moved to the trash: Ana/Rain
      to the trash  chats/Ana/Rain.jsonl
      lorebook      Lore stays: it is kept by hand, not made for this chat
      ! One chat was forked from it: it keeps everything it has, and loses its parent.
      Take it back with: forklore undo [id]
    ");
}
