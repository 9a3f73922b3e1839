//! What a hostile tester found: each of these lost something, or let one line's story into another's, once.

use std::fs;

use forklore_testkit::TestVault;
use serde_json::{Value, json};

use crate::FORKLORE;
use crate::set_up::did;

/// A main chat with an extension's book.
fn vault() -> TestVault {
    let metadata = json!({"integrity": "a", "world_info": "B"});
    let registry = ("_registry_character", "[Registry: character]");
    TestVault::new()
        .chat("Ana", "main", &metadata, &["hello", "one", "two", "three"])
        .book("B", &[registry, ("character-Ana", "A girl")])
}

/// Refused with this code, and nothing changed.
fn refused(vault: &TestVault, args: &[&str], code: &str) {
    let before = vault.snapshot();
    let answer = vault.json(FORKLORE, args);
    assert_eq!(answer["error"]["code"], code, "{args:?}: {answer:#}");
    assert!(vault.snapshot() == before, "{args:?} changed something");
}

fn objects(vault: &TestVault) -> Vec<std::path::PathBuf> {
    fs::read_dir(vault.root().join(".forklore/objects")).unwrap().map(|e| e.unwrap().path()).collect()
}

#[test]
fn regression_a_damaged_copy_in_the_trash_does_not_swallow_the_file() {
    let vault = vault();
    let _fork = did(&vault, &["branch", "Ana/main", "--name", "fork"]);
    let before = vault.snapshot();
    let _deleted = did(&vault, &["delete", "Ana/fork"]);
    let _undone = did(&vault, &["undo"]);
    assert!(!objects(&vault).is_empty());
    for object in objects(&vault) {
        fs::write(object, b"rotten").unwrap();
    }
    // The same content goes again, to where the rotten copies lie.
    let _deleted = did(&vault, &["delete", "Ana/fork"]);
    let _undone = did(&vault, &["undo"]);
    assert!(vault.snapshot() == before);
}

#[test]
fn regression_a_damaged_copy_is_not_brought_back_as_if_it_were_whole() {
    let vault = vault();
    let _fork = did(&vault, &["branch", "Ana/main", "--name", "fork"]);
    let _deleted = did(&vault, &["delete", "Ana/fork"]);
    for object in objects(&vault) {
        let bytes = fs::read(&object).unwrap();
        fs::write(object, &bytes[..bytes.len() / 2]).unwrap();
    }
    refused(&vault, &["undo"], "OBJECT_DAMAGED");
    refused(&vault, &["trash", "restore", "chats/Ana/fork.jsonl"], "OBJECT_DAMAGED");
}

#[test]
fn regression_undo_does_not_take_a_book_that_somebody_uses() {
    // The fork goes by another name now.
    let vault = vault();
    let _fork = did(&vault, &["branch", "Ana/main", "--name", "fork"]);
    let chats = vault.root().join("chats/Ana");
    fs::rename(chats.join("fork.jsonl"), chats.join("renamed.jsonl")).unwrap();
    refused(&vault, &["undo"], "MOVED_ON");

    // SillyTavern has forked the fork, book and all.
    let vault = self::vault();
    let made = did(&vault, &["branch", "Ana/main", "--name", "fork"]);
    let book = made["book"]["name"].as_str().unwrap();
    let native = json!({"integrity": "n", "world_info": book, "main_chat": "fork"});
    let vault = vault.chat("Ana", "fork - Branch #1", &native, &["hello", "one", "two", "three"]);
    refused(&vault, &["undo"], "MOVED_ON");
}

#[test]
fn regression_healing_never_binds_a_chat_to_another_forks_book() {
    let vault = vault();
    let made = did(&vault, &["branch", "Ana/main", "--name", "F"]);
    let book = made["book"]["name"].as_str().unwrap().to_owned();
    // The user renames the book and the chat, and a new fork takes both names.
    let worlds = vault.root().join("worlds");
    fs::rename(worlds.join(format!("{book}.json")), worlds.join("My nice book.json")).unwrap();
    let chats = vault.root().join("chats/Ana");
    let text = fs::read_to_string(chats.join("F.jsonl")).unwrap();
    let text = text.replacen(&format!("\"world_info\":\"{book}\""), "\"world_info\":\"My nice book\"", 1);
    fs::remove_file(chats.join("F.jsonl")).unwrap();
    fs::write(chats.join("Old F.jsonl"), text).unwrap();
    let again = did(&vault, &["branch", "Ana/main", "--name", "F"]);
    assert_eq!(again["book"]["name"], book);
    let _healed = did(&vault, &["heal", "--yes"]);
    let old = String::from_utf8(vault.read("chats/Ana/Old F.jsonl")).unwrap();
    assert!(old.contains("\"world_info\":\"My nice book\""), "{}", &old[..400]);
    assert_eq!(did(&vault, &["check"])["ok"], true);
}

#[test]
fn regression_a_checkpoint_that_is_gone_is_not_linked_to_again() {
    let vault = vault();
    let _one = did(&vault, &["checkpoint", "Ana/main", "--at", "2", "--name", "one"]);
    let first = vault.json(FORKLORE, &["log"])["operations"][0]["id"].as_str().unwrap().to_owned();
    let _two = did(&vault, &["checkpoint", "Ana/main", "--at", "2", "--name", "two"]);
    let _undone = did(&vault, &["undo", &first]);
    let _undone = did(&vault, &["undo"]);
    assert!(!String::from_utf8(vault.read("chats/Ana/main.jsonl")).unwrap().contains("bookmark_link"));
}

#[test]
fn regression_settings_that_cannot_be_read_may_refer_to_anything() {
    let vault = vault();
    let _fork = did(&vault, &["branch", "Ana/main", "--name", "fork"]);
    fs::remove_file(vault.root().join("chats/Ana/fork.jsonl")).unwrap();
    assert_eq!(did(&vault, &["gc", "--dry-run"])["books"].as_array().unwrap().len(), 1);
    let vault = vault.file("settings.json", b"{ broken");
    assert_eq!(did(&vault, &["gc"])["books"], json!([]));
    assert!(did(&vault, &["check"]).to_string().contains("settings.json"));
}

#[test]
fn regression_a_copied_operation_does_not_undo_itself() {
    let vault = vault();
    let made = did(&vault, &["branch", "Ana/main", "--name", "fork"]);
    let _undone = did(&vault, &["undo"]);
    let ops = vault.root().join(".forklore/ops");
    for entry in fs::read_dir(&ops).unwrap().map(|e| e.unwrap().path()).collect::<Vec<_>>() {
        let name = entry.file_stem().unwrap().to_str().unwrap();
        fs::copy(&entry, ops.join(format!("{name} (conflicted copy).op"))).unwrap();
    }
    fs::create_dir(ops.join("folder.op")).unwrap();
    fs::create_dir(vault.root().join(".forklore/tx/folder")).unwrap();
    let _redone = did(&vault, &["redo"]);
    let log = did(&vault, &["log"]);
    let fork = log["operations"].as_array().unwrap().iter().find(|op| op["id"] == made["operation"]).unwrap();
    assert!(fork["undone_by"].is_null(), "{log:#}");
}

#[cfg(unix)]
#[test]
fn regression_a_link_is_refused_instead_of_being_moved() {
    let vault = vault();
    let made = did(&vault, &["branch", "Ana/main", "--name", "fork"]);
    let book = vault.root().join(format!("worlds/{}.json", made["book"]["name"].as_str().unwrap()));
    fs::create_dir(vault.root().join("store")).unwrap();
    fs::rename(&book, vault.root().join("store/b.json")).unwrap();
    forklore_testkit::unix::symlink("../store/b.json", &book).unwrap();
    let answer = vault.json(FORKLORE, &["delete", "Ana/fork"]);
    assert_eq!(answer["error"]["code"], "LINKED", "{answer:#}");
    assert!(book.is_symlink() && vault.root().join("store/b.json").exists());
    assert!(vault.root().join("chats/Ana/fork.jsonl").exists());
    // And nothing stands in the way of what comes next.
    let _fork = did(&vault, &["branch", "Ana/main"]);
}

/// A system without `openat2`: paths are followed part by part, and lead as far as they did.
#[cfg(unix)]
#[test]
fn on_an_old_kernel_links_lead_inside_and_not_outside() {
    use forklore_testkit::unix::symlink;
    let Some(strace) = crate::kills::strace::Strace::find("an old kernel") else { return };
    let vault = vault();
    let outside = vault.root().parent().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::copy(vault.root().join("chats/Ana/main.jsonl"), outside.join("secret.jsonl")).unwrap();
    fs::rename(vault.root().join("worlds"), vault.root().join("books")).unwrap();
    symlink("books", vault.root().join("worlds")).unwrap();
    symlink(&outside, vault.root().join("chats/Out")).unwrap();
    symlink(outside.join("secret.jsonl"), vault.root().join("chats/Ana/out.jsonl")).unwrap();
    symlink(vault.root().join("chats/Ana"), vault.root().join("chats/Same")).unwrap();
    let told = |args: &[&str], old: bool| {
        let args = [args, &["--json"]].concat();
        let run = if old {
            strace.run(&vault, &["-f", "-e", "inject=openat2:error=ENOSYS"], &args)
        } else {
            vault.run(FORKLORE, &args)
        };
        assert_eq!(run.code, Some(0), "{run}");
        assert!(!run.stdout.contains("secret"), "{run}");
        run.stdout
    };
    for args in [&["tree"][..], &["stories"], &["show", "Ana/main", "--at", "2"]] {
        assert_eq!(told(args, true), told(args, false), "{args:?}");
    }
    assert!(told(&["tree"], true).contains("Same/main"), "a link inside is followed");
    // Else a fork would be two chats, and each would use the other's book.
    fs::remove_file(vault.root().join("chats/Same")).unwrap();
    let made: Value = serde_json::from_str(&told(&["branch", "Ana/main", "--name", "fork"], true)).unwrap();
    let book = format!("books/{}.json", made["book"]["name"].as_str().unwrap());
    assert!(vault.root().join(&book).exists(), "{book}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "nothing is made outside");
}

/// A fork is cut off, and what it was about to edit is something else by then: that edit waits, and nothing else has to.
#[cfg(unix)]
#[test]
fn regression_a_file_that_cannot_be_read_keeps_nothing_else_waiting() {
    use forklore_testkit::unix::symlink;
    let Some(strace) = crate::kills::strace::Strace::find("a fork that is cut off") else { return };
    // Before the intent counts; with the new files on their way; before and after the exchange.
    for nth in 1..=6 {
        for what in ["a link out", "a folder", "a pipe"] {
            let vault = vault().chat("Bea", "other", &json!({"integrity": "b"}), &["hi", "ho"]);
            let outside = vault.root().with_extension("outside");
            fs::write(&outside, "SECRET").unwrap();
            let chat = vault.root().join("chats/Ana/main.jsonl");
            let kill = format!("inject=renameat2:signal=KILL:when={nth}");
            let cut = strace.run(&vault, &["-e", &kill], &["checkpoint", "Ana/main", "--name", "fork"]);
            assert_eq!(cut.code, None, "{cut}");
            let aside = vault.root().join("aside");
            fs::rename(&chat, &aside).unwrap();
            match what {
                "a link out" => symlink(&outside, &chat).unwrap(),
                "a folder" => fs::create_dir(&chat).unwrap(),
                _ => assert!(std::process::Command::new("mkfifo").arg(&chat).status().unwrap().success()),
            }
            let at = format!("{what}, {nth}");
            let made = vault.json(FORKLORE, &["branch", "Bea/other", "--at", "0"]);
            assert!(made["error"].is_null(), "{at}: {made:#}");
            assert_eq!(fs::read_to_string(&outside).unwrap(), "SECRET", "{at}");
            // It is back: what was left to do is done, or nothing was.
            if chat.is_dir() && !chat.is_symlink() { fs::remove_dir(&chat) } else { fs::remove_file(&chat) }
                .unwrap();
            fs::rename(&aside, &chat).unwrap();
            let _settled = did(&vault, &["branch", "Bea/other", "--at", "0"]);
            assert_eq!(fs::read_dir(vault.root().join(".forklore/tx")).unwrap().count(), 0, "{at}");
            let text = String::from_utf8(vault.read("chats/Ana/main.jsonl")).unwrap();
            let forked = vault.root().join("chats/Ana/fork.jsonl").exists();
            assert_eq!(text.contains("bookmark_link"), forked, "{at}");
        }
    }
}
