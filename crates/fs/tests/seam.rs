//! Both implementations of the seam answer alike; the real one never leaves its folder; the simulator loses what was not synced.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that cannot go on should stop"
)]

use forklore_fs::{Crash, NodeKind, RealFs, SimFs, VaultPath, Vfs};

fn path(text: &str) -> VaultPath {
    VaultPath::new(text).unwrap()
}

fn behaves_like_a_file_system(fs: &dyn Vfs) {
    fs.make_dir(&path("worlds/deep")).unwrap();
    fs.create(&path("worlds/a.json"), b"one").unwrap();
    assert!(fs.create(&path("worlds/a.json"), b"two").unwrap_err().is_taken());
    assert!(fs.create(&path("nowhere/a.json"), b"two").unwrap_err().is_missing());
    fs.create(&path("worlds/b.json"), b"two").unwrap();
    assert!(fs.rename_noreplace(&path("worlds/a.json"), &path("worlds/b.json")).unwrap_err().is_taken());
    fs.exchange(&path("worlds/a.json"), &path("worlds/b.json")).unwrap();
    assert_eq!(fs.read(&path("worlds/a.json")).unwrap().unwrap(), b"two");
    fs.rename_noreplace(&path("worlds/a.json"), &path("worlds/c.json")).unwrap();
    fs.replace(&path("worlds/b.json"), &path("worlds/c.json")).unwrap();
    assert_eq!(fs.read(&path("worlds/c.json")).unwrap().unwrap(), b"one");
    assert_eq!(fs.read(&path("worlds/a.json")).unwrap(), None);
    assert!(fs.identity(&path("worlds/a.json")).unwrap().is_none());
    assert_eq!(fs.identity(&path("worlds/c.json")).unwrap().unwrap().len, 3);
    let open = fs.open(&path("worlds/c.json")).unwrap();
    assert_eq!(open.read_range(1..3).unwrap(), b"ne");
    assert!(open.read_range(1..4).is_err());
    fs.append(&path("worlds/c.json"), b", two").unwrap();
    assert_eq!(fs.read(&path("worlds/c.json")).unwrap().unwrap(), b"one, two");
    assert!(fs.append(&path("worlds/none.json"), b"x").unwrap_err().is_missing());
    fs.sync_file(&path("worlds/c.json")).unwrap();
    fs.sync_dir(&path("worlds")).unwrap();
    let names: Vec<_> = fs.list(&path("worlds")).unwrap().into_iter().map(|n| (n.name, n.kind)).collect();
    assert_eq!(names, [("c.json".to_owned(), NodeKind::File), ("deep".to_owned(), NodeKind::Dir)]);
    assert!(fs.list(&path("nothing")).unwrap().is_empty());
    fs.unlink(&path("worlds/c.json")).unwrap();
    assert!(fs.unlink(&path("worlds/c.json")).unwrap_err().is_missing());
}

#[test]
fn the_simulator_behaves_like_a_file_system() {
    behaves_like_a_file_system(&SimFs::new());
}

#[test]
fn the_real_disk_behaves_like_a_file_system() {
    let dir = tempfile::tempdir().unwrap();
    behaves_like_a_file_system(&RealFs::new(dir.path()).unwrap());
}

#[cfg(unix)]
#[test]
#[allow(clippy::disallowed_methods, reason = "the test lays the trap with the system's own calls")]
fn links_out_of_the_vault_are_refused() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "s").unwrap();
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("real")).unwrap();
    std::fs::write(dir.path().join("real/file"), "f").unwrap();
    std::os::unix::fs::symlink(outside.path(), dir.path().join("chats")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret"), dir.path().join("book")).unwrap();
    std::os::unix::fs::symlink("real", dir.path().join("alias")).unwrap();
    std::os::unix::fs::symlink("nowhere", dir.path().join("dangling")).unwrap();
    let fs = RealFs::new(dir.path()).unwrap();

    assert!(fs.list(&path("chats")).is_err());
    assert!(fs.read(&path("chats/secret")).is_err());
    assert!(fs.create(&path("chats/new"), b"x").is_err());
    let error = fs.read(&path("book")).unwrap_err();
    assert_eq!(error.to_string(), "could not open book: it is a link that leads out of the vault");
    assert_eq!(fs.read(&path("alias/file")).unwrap().unwrap(), b"f");
    let kinds: Vec<_> = fs.list(&VaultPath::root()).unwrap().into_iter().map(|n| n.kind).collect();
    assert_eq!(kinds, [NodeKind::Dir, NodeKind::Other, NodeKind::Other, NodeKind::Other, NodeKind::Dir]);
}

#[test]
fn a_power_cut_keeps_only_what_was_synced() {
    let fs = SimFs::new();
    fs.make_dir(&path("d")).unwrap();
    fs.create(&path("d/a"), b"content").unwrap();
    let contents = |fs: &SimFs| {
        let mut all: Vec<_> =
            fs.after(Crash::PowerCut, 100).iter().map(|image| image.read(&path("d/a")).unwrap()).collect();
        all.sort();
        all
    };
    let [none, empty, torn, whole] = [None, Some(vec![]), Some(b"con".to_vec()), Some(b"content".to_vec())];
    assert_eq!(contents(&fs), [none.clone(), empty, torn, whole.clone()]);
    fs.sync_file(&path("d/a")).unwrap();
    assert_eq!(contents(&fs), [none, whole.clone()]);
    fs.sync_dir(&path("d")).unwrap();
    assert_eq!(contents(&fs), std::slice::from_ref(&whole));
    assert_eq!(fs.after(Crash::Kill, 1)[0].read(&path("d/a")).unwrap(), whole);
}

#[test]
fn the_simulator_stops_where_it_is_told() {
    let fs = SimFs::new();
    fs.stop_before(1);
    assert!(fs.create(&path("a"), b"x").is_err());
    assert_eq!(fs.read(&path("a")).unwrap().unwrap(), b"");
    assert_eq!(fs.operations(), 1);
    let fs = SimFs::new();
    fs.ignore_sync(0);
    fs.create(&path("a"), b"x").unwrap();
    fs.sync_file(&path("a")).unwrap();
    assert!(fs.after(Crash::PowerCut, 100).len() > 2, "the ignored sync must show");
}
