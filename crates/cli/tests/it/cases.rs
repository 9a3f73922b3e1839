//! Small vaults after what vaults of strangers showed (`fixtures/cases`): whose fork is whose, groups of older versions, books that are
//! gone, things that cannot be read, messages in every shape. No false alarm, and no byte that does not come back.

use forklore_testkit::TestVault;
use serde_json::Value;

use crate::FORKLORE;

const PARENT: &str = "Ann - 2025-5-17";
const FORK: &str = "Branch #8 - 2025-05-20@18h40m51s";

fn codes(vault: &TestVault) -> Vec<String> {
    let report = vault.json(FORKLORE, &["check"]);
    let findings = report["findings"].as_array().unwrap();
    findings.iter().map(|f| f["code"].as_str().unwrap().to_owned()).collect()
}

fn chat<'a>(tree: &'a Value, name: &str) -> &'a Value {
    let stories = tree["stories"].as_array().unwrap().iter();
    let mut chats = stories.flat_map(|story| story["chats"].as_array().unwrap());
    let called = |chat: &&Value| chat["chat"].as_str().unwrap().rsplit('/').next() == Some(name);
    chats.find(called).unwrap_or_else(|| panic!("{name} is not in {tree:#}"))
}

/// What tells a chat's place in the tree.
fn place(vault: &TestVault, name: &str) -> (String, Option<String>, Option<u64>) {
    let tree = vault.json(FORKLORE, &["tree"]);
    let chat = chat(&tree, name);
    let text = |key: &str| chat[key].as_str().map(str::to_owned);
    (text("kind").unwrap(), text("parent"), chat["fork_message"].as_u64())
}

fn run(vault: &TestVault, args: &[&str]) -> String {
    let run = vault.run(FORKLORE, args);
    assert_eq!(run.code, Some(0), "{args:?}: {run}");
    run.stdout
}

/// Titles of the entries of a book.
fn titles(vault: &TestVault, book: &str) -> Vec<String> {
    let book: Value = serde_json::from_slice(&vault.read(&format!("worlds/{book}.json"))).unwrap();
    let entries = book["entries"].as_object().unwrap().values();
    entries.map(|entry| entry["comment"].as_str().unwrap().to_owned()).collect()
}

fn book_of(vault: &TestVault, name: &str) -> String {
    let line = vault.read(&format!("chats/Ann/{name}.jsonl"));
    let header: Value = serde_json::from_slice(line.split(|b| *b == b'\n').next().unwrap()).unwrap();
    header["chat_metadata"]["world_info"].as_str().unwrap().to_owned()
}

#[test]
fn regression_main_chat_decides_whichever_chat_is_longer() {
    let cases = [
        "same-slug-fork-longer",
        "same-slug-fork-longer-parent-played-on",
        "same-slug-parent-longer",
        "own-slug-fork-longer",
    ];
    for case in cases {
        let vault = TestVault::case(&format!("inverted/{case}"));
        assert_eq!(place(&vault, PARENT), ("main".into(), None, None), "{case}");
        assert_eq!(place(&vault, FORK), ("branch".into(), Some(format!("Ann/{PARENT}")), Some(8)), "{case}");
        // That nobody has recorded the fork is all that there is to say.
        assert_eq!(codes(&vault), ["UNRECORDED_FORK"], "{case}");
    }
}

#[test]
fn regression_heal_gives_the_fork_a_book_and_leaves_the_parent_what_is_its_own() {
    for case in ["harm2", "harm2c", "harm-memorybooks"] {
        let vault = TestVault::case(&format!("inverted/{case}"));
        let before = vault.snapshot();
        run(&vault, &["heal", "--yes"]);
        let (parents, forks) =
            (titles(&vault, &book_of(&vault, PARENT)), titles(&vault, &book_of(&vault, FORK)));
        assert_ne!(book_of(&vault, PARENT), book_of(&vault, FORK), "{case}");
        let has = |titles: &[String], title: &str| titles.iter().any(|t| t == title);
        for shared in ["shared mem 0-4", "shared mem 5-8"] {
            assert!(has(&parents, shared) && has(&forks, shared), "{case}: {parents:?} {forks:?}");
        }
        assert!(has(&parents, "PARENT own 9-12") && !has(&parents, "CHILD own 9-20"), "{case}: {parents:?}");
        assert!(has(&forks, "CHILD own 9-20"), "{case}: {forks:?}");
        if case != "harm-memorybooks" {
            assert!(has(&parents, "hand note, undated"), "{case}: {parents:?}");
        } else {
            assert!(!has(&forks, "PARENT own 9-12"), "{case}: {forks:?}");
        }
        let healed = vault.snapshot();
        assert!(run(&vault, &["heal", "--yes"]).contains("Nothing to heal"), "{case}: twice is once");
        assert_eq!(vault.snapshot(), healed, "{case}");
        run(&vault, &["undo"]);
        assert_eq!(vault.snapshot(), before, "{case}: every byte comes back");
    }
}

#[test]
fn a_group_of_an_older_version_is_read_as_it_is() {
    let vault = TestVault::case("oldgroup");
    assert_eq!(
        codes(&vault).iter().filter(|code| *code != "UNRECORDED_FORK").collect::<Vec<_>>(),
        ["BOOK_SHARED"]
    );
    assert_eq!(place(&vault, "Fork").1.as_deref(), Some("group:171/Main"));
    let shown = vault.json(FORKLORE, &["show", "group:171/Main"]);
    assert_eq!(shown["book"]["name"], "GMem", "{shown:#}");
}

fn group(vault: &TestVault) -> Value {
    serde_json::from_slice(&vault.read("groups/171.json")).unwrap()
}

#[test]
fn forks_of_a_group_of_an_older_version_are_of_its_kind_and_go_without_a_trace() {
    let vault = TestVault::case("oldgroup");
    let before = vault.snapshot();
    for (chat, at) in [("group:171/Main", "4"), ("group:171/Fork", "2")] {
        for kind in ["branch", "checkpoint"] {
            run(&vault, &[kind, chat, "--at", at, "--name", "New"]);
            let made = group(&vault);
            let metadata = &made["past_metadata"]["New"];
            assert_eq!(metadata["main_chat"], chat.rsplit('/').next().unwrap(), "{made:#}");
            assert!(metadata["forklore"].is_object() && metadata["integrity"].is_string(), "{made:#}");
            assert!(made["chats"].as_array().unwrap().contains(&"New".into()));
            let first = vault.read("group chats/New.jsonl");
            let first: Value = serde_json::from_slice(first.split(|b| *b == b'\n').next().unwrap()).unwrap();
            assert_eq!(first["mes"], "s 0", "no header");
            assert_eq!(place(&vault, "New"), (kind.into(), Some(chat.into()), at.parse().ok()));
            let book = metadata["world_info"].as_str().unwrap();
            assert_ne!(book, "GMem");
            assert!(vault.root().join(format!("worlds/{book}.json")).exists());
            let new: Vec<String> = codes(&vault);
            assert!(!new.iter().any(|code| code.contains("DAMAGED") || code.contains("ORPHANED")), "{new:?}");
            run(&vault, &["undo"]);
            assert_eq!(vault.snapshot(), before, "{kind} of {chat}");
        }
    }
}

#[test]
fn a_group_of_an_older_version_is_healed_renamed_and_deleted_in_its_own_file() {
    let vault = TestVault::case("oldgroup");
    let before = vault.snapshot();
    run(&vault, &["heal", "--yes"]);
    let healed = group(&vault);
    assert_ne!(healed["past_metadata"]["Fork"]["world_info"], "GMem", "{healed:#}");
    assert_eq!(healed["chat_metadata"]["world_info"], "GMem", "the parent keeps its book");
    assert!(run(&vault, &["heal", "--yes"]).contains("Nothing to heal"));
    run(&vault, &["undo"]);
    assert_eq!(vault.snapshot(), before);

    run(&vault, &["rename", "group:171/Fork", "Other"]);
    let renamed = group(&vault);
    assert_eq!(renamed["past_metadata"]["Other"]["main_chat"], "Main", "{renamed:#}");
    assert!(renamed["past_metadata"]["Fork"].is_null());
    assert_eq!(place(&vault, "Other").1.as_deref(), Some("group:171/Main"));
    run(&vault, &["undo"]);
    assert_eq!(vault.snapshot(), before);

    run(&vault, &["delete", "group:171/Main"]);
    let deleted = group(&vault);
    assert_eq!(
        (&deleted["chat_id"], &deleted["chat_metadata"]["main_chat"]),
        (&"Fork".into(), &"Main".into()),
        "{deleted:#}"
    );
    assert!(deleted["past_metadata"]["Main"].is_null());
    run(&vault, &["undo"]);
    assert_eq!(vault.snapshot(), before);
}

#[test]
fn regression_a_missing_book_is_not_replaced_by_an_empty_one_unasked() {
    let vault = TestVault::case("bookmissing");
    let before = vault.snapshot();
    for _ in 0..2 {
        let healed = vault.json(FORKLORE, &["heal", "--yes"]);
        assert_eq!(healed["actions"].as_array().unwrap().len(), 0, "{healed:#}");
        let left = healed["left"].as_array().unwrap();
        assert_eq!(left.iter().filter(|f| f["code"] == "BOOK_MISSING").count(), 3, "{healed:#}");
        assert!(left[0]["remedy"].as_str().unwrap().contains("Put the file back"), "{healed:#}");
        assert_eq!(vault.snapshot(), before);
    }
    // Whoever wants an empty one says so.
    run(&vault, &["heal", "Ann/A", "--choose", "empty"]);
    assert_ne!(book_of(&vault, "A"), "World of Ash");
    run(&vault, &["undo"]);
    vault.write(
        "worlds/World of Ash.json",
        br#"{"entries":{"0":{"uid":0,"comment":"ash","content":"grey","key":[]}}}"#,
    );
    assert!(!codes(&vault).contains(&"BOOK_MISSING".to_owned()));
}

#[test]
fn regression_fork_and_undo_give_every_byte_back_whatever_a_message_holds() {
    let shapes =
        ["bmnull", "bmold", "brempty", "empty", "extraarr", "extraempty", "extranull", "extrastr", "noextra"];
    for shape in shapes {
        let vault = TestVault::case(&format!("extra/{shape}"));
        let before = vault.snapshot();
        for kind in ["branch", "checkpoint"] {
            for at in ["0", "1"] {
                run(&vault, &[kind, "Ann/A", "--at", at]);
                assert_ne!(vault.snapshot(), before);
                run(&vault, &["undo"]);
                assert_eq!(vault.snapshot(), before, "{shape}: {kind} at {at}");
            }
        }
        // Two at one message, undone in the order in which they came, and the other way round.
        for first in [0, 1] {
            for kind in ["branch", "checkpoint"] {
                let made = ["one", "two"].map(|name| {
                    let report = vault.json(FORKLORE, &[kind, "Ann/A", "--at", "0", "--name", name]);
                    report["operation"].as_str().unwrap().to_owned()
                });
                run(&vault, &["undo", &made[first]]);
                run(&vault, &["undo", &made[1 - first]]);
                assert_eq!(vault.snapshot(), before, "{shape}: {kind} twice");
            }
        }
    }
    let vault = TestVault::case("bookmark");
    let before = vault.snapshot();
    run(&vault, &["checkpoint", "Ann/A", "--at", "3"]);
    run(&vault, &["undo"]);
    assert_eq!(vault.snapshot(), before, "the link leads where it led");
}

#[test]
fn regression_padding_goes_with_the_fork_that_brought_it() {
    let text = "x".repeat(2_000);
    let texts: Vec<&str> = std::iter::repeat_n(text.as_str(), 800).collect();
    let vault = TestVault::new().chat("Ann", "A", &serde_json::json!({"integrity": "a"}), &texts);
    let path = "chats/Ann/A.jsonl";
    // A line that ends with blanks of its own keeps them.
    let chat = String::from_utf8(vault.read(path)).unwrap();
    let lines: Vec<String> =
        chat.lines().enumerate().map(|(i, line)| format!("{line}{}", " ".repeat(i % 3))).collect();
    vault.write(path, lines.join("\n").as_bytes());
    let before = vault.snapshot();
    for at in ["3", "4", "5"] {
        for kind in ["branch", "checkpoint"] {
            run(&vault, &[kind, "Ann/A", "--at", at, "--name", "one"]);
            run(&vault, &[kind, "Ann/A", "--at", at, "--name", "two"]);
            run(&vault, &["undo"]);
            run(&vault, &["redo"]);
            run(&vault, &["undo"]);
            run(&vault, &["undo"]);
            assert!(
                vault.snapshot() == before,
                "{kind} at {at}: the chat is {} bytes",
                vault.read(path).len()
            );
        }
    }
}

/// Things beside the chats that cannot be read, or must not be.
#[cfg(unix)]
fn put_unreadable_things(vault: &TestVault) {
    use forklore_testkit::unix::{UnixListener, symlink};
    let root = vault.root();
    let pipe = |path: &str| {
        let made = std::process::Command::new("mkfifo").arg(root.join(path)).status().unwrap();
        assert!(made.success());
    };
    pipe("chats/Ann/pipe.jsonl");
    pipe("worlds/pipe.json");
    let _socket = UnixListener::bind(root.join("chats/Ann/socket.jsonl")).unwrap();
    let outside = root.parent().unwrap().join("outside.jsonl");
    std::fs::write(&outside, "{}").unwrap();
    symlink(&outside, root.join("chats/Ann/link out.jsonl")).unwrap();
    symlink(&outside, root.join("worlds/link out.json")).unwrap();
    symlink("nowhere", root.join("chats/Ann/link nowhere.jsonl")).unwrap();
    symlink("round.jsonl", root.join("chats/Ann/round.jsonl")).unwrap();
    std::fs::create_dir(root.join("chats/Ann/folder.jsonl")).unwrap();
    std::fs::create_dir(root.join("worlds/folder.json")).unwrap();
    vault.write("worlds/broken.json", b"{\"entries\":");
    vault.write("chats/Ann/broken.jsonl", b"\xff\xfe not a chat");
    vault.write("chats/Ann/bound.jsonl", b"{\"chat_metadata\":{\"integrity\":\"x\",\"world_info\":\"broken\"}}\n{\"mes\":\"hi\",\"send_date\":\"1\"}");
}

#[cfg(unix)]
#[test]
fn regression_what_cannot_be_read_stands_in_nobody_elses_way() {
    let vault = TestVault::case("undo-blocked");
    let before = vault.read("chats/Ann/A.jsonl");
    put_unreadable_things(&vault);
    let made = vault.json(FORKLORE, &["branch", "Ann/A", "--at", "4"]);
    let book = made["book"]["name"].as_str().unwrap_or_else(|| panic!("{made:#}"));
    assert!(vault.root().join(format!("worlds/{book}.json")).exists());
    for args in [&["tree"][..], &["stories"], &["show", "Ann/A", "--at", "3"], &["watch", "--once"], &["log"]]
    {
        run(&vault, args);
    }
    let found = vault.run(FORKLORE, &["check"]);
    assert!(found.code == Some(0) || found.code == Some(1), "{found}");
    run(&vault, &["heal", "Ann/A", "--yes"]);
    run(&vault, &["undo"]);
    assert_eq!(vault.read("chats/Ann/A.jsonl"), before);
    assert!(!vault.root().join(format!("worlds/{book}.json")).exists());
    let shown = vault.run(FORKLORE, &["show", "Ann/broken"]);
    assert_ne!(shown.code, None, "{shown}");
}

#[test]
fn regression_check_sees_no_fork_half_made() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let entry = |i: usize| (format!("e{i}"), "c".repeat(400));
    let entries: Vec<(String, String)> = (0..100).map(entry).collect();
    let entries: Vec<(&str, &str)> =
        entries.iter().map(|(title, text)| (title.as_str(), text.as_str())).collect();
    let mut vault = TestVault::new();
    for name in ["One", "Two"] {
        let texts: Vec<String> = (0..60).map(|i| format!("{name} {i} {}", "word ".repeat(100))).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let metadata = serde_json::json!({"integrity": name, "world_info": name});
        vault = vault.chat("Ann", name, &metadata, &texts).book(name, &entries);
        // Kept by an extension, so that nobody shares it by choice.
        let mut book: Value = serde_json::from_slice(&vault.read(&format!("worlds/{name}.json"))).unwrap();
        book["entries"]["0"]["stmemorybooks"] = true.into();
        book["entries"]["0"]["STMB_start"] = 0.into();
        book["entries"]["0"]["STMB_end"] = 3.into();
        vault.write(&format!("worlds/{name}.json"), book.to_string().as_bytes());
    }
    assert_eq!(codes(&vault), Vec::<String>::new());
    // They work until enough was looked at, and who looks goes on while they work.
    let (working, looks) = (AtomicUsize::new(2), AtomicUsize::new(0));
    let (vault, working, looks) = (&vault, &working, &looks);
    let ghosts = std::thread::scope(|scope| {
        for chat in ["Ann/One", "Ann/Two"] {
            scope.spawn(move || {
                for n in 0..1000 {
                    if n >= 12 && looks.load(Ordering::SeqCst) >= 8 {
                        break;
                    }
                    // The other may be at work: then this one is told so.
                    let _made = vault.run(FORKLORE, &["branch", chat, "--at", &(5 + n % 12).to_string()]);
                    let _undone = vault.run(FORKLORE, &["undo"]);
                }
                working.fetch_sub(1, Ordering::SeqCst);
            });
        }
        let mut ghosts = Vec::new();
        while working.load(Ordering::SeqCst) > 0 {
            let report = vault.json(FORKLORE, &["check"]);
            ghosts.extend(report["findings"].as_array().unwrap().iter().map(Value::to_string));
            looks.fetch_add(1, Ordering::SeqCst);
        }
        ghosts
    });
    let looks = looks.load(Ordering::SeqCst);
    println!("{looks} looks while others worked");
    assert!(looks >= 8, "nobody looked");
    assert_eq!(ghosts, Vec::<String>::new(), "in {looks} looks");
}
