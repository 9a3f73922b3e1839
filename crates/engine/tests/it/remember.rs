//! What is remembered of a fork and its parent without reading them is what reading them would find.

use std::sync::Arc;

use forklore_core::fork::ForkKind;
use forklore_engine::usecase::fork::{self, Request};
use forklore_engine::vault::cache;
use forklore_engine::vault::scan::scan;
use forklore_engine::{Config, Library, NoProgress};
use forklore_fs::{SimFs, VaultPath, Vfs};
use serde_json::json;

const NOW: i64 = 1_800_000_000_000;

fn path(text: &str) -> VaultPath {
    VaultPath::new(text).unwrap()
}

/// A chat that is large enough to be remembered, and worth aligning, with scenes, snapshots and links. With 1,200 words a message
/// it is small; with 3,000 forks are remembered as parts of it.
fn vault(newline: &str, words: usize) -> Arc<SimFs> {
    let fs = SimFs::new();
    let mut lines = vec![json!({"chat_metadata": {"integrity": "s", "world_info": "Lore"}}).to_string()];
    let entry =
        |uid: usize| json!({"uid": uid, "comment": format!("fact-{uid}"), "content": "x".repeat(uid)});
    for i in 0..300 {
        let mut extra = json!({});
        if i % 40 == 30 {
            let entries: Vec<_> = (0..i / 10).map(entry).collect();
            extra["auto_recap_memory"] = json!({"scene_break": true, "scene_break_visible": true,
                "scene_recap_memory": "then", "scene_recap_versions": ["", "then"], "scene_recap_current_index": 1,
                "scene_recap_metadata": {"1": {"timestamp": i, "chatLorebookName": "Lore", "allEntries": entries}}});
        }
        if i % 70 == 10 {
            extra["bookmark_link"] = json!(format!("Elsewhere {i}"));
            extra["branches"] = json!(["One", "Two"]);
        }
        let line = json!({"name": "Ana", "is_user": i % 2 == 0, "is_system": i % 9 == 0, "send_date": i.to_string(),
            "mes": format!("{i} {}", "word ".repeat(words)), "extra": extra});
        lines.push(line.to_string());
    }
    fs.put(&path("chats/Ana/Rain.jsonl"), lines.join(newline).as_bytes());
    let entries: serde_json::Map<_, _> = (0..30).map(|uid| (uid.to_string(), entry(uid))).collect();
    fs.put(&path("worlds/Lore.json"), json!({ "entries": entries }).to_string().as_bytes());
    fs.put(&path("settings.json"), b"{}");
    Arc::new(fs)
}

fn fork_at(fs: &Arc<SimFs>, chat: &str, kind: ForkKind, at: usize) -> String {
    let library = Library::load(fs.clone(), &NoProgress).unwrap();
    let chat = library.find_chat(chat).unwrap();
    let request = Request {
        kind,
        chat,
        at,
        name: Some(format!("{} at {at}", library.chats[chat].name)),
        swipe: None,
        strict: false,
        ignore_queue: false,
        link: true,
        copy_book: false,
    };
    let plan = fork::plan(&library, &request, &Config::default(), &format!("slug {at}"), NOW).unwrap();
    fork::execute(&library, plan, NOW).unwrap();
    request.name.unwrap_or_default()
}

fn assert_remembered(fs: &SimFs, chat: &str) {
    let path = path(&format!("chats/Ana/{chat}.jsonl"));
    let file = fs.open(&path).unwrap();
    let known =
        cache::recall(fs, &path, file.identity().unwrap()).unwrap_or_else(|| panic!("{chat} is not known"));
    let read = scan(&*file, false).unwrap();
    assert_eq!(known.header, read.header, "{chat}");
    assert_eq!(known.facts, read.facts, "{chat}");
    assert_eq!(known.snapshots, read.snapshots, "{chat}");
    let rows = |scan: &forklore_engine::vault::scan::Scan| scan.transcript.rows_from(0).collect::<Vec<_>>();
    assert_eq!(rows(&known), rows(&read), "{chat}");
}

#[test]
fn what_is_remembered_is_what_is_there() {
    for (newline, words) in [("\n", 1_200), ("\r\n", 1_200), ("\n", 3_000), ("\r\n", 3_000)] {
        let fs = vault(newline, words);
        let mut chat = "Rain".to_owned();
        for (kind, at) in [
            (ForkKind::Checkpoint, 299),
            (ForkKind::Branch, 220),
            (ForkKind::Checkpoint, 220),
            (ForkKind::Checkpoint, 150),
            (ForkKind::Branch, 31),
        ] {
            let new = fork_at(&fs, &chat, kind, at);
            assert_remembered(&fs, &chat);
            assert_remembered(&fs, &new);
            chat = new;
        }
    }
}

fn packs(fs: &SimFs) -> usize {
    fs.list(&cache::folder()).unwrap().iter().filter(|node| node.name.ends_with(".pack")).count()
}

fn load(fs: &Arc<SimFs>) -> Library {
    Library::load(fs.clone(), &NoProgress).unwrap()
}

#[test]
fn forks_share_what_is_remembered_and_it_goes_with_the_last() {
    let fs = vault("\n", 3_000);
    let fork = fork_at(&fs, "Rain", ForkKind::Checkpoint, 150);
    let second = fork_at(&fs, &fork, ForkKind::Branch, 40);
    assert_eq!(packs(&fs), 1, "nothing was written twice");

    // Somebody plays on in the parent: it is read anew, and the forks still know what they knew.
    let append = |chat: &str| {
        let path = path(&format!("chats/Ana/{chat}.jsonl"));
        let mut bytes = fs.read(&path).unwrap().unwrap();
        bytes.extend_from_slice(format!("\n{{\"mes\":\"{}\"}}", "on ".repeat(2_000_000)).as_bytes());
        fs.put(&path, &bytes);
    };
    append("Rain");
    drop(load(&fs));
    assert_eq!(packs(&fs), 2);
    for chat in ["Rain", &fork, &second] {
        assert_remembered(&fs, chat);
    }
    // The forks, too: now nobody needs the first one.
    append(&fork);
    append(&second);
    drop(load(&fs));
    for chat in ["Rain", &fork, &second] {
        assert_remembered(&fs, chat);
    }
    assert_eq!(packs(&fs), 3);
}

#[test]
fn a_pack_that_is_gone_or_torn_only_costs_time() {
    let fs = vault("\n", 3_000);
    let fork = fork_at(&fs, "Rain", ForkKind::Checkpoint, 150);
    let pack =
        fs.list(&cache::folder()).unwrap().into_iter().find(|node| node.name.ends_with(".pack")).unwrap();
    let pack = cache::folder().join(&pack.name).unwrap();
    let mut bytes = fs.read(&pack).unwrap().unwrap();
    bytes[10_000] ^= 1;
    for torn in [Some(bytes), None] {
        match torn {
            Some(torn) => fs.put(&pack, &torn),
            None => fs.unlink(&pack).unwrap(),
        }
        let library = load(&fs);
        let chat = &library.chats[library.find_chat(&fork).unwrap()];
        assert_eq!(chat.transcript.len(), 151);
        drop(library);
        assert_remembered(&fs, "Rain");
        assert_remembered(&fs, &fork);
    }
}
