//! What is different on other people's machines: long paths, ends of lines, names, Android's sandbox, disks that promise less. Most of it runs
//! everywhere, and `cargo xtask test --wine` and `--qemu` run it as programs for Windows and for arm64.

use std::fs;

use forklore_testkit::TestVault;
use serde_json::{Value, json};

use crate::FORKLORE;
use crate::kills::strace::skipped;
use crate::set_up::{did, small};

/// A chat that SillyTavern has forked itself, beside its parent.
fn forked(vault: TestVault) -> TestVault {
    let native = json!({"integrity": "n", "world_info": "Lore", "main_chat": "Rain"});
    vault
        .chat(
            "Ana",
            "Rain",
            &json!({"integrity": "a", "world_info": "Lore"}),
            &["hello", "one", "two", "three"],
        )
        .chat("Ana", "Native", &native, &["hello", "one", "other"])
        .book("Lore", &[("The sea", "It is cold.")])
}

/// Windows ends a path after 259 letters, unless it is asked otherwise.
#[test]
fn a_vault_can_be_as_deep_as_folders_go() {
    let outside = tempfile::tempdir().unwrap();
    let deep = (0..6).fold(outside.path().to_owned(), |dir, n| dir.join(format!("{n}{}", "o".repeat(60))));
    fs::create_dir_all(&deep).unwrap();
    if deep.canonicalize().is_err() {
        return skipped(
            "a vault in a long path",
            "this Wine cannot tell where a long path leads; Windows can",
        );
    }
    let vault = forked(TestVault::within(&deep));
    assert!(vault.root().as_os_str().len() > 360);
    let before = vault.snapshot();
    let command = |args: &[&str]| {
        // No program can begin in such a folder on Windows.
        let mut command = vault.command(FORKLORE);
        let run = vault.finish(command.current_dir(outside.path()).args(args).arg("--json"));
        let answer: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run}"));
        assert!(answer["error"].is_null(), "{args:?}: {answer:#}");
        answer
    };
    command(&["branch", "Ana/Rain", "--at", "1", "--name", "Deep"]);
    assert!(vault.root().join("chats/Ana/Deep.jsonl").is_file());
    command(&["heal", "--yes"]);
    command(&["undo"]);
    command(&["undo"]);
    assert!(vault.snapshot() == before, "undo takes back every byte");
}

/// Somebody's editor, or git, has given a chat the ends of lines that Windows likes.
#[test]
fn lines_that_end_as_on_windows_stay_as_they_are() {
    let vault = forked(TestVault::new());
    let text = String::from_utf8(vault.read("chats/Ana/Rain.jsonl")).unwrap().replace('\n', "\r\n") + "\r\n";
    vault.write("chats/Ana/Rain.jsonl", text.as_bytes());
    let book = String::from_utf8(vault.read("worlds/Lore.json")).unwrap().replace('\n', "\r\n");
    vault.write("worlds/Lore.json", book.as_bytes());
    let made = did(&vault, &["branch", "Ana/Rain", "--at", "2", "--name", "Lines"]);
    assert_eq!(made["chat"], "Ana/Lines");
    let fork = vault.read("chats/Ana/Lines.jsonl");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for (n, line) in std::str::from_utf8(&fork).unwrap().split_inclusive('\n').enumerate().skip(1).take(2) {
        assert_eq!(line, lines[n], "message {n}");
    }
    assert_eq!(did(&vault, &["check", "Ana/Lines"])["findings"], json!([]));
    did(&vault, &["undo"]);
    assert_eq!(vault.read("chats/Ana/Rain.jsonl"), text.as_bytes());
}

/// `RAIN` and `Rain` are one file on Windows and on a Mac; wherever a vault is, it may go there one day.
#[test]
fn names_that_are_one_file_elsewhere_are_not_given() {
    let vault = small();
    for (name, code) in [("RAIN", "NAME_TAKEN"), ("aux", "INVALID_NAME"), ("Lpt1.old", "INVALID_NAME")] {
        let answer = vault.json(FORKLORE, &["branch", "Ana/Rain", "--at", "1", "--name", name]);
        assert_eq!(answer["error"]["code"], code, "{name}: {answer:#}");
    }
    // What Windows drops at the end of a name does not stand at the end of the file's.
    for name in ["So far...", "And then "] {
        let made = did(&vault, &["branch", "Ana/Rain", "--at", "1", "--name", name]);
        let chat = made["chat"].as_str().unwrap().to_owned();
        assert!(vault.root().join(format!("chats/{chat}.jsonl")).is_file(), "{made:#}");
    }
}

/// In one sentence, by `doctor` and by `check`, in words and as data.
#[test]
fn the_guarantee_of_a_vault_is_told() {
    let vault = small();
    let report = did(&vault, &["check"]);
    let told = report["guarantee"].as_str().unwrap();
    assert!(told.ends_with('.') && !told.trim_end_matches('.').contains(". "), "one sentence: {told}");
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for command in ["check", "doctor"] {
        let run = vault.run(FORKLORE, &[command]);
        assert!(joined(&run.stdout).contains(&joined(told)), "{command}: {run}");
    }
    let points = did(&vault, &["doctor"])["points"].clone();
    let mut messages = points.as_array().unwrap().iter().map(|point| point["message"].as_str().unwrap());
    assert!(messages.any(|message| message == told), "{points:#}");
}

/// A file that a virus scanner, an indexer or OneDrive has open cannot be given another name on Windows.
#[cfg(windows)]
#[test]
fn a_chat_that_another_program_holds_is_left_alone_and_told() {
    use std::os::windows::fs::OpenOptionsExt as _;
    let vault = forked(TestVault::new());
    let before = vault.snapshot();
    let chat = vault.root().join("chats/Ana/Native.jsonl");
    // As long as this is open, others may read it, and neither change nor rename it.
    let held = fs::File::options().read(true).share_mode(1).open(&chat).unwrap();
    let answer = vault.json(FORKLORE, &["heal", "--yes"]);
    drop(held);
    assert!(answer.to_string().contains("another program holds it open"), "{answer:#}");
    assert!(vault.snapshot() == before);
    did(&vault, &["heal", "--yes"]);
    assert!(vault.snapshot() != before, "as soon as it is let go");
}

#[cfg(target_os = "linux")]
mod on_linux {
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use super::*;
    use crate::kills::strace::Strace;

    /// Android kills a program for a system call that it does not know: for those that are younger than the oldest Android which Termux runs
    /// on. What our own code calls; a static program, which Termux gets, calls none of the others either.
    const OURS: &str = "renameat2,openat2,copy_file_range,linkat,?link";
    const STATIC: &str = "renameat2,openat2,copy_file_range,linkat,?link,faccessat2,statx,clone3,rseq,close_range,\
        pidfd_open,io_uring_setup,preadv2,pwritev2,epoll_pwait2,membarrier";

    fn killed_for(
        strace: &Strace,
        calls: &str,
        program: &str,
        vault: &TestVault,
        android: bool,
        args: &[&str],
    ) -> forklore_testkit::Run {
        let mut command = vault.command(&strace.0);
        if android {
            command.env("ANDROID_ROOT", "/system").env("ANDROID_DATA", "/data");
        }
        let inject = format!("inject={calls}:signal=SYS");
        command.args(["-f", "-qq", "-o", "/dev/null", "-e", &inject, program]).args(args);
        vault.finish(&mut command)
    }

    #[test]
    fn on_android_nothing_is_called_that_kills() {
        let Some(strace) = Strace::find("Android's sandbox") else { return };
        // `cargo xtask test --qemu` names the program that Termux gets, as it is for this processor.
        let named = std::env::var("FORKLORE_STATIC").ok();
        let (program, calls) = named.as_deref().map_or((FORKLORE, OURS), |program| (program, STATIC));
        let vault = forked(TestVault::new());
        let before = vault.snapshot();
        let run = |android: bool, args: &[&str]| killed_for(&strace, calls, program, &vault, android, args);
        let caught = run(false, &["branch", "Ana/Rain", "--at", "1", "--dry-run"]);
        assert_ne!(caught.code, Some(0), "elsewhere such calls are made: {caught}");
        for args in [
            &["check"][..],
            &["tree"],
            &["branch", "Ana/Rain", "--at", "2", "--name", "Phone"],
            &["watch", "--once"],
            &["history", "Rain"],
            &["export", "Ana"],
            &["doctor"],
            &["trash"],
            &["undo"],
            &["gc", "--yes"],
        ] {
            let run = run(true, args);
            assert!(matches!(run.code, Some(0..=2)), "{args:?}: {run}");
            assert!(!run.stdout.contains("error["), "{args:?}: {run}");
        }
        assert!(vault.snapshot() == before, "made and undone");
        let refused = run(true, &["heal", "--yes", "--json"]);
        assert!(refused.stdout.contains("NO_EXCHANGE"), "{refused}");
        assert!(vault.snapshot() == before);
    }

    /// A disk of another kind, in a file, gone when dropped.
    struct Disk {
        at: tempfile::TempDir,
        device: Option<String>,
    }

    impl Disk {
        fn mount(kind: &str) -> Result<Self, String> {
            let mut disk = Self { at: tempfile::tempdir().unwrap(), device: None };
            let run = |program: &str, args: &[&str]| match Command::new(program).args(args).output() {
                Ok(output) if output.status.success() => {
                    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
                }
                Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
                Err(e) => Err(format!("{program}: {e}")),
            };
            fs::create_dir(disk.path()).unwrap();
            let image = disk.at.path().join("image");
            fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
            let (image, folder) = (image.to_str().unwrap(), disk.path());
            let folder = folder.to_str().unwrap();
            match kind {
                "ntfs" => {
                    run("mkfs.ntfs", &["--fast", "--quiet", "--force", image])?;
                    run("ntfs-3g", &[image, folder])?;
                }
                _ => {
                    run("mkfs.exfat", &[image])?;
                    let device = run("losetup", &["--find", "--show", image])?;
                    disk.device = Some(device.clone());
                    run("mount.exfat-fuse", &[&device, folder])?;
                }
            }
            Ok(disk)
        }

        fn path(&self) -> PathBuf {
            self.at.path().join("disk")
        }
    }

    impl Drop for Disk {
        fn drop(&mut self) {
            let run = |program: &str, args: &[&Path]| Command::new(program).args(args).status();
            let _unmounted = run("umount", &[&self.path()]);
            if let Some(device) = &self.device {
                let _freed = run("losetup", &["-d".as_ref(), device.as_ref()]);
            }
        }
    }

    /// A stick that somebody keeps their stories on, where a file has one name and cannot trade it: nothing worked there once. Forks are made and undone, what SillyTavern writes is left alone, and it is said.
    #[test]
    fn regression_on_exfat_and_ntfs_forks_are_made_and_chats_left_alone() {
        for kind in ["exfat", "ntfs"] {
            let disk = match Disk::mount(kind) {
                Ok(disk) => disk,
                Err(why) => {
                    skipped(
                        &format!("a vault on {kind}"),
                        &format!("as root, apt-get install exfat-fuse exfatprogs ntfs-3g: {why}"),
                    );
                    continue;
                }
            };
            let vault = forked(TestVault::within(&disk.path()));
            let before = vault.snapshot();
            let made = did(&vault, &["branch", "Ana/Rain", "--at", "1", "--name", "Stick"]);
            assert_eq!(made["chat"], "Ana/Stick", "{kind}");
            assert_eq!(did(&vault, &["check", "Ana/Stick"])["findings"], json!([]), "{kind}");
            assert_eq!(
                vault.read("chats/Ana/Rain.jsonl"),
                before.iter().find(|(name, _)| name.ends_with("Rain.jsonl")).unwrap().1,
                "{kind}: no mark"
            );
            let told = did(&vault, &["check"])["guarantee"].as_str().unwrap().to_owned();
            assert!(told.contains("a kill harms nothing, but"), "{kind}: {told}");
            did(&vault, &["undo"]);
            assert!(vault.snapshot() == before, "{kind}");
            let refused = vault.json(FORKLORE, &["heal", "--yes"]);
            assert!(refused.to_string().contains("NO_EXCHANGE"), "{kind}: {refused:#}");
            assert!(vault.snapshot() == before, "{kind}");
            println!("{kind}: {told}");
        }
    }

    /// What the guide tells people to put into a file is what systemd reads without a complaint.
    #[test]
    fn the_unit_in_the_guide_is_one_of_systemd_s() {
        let guide =
            fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide.md")).unwrap();
        let unit = guide.split("```ini\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        assert!(unit.contains("forklore watch --vault"), "{unit}");
        let home = tempfile::tempdir().unwrap();
        let program = home.path().join(".cargo/bin/forklore");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        forklore_testkit::unix::symlink(FORKLORE, &program).unwrap();
        let verify = |text: &str| {
            let file = home.path().join("forklore.service");
            fs::write(&file, text).unwrap();
            let mut command = Command::new("systemd-analyze");
            command.args(["verify", "--user", "--man=no"]).arg(&file);
            command.env("HOME", home.path()).env("XDG_RUNTIME_DIR", home.path()).output()
        };
        let Ok(good) = verify(unit) else {
            return skipped("the unit in the guide", "there is no systemd-analyze");
        };
        let said = String::from_utf8_lossy(&good.stderr).into_owned();
        assert!(good.status.success() && said.is_empty(), "{said}");
        assert!(!verify(&unit.replace("on-failure", "sometimes")).unwrap().stderr.is_empty(), "it looks");
    }
}
