//! When there is no engine, or one that hangs or dies: SillyTavern goes on, a fork is saved unbound with a note, and nothing is half made.

use forklore_testkit::unix::PermissionsExt as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use forklore_testkit::TestVault;
use forklore_testkit::tavern::{Setup, Tavern, VERSIONS};
use serde_json::json;

use super::{ana, assert_waits, assert_whole, next_operation, on_each};
use crate::FORKLORE;
use crate::disk::ChatFile;
use crate::kills::strace::{Strace, soaking};

/// A server whose plugin starts this program instead of the engine.
fn with_engine(version: &'static str, vault: &TestVault, program: &Path) -> Tavern {
    let env = vec![("FORKLORE_BIN".to_owned(), program.to_string_lossy().into_owned())];
    Tavern::start(version, FORKLORE, &vault.root(), Setup { env, ..Setup::default() })
}

/// The engine's process.
fn engine_pid(tavern: &Tavern) -> u32 {
    let pid = tavern.pid();
    tavern.until("the engine is a child of SillyTavern", || {
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        children.split_whitespace().find_map(|child| {
            let name = fs::read_to_string(format!("/proc/{child}/comm")).unwrap_or_default();
            (name.trim() == "forklore").then(|| child.parse().unwrap())
        })
    })
}

fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap();
    assert!(status.success());
}

/// A script in a folder that lives as long as the test.
fn script(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn without_an_engine_a_fork_waits_and_is_finished_when_it_is_back() {
    on_each("no engine", |version| {
        let vault = ana();
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("forklore");
        let mut tavern = with_engine(version, &vault, &program);
        let down = tavern.engine_is("down");
        assert!(down["engine"]["message"].as_str().unwrap().contains("forklore install"), "{down}");
        assert_eq!(tavern.engine().get("api/stories").code(), (503, "ENGINE_DOWN".to_owned()));

        let book = vault.read("worlds/z-AutoLB-Ana-Main.json");
        assert_eq!(tavern.fork(Some("Ana"), "Main", 10, "Main - Branch #1").ok(), json!({"ok": true}));
        let note = assert_waits(&vault, "Ana/Main - Branch #1", "ENGINE_DOWN");
        assert_eq!(note["book"], "z-AutoLB-Ana-Main");
        assert_eq!(vault.read("worlds/z-AutoLB-Ana-Main.json"), book);
        let slug = |chat: &str| ChatFile::at(&vault, chat).metadata()["integrity"].clone();
        assert_ne!(slug("Ana/Main - Branch #1"), slug("Ana/Main"));
        // Overwritten by force: what was there is kept aside.
        let old = vault.read("chats/Ana/Main - Branch #1.jsonl");
        let page = tavern.forked(&tavern.open(Some("Ana"), "Main"), "Main", 20);
        assert_eq!(tavern.save(Some("Ana"), "Main - Branch #1", &page, false).status, 400);
        tavern.save(Some("Ana"), "Main - Branch #1", &page, true).ok();
        assert_waits(&vault, "Ana/Main - Branch #1", "ENGINE_DOWN");
        let lost: Vec<_> = fs::read_dir(vault.root().join(".forklore/lost")).unwrap().collect();
        assert_eq!(fs::read(lost[0].as_ref().unwrap().path()).unwrap(), old);
        // Ordinary saves are ordinary.
        let page = tavern.open(Some("Ana"), "Main");
        tavern.save(Some("Ana"), "Main", &page, false).ok();
        assert_eq!(ChatFile::at(&vault, "Ana/Main").header, page[0]);
        assert!(tavern.is_alive());

        // The program is there again: the plugin finds it by itself.
        forklore_testkit::unix::symlink(FORKLORE, &program).unwrap();
        tavern.engine_is("running");
        let engine = tavern.engine();
        let entered = engine.query("api/enter", &[("chat", "Ana/Main - Branch #1")]).ok();
        assert_eq!((&entered["hold"], &entered["pending"]["code"]), (&json!(true), &json!("ENGINE_DOWN")));
        let report = engine.post("api/pending/finish", &json!({})).ok();
        assert_eq!(report["finished"], json!(["Ana/Main - Branch #1"]), "{report}");
        assert_whole(&vault, "Ana/Main - Branch #1", "Ana/Main", 20);

        // It dies, and is started again.
        signal(engine_pid(&tavern), "KILL");
        tavern.until("another engine", || {
            (tavern.plugin()["engine"]["restarts"].as_u64() > Some(0)).then_some(())
        });
        tavern.engine_is("running");
        let before = super::operations(&vault);
        tavern.fork(Some("Ana"), "Main", 10, "Main - Branch #2").ok();
        next_operation(&tavern, &vault, before);
        assert_whole(&vault, "Ana/Main - Branch #2", "Ana/Main", 10);

        hangs(&tavern, &vault);
        assert!(tavern.is_alive());

        // SillyTavern dies, and its engine with it.
        let engine = engine_pid(&tavern);
        tavern.restart();
        tavern.until("the old engine is gone", || {
            (!Path::new(&format!("/proc/{engine}")).exists()).then_some(())
        });
        tavern.engine_is("running");
    });
}

/// An engine that hangs keeps nobody waiting.
fn hangs(tavern: &Tavern, vault: &TestVault) {
    let before = books(vault);
    let engine = engine_pid(tavern);
    signal(engine, "STOP");
    // Saves that are no forks do not even notice.
    let page = tavern.open(Some("Ana"), "Main");
    assert_eq!(tavern.save(Some("Ana"), "Main", &page, false).ok(), json!({"ok": true}));
    assert_eq!(tavern.fork(Some("Ana"), "Main", 10, "Main - Branch #3").ok(), json!({"ok": true}));
    assert_waits(vault, "Ana/Main - Branch #3", "ENGINE_DOWN");
    // It wakes up, and hears what it was asked: too late, and so it leaves nothing behind.
    signal(engine, "CONT");
    let planned = tavern.engine().post("api/pending/finish", &json!({"dry_run": true})).ok();
    assert_eq!(planned["finished"], json!(["Ana/Main - Branch #3"]));
    tavern.until("nothing is left over", || {
        // Whoever asks for a change next settles what is left over.
        tavern.engine().post("api/gc", &json!({})).ok();
        let left = fs::read_dir(vault.root().join(".forklore/tx")).map_or(0, Iterator::count);
        (left == 0 && books(vault) == before).then_some(())
    });
    tavern.engine().post("api/pending/finish", &json!({})).ok();
    assert_whole(vault, "Ana/Main - Branch #3", "Ana/Main", 10);
}

fn books(vault: &TestVault) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(vault.root().join("worlds"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("z-AutoLB"))
        .collect();
    names.sort();
    names
}

/// An engine that said nothing was "starting" for ever; one of another version was taken; all of them had the same key.
#[test]
fn regression_what_is_no_engine_of_ours_is_not_taken_for_one() {
    on_each("strange engines", |version| {
        let (vault, dir) = (ana(), tempfile::tempdir().unwrap());
        let (mode, keys) = (dir.path().join("mode"), dir.path().join("keys"));
        fs::write(&mode, "wrong").unwrap();
        let text = format!(
            "head -n 1 >> '{}'\n[ \"$(cat '{}')\" = wrong ] && echo '{{\"url\": \"http://127.0.0.1:9/\", \"version\": \"0.0.0\"}}'\nexec sleep 300",
            keys.display(),
            mode.display()
        );
        let tavern = with_engine(version, &vault, &script(dir.path(), "forklore", &text));
        let says = |what: &str| {
            tavern.until(&format!("the plugin says {what:?}"), || {
                let engine = tavern.plugin()["engine"].clone();
                let said = engine["message"].as_str().is_some_and(|message| message.contains(what));
                (engine["state"] == "down" && said).then_some(())
            });
        };
        says("it is version 0.0.0");
        says("forklore install");
        let told = || fs::read_to_string(&keys).unwrap_or_default();
        tavern.until("it is started again", || (told().lines().count() >= 2).then_some(()));
        let (first, second) = {
            let told = told();
            let mut lines = told.lines();
            (lines.next().unwrap().to_owned(), lines.next().unwrap().to_owned())
        };
        assert!(first.contains("key") && first != second, "{first} {second}");
        fs::write(&mode, "silent").unwrap();
        says("did not say");
        assert_eq!(tavern.fork(Some("Ana"), "Main", 10, "Main - Branch #1").ok(), json!({"ok": true}));
        assert_waits(&vault, "Ana/Main - Branch #1", "ENGINE_DOWN");
    });
}

/// A deletion in SillyTavern during three seconds of work elsewhere never moved its book to the trash.
#[test]
fn regression_a_deletion_while_another_forklore_works_is_followed_later() {
    on_each("a deletion while busy", |version| {
        let vault = ana();
        let tavern = super::tavern(version, &vault);
        tavern.fork(Some("Ana"), "Main", 10, "Main - Branch #1").ok();
        next_operation(&tavern, &vault, 0);
        let book = ChatFile::at(&vault, "Ana/Main - Branch #1").book().to_owned();
        let book = vault.root().join(format!("worlds/{book}.json"));
        let lock = fs::File::options().write(true).open(vault.root().join(".forklore/lock")).unwrap();
        lock.lock().unwrap();
        let delete = json!({"chatfile": "Main - Branch #1.jsonl", "avatar_url": "Ana.png"});
        tavern.post("api/chats/delete", &delete).ok();
        tavern
            .until("the engine could not follow", || tavern.log().contains("not followed yet").then_some(()));
        assert!(book.exists());
        drop(lock);
        tavern.until("its book is in the trash", || (!book.exists()).then_some(()));
    });
}

/// The engine dies before the n-th call of a kind that any of its threads makes; the next one is undisturbed.
fn dying_engine(dir: &Path, strace: &Strace, call: &str, nth: usize) -> PathBuf {
    let program = &strace.0;
    let once = dir.join("once");
    let text = format!(
        "if [ -e '{once}' ]; then exec '{FORKLORE}' \"$@\"; fi\ntouch '{once}'\n\
         exec '{program}' -f -qq -o /dev/null -e trace={call} -e inject={call}:signal=KILL:when={nth} '{FORKLORE}' \"$@\"",
        once = once.display()
    );
    script(dir, "forklore", &text)
}

#[test]
fn killed_at_any_moment_of_a_fork_nothing_is_half_made() {
    let Some(strace) = Strace::find("an engine that is killed") else { return };
    // The first rename seals the intent, the second publishes the book, the third moves the intent to the log.
    let points: Vec<(&str, usize)> = if soaking() {
        let all = [("renameat2", 1..4), ("fsync", 1..9), ("openat2", 1..40), ("unlinkat", 1..3)];
        all.into_iter().flat_map(|(call, range)| range.map(move |nth| (call, nth))).collect()
    } else {
        vec![("renameat2", 1), ("renameat2", 2), ("fsync", 4), ("fsync", 6)]
    };
    on_each("an engine that is killed", |version| {
        let mut outcomes = Vec::new();
        // What the engine does is the same for all of them; two points are enough to see that the plugin does, too.
        let few = if soaking() || version == VERSIONS[0] { points.len() } else { 2 };
        for (call, nth) in &points[..few] {
            let vault = ana();
            let dir = tempfile::tempdir().unwrap();
            let mut tavern = with_engine(version, &vault, &dying_engine(dir.path(), &strace, call, *nth));
            tavern.engine_is("running");
            let point = format!("{version}, {call} {nth}");
            let parent = vault.read("worlds/z-AutoLB-Ana-Main.json");
            assert_eq!(
                tavern.fork(Some("Ana"), "Main", 10, "Main - Branch #1").ok(),
                json!({"ok": true}),
                "{point}"
            );
            assert!(tavern.is_alive(), "{point}: {}", tavern.log());
            assert_eq!(vault.read("worlds/z-AutoLB-Ana-Main.json"), parent, "{point}");
            // Another engine comes, and settles.
            tavern.until(&format!("{point}: an engine answers"), || {
                (tavern.engine().get("api/hello").status == 200).then_some(())
            });
            let file = ChatFile::at(&vault, "Ana/Main - Branch #1");
            let waits = file.metadata()["forklore"]["pending"].is_object();
            if waits {
                assert_waits(&vault, "Ana/Main - Branch #1", "ENGINE_DOWN");
                let report = tavern.engine().post("api/pending/finish", &json!({})).ok();
                assert_eq!(report["finished"], json!(["Ana/Main - Branch #1"]), "{point}: {report}");
            } else {
                // The book was there before SillyTavern wrote; what is left to do is done by whoever comes next.
                tavern.engine().post("api/gc", &json!({})).ok();
            }
            assert_whole(&vault, "Ana/Main - Branch #1", "Ana/Main", 10);
            let own = ChatFile::at(&vault, "Ana/Main - Branch #1").book().to_owned();
            let mut both = vec!["z-AutoLB-Ana-Main".to_owned(), own];
            both.sort();
            assert_eq!(books(&vault), both, "{point}: no book is left over");
            assert_eq!(
                vault.json(FORKLORE, &["check"])["findings"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter(|f| f["severity"] == "error")
                    .count(),
                0,
                "{point}"
            );
            let left = fs::read_dir(vault.root().join(".forklore/tx")).unwrap().count();
            assert_eq!(left, 0, "{point}");
            outcomes.push((point, waits));
        }
        println!("engine killed during a fork, and whether the fork had to wait: {outcomes:?}");
        let before = |wanted: bool| outcomes.iter().any(|(_, waits)| *waits == wanted);
        assert!(before(true), "some kills came before the answer: {outcomes:?}");
    });
}
