//! Images and files that messages link to: they go and come with a chat where somebody asks for it, nothing that is there is written
//! over, and no link reaches anything else.

use std::fs;
use std::path::PathBuf;

use forklore_archive::{Manifest, Member, MemberKind, Story as Whose, Writer};
use forklore_testkit::TestVault;
use forklore_testkit::http::Http;
use serde_json::{Value, json};

use crate::FORKLORE;

const PICTURE: &str = "user/images/Ana/a boat.png";
const CLIP: &str = "user/images/clip.mp4";
const NOTES: &str = "user/files/notes.txt";

fn ok(vault: &TestVault, args: &[&str]) -> String {
    let run = vault.run(FORKLORE, args);
    assert_eq!(run.code, Some(0), "{args:?}: {run}");
    run.stdout
}

/// A chat of three messages; `links` are in the second one, as SillyTavern writes them.
fn chat(vault: &TestVault, name: &str, links: &Value) {
    let header = json!({"chat_metadata": {"integrity": format!("slug of {name}")}, "user_name": "unused", "character_name": "unused"});
    let message = |n: usize, extra: &Value| {
        json!({"name": "Ana", "is_user": n % 2 == 1, "is_system": false, "send_date": format!("2026-01-01T00:00:0{n}.000Z"),
            "mes": format!("{name} says {n}"), "extra": extra})
    };
    let lines = [header, message(0, &json!({})), message(1, links), message(2, &json!({}))];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    vault.write(&format!("chats/Ana/{name}.jsonl"), lines.join("\n").as_bytes());
}

/// A vault with a chat that links to a picture, a clip and a file.
fn vault() -> TestVault {
    let vault = TestVault::new();
    vault.write(PICTURE, &picture(1));
    vault.write(CLIP, b"moving");
    vault.write(NOTES, b"what she said");
    let media = json!([{"type": "image", "url": format!("/{PICTURE}")}, {"type": "video", "url": CLIP}]);
    chat(
        &vault,
        "Rain",
        &json!({"media": media, "files": [{"url": format!("/{NOTES}"), "name": "notes.txt"}]}),
    );
    vault
}

/// Something as large as pictures are, and as little alike.
fn picture(seed: u8) -> Vec<u8> {
    let mut state = u32::from(seed) + 1;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..3 << 20).map(|_| next()).collect()
}

fn watch(vault: &TestVault) {
    ok(vault, &["watch", "--once", "--no-backups"]);
}

fn there(vault: &TestVault, path: &str) -> bool {
    vault.root().join(path).exists()
}

fn remove(vault: &TestVault, path: &str) {
    fs::remove_file(vault.root().join(path)).unwrap();
}

fn codes(report: &Value) -> Vec<&str> {
    report["warnings"].as_array().unwrap().iter().map(|warning| warning["code"].as_str().unwrap()).collect()
}

fn export(vault: &TestVault, args: &[&str]) -> (PathBuf, Value) {
    let file = vault.root().with_file_name("story.forklore");
    let name = file.to_string_lossy().into_owned();
    let report = vault.json(FORKLORE, &[&["export", "Ana", "-o", &name, "--force"], args].concat());
    assert!(report["error"].is_null(), "{report:#}");
    (file, report)
}

fn import(vault: &TestVault, file: &std::path::Path) -> Value {
    vault.json(FORKLORE, &["import", &file.to_string_lossy()])
}

#[test]
fn without_being_asked_nothing_is_kept_or_taken_along() {
    let vault = vault();
    watch(&vault);
    let history = vault.root().join(".forklore/history/packs");
    let size = |dir: &PathBuf| -> u64 {
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
    };
    assert!(size(&history) < 100_000, "no picture is in history");
    let (file, report) = export(&vault, &[]);
    assert_eq!(
        report["media"],
        json!({"linked": 3, "exported": 0, "bytes": (3 << 20) + 6 + 13, "missing": 0})
    );
    assert_eq!(codes(&report), ["MEDIA_LEFT"]);
    let told = ok(&vault, &["export", "Ana", "--dry-run"]);
    assert!(told.contains("3 images and files") && told.contains("--media"), "{told}");
    // Who has an older Forklore can read it.
    assert_eq!(fs::read(&file).unwrap()[16], 1);
    let other = TestVault::new();
    let report = import(&other, &file);
    assert_eq!((&report["media"], codes(&report)), (&json!([]), vec!["NO_CARD"]));
    assert!(!there(&other, "user"));
    // Nothing is said of chats that link to nothing.
    let plain = TestVault::new();
    chat(&plain, "Rain", &json!({}));
    assert_eq!(export(&plain, &[]).1["warnings"], json!([]));
}

#[test]
fn an_export_with_media_brings_every_byte_and_undo_takes_it_back() {
    let source = vault();
    let (file, report) = export(&source, &["--media"]);
    assert_eq!((&report["media"]["exported"], &report["warnings"]), (&json!(3), &json!([])));
    assert_eq!(fs::read(&file).unwrap()[16], 2, "an older Forklore is told that it is too old");
    let target = TestVault::new();
    let before = target.snapshot();
    let planned = target.json(FORKLORE, &["import", &file.to_string_lossy(), "--dry-run"]);
    assert_eq!(target.snapshot(), before);
    let report = import(&target, &file);
    assert_eq!(report["media"], planned["media"]);
    for path in [PICTURE, CLIP, NOTES, "chats/Ana/Rain.jsonl"] {
        assert_eq!(target.read(path), source.read(path), "{path}");
    }
    ok(&target, &["undo"]);
    assert_eq!(target.snapshot(), before);
    ok(&target, &["redo"]);
    assert_eq!(target.read(PICTURE), source.read(PICTURE));
    // A chat that stays, and links to it, too, keeps it.
    chat(&target, "Sun", &json!({"image": format!("/{PICTURE}")}));
    ok(&target, &["undo"]);
    assert!(there(&target, PICTURE) && !there(&target, CLIP));
    // What is linked to and gone is told.
    remove(&source, CLIP);
    assert_eq!(codes(&export(&source, &["--media"]).1), ["MEDIA_MISSING"]);
}

#[test]
fn what_is_here_stays_and_what_arrives_is_linked_beside_it() {
    let source = vault();
    let (file, _) = export(&source, &["--media", "--no-history"]);
    let target = TestVault::new();
    target.write(PICTURE, b"quite another picture");
    target.write(NOTES, b"what she said");
    let report = import(&target, &file);
    assert_eq!(codes(&report), ["NO_CARD", "MEDIA_RENAMED"]);
    assert_eq!(report["media_here"], 1, "the same file is not needed twice");
    let beside = "user/images/Ana/a boat (2).png";
    assert_eq!(report["media"][0], json!({"from": PICTURE, "path": beside}));
    assert_eq!(target.read(PICTURE), b"quite another picture");
    assert_eq!(target.read(beside), source.read(PICTURE));
    let wanted = String::from_utf8(source.read("chats/Ana/Rain.jsonl")).unwrap().replace(PICTURE, beside);
    assert_eq!(
        String::from_utf8(target.read("chats/Ana/Rain.jsonl")).unwrap(),
        wanted,
        "and nothing else changes"
    );
    // Once more: everything is here by now, each with its own content.
    let again = import(&target, &file);
    assert_eq!((&again["media_here"], &again["media"]), (&json!(3), &json!([])));
    let relinked = String::from_utf8(target.read("chats/Ana/Rain (2).jsonl")).unwrap();
    assert!(relinked.contains(beside));
}

#[test]
fn a_deleted_chat_comes_back_with_what_it_links_to() {
    let vault = vault();
    ok(&vault, &["config", "history.media", "true"]);
    watch(&vault);
    let before = vault.snapshot();
    // Somebody clears up.
    for path in ["chats/Ana/Rain.jsonl", PICTURE, NOTES] {
        remove(&vault, path);
    }
    watch(&vault);
    vault.write(CLIP, b"another one by now");
    let report = vault.json(FORKLORE, &["restore", "Ana/Rain"]);
    assert_eq!((&report["media"], &report["warnings"]), (&json!([NOTES, PICTURE]), &json!([])));
    assert_eq!(vault.read(CLIP), b"another one by now", "what is there is never written over");
    vault.write(CLIP, b"moving");
    assert_eq!(vault.snapshot(), before);
    ok(&vault, &["undo"]);
    assert!(!there(&vault, PICTURE) && !there(&vault, "chats/Ana/Rain.jsonl"));
    ok(&vault, &["redo"]);
    assert_eq!(vault.snapshot(), before);
}

#[test]
fn a_past_state_and_the_trash_bring_it_back_too() {
    let vault = vault();
    ok(&vault, &["config", "history.media", "true"]);
    watch(&vault);
    let picture = vault.read(PICTURE);
    // The message loses its picture, and the picture goes.
    chat(&vault, "Rain", &json!({"files": [{"url": format!("/{NOTES}")}]}));
    watch(&vault);
    remove(&vault, PICTURE);
    let seen = vault.json(FORKLORE, &["history", "Ana/Rain", "--all"]);
    let first =
        seen["events"].as_array().and_then(|events| events.iter().filter_map(|e| e["seq"].as_u64()).min());
    let first = first.unwrap_or(1).to_string();
    let report = vault.json(FORKLORE, &["restore", "Ana/Rain", "--observation", &first, "--as", "As it was"]);
    assert_eq!(report["media"], json!([PICTURE]), "{report:#}");
    assert_eq!(vault.read(PICTURE), picture);
    // Deleted by Forklore, and brought back from the trash, by undo, and as a whole operation.
    for back in [&["trash", "restore", "As it was"][..], &["undo"]] {
        ok(&vault, &["delete", "Ana/As it was"]);
        remove(&vault, PICTURE);
        ok(&vault, back);
        assert_eq!(vault.read(PICTURE), picture, "{back:?}");
    }
}

#[test]
fn what_is_nowhere_is_said() {
    let vault = vault();
    watch(&vault);
    remove(&vault, "chats/Ana/Rain.jsonl");
    watch(&vault);
    remove(&vault, PICTURE);
    let report = vault.json(FORKLORE, &["restore", "Ana/Rain"]);
    assert_eq!((codes(&report), &report["media"]), (vec!["MEDIA_MISSING"], &json!([])));
    let told = |what: &str| report["warnings"][0][what].as_str().unwrap();
    assert!(told("message").contains(PICTURE) && told("hint").contains("history.media"), "{report}");
    assert!(!told("to_do").contains("forklore "), "nobody types at a page");
}

#[test]
fn forgetting_a_save_forgets_its_pictures_and_no_others() {
    let vault = vault();
    ok(&vault, &["config", "history.media", "true"]);
    watch(&vault);
    let size = || vault.json(FORKLORE, &["prune", "--dry-run"])["after"].as_u64().unwrap();
    assert!(size() > 3 << 20);
    // Ten saves later another picture is linked to, and the first is gone. One was there for one save.
    let (other, passing) = ("user/images/Ana/another.png", "user/images/Ana/passing.png");
    vault.write(other, &picture(9));
    vault.write(passing, &picture(5));
    for n in 0..10 {
        let link = if n == 4 { passing } else { other };
        chat(&vault, "Rain", &json!({"image": format!("/{link}"), "n": n}));
        watch(&vault);
    }
    assert!(size() > 9 << 20);
    remove(&vault, PICTURE);
    // The first save of a chat is always kept: with what it links to.
    ok(&vault, &["forget", "--keep-last", "1", "--keep-daily", "0", "--keep-weekly", "0"]);
    ok(&vault, &["prune"]);
    assert!((6 << 20..8 << 20).contains(&size()), "two of three are needed: {}", size());
    let checked = vault.json(FORKLORE, &["check", "--deep"]);
    assert_eq!(checked["findings"], json!([]), "{checked:#}");
    remove(&vault, "chats/Ana/Rain.jsonl");
    remove(&vault, other);
    watch(&vault);
    let report = vault.json(FORKLORE, &["restore", "Ana/Rain"]);
    assert_eq!(report["media"], json!([other]));
    assert_eq!(vault.read(other), picture(9));
}

#[test]
fn a_picture_is_kept_once_and_turning_it_off_keeps_what_was_kept() {
    let vault = vault();
    ok(&vault, &["config", "history.media", "true"]);
    watch(&vault);
    let bytes = || vault.json(FORKLORE, &["prune", "--dry-run"])["before"].as_u64().unwrap();
    let first = bytes();
    // The same picture under another name, in another chat, and the first chat with another message.
    vault.write("user/images/Ana/copy.png", &picture(1));
    chat(&vault, "Sun", &json!({"image": "/user/images/Ana/copy.png"}));
    chat(&vault, "Rain", &json!({"image": format!("/{PICTURE}")}));
    watch(&vault);
    assert!(bytes() < first + 100_000, "{first} -> {}", bytes());
    ok(&vault, &["config", "history.media", "false"]);
    watch(&vault);
    for path in ["chats/Ana/Sun.jsonl", "user/images/Ana/copy.png"] {
        remove(&vault, path);
    }
    watch(&vault);
    assert_eq!(vault.json(FORKLORE, &["restore", "Ana/Sun"])["media"], json!(["user/images/Ana/copy.png"]));
}

#[test]
fn turning_it_on_later_keeps_what_chats_link_to_that_were_known_before() {
    let vault = vault();
    watch(&vault);
    ok(&vault, &["config", "history.media", "true"]);
    watch(&vault);
    for path in ["chats/Ana/Rain.jsonl", NOTES] {
        remove(&vault, path);
    }
    watch(&vault);
    assert_eq!(vault.json(FORKLORE, &["restore", "Ana/Rain"])["media"], json!([NOTES]));
}

#[test]
fn a_link_that_leads_elsewhere_leads_nowhere() {
    let secret = "secret of the house";
    let vault = TestVault::new();
    let outside = vault.root().with_file_name("outside");
    fs::create_dir_all(outside.join("Ana")).unwrap();
    fs::write(outside.join("secret.txt"), secret).unwrap();
    fs::write(outside.join("Ana/secret.png"), secret).unwrap();
    vault.write(".forklore/config.toml", b"[history]\nmedia = true\n");
    vault.write("user/images/Ana/real.png", b"real");
    let absolute = outside.join("secret.txt").display().to_string();
    let links = [
        "../outside/secret.txt",
        "user/images/../../../outside/secret.txt",
        "/user/files/%2e%2e/%2e%2e/%2e%2e/outside/secret.txt",
        &absolute,
        "user/files/link.txt",
        "/user/images/Led/secret.png",
        "user/images/pipe",
        "user/images",
        "settings.json",
        "/user/images/Ana/real.png",
        "http://127.0.0.1/user/images/x.png",
        "data:image/png;base64,user/",
    ];
    #[cfg(unix)]
    {
        fs::create_dir_all(vault.root().join("user/files")).unwrap();
        forklore_testkit::unix::symlink(outside.join("secret.txt"), vault.root().join("user/files/link.txt"))
            .unwrap();
        forklore_testkit::unix::symlink(outside.join("Ana"), vault.root().join("user/images/Led")).unwrap();
    }
    chat(
        &vault,
        "Rain",
        &json!({"image_swipes": links, "media": [{"url": 7}, null, {"url": links[0]}], "file": {"url": links[1]}}),
    );
    watch(&vault);
    let (file, report) = export(&vault, &["--media"]);
    assert_eq!(report["media"]["exported"], 1, "{report:#}");
    let unpacked = zstd_of(&file);
    let holds = |bytes: &[u8]| bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
    assert!(!holds(&unpacked));
    // What comes back goes where it was, and not where a link would lead it by now.
    #[cfg(unix)]
    {
        remove(&vault, "chats/Ana/Rain.jsonl");
        fs::remove_dir_all(vault.root().join("user/images/Ana")).unwrap();
        forklore_testkit::unix::symlink(outside.join("Ana"), vault.root().join("user/images/Ana")).unwrap();
        watch(&vault);
        let report = vault.json(FORKLORE, &["restore", "Ana/Rain"]);
        assert_eq!((codes(&report), &report["media"]), (vec!["MEDIA_MISSING"], &json!([])));
        // Nor does what arrives.
        ok(&vault, &["delete", "Ana/Rain"]);
        let report = import(&vault, &file);
        assert_eq!(report["left"][0]["what"], "user/images/Ana/real.png", "{report:#}");
    }
    assert_eq!(fs::read_dir(outside.join("Ana")).unwrap().count(), 1, "nothing was written outside");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 2);
}

/// What an export unpacks to.
fn zstd_of(file: &std::path::Path) -> Vec<u8> {
    let bytes = fs::read(file).unwrap();
    let mut reader = forklore_archive::Reader::open(&*bytes, bytes.len() as u64).unwrap();
    let mut all = Vec::new();
    while reader.next_member().unwrap().is_some() {
        std::io::Read::read_to_end(&mut reader, &mut all).unwrap();
    }
    all
}

#[test]
fn an_export_of_anybody_puts_files_in_no_other_place() {
    for name in [
        "../../outside.png",
        "/etc/passwd",
        "chats/Ana/x.jsonl",
        "user/images/../../settings.json",
        ".forklore/config.toml",
        "user/files/a/b",
        "user/images/",
        "settings.json",
        "user/images/a\\..\\b",
        "/user/images/a.png",
    ] {
        let vault = TestVault::new();
        let place = Whose { kind: "character".to_owned(), folder: "Ana".to_owned(), name: "Ana".to_owned() };
        let mut manifest = Manifest::new(place, "0", 0);
        manifest.add(Member { kind: MemberKind::Media, name: name.to_owned(), bytes: 4 });
        manifest.add(Member { kind: MemberKind::Chat, name: "main".to_owned(), bytes: 2 });
        let mut bytes = Vec::new();
        let mut writer = Writer::begin(&mut bytes, &manifest).unwrap();
        for content in [&b"evil"[..], b"{}"] {
            writer.add(|out| Ok::<(), forklore_archive::ArchiveError>(out.write_all(content)?)).unwrap();
        }
        writer.finish().unwrap();
        let file = vault.root().with_file_name("forged.forklore");
        fs::write(&file, bytes).unwrap();
        let before = (vault.snapshot(), fs::read_dir(vault.root().parent().unwrap()).unwrap().count());
        let report = import(&vault, &file);
        assert_eq!(report["error"]["code"], "EXPORT_DAMAGED", "{name}: {report:#}");
        assert_eq!(
            (vault.snapshot(), fs::read_dir(vault.root().parent().unwrap()).unwrap().count()),
            before,
            "{name}"
        );
    }
}

#[test]
fn files_that_the_trash_needs_are_named_until_it_is_emptied() {
    let vault = vault();
    ok(&vault, &["config", "history.operations", "false"]);
    let server = crate::serve::serve(&vault, &[]);
    let needed = |http: &Http| http.get("api/media/needed").ok()["files"].clone();
    assert_eq!(needed(&server.http), json!([]), "a chat that is there speaks for itself");
    ok(&vault, &["delete", "Ana/Rain"]);
    assert_eq!(needed(&server.http), json!([NOTES, PICTURE, CLIP]));
    ok(&vault, &["undo"]);
    assert_eq!(needed(&server.http), json!([]));
}
