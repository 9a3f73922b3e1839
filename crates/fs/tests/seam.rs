//! Both implementations of the seam answer alike; the real one never leaves its folder; the simulator loses what was not synced.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that cannot go on should stop"
)]

use forklore_fs::{Attributes, Crash, New, NodeKind, Part, RealFs, SimFs, VaultPath, Vfs};

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
    let like = fs.attributes(&path("worlds/c.json")).unwrap().unwrap();
    assert_eq!(fs.attributes(&path("worlds/none.json")).unwrap(), None);
    // Windows has no modes.
    let like = if cfg!(windows) { like } else { Attributes { mode: 0o640, ..like } };
    let parts = [Part::Bytes(b"new")];
    fs.assemble_durably(&[New { path: &path("worlds/d.json"), parts: &parts, like: &like }]).unwrap();
    assert_eq!(fs.attributes(&path("worlds/d.json")).unwrap().unwrap(), like);
    fs.exchange(&path("worlds/c.json"), &path("worlds/d.json")).unwrap();
    assert_eq!(fs.attributes(&path("worlds/c.json")).unwrap().unwrap(), like);
    fs.unlink(&path("worlds/d.json")).unwrap();
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
    forklore_testkit::unix::symlink(outside.path(), dir.path().join("chats")).unwrap();
    forklore_testkit::unix::symlink(outside.path().join("secret"), dir.path().join("book")).unwrap();
    forklore_testkit::unix::symlink("real", dir.path().join("alias")).unwrap();
    forklore_testkit::unix::symlink("nowhere", dir.path().join("dangling")).unwrap();
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

/// Somebody swaps files and folders of the vault for links that lead out, as fast as they can, while we look.
#[cfg(unix)]
#[test]
#[allow(clippy::disallowed_methods, reason = "the test lays the trap with the system's own calls")]
fn regression_links_that_come_while_we_look_lead_nowhere() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let dir = tempfile::tempdir().unwrap();
    let [outside, vault] = ["outside", "vault"].map(|name| dir.path().join(name));
    for folder in [&outside, &vault.join("chats/Ana"), &vault.join("aside")] {
        std::fs::create_dir_all(folder).unwrap();
    }
    std::fs::write(outside.join("chat.jsonl"), "SECRET").unwrap();
    std::fs::write(vault.join("chats/Ana/chat.jsonl"), "ours").unwrap();
    forklore_testkit::unix::symlink(outside.join("chat.jsonl"), vault.join("aside/file")).unwrap();
    forklore_testkit::unix::symlink("../../outside", vault.join("aside/folder")).unwrap();
    let fs = RealFs::new(&vault).unwrap();
    let stop = AtomicBool::new(false);
    let swap = |a: &str, b: &str| {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        renameat_with(CWD, vault.join(a), CWD, vault.join(b), RenameFlags::EXCHANGE)
    };
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let seen_inside = std::thread::scope(|scope| {
        let _stop = Stop(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                swap("aside/file", "chats/Ana/chat.jsonl").ok();
                swap("aside/file", "chats/Ana/chat.jsonl").ok();
                swap("aside/folder", "chats/Ana").ok();
                swap("aside/folder", "chats/Ana").ok();
            }
        });
        let chat = path("chats/Ana/chat.jsonl");
        let mut seen = 0;
        for n in 0..20_000 {
            match fs.read(&chat) {
                Ok(Some(bytes)) if bytes == b"ours" => seen += 1,
                Ok(Some(bytes)) => panic!("{n}: read {:?}", String::from_utf8_lossy(&bytes)),
                Ok(None) | Err(_) => {}
            }
            if let Ok(Some(identity)) = fs.identity(&chat) {
                assert_eq!(identity.len, 4, "{n}");
            }
            fs.append(&chat, b"").ok();
            let new = path("chats/Ana/new");
            fs.create(&new, b"x").ok();
            fs.unlink(&new).ok();
            fs.lock(&path("chats/Ana/lock")).ok();
            fs.make_dir(&path("chats/Ana/deep")).ok();
        }
        seen
    });
    assert!(seen_inside > 100, "the race was no race: {seen_inside}");
    let names: Vec<_> = std::fs::read_dir(&outside).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["chat.jsonl"], "nothing is made outside");
}

/// Links that stay inside are followed, whatever way they take; circles end.
#[cfg(unix)]
#[test]
#[allow(clippy::disallowed_methods, reason = "the test lays the trap with the system's own calls")]
fn links_inside_the_vault_are_followed() {
    use forklore_testkit::unix::symlink;
    let dir = tempfile::tempdir().unwrap();
    let vault = dir.path().join("vault");
    std::fs::create_dir_all(vault.join("real/deep")).unwrap();
    std::fs::write(vault.join("real/deep/file"), "f").unwrap();
    symlink(vault.join("real"), vault.join("absolute")).unwrap();
    symlink("../vault/real", vault.join("around")).unwrap();
    symlink("real/../absolute/deep/./file", vault.join("crooked")).unwrap();
    symlink("circle", vault.join("circle")).unwrap();
    symlink(&vault, dir.path().join("alias")).unwrap();
    symlink(dir.path().join("alias/real"), vault.join("by-alias")).unwrap();
    symlink("../..", vault.join("real/up")).unwrap();
    let fs = RealFs::new(&dir.path().join("alias")).unwrap();
    for name in ["absolute/deep/file", "around/deep/file", "crooked", "by-alias/deep/file"] {
        assert_eq!(fs.read(&path(name)).unwrap().unwrap(), b"f", "{name}");
    }
    for name in ["circle", "circle/file", "real/up", "real/up/vault/real/deep"] {
        assert!(fs.read(&path(name)).is_err(), "{name}");
    }
    fs.create(&path("around/deep/new"), b"n").unwrap();
    fs.rename_noreplace(&path("absolute/deep/new"), &path("by-alias/newer")).unwrap();
    assert_eq!(std::fs::read(vault.join("real/newer")).unwrap(), b"n");
    assert_eq!(fs.list(&path("around/deep")).unwrap().len(), 1);
}

/// Nothing that is made is more readable than the folder that it is made in.
#[cfg(unix)]
#[test]
#[allow(clippy::disallowed_methods, reason = "the test sets modes with the system's own calls")]
fn new_files_are_as_closed_as_their_folder() {
    use forklore_testkit::unix::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let set = |name: &str, mode: u32| {
        std::fs::set_permissions(dir.path().join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let mode = |name: &str| std::fs::metadata(dir.path().join(name)).unwrap().permissions().mode() & 0o7777;
    let fs = RealFs::new(dir.path()).unwrap();
    for (name, is, file, folder) in [
        ("open", 0o755, 0o644, 0o755),
        ("closed", 0o700, 0o600, 0o700),
        ("group", 0o750, 0o640, 0o750),
        ("everybody", 0o777, 0o644, 0o755),
    ] {
        fs.make_dir(&path(name)).unwrap();
        set(name, is);
        fs.create(&path(&format!("{name}/file")), b"").unwrap();
        fs.create_with(&path(&format!("{name}/filled")), &mut |out| out.write_all(b"x")).unwrap();
        drop(fs.lock(&path(&format!("{name}/lock"))).unwrap());
        fs.make_dir(&path(&format!("{name}/deep/deeper"))).unwrap();
        fs.make_private_dir(&path(&format!("{name}/own/deep"))).unwrap();
        for made in ["file", "filled", "lock"] {
            assert_eq!(mode(&format!("{name}/{made}")), file, "{name}/{made}");
        }
        assert_eq!(mode(&format!("{name}/deep/deeper")), folder, "{name}");
        assert_eq!((mode(&format!("{name}/own")), mode(&format!("{name}/own/deep"))), (0o700, 0o700));
    }
    fs.make_private_dir(&path("open")).unwrap();
    assert_eq!(mode("open"), 0o700, "what was open is closed");
    set("open", 0o755);
    let private = RealFs::new(&dir.path().join("open")).unwrap().private();
    private.create(&path("export"), b"").unwrap();
    assert_eq!(mode("open/export"), 0o600);
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
    // A mode is as durable as the content.
    let like = Attributes { mode: 0o600, ..Attributes::default() };
    let modes = |fs: &SimFs| {
        let images = fs.after(Crash::PowerCut, 100).into_iter();
        images.map(|image| image.attributes(&path("d/a")).unwrap().unwrap().mode).collect::<Vec<_>>()
    };
    fs.dress(&path("d/a"), &like).unwrap();
    assert_eq!(modes(&fs), [0, 0o600]);
    fs.sync_file(&path("d/a")).unwrap();
    assert_eq!(modes(&fs), [0o600]);
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
