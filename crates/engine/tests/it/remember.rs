//! What is remembered of a fork and its parent without reading them is what reading them would find.

use std::sync::Arc;

use forklore_config::Config;
use forklore_core::fork::ForkKind;
use forklore_core::story::{Row, Transcript};
use forklore_engine::fork::{self, ForkRequest};
use forklore_fs::{RealFs, SimFs, VaultPath, Vfs};
use forklore_vault::read::scan::scan;
use forklore_vault::{Chat, Library, NoProgress, cache};
use serde_json::json;

use crate::path;

const NOW: i64 = 1_800_000_000_000;

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
    try_fork(&load(fs), chat, kind, at).unwrap()
}

fn try_fork(library: &Library, chat: &str, kind: ForkKind, at: usize) -> Result<String, fork::ForkError> {
    let chat = library.find_chat(chat).unwrap();
    let request = ForkRequest {
        kind: Some(kind),
        at: Some(at),
        name: Some(format!("{} at {at}", library.chat(chat).name())),
        ..ForkRequest::of(library.address(chat).to_string())
    };
    let plan = fork::plan(library, &request, &Config::default(), &format!("slug {at}"), NOW)?;
    fork::execute(library, plan, NOW)?;
    Ok(request.name.unwrap_or_default())
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
    assert_eq!(rows(&known.transcript), rows(&read.transcript), "{chat}");
}

/// The one chat of a vault.
fn only(library: &Library) -> &Chat {
    library.chats().next().unwrap().1
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

fn rows(transcript: &Transcript) -> Vec<Row> {
    transcript.rows_from(0).collect()
}

fn pack_of(fs: &SimFs) -> VaultPath {
    let nodes = fs.list(&cache::folder()).unwrap();
    let pack = nodes.iter().find(|node| node.name.ends_with(".pack")).unwrap();
    cache::folder().join(&pack.name).unwrap()
}

#[test]
fn a_pack_that_is_gone_or_torn_only_costs_time() {
    let fs = vault("\n", 3_000);
    let fork = fork_at(&fs, "Rain", ForkKind::Checkpoint, 150);
    let scanned = |chat: &str| {
        let file = fs.open(&path(&format!("chats/Ana/{chat}.jsonl"))).unwrap();
        scan(&*file, false).unwrap()
    };
    let read = [scanned("Rain"), scanned(&fork)];
    let whole = fs.read(&pack_of(&fs)).unwrap().unwrap();
    // Every part of it: head, snapshots, hashes, rows; and nothing at all.
    let torn = (0..whole.len()).step_by(whole.len() / 60).map(Some).chain([None]);
    for at in torn {
        let pack = pack_of(&fs);
        match at {
            Some(at) => {
                let mut bytes = fs.read(&pack).unwrap().unwrap();
                bytes[at] ^= 1;
                fs.put(&pack, &bytes);
            }
            None => fs.unlink(&pack).unwrap(),
        }
        let library = load(&fs);
        for (chat, read) in ["Rain", &fork].into_iter().zip(&read) {
            let chat = library.chat(library.find_chat(chat).unwrap());
            assert_eq!(rows(chat.transcript()), rows(&read.transcript), "byte {at:?}");
            assert_eq!(*chat.snapshots(), read.snapshots, "byte {at:?}");
        }
        drop(library);
        // What was torn is not found again.
        drop(load(&fs));
        assert_remembered(&fs, "Rain");
        assert_remembered(&fs, &fork);
    }
}

/// Rows that turned out to be torn, of a chat that could not be read again, were taken for a chat without messages: the fork was empty.
#[test]
#[allow(clippy::disallowed_methods, reason = "the file gets its times from the system")]
fn regression_what_is_torn_makes_no_empty_fork() {
    let dir = tempfile::tempdir().unwrap();
    let sim = vault("\n", 3_000);
    for file in ["chats/Ana/Rain.jsonl", "worlds/Lore.json", "settings.json"] {
        let to = dir.path().join(file);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::write(to, sim.read(&path(file)).unwrap().unwrap()).unwrap();
    }
    let fs: Arc<dyn Vfs> = Arc::new(RealFs::new(dir.path()).unwrap());
    let load = || Library::load(fs.clone(), &NoProgress).unwrap();
    let chat = dir.path().join("chats/Ana/Rain.jsonl");
    // The last rows are torn, which nobody sees until one of them is asked for.
    let torn = || {
        drop(load());
        let cache = std::fs::read_dir(dir.path().join(".forklore/cache")).unwrap();
        let pack = cache
            .map(|entry| entry.unwrap().path())
            .find(|path| path.extension().is_some_and(|e| e == "pack"));
        let pack = pack.unwrap();
        let mut bytes = std::fs::read(&pack).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(pack, bytes).unwrap();
        load()
    };
    // A backup that hard-links the chat changes nothing in it.
    let library = torn();
    std::fs::hard_link(&chat, dir.path().join("backup")).unwrap();
    let fork = try_fork(&library, "Rain", ForkKind::Branch, 299).unwrap();
    let messages = |name: &str| {
        std::fs::read(chat.with_file_name(format!("{name}.jsonl"))).unwrap().split(|c| *c == b'\n').count()
            - 1
    };
    assert_eq!(messages(&fork), 300);
    drop(library);
    // Somebody has played on: nothing is known of it, and nothing is made.
    let library = torn();
    let mut more = std::fs::read(&chat).unwrap();
    more.extend_from_slice(b"\n{\"mes\":\"on\"}");
    std::fs::write(&chat, more).unwrap();
    assert!(try_fork(&library, "Rain", ForkKind::Branch, 298).is_err());
    assert!(!chat.with_file_name("Rain at 298.jsonl").exists());
}

#[test]
fn rows_stay_what_they_were_while_others_change_the_chat_and_its_pack() {
    let fs = vault("\n", 3_000);
    drop(load(&fs));
    let before = rows(only(&load(&fs)).transcript());
    let library = load(&fs);
    let file = path("chats/Ana/Rain.jsonl");
    let mut bytes = fs.read(&file).unwrap().unwrap();
    bytes.splice(0..0, b"{\"chat_metadata\":{}}\n".iter().copied());
    fs.put(&file, &bytes);
    drop(load(&fs));
    assert_eq!(rows(only(&library).transcript()), before);
}

/// `gc` failed with "could not remove" when somebody else, a watcher or a page, had removed the same left-over a moment before.
#[test]
fn regression_the_cache_is_looked_after_by_several_at_once() {
    let fs = vault("\n", 3_000);
    let bytes = fs.read(&path("chats/Ana/Rain.jsonl")).unwrap().unwrap();
    let all =
        std::collections::HashSet::from([cache::file_of(&path("chats/Ana/Rain.jsonl")).name().to_owned()]);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    cache::forget_all_but(&*fs, &all).unwrap();
                }
            });
        }
        for n in 0..60 {
            let mut more = bytes.clone();
            more.extend_from_slice(format!("\n{{\"mes\":\"{n}\"}}").as_bytes());
            fs.put(&path("chats/Ana/Rain.jsonl"), &more);
            drop(load(&fs));
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
