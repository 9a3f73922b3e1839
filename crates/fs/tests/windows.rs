//! What is Windows's own: numbers of files, names that differ in case alone, names that it keeps for itself, long paths, files that another
//! program holds. `cargo xtask test --wine` runs it elsewhere.
#![cfg(windows)]
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot go on should stop")]

use std::fs::File;
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use forklore_fs::{RealFs, VaultPath, Vfs};

fn path(text: &str) -> VaultPath {
    VaultPath::new(text).unwrap()
}

fn vault() -> (tempfile::TempDir, RealFs) {
    let dir = tempfile::tempdir().unwrap();
    let fs = RealFs::new(dir.path()).unwrap();
    (dir, fs)
}

/// Others may read what is open like this, and neither write nor rename nor remove it.
fn hold(file: &Path) -> File {
    const SHARE_READ: u32 = 1;
    File::options().read(true).share_mode(SHARE_READ).open(file).unwrap()
}

#[test]
fn files_of_one_length_and_time_are_told_apart() {
    let (dir, fs) = vault();
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    for name in ["a", "b"] {
        fs.create(&path(name), b"same").unwrap();
        File::options().write(true).open(dir.path().join(name)).unwrap().set_modified(then).unwrap();
    }
    let [a, b] = ["a", "b"].map(|name| fs.identity(&path(name)).unwrap().unwrap());
    assert_eq!((a.len, a.modified), (b.len, b.modified));
    assert_ne!(a.file, b.file);
    fs.exchange(&path("a"), &path("b")).unwrap();
    assert_eq!(fs.identity(&path("a")).unwrap().unwrap().file, b.file, "the number goes with the file");
    assert_eq!(fs.list(&VaultPath::root()).unwrap().len(), 2, "nothing waits beside");
}

#[test]
fn names_are_one_whatever_their_case() {
    let (_dir, fs) = vault();
    fs.create(&path("Rain.jsonl"), b"one").unwrap();
    assert!(fs.create(&path("RAIN.jsonl"), b"two").unwrap_err().is_taken());
    fs.create(&path("other"), b"two").unwrap();
    assert!(fs.rename_noreplace(&path("other"), &path("rain.JSONL")).unwrap_err().is_taken());
    assert_eq!(fs.read(&path("rain.jsonl")).unwrap().unwrap(), b"one");
}

/// A vault that was copied from elsewhere can have such names. No other program can open them, SillyTavern neither, so Forklore makes none
/// and opens none; what lies beside them is read.
#[test]
fn names_that_windows_keeps_for_itself_are_refused_and_harm_nothing() {
    let (dir, fs) = vault();
    // Only a path that begins with `\\?\` takes them for names of files.
    let below = dir.path().canonicalize().unwrap();
    for name in ["aux.jsonl", "NUL", "dots...", "blank "] {
        std::fs::write(below.join(name), name).unwrap();
        assert!(VaultPath::new(name).is_err(), "{name:?}");
        assert!(fs.list(&VaultPath::root()).unwrap().iter().any(|node| node.name == name), "{name:?}");
    }
    fs.create(&path("Rain.jsonl"), b"rain").unwrap();
    assert_eq!(fs.read(&path("Rain.jsonl")).unwrap().unwrap(), b"rain");
    assert_eq!(fs.list(&VaultPath::root()).unwrap().len(), 5);
}

#[test]
fn paths_can_be_longer_than_windows_likes_them() {
    let (dir, fs) = vault();
    let parts: Vec<String> = (0..8).map(|n| format!("{n}{}", "o".repeat(60))).collect();
    let there = parts.iter().fold(dir.path().canonicalize().unwrap(), |dir, part| dir.join(part));
    std::fs::create_dir_all(&there).unwrap();
    // Debian 12's Wine cannot tell where a long path leads, which Windows can: there everything that is longer is refused.
    if there.canonicalize().is_err() {
        return;
    }
    let deep = format!("{}/folder", parts.join("/"));
    fs.make_dir(&path(&deep)).unwrap();
    let [a, b] = ["a", "b"].map(|name| path(&format!("{deep}/{name}")));
    fs.create(&a, b"one").unwrap();
    fs.create(&b, b"two").unwrap();
    fs.exchange(&a, &b).unwrap();
    fs.sync_file(&a).unwrap();
    assert_eq!(fs.read(&a).unwrap().unwrap(), b"two");
    assert_eq!(fs.root(), forklore_fs::canonical(dir.path()).unwrap(), "shown as people write it");
    assert!(!fs.root().to_string_lossy().starts_with(r"\\?\"));
}

#[test]
fn a_file_that_is_held_for_a_moment_is_waited_for() {
    let (dir, fs) = vault();
    for name in ["a", "b"] {
        fs.create(&path(name), name.as_bytes()).unwrap();
    }
    let held = hold(&dir.path().join("b"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            drop(held);
        });
        fs.exchange(&path("a"), &path("b")).unwrap();
    });
    assert_eq!(fs.read(&path("a")).unwrap().unwrap(), b"b");
}

#[test]
fn a_file_that_is_held_on_is_refused_in_words_and_stays() {
    let (dir, fs) = vault();
    for name in ["a", "b"] {
        fs.create(&path(name), name.as_bytes()).unwrap();
    }
    let held = hold(&dir.path().join("b"));
    for refused in [fs.exchange(&path("a"), &path("b")), fs.unlink(&path("b"))] {
        let why = refused.unwrap_err().to_string();
        assert!(why.contains("another program holds it open"), "{why}");
    }
    drop(held);
    for name in ["a", "b"] {
        assert_eq!(fs.read(&path(name)).unwrap().unwrap(), name.as_bytes());
    }
    assert_eq!(fs.list(&VaultPath::root()).unwrap().len(), 2, "nothing waits beside");
}
