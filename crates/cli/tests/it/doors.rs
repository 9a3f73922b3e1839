//! Doors that were open once: what somebody who has one vault, or none, must not be able to do. docs/security.md tells what is promised.

use std::path::{Path, PathBuf};

use forklore_testkit::TestVault;
use serde_json::json;

use crate::FORKLORE;
use crate::serve::{managed, serve, story};

/// The names of everything below a folder.
fn names(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        found.extend(names(&path));
        found.push(path);
    }
    found.sort();
    found
}

/// A vault with a history.
fn remembering() -> TestVault {
    let vault = TestVault::new();
    story(&vault, &[]);
    let watched = vault.run(FORKLORE, &["watch", "--once"]);
    assert_eq!(watched.code, Some(0), "{watched}");
    vault
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, target) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() { copy(&path, &target) } else { drop(std::fs::copy(path, target).unwrap()) }
    }
}

/// Whoever had one vault's token could make another one's history its own, read it with `restore` and forget it.
#[test]
fn regression_no_request_moves_history() {
    let (one, two) = (remembering(), TestVault::new());
    story(&two, &[]);
    let theirs = one.root().join(".forklore/history");
    let before = names(&theirs);
    let server = managed();
    let http = server.open(&two.root());
    let nowhere = two.root().parent().unwrap().join("made-by-a-request");
    for dir in [&theirs, &nowhere] {
        for body in [
            json!({"key": "history.dir", "value": dir}),
            json!({"key": "history.dir", "value": dir, "dry_run": true}),
            json!({"key": "history.dir", "unset": true}),
            json!({"key": "history.dir", "add": [dir]}),
        ] {
            assert_eq!(http.post("api/config", &body).code(), (403, "NOT_ALLOWED".to_owned()), "{body}");
        }
    }
    assert_eq!(http.query("api/config", &[("key", "history.dir")]).code(), (403, "NOT_ALLOWED".to_owned()));
    let told = http.get("api/config").ok().to_string();
    assert!(told.contains("history.operations") && !told.contains("history.dir"), "{told}");
    let _told = http.query("api/history", &[("chat", "Ana/Main")]).ok();
    assert!(!nowhere.exists());
    assert_eq!(names(&theirs), before);
}

/// A vault that came from somebody else could say where its history is.
#[test]
fn regression_a_vault_that_was_copied_reaches_no_history_outside() {
    let (one, two) = (remembering(), TestVault::new());
    story(&two, &[]);
    let theirs = one.root().join(".forklore/history");
    let nowhere = two.root().parent().unwrap().join("made-by-a-vault");
    let before = names(&theirs);
    for dir in [&theirs, &nowhere] {
        two.write(".forklore/config.toml", format!("[history]\ndir = '{}'\n", dir.display()).as_bytes());
        let run = two.run(FORKLORE, &["watch", "--once"]);
        assert_eq!(run.code, Some(1), "{run}");
        assert!(run.stderr.contains("names a place outside of the vault"), "{run}");
        assert!(run.stderr.contains("forklore config history.dir --unset"), "{run}");
        let server = serve(&two, &[]);
        assert!(server.http.get("api/stories").status != 500);
        for (call, body) in [
            ("api/restore", json!({"chat": "Ana/Main", "at": 3, "yes": true})),
            ("api/forget", json!({"last": 1})),
            ("api/prune", json!({})),
        ] {
            let answer = server.http.post(call, &body);
            assert!(answer.status >= 400, "{call}: {}", answer.status);
        }
        assert_eq!(names(&theirs), before);
        assert!(!nowhere.exists());
    }
    // What the sentence says helps.
    assert_eq!(two.run(FORKLORE, &["config", "history.dir", "--unset"]).code, Some(0));
    assert_eq!(two.run(FORKLORE, &["watch", "--once"]).code, Some(0));
    assert!(two.root().join(".forklore/history/packs").is_dir());
}

/// One vault's history was any vault's that was pointed at it.
#[test]
fn regression_a_history_is_one_vaults_and_no_others() {
    let (one, two) = (remembering(), remembering());
    let theirs = one.root().join(".forklore/history");
    let before = names(&theirs);
    let set = two.json(FORKLORE, &["config", "history.dir", theirs.to_str().unwrap()]);
    assert_eq!(set["error"]["code"], "HISTORY_FOREIGN", "{set}");
    assert_eq!(names(&theirs), before);
    // Nor by putting it into the other's place.
    let own = two.root().join(".forklore/history");
    std::fs::remove_dir_all(&own).unwrap();
    copy(&theirs, &own);
    let put = names(&own);
    for args in [&["history", "Ana/Main"][..], &["watch", "--once"], &["prune"]] {
        let run = two.run(FORKLORE, &[args, &["--json"]].concat());
        assert!(run.code == Some(1) && run.stdout.contains("HISTORY_FOREIGN"), "{args:?}: {run}");
    }
    assert_eq!(names(&own), put);
    // The story can be looked at, and what the sentence says helps.
    assert_eq!(two.json(FORKLORE, &["tree"])["stories"][0]["name"], "Ana");
    std::fs::rename(&own, two.root().join(".forklore/not-mine")).unwrap();
    let fork = two.json(FORKLORE, &["branch", "Ana/Main", "--at", "20", "--name", "Side"]);
    assert_eq!(fork["chat"], "Ana/Side", "{fork}");
}

#[test]
fn history_elsewhere_is_set_by_the_owner_and_kept_with_the_owners_things() {
    let (vault, disk) = (remembering(), tempfile::tempdir().unwrap());
    let dir = disk.path().join("past");
    let set = vault.json(FORKLORE, &["config", "history.dir", dir.to_str().unwrap()]);
    assert_eq!(set["value"], dir.to_str().unwrap());
    let home = vault.root().parent().unwrap().join(".config/forklore/config.toml");
    let text = std::fs::read_to_string(&home).unwrap();
    assert!(text.contains(vault.root().to_str().unwrap()) && text.contains(dir.to_str().unwrap()), "{text}");
    assert!(!vault.root().join(".forklore/config.toml").exists());
    assert_eq!(vault.json(FORKLORE, &["config"])["owners"]["settings"][0]["value"], dir.to_str().unwrap());
    assert_eq!(vault.run(FORKLORE, &["watch", "--once"]).code, Some(0));
    assert!(names(&dir.join("packs")).iter().any(|name| name.extension().is_some_and(|e| e == "pack")));

    // A copy of the vault has its own.
    let copied = vault.root().parent().unwrap().join("copied");
    copy(&vault.root(), &copied);
    let before = names(&dir);
    let run = vault.finish(vault.command(FORKLORE).env("FORKLORE_VAULT", &copied).args(["watch", "--once"]));
    assert_eq!(run.code, Some(0), "{run}");
    assert_eq!(names(&dir), before);
    std::fs::remove_dir_all(&copied).unwrap();

    // One that was moved is told so, instead of beginning anew; the sentence helps.
    std::fs::rename(vault.root(), &copied).unwrap();
    let at_its_new_place = |args: &[&str]| {
        vault.finish(vault.command(FORKLORE).env("FORKLORE_VAULT", &copied).args(args).arg("--json"))
    };
    let run = at_its_new_place(&["watch", "--once"]);
    assert!(run.code == Some(1) && run.stdout.contains("HISTORY_MOVED"), "{run}");
    assert_eq!(at_its_new_place(&["config", "history.dir", dir.to_str().unwrap()]).code, Some(0));
    assert_eq!(at_its_new_place(&["watch", "--once"]).code, Some(0));

    // A disk that is not there does not become a folder of another one.
    std::fs::remove_dir_all(&dir).unwrap();
    let run = at_its_new_place(&["watch", "--once"]);
    assert!(run.code == Some(1) && run.stdout.contains("Plug the disk in"), "{run}");
    assert!(!dir.exists());
    assert_eq!(at_its_new_place(&["config", "history.dir", "--unset"]).code, Some(0));
    assert_eq!(at_its_new_place(&["watch", "--once"]).code, Some(0));
    assert!(!std::fs::read_to_string(&home).unwrap().contains("past"));
}
