//! `watch` and `prune`, killed before every system call that changes something: history is whole afterwards, nothing that it had is
//! lost, and going on comes to the same as if nobody had been killed.

use forklore_testkit::TestVault;
use serde_json::{Value, json};

use super::strace::{Call, Strace, soaking};
use super::{chosen, killed_before};
use crate::FORKLORE;

const CHAT: &str = "chats/Ana/Rain.jsonl";
const BOOK: &str = "worlds/Lore.json";
const MESSAGES: usize = 5;

/// A story that was watched for a while. The last save of the chat and of the book is not seen yet.
fn watched() -> TestVault {
    let vault = TestVault::new();
    for n in 1..=MESSAGES {
        let metadata = json!({"integrity": "a", "world_info": "Lore", "variables": {"n": n}});
        let mut lines = vec![json!({"chat_metadata": metadata}).to_string()];
        // The last message is long at first, and is edited down once the story goes on.
        let text = |m: usize| if m + 1 == n { noise(n) } else { format!("message {m}") };
        let message =
            |m: usize| json!({"name": "Ana", "send_date": format!("{m}"), "mes": text(m)}).to_string();
        lines.extend((0..n).map(message));
        let entry = |uid: usize| json!({"uid": uid, "comment": format!("Entry {uid}"), "content": format!("As of message {n}: {uid}"), "key": []});
        let entries: serde_json::Map<String, Value> =
            (0..n).map(|uid| (uid.to_string(), entry(uid))).collect();
        vault.write(CHAT, lines.join("\n").as_bytes());
        vault.write(BOOK, json!({ "entries": entries }).to_string().as_bytes());
        if n < MESSAGES {
            done(&vault, &["watch", "--once"]);
        }
    }
    vault
}

/// A text that nothing makes shorter.
fn noise(seed: usize) -> String {
    let mut state = seed as u64 + 1;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{:x} ", state >> 33)
    };
    (0..4_000).map(|_| word()).collect()
}

fn done(vault: &TestVault, args: &[&str]) -> Value {
    let answer = vault.json(FORKLORE, args);
    assert!(answer["error"].is_null(), "{args:?}: {answer:#}");
    answer
}

/// What history tells of every message: the lorebook and the variables of then.
fn story(vault: &TestVault) -> Vec<Value> {
    let at = |n: usize| {
        let shown = done(vault, &["show", "Rain", "--at", &n.to_string()]);
        json!([shown["book"]["entries"], shown["metadata"]["variables"]])
    };
    (0..MESSAGES).map(at).collect()
}

/// How many saves history has seen; all that it has can be read.
fn saves(vault: &TestVault) -> Result<usize, String> {
    let checked = vault.json(FORKLORE, &["check", "--deep"]);
    if checked["ok"] != true {
        return Err(format!("{checked:#}"));
    }
    let told = vault.json(FORKLORE, &["history", "Rain", "--all"]);
    told["lines"].as_array().map(Vec::len).ok_or_else(|| format!("{told:#}"))
}

struct Cut {
    name: &'static str,
    prepare: fn() -> TestVault,
    args: &'static [&'static str],
}

fn forgotten() -> TestVault {
    let vault = watched();
    done(&vault, &["watch", "--once"]);
    let report = done(&vault, &["forget", "--keep-last", "1", "--keep-daily", "0", "--keep-weekly", "0"]);
    assert!(report["forgotten"].as_u64().is_some_and(|n| n > 2), "{report:#}");
    vault
}

fn kill_everywhere(strace: &Strace, cut: &Cut) {
    let reference = (cut.prepare)();
    done(&reference, cut.args);
    let (whole, all) = (story(&reference), saves(&reference).unwrap());
    let vault = (cut.prepare)();
    let (first, few) = (saves(&vault).unwrap(), story(&vault));
    let calls = strace.census(&vault, &[], cut.args);
    let points: Vec<&Call> = chosen(&calls, if soaking() { 1 } else { 12 });
    let changing = points.iter().filter(|call| call.changes()).count();
    let (mut before, mut after) = (0, 0);
    for call in &points {
        let at = format!("{}: {} {}", cut.name, call.name, call.nth);
        let vault = (cut.prepare)();
        let run = strace.run(&vault, &["-e", &killed_before(call)], cut.args);
        assert_eq!(run.code, None, "{at}: not killed: {run}");
        let now = saves(&vault).unwrap_or_else(|why| panic!("{at}: {why}"));
        assert!((first..=all).contains(&now), "{at}: {now} saves");
        let told = story(&vault);
        // With nothing more than before seen, what is told is what was told.
        assert!(now != first || told == few || told == whole, "{at}: {told:#?}");
        before += usize::from(now == first);
        after += usize::from(now == all);
        // Somebody goes on.
        done(&vault, cut.args);
        assert_eq!(saves(&vault).unwrap_or_else(|why| panic!("{at}, then again: {why}")), all, "{at}");
        assert!(story(&vault) == whole, "{at}, then again: {:#?}", story(&vault));
        let packs = std::fs::read_dir(vault.root().join(".forklore/history/packs")).unwrap();
        let left: Vec<_> = packs.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        assert!(left.iter().all(|name| name.ends_with(".pack")), "{at}: {left:?}");
    }
    println!("{}: killed at {} points, {changing} of which change something", cut.name, points.len());
    assert!(changing >= 4 && before > 0 && after > 0, "{}: {changing} {before} {after}", cut.name);
}

#[test]
fn a_killed_watch_loses_nothing() {
    let Some(strace) = Strace::find("a_killed_watch_loses_nothing") else { return };
    let args = &["watch", "--once", "--no-backups"];
    kill_everywhere(&strace, &Cut { name: "watch", prepare: watched, args });
}

#[test]
fn a_killed_prune_loses_nothing() {
    let Some(strace) = Strace::find("a_killed_prune_loses_nothing") else { return };
    kill_everywhere(&strace, &Cut { name: "prune", prepare: forgotten, args: &["prune"] });
}

/// What is forgotten and pruned takes room, and nothing else goes with it.
#[test]
fn what_is_forgotten_is_gone_and_the_state_at_every_message_is_not() {
    let vault = watched();
    done(&vault, &["watch", "--once"]);
    let size = || {
        let packs = std::fs::read_dir(vault.root().join(".forklore/history/packs")).unwrap();
        packs.map(|file| file.unwrap().metadata().unwrap().len()).sum::<u64>()
    };
    let (told, history, large) = (story(&vault), done(&vault, &["history", "Rain", "--all"]), size());
    let files = vault.snapshot();
    let rules = ["--keep-last", "1", "--keep-daily", "0", "--keep-weekly", "0"];
    let planned = done(&vault, &[&["forget", "--dry-run"][..], &rules].concat());
    assert_eq!(size(), large, "a dry run changes nothing");
    let report = done(&vault, &[&["forget"][..], &rules].concat());
    assert_eq!(report["forgotten"], planned["forgotten"]);
    done(&vault, &["prune"]);
    assert!(size() < large, "{} of {large} bytes are left", size());
    assert!(story(&vault) == told);
    // What exactly a save did to the messages needs its content; that there was one, and when, does not.
    let lines = |history: &Value| {
        history["lines"].as_array().unwrap().iter().map(|line| line["at"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(lines(&done(&vault, &["history", "Rain", "--all"])), lines(&history));
    assert_eq!(done(&vault, &["check", "--deep"])["ok"], true);
    assert!(vault.snapshot() == files);
}
