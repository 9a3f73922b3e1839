//! SillyTavern saves a chat all the time while Forklore makes forks of it and takes them back. None of its saves may get lost, and
//! the forks must be whole. Its part is played by the package that it saves with; see `sillytavern.cjs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use forklore_testkit::TestVault;
use serde_json::Value;

use super::scenario::SOLO;
use super::strace::{Strace, skipped, soaking};
use crate::FORKLORE;
use crate::disk::{ChatFile, book, entries};

const CHAT: &str = "chats/Ana/main.jsonl";

/// The package `write-file-atomic`, where `cargo xtask test` puts it, and a node that can run it.
pub(super) fn package(test: &str) -> Option<PathBuf> {
    let modules = std::env::var_os("FORKLORE_NODE_MODULES").map(PathBuf::from);
    let modules =
        modules.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/node_modules"));
    let package = modules.join("write-file-atomic");
    let node = Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success());
    if node && package.exists() {
        return Some(package);
    }
    assert!(std::env::var_os("FORKLORE_NODE_MODULES").is_none(), "FORKLORE_NODE_MODULES does not work");
    skipped(
        test,
        "node or its package write-file-atomic is missing; `cargo xtask test` installs the package",
    );
    None
}

/// Saves until there is a file `stop`, or until a save does not come back within so many milliseconds.
pub(super) fn sillytavern(package: &Path, vault: &TestVault, patience: u64) -> Child {
    Command::new("node")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/kills/sillytavern.cjs"))
        .arg(package)
        .arg(vault.root().join(CHAT))
        .arg(stop(vault))
        .arg(patience.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .inspect(|_| {
            // What it has in memory must be what was there before anybody linked anything.
            while !fs::read_to_string(vault.root().join(CHAT)).unwrap().contains("\"save ") {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        })
        .unwrap()
}

pub(super) fn stop(vault: &TestVault) -> PathBuf {
    vault.root().with_extension("stop")
}

pub(super) fn told(child: Child) -> Value {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn no_save_of_sillytavern_is_lost_in_a_race() {
    let test = "no_save_of_sillytavern_is_lost_in_a_race";
    let Some(package) = package(test) else { return };
    let strace = Strace::find("the part of it in which Forklore is slowed down and killed");
    let vault = SOLO.vault();
    let mut other = sillytavern(&package, &vault, 30_000);
    let start = Instant::now();
    let log = vault.root().with_extension("strace");
    let log_name = log.to_string_lossy().into_owned();
    let (mut made, mut undone, mut refused, mut pending, mut killed, mut gave_way) = (0, 0, 0, 0, 0, 0);
    for n in 0_usize.. {
        // So long, and on a machine that has much else to do until something has happened.
        let happened = made > 5 && undone > 5 && (strace.is_none() || (killed > 2 && gave_way > 2));
        let seconds = start.elapsed().as_secs();
        if seconds >= if soaking() { 60 } else { 5 } && (happened || seconds > 180) {
            // The last one may have been killed in the middle of an exchange.
            let tree = vault.run(FORKLORE, &["tree"]);
            assert_eq!(tree.code, Some(0), "{tree}");
            fs::write(stop(&vault), "").unwrap();
        }
        if stop(&vault).exists() || other.try_wait().unwrap().is_some() {
            break;
        }
        let name = format!("Fork {n}");
        let fork = ["checkpoint", "Ana/main", "--at", "5", "--name", &name, "--json"];
        let args: &[&str] = if n % 2 == 0 { &fork } else { &["undo", "--json"] };
        // The exchange is the fifth rename of a fork, and the third of an undo.
        let late =
            ["inject=renameat2:delay_enter=100000:when=5", "inject=renameat2:delay_enter=100000:when=3"]
                [n % 2];
        let run = match (&strace, n / 2 % 3) {
            // The exchange comes late, so that a save slips in after the last look.
            (Some(strace), 1) => {
                let run = strace.run(&vault, &["-o", &log_name, "-e", "trace=renameat2", "-e", late], args);
                let swaps = fs::read_to_string(&log).unwrap().matches("RENAME_EXCHANGE").count();
                gave_way += swaps.saturating_sub(1);
                run
            }
            // And it is killed: before the exchange, or after it.
            (Some(strace), 2) => {
                let kill = match n / 6 % 3 {
                    0 => format!("inject=renameat2:signal=KILL:when={}", 1 + n / 18 % 8),
                    1 => format!("inject=fsync:signal=KILL:when={}", 5 + n / 18 % 9),
                    _ => "inject=unlinkat:signal=KILL:when=1".to_owned(),
                };
                let slow = if n / 6 % 3 == 0 { vec![] } else { vec!["-e", late] };
                strace.run(&vault, &[&slow[..], &["-e", &kill]].concat(), args)
            }
            _ => vault.run(FORKLORE, args),
        };
        assert!(!run.stderr.contains("panicked"), "{run}");
        let Some(code) = run.code else {
            killed += 1;
            continue;
        };
        let document: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run}"));
        match code {
            0 if n % 2 == 0 => made += 1,
            0 => undone += 1,
            _ => {
                let why = document["error"]["code"].as_str().unwrap_or_default();
                assert!(
                    ["CHAT_CHANGED", "BOOK_CHANGED", "MOVED_ON", "NOTHING_TO_UNDO"].contains(&why),
                    "{document:#}"
                );
                refused += 1;
            }
        }
        pending += usize::from(document.to_string().contains("PENDING"));
    }
    let told = told(other);
    println!(
        "SillyTavern: {told}\nForklore: {made} forks, {undone} taken back, {refused} refused, {pending} links late, {killed} \
         killed, {gave_way} exchanges more than needed"
    );
    assert_eq!((&told["lost"], &told["torn"]), (&0.into(), &0.into()), "{told}");
    assert!(told["saves"].as_u64().unwrap() > 20 && told["links"].as_u64().unwrap() > 0, "{told}");
    assert!(made > 5 && undone > 5, "{made} {undone}");
    assert!(strace.is_none() || (killed > 0 && gave_way > 0), "{killed} {gave_way}");

    // It is over: everything is in its place.
    let tree = vault.run(FORKLORE, &["tree"]);
    assert_eq!(tree.code, Some(0), "{tree}");
    let left =
        |folder: &str| fs::read_dir(vault.root().join(".forklore").join(folder)).map_or(0, Iterator::count);
    assert_eq!(left("tx"), 0);
    must_be_whole(&vault, &told);
}

/// The parent is as SillyTavern saved it last, every fork has its six messages and a book of its own, and nothing is left over.
pub(super) fn must_be_whole(vault: &TestVault, told: &Value) {
    let parent = ChatFile::at(vault, "Ana/main");
    assert_eq!(parent.lines.len() + 1, usize::try_from(told["last"].as_u64().unwrap()).unwrap());
    let mut books = vec![parent.book().to_owned()];
    let forks = fs::read_dir(vault.root().join("chats/Ana")).unwrap().map(|entry| entry.unwrap().path());
    for fork in forks.filter(|path| path.file_stem().unwrap() != "main") {
        assert_eq!(fork.extension().unwrap(), "jsonl", "{fork:?} lies about");
        let name = fork.file_stem().unwrap().to_str().unwrap();
        let fork = ChatFile::at(vault, &format!("Ana/{name}"));
        let says = |lines: &[Vec<u8>]| -> Vec<Value> {
            lines.iter().map(|line| serde_json::from_slice::<Value>(line).unwrap()["mes"].clone()).collect()
        };
        assert_eq!(says(&fork.lines), says(&parent.lines[..6]), "{name}");
        assert!(entries(&book(vault, fork.book())).contains_key("character-Ana"), "{name}");
        assert!(!books.contains(&fork.book().to_owned()), "{name} has another's book");
        books.push(fork.book().to_owned());
    }
    let check = vault.json(FORKLORE, &["check"]);
    let errors: Vec<_> =
        check["findings"].as_array().unwrap().iter().filter(|f| f["severity"] == "error").collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let check = check.to_string();
    assert!(!check.contains("LINK_DANGLING") && !check.contains("BOOK_ORPHANED"), "{check}");
}

/// A program that edits the chat as most would: read, change, write beside it, rename. The race must notice.
#[test]
fn the_race_notices_a_writer_that_loses_saves() {
    let Some(package) = package("the_race_notices_a_writer_that_loses_saves") else { return };
    let vault = SOLO.vault();
    let mut other = sillytavern(&package, &vault, 300);
    let (chat, fresh) = (vault.root().join(CHAT), vault.root().join("fresh"));
    while other.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&chat).unwrap();
        let linked = text.replacen(r#""extra":{}"#, r#""extra":{"bookmark_link":"Fork"}"#, 1);
        fs::write(&fresh, linked).unwrap();
        fs::rename(&fresh, &chat).unwrap();
    }
    let told = told(other);
    println!("a naive writer: {told}");
    assert_eq!(told["lost"], 1, "{told}");
}
