//! `watch`: what is recorded, and that nothing else changes by it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use forklore_fs::{RealFs, VaultPath, Vfs};
use forklore_testkit::TestVault;
use forklore_testkit::story::Story;
use forklore_vault::history::Timeline;
use serde_json::{Value, json};

use crate::FORKLORE;
use crate::set_up::small;

fn watch(vault: &TestVault) -> Vec<String> {
    let report = vault.json(FORKLORE, &["watch", "--once"]);
    let list = report["recorded"].as_array().unwrap_or_else(|| panic!("{report:#}"));
    list.iter().map(|file| file.as_str().unwrap().to_owned()).collect()
}

fn timeline(vault: &TestVault) -> Timeline {
    begun(vault).unwrap()
}

/// History, once there is one.
fn begun(vault: &TestVault) -> Option<Timeline> {
    let fs: Arc<dyn Vfs> = Arc::new(RealFs::new(&vault.root()).unwrap());
    Timeline::load(&fs).unwrap()
}

/// What history has as the last content of a file.
fn last(vault: &TestVault, file: &str) -> Option<Vec<u8>> {
    let timeline = begun(vault)?;
    let seen = timeline.track(&VaultPath::new(file).unwrap()).last()?;
    let content = timeline.seen[*seen].observation.content()?;
    let mut bytes = Vec::new();
    timeline.store().read_document(&content, &mut bytes).unwrap();
    Some(bytes)
}

/// Saves as SillyTavern does.
fn save(vault: &TestVault, file: &str, bytes: &[u8]) {
    let target = vault.root().join(file);
    let new = vault.root().join(format!("{file}.4711"));
    fs::write(&new, bytes).unwrap();
    fs::rename(new, target).unwrap();
}

fn facts(vault: &TestVault, chat: &str, at: usize) -> Vec<(i64, String)> {
    let shown = vault.json(FORKLORE, &["show", chat, "--at", &at.to_string()]);
    let entries = shown["book"]["entries"].as_array().unwrap_or_else(|| panic!("{shown:#}"));
    entries.iter().map(|e| (e["uid"].as_i64().unwrap(), e["content"].as_str().unwrap().to_owned())).collect()
}

#[test]
fn records_what_is_there_and_then_only_what_changes() {
    let vault = small();
    assert_eq!(watch(&vault), ["chats/Ana/Rain.jsonl", "worlds/Lore.json"]);
    assert_eq!(watch(&vault), [""; 0]);
    let text = vault.read("chats/Ana/Rain.jsonl");
    save(&vault, "chats/Ana/Rain.jsonl", &text);
    assert_eq!(watch(&vault), [""; 0], "the same bytes once more are nothing new");
    assert_eq!(last(&vault, "chats/Ana/Rain.jsonl"), Some(text));
    assert_eq!(last(&vault, "worlds/Lore.json"), Some(vault.read("worlds/Lore.json")));
}

#[test]
fn a_vault_that_was_seen_once_answers_as_before() {
    let (unseen, seen) = (TestVault::harbor(), TestVault::harbor());
    watch(&seen);
    let before = seen.snapshot();
    assert_eq!(seen.json(FORKLORE, &["check"]), unseen.json(FORKLORE, &["check"]));
    let tree = unseen.json(FORKLORE, &["tree"]);
    for chat in
        tree["stories"].as_array().unwrap().iter().flat_map(|story| story["chats"].as_array().unwrap())
    {
        let (name, messages) = (chat["chat"].as_str().unwrap(), chat["messages"].as_u64().unwrap());
        for at in [0, messages / 3, messages / 2, messages.saturating_sub(2)] {
            assert_eq!(facts(&seen, name, at as usize), facts(&unseen, name, at as usize), "{name} at {at}");
        }
    }
    assert_eq!(seen.snapshot(), before);
}

#[test]
fn an_edit_by_hand_belongs_to_the_message_at_which_it_was_made() {
    let vault = small();
    watch(&vault);
    let book = String::from_utf8(vault.read("worlds/Lore.json")).unwrap();
    save(&vault, "worlds/Lore.json", book.replace("It is cold.", "It is warm.").as_bytes());
    watch(&vault);
    let mut chat = vault.read("chats/Ana/Rain.jsonl");
    for text in ["four", "five"] {
        let line = json!({"name": "Ana", "is_user": false, "send_date": text, "mes": text, "extra": {}});
        chat.extend_from_slice(format!("\n{line}").as_bytes());
    }
    save(&vault, "chats/Ana/Rain.jsonl", &chat);
    watch(&vault);
    let book = String::from_utf8(vault.read("worlds/Lore.json")).unwrap();
    save(&vault, "worlds/Lore.json", book.replace("It is wet.", "It is dry.").as_bytes());
    watch(&vault);
    assert_eq!(facts(&vault, "Ana/Rain", 5), [(0, "It is warm.".to_owned()), (1, "It is dry.".to_owned())]);
    for at in [3, 4] {
        assert_eq!(
            facts(&vault, "Ana/Rain", at),
            [(0, "It is warm.".to_owned()), (1, "It is wet.".to_owned())]
        );
    }
    let shown = vault.json(FORKLORE, &["show", "Ana/Rain", "--at", "4"]);
    assert_eq!(shown["book"]["source"], json!({"kind": "history", "message": 4, "distance": 0}));
    // A fork made there has exactly that, and nothing of it is inexact.
    let fork = vault.json(FORKLORE, &["branch", "Ana/Rain", "--at", "4", "--name", "Dry", "--copy-book"]);
    assert_eq!(fork["book"]["source"]["kind"], "history", "{fork:#}");
    assert_eq!(facts(&vault, "Ana/Dry", 4), [(0, "It is warm.".to_owned()), (1, "It is wet.".to_owned())]);
}

/// Nothing tells how a book was before Forklore first saw it. But a fork from there holds what `show` shows there, and not today's book.
#[test]
fn regression_a_fork_from_before_the_first_look_holds_what_is_shown() {
    let vault = small();
    watch(&vault);
    let book = String::from_utf8(vault.read("worlds/Lore.json")).unwrap();
    save(&vault, "worlds/Lore.json", book.replace("It is cold.", "It is gone.").as_bytes());
    watch(&vault);
    let shown = facts(&vault, "Ana/Rain", 1);
    assert_eq!(shown, [(0, "It is cold.".to_owned()), (1, "It is wet.".to_owned())]);
    vault.json(FORKLORE, &["branch", "Ana/Rain", "--at", "1", "--name", "Early", "--copy-book"]);
    assert_eq!(facts(&vault, "Ana/Early", 1), shown);
    // Nor does it hold a switch that was turned since.
    let vault = small();
    watch(&vault);
    let mut book: Value = serde_json::from_slice(&vault.read("worlds/Lore.json")).unwrap();
    book["entries"]["0"]["disable"] = true.into();
    save(&vault, "worlds/Lore.json", book.to_string().as_bytes());
    watch(&vault);
    let switches = |chat: &str| -> Vec<Value> {
        let shown = vault.json(FORKLORE, &["show", chat, "--at", "1"]);
        shown["book"]["entries"].as_array().unwrap().iter().map(|entry| entry["disable"].clone()).collect()
    };
    assert_eq!(switches("Ana/Rain"), [false, false]);
    vault.json(FORKLORE, &["branch", "Ana/Rain", "--at", "1", "--name", "Early", "--copy-book"]);
    assert_eq!(switches("Ana/Early"), [false, false]);
}

#[test]
fn a_chat_that_was_renamed_keeps_its_past() {
    let vault = small();
    watch(&vault);
    let book = String::from_utf8(vault.read("worlds/Lore.json")).unwrap();
    let mut chat = vault.read("chats/Ana/Rain.jsonl");
    chat.extend_from_slice(
        b"\n{\"name\":\"Ana\",\"is_user\":false,\"send_date\":\"x\",\"mes\":\"four\",\"extra\":{}}",
    );
    save(&vault, "chats/Ana/Rain.jsonl", &chat);
    watch(&vault);
    save(&vault, "worlds/Lore.json", book.replace("It is wet.", "It is dry.").as_bytes());
    watch(&vault);
    fs::rename(vault.root().join("chats/Ana/Rain.jsonl"), vault.root().join("chats/Ana/Sun.jsonl")).unwrap();
    watch(&vault);
    assert_eq!(facts(&vault, "Ana/Sun", 3)[1].1, "It is wet.");
    assert_eq!(facts(&vault, "Ana/Sun", 4)[1].1, "It is dry.");
}

#[test]
fn a_file_that_is_being_written_is_left_until_it_is_whole() {
    let vault = small();
    watch(&vault);
    let book = String::from_utf8(vault.read("worlds/Lore.json")).unwrap().replace("cold", "warm");
    vault.write("worlds/Lore.json", &book.as_bytes()[..book.len() / 2]);
    assert_eq!(watch(&vault), [""; 0]);
    vault.write("worlds/Lore.json", book.as_bytes());
    assert_eq!(watch(&vault), ["worlds/Lore.json"]);
    assert_eq!(timeline(&vault).track(&VaultPath::new("worlds/Lore.json").unwrap()).len(), 2);
}

#[test]
fn a_chat_that_is_deleted_and_made_anew_is_another_one() {
    let vault = small();
    watch(&vault);
    let text = vault.read("chats/Ana/Rain.jsonl");
    fs::remove_file(vault.root().join("chats/Ana/Rain.jsonl")).unwrap();
    assert_eq!(watch(&vault), ["chats/Ana/Rain.jsonl"]);
    assert_eq!(last(&vault, "chats/Ana/Rain.jsonl"), None);
    save(&vault, "chats/Ana/Rain.jsonl", &text);
    assert_eq!(watch(&vault), ["chats/Ana/Rain.jsonl"]);
    assert_eq!(last(&vault, "chats/Ana/Rain.jsonl"), Some(text));
}

#[test]
fn an_operation_is_recorded_without_a_watcher_unless_that_is_switched_off() {
    let vault = small();
    let made = vault.json(FORKLORE, &["branch", "Ana/Rain", "--at", "2", "--name", "Snow"]);
    let id = made["operation"].as_str().unwrap();
    let by = |file: &str| {
        let timeline = timeline(&vault);
        let seen = timeline.track(&VaultPath::new(file).unwrap()).last().copied()?;
        serde_json::to_value(&timeline.seen[seen].observation.by).ok()
    };
    assert_eq!(by("chats/Ana/Snow.jsonl"), Some(json!({"operation": id})));
    assert_eq!(by("chats/Ana/Rain.jsonl"), Some(json!({"operation": id})));
    assert_eq!(by("worlds/Lore.json"), Some(json!({"operation": id})));

    let vault = small();
    vault.json(FORKLORE, &["config", "history.operations", "false"]);
    vault.json(FORKLORE, &["branch", "Ana/Rain", "--at", "2", "--name", "Snow"]);
    assert!(!vault.root().join(".forklore/history").exists());
}

#[test]
fn history_can_be_kept_elsewhere() {
    let (vault, elsewhere) = (small(), tempfile::tempdir().unwrap());
    let dir = elsewhere.path().join("past");
    vault.json(FORKLORE, &["config", "history.dir", dir.to_str().unwrap()]);
    assert_eq!(watch(&vault).len(), 2);
    assert!(dir.join("packs").is_dir());
    assert!(!vault.root().join(".forklore/history").exists());
    assert_eq!(watch(&vault), [""; 0]);
}

/// Ends a process however the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _over = self.0.kill();
        let _over = self.0.wait();
    }
}

fn peak_memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").trim().parse().unwrap_or(0) * 1024
}

/// A writer saves a 20 MB chat and three books as fast as SillyTavern can, while others fork and clean up. Whenever it pauses, the
/// watcher has the last state of everything.
#[test]
fn under_fire_no_state_is_lost_at_a_quiet_point() {
    let seconds = std::env::var("FORKLORE_SOAK").map_or(9, |_| 240);
    let vault = TestVault::new();
    Story::new("Ben", "side").until(6).save(&vault);
    let mut chat =
        json!({"chat_metadata": {"integrity": "big", "world_info": "A"}, "user_name": "u"}).to_string();
    let words = "The rain went on and nobody in the harbour spoke of the boat. ".repeat(30);
    let message = |n: usize| {
        format!(
            "\n{}",
            json!({"name": "Ana", "is_user": n % 2 == 1, "send_date": n, "mes": format!("{n} {words}")})
        )
    };
    let mut messages = 0;
    while chat.len() < 20_000_000 {
        chat.push_str(&message(messages));
        messages += 1;
    }
    vault.write("chats/Ana/long.jsonl", chat.as_bytes());
    let book = |name: &str, n: usize| {
        let entries: serde_json::Map<String, Value> = (0..200)
            .map(|uid| (uid.to_string(), json!({"uid": uid, "comment": format!("fact {uid}"), "content": format!("{} {words}", if uid == n % 200 { n } else { 0 })})))
            .collect();
        serde_json::to_vec_pretty(&json!({"entries": entries, "name": name})).unwrap()
    };
    for name in ["A", "B", "C"] {
        vault.write(&format!("worlds/{name}.json"), &book(name, 0));
    }
    let watcher = vault
        .command(FORKLORE)
        .args(["--json", "watch", "--every", "1"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut watcher = Running(watcher);
    // Its output is read, so that it never waits for us.
    let out = BufReader::new(watcher.0.stdout.take().unwrap());
    let told = Arc::new(AtomicUsize::new(0));
    let listener = std::thread::spawn({
        let told = told.clone();
        move || {
            for _ in out.lines().map_while(Result::ok) {
                told.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut n = 0;
            while !stop.load(Ordering::Relaxed) {
                n += 1;
                let name = format!("fork {n}");
                for args in [vec!["checkpoint", "Ben/side", "--at", "3", "--name", &name], vec!["gc"]] {
                    let run = vault.run(FORKLORE, &args);
                    assert!(run.code == Some(0) || run.stderr.contains("Another Forklore"), "{run}");
                }
                std::thread::sleep(Duration::from_millis(300));
            }
        });
        let start = Instant::now();
        let mut n = 0;
        for round in 0..3 {
            while start.elapsed().as_secs() < seconds * (round + 1) / 3 {
                n += 1;
                chat.push_str(&message(messages));
                messages += 1;
                save(&vault, "chats/Ana/long.jsonl", chat.as_bytes());
                let name = ["A", "B", "C"][n % 3];
                save(&vault, &format!("worlds/{name}.json"), &book(name, n));
            }
            // A quiet point.
            let files = ["chats/Ana/long.jsonl", "worlds/A.json", "worlds/B.json", "worlds/C.json"];
            for file in files {
                let now = vault.read(file);
                let waited = Instant::now();
                while last(&vault, file).as_ref() != Some(&now) {
                    assert!(waited.elapsed().as_secs() < 120, "{file} was not recorded in round {round}");
                    std::thread::sleep(Duration::from_millis(200));
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(watcher.0.try_wait().unwrap(), None, "the watcher has ended");
    let memory = peak_memory(watcher.0.id());
    assert!(memory < 256_000_000, "{memory} bytes of memory");
    drop(watcher);
    listener.join().unwrap();
    assert!(told.load(Ordering::Relaxed) > 3);
    let checked = vault.run(FORKLORE, &["check"]);
    assert_eq!(checked.code, Some(0), "{checked}");
}

#[test]
fn two_watchers_record_nothing_twice() {
    let vault = small();
    let start = |vault: &TestVault| {
        Running(
            vault.command(FORKLORE).args(["watch", "--every", "1"]).stdout(Stdio::null()).spawn().unwrap(),
        )
    };
    let watchers = [start(&vault), start(&vault)];
    let book = String::from_utf8(vault.read("worlds/Lore.json")).unwrap();
    for n in 0..12 {
        let text = book.replace("It is cold.", &format!("It is {n} degrees."));
        save(&vault, "worlds/Lore.json", text.as_bytes());
        let waited = Instant::now();
        while last(&vault, "worlds/Lore.json").as_deref() != Some(text.as_bytes()) {
            assert!(waited.elapsed().as_secs() < 60, "save {n} was not recorded");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    drop(watchers);
    let timeline = timeline(&vault);
    let contents: Vec<_> = timeline
        .track(&VaultPath::new("worlds/Lore.json").unwrap())
        .iter()
        .map(|seen| timeline.seen[*seen].observation.content().unwrap())
        .collect();
    assert!(contents.len() >= 12, "{}", contents.len());
    assert!(contents.windows(2).all(|pair| pair[0] != pair[1]), "a save was recorded twice");
    assert_eq!(timeline.track(&VaultPath::new("chats/Ana/Rain.jsonl").unwrap()).len(), 1);
}

#[test]
fn a_newer_history_is_refused_with_a_sentence() {
    let vault = small();
    watch(&vault);
    let fs: Arc<dyn Vfs> = Arc::new(RealFs::new(&vault.root()).unwrap());
    let mut store = forklore_vault::history::store(&fs).unwrap();
    let mut writer = store.writer().unwrap();
    writer.record(br#"{"v":99,"file":"x","something":"new"}"#);
    writer.commit().unwrap();
    let refused = vault.json(FORKLORE, &["watch", "--once"]);
    assert_eq!(refused["error"]["code"], "HISTORY_NEWER", "{refused:#}");
}

/// A chat and its lorebook are looked at together, also where they are too large to be recorded at once. They were not, and what was in the
/// lorebook all the time was said to belong to the last message.
#[test]
fn regression_the_first_look_is_one_look_however_large_the_files_are() {
    let long = "word ".repeat(7_500_000);
    let mut texts = vec!["hello", long.as_str()];
    texts.resize(20, "more");
    let vault = TestVault::new()
        .chat("Ana", "main", &json!({"integrity": "a", "world_info": "Notes"}), &texts)
        .book("Notes", &[("Town", "Rain"), ("Sea", &long)]);
    let titles = || crate::titles(&vault.json(FORKLORE, &["show", "Ana/main", "--at", "5"]));
    let before = titles();
    assert_eq!(before, ["Town", "Sea"]);
    watch(&vault);
    assert_eq!(titles(), before);
}
