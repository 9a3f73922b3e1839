//! `export` and `import`: a story goes to another vault with everything that is known of it, and nothing else goes anywhere.

use std::fs;
use std::path::{Path, PathBuf};

use forklore_archive::{ArchiveError, Manifest, Member, MemberKind, Story as Whose, Writer};
use forklore_testkit::TestVault;
use forklore_testkit::story::Story;
use serde_json::{Value, json};

use crate::FORKLORE;

fn ok(vault: &TestVault, args: &[&str]) {
    let run = vault.run(FORKLORE, args);
    assert_eq!(run.code, Some(0), "{args:?}: {run}");
}

/// A story that was watched: scenes, what was written by hand between them, variables, a fork that went its own way.
fn watched() -> TestVault {
    let vault = TestVault::new();
    let mut main = Story::new("Ana", "main");
    let save = |story: &Story| {
        story.save(&vault);
        ok(&vault, &["watch", "--once", "--no-backups"]);
    };
    main.until(3).learn(10, "character-Ana", "A girl with a boat.").scene("The harbour");
    save(&main);
    main.until(5).learn(11, "location-Harbour", "It smells of tar.");
    main.metadata_mut()["variables"]["gold"] = json!("7");
    save(&main);
    main.until(6).scene("The boat");
    save(&main);
    main.until(8).learn(11, "location-Harbour", "It smells of tar and fish.");
    save(&main);
    ok(&vault, &["branch", "Ana/main", "--at", "6", "--name", "Side"]);
    let mut side = Story::open(&vault, "Ana/Side");
    side.until(9).learn(30, "item-Oar", "One is broken.");
    save(&side);
    main = Story::open(&vault, "Ana/main");
    main.until(10).forget(10);
    main.metadata_mut()["variables"]["gold"] = json!("1");
    save(&main);
    vault
}

fn export(vault: &TestVault, args: &[&str]) -> PathBuf {
    let file = vault.root().with_file_name("story.forklore");
    let name = file.to_string_lossy().into_owned();
    ok(vault, &[args, &["-o", &name, "--force"]].concat());
    file
}

fn import(vault: &TestVault, file: &Path) -> Value {
    let report = vault.json(FORKLORE, &["import", &file.to_string_lossy()]);
    assert!(report["operation"].is_string(), "{report:#}");
    report
}

/// What is shown of a chat at each of its messages, with the names that it had where it comes from.
fn shown(vault: &TestVault, chat: &str, messages: usize) -> Vec<String> {
    let show = |n: usize| {
        let shown = vault.json(FORKLORE, &["show", chat, "--at", &n.to_string()]);
        assert!(shown["error"].is_null(), "{shown:#}");
        serde_json::to_string_pretty(&shown).unwrap().replace(" (2)", "")
    };
    (0..messages).map(show).collect()
}

fn same_at_every_message(source: &TestVault, target: &TestVault, suffix: &str) {
    for (chat, messages) in [("main", 10), ("Side", 9)] {
        let here = shown(source, &format!("Ana/{chat}"), messages);
        let there = shown(target, &format!("Ana/{chat}{suffix}"), messages);
        for (n, (here, there)) in here.iter().zip(&there).enumerate() {
            assert_eq!(here, there, "{chat} at {n}");
        }
    }
}

fn complaints(vault: &TestVault) -> Vec<Value> {
    vault.json(FORKLORE, &["check"])["findings"].as_array().unwrap().clone()
}

#[test]
fn in_an_empty_vault_everything_is_as_it_was() {
    let source = watched();
    let target = TestVault::new();
    let before = target.snapshot();
    let report = import(&target, &export(&source, &["export", "Ana"]));
    assert!(report["observations"].as_u64().unwrap() >= 10, "{report:#}");
    let came: Vec<_> = target.snapshot().into_iter().filter(|file| !before.contains(file)).collect();
    let there: Vec<_> = source.snapshot().into_iter().filter(|(name, _)| name != "settings.json").collect();
    assert_eq!(came.len(), there.len());
    for (came, there) in came.iter().zip(&there) {
        assert_eq!(came, there, "bytes that need no change stay");
    }
    same_at_every_message(&source, &target, "");
    assert_eq!(complaints(&target), complaints(&source));
    ok(&target, &["undo"]);
    assert_eq!(target.snapshot(), before);
    // And once more, where history knows files of these names that are gone.
    import(&target, &source.root().with_file_name("story.forklore"));
    same_at_every_message(&source, &target, "");
}

#[test]
fn where_all_names_are_taken_everything_gets_another_and_follows() {
    let source = watched();
    let file = export(&source, &["export", "Ana"]);
    let target = TestVault::new();
    for name in ["main", "Side"] {
        let mut other = Story::new("Ana", name);
        other.until(7).learn(10, "character-Zoe", "Nobody knows her.").scene("Elsewhere").until(12);
        for message in &mut other.messages {
            message["mes"] = json!(format!("Quite another story: {}", message["mes"]));
        }
        other.save(&target);
    }
    // The slugs are taken, too, and so is the name of the fork's own book.
    ok(&target, &["watch", "--once", "--no-backups"]);
    let before = (target.snapshot(), complaints(&target));
    let report = import(&target, &file);
    let given: Vec<&str> =
        report["chats"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(given, ["Ana/Side (2)", "Ana/main (2)"], "{report:#}");
    assert_eq!(report["warnings"][0]["code"], "ALREADY_HERE", "the slugs are taken: {report:#}");
    for (name, bytes) in &before.0 {
        assert_eq!(target.read(name), *bytes, "{name} is not ours");
    }
    let read = |chat: &str| {
        let text = String::from_utf8(target.read(&format!("chats/Ana/{chat}.jsonl"))).unwrap();
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>()
    };
    let (main, side) = (read("main (2)"), read("Side (2)"));
    let (of_main, of_side) = (&main[0]["chat_metadata"], &side[0]["chat_metadata"]);
    assert_eq!(of_main["world_info"], "z-AutoLB-Ana-main (2)");
    assert_eq!(of_main["auto_lorebooks"]["lorebookName"], of_main["world_info"]);
    assert_eq!(of_main["auto_recap_running_scene_recaps"]["chat_id"], "main (2)");
    assert_ne!(of_main["integrity"], "slug of main");
    assert_eq!(of_side["main_chat"], "main (2)");
    assert_eq!(of_side["forklore"]["parent"]["file"], "main (2)");
    assert_eq!(of_side["forklore"]["parent"]["slug"], of_main["integrity"]);
    assert_eq!(of_side["forklore"]["owner"]["file"], "Side (2)");
    assert_eq!(of_side["forklore"]["book"]["name"], of_side["world_info"]);
    assert_eq!(main[7]["extra"]["branches"], json!(["Side (2)"]));
    same_at_every_message(&source, &target, " (2)");
    let new: Vec<_> = complaints(&target).into_iter().filter(|found| !before.1.contains(found)).collect();
    assert_eq!(
        serde_json::to_string(&new).unwrap().replace(" (2)", ""),
        serde_json::to_string(&complaints(&source)).unwrap()
    );
    ok(&target, &["undo"]);
    assert_eq!(target.snapshot(), before.0);
    assert_eq!(complaints(&target), before.1);
}

#[test]
fn a_line_is_a_chat_with_its_ancestors() {
    let source = watched();
    ok(&source, &["branch", "Ana/main", "--at", "2", "--name", "Other"]);
    let file = export(&source, &["export", "Ana/Side", "--line"]);
    let target = TestVault::new();
    let report = import(&target, &file);
    let names: Vec<&str> =
        report["chats"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Ana/Side", "Ana/main"]);
    same_at_every_message(&source, &target, "");
}

#[test]
fn a_dry_run_tells_and_does_nothing() {
    let source = watched();
    let name = source.root().with_file_name("x.forklore").to_string_lossy().into_owned();
    let told = source.json(FORKLORE, &["export", "Ana", "-o", &name, "--dry-run"]);
    assert_eq!(told["chats"].as_array().unwrap().len(), 2);
    assert!(!PathBuf::from(&name).exists());
    let file = export(&source, &["export", "main"]);
    let target = TestVault::new();
    let before = target.snapshot();
    let told = target.json(FORKLORE, &["import", &file.to_string_lossy(), "--dry-run"]);
    assert_eq!((&told["operation"], told["chats"].as_array().unwrap().len()), (&Value::Null, 2));
    assert_eq!(target.snapshot(), before);
    let again = source.run(FORKLORE, &["export", "Ana", "-o", &file.to_string_lossy()]);
    assert_eq!(again.code, Some(1), "{again}");
}

#[test]
fn a_group_and_its_chats_come_along() {
    let source = TestVault::new();
    let story = Story::new("Band", "100");
    let mut story = story;
    story.until(4).learn(10, "character-Ana", "A girl with a boat.").scene("The harbour");
    let group =
        json!({"id": "1", "name": "Band", "members": ["Ana.png"], "chat_id": "100", "chats": ["100"]});
    source.write("groups/1.json", serde_json::to_string_pretty(&group).unwrap().as_bytes());
    let lines = std::iter::once(&story.header).chain(&story.messages).map(Value::to_string);
    source.write("group chats/100.jsonl", lines.collect::<Vec<_>>().join("\n").as_bytes());
    story.save_book(&source);
    let file = export(&source, &["export", "group:1"]);
    let target = TestVault::new();
    import(&target, &file);
    assert_eq!(target.read("groups/1.json"), source.read("groups/1.json"));
    assert_eq!(target.read("group chats/100.jsonl"), source.read("group chats/100.jsonl"));
    // A second time, the chats join the group under names of their own.
    import(&target, &file);
    let group: Value = serde_json::from_slice(&target.read("groups/1.json")).unwrap();
    assert_eq!(group["chats"], json!(["100", "100 (2)"]));
    ok(&target, &["undo"]);
    assert_eq!(target.read("groups/1.json"), source.read("groups/1.json"));
}

#[test]
fn what_is_cut_off_or_newer_is_refused() {
    let source = watched();
    let whole = fs::read(export(&source, &["export", "Ana"])).unwrap();
    let target = TestVault::new();
    let before = target.snapshot();
    let file = target.root().with_file_name("cut.forklore");
    for part in 0..50 {
        fs::write(&file, &whole[..whole.len() * part / 50]).unwrap();
        let refused = target.json(FORKLORE, &["import", &file.to_string_lossy()]);
        assert!(refused["error"]["code"].is_string(), "{part}: {refused:#}");
        assert_eq!(target.snapshot(), before);
    }
    let mut newer = whole;
    newer[16] = 3;
    fs::write(&file, newer).unwrap();
    let refused = target.json(FORKLORE, &["import", &file.to_string_lossy()]);
    assert_eq!(refused["error"]["code"], "EXPORT_NEWER", "{refused:#}");
}

/// An export that Forklore would not have written.
fn forged(folder: &str, members: &[(MemberKind, &str, &[u8])]) -> Vec<u8> {
    let whose = Whose { kind: "character".to_owned(), folder: folder.to_owned(), name: "Ana".to_owned() };
    let mut manifest = Manifest::new(whose, "0.1.0", 0);
    let member = |(kind, name, bytes): &(MemberKind, &str, &[u8])| Member {
        kind: *kind,
        name: (*name).to_owned(),
        bytes: bytes.len() as u64,
    };
    manifest.members = members.iter().map(member).collect();
    let mut writer = Writer::begin(Vec::new(), &manifest).unwrap();
    for (_, _, bytes) in members {
        writer.add(|out| Ok::<(), ArchiveError>(out.write_all(bytes)?)).unwrap();
    }
    writer.finish().unwrap()
}

/// Everything below the vault's own temporary folder.
fn everything(vault: &TestVault) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![vault.root().parent().unwrap().to_path_buf()];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path.clone());
            }
            found.push(path);
        }
    }
    found
}

#[test]
fn no_name_leads_anywhere_else() {
    let chat = br#"{"chat_metadata":{"world_info":"../../worlds/x"}}
{"name":"Ana","is_user":false,"mes":"hello","extra":{}}"#;
    let long = "x".repeat(3000);
    let names = [
        "../../evil",
        "/etc/evil",
        "..",
        ".",
        "",
        "a\0b",
        "CON",
        "nul.txt",
        "a/b",
        "a\\b",
        "C:\\evil",
        "\n",
        &long,
        "*?<>|",
    ];
    for (n, name) in names.iter().enumerate() {
        for folder in ["Ana", name] {
            let target = TestVault::new();
            let file = target.root().with_file_name("forged.forklore");
            let members = [
                (MemberKind::Book, *name, &br#"{"entries":{}}"#[..]),
                (MemberKind::Card, *name, b"no card"),
                (MemberKind::Chat, *name, chat),
            ];
            fs::write(&file, forged(folder, &members)).unwrap();
            let report = target.json(FORKLORE, &["import", &file.to_string_lossy()]);
            assert!(
                report["operation"].is_string() || report["error"]["code"].is_string(),
                "{n}: {report:#}"
            );
            for path in everything(&target) {
                let inside = path.strip_prefix(target.root());
                let Ok(inside) = inside else {
                    assert!(path == file || path == target.root(), "{n}: {path:?}");
                    continue;
                };
                let parts: Vec<_> = inside.iter().collect();
                if parts.is_empty() {
                    continue;
                }
                let folder = parts[0].to_string_lossy().into_owned();
                let known =
                    ["chats", "group chats", "groups", "worlds", "characters", "settings.json", ".forklore"];
                assert!(known.contains(&&*folder), "{n}: {path:?}");
                assert!(folder == ".forklore" || parts.len() <= 3, "{n}: {path:?}");
                assert!(
                    folder != "characters" || parts.len() == 1,
                    "{n}: what is no card is no card: {path:?}"
                );
            }
        }
    }
}

#[test]
fn what_is_forged_is_refused_whole() {
    use MemberKind::{Chat, Objects, Observations};
    let chat = || (Chat, "a", b"{\"chat_metadata\":{}}\n{\"mes\":\"a\"}".to_vec());
    let seen = |rest: Value| {
        let mut line = json!({"seq": 1, "v": 1, "clock": i64::MAX, "by": "watch"});
        line.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        (Observations, "h", format!("{line}\n").into_bytes())
    };
    let gone = |file: &str| seen(json!({"file": file, "kind": "gone"}));
    let headless = json!({"file": "chats/Ana/a.jsonl", "kind": "chat", "header": "0".repeat(64), "messages": 1, "last": ""});
    let bookless = json!({"file": "worlds/B.json", "kind": "book", "content": "0".repeat(64)});
    let long = [&u32::MAX.to_le_bytes()[..], &[0; 4]].concat();
    let cases = [
        ("not in order", vec![chat(), gone("chats/Ana/a.jsonl")]),
        ("have one name", vec![chat(), chat()]),
        ("other files", vec![gone("settings.json"), chat()]),
        ("other files", vec![gone(".forklore/ops/x.json"), chat()]),
        ("not whole", vec![gone("../x.jsonl"), chat()]),
        ("not whole", vec![(Observations, "h", b"not json".to_vec()), chat()]),
        (
            "forgets",
            vec![seen(json!({"file": "chats/Ana/a.jsonl", "kind": "forget", "contents": [[1, 9]]})), chat()],
        ),
        ("not whole", vec![seen(headless), chat()]),
        ("not whole", vec![seen(bookless), chat()]),
        ("far more", vec![(Objects, "h", long), (Observations, "h", Vec::new()), chat()]),
        ("damaged", vec![(Objects, "h", vec![1, 2, 3]), chat()]),
    ];
    for (n, (why, members)) in cases.iter().enumerate() {
        let target = TestVault::new();
        let before = target.snapshot();
        let file = target.root().with_file_name("forged.forklore");
        let members: Vec<_> = members.iter().map(|(kind, name, bytes)| (*kind, *name, &bytes[..])).collect();
        fs::write(&file, forged("Ana", &members)).unwrap();
        let refused = target.json(FORKLORE, &["import", &file.to_string_lossy()]);
        assert_eq!(refused["error"]["code"], "EXPORT_DAMAGED", "{n}: {refused:#}");
        assert!(refused["error"]["message"].as_str().unwrap().contains(why), "{n}: {refused:#}");
        assert_eq!(target.snapshot(), before, "{n}");
        assert_eq!(fs::read_dir(target.root().join(".forklore/tx")).map_or(0, Iterator::count), 0, "{n}");
        let deep = target.run(FORKLORE, &["check", "--deep"]);
        assert_eq!(deep.code, Some(0), "{n}: {deep}");
    }
}

/// An ordinary archive, however it was packed, is none of ours; what it links to is not looked at.
#[test]
fn other_archives_are_refused() {
    let target = TestVault::new();
    let before = target.snapshot();
    let dir = target.root().with_file_name("packed");
    fs::create_dir_all(dir.join("chats")).unwrap();
    fs::write(dir.join("chats/a.jsonl"), b"{}").unwrap();
    #[cfg(unix)]
    forklore_testkit::unix::symlink("/etc", dir.join("worlds")).unwrap();
    for packing in [&["-cf"][..], &["-czf"], &["--zstd", "-cf"]] {
        let file = target.root().with_file_name("packed.forklore");
        let tar =
            std::process::Command::new("tar").args(packing).arg(&file).arg("-C").arg(&dir).arg(".").status();
        if !tar.is_ok_and(|tar| tar.success()) {
            println!("SKIPPED other_archives_are_refused: {packing:?}");
            continue;
        }
        let refused = target.json(FORKLORE, &["import", &file.to_string_lossy()]);
        assert_eq!(refused["error"]["code"], "NOT_AN_EXPORT", "{packing:?}: {refused:#}");
        assert!(refused["error"]["hint"].as_str().unwrap().contains("forklore export"), "{refused:#}");
        assert_eq!(target.snapshot(), before);
    }
    for name in [".", "missing.forklore"] {
        let file = target.root().with_file_name(name);
        let refused = target.json(FORKLORE, &["import", &file.to_string_lossy()]);
        assert!(refused["error"]["hint"].is_string(), "{refused:#}");
    }
}

/// Folders of the vault that lead out of it are not followed.
#[cfg(unix)]
#[test]
fn links_in_the_vault_lead_nowhere() {
    let source = watched();
    let file = export(&source, &["export", "Ana"]);
    for link in ["chats/Ana", "worlds"] {
        let target = TestVault::new();
        let outside = target.root().with_file_name("outside");
        fs::create_dir(&outside).unwrap();
        let place = target.root().join(link);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        // Empty, if it is there.
        let _gone = fs::remove_dir(&place);
        forklore_testkit::unix::symlink(&outside, &place).unwrap();
        let refused = target.json(FORKLORE, &["import", &file.to_string_lossy()]);
        assert!(refused["error"]["message"].is_string(), "{link}: {refused:#}");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{link}");
        for folder in ["chats", "worlds"] {
            let left = fs::read_dir(target.root().join(folder)).into_iter().flatten();
            let left: Vec<_> =
                left.map(|entry| entry.unwrap().file_name()).filter(|name| name != "Ana").collect();
            assert!(left.is_empty(), "{link}: {left:?}");
        }
        assert_eq!(fs::read_dir(target.root().join(".forklore/tx")).map_or(0, Iterator::count), 0, "{link}");
    }
}

/// Without -o the file has the name of the story, or of the chat.
#[test]
fn a_file_without_a_name_gets_one() {
    let source = watched();
    let report = source.json(FORKLORE, &["export", "Ana"]);
    assert_eq!(report["file"], "Ana.forklore", "{report:#}");
    let report = source.json(FORKLORE, &["export", "Side", "--line", "--no-history"]);
    assert_eq!(
        (&report["file"], &report["observations"]),
        (&json!("Side.forklore"), &json!(0)),
        "{report:#}"
    );
    let again = source.json(FORKLORE, &["export", "Ana"]);
    assert_eq!(again["error"]["code"], "NAME_TAKEN", "{again:#}");
}

/// An export had messages in it that were deleted since, and did not say so. It says so where it is made and where it is explained, and
/// what is left out is out.
#[test]
fn regression_an_export_says_that_it_holds_what_was_deleted() {
    let source = watched();
    let text = String::from_utf8(source.read("chats/Ana/main.jsonl")).unwrap();
    let secret = text.lines().last().unwrap().replace("\"mes\":\"", "\"mes\":\"What nobody is to read: ");
    source.write("chats/Ana/main.jsonl", format!("{text}\n{secret}").as_bytes());
    assert_eq!(source.run(FORKLORE, &["watch", "--once"]).code, Some(0));
    source.write("chats/Ana/main.jsonl", text.as_bytes());
    assert_eq!(source.run(FORKLORE, &["watch", "--once"]).code, Some(0));
    let sentence = "History has every save that was seen, also messages that were edited or deleted since.";
    for args in [&["export", "Ana", "--dry-run"][..], &["export", "Ana"], &["export", "Ana/Side", "--line"]] {
        let told = source.run(FORKLORE, args);
        let words = told.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!("{sentence} To leave it out: --no-history")), "{told}");
    }
    let help = source.run(FORKLORE, &["export", "--help"]).stdout;
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("also messages that were edited or deleted since")
            && words.contains("--no-history leaves it out"),
        "{help}"
    );
    let bare = source.run(FORKLORE, &["export", "Ana", "--no-history", "-o", "bare.forklore"]);
    assert!(!bare.stdout.contains("History"), "{bare}");
    let unpacked = |name: &str| {
        let file = fs::File::open(source.root().with_file_name(name)).unwrap();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut zstd::Decoder::new(file).unwrap(), &mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).contains("What nobody is to read")
    };
    assert!(unpacked("Ana.forklore"), "the test would prove nothing");
    assert!(!unpacked("bare.forklore"));
}

#[test]
fn an_export_can_be_unpacked_with_tar() {
    let source = watched();
    let file = export(&source, &["export", "Ana"]);
    let dir = source.root().with_file_name("unpacked");
    fs::create_dir(&dir).unwrap();
    let tar =
        std::process::Command::new("tar").args(["--zstd", "-xf"]).arg(&file).arg("-C").arg(&dir).output();
    let Some(tar) = tar.ok().filter(|tar| tar.status.success()) else {
        println!("SKIPPED an_export_can_be_unpacked_with_tar: no tar with zstd");
        return;
    };
    assert!(tar.stderr.is_empty(), "{tar:?}");
    assert_eq!(fs::read(dir.join("chats/main.jsonl")).unwrap(), source.read("chats/Ana/main.jsonl"));
    let sums = fs::read_to_string(dir.join("B3SUMS")).unwrap();
    assert!(sums.lines().any(|line| line.ends_with("  chats/main.jsonl")), "{sums}");
}
