//! Files stay whose they are, and are never more readable than they were: whatever a command does, and whatever undoes it.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::path::Path;

use forklore_testkit::TestVault;
use forklore_testkit::unix::{MetadataExt as _, PermissionsExt as _, chown};
use serde_json::{Value, json};

use crate::set_up::did;

/// Somebody who is not running the tests.
const OWNER: (u32, u32) = (12_345, 23_456);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Attributes {
    mode: u32,
    owner: (u32, u32),
    tag: Option<Vec<u8>>,
}

fn of(path: &Path) -> Attributes {
    let meta = fs::symlink_metadata(path).unwrap();
    let mut tag = [0; 16];
    let read = rustix::fs::getxattr(path, "user.forklore.test", &mut tag);
    Attributes {
        mode: meta.mode() & 0o7777,
        owner: (meta.uid(), meta.gid()),
        tag: read.ok().map(|len| tag[..len].to_vec()),
    }
}

/// Everything in the vault, by its path in there.
fn all(vault: &TestVault) -> BTreeMap<String, Attributes> {
    let mut found = BTreeMap::new();
    let mut todo = vec![vault.root()];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(vault.root()).unwrap().to_string_lossy().into_owned();
            found.insert(name, of(&path));
            if path.is_dir() {
                todo.push(path);
            }
        }
    }
    found
}

/// Only root can give files away.
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Gives everything to somebody else, if we can, closes the files to others, and tags them.
fn close(vault: &TestVault) {
    let mut everything: Vec<String> = all(vault).into_keys().collect();
    everything.push(String::new());
    for (n, name) in everything.iter().enumerate() {
        let path = vault.root().join(name);
        if is_root() {
            chown(&path, Some(OWNER.0), Some(OWNER.1)).unwrap();
        }
        // Folders are open, so that nothing is closed only because its folder is; files are not all alike.
        let mode = if path.is_dir() { 0o755 } else { [0o600, 0o640, 0o604][n % 3] };
        let mode = if name.ends_with("settings.json") { 0o600 } else { mode };
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        if path.is_file() {
            let flags = rustix::fs::XattrFlags::empty();
            // Not every file system keeps such things.
            let _unkept = rustix::fs::setxattr(
                &path,
                "user.forklore.test",
                name.as_bytes().get(..8).unwrap_or(b"x"),
                flags,
            );
        }
    }
}

/// A command after which every file that was there is as it was, what is new is not more readable than `limit`, and Forklore's own is
/// nobody else's.
fn keeps(vault: &TestVault, args: &[&str], limit: u32) -> Value {
    let before = all(vault);
    let answer = did(vault, args);
    let wanted_owner = of(&vault.root()).owner;
    for (name, is) in all(vault) {
        assert_eq!(is.owner, wanted_owner, "{args:?}: {name}");
        if name.starts_with(".forklore") {
            if !name.contains("/objects/") {
                assert_eq!(is.mode & 0o077, 0, "{args:?}: {name} is {:o}", is.mode);
            }
        } else if let Some(was) = before.get(&name) {
            assert_eq!(is, *was, "{args:?}: {name}");
        } else if vault.root().join(&name).is_file() {
            assert_eq!(is.mode & !limit & 0o777, 0, "{args:?}: {name} is {:o}", is.mode);
        }
    }
    answer
}

fn vault() -> TestVault {
    let metadata = json!({"integrity": "a", "world_info": "B"});
    let native = json!({"integrity": "n", "world_info": "B", "main_chat": "main"});
    let group =
        json!({"id": "1", "name": "Band", "members": ["Ana.png"], "chat_id": "100", "chats": ["100"]});
    let registry = ("_registry_character", "[Registry: character]");
    let settings = json!({"extension_settings": {"auto_recap_memory": {"chats_enabled": {"main": true}}}});
    let vault = TestVault::new()
        .chat("Ana", "main", &metadata, &["hello", "one", "two", "three"])
        .chat("Ana", "native", &native, &["hello", "one", "two", "other"])
        .chat("Ana", "alone", &json!({"integrity": "c"}), &["hi", "ho"])
        .chat("Ana", "100", &json!({"integrity": "g"}), &["hello", "one", "two"])
        .book("B", &[registry, ("character-Ana", "A girl")])
        .file("groups/1.json", group.to_string().as_bytes())
        .file("settings.json", settings.to_string().as_bytes());
    fs::rename(vault.root().join("chats/Ana/100.jsonl"), vault.root().join("group chats/100.jsonl")).unwrap();
    close(&vault);
    vault
}

#[test]
fn regression_modes_owners_and_tags_are_kept_by_every_command_and_its_undo() {
    let vault = vault();
    let modes = all(&vault);
    let parent = modes["chats/Ana/main.jsonl"].mode;
    let edited = |file: &str| (file.to_owned(), vault.read(file));
    let before = ["chats/Ana/main.jsonl", "settings.json"].map(edited);
    let fork = keeps(&vault, &["checkpoint", "Ana/main", "--at", "2", "--name", "kept"], parent);
    for (file, was) in &before {
        assert_ne!(vault.read(file), *was, "{file} is changed by a fork");
    }
    let made = all(&vault);
    assert_eq!(made["chats/Ana/kept.jsonl"], modes["chats/Ana/main.jsonl"], "a fork is as its parent is");
    let book = format!("worlds/{}.json", fork["book"]["name"].as_str().unwrap());
    assert_eq!(made[&book].mode, parent & modes["worlds/B.json"].mode, "{book}");

    keeps(&vault, &["undo"], 0);
    keeps(&vault, &["redo"], parent);
    assert_eq!(all(&vault)["chats/Ana/kept.jsonl"], modes["chats/Ana/main.jsonl"], "back as it was");
    keeps(&vault, &["delete", "Ana/kept"], 0);
    keeps(&vault, &["trash", "restore", "chats/Ana/kept.jsonl"], parent);
    keeps(&vault, &["undo"], 0);
    let group = vault.read("groups/1.json");
    keeps(&vault, &["branch", "group:1/100", "--at", "1"], modes["group chats/100.jsonl"].mode);
    assert_ne!(vault.read("groups/1.json"), group, "the group lists the fork");
    keeps(&vault, &["undo"], 0);
    let native = vault.read("chats/Ana/native.jsonl");
    keeps(&vault, &["heal", "--yes"], parent & modes["worlds/B.json"].mode);
    assert_ne!(vault.read("chats/Ana/native.jsonl"), native, "the fork is bound to a book of its own");
    keeps(&vault, &["undo"], 0);
    keeps(&vault, &["redo"], parent & modes["worlds/B.json"].mode);
    keeps(&vault, &["watch", "--once"], 0);
    keeps(&vault, &["gc"], 0);
    // What history alone knows is as its neighbours are.
    fs::remove_file(vault.root().join("chats/Ana/alone.jsonl")).unwrap();
    let neighbours = [&modes["chats/Ana/main.jsonl"], &modes["chats/Ana/native.jsonl"]];
    keeps(&vault, &["restore", "Ana/alone"], neighbours[0].mode & neighbours[1].mode);
}

#[test]
fn exports_and_what_an_older_forklore_left_open_are_closed() {
    let vault = vault();
    did(&vault, &["checkpoint", "Ana/main", "--at", "2", "--name", "kept"]);
    let own = vault.root().join(".forklore");
    for path in [own.clone(), own.join("tx"), own.join("ops")] {
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    let out = vault.root().parent().unwrap().join("out");
    fs::create_dir(&out).unwrap();
    fs::set_permissions(&out, Permissions::from_mode(0o755)).unwrap();
    let file = out.join("ana.forklore");
    did(&vault, &["export", "Ana", "--output", file.to_str().unwrap()]);
    assert_eq!(of(&file).mode, 0o600);
    did(&vault, &["undo"]);
    assert_eq!(of(&own).mode, 0o700);

    // In another vault it belongs to whom that belongs.
    let other = TestVault::new();
    close(&other);
    did(&other, &["import", file.to_str().unwrap()]);
    let owner = of(&other.root()).owner;
    for (name, is) in all(&other) {
        assert_eq!(is.owner, owner, "{name}");
        assert_eq!(is.mode & 0o022, 0, "{name}");
    }
}

/// Where `watch` was the first thing that Forklore ever did, others could look into its folder.
#[test]
fn regression_whatever_comes_first_the_folder_is_for_nobody_else() {
    for args in [
        &["watch", "--once"][..],
        &["tree"],
        &["check"],
        &["config", "trash.days", "3"],
        &["checkpoint", "Ana/main", "--at", "2", "--name", "first"],
    ] {
        let vault =
            TestVault::new().chat("Ana", "main", &json!({"integrity": "a"}), &["hello", "one", "two"]);
        for dir in ["", "chats", "chats/Ana", "worlds"] {
            fs::set_permissions(vault.root().join(dir), Permissions::from_mode(0o755)).unwrap();
        }
        did(&vault, args);
        let own = all(&vault).into_iter().filter(|(name, _)| name.starts_with(".forklore"));
        let open: Vec<String> = own.filter(|(_, is)| is.mode & 0o077 != 0).map(|(name, _)| name).collect();
        assert!(open.is_empty(), "{args:?}: {open:?}");
    }
}
